/* Finds the block that wrote a value which the traced block reads in global memory, for the
 * value's path. It hears the writes of all blocks; when the traced block reads, the last write
 * of each four bytes is known. */
#include "sim/sim_trace_own.h"

#include <string.h>

enum { GRANULE = 4, LANE_BITS = 5, GRANULE_BITS = 30 };

static uint64_t key_of(uint32_t event, uint32_t at)
{
    return (uint64_t)event << GRANULE_BITS | at / GRANULE;
}

/* Returns true for a write of the bytes that settings.why asks for. */
static bool is_asked(const struct sim_trace *t, const struct trace_memory *m, uint64_t address,
                     int bytes)
{
    int64_t offset = (int64_t)(address - m->is.address), from = t->settings.why_offset;
    return m->is.name && strcmp(t->settings.why, m->is.name) == 0 &&
           offset < from + t->settings.why_bytes && from < offset + bytes;
}

static bool see_write(void *user, const struct sim_access *a)
{
    struct sim_trace *t = user;
    bool added;
    if (a->space != SIM_GLOBAL || a->kind == SIM_READ || !a->mask ||
        !sim_trace_array_at(t, a->address[__builtin_ctz(a->mask)]))
        return true; /* it is not an event of a trace */
    uint64_t number =
        number_map_entry(t->arena, &t->writes_of, (uint64_t)a->at.block, &added)->value++;
    vec_push(t->arena, &t->writers,
             ((struct trace_writer){a->at.block, a->at.warp, (int64_t)number, a->at.ins}));
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        uint64_t address = a->address[lane];
        const struct trace_memory *m = sim_trace_array_at(t, address);
        if (m && is_asked(t, m, address, a->bytes))
            t->why_block = a->at.block;
        for (uint64_t g = address / GRANULE; m && g * GRANULE < address + (uint64_t)a->bytes; g++)
            number_map_entry(t->arena, &t->writer_of, g, &added)->value =
                (t->writers.count - 1) << LANE_BITS | lane;
    }
    return true;
}

struct sim_observer *sim_trace_writes(struct sim_trace *t)
{
    t->writes = (struct sim_observer){.user = t, .access = see_write};
    return &t->writes;
}

void sim_trace_note_writers(struct sim_trace *t, const struct sim_access *a, uint32_t event)
{
    bool added;
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        uint64_t address = a->address[__builtin_ctz(rest)];
        const struct trace_memory *m = sim_trace_array_at(t, address);
        for (uint64_t g = address / GRANULE; m && g * GRANULE < address + (uint64_t)a->bytes; g++) {
            const struct number_entry *w = number_map_find(&t->writer_of, g);
            if (!w || t->writers.data[w->value >> LANE_BITS].block == t->number)
                continue;
            uint32_t at = m->at + (uint32_t)(g * GRANULE - m->is.address);
            number_map_entry(t->arena, &t->foreign, key_of(event, at), &added)->value = w->value;
        }
    }
}

const struct trace_writer *sim_trace_writer_of(const struct sim_trace *t, uint32_t event,
                                               uint32_t at, int *lane)
{
    const struct number_entry *e = number_map_find(&t->foreign, key_of(event, at));
    if (!e)
        return NULL;
    *lane = (int)(e->value & ((1u << LANE_BITS) - 1));
    return &t->writers.data[e->value >> LANE_BITS];
}
