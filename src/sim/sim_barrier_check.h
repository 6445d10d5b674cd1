/* Barriers used against their rules (PTX ISA, sections bar and barrier, bar.warp.sync): lanes apart
 * at an aligned barrier, counts that cannot be, arrive and red at one barrier, and who waits for
 * whom when nobody can go on. */
#ifndef TW_SIM_BARRIER_CHECK_H
#define TW_SIM_BARRIER_CHECK_H

#include "sim/sim_report.h"

struct sim_barrier_check;
struct sim_barrier_check *sim_barrier_check_new(struct arena *arena, struct sim_report *report);
void sim_barrier_check_free(struct sim_barrier_check *check);
/* Whether a barrier of the block is a finding that opens without threads that have left; at first
 * not: since sm_70 it waits for those that are left. */
void sim_barrier_check_exits(struct sim_barrier_check *check, bool exits);
struct sim_observer *sim_barrier_check_observer(struct sim_barrier_check *check);
/* After a launch that ended with SIM_DEADLOCK: makes findings of what threads look at in vain, and
 * of who waits at which barrier, and why in vain. `still`: what the machine says; NULL: nothing. */
void sim_barrier_check_deadlock(struct sim_barrier_check *check,
                                const struct sim_standstill *still);

#endif
