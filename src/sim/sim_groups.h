/* Groups of asynchronous copies (cp.async) that threads have under way, from the events of a
 * launch. Their number while a warp works shows how well it hides the latency of global memory. */
#ifndef TW_SIM_GROUPS_H
#define TW_SIM_GROUPS_H

#include "base/arena.h"
#include "sim/sim_events.h"

enum { SIM_GROUPS_CHAINS = 256 }; /* a power of two */

/* The groups of one launch; they live in the arena. A zeroed struct has none under way. */
struct sim_groups {
    struct arena *arena;
    struct sim_warp_groups **table; /* chains, by a hash of block and warp; NULL: empty */
    struct sim_warp_groups *unused; /* entries of blocks that have ended, for reuse */
    size_t used;
};

void sim_groups_see(struct sim_groups *g, const struct sim_async_event *event);
/* Returns the most groups that a lane of the mask has under way. Uncommitted copies count as one
 * more group; groups without copies do not count. *bytes: the bytes that all copies under way of
 * the whole warp read. */
int sim_groups_under_way(const struct sim_groups *g, const struct sim_place *at, uint32_t mask,
                         int64_t *bytes);
/* Forgets the warps of a block that has ended. */
void sim_groups_end_block(struct sim_groups *g, const struct sim_block_event *event);
/* Forgets all groups at the end of a launch. */
void sim_groups_clear(struct sim_groups *g);

#endif
