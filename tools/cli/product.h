/* Recognises products of matrices among a kernel's parameters, for `bench` and `tune`. */
#ifndef TW_PRODUCT_H
#define TW_PRODUCT_H

#include "cli/gemm.h"

/* Indices of the kernel's arrays A, B and C of C[batch][m][n] = A[batch][m][k] · B[batch][k][n]
 * (the batch may be missing, matrices may be stored transposed); -1: none. `alone`: there is no
 * other array. */
struct product_of {
    int a, b, c;
    bool batched, a_turned, b_turned, alone;
};
bool find_product(tw_kernel *k, struct product_of *out);
/* Returns whether an integer parameter has that name. */
bool takes_extent(tw_kernel *k, const char *name);
/* Returns the scale for random floats, which are uniform in ±scale/2. It shrinks as the number
 * of products per sum, k, grows. k 0: the kernel is not a product. */
double product_scale(int64_t k, tw_dtype dtype);

#endif
