/* Calls cuBLAS and cuBLASLt for comparison. They are found and loaded at run time, so the
 * program does not depend on them. Their matrices are column-major and ours row-major, which is
 * the transpose, so a product C = A·B is computed as C^T = B^T·A^T. All matrices are in device
 * memory. */
#ifndef TW_CUBLAS_H
#define TW_CUBLAS_H

#include "cli/gemm.h"

struct cublas {
    void *library, *lt_library;
    const struct cublas_calls *calls;
    void *handle, *lt_handle; /* lt_handle NULL: no cuBLASLt */
    void *stream;
    char name[32];    /* "cuBLAS 13.1.0" */
    char lt_name[32]; /* "cuBLASLt 13.1.0" */
    char why[400];    /* error of the last failed call, or how to get the library */
};

/* Loads the library from $TILEWRIGHT_CUBLAS (a folder or libcublas itself), the loader's paths,
 * CUDA's folders, or pip's folders: $VIRTUAL_ENV and the paths of this machine's `python3`.
 * Calls go to `stream` of the current GPU. Returns false if there is none; `why` tells how to
 * get it. The caller calls cublas_close in either case. */
bool cublas_open(struct cublas *x, void *stream);
void cublas_close(struct cublas *x);
/* Sets the workspace of cuBLAS, in device memory. It is required for products that are recorded
 * as graphs, because these must not allocate memory. */
bool cublas_set_workspace(struct cublas *x, void *workspace, size_t bytes);

/* Starts the product; a, b and c are in device memory. Returns false if cuBLAS does not support
 * it; `why` is the reason. */
bool cublas_gemm(struct cublas *x, const struct gemm *g, const void *a, const void *b, void *c);

/* Algorithms of cuBLASLt for a product: the first ones that its heuristic returns. */
enum { CUBLASLT_WAYS = 8 };
struct cublaslt_plan {
    struct gemm gemm;
    void *operation, *layouts[3]; /* of its A, its B, and of C */
    struct cublaslt_way *ways;
    int way_count;
    void *workspace; /* device memory of the caller */
    size_t workspace_bytes;
};
/* Plans a product. Returns false if cuBLASLt does not support it; `why` is the reason. The
 * caller calls cublaslt_plan_close in either case. */
bool cublaslt_plan_open(struct cublaslt_plan *p, struct cublas *x, const struct gemm *g,
                        void *workspace, size_t workspace_bytes);
void cublaslt_plan_close(struct cublaslt_plan *p, struct cublas *x);
bool cublaslt_start(struct cublas *x, const struct cublaslt_plan *p, int way, const void *a,
                    const void *b, void *c);

#endif
