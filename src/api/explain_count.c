/* Counts the work of a launch: some of its blocks run on the simulator and represent the others
 * (explain_sample.h). Each block runs alone. If it waits for other blocks, it continues as if
 * they had run, once no running block can change the value that it waits for. */
#include "api/explain.h"
#include "api/explain_order.h"
#include "api/launch_params.h"
#include "api/ptx_memory.h"

#include "base/platform.h"

#include <math.h>
#include <string.h>

/* Limits: blocks along the third axis that all run; warp instructions of one block; warp
 * instructions of the blocks that are run to find differences. */
enum { FEW_ALONG_Z = 16, USUAL_STEPS = 50000000, MOST_TO_COMPARE = 12000000 };

/* The counts of one block. */
struct seen {
    struct sim_counted *counted;
    size_t count;
    struct streams streams;
    struct access_costs accesses;
};

struct counting {
    struct explain *e;
    struct explain_counts *out;
    struct simulation *simulation;
    struct streams streams;
    struct sim_launch launch;
    uint64_t ticket; /* address from which blocks draw their index; 0: none */
    enum sim_end end;
    VEC(tw_explained_line) lines;
};

/* --- memory --- */

static tw_status no_memory(struct counting *c, const char *name, uint64_t bytes)
{
    struct diag *d = &c->e->ctx->diag;
    if (bytes < SIM_MOST_BYTES) {
        diag_error(d, LOC_NONE, "no memory for `%s`, which has %llu MB", name,
                   (unsigned long long)bytes / 1000000);
        diag_note(d, LOC_NONE, "smaller sizes show the same bounds, once they fill the GPU");
        return TW_NO_MEMORY;
    }
    diag_error(d, LOC_NONE, "`%s` would have %llu bytes, and the simulator takes less than %d GiB",
               name, (unsigned long long)bytes, (int)(SIM_MOST_BYTES >> 30));
    diag_note(d, LOC_NONE, "smaller sizes show the same bounds, once they fill the GPU");
    return TW_UNSUPPORTED;
}

/* Places an argument. A given array is read in place, or copied if the kernel writes it; a
 * missing one is zeros. */
static tw_status place(struct counting *c, struct launch_param *p)
{
    struct sim *sim = c->simulation->sim;
    const tw_launch *l = c->e->launch;
    const char *name = p->sym ? p->sym->name : "ticket";
    bool given = p->kind == LOWERED_POINTER && p->data && !p->on_device;
    if (p->kind == LOWERED_SCALAR || p->kind == LOWERED_MAP)
        return TW_OK;
    if (p->kind == LOWERED_POINTER && !given) {
        int64_t bytes = launch_array_bytes(l, p->sym->index);
        p->bytes = bytes > 0 ? (uint64_t)bytes : p->bytes;
    }
    p->value = given && !p->written ? sim_attach(sim, p->data, (size_t)p->bytes, name)
                                    : sim_allocate(sim, p->bytes, given ? p->data : NULL, name);
    if (p->kind == LOWERED_TICKET)
        c->ticket = p->value;
    else
        model_accesses_know(&c->out->accesses, p->value, p->bytes,
                            (int)dtype_size(p->sym->type.dtype), name);
    return p->value ? TW_OK : no_memory(c, name, p->bytes);
}

static void observe(struct counting *c)
{
    sim_counters_merge(c->simulation->counters);
    model_streams_init(&c->streams, &c->simulation->arena);
    sim_observe(c->simulation->sim, &c->streams.observer);
    sim_observe(c->simulation->sim, &c->out->accesses.observer);
}

/* Prepares a launch of PTX, which works on copies of its arrays. */
static tw_status set_up_ptx(struct counting *c)
{
    const struct explain *e = c->e;
    const tw_ptx_launch *l = e->ptx_launch;
    struct ptx_memory memory;
    tw_status status = simulation_load(c->simulation, e->ptx->module, &e->ptx->source);
    if (status != TW_OK)
        return status;
    model_accesses_init(&c->out->accesses, &c->simulation->arena);
    launch_ptx_memory_find(&memory, &e->ctx->scratch, l, e->ptx_kernel);
    for (int i = 0; i < memory.block_count; i++) {
        struct ptx_block *b = &memory.blocks[i];
        b->address = sim_allocate(c->simulation->sim, b->bytes, b->data, b->name);
        if (!b->address)
            return no_memory(c, b->name, b->bytes);
        model_accesses_know(&c->out->accesses, b->address, b->bytes, 4, b->name);
    }
    observe(c);
    c->launch =
        (struct sim_launch){.kernel = e->ptx_kernel->name,
                            .cluster = {1, 1, 1},
                            .dynamic_shared = l->shared_bytes,
                            .shared_most = e->target->shared_bytes,
                            .arguments = launch_ptx_memory_values(&memory, &e->ctx->scratch),
                            .argument_count = l->argument_count};
    for (int i = 0; i < 3; i++) {
        c->launch.grid[i] = (unsigned)e->out.grid[i];
        c->launch.block[i] = (unsigned)e->out.block[i];
    }
    return TW_OK;
}

static tw_status set_up(struct counting *c)
{
    tw_launch *l = c->e->launch;
    struct launch_params params;
    char why[CUDA_WHY];
    if (!launch_params_find(l, &l->ctx->scratch, launch_given(l), &params, why)) {
        diag_error(&l->ctx->diag, l->kernel->info->loc, "kernel `%s`: %s", l->kernel->info->name,
                   why);
        return TW_BAD_ARGUMENT;
    }
    tw_status status = variant_read_back(l->ctx, l->variant);
    if (status == TW_OK)
        status = simulation_load(c->simulation, l->variant->read_back, l->variant->ptx);
    model_accesses_init(&c->out->accesses, &c->simulation->arena);
    const void **arguments = arena_array(&l->ctx->scratch, const void *, params.count + 1);
    for (int i = 0; i < params.count; i++)
        arguments[i] = launch_argument(&params.list[i]);
    for (int i = 0; i < params.held && status == TW_OK; i++)
        status = place(c, &params.list[i]);
    if (status == TW_OK)
        status = launch_maps_simulated(l, &params);
    if (status != TW_OK)
        return status;
    observe(c);
    const struct lowered *lowered = l->variant->lowered;
    c->launch = (struct sim_launch){.kernel = lowered->function->name,
                                    .cluster = {lowered_cluster(lowered), 1, 1},
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
    out->shared_wavefronts += (double)as->shared_wavefronts * times;
    out->shared_wavefronts_ideal += (double)as->shared_wavefronts_ideal * times;
    out->requests += (double)n->global_requests * times;
    out->sectors += (double)n->global_sectors * times;
}

/* Returns the statement of an instruction; -1: it is not one of the kernel's own. */
static int64_t statement_of(const struct counting *c, const struct ptx_instruction *ins)
{
    const struct ptx_function *f = c->out->function;
    for (size_t i = 0; i < f->body.count; i++)
        if (f->body.data[i].kind == PTX_AT_INSTRUCTION && f->body.data[i].instruction == ins)
            return (int64_t)i;
    return -1;
}

static void pace_statement(struct counting *c, const struct sim_counted *counted,
                           const struct sim_counts *as, double share)
{
    int64_t i = statement_of(c, counted->ins);
    if (i < 0)
        return;
    c->out->paced[i].executions += (double)counted->counts.warp_instructions * share;
    if (!ptx_has(counted->ins, MOD_CG))
        c->out->paced[i].wavefronts += (double)as->shared_wavefronts * share;
}

/* Gives each of the accesses that an assembler may merge its share of the merged wavefronts. */
static void share_merged(struct counting *c, const struct sim_counted *n, double times)
{
    struct accesses *all = &c->out->accesses;
    for (size_t i = 0; n->merge && n->merged.shared_wavefronts && i < all->list.count; i++) {
        struct access_of *a = &all->list.data[i];
        for (size_t k = 0; a->shared && k < n->merge->count; k++)
            if (n->merge->list[k].ins == a->place.ins) {
                double share = times / (double)n->merge->count;
                a->launch.merged += (double)n->merged.shared_wavefronts * share;
                a->launch.merged_ideal += (double)n->merged.shared_wavefronts_ideal * share;
            }
    }
}

/* Adds a block's counts. share: of all blocks, the part that this one represents. */
static void take_counts(struct counting *c, const struct seen *seen, double times, double share)
{
    for (size_t i = 0; i < seen->count; i++) {
        const struct sim_counted *n = &seen->counted[i];
        const struct sim_counts *as = n->merge ? &n->merged : &n->counts;
        model_work_add(&c->out->launch, n->ins, &n->counts, &n->merged, n->merge != NULL, times);
        add_line(c, n, &n->counts, &n->merged, times);
        share_merged(c, n, times);
        pace_statement(c, n, as, share);
    }
}

/* --- blocks --- */

static uint32_t common_arrays(const struct sampling *s)
{
    uint32_t common = s->all.count > 1 ? UINT32_MAX : 0;
    const struct seen *first = s->all.data[0]->seen;
    for (size_t i = 1; i < s->all.count && common; i++) {
        const struct seen *other = s->all.data[i]->seen;
        bool both = first->streams.block && other->streams.block;
        common &= both ? model_l1_common(first->streams.block, other->streams.block) : 0;
    }
    return common;
}

static struct l1_share share_of_block(const struct explain *e, const struct sampling *s)
{
    int64_t each = (e->out.blocks - 1) / e->gpu->multiprocessors + 1;
    int resident = each < e->out.resident_blocks ? (int)each : e->out.resident_blocks;
    double shared = (double)resident * (double)(e->out.shared_bytes + GPU_SYSTEM_SHARED);
    return (struct l1_share){(target_of_gpu(e->gpu)->l1_of_sm - shared) / resident, resident,
                             common_arrays(s)};
}

/* Adds the requests to L1, by instruction. */
static void take_instructions(struct counting *c, const struct streams *seen, double times,
                              double share)
{
    for (size_t k = 0; k < seen->instructions.count; k++) {
        const struct stream_instruction *n = &seen->instructions.data[k];
        c->out->wavefronts += n->wavefronts * times;
        int64_t i = statement_of(c, n->ins);
        if (i < 0)
            continue;
        c->out->paced[i].lines += n->lines * share;
        c->out->paced[i].wavefronts += n->wavefronts * share;
    }
}

static void take_streams(struct counting *c, const struct sample *s, const struct streams *seen,
                         double share, const struct l1_share *l1_share)
{
    struct explain_counts *o = c->out;
    double times = s->stands_for;
    struct l1_result *l1 = arena_new(&c->simulation->arena, struct l1_result);
    int multiplying = __builtin_popcountll(seen->multiplying);
    o->multiplying = multiplying > o->multiplying ? multiplying : o->multiplying;
    take_instructions(c, seen, times, share);
    if (!seen->block || !c->e->out.launches)
        return;
    model_l1_replay(&c->simulation->arena, seen->block, l1_share, l1);
    double first = fmin(1, c->e->gpu->multiprocessors / (double)c->e->out.blocks);
    o->missed += (l1->missed + l1->common * first) * times;
    o->past += l1->past * times;
    o->stores += l1->stores * times;
    o->updates += l1->updates * times;
    o->tags += (l1->tags + l1->common * first * GPU_SECTOR_BYTES / GPU_LINE_BYTES) * times;
    o->load_sectors += l1->load_sectors * times;
    o->warps = seen->block->warps;
    model_l2_pieces_take(&o->l2, s->at, l1);
}

static tw_status failed(struct counting *c, enum sim_end end)
{
    struct simulation *s = c->simulation;
    const struct sim_place *at = end == SIM_ENDLESS ? sim_stopped_at(s->sim) : NULL;
    diag_error(&c->e->ctx->diag, LOC_NONE, "it cannot be simulated: %s%s%s%s", sim_why(s->sim),
               at ? " (" : "", at ? sim_place_text(&s->report, at->ins, at->where) : "",
               at ? ")" : "");
    if (end == SIM_ENDLESS)
        diag_code(&c->e->ctx->diag, CODE_ENDLESS);
    return end == SIM_UNKNOWN ? TW_UNSUPPORTED : end == SIM_ASKED ? TW_CANCELLED : TW_FAULT;
}

static struct seen *keep_seen(struct counting *c)
{
    struct seen *seen = arena_new(&c->simulation->arena, struct seen);
    const struct sim_counted *all = sim_counters_all(c->simulation->counters, &seen->count);
    seen->counted = arena_copy(&c->simulation->arena, all, seen->count * sizeof *all);
    seen->streams = c->streams;
    model_accesses_move(&c->out->accesses, &seen->accesses);
    return seen;
}

static bool run_block(void *user, struct sample *s)
{
    struct counting *c = user;
    const int64_t *extent = c->e->out.grid, limit = c->e->options->step_limit;
    tw_context *ctx = c->e->ctx;
    int64_t number = s->at[0] + extent[0] * (s->at[1] + extent[1] * s->at[2]);
    c->launch.options = (struct sim_options){.chosen = &number,
                                             .chosen_count = 1,
                                             .resident_blocks = 1,
                                             .waits_end = true,
                                             .any_threads = true,
                                             .step_limit = limit > 0 ? limit : USUAL_STEPS,
                                             .cancelled = ctx->config.cancelled,
                                             .cancelled_user = ctx->config.cancelled_user};
    if (ctx->config.progress)
        ctx->config.progress(ctx->config.progress_user, "counting blocks that are sampled", 0, 0);
    model_streams_clear(&c->streams);
    sim_counters_clear(c->simulation->counters);
    if (c->ticket)
        *(uint32_t *)sim_host(c->simulation->sim, c->ticket, sizeof(uint32_t)) = (uint32_t)number;
    c->end = sim_run(c->simulation->sim, &c->launch, &ctx->diag);
    if (c->end != SIM_DONE)
        return false;
    c->e->out.sampled_blocks++;
    c->e->out.sampled_instructions += sim_steps(c->simulation->sim);
    c->e->blocks_wait = c->e->blocks_wait || sim_waits_ended(c->simulation->sim) > 0;
    struct seen *seen = keep_seen(c);
    s->seen = seen;
    s->executed = arena_array(&c->simulation->arena, double, c->out->function->body.count + 1);
    for (size_t i = 0; i < seen->count; i++) {
        int64_t at = statement_of(c, seen->counted[i].ins);
        if (at >= 0)
            s->executed[at] += (double)seen->counted[i].counts.thread_instructions / 32;
    }
    return true;
}

/* Adds the reads of the products of warpgroups. */
static void add_products(struct counting *c)
{
    const struct accesses *all = &c->out->accesses;
    for (size_t i = 0; i < all->list.count; i++)
        if (all->list.data[i].place.ins->op == PTX_WGMMA_MMA_ASYNC)
            c->out->product_wavefronts += all->list.data[i].launch.units;
}

static enum sim_end run_sample(struct counting *c)
{
    const int64_t *extent = c->e->out.grid;
    double blocks = (double)c->e->out.blocks;
    struct sampling s = {.arena = &c->simulation->arena,
                         .extent = {extent[0], extent[1], extent[2]},
                         .statements = c->out->function->body.count,
                         .all_z = extent[2] <= FEW_ALONG_Z,
                         .run = run_block,
                         .user = c,
                         .most = MOST_TO_COMPARE};
    if (!explain_sample_grid(&s))
        return c->end;
    double most = 0, sum = 0;
    struct l1_share l1 = {0};
    if (c->e->out.launches)
        l1 = share_of_block(c->e, &s);
    for (size_t i = 0; i < s.all.count; i++) {
        struct sample *x = s.all.data[i];
        sum += x->sum * x->stands_for;
        most = x->sum > most ? x->sum : most;
        const struct seen *seen = x->seen;
        take_streams(c, x, &seen->streams, x->stands_for / blocks, &l1);
        if (x->stands_for == 0)
            continue;
        take_counts(c, seen, x->stands_for, x->stands_for / blocks);
        model_accesses_add(&c->out->accesses, &seen->accesses, x->stands_for);
    }
    add_products(c);
    c->out->order = explain_order(&s, c->e);
    c->out->longest = sum > 0 ? most * blocks / sum : 1;
    model_l2_pieces_finish(&c->out->l2);
    return SIM_DONE;
}

/* --- all of it --- */

static void add_accesses(struct counting *c)
{
    const struct accesses *all = &c->out->accesses;
    for (size_t i = 0; i < all->list.count; i++) {
        const struct access_of *a = &all->list.data[i];
        struct sim_counted counted = {.ins = a->place.ins, .where = a->place.where};
        if (a->shared)
            continue;
        tw_explained_line *line = line_of(c, &counted);
        line->by_thread += a->launch.by_thread;
        line->sectors_ideal += a->launch.ideal;
    }
}

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
    tw_status status = e->launch ? set_up(c) : set_up_ptx(c);
    if (status != TW_OK)
        return status;
    c->out->function = ptx_find_function(c->simulation->module, c->launch.kernel);
    c->out->paced = arena_array(&e->ctx->scratch, struct paced, c->out->function->body.count + 1);
    struct l2_grid *g = &c->out->l2;
    memcpy(g->extent, e->out.grid, sizeof e->out.grid);
    g->sets = g->extent[2] <= FEW_ALONG_Z ? (int)g->extent[2] : 1;
    g->pieces = arena_alloc(&e->ctx->scratch, (size_t)g->sets * sizeof *g->pieces);
    enum sim_end end = run_sample(c);
    if (end != SIM_DONE)
        return failed(c, end);
    add_accesses(c);
    keep_lines(c);
    return TW_OK;
}

tw_status explain_count(struct explain *e, struct explain_counts *out)
{
    struct counting *c = arena_new(&e->ctx->scratch, struct counting);
    double from = platform_seconds();
    c->e = e;
    c->out = out;
    c->simulation = &e->simulation;
    tw_status status = count(c);
    e->out.host_seconds = platform_seconds() - from;
    return status;
}
