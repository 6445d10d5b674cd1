/* The greatest distance between two results, if PTX gives a bound. */
#ifndef READINGS_BOUNDS_H
#define READINGS_BOUNDS_H

#include "readings_program.h"

/* Compares a thread's values of a reading, the simulator's and the GPU's: `bytes` each.
 * `argument`: the instruction's first operand. */
bool reading_same(const struct reading *r, const uint8_t *ours, const uint8_t *theirs,
                  uint64_t argument);

#endif
