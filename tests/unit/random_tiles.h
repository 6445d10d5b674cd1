/* Kernels of tile expressions: reductions, edges, scans, shapes, masks, casts, shared memory, tables
 * and random numbers, over random extents, types and numbers of warps. They have one block, and a
 * view of the whole of each parameter. */
#ifndef RANDOM_TILES_H
#define RANDOM_TILES_H

#include "base/dtype.h"

#include <stddef.h>
#include <stdint.h>

enum { TILE_BODIES = 12, TILE_TYPES = 8 };

/* Both write to `text` and return it. */
const char *tile_kernel_write(char *text, size_t size, int body, int type, int m, int n, int warps);
const char *tile_kernel_random(char *text, size_t size, uint64_t *seed);

/* Returns small numbers (compare_element), whose sums are exact in every type. */
double tile_kernel_number(enum dtype t, int param, uint64_t *seed);

#endif
