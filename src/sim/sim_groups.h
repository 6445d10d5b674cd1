/* Groups of asynchronous copies (cp.async) that threads have under way, told by the events of a
 * launch. What hides the latency of global memory is how many of them there are while a warp works.
 */
#ifndef TW_SIM_GROUPS_H
#define TW_SIM_GROUPS_H

#include "base/arena.h"
#include "sim/sim_events.h"

/* Of one launch; it lives in the arena. A zeroed one has nothing under way. */
struct sim_groups {
    struct arena *arena;
    struct sim_warp_groups **table; /* a hash of block and warp */
    size_t capacity, used;          /* capacity: a power of two */
};

void sim_groups_see(struct sim_groups *g, const struct sim_async_event *event);
/* Most groups that a lane of the mask has under way, copies that it has not committed as one more.
 * Groups without copies do not count. */
int sim_groups_under_way(const struct sim_groups *g, const struct sim_place *at, uint32_t mask);
/* A launch has ended: nothing is under way. */
void sim_groups_clear(struct sim_groups *g);

#endif
