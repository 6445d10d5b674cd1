/* The GPU of a context: memory, streams, events. */
#include "api/objects.h"
#include "tilewright_gpu.h"

#include <stdio.h>

const struct cuda_device *context_look(tw_context *ctx, const struct target *t)
{
    char why[CUDA_WHY];
    if (!ctx->looked && !cuda_look(ctx->config.device, &ctx->gpu, why))
        ctx->gpu = (struct cuda_device){0};
    ctx->looked = true;
    return ctx->gpu.multiprocessors && target_runs_on(t, ctx->gpu.capability) ? &ctx->gpu : NULL;
}

static struct cuda *open_gpu(tw_context *ctx, char why[CUDA_WHY])
{
    if (!ctx->cuda)
        ctx->cuda = cuda_open(&ctx->allocator, ctx->config.device, why);
    return ctx->cuda;
}

int context_clusters(tw_context *ctx, int blocks)
{
    char why[CUDA_WHY];
    struct cuda *c = open_gpu(ctx, why);
    return c ? cuda_clusters(c, blocks) : 0;
}

tw_status context_gpu(tw_context *ctx, struct cuda **out)
{
    char why[CUDA_WHY];
    *out = open_gpu(ctx, why);
    if (ctx->cuda)
        return TW_OK;
    if (!why[0])
        return TW_NO_MEMORY;
    diag_error(&ctx->diag, LOC_NONE, "no GPU to run on: %s", why);
    return TW_UNSUPPORTED;
}

tw_status gpu_status(const struct cuda *c, tw_status otherwise)
{
    switch (cuda_failure(c)) {
    case CUDA_NO_ROOM: return TW_NO_MEMORY;
    case CUDA_LOST: return TW_FAULT;
    case CUDA_MISUSED:
    case CUDA_REFUSED: break;
    }
    return otherwise;
}

tw_status gpu_run_status(const struct cuda *c)
{
    return cuda_failure(c) == CUDA_MISUSED ? TW_UNSUPPORTED : gpu_status(c, TW_FAULT);
}

tw_status gpu_refuse(tw_context *ctx, const char *why, tw_status misused)
{
    if (!why[0])
        return TW_NO_MEMORY; /* of the host */
    diag_error(&ctx->diag, LOC_NONE, "%s: %s", cuda_describe(ctx->cuda)->name, why);
    return cuda_failure(ctx->cuda) == CUDA_MISUSED ? misused : gpu_status(ctx->cuda, TW_FAULT);
}

bool context_mark(tw_context *ctx, int mark, char why[CUDA_WHY])
{
    return (ctx->marks[mark] || cuda_event_new(ctx->cuda, &ctx->marks[mark], why)) &&
           cuda_event_record(ctx->cuda, ctx->marks[mark], NULL, why);
}

bool context_marked(tw_context *ctx, double *milliseconds, char why[CUDA_WHY])
{
    return cuda_event_elapsed(ctx->cuda, ctx->marks[0], ctx->marks[1], milliseconds, why);
}

struct cuda_text context_ptx(tw_context *ctx, const char *text, size_t length)
{
    return (struct cuda_text){.ptx = text,
                              .length = length,
                              .compiler = TW_VERSION,
                              .cache = ctx->cache,
                              .scratch = &ctx->scratch};
}

/* --- the public calls --- */

struct device_call {
    tw_context *ctx;
    void *stream, *to, *event;
    const void *from;
    int byte;
    size_t bytes;
    void *made;
    double milliseconds;
    tw_status misused; /* status of a failure before the driver */
    bool (*body)(struct device_call *d, struct cuda *c, char why[CUDA_WHY]);
};

static tw_status device_body(void *user)
{
    struct device_call *d = user;
    struct cuda *c;
    char why[CUDA_WHY] = "";
    tw_status status = context_gpu(d->ctx, &c);
    if (status != TW_OK || d->body(d, c, why))
        return status;
    return gpu_refuse(d->ctx, why, d->misused);
}

static tw_status device_call(struct device_call *d)
{
    if (!d->ctx)
        return TW_BAD_ARGUMENT;
    return context_call(d->ctx, device_body, d);
}

/* Runs a call that makes an object, into *out. */
static tw_status device_make(struct device_call *d, void **out, const char *no_place)
{
    if (out)
        *out = NULL;
    if (d->ctx && !out)
        return context_refuse(d->ctx, no_place);
    tw_status status = device_call(d);
    if (out)
        *out = d->made;
    return status;
}

static bool allocate(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    uint64_t address;
    bool done = cuda_allocate(c, d->bytes, &address, why);
    d->made = (void *)(uintptr_t)address;
    return done;
}

tw_status tw_device_allocate(tw_context *ctx, size_t bytes, void **address)
{
    struct device_call d = {.ctx = ctx, .bytes = bytes, .body = allocate};
    return device_make(&d, address, "tw_device_allocate: `address` is NULL");
}

static bool free_memory(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_free(c, (uintptr_t)d->to, why);
}

tw_status tw_device_free(tw_context *ctx, void *address)
{
    struct device_call d = {
        .ctx = ctx, .to = address, .misused = TW_BAD_ARGUMENT, .body = free_memory};
    return ctx && !address ? TW_OK : device_call(&d);
}

static bool copy_in(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_copy_in(c, (uintptr_t)d->to, d->from, d->bytes, d->stream, why);
}

tw_status tw_device_copy_in(tw_context *ctx, void *to, const void *from, size_t bytes, void *stream)
{
    struct device_call d = {
        .ctx = ctx, .to = to, .from = from, .bytes = bytes, .stream = stream, .body = copy_in};
    return device_call(&d);
}

static bool copy_out(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_copy_out(c, d->to, (uintptr_t)d->from, d->bytes, d->stream, why);
}

tw_status tw_device_copy_out(tw_context *ctx, void *to, const void *from, size_t bytes,
                             void *stream)
{
    struct device_call d = {
        .ctx = ctx, .to = to, .from = from, .bytes = bytes, .stream = stream, .body = copy_out};
    return device_call(&d);
}

static bool fill(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_fill(c, (uintptr_t)d->to, d->byte, d->bytes, d->stream, why);
}

tw_status tw_device_fill(tw_context *ctx, void *to, int byte, size_t bytes, void *stream)
{
    struct device_call d = {
        .ctx = ctx, .to = to, .byte = byte, .bytes = bytes, .stream = stream, .body = fill};
    return device_call(&d);
}

/* --- streams, events --- */

static bool new_stream(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_stream_new(c, &d->made, why);
}

tw_status tw_stream_new(tw_context *ctx, void **stream)
{
    struct device_call d = {.ctx = ctx, .body = new_stream};
    return device_make(&d, stream, "tw_stream_new: `stream` is NULL");
}

static bool free_stream(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_stream_free(c, d->stream, why);
}

tw_status tw_stream_free(tw_context *ctx, void *stream)
{
    struct device_call d = {
        .ctx = ctx, .stream = stream, .misused = TW_BAD_ARGUMENT, .body = free_stream};
    return ctx && !stream ? TW_OK : device_call(&d);
}

static bool wait_for(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_stream_wait(c, d->stream, why);
}

tw_status tw_stream_wait(tw_context *ctx, void *stream)
{
    return device_call(&(struct device_call){.ctx = ctx, .stream = stream, .body = wait_for});
}

static bool new_event(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_event_new(c, &d->made, why);
}

tw_status tw_event_new(tw_context *ctx, void **event)
{
    struct device_call d = {.ctx = ctx, .body = new_event};
    return device_make(&d, event, "tw_event_new: `event` is NULL");
}

static bool free_event(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_event_free(c, d->event, why);
}

tw_status tw_event_free(tw_context *ctx, void *event)
{
    struct device_call d = {
        .ctx = ctx, .event = event, .misused = TW_BAD_ARGUMENT, .body = free_event};
    return ctx && !event ? TW_OK : device_call(&d);
}

static bool record(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_event_record(c, d->event, d->stream, why);
}

tw_status tw_event_record(tw_context *ctx, void *event, void *stream)
{
    struct device_call d = {.ctx = ctx, .event = event, .stream = stream, .body = record};
    return device_call(&d);
}

static bool elapsed(struct device_call *d, struct cuda *c, char why[CUDA_WHY])
{
    return cuda_event_elapsed(c, (void *)(uintptr_t)d->from, d->to, &d->milliseconds, why);
}

tw_status tw_event_elapsed(tw_context *ctx, void *from, void *to, double *milliseconds)
{
    struct device_call d = {.ctx = ctx, .from = from, .to = to, .body = elapsed};
    if (milliseconds)
        *milliseconds = 0;
    if (ctx && !milliseconds)
        return context_refuse(ctx, "tw_event_elapsed: `milliseconds` is NULL");
    tw_status status = device_call(&d);
    if (status == TW_OK)
        *milliseconds = d.milliseconds;
    return status;
}

/* --- the cache --- */

struct cache_call {
    tw_context *ctx;
    tw_cache found;
};

static tw_status cache_call(void *user)
{
    struct cache_call *c = user;
    struct cuda_cache_state state = cuda_cache_look(c->ctx->cache, &c->ctx->message_memory);
    c->found = (tw_cache){.folder = state.folder,
                          .limit_bytes = state.limit,
                          .bytes = state.bytes,
                          .kernels = state.files,
                          .trouble = state.trouble};
    return TW_OK;
}

tw_status tw_context_cache(tw_context *ctx, tw_cache *out)
{
    if (!ctx)
        return TW_BAD_ARGUMENT;
    if (!SIZED_FITS(ctx, tw_cache, out))
        return TW_BAD_ARGUMENT;
    struct cache_call call = {.ctx = ctx};
    tw_status status = context_call(ctx, cache_call, &call);
    FILL_SIZED(out, call.found);
    return status;
}
