/* Data races of a launch, found while it runs: conflicting accesses of the same bytes of shared or
 * global memory that the PTX memory model does not order (section 8.7.1 of the PTX ISA: not in
 * causality order, not morally strong).
 *
 * What it says of the run at hand is exact but for what sim_race.c lists; what another order of
 * warps would do, another seed shows.
 */
#ifndef TW_SIM_RACE_H
#define TW_SIM_RACE_H

#include "sim/sim_report.h"

struct sim_races;
/* Findings go to the report. Memory comes from the arena's allocator; sim_races_free gives it
 * back. */
struct sim_races *sim_races_new(struct arena *arena, struct sim_report *report);
void sim_races_free(struct sim_races *races);
struct sim_observer *sim_races_observer(struct sim_races *races);
/* Bytes that it holds now; the most since it was made. */
size_t sim_races_memory(const struct sim_races *races);
size_t sim_races_most_memory(const struct sim_races *races);

#endif
