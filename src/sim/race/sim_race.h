/* Data races of a launch, found while it runs: conflicting accesses to the same bytes of shared or
 * global memory that the PTX memory model does not order (section 8.7.1 of the PTX ISA: not in
 * causality order, not morally strong).
 *
 * The findings about the current run are exact, except for the points that sim_race.c lists. To
 * see the effects of another order of warps, use another seed. */
#ifndef TW_SIM_RACE_H
#define TW_SIM_RACE_H

#include "sim/sim_report.h"

struct sim_races;
/* Makes a race check. Findings go to the report. Memory comes from the arena's allocator, and
 * sim_races_free frees it. */
struct sim_races *sim_races_new(struct arena *arena, struct sim_report *report);
void sim_races_free(struct sim_races *races);
struct sim_observer *sim_races_observer(struct sim_races *races);
/* Return the bytes that it holds now, and the most since it was made. */
size_t sim_races_memory(const struct sim_races *races);
size_t sim_races_most_memory(const struct sim_races *races);

#endif
