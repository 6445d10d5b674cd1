#include "fuzz_target.h"

#include <stdlib.h>

enum { MOST_TURNS = 2000, MOST_BYTES = 64 << 20 };

static void *limited(void *user, void *ptr, size_t old_size, size_t size)
{
    struct target_limits *l = user;
    if (size > old_size && l->bytes + size - old_size > MOST_BYTES)
        return NULL;
    void *got = size ? realloc(ptr, size) : NULL;
    if (!size)
        free(ptr);
    if (got || !size)
        l->bytes += size - old_size;
    return got;
}

static bool is_long(void *user)
{
    struct target_limits *l = user;
    return ++l->turns > MOST_TURNS;
}

tw_status target_context(struct target_limits *limits, tw_context **out)
{
    *limits = (struct target_limits){0};
    return tw_context_new(&(tw_config){.size = sizeof(tw_config),
                                       .resize = limited,
                                       .resize_user = limits,
                                       .threads = 1,
                                       .cancelled = is_long,
                                       .cancelled_user = limits,
                                       .cache = ""},
                          out);
}

uint32_t target_take(struct target_bytes *b, int bytes)
{
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++)
        v = v << 8 | (b->at < b->end ? *b->at++ : 0u);
    return v;
}
