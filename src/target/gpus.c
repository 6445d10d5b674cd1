#include "target/gpus.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct gpu_capability capabilities[] = {
#define CAPABILITY(...) {__VA_ARGS__},
#include "target/gpus.def"
#undef CAPABILITY
};

static const struct gpu gpus[] = {
#define GPU(...) {__VA_ARGS__},
#include "target/gpus.def"
#undef GPU
};

const struct gpu *target_gpu_at(int index)
{
    int count = (int)(sizeof gpus / sizeof gpus[0]);
    return index >= 0 && index < count ? &gpus[index] : NULL;
}

int64_t target_gpu_most_blocks(int64_t threads)
{
    int64_t most = 0;
    for (int i = 0; target_gpu_at(i); i++) {
        const struct target *t = target_of_gpu(&gpus[i]);
        int64_t each = t->threads_of_sm / threads;
        each = each < t->blocks_of_sm ? each : t->blocks_of_sm;
        most = each * gpus[i].multiprocessors > most ? each * gpus[i].multiprocessors : most;
    }
    return most;
}

/* Compares names without regard to case and blanks: "rtx4090". */
static bool same(const char *a, size_t a_length, const char *b)
{
    const char *end = a + a_length;
    for (;;) {
        while (a < end && *a == ' ')
            a++;
        while (*b == ' ')
            b++;
        if (a == end || !*b)
            return a == end && !*b;
        if (strncasecmp(a++, b++, 1) != 0)
            return false;
    }
}

static bool among(const char *name, const char *list)
{
    while (*list) {
        size_t one = strcspn(list, ",");
        if (same(list, one, name))
            return true;
        list += one + (list[one] == ',');
    }
    return false;
}

const struct gpu *target_gpu_find(const char *name)
{
    for (int i = 0; target_gpu_at(i); i++)
        if (same(gpus[i].name, strlen(gpus[i].name), name) || among(name, gpus[i].aliases))
            return &gpus[i];
    return NULL;
}

const struct gpu_capability *target_gpu_capability_of(const struct gpu *g)
{
    const struct gpu_capability *c = capabilities;
    while (c->number != g->capability)
        c++;
    return c;
}

const struct target *target_of_gpu(const struct gpu *g)
{
    return target_for_gpu(g->capability);
}
