/* Launches on an NVIDIA GPU. The parameters of a prepared launch are found once; then each start
 * is one launch of the driver, after a fill if workspace must be zero and launches do not leave
 * it so. Arrays of the host are copied to the device for each run, and back. */
#include "api/launch_params.h"
#include "tilewright_gpu.h"

#include <stdio.h>
#include <string.h>

struct gpu_launch {
    struct launch_params params;
    struct cuda_launch config;
    struct cuda_module *module;
    /* Workspace: offsets in one piece of memory, first those that must be zero. Clean workspace
     * and the ticket have a separate piece, which never holds anything else. */
    size_t *offset; /* by parameter */
    size_t workspace_bytes, zeroed_bytes, clean_bytes;
    uint64_t workspace; /* the first piece, of the latest stream */
    uint64_t clean;     /* the piece that launches leave 0, of the latest stream */
};

struct gpu_call {
    tw_launch *launch;
    void *stream;
    const tw_launch_attributes *attributes; /* NULL: none */
    struct cuda *cuda;
    struct gpu_launch *gpu;
    uint64_t *staged; /* by parameter: a copy of the host's array; 0: none */
    int runs;
    double milliseconds; /* of all */
    tw_occupancy occupancy;
    char why[CUDA_WHY];
};

static tw_status refuse(struct gpu_call *c, tw_status status)
{
    if (!c->why[0])
        return TW_NO_MEMORY; /* of the host */
    const tw_kernel *k = c->launch->kernel;
    diag_error(&c->launch->ctx->diag, k->info->loc, "kernel `%s` on %s: %s", k->info->name,
               cuda_describe(c->cuda)->name, c->why);
    return status;
}

/* Reports the refusal of the GPU. */
static tw_status say(struct gpu_call *c, tw_status status)
{
    return refuse(c, gpu_status(c->cuda, status));
}

/* --- what is passed --- */

static struct cuda_text print(const struct gpu_call *c)
{
    tw_context *ctx = c->launch->ctx;
    struct text ptx;
    text_init(&ptx, &ctx->scratch);
    ptx_print(&ptx, c->launch->variant->lowered->module);
    return context_ptx(ctx, ptx.data, ptx.length);
}

static tw_status load(struct gpu_call *c)
{
    struct variant *v = c->launch->variant;
    if (!v->module) {
        struct cuda_text ptx = print(c);
        v->module = cuda_load_text(c->cuda, &ptx, v->lowered->function->name, c->why);
    }
    if (v->module && cuda_allow_shared(c->cuda, v->module, v->lowered->shared_bytes, c->why))
        return TW_OK;
    return say(c, TW_UNSUPPORTED);
}

/* Compiles the launch; a GPU never gets a kernel that was compiled despite its races. */
static tw_status compile(struct gpu_call *c)
{
    if (c->launch->despite_races) {
        diag_error(&c->launch->ctx->diag, LOC_NONE,
                   "tw_launch_despite_races is for tw_launch_simulate alone");
        return TW_UNSUPPORTED;
    }
    return launch_prepare(c->launch);
}

/* Compiles the launch and loads it on the context's GPU. */
static tw_status prepare(struct gpu_call *c)
{
    tw_status status = compile(c);
    if (status == TW_OK)
        status = context_gpu(c->launch->ctx, &c->cuda);
    return status == TW_OK ? load(c) : status;
}

static bool is_workspace(const struct launch_param *p)
{
    return p->kind == LOWERED_WORKSPACE || p->kind == LOWERED_TICKET;
}

static size_t place_after(size_t *bytes, const struct launch_param *p)
{
    size_t at = *bytes;
    *bytes += ((size_t)p->bytes + 255) / 256 * 256;
    return at;
}

/* Lays out the workspace, zeroed pieces first, so that one fill suffices. */
static void lay_out_workspace(struct gpu_launch *g)
{
    for (int i = 0; i < g->params.held; i++)
        if (is_workspace(&g->params.list[i]) && g->params.list[i].clean)
            g->offset[i] = place_after(&g->clean_bytes, &g->params.list[i]);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < g->params.held; i++) {
            const struct launch_param *p = &g->params.list[i];
            if (is_workspace(p) && !p->clean && p->zeroed == (pass == 0))
                g->offset[i] = place_after(&g->workspace_bytes, p);
        }
        if (pass == 0)
            g->zeroed_bytes = g->workspace_bytes;
    }
}

static void configure(struct gpu_launch *g, const struct variant *v, struct arena *a)
{
    g->module = v->module;
    g->config.shared_bytes = v->lowered->shared_bytes;
    g->config.cooperative = v->ir->cooperative;
    g->config.overlap = v->lowered->begins_early;
    g->config.arguments = arena_array(a, void *, g->params.count + 1);
    g->offset = arena_array(a, size_t, g->params.held + 1);
    g->config.cluster[0] = v->lowered->cluster;
    for (int i = 0; i < 3; i++) {
        g->config.grid[i] = g->params.grid[i];
        g->config.block[i] = v->lowered->block[i];
    }
    for (int i = 0; i < g->params.count; i++)
        g->config.arguments[i] = launch_argument(&g->params.list[i]);
    for (int i = 0; i < g->params.held; i++) {
        struct launch_param *p = &g->params.list[i];
        if (p->kind == LOWERED_POINTER && p->on_device)
            p->value = (uintptr_t)p->data;
    }
    lay_out_workspace(g);
}

static tw_status work_out(struct gpu_call *c)
{
    tw_launch *l = c->launch;
    struct cpu_argument *given;
    tw_status status = launch_arguments(l, &given);
    if (status == TW_OK)
        status = prepare(c);
    if (status != TW_OK)
        return status;
    arena_free(&l->started);
    l->unchecked = NULL;
    struct gpu_launch *g = arena_new(&l->started, struct gpu_launch);
    if (!launch_params_find(l, &l->started, given, &g->params, c->why))
        return refuse(c, TW_BAD_ARGUMENT);
    configure(g, l->variant, &l->started);
    l->gpu = g;
    return TW_OK;
}

static bool is_ready(const tw_launch *l)
{
    return l->prepared && l->gpu;
}

/* Makes c->gpu, and its workspace for the stream. */
static tw_status make_ready(struct gpu_call *c)
{
    tw_launch *l = c->launch;
    tw_status status = is_ready(l) ? TW_OK : work_out(c);
    if (status != TW_OK)
        return status;
    uint64_t base = 0, clean = 0;
    struct gpu_launch *g = c->gpu = l->gpu;
    c->cuda = l->ctx->cuda;
    if (!cuda_usable(c->cuda, c->why))
        return say(c, TW_FAULT);
    if (!cuda_workspace(c->cuda, c->stream, g->workspace_bytes, false, &base, c->why) ||
        !cuda_workspace(c->cuda, c->stream, g->clean_bytes, true, &clean, c->why))
        return say(c, TW_NO_MEMORY);
    for (int i = 0; i < g->params.held; i++) {
        struct launch_param *p = &g->params.list[i];
        if (is_workspace(p))
            p->value = (p->clean ? clean : base) + g->offset[i];
    }
    g->workspace = base;
    g->clean = clean;
    return TW_OK;
}

static tw_status encode_map(void *user, const struct map_request *map, enum dtype type,
                            uint64_t code[MAP_WORDS])
{
    struct gpu_call *c = user;
    const struct cuda_encoder e = cuda_encoder(c->cuda);
    const struct tensor_map whole = tensor_map_of(map, type);
    int result;
    if (launch_map_code(&e, map, type, &result, code))
        return TW_OK;
    cuda_say_map(c->cuda, &whole, result, c->why);
    return refuse(c, gpu_run_status(c->cuda));
}

/* Encodes the maps of a launch whose arrays and workspace have addresses. */
static tw_status encode_maps(struct gpu_call *c)
{
    return launch_maps_encode(c->launch, &c->gpu->params, encode_map, c);
}

static struct cuda_launch with_attributes(const struct gpu_call *c)
{
    const tw_launch_attributes *a = c->attributes;
    struct cuda_launch config = c->gpu->config;
    if (!config.cluster[0])
        memcpy(config.cluster, a->cluster, sizeof config.cluster);
    config.priority = a->priority;
    /* Earlier launches of the stream may still use the workspace. */
    config.overlap |= a->overlap && !c->gpu->workspace_bytes && !c->gpu->clean_bytes;
    return config;
}

static bool start(struct gpu_call *c)
{
    struct cuda_launch own;
    const struct gpu_launch *g = c->gpu;
    const struct cuda_launch *config = &g->config;
    if (c->attributes) {
        own = with_attributes(c);
        config = &own;
    }
    return cuda_fill(c->cuda, g->workspace, 0, g->zeroed_bytes, c->stream, c->why) &&
           cuda_start(c->cuda, g->module, config, c->stream, c->why);
}

/* --- with arrays of the host --- */

static bool is_staged(const struct launch_param *p)
{
    return p->kind == LOWERED_POINTER && !p->on_device;
}

static bool stage(struct gpu_call *c)
{
    struct launch_params *params = &c->gpu->params;
    for (int i = 0; i < params->held; i++) {
        struct launch_param *p = &params->list[i];
        if (!is_staged(p))
            continue;
        if (!cuda_allocate(c->cuda, (size_t)p->bytes, &c->staged[i], c->why))
            return false;
        p->value = c->staged[i];
        if (!cuda_copy_in(c->cuda, p->value, p->data, (size_t)p->bytes, c->stream, c->why))
            return false;
    }
    return true;
}

static bool copy_back(struct gpu_call *c)
{
    for (int i = 0; i < c->gpu->params.held; i++) {
        const struct launch_param *p = &c->gpu->params.list[i];
        if (is_staged(p) && p->written &&
            !cuda_copy_out(c->cuda, p->data, p->value, (size_t)p->bytes, c->stream, c->why))
            return false;
    }
    return true;
}

static void free_staged(struct gpu_call *c)
{
    char why[CUDA_WHY]; /* the first error was reported */
    for (int i = 0; i < c->gpu->params.held; i++)
        if (c->staged[i])
            cuda_free(c->cuda, c->staged[i], why);
}

/* Starts `runs` launches one after the other, after a warm-up if there are several. */
static bool start_all(struct gpu_call *c)
{
    tw_context *ctx = c->launch->ctx;
    if (c->runs > 1 && !start(c))
        return false;
    if (!context_mark(ctx, 0, c->why))
        return false;
    for (int i = 0; i < c->runs; i++)
        if (!start(c))
            return false;
    return context_mark(ctx, 1, c->why) && context_marked(ctx, &c->milliseconds, c->why);
}

/* --- `clean` workspace --- */

/* Checks `clean` workspace after the launches, which the caller waited for. If a kernel left it
 * dirty, sets it to 0 again, because all launches of the stream use the same memory. */
static tw_status check_clean(struct gpu_call *c)
{
    const struct gpu_launch *g = c->gpu;
    bool dirty = false;
    if (!g->clean_bytes)
        return TW_OK;
    char *copy = arena_room(&c->launch->ctx->scratch, g->clean_bytes);
    if (!cuda_copy_out(c->cuda, copy, g->clean, g->clean_bytes, NULL, c->why))
        return say(c, TW_FAULT);
    for (int i = 0; i < g->params.held && !dirty; i++)
        dirty = launch_left_dirty(c->launch, &g->params.list[i], copy + g->offset[i]);
    if (!dirty)
        return TW_OK;
    if (!cuda_fill(c->cuda, g->clean, 0, g->clean_bytes, NULL, c->why))
        return say(c, TW_FAULT);
    return TW_FAULT;
}

/* Remembers that the launch was started and its `clean` workspace was not checked. */
static void leave_unchecked(struct gpu_call *c)
{
    tw_launch *l = c->launch;
    l->unchecked = c->gpu->clean_bytes ? c->gpu : NULL;
    l->unchecked_start = c->gpu->clean_bytes ? ++l->ctx->clean_starts : 0;
}

tw_status launch_check_clean(tw_launch *l)
{
    struct gpu_call c = {.launch = l, .gpu = l->unchecked};
    l->unchecked = NULL;
    if (!c.gpu || l->unchecked_start != l->ctx->clean_starts)
        return TW_OK;
    tw_status status = context_gpu(l->ctx, &c.cuda);
    if (status != TW_OK || !cuda_keeps_clean(c.cuda, c.gpu->clean))
        return status;
    return check_clean(&c);
}

tw_status gpu_run(struct run_call *call, struct cpu_argument *given)
{
    (void)given;
    tw_launch *l = call->launch;
    struct gpu_call c = {.launch = l, .runs = call->runs};
    tw_status status = make_ready(&c);
    if (status != TW_OK)
        return status;
    c.staged = arena_array(&l->ctx->scratch, uint64_t, c.gpu->params.held + 1);
    tw_status encoded = TW_OK;
    bool done = stage(&c) && (encoded = encode_maps(&c)) == TW_OK && start_all(&c) && copy_back(&c);
    status = done ? TW_OK : gpu_status(c.cuda, TW_FAULT);
    free_staged(&c); /* first: a message may need the memory */
    call->milliseconds = done ? c.milliseconds / call->runs : 0;
    if (encoded != TW_OK) /* reported */
        return encoded;
    return done ? check_clean(&c) : refuse(&c, status);
}

tw_status launch_load(tw_launch *l)
{
    struct gpu_call c = {.launch = l};
    return prepare(&c);
}

tw_status launch_enqueue(tw_launch *l, void *stream, bool now)
{
    struct gpu_call c = {.launch = l, .stream = stream};
    tw_status status = make_ready(&c);
    if (status == TW_OK && now)
        status = encode_maps(&c);
    if (status == TW_OK && now && !start(&c))
        status = say(&c, TW_FAULT);
    return status;
}

tw_status launch_fetch(tw_launch *l, struct cpu_argument *given)
{
    struct gpu_call c = {.launch = l};
    for (int p = 0; p < l->kernel->info->param_count; p++) {
        if (!given[p].data || l->arrays[p].place != TW_ON_DEVICE)
            continue;
        tw_status status = context_gpu(l->ctx, &c.cuda);
        if (status != TW_OK)
            return status;
        void *copy = arena_room(&l->ctx->scratch, given[p].bytes);
        if (!cuda_copy_out(c.cuda, copy, (uintptr_t)given[p].data, given[p].bytes, NULL, c.why))
            return say(&c, TW_FAULT);
        given[p].data = copy;
    }
    return TW_OK;
}

/* --- in a stream --- */

static tw_status on_device(struct gpu_call *c)
{
    for (int i = 0; i < c->gpu->params.held; i++) {
        const struct launch_param *p = &c->gpu->params.list[i];
        if (!is_staged(p))
            continue;
        diag_error(&c->launch->ctx->diag, LOC_NONE,
                   "`%s` is on the host: a launch is started in a stream with arrays on the device "
                   "(tw_device_allocate); tw_launch_run takes it",
                   p->sym->name);
        return TW_BAD_ARGUMENT;
    }
    return TW_OK;
}

static tw_status ready_call(void *user)
{
    struct gpu_call *c = user;
    tw_status status = make_ready(c);
    if (status == TW_OK)
        status = on_device(c);
    return status == TW_OK ? encode_maps(c) : status;
}

tw_status launch_not_captured(tw_launch *l, void *stream, const char *refusal)
{
    struct gpu_call c = {.launch = l};
    bool capturing = false;
    tw_status status = context_gpu(l->ctx, &c.cuda);
    if (status != TW_OK)
        return status;
    if (!cuda_stream_capturing(c.cuda, stream, &capturing, c.why))
        return say(&c, TW_FAULT);
    if (!capturing)
        return TW_OK;
    snprintf(c.why, sizeof c.why, "%s", refusal);
    return refuse(&c, TW_BAD_ARGUMENT);
}

/* Refuses clusters of another size than those that the kernel was compiled for. */
static tw_status check_cluster(struct gpu_call *c)
{
    const tw_launch_attributes *a = c->attributes;
    int own = c->gpu->config.cluster[0];
    bool none = !a || (a->cluster[0] <= 1 && a->cluster[1] <= 1 && a->cluster[2] <= 1);
    if (!own || none || (a->cluster[0] == own && a->cluster[1] <= 1 && a->cluster[2] <= 1))
        return TW_OK;
    snprintf(
        c->why, sizeof c->why,
        "it is to run in clusters of %d x %d x %d blocks, and was compiled for %d x 1 x 1: leave "
        "`cluster` 0",
        a->cluster[0], a->cluster[1], a->cluster[2], own);
    return refuse(c, TW_BAD_ARGUMENT);
}

static tw_status start_call(void *user)
{
    struct gpu_call *c = user;
    tw_status status = TW_OK;
    if (!is_ready(c->launch))
        status = launch_not_captured(c->launch, c->stream,
                                     "it is not ready, and cannot be made so while the stream is "
                                     "captured: call tw_launch_ready before the capture");
    if (status == TW_OK)
        status = ready_call(c);
    if (status == TW_OK)
        status = check_cluster(c);
    if (status == TW_OK && !start(c))
        status = refuse(c, gpu_run_status(c->cuda));
    if (status == TW_OK)
        leave_unchecked(c);
    return status;
}

static tw_status assemble_call(void *user)
{
    struct gpu_call *c = user;
    tw_status status = compile(c);
    if (status == TW_OK)
        status = context_gpu(c->launch->ctx, &c->cuda);
    if (status != TW_OK || c->launch->variant->module)
        return status;
    struct cuda_text ptx = print(c);
    const char *name = c->launch->variant->lowered->function->name;
    return cuda_assemble(c->cuda, &ptx, name, c->why) ? TW_OK : say(c, TW_UNSUPPORTED);
}

/* Loads the launch and finds its occupancy. */
static tw_status find_occupancy(struct gpu_call *c)
{
    struct cuda_occupancy o;
    tw_status status = prepare(c);
    if (status != TW_OK)
        return status;
    const struct lowered *lowered = c->launch->variant->lowered;
    int threads = lowered->block[0] * lowered->block[1] * lowered->block[2];
    if (!cuda_occupancy(c->cuda, c->launch->variant->module, threads, lowered->shared_bytes, &o,
                        c->why))
        return say(c, TW_FAULT);
    c->occupancy = (tw_occupancy){.threads = threads,
                                  .registers = o.registers,
                                  .local_bytes = o.local_bytes,
                                  .shared_bytes = o.shared_bytes + lowered->shared_bytes,
                                  .blocks = o.blocks};
    return TW_OK;
}

static tw_status occupancy_call(void *user)
{
    return find_occupancy(user);
}

tw_status launch_occupancy(tw_launch *l, tw_occupancy *out, int64_t *workspace_bytes)
{
    struct gpu_call c = {.launch = l};
    tw_status status = find_occupancy(&c);
    *out = c.occupancy;
    *workspace_bytes = l->gpu ? (int64_t)(l->gpu->workspace_bytes + l->gpu->clean_bytes) : 0;
    return status;
}

static tw_status call_on_gpu(struct gpu_call *c, tw_status (*body)(void *))
{
    if (!c->launch)
        return TW_BAD_ARGUMENT;
    if (!c->launch->kernel->executor->streams)
        return context_refuse(c->launch->ctx, "the launch's kernel is for the host: ask "
                                              "tw_kernel_for_target for \"cuda\"");
    return context_call(c->launch->ctx, body, c);
}

tw_status tw_launch_assemble(tw_launch *l)
{
    struct gpu_call c = {.launch = l};
    return call_on_gpu(&c, assemble_call);
}

tw_status tw_launch_ready(tw_launch *l, void *stream)
{
    struct gpu_call c = {.launch = l, .stream = stream};
    return call_on_gpu(&c, ready_call);
}

tw_status tw_launch_start(tw_launch *l, void *stream)
{
    struct gpu_call c = {.launch = l, .stream = stream};
    return call_on_gpu(&c, start_call);
}

tw_status tw_launch_start_with(tw_launch *l, void *stream, const tw_launch_attributes *attributes)
{
    tw_launch_attributes own = tw_launch_attributes_init();
    struct gpu_call c = {.launch = l, .stream = stream, .attributes = attributes ? &own : NULL};
    tw_status status =
        l && attributes ? READ_SIZED(l->ctx, tw_launch_attributes, &own, attributes) : TW_OK;
    if (status != TW_OK)
        return status;
    for (int i = 0; l && i < 3; i++)
        if (own.cluster[i] < 0 || own.cluster[i] > GPU_CLUSTER_MOST)
            return context_refuse(l->ctx, "tw_launch_start_with: a cluster has 1 to 16 blocks");
    return call_on_gpu(&c, start_call);
}

tw_status tw_launch_occupancy(tw_launch *l, tw_occupancy *out)
{
    struct gpu_call c = {.launch = l};
    if (l && !SIZED_FITS(l->ctx, tw_occupancy, out))
        return TW_BAD_ARGUMENT;
    tw_status status = call_on_gpu(&c, occupancy_call);
    if (l)
        FILL_SIZED(out, c.occupancy);
    return status;
}

/* Returns true if a run may overwrite array q, which the kernel itself only reads. */
static bool may_be_lost(const tw_launch *l, int q)
{
    const struct lang_kernel *info = l->kernel->info;
    bool lost = false;
    for (int p = 0; p < info->param_count && p < OVERLAY_PARAMS && info->params[q].is_const; p++)
        lost |= !info->params[p].is_const && overlaps_is_in(l->variant->overlay.used, p) &&
                overlaps_of_arrays(l, p, q);
    return lost;
}

tw_status launch_keep_inputs(tw_launch *l, const struct cpu_argument *args)
{
    int count = l->kernel->info->param_count;
    bool any = false;
    l->kept = NULL;
    arena_free(&l->kept_memory);
    for (int q = 0; q < count && l->keeps_inputs; q++)
        any |= may_be_lost(l, q);
    if (!any)
        return TW_OK;
    struct cpu_argument *here = arena_copy(&l->ctx->scratch, args, (size_t)count * sizeof *args);
    tw_status status = launch_fetch(l, here);
    if (status != TW_OK)
        return status;
    void **kept = arena_array(&l->kept_memory, void *, count);
    for (int q = 0; q < count; q++)
        if (may_be_lost(l, q))
            kept[q] = arena_copy(&l->kept_memory, here[q].data, here[q].bytes);
    l->kept = kept;
    return TW_OK;
}
