/* The functions of cuBLAS and cuBLASLt that `bench --device cuda` calls, on the host, with the
 * memory of the driver that $TILEWRIGHT_CUDA_DRIVER names. TILEWRIGHT_CUBLAS names this library.
 *
 *   FAKE_CUBLAS_WRONG  1: the last element of each product is wrong
 *   FAKE_CUDA_IDLE     1: products do nothing, as kernels of that driver
 *
 * Like the real libraries, it multiplies 8-bit integers only if m and k are multiples of 4, and
 * in cuBLASLt only with A transposed; and one of the algorithms that its heuristic returns does
 * not run. */
#include "tilewright.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { SUCCESS = 0, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };
enum { WAYS = 3, BROKEN_WAY = 1 };

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t ld, stride;
    int32_t batch;
};

struct operation {
    int32_t turn[2];
};

struct way {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

static tw_dtype type_of(int cuda_type)
{
    switch (cuda_type) {
    case 0: return TW_F32;
    case 2: return TW_F16;
    case 3: return TW_I8;
    case 10: return TW_I32;
    case 14: return TW_BF16;
    case 28: return TW_E4M3;
    default: return TW_DTYPE_NONE;
    }
}

/* --- the driver --- */

static struct {
    int (*retain)(void **, int), (*push)(void *), (*pop)(void **), (*wait)(void *);
    int (*is_capturing)(void *, int *), (*new_stream)(void **, unsigned);
    int (*fill)(uint64_t, unsigned char, size_t, void *);
    int (*copy_in)(uint64_t, const void *, size_t, void *);
    int (*copy_out)(void *, uint64_t, size_t, void *);
} driver;
static void *stream_set;

static void find_driver(void)
{
    const char *path = getenv("TILEWRIGHT_CUDA_DRIVER");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
    if (!library)
        abort();
    *(void **)&driver.retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    *(void **)&driver.push = dlsym(library, "cuCtxPushCurrent_v2");
    *(void **)&driver.pop = dlsym(library, "cuCtxPopCurrent_v2");
    *(void **)&driver.wait = dlsym(library, "cuStreamSynchronize");
    *(void **)&driver.is_capturing = dlsym(library, "cuStreamIsCapturing");
    *(void **)&driver.new_stream = dlsym(library, "cuStreamCreate");
    *(void **)&driver.fill = dlsym(library, "cuMemsetD8Async");
    *(void **)&driver.copy_in = dlsym(library, "cuMemcpyHtoDAsync_v2");
    *(void **)&driver.copy_out = dlsym(library, "cuMemcpyDtoHAsync_v2");
}

/* Returns a stream that can be waited for, which a captured one cannot. */
static void *stream_to_wait_for(void)
{
    static void *other;
    int capturing = 0;
    if (driver.is_capturing(stream_set, &capturing) || !capturing)
        return stream_set;
    if (!other && driver.new_stream(&other, 1))
        abort();
    return other;
}

/* Copies the bytes there to the host; the caller frees the copy. */
static void *fetch(const void *address, size_t bytes)
{
    void *data = malloc(bytes), *stream = stream_to_wait_for();
    if (!data || driver.copy_out(data, (uint64_t)(size_t)address, bytes, stream) ||
        driver.wait(stream))
        abort();
    return data;
}

/* --- products --- */

struct matrix {
    const void *data; /* on the device, then on the host */
    int type;
    int64_t ld, stride;
    int turned;
};

static double element(const struct matrix *x, int64_t z, int64_t row, int64_t column)
{
    int64_t at = z * x->stride + (x->turned ? row * x->ld + column : column * x->ld + row);
    tw_dtype t = type_of(x->type);
    return tw_dtype_load(t, (const char *)x->data + at * (int64_t)tw_dtype_size(t));
}

static size_t bytes_of(const struct matrix *x, int64_t columns, int64_t batch)
{
    int64_t elements = (batch - 1) * x->stride + columns * x->ld;
    return (size_t)elements * tw_dtype_size(type_of(x->type));
}

static void multiply_on_host(const struct matrix *a, const struct matrix *b, const struct matrix *c,
                             void *out, const int64_t size[4])
{
    const char *wrong = getenv("FAKE_CUBLAS_WRONG");
    tw_dtype t = type_of(c->type);
    for (int64_t z = 0; z < size[3]; z++)
        for (int64_t j = 0; j < size[1]; j++)
            for (int64_t i = 0; i < size[0]; i++) {
                bool last = i == size[0] - 1 && j == size[1] - 1;
                double sum = wrong && *wrong == '1' && last ? 1000 : 0;
                for (int64_t p = 0; p < size[2]; p++)
                    sum += element(a, z, i, p) * element(b, z, p, j);
                int64_t at = z * c->stride + j * c->ld + i;
                tw_dtype_store(t, (char *)out + at * (int64_t)tw_dtype_size(t), sum);
            }
}

/* size: m, n, k, batch */
static int multiply(struct matrix a, struct matrix b, const struct matrix *c, const int64_t size[4])
{
    if (type_of(a.type) == TW_DTYPE_NONE || type_of(b.type) == TW_DTYPE_NONE ||
        type_of(c->type) == TW_DTYPE_NONE || (a.type == 3 && (size[0] % 4 || size[2] % 4)))
        return NOT_SUPPORTED;
    const char *idle = getenv("FAKE_CUDA_IDLE");
    if (idle && *idle == '1')
        return driver.fill((uint64_t)(size_t)c->data, 0, 1, stream_set);
    void *context, *old, *host_a, *host_b, *host_c;
    if (driver.retain(&context, 0) || driver.push(context))
        return EXECUTION_FAILED;
    size_t bytes = bytes_of(c, size[1], size[3]);
    a.data = host_a = fetch(a.data, bytes_of(&a, a.turned ? size[0] : size[2], size[3]));
    b.data = host_b = fetch(b.data, bytes_of(&b, b.turned ? size[2] : size[1], size[3]));
    host_c = fetch(c->data, bytes);
    multiply_on_host(&a, &b, c, host_c, size);
    int status = driver.copy_in((uint64_t)(size_t)c->data, host_c, bytes, stream_set);
    driver.pop(&old);
    free(host_a);
    free(host_b);
    free(host_c);
    return status ? EXECUTION_FAILED : SUCCESS;
}

/* --- cuBLAS --- */

API int cublasCreate_v2(void **handle)
{
    static int one;
    find_driver();
    *handle = &one;
    return SUCCESS;
}

API int cublasDestroy_v2(void *handle)
{
    (void)handle;
    return SUCCESS;
}

API int cublasSetStream_v2(void *handle, void *stream)
{
    (void)handle;
    stream_set = stream;
    return SUCCESS;
}

API int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
    (void)handle;
    return workspace && bytes ? SUCCESS : EXECUTION_FAILED;
}

API int cublasGetVersion_v2(void *handle, int *version)
{
    (void)handle;
    *version = 130100;
    return SUCCESS;
}

API const char *cublasGetStatusString(int status)
{
    return status == NOT_SUPPORTED ? "the requested functionality is not supported" : "success";
}

API int cublasGemmStridedBatchedEx(void *handle, int turn_a, int turn_b, int m, int n, int k,
                                   const void *alpha, const void *a, int type_a, int lda,
                                   long long stride_a, const void *b, int type_b, int ldb,
                                   long long stride_b, const void *beta, void *c, int type_c,
                                   int ldc, long long stride_c, int batch, int compute,
                                   int algorithm)
{
    (void)handle, (void)alpha, (void)beta, (void)compute, (void)algorithm;
    if (type_a == 28)
        return NOT_SUPPORTED; /* only cuBLASLt takes 8-bit floats */
    return multiply((struct matrix){a, type_a, lda, stride_a, turn_a},
                    (struct matrix){b, type_b, ldb, stride_b, turn_b},
                    &(struct matrix){c, type_c, ldc, stride_c, 0}, (int64_t[]){m, n, k, batch});
}

API int cublasGemmEx(void *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha,
                     const void *a, int type_a, int lda, const void *b, int type_b, int ldb,
                     const void *beta, void *c, int type_c, int ldc, int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx(handle, turn_a, turn_b, m, n, k, alpha, a, type_a, lda, 0, b,
                                      type_b, ldb, 0, beta, c, type_c, ldc, 0, 1, compute,
                                      algorithm);
}

/* --- cuBLASLt --- */

API size_t cublasLtGetVersion(void)
{
    return 130100;
}

API int cublasLtCreate(void **handle)
{
    return cublasCreate_v2(handle);
}

API int cublasLtDestroy(void *handle)
{
    return cublasDestroy_v2(handle);
}

API int cublasLtMatmulDescCreate(void **operation, int compute, int scale_type)
{
    (void)compute, (void)scale_type;
    *operation = calloc(1, sizeof(struct operation));
    return SUCCESS;
}

API int cublasLtMatmulDescDestroy(void *operation)
{
    free(operation);
    return SUCCESS;
}

API int cublasLtMatmulDescSetAttribute(void *operation, int attribute, const void *value,
                                       size_t bytes)
{
    struct operation *o = operation;
    if ((attribute != 3 && attribute != 4) || bytes != sizeof(int32_t))
        return NOT_SUPPORTED;
    memcpy(&o->turn[attribute - 3], value, bytes);
    return SUCCESS;
}

API int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                                   int64_t ld)
{
    struct layout *l = malloc(sizeof *l);
    *l = (struct layout){.type = type, .rows = rows, .columns = columns, .ld = ld, .batch = 1};
    *layout = l;
    return SUCCESS;
}

API int cublasLtMatrixLayoutDestroy(void *layout)
{
    free(layout);
    return SUCCESS;
}

API int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value,
                                         size_t bytes)
{
    struct layout *l = layout;
    if (attribute == 5 && bytes == sizeof l->batch)
        memcpy(&l->batch, value, bytes);
    else if (attribute == 6 && bytes == sizeof l->stride)
        memcpy(&l->stride, value, bytes);
    else
        return NOT_SUPPORTED;
    return SUCCESS;
}

API int cublasLtMatmulPreferenceCreate(void **preference)
{
    *preference = malloc(1);
    return SUCCESS;
}

API int cublasLtMatmulPreferenceDestroy(void *preference)
{
    free(preference);
    return SUCCESS;
}

API int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                             size_t bytes)
{
    (void)preference, (void)value;
    return attribute == 1 && bytes == sizeof(uint64_t) ? SUCCESS : NOT_SUPPORTED;
}

API int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c,
                                       void *d, void *preference, int asked, struct way *ways,
                                       int *found)
{
    (void)handle, (void)b, (void)c, (void)d, (void)preference;
    const struct operation *o = operation;
    const struct layout *layout = a;
    bool narrow = layout->type == 3 || layout->type == 28;
    *found = 0;
    if (narrow && (!o->turn[0] || o->turn[1]))
        return NOT_SUPPORTED;
    for (; *found < asked && *found < WAYS; ++*found)
        ways[*found] = (struct way){.algorithm = {(uint64_t)*found}};
    return SUCCESS;
}

API int cublasLtMatmul(void *handle, void *operation, const void *alpha, const void *a,
                       void *layout_a, const void *b, void *layout_b, const void *beta,
                       const void *c, void *layout_c, void *d, void *layout_d,
                       const void *algorithm, void *workspace, size_t bytes, void *stream)
{
    (void)handle, (void)alpha, (void)beta, (void)c, (void)layout_c, (void)workspace, (void)bytes,
        (void)stream;
    const struct operation *o = operation;
    const struct layout *la = layout_a, *lb = layout_b, *ld = layout_d;
    if (*(const uint64_t *)algorithm == BROKEN_WAY)
        return NOT_SUPPORTED;
    int64_t k = (int64_t)(o->turn[0] ? la->rows : la->columns);
    return multiply((struct matrix){a, la->type, la->ld, la->stride, o->turn[0]},
                    (struct matrix){b, lb->type, lb->ld, lb->stride, o->turn[1]},
                    &(struct matrix){d, ld->type, ld->ld, ld->stride, 0},
                    (int64_t[]){(int64_t)ld->rows, (int64_t)ld->columns, k, ld->batch});
}
