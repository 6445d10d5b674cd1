/* Counts a launch's global-memory traffic in six ways, and its intensity by each of them. */
#include "explain/explained.h"

static const tw_traffic *level(const tw_explanation *e, const char *name)
{
    for (int i = 0; i < TW_TRAFFIC_COUNT; i++)
        if (e->traffic[i].name && strcmp(e->traffic[i].name, name) == 0)
            return &e->traffic[i];
    return NULL;
}

int explain_ways(const tw_explanation *e, struct explain_way ways[EXPLAIN_WAYS])
{
    const tw_traffic *l2 = level(e, "L2"), *memory = level(e, "HBM");
    if (!l2 || !memory)
        return 0;
    struct explain_way all[EXPLAIN_WAYS] = {
        {"thread", "each thread's elements", l2->read_by_thread, l2->written_by_thread, 0, 0},
        {"element", "sectors of each warp's element accesses", l2->read_by_element,
         l2->written_by_element, 0, 0},
        {"request", "sectors of each warp's requests", l2->read_by_request, l2->written_by_request,
         0, 0},
        {"l2", "to and from L2: what L1 does not have", l2->read.middle, l2->written.middle, 0, 0},
        {"memory", "to and from memory: what L2 does not have", memory->read.middle,
         memory->written.middle, 0, 0},
        {"compulsory", "each array once", memory->compulsory, 0, 0, 0},
    };
    for (int i = 0; i < EXPLAIN_WAYS; i++) {
        ways[i] = all[i];
        ways[i].bytes = all[i].read + all[i].written;
        ways[i].intensity = ways[i].bytes > 0 ? e->flops / ways[i].bytes : 0;
    }
    return EXPLAIN_WAYS;
}

const struct explain_way *explain_way_named(const struct explain_way *ways, int count,
                                            const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(ways[i].name, name) == 0)
            return &ways[i];
    return NULL;
}
