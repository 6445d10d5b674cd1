/* The memory that the arguments of a PTX launch point to. */
#ifndef TW_PTX_MEMORY_H
#define TW_PTX_MEMORY_H

#include "api/ptx_program.h"

/* Memory of the caller that arguments share; overlapping pieces form one block. */
struct ptx_block {
    uint8_t *data;
    size_t bytes;
    bool uninitialised; /* counts as never written, except its first bytes, below */
    size_t initialised;
    bool structs; /* of a piece of it */
    const char *name;
    uint64_t address; /* on the machine that runs the launch; the caller fills it in */
};

/* The memory that one pointer points to. */
struct ptx_piece {
    int argument;
    size_t at;   /* of a pointer within a value: its offset */
    bool inside; /* it is one */
    const char *name;
    uint8_t *data;
    size_t bytes, initialised;
    bool uninitialised, structs;
    struct ptx_block *block;
};

struct ptx_memory {
    const tw_ptx_launch *launch;
    struct ptx_block *blocks;
    struct ptx_piece *pieces;
    int block_count, piece_count;
};

/* Finds the memory of a launch that launch_ptx_kernel has accepted. The result lives in the
 * arena. */
void launch_ptx_memory_find(struct ptx_memory *m, struct arena *a, const tw_ptx_launch *l,
                            const struct ptx_function *kernel);
/* Returns the bytes of each argument, once the blocks have their addresses. */
const void **launch_ptx_memory_values(const struct ptx_memory *m, struct arena *a);

#endif
