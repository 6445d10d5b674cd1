/* A product of matrices, as the libraries that `bench` compares with are asked for it. */
#ifndef TW_GEMM_H
#define TW_GEMM_H

#include "tilewright.h"

/* C[batch][m][n] = A[batch][m][k] · B[batch][k][n], rows without gaps. */
struct gemm {
    tw_dtype a, b, c; /* of the elements */
    int64_t m, n, k;
    int64_t batch;           /* 1: a single product */
    bool a_turned, b_turned; /* A is stored as [k][m], B as [n][k] */
};

#endif
