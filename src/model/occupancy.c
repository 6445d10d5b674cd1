/* The number of blocks that a multiprocessor holds, and a rough order of candidates.
 *
 * CUDA C++ Programming Guide, "Compute Capabilities" and "Multiprocessor Level": the limits are
 * shared memory (the system takes some of each block), registers (allocated to warps), threads, and
 * blocks. */
#include "model/occupancy.h"

#include <math.h>

enum { WARP = 32 };

struct occupancy_limits model_occupancy_limits_of(const struct target *t, int multiprocessors)
{
    return (struct occupancy_limits){.multiprocessors = multiprocessors,
                                     .shared = t->shared_of_sm,
                                     .registers = t->registers,
                                     .threads = t->threads_of_sm,
                                     .blocks = t->blocks_of_sm};
}

void model_occupancy_find(const struct occupancy_limits *has, const struct block_needs *needs,
                          struct occupancy *out)
{
    int64_t warps = (needs->threads + WARP - 1) / WARP;
    int64_t of_warp = (int64_t)needs->registers * WARP;
    of_warp =
        (of_warp + GPU_WARP_REGISTER_UNIT - 1) / GPU_WARP_REGISTER_UNIT * GPU_WARP_REGISTER_UNIT;
    /* Each of the four schedulers has a quarter of the registers, which it allocates to whole
     * warps. */
    int64_t by_registers =
        of_warp ? has->registers / GPU_SCHEDULERS / of_warp * GPU_SCHEDULERS : INT32_MAX;
    warps = warps > 0 ? warps : 1;
    out->by[BY_REGISTERS] = of_warp ? by_registers / warps : INT32_MAX;
    out->by[BY_SHARED] = has->shared / (needs->shared + GPU_SYSTEM_SHARED);
    out->by[BY_THREADS] = has->threads / (warps * WARP);
    out->by[BY_BLOCKS] = has->blocks;
    out->limiter = BY_THREADS; /* named among equal limits, because there cannot be more than all
                                * threads */
    for (int i = 0; i < OCCUPANCY_COUNT; i++)
        if (out->by[i] < out->by[out->limiter])
            out->limiter = (enum occupancy_by)i;
    out->blocks = (int)out->by[out->limiter];
}

int model_occupancy_blocks(const struct occupancy_limits *has, const struct block_needs *needs)
{
    struct occupancy found;
    model_occupancy_find(has, needs, &found);
    return found.blocks;
}

/* Rates a candidate. All candidates do the same work, so the rating compares what keeps a GPU
 * from it: the last wave of blocks, which leaves multiprocessors idle; fewer warps than a
 * multiprocessor has schedulers (4), and to a lesser degree every missing warp that could hide
 * latencies; and small tiles, which read memory more often: by the square root of the registers
 * that hold a block's results. */
double model_occupancy_cost(const struct occupancy_limits *has, const struct block_needs *needs)
{
    int resident = model_occupancy_blocks(has, needs);
    double held = (double)needs->registers * needs->threads;
    double tiles = 1 + 64 / sqrt(held > 1 ? held : 1);
    if (has->multiprocessors == 0 || needs->blocks <= 0)
        return tiles;
    double places = has->multiprocessors, blocks = (double)needs->blocks;
    /* resident blocks; registers are estimates, so a block that does not fit counts as one */
    double at_once = fmin(resident > 1 ? resident : 1, ceil(blocks / places));
    double rounds = ceil(blocks / (places * at_once));
    double idle = rounds * places * at_once / blocks;
    double warps = at_once * needs->threads / WARP;
    return idle * fmax(1, GPU_SCHEDULERS / warps) * (1 + 1 / warps) * tiles;
}
