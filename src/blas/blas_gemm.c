/* Entry points of products: each describes its product and runs it. */
#include "blas/blas.h"

/* cublasComputeType_t */
enum { COMPUTE_F16 = 64, COMPUTE_F32 = 68, COMPUTE_F64 = 70, COMPUTE_I32 = 72 };

/* Returns the type of the sums; the modes of 32 bits that use matrix units count as F32. */
static int type_of_sums(int compute)
{
    switch (compute & ~1) { /* the odd numbers: without other algorithms */
    case COMPUTE_F16: return BLAS_F16;
    case COMPUTE_F64: return BLAS_F64;
    case COMPUTE_I32: return BLAS_I32;
    default: return BLAS_F32;
    }
}

#define MATRICES(la, sa, ta, lb, sb, tb, lc, sc, tc)                                               \
    .a = {(uintptr_t)a, la, sa, ta, op_a != 0}, .b = {(uintptr_t)b, lb, sb, tb, op_b != 0},        \
    .c = {(uintptr_t)c, lc, sc, tc, false}
#define PRODUCT(name, batch, sums, listed, ...)                                                    \
    const struct blas_product p = {.call = #name,                                                  \
                                   .handle = handle,                                               \
                                   .m = m,                                                         \
                                   .n = n,                                                         \
                                   .k = k,                                                         \
                                   .count = batch,                                                 \
                                   .alpha = alpha,                                                 \
                                   .beta = beta,                                                   \
                                   .scale = sums,                                                  \
                                   .list = listed,                                                 \
                                   __VA_ARGS__};                                                   \
    return blas_multiply(&p)

#define HEAD(number)                                                                               \
    void *handle, int op_a, int op_b, number m, number n, number k, const void *alpha
#define PLAIN_OF(name, type, number)                                                               \
    BLAS_FUNCTION(name, (HEAD(number), const void *a, number lda, const void *b, number ldb,       \
                         const void *beta, void *c, number ldc))                                   \
    {                                                                                              \
        PRODUCT(name, 1, type, false, MATRICES(lda, 0, type, ldb, 0, type, ldc, 0, type));         \
    }
#define STRIDED_OF(name, type, number)                                                             \
    BLAS_FUNCTION(name, (HEAD(number), const void *a, number lda, int64_t apart_a, const void *b,  \
                         number ldb, int64_t apart_b, const void *beta, void *c, number ldc,       \
                         int64_t apart_c, number count))                                           \
    {                                                                                              \
        PRODUCT(name, count, type, false,                                                          \
                MATRICES(lda, apart_a, type, ldb, apart_b, type, ldc, apart_c, type));             \
    }
#define LISTED_OF(name, type, number)                                                              \
    BLAS_FUNCTION(name, (HEAD(number), const void *a, number lda, const void *b, number ldb,       \
                         const void *beta, const void *c, number ldc, number count))               \
    {                                                                                              \
        PRODUCT(name, count, type, true, MATRICES(lda, 0, type, ldb, 0, type, ldc, 0, type));      \
    }
#define PLAIN_EX_OF(name, number)                                                                  \
    BLAS_FUNCTION(name, (HEAD(number), const void *a, int type_a, number lda, const void *b,       \
                         int type_b, number ldb, const void *beta, void *c, int type_c,            \
                         number ldc, int compute, int algorithm))                                  \
    {                                                                                              \
        (void)algorithm;                                                                           \
        PRODUCT(name, 1, type_of_sums(compute), false,                                             \
                MATRICES(lda, 0, type_a, ldb, 0, type_b, ldc, 0, type_c));                         \
    }
#define STRIDED_EX_OF(name, number)                                                                \
    BLAS_FUNCTION(name, (HEAD(number), const void *a, int type_a, number lda, int64_t apart_a,     \
                         const void *b, int type_b, number ldb, int64_t apart_b, const void *beta, \
                         void *c, int type_c, number ldc, int64_t apart_c, number count,           \
                         int compute, int algorithm))                                              \
    {                                                                                              \
        (void)algorithm;                                                                           \
        PRODUCT(name, count, type_of_sums(compute), false,                                         \
                MATRICES(lda, apart_a, type_a, ldb, apart_b, type_b, ldc, apart_c, type_c));       \
    }
#define LISTED_EX_OF(name, number)                                                                 \
    BLAS_FUNCTION(name, (HEAD(number), const void *a, int type_a, number lda, const void *b,       \
                         int type_b, number ldb, const void *beta, const void *c, int type_c,      \
                         number ldc, number count, int compute, int algorithm))                    \
    {                                                                                              \
        (void)algorithm;                                                                           \
        PRODUCT(name, count, type_of_sums(compute), true,                                          \
                MATRICES(lda, 0, type_a, ldb, 0, type_b, ldc, 0, type_c));                         \
    }

#define PLAIN(name, type) PLAIN_OF(name, type, int) PLAIN_OF(name##_64, type, int64_t)
#define STRIDED(name, type) STRIDED_OF(name, type, int) STRIDED_OF(name##_64, type, int64_t)
#define LISTED(name, type) LISTED_OF(name, type, int) LISTED_OF(name##_64, type, int64_t)
#define PLAIN_EX(name) PLAIN_EX_OF(name, int) PLAIN_EX_OF(name##_64, int64_t)
#define STRIDED_EX(name) STRIDED_EX_OF(name, int) STRIDED_EX_OF(name##_64, int64_t)
#define LISTED_EX(name) LISTED_EX_OF(name, int) LISTED_EX_OF(name##_64, int64_t)
#include "blas/blas_gemm.def"
