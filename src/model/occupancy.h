/* How many blocks a multiprocessor holds at the same time. */
#ifndef TW_MODEL_OCCUPANCY_H
#define TW_MODEL_OCCUPANCY_H

#include <stdint.h>

/* What a GPU has and one block takes. */
struct occupancy_limits {
    int multiprocessors; /* 0: not known */
    int64_t shared;      /* bytes of a multiprocessor */
    int registers, threads;
    int blocks; /* 0: 32 */
};
struct block_needs {
    int64_t shared; /* bytes */
    int registers;  /* of a thread */
    int threads;
    int64_t blocks; /* of the grid; 0: not known */
};
/* Blocks that each resource has room for. */
enum occupancy_by { BY_REGISTERS, BY_SHARED, BY_THREADS, BY_BLOCKS, OCCUPANCY_COUNT };
struct occupancy {
    int64_t by[OCCUPANCY_COUNT];
    int blocks;                /* the least of these */
    enum occupancy_by limiter; /* whose that is */
};
void occupancy_find(const struct occupancy_limits *has, const struct block_needs *needs,
                    struct occupancy *out);
/* Blocks that a multiprocessor holds at the same time; 0: none. */
int occupancy_blocks(const struct occupancy_limits *has, const struct block_needs *needs);
/* A number that is lower for what is likely to be faster: see occupancy.c. For the order of trying
 * only. */
double occupancy_cost(const struct occupancy_limits *has, const struct block_needs *needs);

#endif
