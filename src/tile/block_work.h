/* The work of one block, estimated from the typed program. It takes microseconds. */
#ifndef TW_BLOCK_WORK_H
#define TW_BLOCK_WORK_H

#include "tile/tile.h"

struct block_work {
    double flops;                /* of products; a multiply-add is two */
    enum dtype factor;           /* element type of the factors of a product; DT_F32: no product */
    double read, written, added; /* bytes of global memory; `added`: by atomic operations */
    double steps;    /* iterations of loops that read global memory or multiply; of roles,
                                  * which run at the same time, those of the longest one */
    double meetings; /* lock and arrive */
    double most_flops, most_steps; /* of the block of those with the most */
    bool by_warpgroups;            /* a product is dot_async */
};

/* A program that can be evaluated for many sizes. It owns the kernel that it was made from. */
struct block_program;

/* Makes a program of a typed kernel, before any pass, and changes the kernel for that. Everything
 * is from the arena. */
struct block_program *block_program_new(struct arena *a, struct kernel *k);

/* Returns the mean work of a few blocks of the grid. values: of the scalar parameters, by index.
 * Both sides of a branch count if its condition is not known, and a loop whose iterations cannot
 * be counted runs once. */
struct block_work block_work_at(struct block_program *p, const struct scalar_env *values,
                                const int64_t grid[3]);

/* Returns the bytes of all arrays of the caller's, each once. */
double block_program_bytes(const struct block_program *p, const struct scalar_env *values);

#endif
