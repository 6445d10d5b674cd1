/* The list of events of a trace. */
#include "sim/sim_own.h"
#include "sim/sim_trace_own.h"

struct trace_memory *sim_trace_array_at(const struct sim_trace *t, uint64_t address)
{
    const struct number_entry *e = number_map_find(&t->array_of, address >> SIM_OFFSET_BITS);
    return e ? &t->arrays.data[e->value - 1] : NULL;
}

uint32_t sim_trace_put_event(struct sim_trace *t, const struct trace_event *e, int site)
{
    t->total++;
    if (t->time < t->settings.from)
        return TRACE_NO_EVENT;
    if (site < 0 || (int64_t)t->events.count >= t->settings.most || t->time > UINT32_MAX) {
        t->truncated = true;
        return TRACE_NO_EVENT;
    }
    vec_push(t->arena, &t->events, *e);
    struct trace_event *kept = &t->events.data[t->events.count - 1];
    kept->time = (uint32_t)t->time;
    kept->site = (uint16_t)site;
    return (uint32_t)t->events.count - 1;
}

void sim_trace_flush(struct sim_trace *t, int warp)
{
    struct trace_pending *p = &t->warp.data[warp].pending;
    if (!p->instructions)
        return;
    struct trace_event e = {.mask = p->mask,
                            .base = (uint32_t)p->flops,
                            .stride = (int32_t)p->instructions,
                            .warp = (uint16_t)warp,
                            .kind = p->kind,
                            .from = p->from};
    p->instructions = 0;
    sim_trace_put_event(t, &e, p->site);
}

uint32_t sim_trace_add_event(struct sim_trace *t, int warp, const struct trace_event *e, int site)
{
    struct trace_event own = *e;
    sim_trace_flush(t, warp);
    own.warp = (uint16_t)warp;
    return sim_trace_put_event(t, &own, site);
}
