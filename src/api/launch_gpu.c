/* Launches on an NVIDIA GPU: arrays are copied there, the kernel runs, what it wrote is copied
 * back. */
#include "api/objects.h"

#include "cuda/cuda.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct gpu_run {
    tw_launch *launch;
    const struct cpu_argument *given; /* by parameter */
    struct cuda *cuda;
    struct cuda_module *module;
    struct cuda_launch config;
    const struct lowered *lowered;
    uint64_t *buffers; /* by lowered parameter; 0: a scalar */
    size_t *bytes;
    uint64_t *scalars; /* the parameter's own bytes, first */
    char why[CUDA_WHY];
};

static tw_status say(struct gpu_run *r, tw_status status)
{
    if (!r->why[0])
        return TW_NO_MEMORY; /* of the host */
    const tw_kernel *k = r->launch->kernel;
    diag_error(&r->launch->ctx->diag, k->info->loc, "kernel `%s` on %s: %s", k->info->name,
               r->cuda ? cuda_describe(r->cuda)->name : "cuda", r->why);
    return status;
}

struct cuda *context_cuda(tw_context *ctx, char why[CUDA_WHY])
{
    if (!ctx->cuda)
        ctx->cuda = cuda_open(&ctx->allocator, 0, why);
    return ctx->cuda;
}

static tw_status open_module(struct gpu_run *r)
{
    struct variant *v = r->launch->variant;
    tw_context *ctx = r->launch->ctx;
    r->cuda = context_cuda(ctx, r->why);
    if (!r->cuda)
        return say(r, TW_UNSUPPORTED);
    if (!v->module) {
        struct text ptx;
        text_init(&ptx, &ctx->scratch);
        ptx_print(&ptx, v->lowered->module);
        v->module = cuda_load(r->cuda, ptx.data, v->lowered->function->name, r->why);
    }
    r->module = v->module;
    r->lowered = v->lowered;
    return r->module ? TW_OK : say(r, TW_UNSUPPORTED);
}

static struct scalar_env scalars_of(const tw_launch *l)
{
    return (struct scalar_env){.values = l->choice.values,
                               .known = l->choice.known,
                               .count = l->kernel->info->param_count};
}

static bool workspace_bytes(const tw_launch *l, const struct sym *view, size_t *bytes)
{
    struct scalar_env env = scalars_of(l);
    int64_t count = 1, extent;
    for (int i = 0; i < view->type.rank; i++) {
        if (!eval_int(view->dims[i], &env, &extent) || extent < 0 ||
            (extent > 0 && count > INT64_MAX / 64 / extent))
            return false;
        count *= extent;
    }
    *bytes = (size_t)count * dtype_size(view->type.dtype);
    return true;
}

static bool size_of_param(struct gpu_run *r, const struct lower_param *p, size_t *bytes)
{
    switch (p->kind) {
    case LOWER_SCALAR: *bytes = 0; return true;
    case LOWER_POINTER: *bytes = r->given[p->sym->index].bytes; return true;
    case LOWER_TICKET: *bytes = sizeof(uint32_t); return true;
    case LOWER_WORKSPACE: break;
    }
    return workspace_bytes(r->launch, p->sym, bytes);
}

static void scalar_bytes(uint64_t *out, enum dtype t, struct literal v)
{
    *out = 0;
    if (dtype_is_float(t))
        dtype_store_f64(t, out, v.f);
    else if (t == DT_BOOL)
        *out = v.i != 0;
    else
        dtype_store_i64(t, out, v.i);
}

/* Memory for every pointer; the parameters' values. */
static tw_status place_params(struct gpu_run *r)
{
    struct arena *a = &r->launch->ctx->scratch;
    size_t count = r->lowered->params.count;
    r->buffers = arena_array(a, uint64_t, count + 1);
    r->bytes = arena_array(a, size_t, count + 1);
    r->scalars = arena_array(a, uint64_t, count + 1);
    r->config.arguments = arena_array(a, void *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct lower_param *p = &r->lowered->params.data[i];
        r->config.arguments[i] = &r->scalars[i];
        if (p->kind == LOWER_SCALAR) {
            scalar_bytes(&r->scalars[i], p->sym->type.dtype,
                         r->launch->choice.values[p->sym->index]);
            continue;
        }
        if (!size_of_param(r, p, &r->bytes[i])) {
            strcpy(r->why, "the extents of its workspace cannot be known before it runs");
            return say(r, TW_BAD_ARGUMENT);
        }
        if (!cuda_allocate(r->cuda, r->bytes[i], &r->buffers[i], r->why))
            return say(r, TW_NO_MEMORY);
        r->scalars[i] = r->buffers[i];
    }
    return TW_OK;
}

static void free_params(struct gpu_run *r)
{
    for (size_t i = 0; r->buffers && i < r->lowered->params.count; i++)
        cuda_free(r->cuda, r->buffers[i]);
}

static bool copy_in(struct gpu_run *r)
{
    for (size_t i = 0; i < r->lowered->params.count; i++) {
        const struct lower_param *p = &r->lowered->params.data[i];
        if (p->kind == LOWER_POINTER &&
            !cuda_copy_in(r->cuda, r->buffers[i], r->given[p->sym->index].data, r->bytes[i],
                          r->why))
            return false;
    }
    return true;
}

static bool copy_out(struct gpu_run *r)
{
    for (size_t i = 0; i < r->lowered->params.count; i++) {
        const struct lower_param *p = &r->lowered->params.data[i];
        if (p->kind == LOWER_POINTER && !p->sym->is_const &&
            !cuda_copy_out(r->cuda, r->given[p->sym->index].data, r->buffers[i], r->bytes[i],
                           r->why))
            return false;
    }
    return true;
}

/* What must be zero before each launch: workspace that says so, the ticket. */
static bool zero_params(struct gpu_run *r)
{
    for (size_t i = 0; i < r->lowered->params.count; i++) {
        const struct lower_param *p = &r->lowered->params.data[i];
        bool zeroed = p->kind == LOWER_TICKET || (p->kind == LOWER_WORKSPACE && p->sym->zeroed);
        if (zeroed && !cuda_zero(r->cuda, r->buffers[i], r->bytes[i], r->why))
            return false;
    }
    return true;
}

static tw_status find_grid(struct gpu_run *r)
{
    const struct kernel *ir = r->launch->variant->ir;
    struct scalar_env env = scalars_of(r->launch);
    for (int i = 0; i < 3; i++) {
        r->config.grid[i] = 1;
        r->config.block[i] = r->lowered->block[i];
        if (ir->grid[i] && !eval_int(ir->grid[i], &env, &r->config.grid[i])) {
            strcpy(r->why, "its grid cannot be known");
            return say(r, TW_BAD_ARGUMENT);
        }
        if (r->config.grid[i] > lower_grid_limits[i]) {
            snprintf(r->why, sizeof r->why,
                     "a grid of %lld blocks along %c: GPUs have %lld at most",
                     (long long)r->config.grid[i], "xyz"[i], (long long)lower_grid_limits[i]);
            return say(r, TW_BAD_ARGUMENT);
        }
    }
    r->config.shared_bytes = r->lowered->shared_bytes;
    r->config.cooperative = ir->cooperative;
    return TW_OK;
}

static bool start(struct gpu_run *r)
{
    return zero_params(r) && cuda_start(r->cuda, r->module, &r->config, r->why);
}

/* `runs` launches one after the other, after one that warms up if there are several. */
static bool start_all(struct gpu_run *r, int runs, double *milliseconds)
{
    if (runs > 1 && !start(r))
        return false;
    if (!cuda_mark(r->cuda, 0, r->why))
        return false;
    for (int i = 0; i < runs; i++)
        if (!start(r))
            return false;
    return cuda_mark(r->cuda, 1, r->why) && cuda_wait(r->cuda, r->why) &&
           cuda_elapsed(r->cuda, milliseconds, r->why);
}

tw_status launch_on_gpu(tw_launch *l, const struct cpu_argument *given, int runs,
                        double *milliseconds)
{
    struct gpu_run r = {.launch = l, .given = given};
    tw_status status = open_module(&r);
    if (status == TW_OK)
        status = find_grid(&r);
    if (status == TW_OK)
        status = place_params(&r);
    double all = 0;
    if (status == TW_OK && !(copy_in(&r) && start_all(&r, runs, &all) && copy_out(&r)))
        status = say(&r, TW_FAULT);
    free_params(&r);
    *milliseconds = all / runs;
    return status;
}
