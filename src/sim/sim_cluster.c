/* Clusters: blocks whose threads may access each other's shared memory. */
#include "sim/sim_machine.h"

struct sim_block *sim_cluster_block(struct sim_block *b, uint32_t rank)
{
    return rank ? NULL : b;
}

struct sim_block *sim_shared_block(const struct sim_warp *w, uint64_t address)
{
    return sim_offset_of(address) >> SIM_RANK_AT ? NULL : w->block;
}
