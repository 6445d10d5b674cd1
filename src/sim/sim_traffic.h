/* The work of the memory hardware for one access of a warp. Pure functions of the addresses. The
 * rules reproduce every row of tests/sim/h200-counters.csv and h200-copies.csv, which are
 * measurements of single accesses on an H200. */
#ifndef TW_SIM_TRAFFIC_H
#define TW_SIM_TRAFFIC_H

#include "sim/sim_events.h"

/* Returns the wavefronts of an access to shared memory: how often the banks work for it. An
 * access of an asynchronous copy (group is not 0) follows other rules, with the addresses on
 * both its sides. */
int sim_wavefronts(const struct sim_access *access);
/* Returns the same, and sets for each lane the number of the wavefront that serves it, from 0,
 * or SIM_NOT_SERVED: the lane takes no part, or a later lane copies to the same place. */
enum { SIM_NOT_SERVED = 255 };
int sim_serve(const struct sim_access *access, uint8_t wavefront[SIM_LANES]);
/* Returns the fewest wavefronts for an access of that width by that number of lanes. */
int sim_wavefronts_ideal(const struct sim_access *access);
/* Returns the distinct sectors of 32 bytes that an access to global memory touches. For a copy
 * that bypasses L1: the sectors that it fills in shared memory, each once for each row of 128
 * bytes that it is filled from. */
int sim_sectors(const struct sim_access *access);

#endif
