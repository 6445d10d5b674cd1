/* Choosing the blocks of a grid to run, and the number of blocks that each represents. Blocks of
 * one grid may do different work: copy or multiply, go over more of a triangle or less, end at
 * an edge. Along each axis of the grid the sampler compares the work of the first, the middle
 * and the last block; if neighbours differ, it runs blocks between them, at the greatest
 * difference first. */
#ifndef TW_EXPLAIN_SAMPLE_H
#define TW_EXPLAIN_SAMPLE_H

#include "base/arena.h"

/* A block that was run. */
struct sample {
    int64_t at[3];
    double *executed; /* by statement */
    double sum;       /* of these */
    void *seen;       /* the caller's */
    double stands_for;
};

struct sampling {
    struct arena *arena;
    int64_t extent[3];
    size_t statements;
    bool all_z; /* runs the third axis whole, in order: its blocks may wait for earlier ones */
    /* Runs one block and puts its work into *out, in arena memory. Returns false to end the
     * sampling. */
    bool (*run)(void *user, struct sample *out);
    void *user;
    double most; /* executions after which no more blocks are run */
    double done;
    VEC(struct sample *) all; /* in the order in which they ran */
};

/* Runs blocks and sets the number of blocks that each represents; 0: another one represents it
 * too. Returns false if `run` did. */
bool explain_sample_grid(struct sampling *s);

#endif
