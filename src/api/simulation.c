#include "api/simulation.h"

#include "api/trace.h"

#include "base/platform.h"
#include "sim/sim_assembled.h"
#include "sim/sim_barrier_check.h"
#include "sim/sim_faults.h"
#include "sim/sim_memcheck.h"
#include "sim/race/sim_race.h"
#include "sim/sim_trace.h"

#include <assert.h>
#include <string.h>

const tw_sim_result simulation_nothing = {.report = "", .counters = "", .json = "{}"};

/* The head of each block; its size is a multiple of the alignment. */
struct simulation_block {
    struct simulation_block *next, *previous;
    size_t size;   /* with this */
    bool reserved; /* from platform_reserve; else from the caller's allocator */
};

static void link_block(struct simulation *s, struct simulation_block *b)
{
    b->previous = NULL;
    b->next = s->blocks;
    if (b->next)
        b->next->previous = b;
    s->blocks = b;
}

static void unlink_block(struct simulation *s, struct simulation_block *b)
{
    if (b->next)
        b->next->previous = b->previous;
    if (b->previous)
        b->previous->next = b->next;
    else
        s->blocks = b->next;
}

static void *resize_block(struct simulation *s, void *ptr, size_t size)
{
    const struct allocator *from = &s->ctx->allocator;
    struct simulation_block *old = ptr ? (struct simulation_block *)ptr - 1 : NULL, *b;
    if (size > SIZE_MAX - sizeof *b || (!size && !ptr))
        return NULL;
    if (old)
        unlink_block(s, old);
    if (old && old->reserved) {
        assert(!size && "zeros are never made longer");
        platform_unreserve(old, old->size);
        return NULL;
    }
    b = from->resize(from->user, old, old ? old->size : 0, size ? size + sizeof *b : 0);
    if (!size)
        return NULL;
    if (!b) {
        if (old)
            link_block(s, old);
        return NULL;
    }
    *b = (struct simulation_block){.size = size + sizeof *b};
    link_block(s, b);
    return b + 1;
}

static void lock(const struct simulation *s)
{
    if (s->lock)
        platform_lock(s->lock);
}

static void *unlock(const struct simulation *s, void *block)
{
    if (s->lock)
        platform_unlock(s->lock);
    return block;
}

static void *resize(void *user, void *ptr, size_t old_size, size_t size)
{
    struct simulation *s = user;
    (void)old_size;
    lock(s);
    return unlock(s, resize_block(s, ptr, size));
}

static void *zeros(void *user, size_t size)
{
    struct simulation *s = user;
    struct simulation_block *b;
    if (size > SIZE_MAX - sizeof *b)
        return NULL;
    size += sizeof *b;
    b = s->reserves ? platform_reserve(size) : allocator_zeros(&s->ctx->allocator, size);
    if (!b)
        return NULL;
    *b = (struct simulation_block){.size = size, .reserved = s->reserves};
    lock(s);
    link_block(s, b);
    return unlock(s, b + 1);
}

tw_status simulation_open(struct simulation *s, tw_context *ctx, const tw_sim_options *options,
                          tw_sim_result *result)
{
    *s = (struct simulation){.ctx = ctx, .options = {.watch = TW_WATCH_CHECKS}};
    if (result && !SIZED_FITS(ctx, tw_sim_result, result))
        return TW_BAD_ARGUMENT;
    if (result)
        FILL_SIZED(result, simulation_nothing);
    tw_status status = options ? READ_SIZED(ctx, tw_sim_options, &s->options, options) : TW_OK;
    if (status == TW_OK && s->options.trace)
        status = READ_SIZED(ctx, tw_trace_options, &s->trace_options, s->options.trace);
    if (status != TW_OK)
        return status;
    s->options.trace = s->options.trace ? &s->trace_options : NULL;
    s->allocator = (struct allocator){resize, s, zeros};
    arena_init(&s->arena, &s->allocator, &ctx->recovery);
    arena_init(&s->later, &s->allocator, &ctx->recovery);
    return TW_OK;
}

void simulation_close(struct simulation *s)
{
    sim_later_end(s->sim);
    while (s->blocks)
        resize(s, s->blocks + 1, 0, 0);
    platform_lock_free(&s->ctx->allocator, s->lock);
}

/* --- before a run --- */

static bool take_suppressions(struct simulation *s)
{
    const char *text = s->options.suppressions;
    if (!text)
        return true;
    const char *name = s->options.suppressions_name;
    s->suppressions = (struct source){name ? name : "suppressions", text, strlen(text)};
    return sim_report_suppress(&s->report, &s->suppressions, &s->ctx->diag);
}

static bool see_allocated(void *user, const struct sim_allocation_event *event)
{
    sim_report_allocated(user, event);
    return true;
}

static void add_observers(struct simulation *s)
{
    unsigned watch = s->options.watch;
    s->names = (struct sim_observer){.user = &s->report, .allocated = see_allocated};
    sim_observe(s->sim, &s->names);
    if (watch & TW_WATCH_RACES)
        sim_observe(s->sim, sim_races_observer(sim_races_new(&s->later, &s->report)));
    if (watch & TW_WATCH_MEMORY)
        sim_observe(s->sim, sim_memcheck_observer(sim_memcheck_new(&s->arena, &s->report)));
    else
        sim_faults_observe(s->sim, &s->report);
    if (watch & (TW_WATCH_BARRIERS | TW_WATCH_EXITS)) {
        s->barriers = sim_barrier_check_new(&s->arena, &s->report);
        sim_barrier_check_exits(s->barriers, watch & TW_WATCH_EXITS);
        sim_observe(s->sim, sim_barrier_check_observer(s->barriers));
    }
    if (watch & TW_WATCH_COUNTERS) {
        s->counters = sim_counters_new(&s->later);
        sim_observe(s->sim, sim_counters_observer(s->counters));
    }
    if (s->options.trace) {
        s->trace = sim_trace_new(&s->arena);
        sim_observe(s->sim, sim_trace_observer(s->trace));
        if (s->options.trace->why)
            sim_observe(s->sim, sim_trace_writes(s->trace));
    }
}

/* Lets the simulator have a second thread, if the context may have threads of its own. */
static void hear_later(struct simulation *s)
{
    const tw_config *config = &s->ctx->config;
    if (config->threads != 1 && !config->parallel)
        s->lock = platform_lock_new(&s->ctx->allocator);
    if (s->lock)
        sim_hear_later(s->sim, &s->later, config->threads);
}

tw_status simulation_load(struct simulation *s, const struct ptx_module *module,
                          const struct source *source)
{
    s->module = module;
    s->sim = sim_new(&s->arena);
    hear_later(s);
    sim_report_init(&s->report, &s->later, module);
    s->report.machine = s->sim;
    s->report.source_only = s->options.source_only;
    s->report.severity[SIM_FOUND_SAME_VALUE] = (uint8_t)s->options.same_value;
    s->report.severity[SIM_FOUND_VOLATILE] = (uint8_t)s->options.volatiles;
    if (s->options.volatiles == TW_COUNTS_NOT)
        s->report.severity[SIM_FOUND_VOLATILE_RACE] = SIM_IGNORED;
    if (!take_suppressions(s))
        return TW_BAD_ARGUMENT;
    add_observers(s);
    return sim_load(s->sim, module, source, &s->ctx->diag) ? TW_OK : TW_BAD_PROGRAM;
}

void simulation_as_assembled(struct simulation *s, const struct sass *sass)
{
    if (!s->counters)
        return;
    s->as_assembled = true;
    s->sass = sass;
    sim_counters_merge(s->counters);
}

/* --- after a run --- */

static const char *keep(struct arena *a, const char *text)
{
    return text ? arena_string(a, text, strlen(text)) : NULL;
}

/* Returns the place of an access; its element, thread and block if they are known. */
static tw_access public_access(const struct simulation *s, const struct sim_finding *f, int number,
                               struct arena *results)
{
    const struct sim_finding_access *from = &f->access[number];
    struct loc at = sim_finding_place(&s->report, f, number);
    struct sim_report_element element;
    tw_access a = {.what = keep(results, from->does),
                   .thread = from->lane < 0 ? -1 : from->at.warp * 32 + from->lane,
                   .warp = from->at.warp,
                   .block = from->at.block};
    if (at.source) {
        a.file = keep(results, at.source->name);
        a.length = (int)at.length;
        loc_line_column(at, &a.line, &a.column);
    }
    struct loc barrier = sim_finding_barrier(&s->report, from);
    if (barrier.source) {
        a.barrier_file = keep(results, barrier.source->name);
        loc_line_column(barrier, &a.barrier_line, &a.barrier_column);
    }
    if (!from->memory)
        return a;
    a.space = sim_space_name(from->space);
    if (sim_report_index(&s->report, from->space, from->address, &element)) {
        a.variable = keep(results, element.name);
        a.rank = element.rank;
        memcpy(a.index, element.index, sizeof a.index);
    } else {
        const char *name = from->memory_name;
        if (!name)
            name = sim_report_memory_name(&s->report, from->space, from->address);
        a.variable = keep(results, name);
    }
    return a;
}

static const tw_access *const *keep_accesses(const struct simulation *s,
                                             const struct sim_finding *f, struct arena *results)
{
    const tw_access **list = arena_array(results, const tw_access *, f->access_count);
    for (int i = 0; i < f->access_count; i++) {
        tw_access *access = arena_new(results, tw_access);
        *access = public_access(s, f, i, results);
        list[i] = access;
    }
    return list;
}

static tw_code public_code(enum sim_found kind)
{
    static const tw_code codes[] = {
#define CODE(id, name, fails, text) TW_CODE_##id,
        SIM_FINDINGS(CODE)
#undef CODE
    };
    return codes[kind];
}

static void keep_finding(struct simulation *s, const struct sim_finding *f, struct arena *results,
                         tw_sim_finding *out)
{
    const struct diagnostic *d = sim_finding_diagnostic(&s->report, f);
    struct text text, json;
    text_init(&text, results);
    text_init(&json, results);
    diagnostic_render(&text, d, s->ctx->config.colour);
    sim_finding_json(&json, &s->report, f);
    *out = (tw_sim_finding){.kind = sim_found_name(f->kind),
                            .message = keep(results, f->message),
                            .fails = sim_report_fails(&s->report, f->kind) && !f->suppressed,
                            .suppressed = f->suppressed,
                            .code = public_code(f->kind),
                            .accesses = keep_accesses(s, f, results),
                            .access_count = f->access_count,
                            .count = f->count,
                            .text = text.data,
                            .json = json.data};
    if (d->loc.source) {
        out->file = keep(results, d->loc.source->name);
        loc_line_column(d->loc, &out->line, &out->column);
    }
    struct loc other = sim_finding_place(&s->report, f, 1);
    if (other.source) {
        out->other_file = keep(results, other.source->name);
        loc_line_column(other, &out->other_line, &out->other_column);
    }
}

/* Reports a finding among the call's messages. */
static void report_finding(struct simulation *s, const struct sim_finding *f)
{
    struct diag *diag = &s->ctx->diag;
    const struct diagnostic *d = sim_finding_diagnostic(&s->report, f);
    if (d->severity == SEV_ERROR)
        diag_error(diag, d->loc, "%s", d->message);
    else
        diag_warning(diag, d->loc, "%s", d->message);
    diag_code(diag, (enum diag_code)public_code(f->kind));
    for (const struct diagnostic *n = d->notes; n; n = n->next)
        diag_note(diag, n->loc, "%s", n->message);
}

static tw_code end_code(enum sim_end end)
{
    switch (end) {
    case SIM_DEADLOCK: return TW_CODE_DEADLOCK;
    case SIM_ENDLESS: return TW_CODE_ENDLESS;
    case SIM_FAULT: return TW_CODE_FAULT;
    case SIM_UNKNOWN: return TW_CODE_UNSUPPORTED;
    case SIM_CUT_OFF: return TW_CODE_CUT_OFF;
    case SIM_ASKED:
    case SIM_STOPPED:
    case SIM_DONE: break;
    }
    return TW_CODE_STOPPED;
}

/* Records why the launch ended, if no other finding has the reason. */
static void keep_end(struct simulation *s, enum sim_end end, struct arena *results,
                     tw_sim_result *result, tw_sim_finding *out)
{
    bool explained =
        result->failures > 0 && (end == SIM_FAULT || end == SIM_DEADLOCK || end == SIM_STOPPED ||
                                 (end == SIM_ENDLESS && sim_stopped_at(s->sim)));
    if (end == SIM_DONE || end == SIM_ASKED || explained)
        return;
    const char *kind = tw_code_name(end_code(end)), *message = result->ended;
    const struct sim_place *at = sim_stopped_at(s->sim);
    const struct sim_finding where = {.access_count = at != NULL,
                                      .access[0].at = at ? *at : (struct sim_place){0}};
    const struct diagnostic d = {.severity = SEV_ERROR,
                                 .loc = sim_finding_place(&s->report, &where, 0),
                                 .message = arena_printf(results, "%s: %s", kind, message)};
    struct text text, json;
    text_init(&text, results);
    text_init(&json, results);
    diagnostic_render(&text, &d, s->ctx->config.colour);
    text_printf(&json, "{\"kind\": \"%s\", \"fails\": true, \"count\": 1, \"message\": ", kind);
    text_add_json(&json, message);
    text_add(&json, ", \"accesses\": [], \"steps\": []}");
    *out = (tw_sim_finding){.kind = kind,
                            .code = end_code(end),
                            .message = message,
                            .fails = true,
                            .count = 1,
                            .text = text.data,
                            .json = json.data};
    if (d.loc.source) {
        out->file = keep(results, d.loc.source->name);
        loc_line_column(d.loc, &out->line, &out->column);
    }
    result->finding_count++;
    result->failures++;
    diag_error(&s->ctx->diag, d.loc, "%s", d.message);
    diag_code(&s->ctx->diag, (enum diag_code)end_code(end));
}

static void keep_findings(struct simulation *s, enum sim_end end, struct arena *results,
                          tw_sim_result *result)
{
    int count = 0;
    for (const struct sim_finding *f = s->report.first; f; f = f->next)
        count++;
    tw_sim_finding *list = arena_array(results, tw_sim_finding, count + 1);
    result->finding_count = count;
    result->findings = list;
    result->failures = sim_report_failures(&s->report);
    for (const struct sim_finding *f = s->report.first; f; f = f->next) {
        keep_finding(s, f, results, list++);
        if (!f->suppressed)
            report_finding(s, f);
    }
    keep_end(s, end, results, result, list);
}

static void write_json(struct arena *results, tw_sim_result *result)
{
    struct text out;
    text_init(&out, results);
    text_add(&out, "{\"findings\": [");
    for (int i = 0; i < result->finding_count; i++)
        text_printf(&out, "%s\n  %s", i ? "," : "", result->findings[i].json);
    text_add(&out, result->finding_count ? "\n], \"ended\": " : "], \"ended\": ");
    if (result->ended)
        text_add_json(&out, result->ended);
    else
        text_add(&out, "null");
    text_printf(&out, ", \"warp_instructions\": %lld", (long long)result->warp_instructions);
    if (result->counters_json)
        text_printf(&out, ", \"counters\": %s", result->counters_json);
    text_add(&out, "}");
    result->json = out.data;
}

static void write_counters(struct simulation *s, struct arena *results, tw_sim_result *result)
{
    struct text table, json;
    struct sim_assembled assembled;
    text_init(&table, results);
    text_init(&json, results);
    sim_counters_table(&table, s->counters, s->module, counted_whats);
    if (s->as_assembled) {
        sim_assembled_find(&s->arena, s->counters, s->module, s->sass, &assembled);
        sim_assembled_text(&table, &assembled);
    }
    sim_counters_json(&json, s->counters, s->module, s->as_assembled ? &assembled : NULL);
    result->counted = counted_new(results, s->counters, s->module);
    result->counters = table.data;
    result->counters_json = json.data;
}

static void write_report(struct simulation *s, struct arena *results, tw_sim_result *result)
{
    struct text report;
    int of_checks = 0;
    for (const struct sim_finding *f = s->report.first; f; f = f->next)
        of_checks++;
    text_init(&report, results);
    text_add(&report, "");
    sim_report_text(&report, &s->report, s->ctx->config.colour);
    for (int i = of_checks; i < result->finding_count; i++) /* what ended it */
        text_add(&report, result->findings[i].text);
    result->report = report.data;
}

/* Reports an endless launch, with the place if it is known. */
static void find_endless(struct simulation *s)
{
    const struct sim_place *at = sim_stopped_at(s->sim);
    if (!at)
        return;
    struct sim_finding f = {
        .kind = SIM_FOUND_ENDLESS, .message = sim_why(s->sim), .access_count = 1};
    f.access[0] = (struct sim_finding_access){.at = *at, .lane = -1, .does = "still run"};
    sim_report_add(&s->report, &f);
}

/* Reports a deadlock of a launch without checks. */
static void find_deadlock(struct simulation *s)
{
    const struct sim_standstill *still = sim_standstill(s->sim);
    if (still && !sim_report_polls(&s->report, still) && !sim_report_mbarriers(&s->report, still) &&
        !sim_report_lanes(&s->report, still))
        sim_report_standstill(&s->report, still);
}

static bool set_trace(struct simulation *s, const struct sim_launch *launch)
{
    enum { USUAL_EVENTS = 200000 };
    const tw_trace_options *o = s->options.trace;
    struct sim_trace_settings *to = sim_trace_settings(s->trace);
    for (int i = 0; i < 3; i++) {
        to->block[i] = o->block[i];
        if (o->block[i] >= 0 && o->block[i] < launch->grid[i])
            continue;
        diag_error(&s->ctx->diag, LOC_NONE,
                   "there is no block %lld,%lld,%lld to trace: the grid has %u x %u x %u",
                   (long long)o->block[0], (long long)o->block[1], (long long)o->block[2],
                   launch->grid[0], launch->grid[1], launch->grid[2]);
        return false;
    }
    to->from = o->from;
    to->most = o->events > 0 ? o->events : USUAL_EVENTS;
    to->seed = s->options.seed;
    to->late = s->options.late;
    to->why = o->why;
    to->why_offset = o->why_offset;
    to->why_bytes = o->why_bytes;
    return true;
}

static void write_trace(struct simulation *s, struct arena *results, tw_sim_result *result)
{
    struct text out;
    text_init(&out, results);
    if (s->options.trace->format == TW_TRACE_CHROME)
        sim_trace_write_chrome(s->trace, &out);
    else
        sim_trace_write(s->trace, result->ended, &out);
    result->trace = out.data;
    result->trace_bytes = out.length;
    if (s->options.trace->why)
        result->why = trace_keep_why(s, results);
}

/* Returns the place of a warp that ran when the launch was cancelled. */
static const char *place_at_end(const struct simulation *s, struct arena *results)
{
    const struct sim_place *at = sim_stopped_at(s->sim);
    return arena_printf(results, "%s was at %s when the call was cancelled",
                        sim_thread_text(&s->report, at, -1),
                        sim_place_text(&s->report, at->ins, at->where));
}

static void write_result(struct simulation *s, enum sim_end end, struct arena *results,
                         tw_sim_result *result)
{
    result->warp_instructions = sim_steps(s->sim);
    if (end != SIM_DONE)
        result->ended = keep(results, sim_why(s->sim));
    if (end == SIM_ASKED && sim_stopped_at(s->sim))
        result->ended = place_at_end(s, results);
    if (end == SIM_DEADLOCK && s->barriers)
        sim_barrier_check_deadlock(s->barriers, sim_standstill(s->sim));
    else if (end == SIM_DEADLOCK)
        find_deadlock(s);
    if (end == SIM_ENDLESS)
        find_endless(s);
    keep_findings(s, end, results, result);
    write_report(s, results, result);
    if (s->counters)
        write_counters(s, results, result);
    if (s->trace)
        write_trace(s, results, result);
    write_json(results, result);
}

static tw_status status_of(const struct simulation *s, enum sim_end end,
                           const tw_sim_result *result)
{
    switch (end) {
    case SIM_DONE: return result->failures ? TW_FAULT : TW_OK;
    case SIM_UNKNOWN: return TW_UNSUPPORTED;
    case SIM_ASKED: return s->ctx->config.cancelled ? TW_CANCELLED : TW_FAULT;
    case SIM_STOPPED:
    case SIM_CUT_OFF:
    case SIM_FAULT:
    case SIM_DEADLOCK:
    case SIM_ENDLESS: break;
    }
    return TW_FAULT;
}

static void print_output(void *user)
{
    const struct simulation *s = user;
    size_t length;
    const char *text = sim_output(s->sim, &length);
    const tw_config *config = &s->ctx->config;
    if (length && config->print)
        config->print(config->print_user, text, length);
}

static bool is_order(const tw_sim_options *o)
{
    bool good = o->order && o->order_count > 0;
    for (int i = 0; good && i < o->order_count; i++)
        good = o->order[i].warp >= 0 && o->order[i].steps >= 0;
    return good;
}

static const struct sim_slice *take_order(const struct simulation *s)
{
    int count = s->options.order_count;
    struct sim_slice *order = count ? arena_array(&s->ctx->scratch, struct sim_slice, count) : NULL;
    for (int i = 0; i < count; i++)
        order[i] = (struct sim_slice){s->options.order[i].warp, s->options.order[i].steps};
    return order;
}

tw_status simulation_run(struct simulation *s, struct sim_launch *launch, struct arena *results,
                         tw_sim_result *result)
{
    arena_free(results);
    *result = simulation_nothing;
    if (s->options.order_count && (s->options.seed || !is_order(&s->options))) {
        diag_error(&s->ctx->diag, LOC_NONE,
                   "an order is a list of warps from 0 on, and cannot be combined with a seed");
        return TW_BAD_ARGUMENT;
    }
    launch->options.seed = s->options.seed;
    launch->options.order = take_order(s);
    launch->options.order_count = s->options.order_count;
    launch->options.async_late = s->options.late;
    launch->options.async_after = s->options.late_by > 0 ? s->options.late_by : 0;
    launch->options.step_limit = s->options.step_limit > 0 ? s->options.step_limit : 0;
    launch->options.cancelled = s->ctx->config.cancelled;
    launch->options.cancelled_user = s->ctx->config.cancelled_user;
    launch->options.progress = s->ctx->config.progress;
    launch->options.progress_user = s->ctx->config.progress_user;
    if (s->trace && !set_trace(s, launch))
        return TW_BAD_ARGUMENT;
    sim_report_launch(&s->report, launch->grid, launch->block);
    int errors = s->ctx->diag.errors;
    double from = platform_seconds();
    enum sim_end end = sim_run(s->sim, launch, &s->ctx->diag);
    result->seconds = platform_seconds() - from;
    if (s->ctx->diag.errors > errors) /* it could not be launched */
        return TW_BAD_ARGUMENT;
    context_outside(s->ctx, print_output, s);
    write_result(s, end, results, result);
    return status_of(s, end, result);
}
