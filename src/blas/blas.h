/* NVIDIA's library of linear algebra on the driver of this project: what libcublas.so.12 and .13 are made
 * of. With `--stub`, products of real matrices (gemm) run on the host; all other calls that compute are
 * refused by name.
 *
 *   blas.c          handles and their settings
 *   blas_copy.c     copies of vectors and matrices between the host and the device
 *   blas_gemm.c     entry points of products
 *   blas_product.c  a product
 *   blas_driver.c   the driver, and what is not supported */
#ifndef TW_BLAS_H
#define TW_BLAS_H

#include "driver/driver_api.h"
#include "driver/driver_private.h"

#include <stdbool.h>

/* cublasStatus_t */
enum blas_status {
    BLAS_SUCCESS = 0,
    BLAS_NOT_INITIALIZED = 1,
    BLAS_ALLOC_FAILED = 3,
    BLAS_INVALID_VALUE = 7,
    BLAS_MAPPING_ERROR = 11,
    BLAS_EXECUTION_FAILED = 13,
    BLAS_NOT_SUPPORTED = 15
};

struct blas_handle {
    uint64_t mark; /* of a live handle */
    void *stream;
    int pointer_mode; /* 0: alpha and beta are on the host; 1: on the device */
    int math_mode, atomics_mode, sm_count;
};
/* Returns the handle; NULL: it is invalid. */
struct blas_handle *blas_handle_of(void *handle);
/* Returns the driver's private table; NULL: another driver is installed. */
const struct driver_private *blas_driver(void);

/* Declares a function, and begins its definition. */
#define BLAS_FUNCTION(name, parameters)                                                            \
    DRIVER_EXPORT int name parameters;                                                             \
    int name parameters

#define CALL(symbol, result, parameters) DRIVER_EXPORT result symbol parameters;
#include "blas/blas_calls.def"
#undef CALL

/* --- products --- */

/* The types of cudaDataType that products take. */
enum blas_type {
    BLAS_F32 = 0,
    BLAS_F64 = 1,
    BLAS_F16 = 2,
    BLAS_I8 = 3,
    BLAS_I32 = 10,
    BLAS_BF16 = 14
};

/* A matrix, column by column. */
struct blas_matrix {
    uint64_t address; /* of the first one; with `list`: of the list of their addresses */
    int64_t step;     /* elements from column to column */
    int64_t apart;    /* elements from one matrix to the next */
    int type;
    bool transposed;
};

/* C = alpha op(A) op(B) + beta C, `count` times */
struct blas_product {
    const char *call;
    void *handle;
    int64_t m, n, k, count;
    struct blas_matrix a, b, c;
    const void *alpha, *beta;
    int scale; /* type of alpha and beta, and of the sums */
    bool list; /* the matrices are in lists of pointers on the device */
};
/* Runs it in the handle's stream. Returns a status. */
int blas_multiply(const struct blas_product *p);

#endif
