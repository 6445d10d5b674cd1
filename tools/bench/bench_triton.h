/* Times a product in Triton for comparison: bench/triton_matmul.py, in a separate process. */
#ifndef TW_BENCH_TRITON_H
#define TW_BENCH_TRITON_H

#include "cli/gemm.h"

struct triton_time {
    char name[48]; /* "Triton 3.6.0" */
    double ms;
    char why[400]; /* if ms is 0: no Triton, or unsupported product */
};
/* Times the product with the `python3` of the PATH. Requires an idle GPU. */
struct triton_time triton_time(const struct gemm *g);

#endif
