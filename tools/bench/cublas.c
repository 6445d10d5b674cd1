#include "bench/cublas.h"
#include "bench/cublas_find.h"
#include "cli/tool.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Functions to load: CALL(where, name, symbol, parameters). All return a cublasStatus_t, except
 * the one that returns a text. Sources: cuBLAS documentation,
 * https://docs.nvidia.com/cuda/cublas, and cublas_api.h, cublasLt.h of CUDA 13.0. If cublas_v2.h
 * defines a name as a macro, `symbol` is its expansion. */
#define CALLS(CALL)                                                                                \
    CALL(BLAS, create, "cublasCreate_v2", (void **handle))                                         \
    CALL(BLAS, destroy, "cublasDestroy_v2", (void *handle))                                        \
    CALL(BLAS, set_stream, "cublasSetStream_v2", (void *handle, void *stream))                     \
    CALL(BLAS, set_workspace, "cublasSetWorkspace_v2",                                             \
         (void *handle, void *workspace, size_t bytes))                                            \
    CALL(BLAS, version, "cublasGetVersion_v2", (void *handle, int *version))                       \
    CALL(BLAS, gemm, "cublasGemmStridedBatchedEx",                                                 \
         (void *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha,            \
          const void *a, int type_a, int lda, long long stride_a, const void *b, int type_b,       \
          int ldb, long long stride_b, const void *beta, void *c, int type_c, int ldc,             \
          long long stride_c, int batch, int compute, int algorithm))                              \
    CALL(BLAS, gemm_one, "cublasGemmEx",                                                           \
         (void *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha,            \
          const void *a, int type_a, int lda, const void *b, int type_b, int ldb,                  \
          const void *beta, void *c, int type_c, int ldc, int compute, int algorithm))             \
    CALL(LT, lt_create, "cublasLtCreate", (void **handle))                                         \
    CALL(LT, lt_destroy, "cublasLtDestroy", (void *handle))                                        \
    CALL(LT, operation_new, "cublasLtMatmulDescCreate",                                            \
         (void **operation, int compute, int scale_type))                                          \
    CALL(LT, operation_free, "cublasLtMatmulDescDestroy", (void *operation))                       \
    CALL(LT, operation_set, "cublasLtMatmulDescSetAttribute",                                      \
         (void *operation, int attribute, const void *value, size_t bytes))                        \
    CALL(LT, layout_new, "cublasLtMatrixLayoutCreate",                                             \
         (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld))                   \
    CALL(LT, layout_free, "cublasLtMatrixLayoutDestroy", (void *layout))                           \
    CALL(LT, layout_set, "cublasLtMatrixLayoutSetAttribute",                                       \
         (void *layout, int attribute, const void *value, size_t bytes))                           \
    CALL(LT, preference_new, "cublasLtMatmulPreferenceCreate", (void **preference))                \
    CALL(LT, preference_free, "cublasLtMatmulPreferenceDestroy", (void *preference))               \
    CALL(LT, preference_set, "cublasLtMatmulPreferenceSetAttribute",                               \
         (void *preference, int attribute, const void *value, size_t bytes))                       \
    CALL(LT, heuristic, "cublasLtMatmulAlgoGetHeuristic",                                          \
         (void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference,     \
          int asked, struct cublaslt_way *ways, int *found))                                       \
    CALL(LT, matmul, "cublasLtMatmul",                                                             \
         (void *handle, void *operation, const void *alpha, const void *a, void *layout_a,         \
          const void *b, void *layout_b, const void *beta, const void *c, void *layout_c, void *d, \
          void *layout_d, const void *algorithm, void *workspace, size_t bytes, void *stream))

/* cublasLtMatmulHeuristicResult_t of cublasLt.h. */
struct cublaslt_way {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

struct cublas_calls {
#define CALL_FIELD(where, name, symbol, parameters) int(*name) parameters;
    CALLS(CALL_FIELD)
#undef CALL_FIELD
    const char *(*status_text)(int status);
    size_t (*lt_version)(void);
};

/* Values of cublas_api.h, library_types.h and cublasLt.h. */
enum { OP_N = 0, OP_T = 1 }; /* cublasOperation_t */
enum { COMPUTE_32F = 68, COMPUTE_32F_FAST_TF32 = 77, COMPUTE_64F = 70, COMPUTE_32I = 72 };
enum { ALGORITHM_DEFAULT = -1 };                          /* cublasGemmAlgo_t */
enum { DESC_TURN_A = 3, DESC_TURN_B = 4 };                /* …MatmulDescAttributes_t */
enum { LAYOUT_BATCH_COUNT = 5, LAYOUT_BATCH_STRIDE = 6 }; /* …LayoutAttribute_t */
enum { PREFERENCE_WORKSPACE = 1 };                        /* …PreferenceAttributes_t */
enum { TYPE_32F = 0, TYPE_64F = 1, TYPE_32I = 10 };       /* cudaDataType */

static int cuda_type(tw_dtype t)
{
    switch (t) {
    case TW_F64: return TYPE_64F;
    case TW_F32:
    case TW_TF32: return TYPE_32F;
    case TW_F16: return 2;
    case TW_BF16: return 14;
    case TW_E4M3: return 28;
    case TW_E5M2: return 29;
    case TW_I8: return 3;
    case TW_U8: return 8;
    case TW_I32: return TYPE_32I;
    default: return -1;
    }
}

/* Type of the sums, and of alpha and beta. f32 keeps all its bits; tf32 is a separate type. */
struct arithmetic {
    int compute, scale_type;
    const void *one, *zero;
};
static struct arithmetic arithmetic_of(const struct gemm *g)
{
    static const float one = 1, zero = 0;
    static const double one_double = 1, zero_double = 0;
    static const int32_t one_integer = 1, zero_integer = 0;
    switch (g->a) {
    case TW_F64: return (struct arithmetic){COMPUTE_64F, TYPE_64F, &one_double, &zero_double};
    case TW_TF32: return (struct arithmetic){COMPUTE_32F_FAST_TF32, TYPE_32F, &one, &zero};
    case TW_I8: return (struct arithmetic){COMPUTE_32I, TYPE_32I, &one_integer, &zero_integer};
    default: return (struct arithmetic){COMPUTE_32F, TYPE_32F, &one, &zero};
    }
}

/* --- opening --- */

static bool find_calls(struct cublas *x, struct cublas_calls *c)
{
    enum { BLAS, LT };
    void *libraries[] = {x->library, x->lt_library};
    const char *missing = NULL;
    bool lt_complete = x->lt_library != NULL;
#define CALL_FIND(where, name, symbol, parameters)                                                 \
    *(void **)&c->name = libraries[where] ? dlsym(libraries[where], symbol) : NULL;                \
    if (!c->name && where == BLAS)                                                                 \
        missing = symbol;                                                                          \
    lt_complete = lt_complete && (c->name || where == BLAS);
    CALLS(CALL_FIND)
#undef CALL_FIND
    *(void **)&c->status_text = dlsym(x->library, "cublasGetStatusString");
    *(void **)&c->lt_version = lt_complete ? dlsym(x->lt_library, "cublasLtGetVersion") : NULL;
    if (!lt_complete)
        c->lt_create = NULL;
    if (missing)
        snprintf(x->why, sizeof x->why, "the libcublas that is found lacks %s", missing);
    return !missing;
}

static bool failed(struct cublas *x, const char *name, int status)
{
    const char *text = x->calls->status_text ? x->calls->status_text(status) : NULL;
    snprintf(x->why, sizeof x->why, "%s: %s (%d)", name, text ? text : "refused", status);
    return false;
}

/* 130100: 13.1.0 */
static void write_name(char *out, size_t size, const char *name, size_t version)
{
    snprintf(out, size, "%s %zu.%zu.%zu", name, version / 10000, version / 100 % 100,
             version % 100);
}

static bool create_handles(struct cublas *x)
{
    int version = 0;
    int status = x->calls->create(&x->handle);
    if (status)
        return x->handle = NULL, failed(x, "cublasCreate", status);
    status = x->calls->set_stream(x->handle, x->stream);
    if (status)
        return failed(x, "cublasSetStream", status);
    if (x->calls->version(x->handle, &version) == 0)
        write_name(x->name, sizeof x->name, "cuBLAS", (size_t)version);
    if (!x->calls->lt_create || x->calls->lt_create(&x->lt_handle) != 0)
        x->lt_handle = NULL;
    size_t lt_version = x->calls->lt_version ? x->calls->lt_version() : 0;
    write_name(x->lt_name, sizeof x->lt_name, "cuBLASLt", lt_version);
    return true;
}

bool cublas_open(struct cublas *x, void *stream)
{
    struct cublas_libraries found;
    *x = (struct cublas){.stream = stream};
    if (!cublas_find(&found)) {
        const char *named = getenv("TILEWRIGHT_CUBLAS");
        snprintf(x->why, sizeof x->why,
                 named && *named
                     ? "TILEWRIGHT_CUBLAS=%s is not a libcublas, nor a folder with one"
                     : "cuBLAS is not found here. `pip install nvidia-cublas` (CUDA 13; "
                       "nvidia-cublas-cu12 for CUDA 12) or `apt install "
                       "libcublas-13-0` of NVIDIA's repository brings it; "
                       "TILEWRIGHT_CUBLAS=FOLDER says where it is",
                 named);
        return false;
    }
    x->library = found.blas;
    x->lt_library = found.lt;
    struct cublas_calls *calls = need_memory(sizeof *calls);
    x->calls = calls;
    return find_calls(x, calls) && create_handles(x);
}

bool cublas_set_workspace(struct cublas *x, void *workspace, size_t bytes)
{
    int status = x->calls->set_workspace(x->handle, workspace, bytes);
    return status == 0 || failed(x, "cublasSetWorkspace", status);
}

void cublas_close(struct cublas *x)
{
    if (x->lt_handle)
        x->calls->lt_destroy(x->lt_handle);
    if (x->handle)
        x->calls->destroy(x->handle);
    free((void *)x->calls);
    *x = (struct cublas){0}; /* the libraries stay loaded, because unloading is unreliable */
}

/* --- cuBLAS --- */

/* Product as a column-major library sees it: its A is our B, and its B is our A. */
struct turned {
    int turn_a, turn_b;
    int64_t m, n, k, lda, ldb, ldc;
};
static struct turned turn_round(const struct gemm *g)
{
    return (struct turned){.turn_a = g->b_turned ? OP_T : OP_N,
                           .turn_b = g->a_turned ? OP_T : OP_N,
                           .m = g->n,
                           .n = g->m,
                           .k = g->k,
                           .lda = g->b_turned ? g->k : g->n,
                           .ldb = g->a_turned ? g->m : g->k,
                           .ldc = g->n};
}

static bool is_known(struct cublas *x, const struct gemm *g)
{
    const int64_t most = INT_MAX;
    bool ok = cuda_type(g->a) >= 0 && cuda_type(g->b) >= 0 && cuda_type(g->c) >= 0;
    if (!ok || g->m > most || g->n > most || g->k > most || g->batch > most)
        snprintf(x->why, sizeof x->why, "no product of %s and %s into %s", tw_dtype_name(g->a),
                 tw_dtype_name(g->b), tw_dtype_name(g->c));
    return ok;
}

bool cublas_gemm(struct cublas *x, const struct gemm *g, const void *a, const void *b, void *c)
{
    if (!is_known(x, g))
        return false;
    struct turned t = turn_round(g);
    struct arithmetic r = arithmetic_of(g);
    int ta = cuda_type(g->b), tb = cuda_type(g->a), tc = cuda_type(g->c);
    int m = (int)t.m, n = (int)t.n, k = (int)t.k, lda = (int)t.lda, ldb = (int)t.ldb,
        ldc = (int)t.ldc;
    int status;
    if (g->batch == 1)
        status = x->calls->gemm_one(x->handle, t.turn_a, t.turn_b, m, n, k, r.one, b, ta, lda, a,
                                    tb, ldb, r.zero, c, tc, ldc, r.compute, ALGORITHM_DEFAULT);
    else
        status = x->calls->gemm(x->handle, t.turn_a, t.turn_b, m, n, k, r.one, b, ta, lda,
                                t.k * t.m, a, tb, ldb, t.n * t.k, r.zero, c, tc, ldc, t.m * t.n,
                                (int)g->batch, r.compute, ALGORITHM_DEFAULT);
    return status == 0 || failed(x, "cublasGemmEx", status);
}

/* --- cuBLASLt --- */

static bool set_batch(struct cublas *x, void *layout, const struct gemm *g, int64_t elements)
{
    int32_t count = (int32_t)g->batch;
    return g->batch == 1 ||
           (x->calls->layout_set(layout, LAYOUT_BATCH_COUNT, &count, sizeof count) == 0 &&
            x->calls->layout_set(layout, LAYOUT_BATCH_STRIDE, &elements, sizeof elements) == 0);
}

static bool make_layouts(struct cublaslt_plan *p, struct cublas *x)
{
    const struct gemm *g = &p->gemm;
    struct turned t = turn_round(g);
    const struct {
        tw_dtype type;
        int64_t rows, columns, ld;
    } matrices[] = {{g->b, t.turn_a ? t.k : t.m, t.turn_a ? t.m : t.k, t.lda},
                    {g->a, t.turn_b ? t.n : t.k, t.turn_b ? t.k : t.n, t.ldb},
                    {g->c, t.m, t.n, t.ldc}};
    for (int i = 0; i < 3; i++)
        if (x->calls->layout_new(&p->layouts[i], cuda_type(matrices[i].type),
                                 (uint64_t)matrices[i].rows, (uint64_t)matrices[i].columns,
                                 matrices[i].ld) != 0 ||
            !set_batch(x, p->layouts[i], g, matrices[i].rows * matrices[i].columns))
            return false;
    return true;
}

static bool make_operation(struct cublaslt_plan *p, struct cublas *x)
{
    struct turned t = turn_round(&p->gemm);
    struct arithmetic r = arithmetic_of(&p->gemm);
    int32_t turn_a = t.turn_a, turn_b = t.turn_b;
    return x->calls->operation_new(&p->operation, r.compute, r.scale_type) == 0 &&
           x->calls->operation_set(p->operation, DESC_TURN_A, &turn_a, sizeof turn_a) == 0 &&
           x->calls->operation_set(p->operation, DESC_TURN_B, &turn_b, sizeof turn_b) == 0;
}

static int ask_heuristic(struct cublaslt_plan *p, struct cublas *x)
{
    void *preference = NULL, *c = p->layouts[2];
    uint64_t bytes = p->workspace_bytes;
    int status = x->calls->preference_new(&preference);
    if (status == 0)
        status = x->calls->preference_set(preference, PREFERENCE_WORKSPACE, &bytes, sizeof bytes);
    if (status == 0)
        status = x->calls->heuristic(x->lt_handle, p->operation, p->layouts[0], p->layouts[1], c, c,
                                     preference, CUBLASLT_WAYS, p->ways, &p->way_count);
    if (preference)
        x->calls->preference_free(preference);
    return status;
}

bool cublaslt_plan_open(struct cublaslt_plan *p, struct cublas *x, const struct gemm *g,
                        void *workspace, size_t workspace_bytes)
{
    *p = (struct cublaslt_plan){
        .gemm = *g, .workspace = workspace, .workspace_bytes = workspace_bytes};
    if (!is_known(x, g))
        return false;
    if (!x->lt_handle) {
        snprintf(x->why, sizeof x->why, "there is no libcublasLt next to libcublas");
        return false;
    }
    p->ways = need_memory(CUBLASLT_WAYS * sizeof *p->ways);
    if (!make_layouts(p, x) || !make_operation(p, x)) {
        snprintf(x->why, sizeof x->why, "cublasLt refuses a matrix of this type or size");
        return false;
    }
    int status = ask_heuristic(p, x);
    if (status == 0 && p->way_count > 0)
        return true;
    p->way_count = 0;
    return failed(x, "cublasLtMatmulAlgoGetHeuristic", status);
}

void cublaslt_plan_close(struct cublaslt_plan *p, struct cublas *x)
{
    if (p->operation)
        x->calls->operation_free(p->operation);
    for (int i = 0; i < 3; i++)
        if (p->layouts[i])
            x->calls->layout_free(p->layouts[i]);
    free(p->ways);
    *p = (struct cublaslt_plan){0};
}

bool cublaslt_start(struct cublas *x, const struct cublaslt_plan *p, int way, const void *a,
                    const void *b, void *c)
{
    struct arithmetic r = arithmetic_of(&p->gemm);
    int status =
        x->calls->matmul(x->lt_handle, p->operation, r.one, b, p->layouts[0], a, p->layouts[1],
                         r.zero, c, p->layouts[2], c, p->layouts[2], p->ways[way].algorithm,
                         p->workspace, p->workspace_bytes, x->stream);
    return status == 0 || failed(x, "cublasLtMatmul", status);
}
