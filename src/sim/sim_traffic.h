/* What the memory hardware makes of one access of a warp. Pure functions of the addresses; the
 * rules are those that reproduce every row of tests/sim/h200-counters.csv and h200-copies.csv,
 * readings of single accesses from an H200.
 */
#ifndef TW_SIM_TRAFFIC_H
#define TW_SIM_TRAFFIC_H

#include "sim/sim_events.h"

/* Wavefronts of an access to shared memory: how often the banks work for it. An access that is part
 * of an asynchronous copy (group is not 0) follows rules of its own, by the addresses of both its
 * sides. */
int sim_wavefronts(const struct sim_access *access);
/* Returns the same, and sets for each lane the number of the wavefront that serves it, from 0, or
 * SIM_NOT_SERVED: the lane takes no part, or a later lane copies to the same place. */
enum { SIM_NOT_SERVED = 255 };
int sim_serve(const struct sim_access *access, uint8_t wavefront[SIM_LANES]);
/* The fewest that an access of that width by so many lanes takes. */
int sim_wavefronts_ideal(const struct sim_access *access);
/* Distinct sectors of 32 bytes that an access to global memory touches. Of a copy past L1: those
 * that it fills in shared memory, once for each row of 128 bytes that they are filled from. */
int sim_sectors(const struct sim_access *access);

#endif
