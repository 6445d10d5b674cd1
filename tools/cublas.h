/* cuBLAS and cuBLASLt, to compare with: found and loaded at run time, so nothing depends on them.
 * Their matrices lie column by column; ours lie row by row, which is the transpose, so a product
 * C = A·B is asked for as C^T = B^T·A^T. All is in device memory. */
#ifndef TW_CUBLAS_H
#define TW_CUBLAS_H

#include "gemm.h"

struct cublas {
    void *library, *lt_library;
    const struct cublas_calls *calls;
    void *handle, *lt_handle; /* lt_handle NULL: there is no cuBLASLt */
    void *stream;
    char name[32];    /* "cuBLAS 13.1.0" */
    char lt_name[32]; /* "cuBLASLt 13.1.0" */
    char why[400];    /* of the last call that failed, or what to do where there is no library */
};

/* Looks at $TILEWRIGHT_CUBLAS (a folder or libcublas itself), what the loader finds, CUDA's
 * folders, and where pip puts it: $VIRTUAL_ENV and the paths of the `python3` here. Calls go to
 * `stream`, of the GPU that is current. false: why says how to get it. cublas_close in either
 * case. */
bool cublas_open(struct cublas *x, void *stream);
void cublas_close(struct cublas *x);
/* cuBLAS's own, of the device: products that are captured must not allocate any. */
bool cublas_set_workspace(struct cublas *x, void *workspace, size_t bytes);

/* Starts the product; a, b and c are of the device. false: cuBLAS does not do this one, and why
 * says so. */
bool cublas_gemm(struct cublas *x, const struct gemm *g, const void *a, const void *b, void *c);

/* Ways in which cuBLASLt does a product: the first of what its heuristic answers. */
enum { CUBLASLT_WAYS = 8 };
struct cublaslt_plan {
    struct gemm gemm;
    void *operation, *layouts[3]; /* of its A, its B, and of C */
    struct cublaslt_way *ways;
    int way_count;
    void *workspace; /* the caller's, of the device */
    size_t workspace_bytes;
};
/* false: it does not do this one; why says so. cublaslt_plan_close in either case. */
bool cublaslt_plan_open(struct cublaslt_plan *p, struct cublas *x, const struct gemm *g,
                        void *workspace, size_t workspace_bytes);
void cublaslt_plan_close(struct cublaslt_plan *p, struct cublas *x);
bool cublaslt_start(struct cublas *x, const struct cublaslt_plan *p, int way, const void *a,
                    const void *b, void *c);

#endif
