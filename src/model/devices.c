#include "model/devices.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct gpu_capability capabilities[] = {
#define CAPABILITY(...) {__VA_ARGS__},
#include "model/devices.def"
#undef CAPABILITY
};

static const struct gpu gpus[] = {
#define GPU(name, aliases, target, capability, multiprocessors, clock, tensor, sustained, f64,     \
            f32, tf32, f16, i8, fp8, memory, gb, bandwidth, l2, low, middle, high, source)         \
    {name,                                                                                         \
     aliases,                                                                                      \
     target,                                                                                       \
     capability,                                                                                   \
     multiprocessors,                                                                              \
     clock,                                                                                        \
     tensor,                                                                                       \
     sustained,                                                                                    \
     f64,                                                                                          \
     f32,                                                                                          \
     tf32,                                                                                         \
     f16,                                                                                          \
     i8,                                                                                           \
     fp8,                                                                                          \
     memory,                                                                                       \
     gb,                                                                                           \
     bandwidth,                                                                                    \
     l2,                                                                                           \
     {low, middle, high},                                                                          \
     source},
#include "model/devices.def"
#undef GPU
};

const struct gpu *gpu_at(int index)
{
    int count = (int)(sizeof gpus / sizeof gpus[0]);
    return index >= 0 && index < count ? &gpus[index] : NULL;
}

static bool among(const char *name, const char *list)
{
    size_t length = strlen(name);
    while (*list) {
        size_t one = strcspn(list, ",");
        if (one == length && strncasecmp(list, name, length) == 0)
            return true;
        list += one + (list[one] == ',');
    }
    return false;
}

const struct gpu *gpu_find(const char *name)
{
    for (int i = 0; gpu_at(i); i++)
        if (strcasecmp(gpus[i].name, name) == 0 || among(name, gpus[i].aliases))
            return &gpus[i];
    return NULL;
}

const struct gpu_capability *gpu_capability_of(const struct gpu *g)
{
    const struct gpu_capability *c = capabilities;
    while (c->number != g->capability)
        c++;
    return c;
}
