/* The time of a block that has a multiprocessor to itself: each warp waits for the data that it
 * reads. */
#ifndef TW_MODEL_LATENCY_H
#define TW_MODEL_LATENCY_H

#include "model/work.h"

/* Cycles from issue to the use of the result, and related figures (sources: docs/model.md). */
struct latencies {
    double arithmetic, special, shared, l1, l2, memory, matrix, shuffle, barrier;
    double copy_to_shared;            /* of cp.async, in addition to l2 or memory */
    double issue;                     /* between instructions of one warp */
    double matrix_rate[MATRIX_COUNT]; /* operations per cycle of a scheduler's unit; 0: it has
                                       * none */
    /* Operations per cycle of a multiprocessor by products of warpgroups, and cycles of a scheduler for
     * the special functions of a warp. */
    double product_rate[MATRIX_COUNT], special_interval;
    double missed;        /* share of the requested lines that are not in L1 */
    double missed_l1;     /* mean latency of those */
    double line_interval; /* cycles between lines from L2, for a multiprocessor */
};

/* The counts of one instruction for a whole block. */
struct paced {
    double executions; /* once a warp */
    double wavefronts; /* wavefronts of shared memory and L1 */
    double lines;      /* of global memory */
};

/* Returns the cycles of a block with `warps` warps. `of` has an entry for each statement of the
 * body. */
double model_latency_of_block(struct arena *a, const struct ptx_function *f, const struct paced *of,
                              const struct latencies *l, int warps);

/* Returns the cycles of one warpgroup, of a block in which `warps` warps issue products of
 * warpgroups, if the others of the block do nothing meanwhile and all copies are there in time except
 * the first. Only code on a path through such a product counts, so the role that copies does not. */
double model_latency_of_warpgroup(struct arena *a, const struct ptx_function *f,
                                  const struct paced *of, const struct latencies *l, int warps);

/* Returns, for each statement of the body, if it is on a path through a product of warpgroups.
 * product_paths.c */
const bool *model_product_paths(struct arena *a, const struct ptx_function *f);

#endif
