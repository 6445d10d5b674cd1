/* Which blocks of a grid are run, and how many each stands for. Blocks of one grid may do different
 * work: copy or multiply, go over more of a triangle or less, end at an edge. Along each axis of the
 * grid the first, the middle and the last block are compared by what they execute; where
 * neighbours differ, those between them are looked at, the greatest difference first.
 */
#ifndef TW_EXPLAIN_SAMPLE_H
#define TW_EXPLAIN_SAMPLE_H

#include "base/arena.h"

/* One that was run. */
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
    bool all_z; /* the third axis as a whole, in order: its blocks may wait for those before them */
    /* Runs one block; false ends the sampling. Puts what it executed into *out, arena memory. */
    bool (*run)(void *user, struct sample *out);
    void *user;
    double most; /* executions, after which no more blocks are looked for */
    double done;
    VEC(struct sample *) all; /* in the order in which they ran */
};

/* Runs blocks, and says what they stand for: 0, of one that another stands for. false: `run` said
 * so. */
bool sample_grid(struct sampling *s);

#endif
