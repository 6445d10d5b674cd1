/* Executes compiled kernels without a GPU, to compare them with the CPU engine. The threads of a
 * block run together, step by step; threads at earlier instructions go first, so branches meet
 * again if they can. Shared memory is watched: if one warp writes a byte and another reads or
 * writes it without a barrier in between, the machine reports a race. It models no time, and
 * asynchronous copies complete at once. */
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
    bool together; /* blocks wait for one another, so all run at the same time */
    int64_t shared_bytes;
    uint64_t args[32]; /* by parameter: the bits of a scalar, the address of an array */
    struct lockstep_array arrays[LOCKSTEP_ARRAYS];
    int array_count;
    int64_t steps; /* out: the instructions of all threads */
};

/* Returns NULL, or a message about the fault (arena text). */
const char *lockstep_run(struct lockstep *s);

#endif
