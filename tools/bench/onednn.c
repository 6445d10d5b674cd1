/* Calls oneDNN through its C interface (oneapi/dnnl/dnnl.h, dnnl_types.h of versions 2.6 and 3):
 * its BLAS-like functions for f32 and bf16, and its primitive `matmul` for the other types.
 * Version 2 keeps descriptors of memory and of the operation in the caller's memory; version 3
 * returns pointers. */
#include "bench/peer_kinds.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

enum { ENGINE_CPU = 1, IN_ORDER = 1, SUCCESS = 0 };
enum { TYPE_F16 = 1, TYPE_BF16 = 2, TYPE_F32 = 3 };
enum { SOURCE = 1, WEIGHTS = 33, DESTINATION = 17 };
enum { DIMENSIONS_MOST = 12 };
/* Sizes for version 2.6, with a margin: dnnl_memory_desc_t has 696 bytes, dnnl_matmul_desc_t
 * 2800. */
enum { MEMORY_BYTES = 1024, OPERATION_BYTES = 8192 };

struct exec_arg {
    int what;
    void *memory;
};

typedef int sgemm_call(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                       const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                       float *c, int64_t ldc);
/* Exported, but in no header; declared as in oneDNN's test, tests/gtests/test_gemm_common.hpp. */
typedef int bf16_call(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                      const uint16_t *a, int64_t lda, const uint16_t *b, int64_t ldb, float beta,
                      float *c, int64_t ldc);

static void call_symbol(const struct peer *p, const char *name, void *function)
{
    *(void **)function = peer_symbol(p, name);
}

bool onednn_open(struct peer *p)
{
    const struct version {
        int major, minor, patch;
    } * (*version)(void);
    int (*new_engine)(void **, int kind, size_t index);
    int (*new_stream)(void **, void *engine, unsigned flags);
    call_symbol(p, "dnnl_version", &version);
    call_symbol(p, "dnnl_engine_create", &new_engine);
    call_symbol(p, "dnnl_stream_create", &new_stream);
    if (!version || !new_engine || !new_stream)
        return false;
    const struct version *v = version();
    snprintf(p->name, sizeof p->name, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return new_engine(&p->engine, ENGINE_CPU, 0) == SUCCESS &&
           new_stream(&p->stream, p->engine, IN_ORDER) == SUCCESS;
}

/* --- calls like BLAS --- */

static int run_sgemm(struct peer_plan *p)
{
    const struct gemm *g = &p->gemm;
    sgemm_call *call;
    int status = SUCCESS;
    call_symbol(p->peer, "dnnl_sgemm", &call);
    for (int64_t z = 0; z < g->batch && status == SUCCESS; z++)
        status = call(g->a_turned ? 'T' : 'N', g->b_turned ? 'T' : 'N', g->m, g->n, g->k, 1,
                      (const float *)p->a + z * g->m * g->k, g->a_turned ? g->m : g->k,
                      (const float *)p->b + z * g->k * g->n, g->b_turned ? g->k : g->n, 0,
                      (float *)p->c + z * g->m * g->n, g->n);
    return status;
}

static int run_bf16(struct peer_plan *p)
{
    const struct gemm *g = &p->gemm;
    bf16_call *call;
    int status = SUCCESS;
    call_symbol(p->peer, "dnnl_gemm_bf16bf16f32", &call);
    for (int64_t z = 0; z < g->batch && status == SUCCESS; z++)
        status = call(g->a_turned ? 'T' : 'N', g->b_turned ? 'T' : 'N', g->m, g->n, g->k, 1,
                      (const uint16_t *)p->a + z * g->m * g->k, g->a_turned ? g->m : g->k,
                      (const uint16_t *)p->b + z * g->k * g->n, g->b_turned ? g->k : g->n, 0,
                      (float *)p->c + z * g->m * g->n, g->n);
    return status;
}

/* --- matmul --- */

static int type_of(tw_dtype t)
{
    return t == TW_F32 ? TYPE_F32 : t == TW_BF16 ? TYPE_BF16 : t == TW_F16 ? TYPE_F16 : 0;
}

/* Returns the descriptor of a matrix [batch][rows][columns] (without the batch if it is 1), or
 * of one that is stored transposed. In version 2 the descriptor is in `room`; in version 3 it is
 * a pointer. Returns NULL if oneDNN refuses the matrix. */
static void *describe(const struct peer *p, tw_dtype type, const int64_t extents[3], bool turned,
                      void *room)
{
    int (*init)(void *, int, const int64_t *, int, const int64_t *);
    int (*create)(void **, int, const int64_t *, int, const int64_t *);
    int64_t dims[DIMENSIONS_MOST] = {0}, strides[DIMENSIONS_MOST] = {0};
    const int64_t rows = extents[1], columns = extents[2];
    const int64_t steps[] = {rows * columns, turned ? 1 : columns, turned ? rows : 1};
    const int rank = extents[0] > 1 ? 3 : 2;
    void *made = NULL;
    memcpy(dims, extents + 3 - rank, (size_t)rank * sizeof *dims);
    memcpy(strides, steps + 3 - rank, (size_t)rank * sizeof *strides);
    call_symbol(p, "dnnl_memory_desc_init_by_strides", &init);
    call_symbol(p, "dnnl_memory_desc_create_with_strides", &create);
    if (create)
        return create(&made, rank, dims, type_of(type), strides) == SUCCESS ? made : NULL;
    return init && init(room, rank, dims, type_of(type), strides) == SUCCESS ? room : NULL;
}

/* Returns the descriptor of the product of A, B and C, or NULL if this version does not multiply
 * these matrices on a CPU. */
static void *new_descriptor(const struct peer *p, void *const matrices[3])
{
    int (*create)(void **, void *, void *, void *, void *, void *, void *);
    int (*init)(void *, void *, void *, void *, void *);
    int (*create_of)(void **, void *, void *, void *, void *);
    void *made = NULL;
    call_symbol(p, "dnnl_matmul_primitive_desc_create", &create);
    call_symbol(p, "dnnl_matmul_desc_init", &init);
    call_symbol(p, "dnnl_primitive_desc_create", &create_of);
    if (create)
        return create(&made, p->engine, matrices[0], matrices[1], NULL, matrices[2], NULL) ==
                       SUCCESS
                   ? made
                   : NULL;
    void *operation = need_memory(OPERATION_BYTES);
    bool ok = init && create_of &&
              init(operation, matrices[0], matrices[1], NULL, matrices[2]) == SUCCESS &&
              create_of(&made, operation, NULL, p->engine, NULL) == SUCCESS;
    free(operation);
    return ok ? made : NULL;
}

static bool make_memories(struct peer_plan *p, void *const matrices[3])
{
    int (*create)(void **, void *, void *, const void *);
    const void *const data[] = {p->a, p->b, p->c};
    call_symbol(p->peer, "dnnl_memory_create", &create);
    for (int i = 0; i < 3; i++)
        if (!create || create(&p->memories[i], matrices[i], p->peer->engine, data[i]) != SUCCESS)
            return false;
    return true;
}

static int run_matmul(struct peer_plan *p)
{
    int (*execute)(void *, void *, int, const struct exec_arg *);
    int (*wait)(void *);
    const struct exec_arg args[] = {
        {SOURCE, p->memories[0]}, {WEIGHTS, p->memories[1]}, {DESTINATION, p->memories[2]}};
    call_symbol(p->peer, "dnnl_primitive_execute", &execute);
    call_symbol(p->peer, "dnnl_stream_wait", &wait);
    int status = execute(p->primitive, p->peer->stream, 3, args);
    return status == SUCCESS ? wait(p->peer->stream) : status;
}

static void destroy(const struct peer *p, const char *name, void *thing)
{
    int (*call)(void *);
    call_symbol(p, name, &call);
    if (call && thing)
        call(thing);
}

void onednn_close(struct peer *p)
{
    destroy(p, "dnnl_stream_destroy", p->stream);
    destroy(p, "dnnl_engine_destroy", p->engine);
}

static bool plan_matmul(struct peer_plan *p)
{
    const struct gemm *g = &p->gemm;
    const int64_t a[] = {g->batch, g->m, g->k}, b[] = {g->batch, g->k, g->n},
                  c[] = {g->batch, g->m, g->n};
    int (*create)(void **, void *);
    char *room = need_memory(3 * (size_t)MEMORY_BYTES);
    void *matrices[] = {describe(p->peer, g->a, a, g->a_turned, room),
                        describe(p->peer, g->b, b, g->b_turned, room + MEMORY_BYTES),
                        describe(p->peer, g->c, c, false, room + 2 * MEMORY_BYTES)};
    void *descriptor =
        matrices[0] && matrices[1] && matrices[2] ? new_descriptor(p->peer, matrices) : NULL;
    call_symbol(p->peer, "dnnl_primitive_create", &create);
    bool ok = descriptor && create && create(&p->primitive, descriptor) == SUCCESS &&
              make_memories(p, matrices);
    destroy(p->peer, "dnnl_primitive_desc_destroy", descriptor);
    for (int i = 0; i < 3; i++) /* version 2 has no such call */
        destroy(p->peer, "dnnl_memory_desc_destroy", matrices[i]);
    free(room);
    p->run = ok ? run_matmul : NULL;
    return ok;
}

bool onednn_plan(struct peer_plan *p)
{
    const struct gemm *g = &p->gemm;
    bool sums = g->c == TW_F32 && g->a == g->b;
    if (sums && g->a == TW_F32 && peer_symbol(p->peer, "dnnl_sgemm"))
        p->run = run_sgemm;
    else if (sums && g->a == TW_BF16 && peer_symbol(p->peer, "dnnl_gemm_bf16bf16f32"))
        p->run = run_bf16;
    else if (type_of(g->a) && type_of(g->b) && type_of(g->c))
        return plan_matmul(p);
    return p->run != NULL;
}

void onednn_plan_close(struct peer_plan *p)
{
    for (int i = 0; i < 3; i++)
        destroy(p->peer, "dnnl_memory_destroy", p->memories[i]);
    destroy(p->peer, "dnnl_primitive_destroy", p->primitive);
}
