/* The simulator's counters as the public structs. Both have one list of names: a difference
 * between them does not compile. */
#include "api/simulation.h"

#include "sim/sim_counters.h"

#include <stddef.h>
#include <string.h>

#define COUNTER_AGREES(name)                                                                       \
    _Static_assert(offsetof(tw_counters, name) == offsetof(struct sim_counts, name),               \
                   "TW_COUNTER_LIST follows SIM_COUNTERS");
SIM_COUNTERS(COUNTER_AGREES)
#undef COUNTER_AGREES
_Static_assert(sizeof(tw_counters) == offsetof(struct sim_counts, overlapped),
               "TW_COUNTER_LIST follows SIM_COUNTERS");
#define KIND_AGREES(name)                                                                          \
    _Static_assert((int)TW_KIND_##name == (int)SIM_KIND_##name, "TW_KIND_LIST follows "            \
                                                                "sim_kind_of");
SIM_INSTRUCTION_KINDS(KIND_AGREES)
#undef KIND_AGREES
_Static_assert((int)TW_KIND_COUNT == (int)SIM_KIND_COUNT, "TW_KIND_LIST follows sim_kind_of");

const char *const counted_whats[] = {
#define COUNTER_WHAT(name, joined, what) what,
    TW_COUNTER_LIST(COUNTER_WHAT)
#undef COUNTER_WHAT
};

static tw_counters public_counters(const struct sim_counts *n)
{
    tw_counters c;
    memcpy(&c, n, sizeof c);
    return c;
}

const tw_counted *counted_new(struct arena *results, const struct sim_counters *c,
                              const struct ptx_module *module)
{
    struct sim_counts total;
    struct sim_line_counts *lines;
    tw_counted *out = arena_new(results, tw_counted);
    sim_counters_total(c, &total);
    sim_counters_kinds(c, out->instructions);
    out->total = public_counters(&total);
    out->line_count = (int)sim_counters_lines(c, module, results, &lines);
    tw_line_counters *list = arena_array(results, tw_line_counters, out->line_count + 1);
    for (int i = 0; i < out->line_count; i++)
        list[i] = (tw_line_counters){arena_string(results, lines[i].file, strlen(lines[i].file)),
                                     (int)lines[i].line, public_counters(&lines[i].counts)};
    out->lines = list;
    return out;
}
