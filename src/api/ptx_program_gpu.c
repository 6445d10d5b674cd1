#include "api/ptx_memory.h"

#include <string.h>

struct ptx_run {
    tw_ptx *program;
    const tw_ptx_launch *launch;
    struct cuda *cuda;
    struct ptx_memory memory;
    double milliseconds;
    char why[CUDA_WHY];
};

static tw_status say(struct ptx_run *r, tw_status status)
{
    if (!r->why[0])
        return TW_NO_MEMORY; /* of the host */
    diag_error(&r->program->ctx->diag, LOC_NONE, "%s on %s: %s", r->program->source.name,
               cuda_describe(r->cuda)->name, r->why);
    return status;
}

static tw_status load(struct ptx_run *r, const struct ptx_function *f)
{
    tw_ptx *p = r->program;
    tw_status status = context_gpu(p->ctx, &r->cuda);
    if (status != TW_OK)
        return status;
    if (p->loaded && p->loaded_kernel == f)
        return TW_OK;
    cuda_unload(r->cuda, p->loaded);
    struct cuda_text text = context_ptx(p->ctx, p->source.text, p->source.length);
    p->loaded = cuda_load_text(r->cuda, &text, f->name, r->why);
    p->loaded_kernel = f;
    return p->loaded ? TW_OK : say(r, gpu_status(r->cuda, TW_UNSUPPORTED));
}

static bool place(struct ptx_run *r)
{
    for (int i = 0; i < r->memory.block_count; i++) {
        struct ptx_block *b = &r->memory.blocks[i];
        if (!cuda_allocate(r->cuda, b->bytes, &b->address, r->why))
            return false;
        if (!cuda_copy_in(r->cuda, b->address, b->data, b->bytes, NULL, r->why))
            return false;
    }
    return true;
}

static bool start(struct ptx_run *r)
{
    const tw_ptx_launch *l = r->launch;
    void **values = (void **)launch_ptx_memory_values(&r->memory, &r->program->ctx->scratch);
    struct cuda_launch config = {
        .shared_bytes = l->shared_bytes, .arguments = values, .cooperative = l->cooperative};
    for (int i = 0; i < 3; i++) {
        config.grid[i] = l->grid[i] ? l->grid[i] : 1;
        config.block[i] = l->block[i] ? l->block[i] : 1;
        config.cluster[i] = l->cluster[i];
    }
    tw_context *ctx = r->program->ctx;
    return cuda_allow_shared(r->cuda, r->program->loaded, l->shared_bytes, r->why) &&
           context_mark(ctx, 0, r->why) &&
           cuda_start(r->cuda, r->program->loaded, &config, NULL, r->why) &&
           context_mark(ctx, 1, r->why) && context_marked(ctx, &r->milliseconds, r->why);
}

static bool copy_out(struct ptx_run *r)
{
    for (int i = 0; i < r->memory.block_count; i++) {
        const struct ptx_block *b = &r->memory.blocks[i];
        if (!cuda_copy_out(r->cuda, b->data, b->address, b->bytes, NULL, r->why))
            return false;
    }
    return true;
}

static void free_buffers(struct ptx_run *r)
{
    char why[CUDA_WHY]; /* the first error was reported */
    for (int i = 0; i < r->memory.block_count; i++)
        if (r->memory.blocks[i].address)
            cuda_free(r->cuda, r->memory.blocks[i].address, why);
}

static tw_status run_ptx(void *user)
{
    struct ptx_run *r = user;
    const tw_ptx_launch *l = r->launch;
    tw_status status;
    const struct ptx_function *f = launch_ptx_kernel(r->program, l, &status);
    if (!f)
        return status;
    status = load(r, f);
    if (status != TW_OK)
        return status;
    launch_ptx_memory_find(&r->memory, &r->program->ctx->scratch, l, f);
    bool done = place(r) && start(r) && copy_out(r);
    status = done ? TW_OK : gpu_run_status(r->cuda);
    free_buffers(r);
    return done ? TW_OK : say(r, status);
}

tw_status tw_ptx_run(tw_ptx *p, const tw_ptx_launch *launch, double *milliseconds)
{
    if (milliseconds)
        *milliseconds = 0;
    REFUSE_IF(p, p->ctx, !launch, "tw_ptx_run: `launch` is NULL");
    tw_ptx_launch given;
    tw_status status = launch_ptx_read(p, launch, &given);
    if (status != TW_OK)
        return status;
    struct ptx_run r = {.program = p, .launch = &given};
    status = context_call(p->ctx, run_ptx, &r);
    if (status == TW_OK && milliseconds)
        *milliseconds = r.milliseconds;
    return status;
}
