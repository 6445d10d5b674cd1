/* The time of a launch from the work of one block: roofs, waves and waits, without a simulation.
 * It takes nanoseconds and orders variants of one kernel; `explain` predicts more exactly. */
#ifndef TW_MODEL_BLOCK_TIME_H
#define TW_MODEL_BLOCK_TIME_H

#include "target/gpus.h"

#include <stdbool.h>

/* The rates of a GPU, a second, and the waits that no other work hides, in seconds. */
struct block_rates {
    int multiprocessors;
    double flops;           /* of all multiprocessors, for the type of the factors */
    double l2, memory, add; /* bytes; add: by atomic operations */
    double step, launch, meeting;
};

/* The work of a launch. */
struct launch_work {
    double blocks;
    int resident;                                /* on a multiprocessor; 0: 1 */
    double flops, moved, added, steps, meetings; /* of a block; moved: bytes of global memory */
    double bytes;                                /* of all arrays */
    double most_flops, most_steps; /* of the block with the most; 0: all blocks are alike */
};

/* The units that multiply. */
enum block_unit { UNIT_FMA, UNIT_F64, UNIT_TF32, UNIT_F16, UNIT_I8, UNIT_FP8 };

/* Returns the rates of a GPU for products on a unit. by_warpgroups: the instructions are those of
 * warpgroups, which alone have all matrix units of some GPUs. */
struct block_rates model_block_rates_of(const struct gpu *g, enum block_unit unit,
                                        bool by_warpgroups);

/* Returns the seconds of a launch. */
double model_block_time(const struct block_rates *r, const struct launch_work *n);

#endif
