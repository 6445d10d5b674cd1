/* Handles and their settings. */
#include "blas/blas.h"

#include <stdlib.h>

static const uint64_t live = UINT64_C(0x7477626c61733131);

struct blas_handle *blas_handle_of(void *handle)
{
    struct blas_handle *h = handle;
    return h && h->mark == live ? h : NULL;
}

int cublasCreate_v2(void **handle)
{
    void *context = NULL;
    if (!handle)
        return BLAS_INVALID_VALUE;
    if (!blas_driver())
        return BLAS_NOT_INITIALIZED;
    cuCtxGetCurrent(&context);
    if (!context && cuDevicePrimaryCtxRetain(&context, 0) == DRIVER_SUCCESS)
        cuCtxSetCurrent(context);
    struct blas_handle *h = context ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return context ? BLAS_ALLOC_FAILED : BLAS_NOT_INITIALIZED;
    h->mark = live;
    *handle = h;
    return BLAS_SUCCESS;
}

int cublasDestroy_v2(void *handle)
{
    struct blas_handle *h = blas_handle_of(handle);
    if (!h)
        return BLAS_NOT_INITIALIZED;
    h->mark = 0;
    free(h);
    return BLAS_SUCCESS;
}

/* --- versions --- */

int cublasGetProperty(int which, int *value)
{
    if (!value || which < 0 || which > 2)
        return BLAS_INVALID_VALUE;
    *value = which == 0 ? BLAS_VERSION : 0;
    return BLAS_SUCCESS;
}

int cublasGetVersion_v2(void *handle, int *version)
{
    enum { MAJOR = 10000 };
    (void)handle;
    if (!version)
        return BLAS_INVALID_VALUE;
    *version = BLAS_VERSION * MAJOR;
    return BLAS_SUCCESS;
}

size_t cublasGetCudartVersion(void)
{
    enum { MAJOR = 1000 };
    return (size_t)BLAS_VERSION * MAJOR;
}

/* --- settings --- */

int cublasSetStream_v2(void *handle, void *stream)
{
    struct blas_handle *h = blas_handle_of(handle);
    if (!h)
        return BLAS_NOT_INITIALIZED;
    h->stream = stream;
    return BLAS_SUCCESS;
}

int cublasGetStream_v2(void *handle, void **stream)
{
    const struct blas_handle *h = blas_handle_of(handle);
    if (!h || !stream)
        return h ? BLAS_INVALID_VALUE : BLAS_NOT_INITIALIZED;
    *stream = h->stream;
    return BLAS_SUCCESS;
}

#define SETTING(setter, getter, field)                                                             \
    int setter(void *handle, int value)                                                            \
    {                                                                                              \
        struct blas_handle *h = blas_handle_of(handle);                                            \
        if (!h)                                                                                    \
            return BLAS_NOT_INITIALIZED;                                                           \
        h->field = value;                                                                          \
        return BLAS_SUCCESS;                                                                       \
    }                                                                                              \
    int getter(void *handle, int *value)                                                           \
    {                                                                                              \
        const struct blas_handle *h = blas_handle_of(handle);                                      \
        if (!h || !value)                                                                          \
            return h ? BLAS_INVALID_VALUE : BLAS_NOT_INITIALIZED;                                  \
        *value = h->field;                                                                         \
        return BLAS_SUCCESS;                                                                       \
    }
SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, pointer_mode)
SETTING(cublasSetMathMode, cublasGetMathMode, math_mode)
SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, atomics_mode)
SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, sm_count)

int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
    (void)workspace, (void)bytes; /* products need none */
    return blas_handle_of(handle) ? BLAS_SUCCESS : BLAS_NOT_INITIALIZED;
}

/* --- texts --- */

static const struct status_text {
    int status;
    const char *name, *text;
} texts[] = {
    {BLAS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {BLAS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {BLAS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {BLAS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {BLAS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {BLAS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the function failed to launch on the GPU"},
    {BLAS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the functionality requested is not supported"},
};

static const struct status_text *texts_of(int status)
{
    static const struct status_text unknown = {-1, "unknown cublas status",
                                               "unknown cublas status"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].status == status)
            return &texts[i];
    return &unknown;
}

const char *cublasGetStatusName(int status)
{
    return texts_of(status)->name;
}

const char *cublasGetStatusString(int status)
{
    return texts_of(status)->text;
}
