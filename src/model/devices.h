/* GPUs that the model knows: what their data sheets and the measurements of others say of them
 * (devices.def). */
#ifndef TW_MODEL_DEVICES_H
#define TW_MODEL_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

/* What multiprocessors of a compute capability have, besides what a target of kernels says. */
struct gpu_capability {
    int number; /* 90 */
    int l1_kb;  /* L1 and shared memory together */
    int blocks; /* resident */
    /* Cycles from a load to when its result can be used; memory: while many blocks read. */
    int shared, l1_hit, l2_hit, memory;
};

struct gpu {
    const char *name, *aliases, *target;
    int capability, multiprocessors;
    int clock, tensor_clock, sustained; /* MHz */
    /* Operations a cycle and multiprocessor; 0: it has no such units. */
    int f64, f32, tensor_f64, tf32, f16, i8, fp8;
    const char *memory;
    int memory_gb, bandwidth; /* GB/s */
    int l2_mb, l2[3];         /* bytes a cycle: low, middle, high */
    const char *source;
    int readings; /* of its times, that the model was compared with; 0: of none */
};

enum { GPU_SYSTEM_BYTES = 1024 }; /* of shared memory, that the system keeps of each block's */

const struct gpu *gpu_at(int index); /* NULL past the last */
/* By name or alias, without regard to case and blanks. NULL: none. */
const struct gpu *gpu_find(const char *name);
const struct gpu_capability *gpu_capability_of(const struct gpu *g);

#endif
