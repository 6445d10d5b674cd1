/* Products of matrices, as `bench` and `tune` find them among a kernel's parameters. */
#ifndef TW_PRODUCT_H
#define TW_PRODUCT_H

#include "gemm.h"

/* Which of a kernel's arrays are A, B and C of C[batch][m][n] = A[batch][m][k] · B[batch][k][n]
 * (the batch may be missing, matrices may be stored turned); -1: it has none. `alone`: it has no
 * other array. */
struct product_of {
    int a, b, c;
    bool batched, a_turned, b_turned, alone;
};
bool find_product(tw_kernel *k, struct product_of *out);
/* Whether an integer parameter has that name. */
bool takes_extent(tw_kernel *k, const char *name);

#endif
