/* OpenBLAS, to compare with: found by path and loaded at run time, so nothing depends on it. */
#ifndef TW_BLAS_H
#define TW_BLAS_H

#include <stdbool.h>
#include <stdint.h>

struct blas {
    void *library;
    char name[160]; /* what it calls itself, e.g. "OpenBLAS 0.3.21" */
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
};

/* Looks at $TILEWRIGHT_BLAS, the system's folders, then build/blas beside the program. false: there
 * is none. */
bool blas_open(struct blas *b, int threads);
/* c[m][n] = a[m][k] · b[k][n], row-major */
void blas_multiply(const struct blas *b, int64_t m, int64_t n, int64_t k, const float *a,
                   const float *b_matrix, float *c);

#endif
