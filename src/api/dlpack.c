/* Arrays of other libraries, and our arrays for them, in the form of DLPack
 * (github.com/dmlc/dlpack, dlpack.h): a pointer, its device, the element type, shape and strides.
 *
 * A tensor that we hand out outlives the context: it keeps the GPU open by itself until its
 * consumer calls the deleter, from any thread, also after the context was freed. */
#include "api/objects.h"
#include "tilewright_gpu.h"

#include <stdio.h>
#include <string.h>

/* --- the structs of dlpack.h, with the same layout --- */

enum { ON_CPU = 1, ON_CUDA = 2, ON_CUDA_HOST = 3, ON_CUDA_MANAGED = 13 };

struct dl_type {
    uint8_t code, bits;
    uint16_t lanes;
};
struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t rank;
    struct dl_type type;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: compact, row-major */
    uint64_t byte_offset;
};
struct dl_managed {
    struct dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *self);
};

/* --- element types --- */

/* The DLPack types of each element type. Our arrays are handed out as the first one. */
static const struct {
    tw_dtype dtype;
    uint8_t code, bits;
} types[] = {
    {TW_I8, 0, 8},   {TW_I16, 0, 16},  {TW_I32, 0, 32},  {TW_I64, 0, 64},
    {TW_U8, 1, 8},   {TW_U16, 1, 16},  {TW_U32, 1, 32},  {TW_U64, 1, 64},
    {TW_F16, 2, 16}, {TW_F32, 2, 32},  {TW_F64, 2, 64},  {TW_BF16, 4, 16},
    {TW_BOOL, 6, 8}, {TW_E4M3, 10, 8}, {TW_E5M2, 12, 8}, {TW_TF32, 2, 32}, /* is kept in f32 */
};
enum { TYPES = sizeof types / sizeof *types };

/* By code. */
static const char *const codes[] = {"int",
                                    "uint",
                                    "float",
                                    "handle",
                                    "bfloat",
                                    "complex",
                                    "bool",
                                    "float8_e3m4",
                                    "float8_e4m3",
                                    "float8_e4m3b11fnuz",
                                    "float8_e4m3fn",
                                    "float8_e4m3fnuz",
                                    "float8_e5m2",
                                    "float8_e5m2fnuz",
                                    "float8_e8m0fnu",
                                    "float6_e2m3fn",
                                    "float6_e3m2fn",
                                    "float4_e2m1fn"};
enum { CODES = sizeof codes / sizeof *codes };

static tw_dtype dtype_of(struct dl_type t)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].code == t.code && types[i].bits == t.bits && t.lanes == 1)
            return types[i].dtype;
    return TW_DTYPE_NONE;
}

static struct dl_type type_of(tw_dtype t)
{
    int i = 0;
    while (types[i].dtype != t)
        i++;
    return (struct dl_type){.code = types[i].code, .bits = types[i].bits, .lanes = 1};
}

/* --- in --- */

struct dlpack_call {
    tw_context *ctx;
    const tw_launch *launch;
    const char *param;
    const struct dl_tensor *tensor;
    tw_array array;
    struct dl_managed *managed;
};

static void refuse_type(struct dlpack_call *c, struct dl_type t)
{
    diag_error(&c->ctx->diag, LOC_NONE,
               "`%s` has elements of DLPack's code %d (%s), %d bits, %d lanes: there is no such "
               "element type here",
               c->param, t.code, t.code < CODES ? codes[t.code] : "unknown", t.bits, t.lanes);
}

/* Finds the address of the array for a kernel of this launch. */
static tw_status find_place(struct dlpack_call *c)
{
    const struct dl_tensor *t = c->tensor;
    int own = c->ctx->config.device;
    c->array.place = TW_ON_HOST;
    switch (t->device_type) {
    case ON_CPU:
    case ON_CUDA_HOST: return TW_OK;
    case ON_CUDA_MANAGED: c->array.place = c->launch->kernel->executor->managed; return TW_OK;
    case ON_CUDA: break;
    default:
        diag_error(&c->ctx->diag, LOC_NONE,
                   "`%s` is on a device of DLPack's type %d: accepted are the host (1, 3), CUDA "
                   "(2) and managed memory (13)",
                   c->param, t->device_type);
        return TW_UNSUPPORTED;
    }
    c->array.place = TW_ON_DEVICE;
    if (t->device_id == own)
        return TW_OK;
    diag_error(&c->ctx->diag, LOC_NONE,
               "`%s` is on cuda:%d, and the GPU of this context is cuda:%d (tw_config.device)",
               c->param, t->device_id, own);
    return TW_BAD_ARGUMENT;
}

static bool is_empty(const struct dl_tensor *t)
{
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] == 0)
            return true;
    return false;
}

/* Checks the strides; an axis of one element may have any. */
static tw_status check_strides(struct dlpack_call *c)
{
    const struct dl_tensor *t = c->tensor;
    int64_t compact = 1;
    for (int i = t->rank - 1; t->strides && !is_empty(t) && i >= 0; i--) {
        if (t->shape[i] > 1 && t->strides[i] != compact) {
            diag_error(&c->ctx->diag, LOC_NONE,
                       "`%s` has stride %lld along axis %d, and a compact row-major array of its "
                       "shape has %lld: copy it to one (in PyTorch: contiguous())",
                       c->param, (long long)t->strides[i], i, (long long)compact);
            return TW_BAD_ARGUMENT;
        }
        if (__builtin_mul_overflow(compact, t->shape[i], &compact))
            return TW_OK; /* larger than memory: tw_launch_array reports it */
    }
    return TW_OK;
}

static tw_status take(void *user)
{
    struct dlpack_call *c = user;
    const struct dl_tensor *t = c->tensor;
    c->array = tw_array_init();
    c->array.dtype = dtype_of(t->type);
    c->array.rank = t->rank;
    c->array.data = t->data ? (char *)t->data + t->byte_offset : NULL;
    if (c->array.dtype == TW_DTYPE_NONE) {
        refuse_type(c, t->type);
        return TW_UNSUPPORTED;
    }
    for (int i = 0; i < t->rank && i < TW_MAX_RANK; i++)
        c->array.shape[i] = t->shape[i];
    tw_status status = find_place(c);
    return status == TW_OK ? check_strides(c) : status;
}

tw_status tw_launch_dlpack(tw_launch *l, const char *param, const void *tensor)
{
    REFUSE_IF(l, l->ctx, !param || !tensor, "tw_launch_dlpack: `param` or `tensor` is NULL");
    struct dlpack_call c = {.ctx = l->ctx, .launch = l, .param = param, .tensor = tensor};
    tw_status status = context_call(l->ctx, take, &c);
    return status == TW_OK ? tw_launch_array(l, param, &c.array) : status;
}

/* --- out --- */

/* The memory of a tensor that was handed out, in one piece. */
struct holder {
    struct dl_managed managed; /* first, because the deleter gets its address */
    struct allocator allocator;
    struct cuda_given *memory;
    int64_t shape[TW_MAX_RANK], strides[TW_MAX_RANK];
};

static void release(struct dl_managed *self)
{
    struct holder *h = (struct holder *)self;
    struct allocator a = h->allocator;
    cuda_given_free(&a, h->memory);
    a.resize(a.user, h, sizeof *h, 0);
}

static void describe(struct holder *h, const struct dlpack_call *c)
{
    const tw_array *x = &c->array;
    struct dl_tensor *t = &h->managed.tensor;
    *t = (struct dl_tensor){.data = x->data,
                            .device_type = ON_CUDA,
                            .device_id = c->ctx->config.device,
                            .rank = x->rank,
                            .type = type_of(x->dtype),
                            .shape = h->shape,
                            .strides = h->strides};
    int64_t stride = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        h->shape[i] = x->shape[i];
        h->strides[i] = stride;
        stride *= x->shape[i];
    }
    h->managed.deleter = release;
}

static tw_status give(void *user)
{
    struct dlpack_call *c = user;
    char why[CUDA_WHY];
    struct cuda *gpu;
    tw_status status = context_gpu(c->ctx, &gpu);
    if (status != TW_OK)
        return status;
    size_t bytes = tw_dtype_size(c->array.dtype);
    for (int i = 0; i < c->array.rank; i++)
        bytes *= (size_t)c->array.shape[i];
    struct holder *h = context_object(c->ctx, sizeof *h);
    if (!h)
        return TW_NO_MEMORY;
    h->allocator = c->ctx->allocator;
    h->memory = cuda_give_away(gpu, (uintptr_t)c->array.data, bytes, why);
    if (h->memory) {
        describe(h, c);
        c->managed = &h->managed;
        return TW_OK;
    }
    context_object_free(c->ctx, h, sizeof *h);
    return gpu_refuse(c->ctx, why, TW_BAD_ARGUMENT);
}

tw_status tw_device_dlpack(tw_context *ctx, const tw_array *array, void **managed)
{
    if (managed)
        *managed = NULL;
    REFUSE_IF(ctx, ctx, !array || !managed, "tw_device_dlpack: `array` or `managed` is NULL");
    struct dlpack_call c = {.ctx = ctx};
    tw_status status = READ_SIZED(ctx, tw_array, &c.array, array);
    if (status != TW_OK)
        return status;
    const char *fault = launch_array_fault(NULL, &c.array);
    if (fault || c.array.place != TW_ON_DEVICE)
        return context_refuse(ctx, fault ? "tw_device_dlpack: the array is not valid"
                                         : "tw_device_dlpack: the array is on the host");
    status = context_call(ctx, give, &c);
    *managed = c.managed;
    return status;
}
