/* mbarriers, for the copies that arrive at them. */
#ifndef TW_SIM_MBARRIER_H
#define TW_SIM_MBARRIER_H

#include "sim/sim_machine.h"

/* The places of the lanes' mbarriers; offset: in the block's shared memory. */
struct sim_mbarriers {
    uint8_t *host[SIM_LANES];
    uint64_t offset[SIM_LANES];
    struct sim_block *block[SIM_LANES]; /* whose shared memory it is */
};
/* Removes from *mask the lanes whose addresses cannot be an mbarrier's, and tells observers of
 * them. Returns false if the launch is over. */
bool sim_mbarrier_reach(struct sim_warp *w, const struct sim_op *op, uint32_t *mask,
                        struct sim_mbarriers *at);
/* Adds one expected arrival for each lane to this phase. */
bool sim_mbarrier_expect(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                         const struct sim_mbarriers *at);
/* Counts the bytes of bulk copy `number`, which a lane issued, at an mbarrier. */
bool sim_mbarrier_complete(struct sim_warp *w, const struct sim_op *op,
                           const struct sim_place *place, int lane, struct sim_block *block,
                           uint64_t offset, int64_t bytes, uint32_t number);
/* Lets each lane's copies arrive. */
bool sim_mbarrier_land(struct sim_warp *w, const struct sim_op *op, const struct sim_place *place,
                       uint32_t mask, const struct sim_mbarriers *at);

/* Returns the arrivals that the phase of this object still lacks, of *expected, and its *bytes. */
uint32_t sim_mbarrier_lacks(uint64_t object, uint32_t *expected, int64_t *bytes);

#endif
