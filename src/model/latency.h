/* How long a block takes that has a multiprocessor to itself: each warp waits for what it reads. */
#ifndef TW_MODEL_LATENCY_H
#define TW_MODEL_LATENCY_H

#include "model/work.h"

/* Cycles from issue to when the result can be used, and the like (docs/model.md has sources). */
struct latencies {
    double arithmetic, special, shared, l1, l2, memory, matrix, shuffle, barrier;
    double copy_to_shared;            /* of cp.async, besides l2 or memory */
    double issue;                     /* between instructions of one warp */
    double matrix_rate[MATRIX_COUNT]; /* operations a cycle of a scheduler's unit; 0: it has none */
    double missed;                    /* of lines that loads ask for: not in L1 */
    double missed_l1;                 /* the mean latency of those */
    double line_interval;             /* of a multiprocessor, between lines from L2 */
};

/* What was counted of one instruction, for all of a block. */
struct paced {
    double executions; /* once a warp */
    double wavefronts; /* of shared memory and L1 */
    double lines;      /* of global memory */
};

/* `of`: by statement of the body. Cycles of a block with `warps` warps. */
double latency_of_block(struct arena *a, const struct ptx_function *f, const struct paced *of,
                        const struct latencies *l, int warps);

#endif
