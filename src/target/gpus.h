/* GPUs that the model knows, with the figures of their data sheets and of published measurements
 * (gpus.def). */
#ifndef TW_TARGET_GPUS_H
#define TW_TARGET_GPUS_H

#include "target/targets.h"

/* Figures measured on the multiprocessors of a compute capability. */
struct gpu_capability {
    int number; /* 90 */
    /* 2: L2 has two halves, each of which keeps a copy of the lines that its multiprocessors read */
    int l2_halves;
    /* Shares of the matrix units' rate: that of mma.sync, and what whole kernels of products reach. */
    double mma_share, kernel_share;
    const char *whole_rate; /* the instruction that alone reaches the whole rate; NULL: mma.sync */
    /* Cycles from a load to the use of its result; memory: while many blocks read. */
    int shared, l1_hit, l2_hit, memory;
};

struct gpu {
    const char *name, *aliases;
    int capability, multiprocessors;
    int clock, tensor_clock, sustained; /* MHz */
    /* Operations per cycle and multiprocessor; 0: it has no such units. */
    int f64, f32, tensor_f64, tf32, f16, i8, fp8;
    const char *memory;
    int memory_gb, bandwidth; /* GB/s */
    int l2_mb, l2[3];         /* bytes a cycle: low, middle, high */
    const char *source;
    int readings; /* measured times that the model was compared with; 0: none */
};

const struct gpu *target_gpu_at(int index); /* NULL past the last */
/* Returns the most blocks of `threads` threads that a GPU runs at the same time, of all GPUs. */
int64_t target_gpu_most_blocks(int64_t threads);
/* Finds a GPU by name or alias, without regard to case and blanks. Returns NULL if there is
 * none. */
const struct gpu *target_gpu_find(const char *name);
const struct gpu_capability *target_gpu_capability_of(const struct gpu *g);
const struct target *target_of_gpu(const struct gpu *g); /* has the limits of its multiprocessors */

#endif
