/* Launches on an NVIDIA GPU: arrays are copied there, the kernel runs, what it wrote is copied
 * back. */
#include "api/launch_params.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct gpu_run {
    tw_launch *launch;
    struct cuda *cuda;
    struct cuda_module *module;
    struct cuda_launch config;
    struct launch_params params;
    uint64_t *buffers; /* by lowered parameter; 0: a scalar */
    char why[CUDA_WHY];
};

static tw_status say(struct gpu_run *r, tw_status status)
{
    if (!r->why[0])
        return TW_NO_MEMORY; /* of the host */
    const tw_kernel *k = r->launch->kernel;
    diag_error(&r->launch->ctx->diag, k->info->loc, "kernel `%s` on %s: %s", k->info->name,
               cuda_describe(r->cuda)->name, r->why);
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
    if (!r->cuda && r->why[0]) {
        diag_error(&ctx->diag, LOC_NONE, "no GPU to run on: %s", r->why);
        return TW_UNSUPPORTED;
    }
    if (!r->cuda)
        return TW_NO_MEMORY;
    if (!v->module) {
        struct text ptx;
        text_init(&ptx, &ctx->scratch);
        ptx_print(&ptx, v->lowered->module);
        v->module = cuda_load(r->cuda, ptx.data, v->lowered->function->name, r->why);
    }
    r->module = v->module;
    return r->module ? TW_OK : say(r, TW_UNSUPPORTED);
}

static void configure(struct gpu_run *r)
{
    const struct variant *v = r->launch->variant;
    for (int i = 0; i < 3; i++) {
        r->config.grid[i] = r->params.grid[i];
        r->config.block[i] = v->lowered->block[i];
    }
    r->config.shared_bytes = v->lowered->shared_bytes;
    r->config.cooperative = v->ir->cooperative;
}

/* Memory for every pointer; the parameters' values. */
static tw_status place_params(struct gpu_run *r)
{
    struct arena *a = &r->launch->ctx->scratch;
    r->buffers = arena_array(a, uint64_t, r->params.count + 1);
    r->config.arguments = arena_array(a, void *, r->params.count + 1);
    for (int i = 0; i < r->params.count; i++) {
        struct launch_param *p = &r->params.list[i];
        r->config.arguments[i] = &p->value;
        if (p->kind == LOWER_SCALAR)
            continue;
        if (!cuda_allocate(r->cuda, p->bytes, &r->buffers[i], r->why))
            return say(r, TW_NO_MEMORY);
        p->value = r->buffers[i];
    }
    return TW_OK;
}

static void free_params(struct gpu_run *r)
{
    for (int i = 0; r->buffers && i < r->params.count; i++)
        cuda_free(r->cuda, r->buffers[i]);
}

static bool copy_in(struct gpu_run *r)
{
    for (int i = 0; i < r->params.count; i++) {
        const struct launch_param *p = &r->params.list[i];
        if (p->kind == LOWER_POINTER &&
            !cuda_copy_in(r->cuda, r->buffers[i], p->data, p->bytes, r->why))
            return false;
    }
    return true;
}

static bool copy_out(struct gpu_run *r)
{
    for (int i = 0; i < r->params.count; i++) {
        const struct launch_param *p = &r->params.list[i];
        if (p->written && !cuda_copy_out(r->cuda, p->data, r->buffers[i], p->bytes, r->why))
            return false;
    }
    return true;
}

/* What must be zero before each launch: workspace that says so, the ticket. */
static bool zero_params(struct gpu_run *r)
{
    for (int i = 0; i < r->params.count; i++) {
        const struct launch_param *p = &r->params.list[i];
        if (p->zeroed && !cuda_zero(r->cuda, r->buffers[i], p->bytes, r->why))
            return false;
    }
    return true;
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
    struct gpu_run r = {.launch = l};
    tw_status status = open_module(&r);
    if (status == TW_OK && !launch_params_find(l, given, &r.params, r.why))
        status = say(&r, TW_BAD_ARGUMENT);
    if (status == TW_OK) {
        configure(&r);
        status = place_params(&r);
    }
    double all = 0;
    if (status == TW_OK && !(copy_in(&r) && start_all(&r, runs, &all) && copy_out(&r)))
        status = say(&r, TW_FAULT);
    free_params(&r);
    *milliseconds = all / runs;
    return status;
}
