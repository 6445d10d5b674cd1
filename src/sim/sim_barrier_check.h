/* Barriers used against their rules (PTX ISA, sections bar and barrier, bar.warp.sync): lanes
 * apart at an aligned barrier, impossible counts, arrive and red at one barrier, and, after a
 * deadlock, which threads wait for which. */
#ifndef TW_SIM_BARRIER_CHECK_H
#define TW_SIM_BARRIER_CHECK_H

#include "sim/sim_report.h"

struct sim_barrier_check;
struct sim_barrier_check *sim_barrier_check_new(struct arena *arena, struct sim_report *report);
void sim_barrier_check_free(struct sim_barrier_check *check);
/* Sets whether a barrier of the block that opens without exited threads is a finding. By default
 * it is not: since sm_70 a barrier waits only for the threads that have not exited. */
void sim_barrier_check_exits(struct sim_barrier_check *check, bool exits);
struct sim_observer *sim_barrier_check_observer(struct sim_barrier_check *check);
/* After a launch that ended with SIM_DEADLOCK: reports the memory that threads poll without
 * success, and the barriers at which threads wait, with the reason. `still`: the machine's
 * description; NULL: none. */
void sim_barrier_check_deadlock(struct sim_barrier_check *check,
                                const struct sim_standstill *still);

#endif
