/* Groups of asynchronous copies (cp.async) that threads have under way, told by the events of a
 * launch. What hides the latency of global memory is how many of them there are while a warp works.
 */
#ifndef TW_SIM_GROUPS_H
#define TW_SIM_GROUPS_H

#include "base/arena.h"
#include "sim/sim_events.h"

enum { SIM_GROUPS_CHAINS = 256 }; /* a power of two */

/* Of one launch; it lives in the arena. A zeroed one has nothing under way. */
struct sim_groups {
    struct arena *arena;
    struct sim_warp_groups **table; /* chains, by a hash of block and warp; NULL: nothing yet */
    struct sim_warp_groups *unused; /* of blocks that have ended, to use again */
    size_t used;
};

void sim_groups_see(struct sim_groups *g, const struct sim_async_event *event);
/* Returns the most groups that a lane of the mask has under way; copies that it has not committed
 * are one more, groups without copies do not count. *bytes: what the copies of all lanes of the
 * warp read that are under way. */
int sim_groups_under_way(const struct sim_groups *g, const struct sim_place *at, uint32_t mask,
                         int64_t *bytes);
/* A block has ended: its warps are forgotten. */
void sim_groups_end_block(struct sim_groups *g, const struct sim_block_event *event);
/* A launch has ended: nothing is under way. */
void sim_groups_clear(struct sim_groups *g);

#endif
