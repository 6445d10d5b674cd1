/* --stored: a table from the results in the store, without measuring. */
#include "tune/tune.h"
#include "cli/tuned.h"

#include <stdlib.h>
#include <string.h>

/* Reads "m=16,n=4096,k=4096". Returns false if a size is missing or is not positive. */
static bool read_shape(const char *text, struct shape *out)
{
    struct assignment a;
    bool bad;
    *out = (struct shape){.batch = 1};
    while (next_assignment(&text, &a, &bad)) {
        int64_t *place = strcmp(a.name, "m") == 0       ? &out->m
                         : strcmp(a.name, "n") == 0     ? &out->n
                         : strcmp(a.name, "k") == 0     ? &out->k
                         : strcmp(a.name, "batch") == 0 ? &out->batch
                                                        : NULL;
        if (place && !parse_integer(a.value, place))
            return false;
    }
    return out->m > 0 && out->n > 0 && out->k > 0 && out->batch > 0;
}

static void add_shape(struct shapes *x, const struct shape *s)
{
    for (int i = 0; i < x->count; i++) {
        const struct shape *y = &x->list[i];
        if (y->m == s->m && y->n == s->n && y->k == s->k && y->batch == s->batch)
            return;
    }
    ADD_TO(x->list, x->count, *s);
}

static bool is_own_device(const struct tuning *t, const tw_tuned *row)
{
    return t->device ? strcmp(row->device, t->device) == 0 : tuned_of_host(row->device);
}

int stored_sizes(struct tuning *t)
{
    for (int m = 0; m < t->member_count; m++) {
        tw_tuned filter = {.size = sizeof filter,
                           .kernel = tw_kernel_name(t->members[m].kernel),
                           .version = tw_version()};
        int count;
        struct shape shape;
        tw_status s = tw_store_find(t->store, &filter, &count);
        if (s != TW_OK) {
            complain_library(NULL, t->ctx, s);
            return STATUS_FAILED;
        }
        for (int i = 0; i < count; i++) {
            const tw_tuned *row = tw_store_at(t->store, i);
            if (is_own_device(t, row) && read_shape(row->sizes, &shape))
                add_shape(&t->shapes, &shape);
        }
    }
    if (t->shapes.count > 0)
        return STATUS_OK;
    complain(NULL, "nothing is stored of %s for this device in %s", t->family,
             tw_store_path(t->store));
    return STATUS_FAILED;
}
