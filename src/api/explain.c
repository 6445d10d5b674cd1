/* Explains the speed of a kernel: the public calls, and the facts about a launch that need no
 * counts: can it be launched, occupancy, waves. */
#include "api/explain.h"
#include "emit/emit.h"

#include <string.h>

/* --- GPUs --- */

static tw_range of_rate(const struct gpu *g, const int bytes[3])
{
    double clock = g->clock * 1e6;
    return (tw_range){bytes[0] * clock, bytes[1] * clock, bytes[2] * clock};
}

void explain_gpu(const struct gpu *g, tw_gpu *out)
{
    const struct gpu_capability *c = target_gpu_capability_of(g);
    const struct target *has = target_of_gpu(g);
    double plain = g->multiprocessors * g->clock * 1e6,
           tensor = g->multiprocessors * g->tensor_clock * 1e6;
    *out = (tw_gpu){.size = sizeof *out,
                    .name = g->name,
                    .aliases = g->aliases,
                    .target = has->name,
                    .memory = g->memory,
                    .source = g->source,
                    .capability = g->capability,
                    .multiprocessors = g->multiprocessors,
                    .clock = g->clock * 1e6,
                    .tensor_clock = g->sustained * 1e6,
                    .f64 = g->f64 * plain,
                    .f32 = g->f32 * plain,
                    .tensor_f64 = g->tensor_f64 * plain,
                    .tensor_tf32 = g->tf32 * tensor,
                    .tensor_f16 = g->f16 * tensor,
                    .tensor_i8 = g->i8 * tensor,
                    .tensor_fp8 = g->fp8 * tensor,
                    .memory_bytes = g->memory_gb * 1e9,
                    .memory_bandwidth = g->bandwidth * 1e9,
                    .l2_bytes = g->l2_mb * 1048576.0,
                    .l2_bandwidth = of_rate(g, g->l2),
                    .shared_bandwidth = GPU_SHARED_CYCLE_BYTES * plain,
                    .l1_bytes = has->l1_of_sm,
                    .shared_latency = c->shared,
                    .l1_latency = c->l1_hit,
                    .l2_latency = c->l2_hit,
                    .memory_latency = c->memory,
                    .shared_of_multiprocessor = has->shared_of_sm,
                    .shared_of_block = has->shared_bytes,
                    .system_shared_bytes = GPU_SYSTEM_SHARED,
                    .registers = has->registers,
                    .registers_of_thread = has->register_limit,
                    .threads = has->threads_of_sm,
                    .warps = has->threads_of_sm / WARP_LANES,
                    .blocks = has->blocks_of_sm,
                    .threads_of_block = MAX_THREADS};
}

static bool fill_gpu(const struct gpu *g, tw_gpu *out)
{
    tw_gpu made;
    if (!g || !out || !SIZED_FITS(NULL, tw_gpu, out))
        return false;
    explain_gpu(g, &made);
    FILL_SIZED(out, made);
    return true;
}

bool tw_gpu_at(int index, tw_gpu *out)
{
    return fill_gpu(target_gpu_at(index), out);
}

bool tw_gpu_find(const char *name, tw_gpu *out)
{
    return fill_gpu(name ? target_gpu_find(name) : NULL, out);
}

static const struct gpu *first_of(const struct target *t)
{
    for (int i = 0; target_gpu_at(i); i++)
        if (target_gpu_at(i)->capability == t->ptx.number)
            return target_gpu_at(i);
    return NULL;
}

/* Chooses a GPU that runs the kernel's target: one of its own capability, or a later one unless
 * the target is for one architecture alone. */
static tw_status choose_gpu(struct explain *e)
{
    const struct target *t = e->target;
    struct diag *d = &e->ctx->diag;
    const char *name = e->options->gpu;
    e->gpu = name ? target_gpu_find(name) : first_of(t);
    if (!e->gpu) {
        diag_error(d, LOC_NONE, "the model knows no GPU %s%s%s", name ? "`" : "of ",
                   name ? name : t->name, name ? "`" : "");
        struct text names;
        text_init(&names, &e->ctx->scratch);
        for (int i = 0; target_gpu_at(i); i++)
            text_printf(&names, "%s%s", i ? ", " : "", target_gpu_at(i)->name);
        diag_note(d, LOC_NONE, "it knows: %s", names.data);
        return TW_NOT_FOUND;
    }
    if (target_runs_on(t, e->gpu->capability))
        return TW_OK;
    diag_error(d, LOC_NONE, "a kernel compiled for %s does not run on %s, which is %s", t->name,
               e->gpu->name, target_of_gpu(e->gpu)->name);
    return TW_BAD_ARGUMENT;
}

/* --- what prevents a launch --- */

enum limit { LIMIT_THREADS, LIMIT_SHARED, LIMIT_REGISTERS };

static void cannot(struct explain *e, enum limit of_what, int64_t wanted, int64_t limit)
{
    static const char *const names[] = {"threads a block", "bytes of shared memory a block",
                                        "registers a block"};
    e->out.why_not = arena_printf(e->results, "cannot launch: %lld %s, the limit is %lld",
                                  (long long)wanted, names[of_what], (long long)limit);
    e->out.advice = of_what == LIMIT_THREADS
                        ? "Take a smaller block, or let each thread compute several results."
                        : "Take smaller tiles, fewer stages, or fewer threads.";
}

static void find_grid(struct explain *e, const struct kernel *ir)
{
    tw_explanation *o = &e->out;
    o->blocks = launch_grid_of(e->launch, ir, o->grid);
    for (int i = 0; i < 3; i++)
        o->blocks *= o->grid[i];
}

static int clamped(int64_t n)
{
    return n < INT32_MAX ? (int)n : INT32_MAX;
}

static void find_many_threads(struct explain *e)
{
    const tw_launch *l = e->launch;
    const struct choice *c = &l->choice;
    struct lang_choice choice = {l->kernel->target, c->tunes, c->types, c->values, c->known, false};
    int64_t threads[3], total = 1;
    if (!lang_block_threads(&l->ctx->scratch, l->kernel->module->parsed, l->kernel->index, &choice,
                            threads))
        return;
    for (int i = 0; i < 3; i++) {
        e->out.block[i] = (int)threads[i];
        if (__builtin_mul_overflow(total, threads[i], &total))
            total = INT64_MAX;
    }
    e->out.threads = clamped(total);
    if (total > MAX_THREADS)
        cannot(e, LIMIT_THREADS, total, MAX_THREADS);
}

static void find_many_bytes(struct explain *e, struct kernel *ir)
{
    const tw_kernel *k = e->launch->kernel;
    struct arena *a = &e->ctx->scratch;
    struct lowered_options options = {.target = k->device};
    struct lowered lowered = {0};
    struct diag quiet;
    diag_init(&quiet, a);
    if (emit_kernel(a, ir, &options, &quiet, &lowered) || lowered.excess != LOWERED_MANY_BYTES)
        return;
    int64_t bytes = lowered.shared_bytes ? lowered.shared_bytes : ir->shared_bytes;
    e->out.shared_bytes = bytes;
    e->out.threads = kernel_block_threads(ir);
    for (int i = 0; i < 3; i++)
        e->out.block[i] = ir->warps ? i ? 1 : e->out.threads : ir->threads[i];
    find_grid(e, ir);
    cannot(e, LIMIT_SHARED, bytes, k->device->shared_bytes);
}

/* For a launch that does not compile: finds the resource that the GPU has too little of, if any. */
static void find_too_much(struct explain *e)
{
    tw_launch *l = e->launch;
    const struct choice *c = &l->choice;
    struct arena *a = &l->ctx->scratch;
    struct diag quiet;
    find_many_threads(e);
    l->choice.any_threads = e->out.why_not != NULL;
    diag_init(&quiet, a);
    struct kernel *ir = choice_check(a, &quiet, l->kernel, c, c->known);
    if (!ir || choice_passes(l->kernel, ir, c, c->known, NULL) != TW_OK)
        return;
    if (!e->out.why_not) {
        find_many_bytes(e, ir);
        return;
    }
    e->out.shared_bytes = ir->shared_bytes;
    find_grid(e, ir);
}

static bool fits_gpu(struct explain *e)
{
    const struct target *has = target_of_gpu(e->gpu);
    const tw_explanation *o = &e->out;
    if (o->shared_bytes > has->shared_bytes)
        cannot(e, LIMIT_SHARED, o->shared_bytes, has->shared_bytes);
    else if ((int64_t)o->registers * o->threads > has->registers)
        cannot(e, LIMIT_REGISTERS, (int64_t)o->registers * o->threads, has->registers);
    return !o->why_not;
}

/* --- occupancy and waves --- */

static const char *const limiters[] = {"registers", "shared memory", "threads", "blocks"};

static const struct ptx_limit *limit_of(const struct ptx_function *f, enum ptx_directive directive)
{
    for (size_t i = 0; i < f->limits.count; i++)
        if (f->limits.data[i].directive == directive)
            return &f->limits.data[i];
    return NULL;
}

/* Returns the most registers of a thread with which a multiprocessor holds `blocks` blocks of
 * `threads` threads. */
static int registers_for(const struct explain *e, int threads, int64_t blocks)
{
    enum { GRAIN = GPU_REGISTER_UNIT };
    const struct target *t = target_of_gpu(e->gpu);
    struct occupancy_limits has = model_occupancy_limits_of(t, 0);
    struct block_needs needs = {.threads = threads, .registers = t->register_limit};
    struct occupancy found;
    for (; needs.registers > 2 * GRAIN; needs.registers = (needs.registers - 1) / GRAIN * GRAIN) {
        model_occupancy_find(&has, &needs, &found);
        if (found.by[BY_REGISTERS] >= blocks)
            break;
    }
    return needs.registers;
}

/* Finds the registers of a thread: as given, else the estimate, which an assembler lowers to what
 * the kernel's limits allow. It ignores .minnctapersm without the size of a block (PTX ISA,
 * "Performance-Tuning Directives"). */
static void find_registers(struct explain *e, const struct ptx_function *f, int estimate)
{
    tw_explanation *o = &e->out;
    const struct ptx_limit *size = limit_of(f, PTX_REQNTID), *least = limit_of(f, PTX_MINNCTAPERSM),
                           *each = limit_of(f, PTX_MAXNREG);
    size = size ? size : limit_of(f, PTX_MAXNTID);
    e->registers_wanted = estimate;
    e->most_registers = target_of_gpu(e->gpu)->register_limit;
    int most = e->most_registers;
    if (size) {
        int threads = 1;
        for (uint32_t i = 0; i < size->count; i++)
            threads *= (int)size->values[i];
        most = registers_for(e, threads, least ? least->values[0] : 1);
    }
    if (each && (int)each->values[0] < most)
        most = (int)each->values[0];
    e->most_registers = most < e->most_registers ? most : e->most_registers;
    o->registers_known = e->options->registers > 0;
    o->registers = o->registers_known ? e->options->registers : estimate;
    most = o->registers_known ? target_of_gpu(e->gpu)->register_limit : e->most_registers;
    o->registers = o->registers > most ? most : o->registers;
}

static void find_block(struct explain *e)
{
    const struct variant *v = e->launch->variant;
    tw_explanation *o = &e->out;
    find_grid(e, v->ir);
    o->threads = 1;
    for (int i = 0; i < 3; i++) {
        o->block[i] = v->lowered->block[i];
        o->threads *= o->block[i];
    }
    o->shared_bytes = v->lowered->shared_bytes;
    find_registers(e, v->lowered->function, v->lowered->registers);
}

/* Lowers the registers, as an assembler does, if a few fewer let one more block fit, and few instructions need more. The
 * limits are those with which this is right most often for the kernels that ship and ptxas 13.0. */
static void spare_registers(struct explain *e, const struct occupancy_limits *has,
                            struct block_needs *needs, struct occupancy *found)
{
    enum { REGISTERS_IN_A_HUNDRED = 6 };
    const double most_above = 0.07;
    const struct ptx_function *f =
        e->launch ? e->launch->variant->lowered->function : e->ptx_kernel;
    int least = needs->registers - needs->registers * REGISTERS_IN_A_HUNDRED / 100;
    struct block_needs fewer = *needs;
    struct occupancy more;
    for (fewer.registers--; fewer.registers >= least; fewer.registers--) {
        model_occupancy_find(has, &fewer, &more);
        if (more.blocks <= found->blocks)
            continue;
        if (ptx_share_above(&e->ctx->scratch, f, fewer.registers) > most_above)
            return;
        *found = more;
        *needs = fewer;
        e->out.registers = fewer.registers;
        return;
    }
}

static void find_occupancy(struct explain *e)
{
    tw_explanation *o = &e->out;
    const struct target *t = target_of_gpu(e->gpu);
    struct occupancy_limits has = model_occupancy_limits_of(t, e->gpu->multiprocessors);
    struct block_needs needs = {o->shared_bytes, o->registers, o->threads, o->blocks};
    struct occupancy found;
    model_occupancy_find(&has, &needs, &found);
    if (!o->registers_known)
        spare_registers(e, &has, &needs, &found);
    o->resident_blocks = found.blocks;
    o->resident_warps = found.blocks * ((o->threads + WARP_LANES - 1) / WARP_LANES);
    o->occupancy = o->resident_warps * (double)WARP_LANES / t->threads_of_sm;
    o->limiter = limiters[found.limiter];
    o->blocks_by_registers = clamped(found.by[BY_REGISTERS]);
    o->blocks_by_shared = clamped(found.by[BY_SHARED]);
    o->blocks_by_threads = clamped(found.by[BY_THREADS]);
    o->blocks_by_limit = clamped(found.by[BY_BLOCKS]);
    int64_t places = (int64_t)found.blocks * e->gpu->multiprocessors;
    if (places == 0)
        return;
    o->waves = (double)o->blocks / (double)places;
    o->wave_efficiency = o->blocks ? o->waves / (double)((o->blocks + places - 1) / places) : 1;
}

/* --- the public call --- */

/* Counts the work of the blocks; for a launch that cannot run, the part that does not depend on
 * the GPU. */
static tw_status find_work(struct explain *e)
{
    struct explain_counts *counts = arena_new(&e->ctx->scratch, struct explain_counts);
    tw_status status = e->out.blocks ? explain_count(e, counts) : TW_OK;
    if (status != TW_OK)
        return status;
    explain_accesses(e, &counts->accesses);
    explain_persistent(e, counts);
    explain_time(e, counts);
    if (e->out.launches)
        explain_advice(e, counts);
    return TW_OK;
}

/* Explains a launch that does not compile. */
static tw_status explain_refused(struct explain *e)
{
    enum { MOST_COUNTED = 16 * MAX_THREADS };
    tw_launch *l = e->launch;
    find_too_much(e);
    if (!e->out.why_not)
        return TW_BAD_PROGRAM;
    diag_init(&l->ctx->diag, &l->ctx->message_memory); /* why_not says it */
    if (!l->choice.any_threads || e->out.threads > MOST_COUNTED)
        return TW_OK;
    tw_status status = launch_prepare(l);
    if (status == TW_BAD_PROGRAM) { /* too little shared memory gives this too */
        diag_init(&l->ctx->diag, &l->ctx->message_memory);
        return TW_OK;
    }
    if (status != TW_OK)
        return status;
    find_block(e);
    return find_work(e);
}

static tw_status explain_call(void *user)
{
    struct explain *e = user;
    tw_launch *l = e->launch;
    arena_free(e->results);
    tw_status status = choose_gpu(e);
    if (status != TW_OK)
        return status;
    explain_gpu(e->gpu, &e->out.gpu);
    e->out.kernel = l->kernel->info->name;
    status = launch_prepare(l);
    if (status == TW_BAD_PROGRAM)
        return explain_refused(e);
    if (status != TW_OK)
        return status;
    find_block(e);
    e->out.launches = fits_gpu(e);
    if (e->out.launches)
        find_occupancy(e);
    return find_work(e);
}

/* --- of PTX --- */

static bool is_static_shared(const struct ptx_variable *v)
{
    return (v->space == MOD_SHARED || v->space == MOD_SHARED_CTA) && v->linkage != PTX_EXTERN;
}

/* Returns the bytes of shared memory that the kernel and its callees declare. */
static int64_t static_shared(const struct explain *e)
{
    struct ptx_reach r = {.arena = &e->ctx->scratch, .module = e->ptx->module};
    uint64_t at = 0;
    ptx_reach(&r, e->ptx_kernel);
    for (size_t i = 0; i < r.variables.count; i++) {
        const struct ptx_variable *v = r.variables.data[i];
        uint64_t to = ptx_variable_alignment(v);
        if (is_static_shared(v))
            at = (at + to - 1) / to * to + ptx_variable_size(v);
    }
    return (int64_t)at;
}

static void find_ptx_block(struct explain *e)
{
    const tw_ptx_launch *l = e->ptx_launch;
    tw_explanation *o = &e->out;
    o->threads = 1;
    o->blocks = 1;
    for (int i = 0; i < 3; i++) {
        o->grid[i] = l->grid[i] ? l->grid[i] : 1;
        o->block[i] = l->block[i] ? l->block[i] : 1;
        o->threads *= o->block[i];
        o->blocks *= o->grid[i];
    }
    o->shared_bytes = l->shared_bytes + static_shared(e);
    find_registers(e, e->ptx_kernel, ptx_estimate_registers(&e->ctx->scratch, e->ptx_kernel));
}

static tw_status explain_ptx_call(void *user)
{
    struct explain *e = user;
    tw_status status;
    arena_free(e->results);
    e->ptx_kernel = launch_ptx_kernel(e->ptx, e->ptx_launch, &status);
    if (!e->ptx_kernel)
        return status;
    e->target = target_find(e->ptx->module->target);
    if (!e->target) {
        diag_error(&e->ctx->diag, LOC_NONE, "%s is for %s, of which the model knows no GPU",
                   e->ptx->source.name, e->ptx->target);
        return TW_UNSUPPORTED;
    }
    status = choose_gpu(e);
    if (status != TW_OK)
        return status;
    explain_gpu(e->gpu, &e->out.gpu);
    e->out.kernel = e->ptx_kernel->name;
    find_ptx_block(e);
    if (e->out.threads > MAX_THREADS)
        cannot(e, LIMIT_THREADS, e->out.threads, MAX_THREADS);
    e->out.launches = !e->out.why_not && fits_gpu(e);
    if (!e->out.launches)
        return TW_OK;
    find_occupancy(e);
    return find_work(e);
}

static const tw_sim_options counters_alone = {.size = sizeof counters_alone,
                                              .watch = TW_WATCH_COUNTERS};

/* Reads the options, and clears `out`. */
static tw_status read_explained(tw_context *ctx, const tw_explain_options *options,
                                tw_explain_options *own, tw_explanation *out)
{
    if (!SIZED_FITS(ctx, tw_explanation, out))
        return TW_BAD_ARGUMENT;
    FILL_SIZED(out, ((tw_explanation){0}));
    return options ? READ_SIZED(ctx, tw_explain_options, own, options) : TW_OK;
}

tw_status tw_ptx_explain(tw_ptx *p, const tw_ptx_launch *launch, const tw_explain_options *options,
                         tw_explanation *out)
{
    tw_explain_options own = tw_explain_options_init();
    REFUSE_IF(p, p->ctx, !out || !launch, "tw_ptx_explain: `out` or `launch` is NULL");
    tw_ptx_launch given;
    tw_status status = read_explained(p->ctx, options, &own, out);
    if (status == TW_OK)
        status = launch_ptx_read(p, launch, &given);
    if (status != TW_OK)
        return status;
    struct explain e = {
        .ctx = p->ctx, .ptx = p, .ptx_launch = &given, .options = &own, .results = &p->explained};
    simulation_open(&e.simulation, p->ctx, &counters_alone, NULL);
    e.simulation.reserves = true;
    status = context_call(p->ctx, explain_ptx_call, &e);
    simulation_close(&e.simulation);
    if (status == TW_OK)
        FILL_SIZED(out, e.out);
    return status;
}

tw_status tw_launch_explain(tw_launch *l, const tw_explain_options *options, tw_explanation *out)
{
    tw_explain_options own = tw_explain_options_init();
    REFUSE_IF(l, l->ctx, !out, "tw_launch_explain: `out` is NULL");
    tw_status status = read_explained(l->ctx, options, &own, out);
    if (status == TW_OK)
        status = launch_needs_ptx(l, "tw_launch_explain", "no roofs here");
    if (status != TW_OK)
        return status;
    struct explain e = {.ctx = l->ctx,
                        .launch = l,
                        .target = l->kernel->device,
                        .options = &own,
                        .results = &l->explained};
    simulation_open(&e.simulation, l->ctx, &counters_alone, NULL);
    e.simulation.reserves = true;
    status = context_call(l->ctx, explain_call, &e);
    simulation_close(&e.simulation);
    l->prepared = l->prepared && !l->choice.any_threads;
    l->choice.any_threads = false;
    if (status == TW_OK)
        FILL_SIZED(out, e.out);
    return status;
}
