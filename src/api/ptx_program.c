#include "api/ptx_program.h"

#include "api/ptx_memory.h"
#include "api/simulation.h"
#include "api/source_object.h"
#include "api/trace.h"
#include "sim/sim_trace.h"
#include "target/gpus.h"

#include "base/grid.h"

#include <string.h>

/* --- names --- */

/* Returns a kernel's name for messages: the name in its source, unless another kernel has that
 * too. */
static const char *shown_name(const tw_ptx *p, const struct ptx_function *f)
{
    const char *plain = f->name;
    for (size_t i = 0; i < p->kernels.count; i++)
        if (p->kernels.data[i] == f)
            plain = p->called.data[i];
    for (size_t i = 0; i < p->kernels.count; i++)
        if (p->kernels.data[i] != f && strcmp(p->called.data[i], plain) == 0)
            return f->name;
    return plain;
}

/* Returns "" if the name is lost: compilers then write KERNEL_param_2. */
static const char *param_name(struct arena *a, const struct ptx_function *f,
                              const struct ptx_variable *v)
{
    const char *made_up = arena_printf(a, "%s_param_", f->name);
    return strncmp(v->name, made_up, strlen(made_up)) == 0 ? "" : v->name;
}

/* --- made and freed --- */

/* "sm_90a" */
static const char *target_name(struct arena *a, struct ptx_target t)
{
    const char suffix[2] = {t.suffix, 0};
    return arena_printf(a, "sm_%d%s", t.number, suffix);
}

static void open_program(void *object, tw_context *ctx)
{
    tw_ptx *p = object;
    p->ctx = ctx;
    context_arena(ctx, &p->arena);
    context_arena(ctx, &p->assembled);
    context_arena(ctx, &p->simulated);
    context_arena(ctx, &p->explained);
}

/* Repeats the reports of one function and of parts that no function can use, or (f NULL) all. */
static void say_again(struct diag *d, const struct diag *found, const struct ptx_module *m,
                      const struct ptx_function *f)
{
    for (const struct diagnostic *one = found->first; one && !diag_full(d); one = one->next) {
        if (f && (one->severity != SEV_ERROR ||
                  !(ptx_is_within(f, one->loc) || ptx_is_opaque(m, one->loc))))
            continue;
        if (one->severity == SEV_ERROR)
            diag_error(d, one->loc, "%s", one->message);
        else
            diag_warning(d, one->loc, "%s", one->message);
        for (const struct diagnostic *note = one->notes; note; note = note->next)
            diag_note(d, note->loc, "%s", note->message);
    }
}

/* Reads the module. An error in a function only affects the kernels that need the function. The
 * text is refused only if no kernel is left to run. */
static struct ptx_module *read_module(tw_ptx *p)
{
    enum { MOST_ERRORS = 1000 };
    struct diag *found = &p->found;
    diag_init(found, &p->arena);
    found->limit = MOST_ERRORS;
    struct ptx_module *m = ptx_parse_most(&p->arena, &p->source, found);
    bool usable = m && ptx_refuse(m, found);
    if (usable && !diag_full(found)) {
        ptx_verify(m, found);
        usable = ptx_refuse(m, found) && !diag_full(found);
    }
    bool any = !found->errors;
    for (size_t i = 0; usable && i < m->items.count; i++) {
        const struct ptx_function *f = m->items.data[i].function;
        any |= m->items.data[i].kind == PTX_ITEM_FUNCTION && f->entry && !f->refused;
    }
    if (!usable || !any || !found->errors)
        say_again(&p->ctx->diag, found, m, NULL);
    return usable && any ? m : NULL;
}

static tw_status read_program(void *object, const struct source_given *given)
{
    tw_ptx *p = object;
    tw_status status = source_object_read(given, &p->arena, &p->ctx->diag, &p->source);
    if (status != TW_OK)
        return status;
    struct ptx_module *module = read_module(p);
    if (!module)
        return TW_BAD_PROGRAM;
    p->module = module;
    p->target = target_name(&p->arena, module->target);
    for (size_t i = 0; i < module->items.count; i++) {
        const struct ptx_item *item = &module->items.data[i];
        if (item->kind == PTX_ITEM_FUNCTION && item->function->entry)
            vec_push(&p->arena, &p->kernels, item->function);
        if (item->kind == PTX_ITEM_FILE)
            vec_push(&p->arena, &p->files, item->file);
    }
    for (size_t i = 0; i < p->kernels.count; i++)
        vec_push(&p->arena, &p->called, ptx_plain_name(&p->arena, p->kernels.data[i]->name));
    return TW_OK;
}

static void destroy(void *object)
{
    tw_ptx *p = object;
    cuda_unload(p->ctx->cuda, p->loaded);
    arena_free(&p->simulated);
    arena_free(&p->explained);
    arena_free(&p->assembled);
    arena_free(&p->arena);
    context_object_free(p->ctx, p, sizeof *p);
}

static tw_status program_new(tw_context *ctx, const struct source_given *given, tw_ptx **out)
{
    static const struct source_kind kind = {sizeof(tw_ptx), open_program, read_program, destroy};
    tw_status status;
    tw_ptx *p = source_object(ctx, &kind, given, &status);
    if (out)
        *out = p;
    if (!p)
        return status;
    p->next = ctx->programs;
    ctx->programs = p;
    ctx->frees.ptx = tw_ptx_free;
    return TW_OK;
}

tw_status tw_ptx_from_text(tw_context *ctx, const char *name, const char *text, size_t length,
                           tw_ptx **out)
{
    const struct source_given given = {"tw_ptx_from_text", name, text, length, false, out, NULL};
    return program_new(ctx, &given, out);
}

tw_status tw_ptx_from_file(tw_context *ctx, const char *path, tw_ptx **out)
{
    const struct source_given given = {"tw_ptx_from_file", path, NULL, 0, true, out, NULL};
    return program_new(ctx, &given, out);
}

void tw_ptx_free(tw_ptx *p)
{
    if (!p)
        return;
    UNLINK(tw_ptx, p->ctx->programs, p);
    destroy(p);
}

/* --- queries --- */

int tw_ptx_kernel_count(const tw_ptx *p)
{
    return p ? (int)p->kernels.count : 0;
}

const char *tw_ptx_kernel_at(const tw_ptx *p, int index)
{
    return index >= 0 && index < tw_ptx_kernel_count(p) ? p->kernels.data[index]->name : NULL;
}

const char *tw_ptx_kernel_called(const tw_ptx *p, int index)
{
    return index >= 0 && index < tw_ptx_kernel_count(p) ? p->called.data[index] : NULL;
}

static const struct ptx_function *find_kernel(const tw_ptx *p, const char *name)
{
    if (!name)
        return p->kernels.count == 1 ? p->kernels.data[0] : NULL;
    for (size_t i = 0; i < p->kernels.count; i++)
        if (strcmp(p->kernels.data[i]->name, name) == 0)
            return p->kernels.data[i];
    return NULL;
}

bool tw_ptx_block(const tw_ptx *p, const char *kernel, int block[3])
{
    const struct ptx_function *f = p ? find_kernel(p, kernel) : NULL;
    bool found = false;
    for (size_t i = 0; f && i < f->limits.count; i++) {
        const struct ptx_limit *limit = &f->limits.data[i];
        if (limit->directive != PTX_REQNTID && (found || limit->directive != PTX_MAXNTID))
            continue;
        for (uint32_t k = 0; k < 3; k++)
            block[k] = k < limit->count ? (int)limit->values[k] : 1;
        found = true;
    }
    return found;
}

int tw_ptx_param_count(const tw_ptx *p, const char *kernel)
{
    const struct ptx_function *f = p ? find_kernel(p, kernel) : NULL;
    return f ? (int)f->signature.parameters.count : -1;
}

struct param_call {
    const tw_ptx *program;
    const char *kernel;
    int index;
    tw_ptx_param param;
};

static tw_status describe_param(void *user)
{
    struct param_call *call = user;
    const struct ptx_function *f = find_kernel(call->program, call->kernel);
    tw_context *ctx = call->program->ctx;
    if (!f || call->index < 0 || call->index >= (int)f->signature.parameters.count) {
        diag_error(&ctx->diag, LOC_NONE, "there is no such kernel or parameter");
        return TW_NOT_FOUND;
    }
    const struct ptx_variable *v = f->signature.parameters.data[call->index];
    struct text type;
    text_init(&type, &ctx->message_memory);
    text_printf(&type, ".%s", ptx_mods[v->type].text);
    for (int i = 0; i < v->dimensions; i++)
        text_printf(&type, "[%lld]", (long long)v->extents[i]);
    call->param = (tw_ptx_param){.name = v->name,
                                 .type = type.data,
                                 .bytes = (size_t)ptx_variable_size(v),
                                 .alignment = ptx_variable_alignment(v)};
    return TW_OK;
}

tw_status tw_ptx_param_at(const tw_ptx *p, const char *kernel, int index, tw_ptx_param *out)
{
    if (!p || !out || !SIZED_FITS(p->ctx, tw_ptx_param, out))
        return TW_BAD_ARGUMENT;
    struct param_call call = {.program = p, .kernel = kernel, .index = index};
    tw_status status = context_call(p->ctx, describe_param, &call);
    if (status == TW_OK)
        FILL_SIZED(out, call.param);
    return status;
}

const char *tw_ptx_source_at(const tw_ptx *p, int index)
{
    return p && index >= 0 && index < (int)p->files.count ? p->files.data[index]->name : NULL;
}

struct text_call {
    tw_ptx *program;
    const char *name;
    const void *data;
    size_t length;
};

static tw_status add_source(void *user)
{
    const struct text_call *call = user;
    tw_ptx *p = call->program;
    struct source *s = arena_new(&p->arena, struct source);
    *s = (struct source){.name = arena_string(&p->arena, call->name, strlen(call->name)),
                         .text = arena_string(&p->arena, call->data, call->length),
                         .length = call->length};
    vec_push(&p->arena, &p->sources, s);
    return TW_OK;
}

tw_status tw_ptx_source(tw_ptx *p, const char *name, const char *text, size_t length)
{
    REFUSE_IF(p, p->ctx, !name || !text, "tw_ptx_source: `name` or `text` is NULL");
    return context_call(p->ctx, add_source, &(struct text_call){p, name, text, length});
}

const char *tw_ptx_target(const tw_ptx *p)
{
    return p ? p->target : "";
}

/* Takes the machine code and checks that it is a cubin. Each run checks that it fits the kernel. */
static tw_status keep_machine_code(void *user)
{
    const struct text_call *call = user;
    tw_ptx *p = call->program;
    const char *why = "it has no kernel";
    struct sass sass;
    for (size_t i = 0; i < p->kernels.count && why; i++)
        why = sass_read(&p->ctx->scratch, call->data, call->length, p->module,
                        p->kernels.data[i]->name, &sass);
    if (why) {
        diag_error(&p->ctx->diag, LOC_NONE, "%s: %s", p->source.name, why);
        return TW_BAD_PROGRAM;
    }
    arena_free(&p->assembled);
    p->machine_code = NULL;
    p->machine_code = arena_copy(&p->assembled, call->data, call->length);
    p->machine_code_length = call->length;
    return TW_OK;
}

tw_status tw_ptx_machine_code(tw_ptx *p, const void *cubin, size_t length)
{
    REFUSE_IF(p, p->ctx, !cubin, "tw_ptx_machine_code: `cubin` is NULL");
    return context_call(p->ctx, keep_machine_code, &(struct text_call){p, NULL, cubin, length});
}

/* --- launches --- */

static const struct ptx_function *no_kernel(tw_ptx *p, const char *name, tw_status *status)
{
    struct diag *d = &p->ctx->diag;
    int count = (int)p->kernels.count;
    const char **names = arena_array(&p->ctx->scratch, const char *, count + 1);
    for (int i = 0; i < count; i++)
        names[i] = p->kernels.data[i]->name;
    if (name)
        diag_error(d, LOC_NONE, "%s has no kernel `%s`", p->source.name, name);
    else if (count == 0)
        diag_error(d, LOC_NONE, "%s has no kernel", p->source.name);
    else
        diag_error(d, LOC_NONE, "%s has %d kernels: say which", p->source.name, count);
    context_suggest(d, &p->ctx->scratch, name ? name : "", names, count);
    *status = TW_NOT_FOUND;
    return NULL;
}

static const char *param_list(tw_ptx *p, const struct ptx_function *f)
{
    struct text out;
    text_init(&out, &p->ctx->scratch);
    text_add(&out, "");
    for (size_t i = 0; i < f->signature.parameters.count; i++) {
        const struct ptx_variable *v = f->signature.parameters.data[i];
        const char *name = param_name(&p->ctx->scratch, f, v);
        text_printf(&out, "%s.%s%s%s (%llu byte%s)", i ? ", " : "", ptx_mods[v->type].text,
                    *name ? " " : "", name, (unsigned long long)ptx_variable_size(v),
                    ptx_variable_size(v) == 1 ? "" : "s");
    }
    return out.data;
}

/* Checks that values have the size of their parameter, and that addresses are given for
 * parameters that take one. */
static void check_arguments(tw_ptx *p, const struct ptx_function *f, const tw_ptx_launch *l)
{
    struct diag *d = &p->ctx->diag;
    int count = (int)f->signature.parameters.count;
    const char *kernel = shown_name(p, f);
    if (l->argument_count != count) {
        diag_error(d, LOC_NONE, "%s takes %d argument%s, %d %s given", kernel, count,
                   count == 1 ? "" : "s", l->argument_count, l->argument_count == 1 ? "is" : "are");
        if (count)
            diag_note(d, LOC_NONE, "they are %s", param_list(p, f));
        return;
    }
    for (int i = 0; i < count; i++) {
        const struct ptx_variable *v = f->signature.parameters.data[i];
        const tw_ptx_argument *a = &l->arguments[i];
        size_t bytes = (size_t)ptx_variable_size(v), given = a->is_array ? 8 : a->bytes;
        if (bytes != given) {
            const char *name = param_name(&p->ctx->scratch, f, v);
            diag_error(d, LOC_NONE, "argument %d of %s: %s has %zu byte%s (.%s), %s has %zu", i,
                       kernel, *name ? arena_printf(&p->ctx->scratch, "`%s`", name) : "it", bytes,
                       bytes == 1 ? "" : "s", ptx_mods[v->type].text,
                       a->is_array ? "the address of an array" : "the value given", given);
        } else if (!a->data && a->bytes) {
            diag_error(d, LOC_NONE, "argument %d of %s: its data is NULL", i, kernel);
        }
        for (int k = 0; k < a->pointer_count && !a->is_array; k++)
            if (!a->pointers || a->pointers[k].offset > bytes ||
                bytes - a->pointers[k].offset < 8 ||
                (!a->pointers[k].data && a->pointers[k].bytes)) {
                diag_error(d, LOC_NONE,
                           "argument %d of %s: pointer %d is not within its value, or its data is "
                           "NULL",
                           i, kernel, k);
                break;
            }
    }
}

/* Notes the source line of the latest message about a function: the line of the instruction
 * before it, because the refused one was left out. */
static void note_line(tw_ptx *p, const struct ptx_function *f)
{
    struct diag *d = &p->ctx->diag;
    const struct ptx_line *line = NULL;
    for (size_t i = 0; i < f->body.count && d->last; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        if (s->where.offset >= d->last->loc.offset && line)
            break;
        if (s->kind == PTX_AT_INSTRUCTION && s->instruction->line)
            line = s->instruction->line;
    }
    for (size_t i = 0; i < p->files.count && line; i++)
        if (p->files.data[i]->number == line->file)
            diag_note(d, LOC_NONE, "this is near line %u of %s", (unsigned)line->line,
                      p->files.data[i]->name);
}

/* Returns true if the kernel and everything it reaches have no errors. */
static bool is_sound(tw_ptx *p, const struct ptx_function *kernel)
{
    struct diag *d = &p->ctx->diag;
    struct ptx_reach r = {.arena = &p->ctx->scratch, .module = p->module};
    ptx_reach(&r, kernel);
    for (size_t i = 0; i < r.functions.count; i++)
        if (r.functions.data[i]->refused) {
            say_again(d, &p->found, p->module, r.functions.data[i]);
            note_line(p, r.functions.data[i]);
        }
    return !d->errors;
}

const struct ptx_function *launch_ptx_kernel(tw_ptx *p, const tw_ptx_launch *l, tw_status *status)
{
    struct diag *d = &p->ctx->diag;
    const struct ptx_function *f = find_kernel(p, l->kernel);
    if (!f)
        return no_kernel(p, l->kernel, status);
    *status = TW_BAD_PROGRAM;
    if (!is_sound(p, f))
        return NULL;
    check_arguments(p, f, l);
    for (int i = 0; i < 3; i++)
        if (l->grid[i] < 0 || l->grid[i] > grid_limits[i] || l->block[i] < 0)
            diag_error(d, LOC_NONE, "a grid or block of %lld and %d along %c cannot be launched",
                       (long long)l->grid[i], l->block[i], "xyz"[i]);
    *status = d->errors ? TW_BAD_ARGUMENT : TW_OK;
    return d->errors ? NULL : f;
}

tw_status launch_ptx_read(tw_ptx *p, const tw_ptx_launch *launch, tw_ptx_launch *to)
{
    tw_status status = READ_SIZED(p->ctx, tw_ptx_launch, to, launch);
    if (status == TW_OK && to->argument_count && !to->arguments)
        status = context_refuse(p->ctx, "tw_ptx_launch.arguments is NULL");
    return status;
}

struct simulate_ptx_call {
    tw_ptx *program;
    const tw_ptx_launch *launch;
    struct simulation simulation;
    tw_sim_result *result;
};

/* Places the memory. Uninitialised memory becomes the machine's own, so that it does not count
 * as written: it is copied there, and back afterwards. */
static tw_status place_memory(struct simulate_ptx_call *call, struct ptx_memory *m)
{
    struct sim *sim = call->simulation.sim;
    for (int i = 0; i < m->block_count; i++) {
        struct ptx_block *b = &m->blocks[i];
        b->address = b->uninitialised ? sim_allocate(sim, b->bytes, NULL, b->name)
                                      : sim_attach(sim, b->data, b->bytes, b->name);
        if (!b->address) {
            diag_error(&call->program->ctx->diag, LOC_NONE, "no memory for `%s`", b->name);
            return TW_NO_MEMORY;
        }
        if (b->structs)
            sim_hold_structs(sim, b->address);
        if (b->uninitialised && b->bytes)
            sim_hold(sim, b->address, b->data, b->bytes, b->initialised);
    }
    return TW_OK;
}

static void copy_back(struct simulate_ptx_call *call, const struct ptx_memory *m)
{
    for (int i = 0; i < m->block_count; i++) {
        const struct ptx_block *b = &m->blocks[i];
        if (b->uninitialised && b->bytes)
            memcpy(b->data, sim_host(call->simulation.sim, b->address, b->bytes), b->bytes);
    }
}

/* Makes the grid's barrier of cooperative groups, which %envreg1 and %envreg2 point to: its size
 * and a counter (struct grid_workspace of the toolkit's
 * cooperative_groups/details/driver_abi.h). */
static bool make_cooperative(struct simulate_ptx_call *call, struct sim_launch *launch)
{
    static const uint32_t workspace[2] = {sizeof workspace, 0};
    int64_t blocks = (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    int64_t threads = (int64_t)launch->block[0] * launch->block[1] * launch->block[2];
    int64_t most = threads > 0 ? target_gpu_most_blocks(threads) : 0;
    if (blocks > most && most) {
        diag_error(&call->program->ctx->diag, LOC_NONE,
                   "a cooperative launch of %lld blocks of %lld threads: no GPU runs more than "
                   "%lld of them at the same time",
                   (long long)blocks, (long long)threads, (long long)most);
        return false;
    }
    launch->options.resident_blocks = (int)blocks;
    launch->workspace =
        sim_allocate(call->simulation.sim, sizeof workspace, workspace, "the grid's workspace");
    return launch->workspace;
}

/* Finds the values whose bytes the caller did not all write. */
static void find_partial(struct arena *a, const tw_ptx_launch *l, const struct ptx_function *f,
                         struct sim_launch *launch)
{
    struct sim_partial *partial = arena_array(a, struct sim_partial, l->argument_count + 1);
    for (int i = 0; i < l->argument_count; i++) {
        const tw_ptx_argument *g = &l->arguments[i];
        const char *name = g->name ? g->name : f->signature.parameters.data[i]->name;
        if (g->unwritten && !g->is_array)
            partial[launch->partial_count++] = (struct sim_partial){i, name, g->unwritten};
    }
    launch->partial = partial;
}

/* Finds machine code that fits the kernel, for the counters. */
static void look_assembled(struct simulate_ptx_call *call, const struct ptx_function *f)
{
    const tw_ptx *p = call->program;
    struct sass *sass = arena_new(&call->simulation.arena, struct sass);
    bool fits = p->machine_code && !sass_read(&call->simulation.arena, p->machine_code,
                                              p->machine_code_length, p->module, f->name, sass);
    simulation_as_assembled(&call->simulation, fits ? sass : NULL);
}

static void trace_memory(struct simulate_ptx_call *call, const struct ptx_function *f,
                         const struct ptx_memory *memory)
{
    const tw_ptx *p = call->program;
    trace_settings(&call->simulation, f->name, p->target, &p->source);
    for (int i = 0; i < memory->block_count; i++) {
        const struct ptx_block *b = &memory->blocks[i];
        struct sim_trace_memory m = {.space = SIM_GLOBAL,
                                     .address = b->address,
                                     .bytes = b->bytes,
                                     .name = b->name,
                                     .data = b->data};
        sim_trace_name(call->simulation.trace, &m);
    }
}

static tw_status simulate_ptx(void *user)
{
    struct simulate_ptx_call *call = user;
    tw_ptx *p = call->program;
    const tw_ptx_launch *l = call->launch;
    tw_status status;
    const struct ptx_function *f = launch_ptx_kernel(p, l, &status);
    if (!f)
        return status;
    status = simulation_load(&call->simulation, p->module, &p->source);
    if (status != TW_OK)
        return status;
    call->simulation.report.plain = true;
    for (size_t i = 0; i < p->sources.count; i++)
        sim_report_add_source(&call->simulation.report, p->sources.data[i]);
    look_assembled(call, f);
    struct ptx_memory memory;
    launch_ptx_memory_find(&memory, &p->ctx->scratch, l, f);
    status = place_memory(call, &memory);
    if (status != TW_OK)
        return status;
    const struct target *target = target_find(p->module->target);
    struct sim_launch launch = {.kernel = f->name,
                                .dynamic_shared = l->shared_bytes,
                                .shared_most = target ? target->shared_bytes : 0,
                                .arguments = launch_ptx_memory_values(&memory, &p->ctx->scratch),
                                .argument_count = l->argument_count};
    if (call->simulation.trace)
        trace_memory(call, f, &memory);
    find_partial(&p->ctx->scratch, l, f, &launch);
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = l->grid[i] ? (unsigned)l->grid[i] : 1;
        launch.block[i] = l->block[i] ? (unsigned)l->block[i] : 1;
        launch.cluster[i] = l->cluster[i] > 0 ? (unsigned)l->cluster[i] : 1;
    }
    if (l->cooperative && !make_cooperative(call, &launch))
        return p->ctx->diag.errors ? TW_BAD_ARGUMENT : TW_NO_MEMORY;
    status = simulation_run(&call->simulation, &launch, &p->simulated, call->result);
    copy_back(call, &memory);
    return status;
}

tw_status tw_ptx_simulate(tw_ptx *p, const tw_ptx_launch *launch, const tw_sim_options *options,
                          tw_sim_result *result)
{
    tw_ptx_launch given;
    tw_sim_result found = simulation_nothing;
    struct simulate_ptx_call call = {.program = p, .launch = &given, .result = &found};
    REFUSE_IF(p, p->ctx, !launch, "tw_ptx_simulate: `launch` is NULL");
    tw_status status = simulation_open(&call.simulation, p->ctx, options, result);
    if (status == TW_OK)
        status = launch_ptx_read(p, launch, &given);
    if (status != TW_OK)
        return status;
    status = context_call(p->ctx, simulate_ptx, &call);
    simulation_close(&call.simulation);
    if (result && status != TW_NO_MEMORY)
        FILL_SIZED(result, found);
    return status;
}
