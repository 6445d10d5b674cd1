/* Misuse of mbarriers, and, after a deadlock, which threads wait for which mbarrier. A part of
 * the barrier check. */
#ifndef TW_SIM_MBARRIER_CHECK_H
#define TW_SIM_MBARRIER_CHECK_H

#include "sim/sim_report.h"

struct sim_seen_mbarrier;
/* The mbarriers of a block. */
struct sim_mbarrier_check {
    struct arena *arena;
    struct sim_report *report;
    int warps;
    struct sim_seen_mbarrier *first; /* the newest one */
};

void sim_mbarrier_check_told(struct sim_mbarrier_check *c, const struct sim_sync_event *event);
/* Reports copies whose phase no thread has waited for when the block ends. */
void sim_mbarrier_check_ends(struct sim_mbarrier_check *c);
/* Notes that lanes of a warp wait for something else, or have exited. */
void sim_mbarrier_check_leave(struct sim_mbarrier_check *c, int warp, uint32_t mask);
/* Reports the mbarriers that threads wait for; returns false if there are none. */
bool sim_mbarrier_check_deadlock(struct sim_mbarrier_check *c);
void sim_mbarrier_check_free(struct sim_mbarrier_check *c);

#endif
