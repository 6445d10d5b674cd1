/* GPUs that the model knows, with the figures of their data sheets and of published measurements
 * (gpus.def). */
#ifndef TW_TARGET_GPUS_H
#define TW_TARGET_GPUS_H

#include <stdbool.h>
#include <stdint.h>

/* Properties of a compute capability's multiprocessors that the targets of kernels do not list. */
struct gpu_capability {
    int number; /* 90 */
    int l1_kb;  /* L1 and shared memory together, in KB */
    int blocks; /* resident */
    /* 2: L2 has two halves, each of which keeps a copy of the lines that its multiprocessors read */
    int l2_halves;
    /* Shares of the matrix units' rate: that of mma.sync, and what whole kernels of products reach. */
    double mma_share, kernel_share;
    const char *whole_rate; /* the instruction that alone reaches the whole rate; NULL: mma.sync */
    /* Cycles from a load to the use of its result; memory: while many blocks read. */
    int shared, l1_hit, l2_hit, memory;
};

struct gpu {
    const char *name, *aliases, *target;
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

enum { GPU_SYSTEM_BYTES = 1024 }; /* bytes of shared memory that the system takes of each block */

const struct gpu *gpu_at(int index); /* NULL past the last */
/* Finds a GPU by name or alias, without regard to case and blanks. Returns NULL if there is
 * none. */
const struct gpu *gpu_find(const char *name);
const struct gpu_capability *gpu_capability_of(const struct gpu *g);

#endif
