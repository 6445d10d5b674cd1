/* What a launch does, counted: some of its blocks run on the simulator, and stand for the others.
 *
 * Along each axis of the grid the first block stands for all but the last, which may be ragged. Of
 * the third axis, if it is short, all run, one behind another: there blocks may wait for those
 * before them. Where that does not do, as blocks wait for others that are not there, some that
 * stand side by side run together, as far as they come.
 */
#include "api/explain.h"
#include "api/launch_params.h"

#include "base/platform.h"

#include <string.h>

enum { FEW_ALONG_Z = 16, TOGETHER = 16, MOST_STEPS = 400000000 };

struct counting {
    struct explain *e;
    struct explain_counts *out;
    struct simulation *simulation;
    struct streams streams;
    struct sim_launch launch;
    uint64_t ticket;            /* where blocks draw their index; 0: they have their own */
    struct sim_counted *before; /* as they were in front of the block at hand */
    size_t before_count;
    VEC(tw_explained_line) lines;
};

/* --- memory --- */

static tw_status no_memory(struct counting *c, const char *name, size_t bytes)
{
    struct diag *d = &c->e->launch->ctx->diag;
    if (bytes < SIM_MOST_BYTES) {
        diag_error(d, LOC_NONE, "no memory for `%s`", name);
        return TW_NO_MEMORY;
    }
    diag_error(d, LOC_NONE, "`%s` would have %zu bytes, and the simulator takes less than %zu GiB",
               name, bytes, (size_t)SIM_MOST_BYTES >> 30);
    diag_note(d, LOC_NONE, "smaller sizes show the same bounds, once they fill the GPU");
    return TW_UNSUPPORTED;
}

/* Zeros of the system's, not of the caller's allocator: they may be more than the machine has, as
 * only what the chosen blocks touch takes memory. 0: there is no room. */
static uint64_t reserve(struct counting *c, size_t bytes, const char *name)
{
    enum { HEAD = 4096, BEHIND = 32 }; /* a wide read of the last element stays inside */
    size_t all = HEAD + bytes + BEHIND;
    struct explain_zeros *z = bytes < SIM_MOST_BYTES ? platform_reserve(all) : NULL;
    if (!z)
        return 0;
    *z = (struct explain_zeros){c->e->zeros, all};
    c->e->zeros = z;
    return sim_attach(c->simulation->sim, (char *)z + HEAD, bytes, name);
}

/* What is given is read where it lies, or copied if it is written; what is not is zeros. */
static tw_status place(struct counting *c, struct launch_param *p)
{
    struct sim *sim = c->simulation->sim;
    const tw_launch *l = c->e->launch;
    const char *name = p->sym ? p->sym->name : "ticket";
    bool given = p->kind == LOWER_POINTER && p->data && !p->on_device;
    if (p->kind == LOWER_SCALAR)
        return TW_OK;
    if (p->kind == LOWER_POINTER && !given) {
        int64_t bytes = launch_array_bytes(l, p->sym->index);
        p->bytes = bytes > 0 ? (size_t)bytes : p->bytes;
    }
    p->value = !given        ? reserve(c, p->bytes, name)
               : !p->written ? sim_attach(sim, p->data, p->bytes, name)
                             : sim_allocate(sim, p->bytes, p->data, name);
    if (p->kind == LOWER_TICKET)
        c->ticket = p->value;
    return p->value ? TW_OK : no_memory(c, name, p->bytes);
}

static struct cpu_argument *given_arrays(const tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    struct cpu_argument *args =
        arena_array(&l->ctx->scratch, struct cpu_argument, info->param_count + 1);
    for (int p = 0; p < info->param_count; p++) {
        args[p].scalar = l->choice.values[p];
        if (!info->params[p].is_pointer || !l->array_set[p])
            continue;
        const tw_array *x = &l->arrays[p];
        args[p].data = x->data;
        args[p].bytes = tw_dtype_size(x->dtype);
        for (int i = 0; i < x->rank; i++)
            args[p].bytes *= (size_t)x->shape[i];
    }
    return args;
}

static tw_status set_up(struct counting *c)
{
    tw_launch *l = c->e->launch;
    struct launch_params params;
    char why[CUDA_WHY];
    if (!launch_params_find(l, &l->ctx->scratch, given_arrays(l), &params, why)) {
        diag_error(&l->ctx->diag, l->kernel->info->loc, "kernel `%s`: %s", l->kernel->info->name,
                   why);
        return TW_BAD_ARGUMENT;
    }
    tw_status status = variant_read_back(l->ctx, l->variant);
    if (status == TW_OK)
        status = simulation_load(c->simulation, l->variant->read_back, l->variant->ptx);
    const void **arguments = arena_array(&l->ctx->scratch, const void *, params.count + 1);
    for (int i = 0; i < params.count && status == TW_OK; i++) {
        arguments[i] = &params.list[i].value;
        status = place(c, &params.list[i]);
    }
    if (status != TW_OK)
        return status;
    sim_counters_merge(c->simulation->counters);
    streams_init(&c->streams, &c->simulation->arena);
    sim_observe(c->simulation->sim, &c->streams.observer);
    accesses_init(&c->out->accesses, &c->simulation->arena);
    sim_observe(c->simulation->sim, &c->out->accesses.observer);
    const struct lowered *lowered = l->variant->lowered;
    c->launch = (struct sim_launch){.kernel = lowered->function->name,
                                    .cluster = {1, 1, 1},
                                    .dynamic_shared = lowered->shared_bytes,
                                    .arguments = arguments,
                                    .argument_count = params.count};
    for (int i = 0; i < 3; i++) {
        c->launch.grid[i] = (unsigned)params.grid[i];
        c->launch.block[i] = (unsigned)lowered->block[i];
    }
    return TW_OK;
}

/* --- what was counted --- */

static void subtract(struct sim_counts *n, const struct sim_counts *before)
{
#define X(name, what) n->name -= before->name;
    SIM_COUNTERS(X)
#undef X
}

static tw_explained_line *line_of(struct counting *c, const struct sim_counted *counted)
{
    const char *file = NULL;
    uint32_t line = sim_counted_line(counted, c->simulation->module, &file);
    for (size_t i = 0; i < c->lines.count; i++)
        if (c->lines.data[i].line == (int)line && strcmp(c->lines.data[i].file, file) == 0)
            return &c->lines.data[i];
    tw_explained_line new = {.file = arena_string(c->e->results, file, strlen(file)),
                             .line = (int)line};
    vec_push(c->e->results, &c->lines, new);
    return &c->lines.data[c->lines.count - 1];
}

static void add_line(struct counting *c, const struct sim_counted *counted,
                     const struct sim_counts *n, const struct sim_counts *merged, double times)
{
    const struct sim_counts *as = counted->merge ? merged : n;
    tw_explained_line *out = line_of(c, counted);
    out->instructions += (double)n->warp_instructions * times;
    out->shared_accesses +=
        (double)(as->shared_loads + as->shared_stores + n->async_copies) * times;
    if (!ptx_has(counted->ins, MOD_CG)) {
        out->shared_wavefronts += (double)as->shared_wavefronts * times;
        out->shared_wavefronts_ideal += (double)as->shared_wavefronts_ideal * times;
    }
    out->requests += (double)n->global_requests * times;
    out->sectors += (double)n->global_sectors * times;
}

static void pace_statement(struct counting *c, const struct sim_counted *counted,
                           const struct sim_counts *n, const struct sim_counts *merged,
                           double of_one)
{
    const struct ptx_function *f = c->out->function;
    const struct sim_counts *as = counted->merge ? merged : n;
    bool past = ptx_has(counted->ins, MOD_CG);
    for (size_t i = 0; i < f->body.count; i++)
        if (f->body.data[i].kind == PTX_AT_INSTRUCTION &&
            f->body.data[i].instruction == counted->ins)
            c->out->paced[i] =
                (struct paced){.executions = (double)n->warp_instructions * of_one,
                               .wavefronts = past ? 0 : (double)as->shared_wavefronts * of_one};
}

/* What was added to the counters; of_one: the share of it that is one block's, 0: it is not the
 * first. */
static void take_counts(struct counting *c, double times, double of_one)
{
    size_t count;
    const struct sim_counted *all = sim_counters_all(c->simulation->counters, &count);
    for (size_t i = 0; i < count; i++) {
        struct sim_counts n = all[i].counts, merged = all[i].merged;
        if (i < c->before_count) {
            subtract(&n, &c->before[i].counts);
            subtract(&merged, &c->before[i].merged);
        }
        work_add(&c->out->launch, all[i].ins, &n, &merged, all[i].merge != NULL, times);
        add_line(c, &all[i], &n, &merged, times);
        if (of_one > 0)
            pace_statement(c, &all[i], &n, &merged, of_one);
    }
    c->before = arena_array(&c->simulation->arena, struct sim_counted, count + 1);
    memcpy(c->before, all, count * sizeof *all);
    c->before_count = count;
}

/* --- blocks --- */

static double room_of_block(const struct explain *e)
{
    const struct gpu_capability *g = gpu_capability_of(e->gpu);
    int resident = e->out.resident_blocks;
    double shared = (double)resident * (double)(e->out.shared_bytes + GPU_SYSTEM_BYTES);
    return (g->l1_kb * 1024 - shared) / resident;
}

/* Which set of pieces the block is of, and how it stands to the first of that set. */
static void take_l2(struct counting *c, const int64_t at[3], const struct l1_result *l1)
{
    struct l2_grid *g = &c->out->l2;
    int set = at[2] < g->sets ? (int)at[2] : g->sets - 1;
    int64_t from[3] = {at[0], at[1], at[2] - set};
    int axis = -1, axes = 0;
    for (int i = 0; i < 3; i++)
        if (from[i]) {
            axis = i;
            axes++;
        }
    for (int s = 0; s < TIME_SLICES && axes < 2; s++)
        for (int i = 0; i < MOST_ARRAYS; i++) {
            struct l2_piece *p = &g->pieces[set][s][i];
            const struct touched *t = &l1->touched[s][i];
            if (axes == 0)
                *p = (struct l2_piece){.base = t->base, .loaded = t->loaded, .stored = t->stored};
            else if (p->base && t->base)
                p->step[axis] = ((int64_t)t->base - (int64_t)p->base) / from[axis];
        }
}

/* What L1 is asked for, by instruction. */
static void take_instructions(struct counting *c, double times, bool first)
{
    const struct ptx_function *f = c->out->function;
    double blocks = (double)c->launch.options.chosen_count;
    for (size_t k = 0; k < c->streams.instructions.count; k++) {
        const struct stream_instruction *n = &c->streams.instructions.data[k];
        c->out->by_thread += n->bytes * times;
        c->out->wavefronts += n->wavefronts * times;
        struct sim_counted counted = {.ins = n->ins, .function = f};
        tw_explained_line *line = line_of(c, &counted);
        line->by_thread += n->bytes * times;
        line->sectors_ideal += n->sectors_ideal * times;
        for (size_t i = 0; first && i < f->body.count; i++)
            if (f->body.data[i].kind == PTX_AT_INSTRUCTION &&
                f->body.data[i].instruction == n->ins) {
                c->out->paced[i].lines = n->lines / blocks;
                c->out->paced[i].wavefronts += n->wavefronts / blocks;
            }
    }
}

static void take_streams(struct counting *c, const int64_t at[3], double times, bool first)
{
    struct explain_counts *o = c->out;
    o->shared_by_thread += c->streams.shared_bytes * times;
    take_instructions(c, times, first);
    for (const struct stream_block *b = c->streams.first; b; b = b->next) {
        struct l1_result l1;
        l1_replay(&c->simulation->arena, b, room_of_block(c->e), &l1);
        o->missed += l1.missed * times;
        o->past += l1.past * times;
        o->stores += l1.stores * times;
        o->updates += l1.updates * times;
        o->tags += l1.tags * times;
        o->load_sectors += l1.load_sectors * times;
        if (first)
            o->warps = b->warps;
        int64_t place[3] = {at[0] + b->number - c->streams.first->number, at[1], at[2]};
        take_l2(c, place, &l1);
    }
}

static tw_status failed(struct counting *c, enum sim_end end)
{
    diag_error(&c->e->launch->ctx->diag, LOC_NONE, "it cannot be simulated: %s",
               sim_why(c->simulation->sim));
    return end == SIM_UNKNOWN ? TW_UNSUPPORTED : end == SIM_ASKED ? TW_CANCELLED : TW_FAULT;
}

/* Runs blocks that begin at `at`, side by side, each of which stands for `times`. */
static enum sim_end run_blocks(struct counting *c, const int64_t at[3], int count, double times)
{
    const int64_t *extent = c->e->out.grid;
    tw_context *ctx = c->e->launch->ctx;
    int64_t number[TOGETHER];
    bool first = c->e->out.sampled_blocks == 0;
    for (int i = 0; i < count; i++)
        number[i] = at[0] + i + extent[0] * (at[1] + extent[1] * at[2]);
    c->launch.options = (struct sim_options){.chosen = number,
                                             .chosen_count = count,
                                             .resident_blocks = count,
                                             .step_limit = MOST_STEPS,
                                             .cancelled = ctx->config.cancelled,
                                             .cancelled_user = ctx->config.cancelled_user};
    streams_clear(&c->streams);
    accesses_take(&c->out->accesses, 0); /* nothing of a run that failed */
    if (c->ticket)
        *(uint32_t *)sim_host(c->simulation->sim, c->ticket, sizeof(uint32_t)) =
            (uint32_t)number[0];
    enum sim_end end = sim_run(c->simulation->sim, &c->launch, &ctx->diag);
    if (end != SIM_DONE && (end != SIM_DEADLOCK || count == 1))
        return end;
    c->e->out.sampled_blocks += count;
    c->e->out.sampled_instructions += sim_steps(c->simulation->sim);
    take_counts(c, times, first ? 1.0 / count : 0);
    take_streams(c, at, times, first);
    accesses_take(&c->out->accesses, times);
    return SIM_DONE;
}

/* The block at `at` along an axis, and how many it stands for. false: past the last that runs. */
static bool stands_for(int64_t extent, bool all, int64_t *at, double *times)
{
    *times = 1;
    if (all || extent <= 1 || *at > 0)
        return *at < extent;
    *times = (double)(extent - 1);
    return true;
}

static int64_t next_of(int64_t extent, bool all, int64_t at)
{
    return all || extent <= 1 || at > 0 ? at + 1 : extent - 1;
}

static enum sim_end run_sample(struct counting *c)
{
    const int64_t *extent = c->e->out.grid;
    bool all = extent[2] <= FEW_ALONG_Z;
    int64_t at[3];
    double times[3];
    for (at[1] = 0; stands_for(extent[1], false, &at[1], &times[1]);
         at[1] = next_of(extent[1], false, at[1]))
        for (at[0] = 0; stands_for(extent[0], false, &at[0], &times[0]);
             at[0] = next_of(extent[0], false, at[0]))
            for (at[2] = 0; stands_for(extent[2], all, &at[2], &times[2]);
                 at[2] = next_of(extent[2], all, at[2])) {
                enum sim_end end = run_blocks(c, at, 1, times[0] * times[1] * times[2]);
                if (end != SIM_DONE)
                    return end;
            }
    return SIM_DONE;
}

/* What blocks alone came to counts for nothing: some of it may be waiting. */
static void start_again(struct counting *c)
{
    struct explain_counts *o = c->out;
    *o = (struct explain_counts){.function = o->function, .paced = o->paced, .l2 = o->l2};
    size_t bytes = (size_t)o->l2.sets * sizeof *o->l2.pieces;
    memset(o->l2.pieces, 0, bytes);
    memset(o->paced, 0, o->function->body.count * sizeof *o->paced);
    sim_counters_clear(c->simulation->counters);
    c->before_count = 0;
    c->lines.count = 0;
    c->e->out.sampled_blocks = c->e->out.sampled_instructions = 0;
    c->e->blocks_wait = true;
}

static enum sim_end run_together(struct counting *c)
{
    int64_t at[3] = {0}, extent = c->e->out.grid[0];
    int count = extent < TOGETHER ? (int)extent : TOGETHER;
    return run_blocks(c, at, count, (double)c->e->out.blocks / count);
}

/* --- all of it --- */

static void keep_lines(struct counting *c)
{
    tw_explained_line *lines = arena_array(c->e->results, tw_explained_line, c->lines.count + 1);
    int count = 0;
    for (size_t i = 0; i < c->lines.count; i++) {
        tw_explained_line line = c->lines.data[i];
        if (line.shared_accesses == 0 && line.requests == 0)
            continue;
        line.conflict_ways = line.shared_wavefronts_ideal > 0
                                 ? line.shared_wavefronts / line.shared_wavefronts_ideal
                                 : 1;
        int at = count++;
        for (; at > 0 && lines[at - 1].line > line.line; at--)
            lines[at] = lines[at - 1];
        lines[at] = line;
    }
    c->e->out.lines = lines;
    c->e->out.line_count = count;
}

static tw_status count(struct counting *c)
{
    struct explain *e = c->e;
    tw_status status = set_up(c);
    if (status != TW_OK)
        return status;
    c->out->function = ptx_find_function(c->simulation->module, c->launch.kernel);
    c->out->paced =
        arena_array(&e->launch->ctx->scratch, struct paced, c->out->function->body.count + 1);
    struct l2_grid *g = &c->out->l2;
    memcpy(g->extent, e->out.grid, sizeof e->out.grid);
    g->sets = g->extent[2] <= FEW_ALONG_Z ? (int)g->extent[2] : 1;
    g->pieces = arena_alloc(&e->launch->ctx->scratch, (size_t)g->sets * sizeof *g->pieces);
    enum sim_end end = run_sample(c);
    if (end == SIM_DEADLOCK && e->out.grid[0] > 1) {
        start_again(c);
        end = run_together(c);
    }
    if (end != SIM_DONE)
        return failed(c, end);
    keep_lines(c);
    return TW_OK;
}

tw_status explain_count(struct explain *e, struct explain_counts *out)
{
    struct counting *c = arena_new(&e->launch->ctx->scratch, struct counting);
    double from = platform_seconds();
    c->e = e;
    c->out = out;
    c->simulation = &e->simulation;
    tw_status status = count(c);
    e->out.host_seconds = platform_seconds() - from;
    return status;
}
