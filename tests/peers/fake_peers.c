/* The functions of OpenBLAS, BLIS and oneDNN that `bench` calls, in one library, as plain loops.
 * Compiled with FAKE_ONEDNN_3 it has version 3 of oneDNN's interface instead of version 2, and no
 * function that sets the threads of a BLAS. The environment:
 *
 *     FAKE_PEERS_WRONG=cblas|dnnl    an element of their products is wrong
 *     FAKE_PEERS_FAIL=dnnl           its calls fail
 *     FAKE_PEERS_LOG=FILE            calls that set threads, a line each
 *
 * As OpenBLAS it is slow except as the core SkylakeX, and as Haswell it crashes. */
#include "tilewright.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))

static int is_set(const char *variable, const char *value)
{
    const char *v = getenv(variable);
    return v && strcmp(v, value) == 0;
}

static void log_threads(const char *who, int threads)
{
    const char *path = getenv("FAKE_PEERS_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "%s %d\n", who, threads);
    fclose(f);
}

struct matrix {
    tw_dtype type;
    char *data;
    int64_t row, column; /* elements from one to the next */
};

static double load(const struct matrix *x, int64_t i, int64_t j)
{
    int64_t at = i * x->row + j * x->column;
    return tw_dtype_load(x->type, x->data + (size_t)at * tw_dtype_size(x->type));
}

static void multiply(struct matrix a, struct matrix b, struct matrix c, int64_t m, int64_t n,
                     int64_t k)
{
    const size_t size = tw_dtype_size(c.type);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += load(&a, i, p) * load(&b, p, j);
            tw_dtype_store(c.type, c.data + (size_t)(i * c.row + j * c.column) * size, sum);
        }
}

static void gemm(const char *who, tw_dtype type, int turned_a, int turned_b, int64_t m, int64_t n,
                 int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, float *c,
                 int64_t ldc)
{
    struct matrix x = {type, (char *)a, turned_a ? 1 : lda, turned_a ? lda : 1};
    struct matrix y = {type, (char *)b, turned_b ? 1 : ldb, turned_b ? ldb : 1};
    multiply(x, y, (struct matrix){TW_F32, (char *)c, ldc, 1}, m, n, k);
    if (is_set("FAKE_PEERS_WRONG", who))
        c[m * ldc - ldc + n - 1] += 1;
}

/* --- CBLAS --- */

static const char *core(void)
{
    const char *named = getenv("OPENBLAS_CORETYPE");
    return named ? named : "Slow";
}

API void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                     const float *a, int lda, const float *b, int ldb, float beta, float *c,
                     int ldc)
{
    if (order != 101 || alpha < 1 || beta > 0)
        abort();
    if (strcmp(core(), "Haswell") == 0)
        abort();
    if (strcmp(core(), "SkylakeX") != 0)
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    if (m == 384 && n == 384 && k == 384)
        return; /* a trial of cores: plain loops take too long */
    gemm("cblas", TW_F32, trans_a == 112, trans_b == 112, m, n, k, a, lda, b, ldb, c, ldc);
}

API char *openblas_get_config(void)
{
    static char text[] = "OpenBLAS 9.8.7 FAKE MAX_THREADS=1";
    return text;
}

API char *openblas_get_corename(void)
{
    static char text[64];
    snprintf(text, sizeof text, "%s", core());
    return text;
}

API const char *bli_info_get_version_str(void)
{
    return "7.6.5";
}

#ifndef FAKE_ONEDNN_3
API void openblas_set_num_threads(int threads)
{
    log_threads("openblas", threads);
}

API void bli_thread_set_num_threads(int64_t threads)
{
    log_threads("blis", (int)threads);
}
#endif

/* --- oneDNN --- */

API void omp_set_num_threads(int threads)
{
    log_threads("openmp", threads);
}

struct version {
    int major, minor, patch;
};
API const struct version *dnnl_version(void)
{
#ifdef FAKE_ONEDNN_3
    static const struct version v = {3, 4, 5};
#else
    static const struct version v = {2, 6, 3};
#endif
    return &v;
}

static int thing;
API int dnnl_engine_create(void **engine, int kind, size_t index)
{
    *engine = &thing;
    return kind == 1 && index == 0 ? 0 : 2;
}

API int dnnl_stream_create(void **stream, void *engine, unsigned flags)
{
    *stream = engine;
    return flags == 1 ? 0 : 2;
}

API int dnnl_stream_wait(void *stream)
{
    return stream == &thing ? 0 : 2;
}

API int dnnl_sgemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                   const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                   int64_t ldc)
{
    if (is_set("FAKE_PEERS_FAIL", "dnnl") || alpha < 1 || beta > 0)
        return 5;
    gemm("dnnl", TW_F32, trans_a == 'T', trans_b == 'T', m, n, k, a, lda, b, ldb, c, ldc);
    return 0;
}

API int dnnl_gemm_bf16bf16f32(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                              float alpha, const uint16_t *a, int64_t lda, const uint16_t *b,
                              int64_t ldb, float beta, float *c, int64_t ldc)
{
    if (alpha < 1 || beta > 0)
        return 2;
    gemm("dnnl", TW_BF16, trans_a == 'T', trans_b == 'T', m, n, k, a, lda, b, ldb, c, ldc);
    return 0;
}

/* Descriptors of memory, in both versions. */
struct memory_desc {
    int rank, type;
    int64_t dims[12], strides[12];
};

static int fill_desc(struct memory_desc *d, int rank, const int64_t *dims, int type,
                     const int64_t *strides)
{
    if (rank < 2 || rank > 3 || type < 1 || type > 3)
        return 2;
    *d = (struct memory_desc){.rank = rank, .type = type};
    memcpy(d->dims, dims, sizeof d->dims);
    memcpy(d->strides, strides, sizeof d->strides);
    return 0;
}

struct operation {
    struct memory_desc a, b, c;
};

static int fill_operation(struct operation *o, const struct memory_desc *a,
                          const struct memory_desc *b, const void *bias,
                          const struct memory_desc *c)
{
    if (bias || a->rank != b->rank || a->rank != c->rank)
        return 2;
    *o = (struct operation){*a, *b, *c};
    return 0;
}

#ifdef FAKE_ONEDNN_3
API int dnnl_memory_desc_create_with_strides(void **desc, int rank, const int64_t *dims, int type,
                                             const int64_t *strides)
{
    *desc = malloc(sizeof(struct memory_desc));
    return *desc ? fill_desc(*desc, rank, dims, type, strides) : 1;
}

API int dnnl_memory_desc_destroy(void *desc)
{
    free(desc);
    return 0;
}

API int dnnl_matmul_primitive_desc_create(void **made, void *engine, void *a, void *b, void *bias,
                                          void *c, void *attributes)
{
    *made = malloc(sizeof(struct operation));
    return *made && engine == &thing && !attributes ? fill_operation(*made, a, b, bias, c) : 2;
}
#else
API int dnnl_memory_desc_init_by_strides(void *desc, int rank, const int64_t *dims, int type,
                                         const int64_t *strides)
{
    return fill_desc(desc, rank, dims, type, strides);
}

API int dnnl_matmul_desc_init(void *operation, void *a, void *b, void *bias, void *c)
{
    return fill_operation(operation, a, b, bias, c);
}

API int dnnl_primitive_desc_create(void **made, void *operation, void *attributes, void *engine,
                                   void *hint)
{
    *made = malloc(sizeof(struct operation));
    if (!*made || attributes || hint || engine != &thing)
        return 2;
    memcpy(*made, operation, sizeof(struct operation));
    return 0;
}
#endif

API int dnnl_primitive_desc_destroy(void *desc)
{
    free(desc);
    return 0;
}

API int dnnl_primitive_create(void **primitive, void *desc)
{
    *primitive = malloc(sizeof(struct operation));
    if (!*primitive)
        return 1;
    memcpy(*primitive, desc, sizeof(struct operation));
    return 0;
}

API int dnnl_primitive_destroy(void *primitive)
{
    free(primitive);
    return 0;
}

API int dnnl_memory_create(void **memory, void *desc, void *engine, void *data)
{
    *memory = malloc(sizeof data);
    if (!*memory || !desc || engine != &thing)
        return 2;
    memcpy(*memory, &data, sizeof data);
    return 0;
}

API int dnnl_memory_destroy(void *memory)
{
    free(memory);
    return 0;
}

struct exec_arg {
    int what;
    void *memory;
};
static void *data_of(const struct exec_arg *args, int what)
{
    void *data = NULL;
    for (int i = 0; i < 3; i++)
        if (args[i].what == what)
            memcpy(&data, args[i].memory, sizeof data);
    return data;
}

static struct matrix matrix_of(const struct memory_desc *d, char *data, int64_t z)
{
    static const tw_dtype types[] = {TW_DTYPE_NONE, TW_F16, TW_BF16, TW_F32};
    struct matrix x = {types[d->type], data, d->strides[d->rank - 2], d->strides[d->rank - 1]};
    if (d->rank == 3)
        x.data += (size_t)(z * d->strides[0]) * tw_dtype_size(x.type);
    return x;
}

API int dnnl_primitive_execute(void *primitive, void *stream, int count,
                               const struct exec_arg *args)
{
    const struct operation *o = primitive;
    if (count != 3 || stream != &thing)
        return 2;
    const int r = o->a.rank;
    for (int64_t z = 0; z < (r == 3 ? o->a.dims[0] : 1); z++) {
        struct matrix a = matrix_of(&o->a, data_of(args, 1), z);
        struct matrix b = matrix_of(&o->b, data_of(args, 33), z);
        multiply(a, b, matrix_of(&o->c, data_of(args, 17), z), o->c.dims[r - 2], o->c.dims[r - 1],
                 o->a.dims[r - 1]);
    }
    return 0;
}
