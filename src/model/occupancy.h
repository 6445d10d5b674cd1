/* The number of blocks that a multiprocessor holds at the same time. */
#ifndef TW_MODEL_OCCUPANCY_H
#define TW_MODEL_OCCUPANCY_H

#include "target/targets.h"

/* The resources of a GPU and the needs of one block. */
struct occupancy_limits {
    int multiprocessors; /* 0: not known */
    int64_t shared;      /* bytes of a multiprocessor */
    int registers, threads;
    int blocks;
};
struct occupancy_limits model_occupancy_limits_of(const struct target *t, int multiprocessors);
struct block_needs {
    int64_t shared; /* bytes */
    int registers;  /* of a thread */
    int threads;
    int64_t blocks; /* of the grid; 0: not known */
};
/* The number of blocks that each resource has room for. */
enum occupancy_by { BY_REGISTERS, BY_SHARED, BY_THREADS, BY_BLOCKS, OCCUPANCY_COUNT };
struct occupancy {
    int64_t by[OCCUPANCY_COUNT];
    int blocks;                /* the least of these */
    enum occupancy_by limiter; /* whose that is */
};
void model_occupancy_find(const struct occupancy_limits *has, const struct block_needs *needs,
                          struct occupancy *out);
/* Returns the number of blocks that a multiprocessor holds at the same time; 0: none fits. */
int model_occupancy_blocks(const struct occupancy_limits *has, const struct block_needs *needs);
/* Returns a cost that is lower for candidates that are likely to be faster (occupancy.c). Only
 * for the order of trying. */
double model_occupancy_cost(const struct occupancy_limits *has, const struct block_needs *needs);

#endif
