/* How many blocks a multiprocessor holds, and a rough order of candidates.
 *
 * CUDA C++ Programming Guide, "Compute Capabilities" and "Multiprocessor Level": blocks are limited
 * by shared memory (1 KB of each block's is the system's), registers (given out 256 at a time to a
 * warp), threads, and 32 in number.
 */
#include "tune/model.h"

#include <math.h>

enum { WARP = 32, MOST_BLOCKS = 32, SYSTEM_BYTES = 1024, REGISTER_UNIT = 256, SCHEDULERS = 4 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int occupancy_blocks(const struct occupancy_limits *has, const struct block_needs *needs)
{
    int64_t warps = (needs->threads + WARP - 1) / WARP;
    int64_t of_warp = (int64_t)needs->registers * WARP;
    of_warp = (of_warp + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    int64_t blocks = least(MOST_BLOCKS, has->shared / (needs->shared + SYSTEM_BYTES));
    blocks = least(blocks, has->threads / (warps > 0 ? warps * WARP : WARP));
    if (of_warp > 0 && warps > 0)
        blocks = least(blocks, has->registers / (of_warp * warps));
    return (int)blocks;
}

/* All candidates do the same work, so they are compared by what keeps a GPU from it: the last wave
 * of blocks, which leaves multiprocessors idle; fewer warps than a multiprocessor has schedulers
 * (4), and somewhat every warp too few to hide latencies; and small tiles, which read memory more
 * often: as the square root of the registers that hold a block's results. */
double occupancy_cost(const struct occupancy_limits *has, const struct block_needs *needs)
{
    int resident = occupancy_blocks(has, needs);
    double held = (double)needs->registers * needs->threads;
    double tiles = 1 + 64 / sqrt(held > 1 ? held : 1);
    if (has->multiprocessors == 0 || needs->blocks <= 0)
        return tiles;
    double places = has->multiprocessors, blocks = (double)needs->blocks;
    /* blocks beside each other; registers are estimates, so one that does not fit counts as one */
    double at_once = fmin(resident > 1 ? resident : 1, ceil(blocks / places));
    double rounds = ceil(blocks / (places * at_once));
    double idle = rounds * places * at_once / blocks;
    double warps = at_once * needs->threads / WARP;
    return idle * fmax(1, SCHEDULERS / warps) * (1 + 1 / warps) * tiles;
}
