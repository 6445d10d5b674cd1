/* A product in Triton beside ours: bench/triton_matmul.py, in a process of its own. */
#ifndef TW_BENCH_TRITON_H
#define TW_BENCH_TRITON_H

#include "gemm.h"

struct triton_time {
    char name[48]; /* "Triton 3.6.0" */
    double ms;
    char why[400]; /* ms 0: no Triton, or it does not do this product */
};
/* The GPU must be idle. `python3` of the PATH runs it. */
struct triton_time triton_time(const struct gemm *g);

#endif
