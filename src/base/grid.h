/* Grids of blocks. */
#ifndef TW_GRID_H
#define TW_GRID_H

#include <stdint.h>

/* The largest number of blocks of a grid along x, y and z, on every GPU: CUDA C++ Programming
 * Guide, "Compute Capabilities", table "Technical Specifications per Compute Capability". */
static const int64_t grid_limits[3] = {INT32_MAX, 65535, 65535};
/* The largest number of threads of a block, in all and along z: in the same table. */
enum { BLOCK_THREADS = 1024, BLOCK_DEPTH = 64 };

#endif
