/* Launches of a GPU's kernel on the simulator: it parses the text that the GPU would get, with
 * the program's claims checked. */
#include "api/launch_params.h"
#include "api/trace.h"

#include "tile/claims.h"

#include <string.h>

struct simulate_call {
    tw_launch *launch;
    const struct lowered *lowered; /* the program to run */
    struct simulation simulation;
    struct sim_observer names;
    tw_sim_result *result;
};

/* --- names of shared tiles --- */

static uint64_t tile_bytes(const struct sym *s)
{
    return (uint64_t)type_bytes(&s->type);
}

static bool is_placed(const struct sym *s)
{
    return s->storage == ST_SHARED && s->offset >= 0;
}

static bool overlap(const struct sym *a, const struct sym *b)
{
    return (uint64_t)a->offset < (uint64_t)b->offset + tile_bytes(b) &&
           (uint64_t)b->offset < (uint64_t)a->offset + tile_bytes(a);
}

/* Returns "sa", or "sa or acc" if tiles that live at different times share one place. */
static const char *tile_name(struct arena *a, const struct kernel *ir, const struct sym *tile)
{
    struct text out;
    text_init(&out, a);
    for (const struct sym *s = ir->symbols; s; s = s->next)
        if (is_placed(s) && overlap(s, tile))
            text_printf(&out, "%s%s", out.length ? " or " : "", s->name);
    return out.data;
}

static bool has_bytes_alone(const struct kernel *ir, const struct sym *tile)
{
    for (const struct sym *s = ir->symbols; s; s = s->next)
        if (s != tile && is_placed(s) && overlap(s, tile))
            return false;
    return true;
}

/* Searches all elements: reports are few. */
static int64_t element_at(const void *user, int64_t place)
{
    const struct lowered_placed *tile = user;
    const struct type *t = &tile->sym->type;
    for (int64_t e = 0; e < type_elements(t); e++) {
        int32_t in[LAYOUT_INS] = {0}, out[LAYOUT_OUTS];
        int64_t rest = e;
        for (int i = t->rank - 1; i >= 0; i--) {
            int counter = layout_in_index(tile->layout, AXIS_DIM(i));
            if (counter >= 0)
                in[counter] = (int32_t)(rest % t->extent[i]);
            rest /= t->extent[i];
        }
        layout_apply(tile->layout, in, out);
        if (out[layout_out_index(tile->layout, AXIS_AT)] == place)
            return e;
    }
    return -1;
}

/* Names the elements of tiles that share no bytes with others. A tile to which the compiler has
 * added an axis of stages has another shape than in the program. */
static void name_tile_elements(struct simulate_call *call, uint64_t base)
{
    const struct variant *v = call->launch->variant;
    for (size_t i = 0; i < call->lowered->placed.count; i++) {
        const struct lowered_placed *tile = &call->lowered->placed.data[i];
        if (!tile->shared || !tile->sym || tile->sym->staged || !is_placed(tile->sym) ||
            !has_bytes_alone(v->ir, tile->sym))
            continue;
        struct sim_report_array array = {
            .name = tile->sym->name,
            .space = SIM_SHARED,
            .address = base + (uint64_t)tile->sym->offset,
            .element = (int)dtype_size(tile->sym->type.dtype),
            .rank = tile->sym->type.rank,
            .shape = tile->sym->type.extent,
            .element_at = element_at,
            .layout = tile,
        };
        sim_report_add_array(&call->simulation.report, &array);
    }
}

static void name_mbarriers(struct simulate_call *call, uint64_t base)
{
    enum { MBARRIER = 8 }; /* bytes */
    for (const struct sym *s = call->launch->variant->ir->symbols; s; s = s->next) {
        if (s->storage != ST_MBARRIER || s->offset < 0)
            continue;
        struct sim_report_array array = {.name = s->name,
                                         .space = SIM_SHARED,
                                         .address = base + (uint64_t)s->offset,
                                         .element = MBARRIER,
                                         .rank = s->type.rank,
                                         .shape = s->type.extent};
        sim_report_add_array(&call->simulation.report, &array);
    }
}

/* Names the tiles in shared memory for reports. The PTX has one variable for all shared memory,
 * and the report knows only that one so far. */
static bool name_tiles(void *user, const struct sim_allocation_event *event)
{
    struct simulate_call *call = user;
    const struct kernel *ir = call->launch->variant->ir;
    struct sim_report *report = &call->simulation.report;
    if (event->space != SIM_SHARED)
        return true;
    for (size_t i = 0; i < report->memory.count; i++) {
        struct sim_allocation_event *all = &report->memory.data[i];
        if (all->space == SIM_SHARED && all->address == event->address)
            all->bytes = 0; /* tiles are nearer */
    }
    for (const struct sym *s = ir->symbols; s; s = s->next) {
        if (!is_placed(s) || !tile_bytes(s))
            continue;
        struct sim_allocation_event tile = {.space = SIM_SHARED,
                                            .address = event->address + (uint64_t)s->offset,
                                            .bytes = tile_bytes(s),
                                            .name = tile_name(report->arena, ir, s)};
        sim_report_allocated(report, &tile);
    }
    name_tile_elements(call, event->address);
    name_mbarriers(call, event->address);
    if (call->simulation.trace)
        trace_tiles(&call->simulation, call->launch, event->address);
    return true;
}

/* --- the launch --- */

/* Parses the PTX. Returns NULL after a report. */
static const struct ptx_module *read_back(tw_context *ctx, struct arena *a,
                                          const struct lowered *lowered, const struct source **ptx)
{
    struct text text;
    text_init(&text, a);
    ptx_print(&text, lowered->module);
    struct source *source = arena_new(a, struct source);
    *source = (struct source){arena_printf(a, "<PTX of %s>", lowered->function->name), text.data,
                              text.length};
    *ptx = source;
    const struct ptx_module *module = ptx_parse(a, source, &ctx->diag);
    return module && ptx_verify(module, &ctx->diag) ? module : NULL;
}

tw_status variant_read_back(tw_context *ctx, struct variant *v)
{
    const struct source *ptx;
    if (v->read_back)
        return TW_OK;
    const struct ptx_module *module = read_back(ctx, &v->arena, v->lowered, &ptx);
    if (!module)
        return TW_BAD_PROGRAM;
    v->ptx = ptx;
    v->read_back = module;
    return TW_OK;
}

/* Makes v->claimed, if the variant has claims. Lowering changes the kernel, so this checks it and
 * runs the passes again. Returns TW_OK, or reports. */
static tw_status read_claims(tw_kernel *k, struct variant *v)
{
    tw_context *ctx = k->module->ctx;
    struct claimed made;
    if (v->claimed || !claims_any(v->ir))
        return TW_OK;
    struct kernel *ir = choice_check(&v->arena, &ctx->diag, k, &v->key, v->key.known);
    if (!ir || choice_passes(k, ir, &v->key, v->key.known, NULL) != TW_OK)
        return TW_BAD_PROGRAM;
    claims_add(ir);
    made.lowered = choice_lower(&v->arena, k, ir, &v->key, v->key.known);
    made.read_back = made.lowered ? read_back(ctx, &v->arena, made.lowered, &made.ptx) : NULL;
    if (!made.read_back)
        return TW_BAD_PROGRAM;
    v->claimed = arena_copy(&v->arena, &made, sizeof made);
    return TW_OK;
}

/* Returns true for counters and traces: they describe the program that a GPU runs. */
static bool counts(const struct simulate_call *call)
{
    const tw_sim_options *o = &call->simulation.options;
    return (o->watch & TW_WATCH_COUNTERS) || o->trace;
}

/* Names the elements of arrays, in the shapes that the caller gave, and of workspace, for
 * reports. */
static void name_elements(struct simulate_call *call, const struct launch_param *p)
{
    const tw_launch *l = call->launch;
    const struct type *t = &p->sym->type;
    struct sim_report_array array = {.name = p->sym->name,
                                     .space = SIM_GLOBAL,
                                     .address = p->value,
                                     .element = (int)dtype_size(t->dtype),
                                     .rank = t->rank,
                                     .shape = p->shape};
    if (p->kind == LOWERED_POINTER) {
        const tw_array *x = &l->arrays[p->sym->index];
        if (!l->array_set[p->sym->index])
            return;
        array.element = (int)tw_dtype_size(x->dtype);
        array.rank = x->rank;
        array.shape = x->shape;
    }
    sim_report_add_array(&call->simulation.report, &array);
}

/* TW_WATCH_OUTPUTS */
static bool counts_as_unwritten(const struct simulate_call *call, const struct launch_param *p)
{
    return call->simulation.options.watch & TW_WATCH_OUTPUTS &&
           call->launch->kernel->info->params[p->sym->index].is_ensured;
}

/* Places memory for every pointer; the caller's arrays are used in place. */
static tw_status place_params(struct simulate_call *call, struct launch_params *params)
{
    struct diag *d = &call->launch->ctx->diag;
    struct sim *sim = call->simulation.sim;
    const struct lowered *lowered = call->launch->variant->lowered;
    for (int i = 0; i < params->held; i++) {
        struct launch_param *p = &params->list[i];
        if (p->kind == LOWERED_SCALAR || p->kind == LOWERED_MAP)
            continue;
        if (p->kind == LOWERED_POINTER && p->data && p->on_device) {
            diag_error(d, LOC_NONE, "`%s` is on a GPU; the simulator takes arrays of the host",
                       p->sym->name);
            return TW_BAD_ARGUMENT;
        }
        if (p->kind == LOWERED_POINTER) {
            p->value = sim_attach(sim, p->data, (size_t)p->bytes, p->sym->name);
            if (p->value && counts_as_unwritten(call, p))
                sim_forget(sim, p->value);
        } else {
            const char *name = p->sym ? p->sym->name : "ticket";
            p->value = sim_allocate(sim, p->bytes, NULL, name);
            if (p->value && p->zeroed)
                sim_host(sim, p->value, 0); /* its zeros count as written */
        }
        if (!p->value) {
            diag_error(d, LOC_NONE, "kernel `%s`: no memory for `%s`", lowered->function->name,
                       p->sym ? p->sym->name : "ticket");
            return TW_NO_MEMORY;
        }
        if (p->sym)
            name_elements(call, p);
    }
    return launch_maps_simulated(call->launch, params);
}

static tw_status run_simulation(struct simulate_call *call, const struct launch_params *params)
{
    tw_launch *l = call->launch;
    const struct lowered *lowered = call->lowered;
    const void **arguments = arena_array(&l->ctx->scratch, const void *, params->count + 1);
    for (int i = 0; i < params->count; i++)
        arguments[i] = launch_argument(&params->list[i]);
    struct sim_launch launch = {.kernel = lowered->function->name,
                                .cluster = {lowered_cluster(lowered), 1, 1},
                                .dynamic_shared = lowered->shared_bytes,
                                .arguments = arguments,
                                .argument_count = params->count};
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = (unsigned)params->grid[i];
        launch.block[i] = (unsigned)lowered->block[i];
        if (params->grid[i] <= 0) /* no blocks, as on a GPU */
            return TW_OK;
    }
    int64_t blocks = params->grid[0] * params->grid[1] * params->grid[2];
    if (l->variant->ir->cooperative)
        launch.options.resident_blocks = blocks < INT32_MAX ? (int)blocks : INT32_MAX;
    return simulation_run(&call->simulation, &launch, &l->simulated, call->result);
}

/* Checks `clean` workspace after all blocks. */
static tw_status check_clean(struct simulate_call *call, const struct launch_params *params)
{
    for (int i = 0; i < params->held; i++) {
        const struct launch_param *p = &params->list[i];
        if (p->clean &&
            launch_left_dirty(call->launch, p,
                              sim_host(call->simulation.sim, p->value, (size_t)p->bytes)))
            return TW_FAULT;
    }
    return TW_OK;
}

static tw_status run_simulator(struct run_call *run, struct cpu_argument *given)
{
    struct simulate_call *call = run->simulated;
    tw_launch *l = call->launch;
    struct launch_params params;
    char why[CUDA_WHY];
    if (!launch_params_find(l, &l->ctx->scratch, given, &params, why)) {
        diag_error(&l->ctx->diag, l->kernel->info->loc, "kernel `%s`: %s", l->kernel->info->name,
                   why);
        return TW_BAD_ARGUMENT;
    }
    struct variant *v = l->variant;
    tw_status status = counts(call) ? TW_OK : read_claims(l->kernel, v);
    if (status == TW_OK)
        status = variant_read_back(l->ctx, v);
    if (status != TW_OK)
        return status;
    const struct claimed *claimed = counts(call) ? NULL : v->claimed;
    call->lowered = claimed ? claimed->lowered : v->lowered;
    status = simulation_load(&call->simulation, claimed ? claimed->read_back : v->read_back,
                             claimed ? claimed->ptx : v->ptx);
    if (status != TW_OK)
        return status;
    call->names = (struct sim_observer){.user = call, .allocated = name_tiles};
    sim_observe(call->simulation.sim, &call->names);
    const struct lang_sources *texts = lang_program(l->kernel->module->parsed);
    for (size_t i = 0; i < texts->count; i++)
        sim_report_add_source(&call->simulation.report, texts->data[i]);
    status = place_params(call, &params);
    if (status == TW_OK && call->simulation.trace) {
        trace_settings(&call->simulation, l->kernel->info->name, l->kernel->target,
                       &l->kernel->module->source);
        trace_launch(&call->simulation, l, &params);
    }
    if (status == TW_OK)
        status = run_simulation(call, &params);
    return status == TW_OK ? check_clean(call, &params) : status;
}

/* Runs programs that the GPU's row has compiled. */
static const struct executor simulator = {
    .name = "the simulator", .lowers = true, .in_place = true, .run = run_simulator};

tw_status tw_launch_despite_races(tw_launch *l, bool despite)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (despite && launch_needs_ptx(l, "tw_launch_despite_races", "no order of warps") != TW_OK)
        return TW_BAD_ARGUMENT;
    l->prepared = l->prepared && l->despite_races == despite;
    l->despite_races = despite;
    return TW_OK;
}

static tw_status simulate_call(void *user)
{
    struct simulate_call *call = user;
    struct run_call run = {.launch = call->launch, .simulated = call};
    return executor_run(&simulator, &run);
}

tw_status tw_launch_simulate(tw_launch *l, const tw_sim_options *options, tw_sim_result *result)
{
    tw_sim_result found = simulation_nothing;
    struct simulate_call call = {.launch = l, .result = &found};
    tw_status status = launch_needs_ptx(l, "tw_launch_simulate", "no PTX");
    if (status == TW_OK)
        status = simulation_open(&call.simulation, l->ctx, options, result);
    if (status != TW_OK)
        return status;
    status = context_call(l->ctx, simulate_call, &call);
    simulation_close(&call.simulation);
    if (result && status != TW_NO_MEMORY)
        FILL_SIZED(result, found);
    return status;
}
