/* Product of matrices, in the form that the libraries for `bench` take. */
#ifndef TW_GEMM_H
#define TW_GEMM_H

#include "tilewright.h"

/* Product C[batch][m][n] = A[batch][m][k] · B[batch][k][n] of matrices whose rows have no gaps. */
struct gemm {
    tw_dtype a, b, c; /* of the elements */
    int64_t m, n, k;
    int64_t batch;           /* 1: a single product */
    bool a_turned, b_turned; /* A is stored as [k][m], B as [n][k] */
    int64_t unit_terms; /* products that are added in the unit's fewer bits, at most; 0: none */
};

#endif
