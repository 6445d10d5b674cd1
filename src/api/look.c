/* Looks inside: the checks of one variant, the program after a pass, the devices. */
#include "api/layouts.h"
#include "synccheck/synccheck.h"
#include "api/pass_order.h"

#include "base/platform.h"
#include "cpu/routines/routines.h"
#include "plan/plan.h"
#include "thread/thread.h"
#include "tile/array_use.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* --- a variant without all of its sizes --- */

/* Values that are tried, in order, for statics that extents need: most `assume`s hold for these
 * multiples. */
static const int64_t stand_ins[] = {16, 64, 128, 256, 1024};

/* The most constants that parameters are compared with. */
enum { MOST_COMPARED = 64 };

struct compared {
    int count;
    struct {
        int param;
        int64_t value;
    } list[MOST_COMPARED];
};

struct look {
    tw_launch *launch;
    bool staged; /* `stage` is wanted, not the program after a pass */
    tw_stage stage;
    const char *pass;
    const char *text;
    tw_layouts *layouts; /* are wanted, not the text */
    const char *undecided;
    struct compared *compared;
    int64_t *terms;    /* of sums in a unit: where their number goes */
    const char *array; /* the pointer parameter whose use is wanted, */
    tw_array_use *use; /* and where it goes */
    struct choice *choice;
    bool *known; /* statics to compile in: given, or assumed */
};

/* Returns true if the kernel checks with these statics known. The IR and the messages use
 * scratch memory. */
static bool would_check(struct look *c)
{
    tw_context *ctx = c->launch->ctx;
    struct diag quiet;
    diag_init(&quiet, &ctx->scratch);
    return choice_check(&ctx->scratch, &quiet, c->launch->kernel, c->choice, c->known) != NULL;
}

static bool is_unknown_static(const struct look *c, int p)
{
    const struct lang_param *param = &c->launch->kernel->info->params[p];
    return param->is_static && !param->is_pointer && !c->launch->choice.known[p];
}

static void stand_in(struct look *c, int p, int64_t value)
{
    const struct lang_param *param = &c->launch->kernel->info->params[p];
    enum dtype t =
        param->type_variable >= 0 ? c->choice->types[param->type_variable] : param->dtype;
    c->choice->values[p] =
        dtype_is_float(t)
            ? (struct literal){.is_float = true, .f = 1}
            : (struct literal){.i = dtype_wrap(t, value) == value ? value : dtype_wrap(t, 16)};
}

static void set_stand_ins(struct look *c, int64_t value)
{
    for (int p = 0; p < c->launch->kernel->info->param_count; p++) {
        if (!is_unknown_static(c, p))
            continue;
        c->known[p] = true;
        stand_in(c, p, value);
    }
}

/* Lowers the IR. Returns NULL after a report. */
static struct lowered *lower_look(struct look *c, struct kernel *ir)
{
    tw_launch *l = c->launch;
    return choice_lower(&l->ctx->scratch, l->kernel, ir, c->choice, c->known);
}

/* Returns the reports with another value for the static p. */
static struct diag reports_with(struct look *c, int p, int64_t value)
{
    tw_context *ctx = c->launch->ctx;
    const tw_kernel *k = c->launch->kernel;
    struct literal *in_place = &c->choice->values[p], before = *in_place;
    struct diag shown = ctx->diag;
    diag_init(&ctx->diag, shown.arena);
    stand_in(c, p, value);
    struct kernel *ir = choice_check(&ctx->scratch, &ctx->diag, k, c->choice, c->known);
    if (ir && choice_passes(k, ir, c->choice, c->known, NULL) == TW_OK && c->staged)
        lower_look(c, ir);
    struct diag reports = ctx->diag;
    ctx->diag = shown;
    *in_place = before;
    return reports;
}

static bool same_reports(const struct diagnostic *a, const struct diagnostic *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (a->loc.offset != b->loc.offset || strcmp(a->message, b->message) != 0 ||
            !same_reports(a->notes, b->notes))
            return false;
    return !a && !b;
}

/* Returns true if other values of p give other reports, or other numbers in them. */
static bool depends_on(struct look *c, int p)
{
    static const int64_t others[] = {48, 1024};
    const struct diag *shown = &c->launch->ctx->diag;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct diag reports = reports_with(c, p, others[i]);
        if (!same_reports(reports.first, shown->first))
            return true;
    }
    return false;
}

/* Warns of assumed sizes of a printed program, because its text does not tell which they are. */
static void warn_of_stand_ins(struct look *c)
{
    const struct lang_kernel *info = c->launch->kernel->info;
    for (int p = 0; p < info->param_count; p++) {
        struct text value;
        if (!is_unknown_static(c, p) || !c->known[p])
            continue;
        text_init(&value, &c->launch->ctx->scratch);
        resolve_add_literal(&value, c->choice->values[p]);
        diag_warning(&c->launch->ctx->diag, LOC_NONE,
                     "%s = %s is assumed: `%s` needs it, and it is not set (--set %s=VALUE)",
                     info->params[p].name, value.data, info->name, info->params[p].name);
    }
}

/* Adds a note after errors that depend on assumed sizes; a program without errors gets none. */
static void note_stand_ins(struct look *c)
{
    const struct lang_kernel *info = c->launch->kernel->info;
    struct text names;
    text_init(&names, &c->launch->ctx->scratch);
    if (!c->launch->ctx->diag.first)
        return;
    for (int p = 0; p < info->param_count; p++) {
        if (!is_unknown_static(c, p) || !c->known[p] || !depends_on(c, p))
            continue;
        text_printf(&names, "%s%s = ", names.length ? ", " : "", info->params[p].name);
        resolve_add_literal(&names, c->choice->values[p]);
    }
    if (names.length)
        diag_note(&c->launch->ctx->diag, info->loc,
                  "`%s` was checked with %s, because extents need values and none was set",
                  info->name, names.data);
}

/* Chooses the fewest of the unset statics to compile in: an open size shows more (any number of
 * iterations) than a small one. If no choice helps, the error is in the program itself. */
static void choose_stand_ins(struct look *c)
{
    const struct lang_kernel *info = c->launch->kernel->info;
    bool all_known = true;
    for (int p = 0; p < info->param_count; p++)
        all_known = all_known && !is_unknown_static(c, p);
    if (all_known || would_check(c))
        return;
    size_t tries = sizeof stand_ins / sizeof *stand_ins, i = 0;
    for (; i < tries; i++) {
        set_stand_ins(c, stand_ins[i]);
        if (would_check(c))
            break;
    }
    if (i == tries) {
        set_stand_ins(c, stand_ins[0]); /* then the error is not about unknown sizes */
        return;
    }
    for (int p = 0; p < info->param_count; p++) {
        if (!is_unknown_static(c, p))
            continue;
        c->known[p] = false;
        if (!would_check(c))
            c->known[p] = true;
    }
}

/* Returns the typed program for the known values, before any pass; NULL after a report, with its
 * status in *status. */
static struct kernel *look_at(struct look *c, tw_status *status)
{
    tw_launch *l = c->launch;
    tw_context *ctx = l->ctx;
    const struct lang_kernel *info = l->kernel->info;
    l->prepared = false;
    *status = launch_resolve(l, false);
    if (*status != TW_OK)
        return NULL;
    c->choice = &l->choice;
    c->known = arena_array(&ctx->scratch, bool, info->param_count);
    for (int p = 0; p < info->param_count; p++)
        c->known[p] = info->params[p].is_static && l->choice.known[p];
    choose_stand_ins(c);
    struct kernel *ir = choice_check(&ctx->scratch, &ctx->diag, l->kernel, c->choice, c->known);
    *status = ir ? TW_OK : TW_BAD_PROGRAM;
    return ir;
}

/* --- check and show --- */

static tw_status check_call(void *user)
{
    struct look *c = user;
    tw_status status;
    struct kernel *ir = look_at(c, &status);
    if (ir)
        status = choice_passes(c->launch->kernel, ir, c->choice, c->known, NULL);
    if (c->known)
        note_stand_ins(c);
    return status;
}

tw_status tw_launch_check(tw_launch *l)
{
    return l ? context_call(l->ctx, check_call, &(struct look){.launch = l}) : TW_BAD_ARGUMENT;
}

static tw_status undecided_call(void *user)
{
    struct look *c = user;
    tw_context *ctx = c->launch->ctx;
    tw_status status;
    struct kernel *ir = look_at(c, &status);
    if (!ir || choice_passes(c->launch->kernel, ir, c->choice, c->known, "fold") != TW_OK)
        return TW_OK;
    struct launch_facts facts = {
        .values = c->choice->values, .known = c->known, .divisor = c->choice->divisor};
    struct diag quiet;
    diag_init(&quiet, &ctx->scratch);
    struct pass_context passes = {.kernel = ir,
                                  .diag = &quiet,
                                  .facts = &facts,
                                  .sync_memory = &c->launch->kernel->module->sync};
    const char *why = NULL;
    if (synccheck_kernel(&passes, &why) == SYNC_UNDECIDED)
        c->undecided = why ? why : "the program is too complex";
    return TW_OK;
}

const char *tw_launch_undecided(tw_launch *l)
{
    struct look call = {.launch = l};
    if (!l || context_call(l->ctx, undecided_call, &call) != TW_OK)
        return NULL;
    return call.undecided;
}

/* --- constants that sizes are compared with --- */

/* Returns the integer parameter that e is, widened or not; -1: it is not one. */
static int parameter_of(const struct expr *e)
{
    while (e->op == OP_CAST && dtype_is_int(e->args[0]->type.dtype))
        e = e->args[0];
    bool is = e->op == OP_REF && e->sym->storage == ST_PARAM && !e->sym->is_pointer &&
              dtype_is_int(e->type.dtype);
    return is ? e->sym->index : -1;
}

static void add_compared(struct compared *all, int param, int64_t value)
{
    for (int i = 0; i < all->count; i++)
        if (all->list[i].param == param && all->list[i].value == value)
            return;
    if (all->count == MOST_COMPARED)
        return;
    all->list[all->count].param = param;
    all->list[all->count++].value = value;
}

/* A slice with a constant end is whole up to that size of its axis, and a part of it past that. */
static void take_slices(struct compared *all, const struct expr *access)
{
    const struct sym *view = access->sym;
    for (int i = 0; view->storage == ST_VIEW && i < access->indices; i++) {
        const struct index *x = &access->index[i];
        int64_t start, end;
        int param = view->dims[i] ? parameter_of(view->dims[i]) : -1;
        if (x->kind == IX_SLICE && param >= 0 && eval_int(x->value, NULL, &start) && start >= 0 &&
            !__builtin_add_overflow(start, x->extent, &end))
            add_compared(all, param, end);
    }
}

static void take_compared(void *user, struct expr **at)
{
    struct compared *all = user;
    const struct expr *e = *at;
    if (e->op == OP_ACCESS)
        take_slices(all, e);
    if (e->op != OP_LT && e->op != OP_GT && e->op != OP_LE && e->op != OP_GE && e->op != OP_EQ &&
        e->op != OP_NE)
        return;
    for (int side = 0; side < 2; side++) {
        int64_t value;
        int param = parameter_of(e->args[side]);
        if (param >= 0 && eval_int(e->args[1 - side], NULL, &value))
            add_compared(all, param, value);
    }
}

static void take_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, take_compared, user);
}

static void take_statement(void *user, struct stmt *s)
{
    stmt_expressions(s, take_root, user);
}

static tw_status compared_call(void *user)
{
    struct look *c = user;
    tw_status status;
    struct kernel *ir = look_at(c, &status);
    if (ir)
        stmt_walk(ir->body, take_statement, c->compared);
    return status;
}

tw_status tw_launch_compared(tw_launch *l, int index, const char **param, int64_t *value)
{
    struct compared all = {0};
    if (!l || !param || !value)
        return TW_BAD_ARGUMENT;
    tw_status status =
        context_call(l->ctx, compared_call, &(struct look){.launch = l, .compared = &all});
    if (status != TW_OK)
        return status;
    if (index < 0 || index >= all.count)
        return TW_NOT_FOUND;
    *param = l->kernel->info->params[all.list[index].param].name;
    *value = all.list[index].value;
    return TW_OK;
}

/* --- sums in a unit --- */

static tw_status unit_terms_call(void *user)
{
    struct look *c = user;
    tw_status status;
    const struct kernel *ir = look_at(c, &status);
    if (ir)
        *c->terms = kernel_unit_terms(ir);
    return status;
}

tw_status tw_launch_unit_terms(tw_launch *l, int64_t *terms)
{
    if (!l || !terms)
        return TW_BAD_ARGUMENT;
    return context_call(l->ctx, unit_terms_call, &(struct look){.launch = l, .terms = terms});
}

/* --- the use of an array --- */

static tw_status array_use_call(void *user)
{
    struct look *c = user;
    tw_context *ctx = c->launch->ctx;
    const struct lang_kernel *info = c->launch->kernel->info;
    tw_status status;
    struct kernel *ir = look_at(c, &status);
    const struct param *p = ir ? ir->params : NULL;
    while (p && (!p->sym->is_pointer || strcmp(p->sym->name, c->array) != 0))
        p = p->next;
    if (!p)
        return ir ? TW_NOT_FOUND : status;
    struct scalar_env sizes = {c->choice->values, c->launch->choice.known, info->param_count};
    struct array_use found = array_use_find(&ctx->scratch, ir, p->sym, &sizes);
    tw_array_use use = {.is_index = found.is_index,
                        .is_computed = found.is_computed,
                        .is_starts = found.is_starts,
                        .is_atomic = found.is_atomic,
                        .extent = found.extent};
    FILL_SIZED(c->use, use);
    return TW_OK;
}

tw_status tw_launch_array_use(tw_launch *l, const char *array, tw_array_use *out)
{
    REFUSE_IF(l, l->ctx, !array || !out, "tw_launch_array_use: `array` or `out` is NULL");
    if (!SIZED_FITS(l->ctx, tw_array_use, out))
        return TW_BAD_ARGUMENT;
    return context_call(l->ctx, array_use_call,
                        &(struct look){.launch = l, .array = array, .use = out});
}

/* --- show --- */

static void add_value(struct text *out, const struct look *c, int p)
{
    struct literal v = c->choice->values[p];
    if (c->launch->kernel->info->params[p].dtype == DT_BOOL)
        text_add(out, v.i ? "true" : "false");
    else
        resolve_add_literal(out, v);
}

/* Writes comments above the text: the facts that a launch of it needs and that the text lacks. */
static void add_facts(struct text *out, const struct look *c, const struct lowered *lowered,
                      const struct kernel *ir)
{
    const struct lang_kernel *info = c->launch->kernel->info;
    if (c->stage == TW_STAGE_PTX) {
        text_printf(out, "// %s for %s: grid", ir->name, c->launch->kernel->target);
        for (int i = 0; i < 3 && ir->grid[i]; i++) {
            text_add(out, i ? ", " : " (");
            expr_print(out, ir->grid[i]);
        }
        text_printf(out, "), %d x %d x %d threads, %" PRId64 " bytes of dynamic shared memory\n",
                    lowered->block[0], lowered->block[1], lowered->block[2], lowered->shared_bytes);
    }
    for (int p = 0; p < info->param_count; p++) {
        if (info->params[p].is_pointer)
            continue;
        if (c->known && c->known[p]) {
            text_printf(out, "// compiled in: %s = ", info->params[p].name);
            add_value(out, c, p);
            text_add(out, is_unknown_static(c, p) ? ", assumed: it is not set (--set)\n" : "\n");
        } else if (c->choice->divisor && c->choice->divisor[p] > 1) {
            text_printf(out, "// only for %s divisible by %d\n", info->params[p].name,
                        (int)c->choice->divisor[p]);
        }
    }
}

int look_lines_before(const tw_launch *l)
{
    struct variant *v = l->variant;
    struct look c = {.launch = (tw_launch *)(uintptr_t)l, /* is only read */
                     .stage = TW_STAGE_PTX,
                     .choice = &v->key,
                     .known = v->key.known};
    struct text facts;
    int lines = 0;
    text_init(&facts, &l->ctx->scratch);
    add_facts(&facts, &c, v->lowered, v->ir);
    for (size_t i = 0; i < facts.length; i++)
        lines += facts.data[i] == '\n';
    return lines;
}

static tw_status unknown_pass(tw_context *ctx, const char *name)
{
    int count = pass_order_count + plan_pass_count;
    const char **names = arena_array(&ctx->scratch, const char *, count + 1);
    names[0] = "check";
    for (int i = 0; i < count; i++)
        names[i + 1] = tw_pass_name(i);
    if (context_name_find(name, names, count + 1) >= 0)
        return TW_OK;
    diag_error(&ctx->diag, LOC_NONE, "there is no pass `%s`", name);
    context_suggest(&ctx->diag, &ctx->scratch, name, names, count + 1);
    return TW_NOT_FOUND;
}

static bool is_of_program(const tw_module *m, const struct source *source)
{
    const struct lang_sources *texts = lang_program(m->parsed);
    for (size_t i = 0; i < texts->count; i++)
        if (texts->data[i] == source)
            return true;
    return false;
}

/* Keeps the places of the IR as numbers, because the IR is freed with the call. */
static void keep_line_places(tw_launch *l)
{
    for (size_t i = 0; i < l->shown_lines.list.count; i++) {
        struct printed_line *p = &l->shown_lines.list.data[i];
        if (!is_of_program(l->kernel->module, p->loc.source))
            p->loc = LOC_NONE;
    }
}

/* Returns the kernel with joined blocks if the pass `join` is shown and makes one; else ir. */
static struct kernel *joined_or_same(const struct look *c, struct kernel *ir)
{
    struct pass_context again = {.kernel = ir, .diag = &c->launch->ctx->diag};
    if (c->launch->kernel->executor->lowers || !c->pass || strcmp(c->pass, "join") != 0)
        return ir;
    pass_join(&again);
    return again.joined_count > 0 ? again.joined[0].kernel : ir;
}

static tw_status show_call(void *user)
{
    struct look *c = user;
    tw_launch *l = c->launch;
    tw_status status = c->pass ? unknown_pass(l->ctx, c->pass) : TW_OK;
    if (status != TW_OK)
        return status;
    struct kernel *ir = look_at(c, &status);
    if (!ir)
        return status;
    if (!c->pass || strcmp(c->pass, "check") != 0)
        status = choice_passes(l->kernel, ir, c->choice, c->known, c->pass);
    if (status != TW_OK)
        return status;
    struct lowered *lowered = NULL;
    if (c->staged && !(lowered = lower_look(c, ir))) {
        note_stand_ins(c);
        return TW_BAD_PROGRAM;
    }
    arena_free(&l->shown);
    l->shown_lines = (struct printed_lines){0};
    if (c->layouts) {
        layouts_of(&l->shown, lowered, c->layouts);
        return TW_OK;
    }
    struct text text;
    text_init(&text, &l->shown);
    if (c->staged) {
        add_facts(&text, c, lowered, ir);
    } else {
        kernel_print_lines(&text, joined_or_same(c, ir), &l->shown_lines);
        keep_line_places(l);
        warn_of_stand_ins(c);
    }
    if (c->staged && c->stage == TW_STAGE_THREAD)
        thread_print(&text, lowered->thread);
    else if (c->staged && c->stage == TW_STAGE_PTX)
        ptx_print(&text, lowered->module);
    else if (c->staged)
        show_layout(&text, lowered, l->kernel->target);
    c->text = text.data;
    return TW_OK;
}

tw_status tw_launch_show(tw_launch *l, const char *pass, const char **text)
{
    if (text)
        *text = NULL;
    REFUSE_IF(l, l->ctx, !text, "tw_launch_show: `text` is NULL");
    struct look call = {.launch = l, .pass = pass};
    tw_status status = context_call(l->ctx, show_call, &call);
    if (status == TW_OK)
        *text = call.text;
    return status;
}

bool tw_launch_shown_line(const tw_launch *l, int index, tw_shown_line *out)
{
    if (!l || !out || index < 0 || (size_t)index >= l->shown_lines.list.count ||
        !SIZED_FITS(l->ctx, tw_shown_line, out))
        return false;
    const struct printed_line *p = &l->shown_lines.list.data[index];
    tw_shown_line found = {.line = p->line, .added = p->added};
    if (p->loc.source) {
        found.file = p->loc.source->name;
        loc_line_column(p->loc, &found.source_line, &found.source_column);
    }
    FILL_SIZED(out, found);
    return true;
}

tw_status tw_launch_show_stage(tw_launch *l, tw_stage stage, const char **text)
{
    if (text)
        *text = NULL;
    REFUSE_IF(l, l->ctx, !text, "tw_launch_show_stage: `text` is NULL");
    if (stage != TW_STAGE_LAYOUT && stage != TW_STAGE_PTX && stage != TW_STAGE_THREAD)
        return context_refuse(l->ctx, "tw_launch_show_stage: there is no such stage");
    struct look call = {.launch = l, .staged = true, .stage = stage};
    tw_status status = launch_needs_ptx(l, "tw_launch_show_stage", "no PTX");
    if (status == TW_OK)
        status = context_call(l->ctx, show_call, &call);
    if (status == TW_OK)
        *text = call.text;
    return status;
}

tw_status tw_launch_layouts(tw_launch *l, tw_layouts *out)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!SIZED_FITS(l->ctx, tw_layouts, out))
        return TW_BAD_ARGUMENT;
    FILL_SIZED(out, ((tw_layouts){0}));
    tw_layouts found;
    struct look call = {.launch = l, .staged = true, .layouts = &found};
    tw_status status = launch_needs_ptx(l, "tw_launch_layouts", "none");
    if (status == TW_OK)
        status = context_call(l->ctx, show_call, &call);
    if (status == TW_OK)
        FILL_SIZED(out, found);
    return status;
}

/* Returns NULL if there is none: the passes of a GPU come after those of passes.h. */
static const struct plan_pass *plan_pass_at(int index)
{
    return index >= 0 && index < plan_pass_count ? &plan_pass_list[index] : NULL;
}

const char *tw_pass_name(int index)
{
    const struct plan_pass *planned = plan_pass_at(index - pass_order_count);
    if (planned)
        return planned->name;
    return index >= 0 && index < pass_order_count ? pass_order_list[index].name : NULL;
}

const char *tw_pass_summary(int index)
{
    const struct plan_pass *planned = plan_pass_at(index - pass_order_count);
    if (planned)
        return planned->summary;
    return index >= 0 && index < pass_order_count ? pass_order_list[index].summary : NULL;
}

/* --- devices --- */

/* Removes blanks at both ends and repeated ones: processors pad their names with them. */
static void trim_blanks(char *text)
{
    char *to = text;
    for (const char *c = text; *c; c++)
        if (*c != ' ' || (to > text && to[-1] != ' '))
            *to++ = *c;
    to -= to > text && to[-1] == ' ';
    *to = '\0';
}

/* Gives the processor's own name, "" if it has no instruction for that. `out` has 49 bytes. */
static void processor_name(char *out)
{
    out[0] = '\0';
#if defined(__x86_64__) || defined(__i386__)
    unsigned int words[12];
    unsigned int *w = words;
    for (unsigned int leaf = 0x80000002u; leaf <= 0x80000004u; leaf++, w += 4)
        if (!__get_cpuid(leaf, &w[0], &w[1], &w[2], &w[3]))
            return;
    memcpy(out, words, sizeof words);
    out[48] = '\0';
#endif
    trim_blanks(out);
}

static const char *architecture(void)
{
#if defined(__x86_64__)
    return "x86-64";
#elif defined(__aarch64__)
    return "arm64";
#elif defined(__riscv)
    return "riscv";
#else
    return "processor";
#endif
}

static bool describe_gpu(int ordinal, tw_device *out)
{
    static const char *const names[] = {
        "cuda",   "cuda:1", "cuda:2",  "cuda:3",  "cuda:4",  "cuda:5",  "cuda:6",  "cuda:7",
        "cuda:8", "cuda:9", "cuda:10", "cuda:11", "cuda:12", "cuda:13", "cuda:14", "cuda:15"};
    char why[CUDA_WHY];
    struct cuda_device d;
    if (ordinal < 0 || (size_t)ordinal >= sizeof names / sizeof *names ||
        !cuda_look(ordinal, &d, why))
        return false;
    *out = (tw_device){.name = names[ordinal],
                       .cores = d.multiprocessors,
                       .ordinal = ordinal,
                       .capability = d.capability,
                       .memory_bytes = (int64_t)d.memory,
                       .l2_bytes = d.l2_bytes,
                       .driver = d.driver};
    snprintf(out->description, sizeof out->description,
             "%.80s, %d multiprocessors, %d GB, compute capability %d.%d, CUDA %d.%d", d.name,
             d.multiprocessors, (int)(d.memory / 1000000000), d.capability / 10, d.capability % 10,
             d.driver / 1000, d.driver % 1000 / 10);
    snprintf(out->model, sizeof out->model, "%s", d.name);
    return true;
}

static void describe_host(tw_device *out)
{
    *out = (tw_device){.name = "cpu", .cores = platform_cores()};
    char name[49];
    processor_name(name);
    snprintf(out->description, sizeof out->description, "%s, %d core%s, %s, %s routines",
             name[0] ? name : "unnamed", out->cores, out->cores == 1 ? "" : "s", architecture(),
             routine_set_choose(false)->name);
    snprintf(out->model, sizeof out->model, "%s", name[0] ? name : "unnamed");
}

bool tw_device_at(int index, tw_device *out)
{
    tw_device found;
    if (index < 0 || !out || !SIZED_FITS(NULL, tw_device, out))
        return false;
    if (index == 0)
        describe_host(&found);
    else if (!describe_gpu(index - 1, &found))
        return false;
    FILL_SIZED(out, found);
    return true;
}
