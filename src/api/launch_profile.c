/* Profiles of launches on the CPU engine, and the reasons for which they do not take its fastest
 * ways. */
#include "api/objects.h"
#include "cpu/peaks.h"
#include "tilewright_profile.h"

#include <stdlib.h>
#include <string.h>

const char *tw_operand_path_name(tw_operand_path path)
{
    static const char *const names[] = {"plain", "shared", "in place", "own"};
    bool known = path >= 0 && path < TW_OPERAND_PATHS;
    return known ? names[path] : "";
}

/* --- places --- */

struct place {
    const char *file;
    int line, column;
};

static struct place place_of(struct loc at)
{
    struct place p = {0};
    if (!at.source)
        return p;
    p.file = at.source->name;
    loc_line_column(at, &p.line, &p.column);
    return p;
}

/* Returns the source line at a place, without the blanks around it. */
static const char *line_text(struct arena *a, struct loc at)
{
    if (!at.source)
        return NULL;
    const char *text = at.source->text, *first = text + at.offset, *end = first;
    while (first > text && first[-1] != '\n')
        first--;
    while (end < text + at.source->length && *end != '\n')
        end++;
    while (first < end && (*first == ' ' || *first == '\t'))
        first++;
    while (end > first && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    return arena_string(a, first, (size_t)(end - first));
}

/* --- slow paths --- */

static tw_slow_path slow_of(struct arena *a, const struct cpu_slow_path *s)
{
    struct place at = place_of(s->loc), cause = place_of(s->cause);
    return (tw_slow_path){.size = sizeof(tw_slow_path),
                          .code = cpu_slow_code(s->slow),
                          .file = at.file,
                          .line = at.line,
                          .column = at.column,
                          .cause_line = cause.line,
                          .reason = cpu_slow_reason(a, s),
                          .way_out = cpu_slow_way_out(s)};
}

struct slow_call {
    tw_launch *launch;
    int index;
    tw_slow_path found;
};

static tw_status slow_call(void *user)
{
    struct slow_call *call = user;
    tw_launch *l = call->launch;
    tw_status status = launch_prepare(l);
    if (status != TW_OK)
        return status;
    const struct cpu_slow_path *s =
        call->index < 0 ? NULL : cpu_slow_path_at(l->variant->program, (size_t)call->index);
    if (!s)
        return TW_NOT_FOUND;
    call->found = slow_of(&l->ctx->message_memory, s);
    return TW_OK;
}

tw_status tw_launch_slow_path(tw_launch *l, int index, tw_slow_path *out)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!SIZED_FITS(l->ctx, tw_slow_path, out))
        return TW_BAD_ARGUMENT;
    struct slow_call call = {.launch = l, .index = index};
    tw_status status = launch_needs_host(l, "tw_launch_slow_path: the kernel is a GPU's");
    if (status == TW_OK)
        status = context_call(l->ctx, slow_call, &call);
    if (status == TW_OK)
        FILL_SIZED(out, call.found);
    return status;
}

/* --- parts --- */

struct profiling {
    tw_launch *launch;
    int runs;
    struct arena *results;
    struct cpu_profile profile;
    tw_profile out;
    VEC(tw_profile_part) steps;
    VEC(tw_profile_part) lines;
    VEC(tw_profile_part) kinds;
    VEC(tw_profile_product) products;
};

static void add_part(tw_profile_part *to, const tw_profile_part *part)
{
    to->runs += part->runs;
    to->seconds += part->seconds;
    to->flops += part->flops;
    to->read += part->read;
    to->written += part->written;
}

static void add_to_line(struct profiling *p, const tw_profile_part *part)
{
    for (size_t i = 0; i < p->lines.count; i++) {
        tw_profile_part *line = &p->lines.data[i];
        if (line->line == part->line && line->file == part->file) {
            add_part(line, part);
            return;
        }
    }
    tw_profile_part line = *part;
    line.kind = line.title = NULL;
    line.operation = "";
    line.column = 0;
    vec_push(p->results, &p->lines, line);
}

static void add_to_kind(struct profiling *p, const tw_profile_part *part)
{
    for (size_t i = 0; i < p->kinds.count; i++)
        if (p->kinds.data[i].kind == part->kind) {
            add_part(&p->kinds.data[i], part);
            return;
        }
    tw_profile_part kind = *part;
    kind.file = kind.text = NULL;
    kind.line = kind.column = 0;
    kind.operation = "";
    vec_push(p->results, &p->kinds, kind);
}

static void take_part(struct profiling *p, const tw_profile_part *part)
{
    vec_push(p->results, &p->steps, *part);
    add_to_line(p, part);
    add_to_kind(p, part);
    p->out.thread_seconds += part->seconds;
    p->out.flops += part->flops;
    p->out.read += part->read;
    p->out.written += part->written;
}

static void take_product(struct profiling *p, const tw_profile_part *part, size_t index)
{
    const struct cpu_step_profile *s = &p->profile.steps[index];
    tw_profile_product product = {.file = part->file,
                                  .line = part->line,
                                  .column = part->column,
                                  .runs = s->runs,
                                  .seconds = s->product,
                                  .packing_seconds = s->seconds,
                                  .flops = s->work.flops,
                                  .type = cpu_product_type(p->profile.program, index)};
    for (int path = 0; path < TW_OPERAND_PATHS; path++) {
        product.left[path] = s->operand[0][path];
        product.right[path] = s->operand[1][path];
    }
    vec_push(p->results, &p->products, product);
}

static void set_kind(tw_profile_part *part, enum cpu_step_kind kind)
{
    part->kind = cpu_step_kind_name(kind);
    part->title = cpu_step_kind_title(kind);
}

/* A product is two parts: its multiplications, and the packing before them. */
static void take_step(struct profiling *p, size_t index)
{
    const struct cpu_step_profile *s = &p->profile.steps[index];
    struct cpu_step step = cpu_program_step(p->results, p->profile.program, index);
    struct place at = place_of(step.loc);
    if (s->runs == 0)
        return;
    tw_profile_part part = {.file = at.file,
                            .line = at.line,
                            .column = at.column,
                            .text = line_text(p->results, step.loc),
                            .operation = step.operation,
                            .runs = s->runs,
                            .seconds = s->seconds,
                            .flops = step.is_product ? 0 : s->work.flops,
                            .read = s->work.read,
                            .written = s->work.written};
    set_kind(&part, step.kind);
    take_part(p, &part);
    if (!step.is_product)
        return;
    take_product(p, &part, index);
    part.seconds = s->product;
    part.flops = s->work.flops;
    part.read = part.written = 0;
    set_kind(&part, CPU_STEP_PRODUCT);
    take_part(p, &part);
}

static int by_line(const void *a, const void *b)
{
    const tw_profile_part *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int by_seconds(const void *a, const void *b)
{
    const tw_profile_part *x = a, *y = b;
    return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

static void set_shares(const struct profiling *p, tw_profile_part *parts, size_t count)
{
    for (size_t i = 0; i < count && p->out.thread_seconds > 0; i++)
        parts[i].share = parts[i].seconds / p->out.thread_seconds;
}

static void list_parts(struct profiling *p)
{
    size_t count = cpu_program_steps(p->profile.program);
    for (size_t i = 0; i < count; i++)
        take_step(p, i);
    if (p->lines.count > 1)
        qsort(p->lines.data, p->lines.count, sizeof *p->lines.data, by_line);
    if (p->kinds.count > 1)
        qsort(p->kinds.data, p->kinds.count, sizeof *p->kinds.data, by_seconds);
    set_shares(p, p->steps.data, p->steps.count);
    set_shares(p, p->lines.data, p->lines.count);
    set_shares(p, p->kinds.data, p->kinds.count);
    p->out.steps = p->steps.data;
    p->out.step_count = (int)p->steps.count;
    p->out.lines = p->lines.data;
    p->out.line_count = (int)p->lines.count;
    p->out.kinds = p->kinds.data;
    p->out.kind_count = (int)p->kinds.count;
    p->out.products = p->products.data;
    p->out.product_count = (int)p->products.count;
}

static void list_threads(struct profiling *p)
{
    int count = p->profile.thread_count;
    tw_profile_thread *threads = arena_array(p->results, tw_profile_thread, count + 1);
    for (int i = 0; i < count; i++)
        threads[i] = (tw_profile_thread){p->profile.threads[i].busy, p->profile.threads[i].blocks};
    p->out.threads = threads;
    p->out.thread_count = count;
}

static void list_slow(struct profiling *p)
{
    const struct cpu_program *program = p->profile.program;
    int count = 0;
    while (cpu_slow_path_at(program, (size_t)count))
        count++;
    tw_slow_path *slow = arena_array(p->results, tw_slow_path, count + 1);
    for (int i = 0; i < count; i++)
        slow[i] = slow_of(p->results, cpu_slow_path_at(program, (size_t)i));
    p->out.reasons = slow;
    p->out.reason_count = count;
}

static double bytes_of_arrays(const tw_launch *l)
{
    double bytes = 0;
    for (int i = 0; i < l->kernel->info->param_count; i++)
        if (l->kernel->info->params[i].is_pointer && l->array_set[i])
            bytes += (double)launch_array_length(&l->arrays[i]) *
                     (double)tw_dtype_size(l->arrays[i].dtype);
    return bytes;
}

static tw_status profile_call(void *user)
{
    struct profiling *p = user;
    tw_launch *l = p->launch;
    struct cpu_argument *args;
    tw_status status = launch_arguments(l, &args);
    if (status == TW_OK)
        status = launch_keep_inputs(l, args);
    if (status != TW_OK)
        return status;
    context_settle(l->ctx);
    arena_free(p->results);
    struct cpu_profile *profile = &p->profile;
    const struct cpu_program *program = l->variant->program;
    profile->calls = &cpu_profile_calls;
    profile->program = program;
    profile->steps =
        arena_array(p->results, struct cpu_step_profile, cpu_program_most_steps(program));
    profile->most_threads = l->ctx->parallel.run ? l->ctx->parallel.threads : 1;
    profile->threads = arena_array(p->results, struct cpu_thread_profile, profile->most_threads);
    status = launch_on_host_profiled(l, args, p->runs, profile);
    if (status != TW_OK)
        return status;
    list_parts(p);
    list_threads(p);
    list_slow(p);
    p->out.kernel = l->kernel->info->name;
    p->out.instructions = cpu_program_set(program);
    p->out.launches = profile->launches;
    p->out.blocks = profile->blocks;
    p->out.bound_blocks = profile->bound_blocks;
    p->out.seconds = profile->seconds;
    p->out.profiler = profile->mechanism;
    p->out.array_bytes = bytes_of_arrays(l);
    return TW_OK;
}

tw_status tw_launch_profile(tw_launch *l, int runs, tw_profile *out)
{
    REFUSE_IF(l, l->ctx, !out || runs < 1,
              "tw_launch_profile: `runs` is less than 1, or `out` NULL");
    if (!SIZED_FITS(l->ctx, tw_profile, out))
        return TW_BAD_ARGUMENT;
    struct profiling p = {.launch = l, .runs = runs, .results = &l->profiled};
    tw_status status = launch_needs_host(l, "tw_launch_profile: the kernel is a GPU's; "
                                            "tw_launch_explain says what limits it");
    if (status == TW_OK)
        status = context_call(l->ctx, profile_call, &p);
    if (status == TW_OK)
        FILL_SIZED(out, p.out);
    return status;
}
