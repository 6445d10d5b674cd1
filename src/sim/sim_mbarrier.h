/* mbarriers, for the copies that arrive at them. */
#ifndef TW_SIM_MBARRIER_H
#define TW_SIM_MBARRIER_H

#include "sim/sim_machine.h"

/* Where lanes' mbarriers are; offset: in the block's shared memory. */
struct sim_mbarriers {
    uint8_t *host[SIM_LANES];
    uint64_t offset[SIM_LANES];
};
/* The lanes of *mask whose addresses can be an mbarrier's stay in it; of the others observers are
 * told. False: the launch is over. */
bool sim_mbarrier_reach(struct sim_warp *w, const struct sim_op *op, uint32_t *mask,
                        struct sim_mbarriers *at);
/* Of each lane one arrival more is expected in this phase. */
bool sim_mbarrier_expect(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                         const struct sim_mbarriers *at);
/* Each lane's copies arrive. */
bool sim_mbarrier_land(struct sim_warp *w, const struct sim_op *op, const struct sim_place *place,
                       uint32_t mask, const struct sim_mbarriers *at);

#endif
