/* Executes lowered kernels without a GPU, to compare them with the CPU engine: the threads of a
 * block step by step together, those behind first, so branches meet again where they can. Shared
 * memory is watched: what one warp wrote and another reads (or writes) without a barrier between is
 * a race. Not for timing, and asynchronous copies land at once. */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include "ptx/ptx.h"

enum { LOCKSTEP_ARRAYS = 64 };
struct lockstep_array {
    void *data;
    size_t bytes;
};

struct lockstep {
    struct arena *arena;
    const struct ptx_function *function;
    int grid[3], block[3];
    bool together; /* blocks wait for one another: all run at the same time */
    int64_t shared_bytes;
    uint64_t args[32]; /* by parameter: the bits of a scalar, the address of an array */
    struct lockstep_array arrays[LOCKSTEP_ARRAYS];
    int array_count;
    int64_t steps; /* instructions of all threads: out */
};

/* NULL, or what went wrong (arena text). */
const char *lockstep_run(struct lockstep *s);

#endif
