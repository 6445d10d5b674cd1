/* Resolves a launch from the caller's values: element types, tuned values, sizes.
 *
 * Types come from arrays, sizes from the axes of arrays whose view has a parameter as that axis.
 * If two sources differ, the message names both. */
#include "api/objects.h"

#include <string.h>
#include <inttypes.h>

/* --- types --- */

/* Returns the array that decides type variable t: the first parameter that has one; -1: none. */
static int deciding_array(const tw_launch *l, int t)
{
    const struct lang_kernel *info = l->kernel->info;
    for (int p = 0; p < info->param_count; p++)
        if (l->array_set[p] && info->params[p].type_variable == t)
            return p;
    return -1;
}

static bool type_listed(const struct lang_type *variable, enum dtype t)
{
    for (int i = 0; i < variable->count; i++)
        if (variable->choices[i] == t)
            return true;
    return false;
}

static void report_unlisted(tw_launch *l, const struct lang_type *variable, int param)
{
    struct text choices;
    text_init(&choices, &l->ctx->scratch);
    for (int i = 0; i < variable->count; i++)
        text_printf(&choices, "%s%s", i ? ", " : "", dtype_table[variable->choices[i]].name);
    diag_error(&l->ctx->diag, LOC_NONE, "`%s` is %s, but %s = {%s}",
               l->kernel->info->params[param].name, tw_dtype_name(l->arrays[param].dtype),
               variable->name, choices.data);
}

static void resolve_type(tw_launch *l, int t)
{
    const struct lang_kernel *info = l->kernel->info;
    const struct lang_type *variable = &info->types[t];
    struct diag *d = &l->ctx->diag;
    int first = deciding_array(l, t);
    enum dtype type = variable->choices[0];
    if (l->type_set[t])
        type = l->types[t];
    else if (first >= 0)
        type = (enum dtype)l->arrays[first].dtype;
    l->choice.types[t] = type;
    if (!type_listed(variable, type)) {
        report_unlisted(l, variable, first);
        return;
    }
    for (int p = 0; p < info->param_count; p++) {
        const struct lang_param *param = &info->params[p];
        if (!l->array_set[p] || param->type_variable != t || (int)l->arrays[p].dtype == (int)type)
            continue;
        const char *name = dtype_table[type].name, *is = tw_dtype_name(l->arrays[p].dtype);
        if (l->type_set[t])
            diag_error(d, LOC_NONE, "%s is set to %s; `%s` is %s, expected %s", variable->name,
                       name, param->name, is, name);
        else
            diag_error(d, LOC_NONE, "`%s` is %s, so %s = %s; `%s` is %s, expected %s",
                       info->params[first].name, name, variable->name, name, param->name, is, name);
    }
}

/* --- tuned values --- */

/* A group of names that vary together, and the row of its lists that is being tried. */
struct tune_group {
    int first, end; /* its names: a range of lang_kernel.tunes */
    int *rows;      /* to be tried, in order */
    int count, row; /* rows; the current one: index into rows */
};

enum { COMBINATIONS_TRIED = 1 << 20 };

/* Returns true if the row has the values that were set by hand. */
static bool row_matches(const tw_launch *l, const struct tune_group *g, int row)
{
    const struct lang_kernel *info = l->kernel->info;
    for (int t = g->first; t < g->end; t++)
        if (l->tune_set[t] && !literal_same(info->tunes[t].values[row], l->tunes[t]))
            return false;
    return true;
}

/* Chooses the rows to try: those that have the values set by hand; if there are none (an
 * unlisted value), all rows, for the names that were not set. */
static void group_rows(tw_launch *l, struct tune_group *g, int listed, bool all_set)
{
    g->rows = arena_array(&l->ctx->scratch, int, listed > 0 ? listed : 1);
    for (int row = 0; row < listed; row++)
        if (row_matches(l, g, row))
            g->rows[g->count++] = row;
    if (g->count == 0)
        for (int row = 0; row < listed; row++)
            g->rows[g->count++] = row;
    if (all_set || g->count == 0)
        g->count = 1;
}

static struct tune_group *tune_groups(tw_launch *l, int *count)
{
    const struct lang_kernel *info = l->kernel->info;
    struct tune_group *groups = arena_array(&l->ctx->scratch, struct tune_group, info->tune_count);
    *count = 0;
    for (int t = 0, end; t < info->tune_count; t = end) {
        bool all_set = true;
        for (end = t; end < info->tune_count && info->tunes[end].group == info->tunes[t].group;
             end++)
            all_set = all_set && l->tune_set[end];
        struct tune_group *g = &groups[(*count)++];
        g->first = t;
        g->end = end;
        group_rows(l, g, info->tunes[t].count, all_set);
    }
    return groups;
}

static void take_rows(tw_launch *l, const struct tune_group *groups, int count)
{
    const struct lang_kernel *info = l->kernel->info;
    for (int g = 0; g < count; g++) {
        int row = groups[g].rows[groups[g].row];
        for (int t = groups[g].first; t < groups[g].end; t++)
            l->choice.tunes[t] = l->tune_set[t] ? l->tunes[t] : info->tunes[t].values[row];
    }
}

/* Goes to the next combination of rows; the last group varies fastest. */
static bool next_rows(struct tune_group *groups, int count)
{
    for (int g = count - 1; g >= 0; g--) {
        if (++groups[g].row < groups[g].count)
            return true;
        groups[g].row = 0;
    }
    return false;
}

/* Moves each group whose names all come after the first `decided` ones to its last row. Returns
 * false if all of them were there. */
static bool skip_rows(struct tune_group *groups, int count, int decided)
{
    bool skipped = false;
    for (int g = count - 1; g >= 0 && groups[g].first >= decided; g--) {
        skipped = skipped || groups[g].row < groups[g].count - 1;
        groups[g].row = groups[g].count - 1;
    }
    return skipped;
}

const char *resolve_tunes_text(const tw_launch *l, bool only_set)
{
    const struct lang_kernel *info = l->kernel->info;
    struct text out;
    text_init(&out, &l->ctx->scratch);
    for (int t = 0; t < info->tune_count; t++) {
        if (only_set && !l->tune_set[t])
            continue;
        text_printf(&out, "%s%s = ", out.length ? ", " : "", info->tunes[t].name);
        resolve_add_literal(&out, l->choice.tunes[t]);
    }
    return out.data;
}

/* Conditions that some combination does not meet, each once. */
enum { CONDITIONS_NAMED = 6 };
struct violations {
    struct loc at[CONDITIONS_NAMED];
    int count;
};

static void add_violation(struct violations *v, struct loc at)
{
    for (int i = 0; i < v->count; i++)
        if (v->at[i].offset == at.offset)
            return;
    if (v->count < CONDITIONS_NAMED && at.source)
        v->at[v->count++] = at;
}

static void report_violated(tw_launch *l, const struct violations *v, bool others)
{
    struct diag *d = &l->ctx->diag;
    struct loc at = v->count ? v->at[0] : LOC_NONE;
    const char *set = resolve_tunes_text(l, true);
    const char *condition =
        at.source ? arena_string(&l->ctx->scratch, at.source->text + at.offset, at.length) : "…";
    if (!others)
        diag_error(d, at, "`require(%s)` does not hold for %s", condition,
                   resolve_tunes_text(l, false));
    else if (*set)
        diag_error(d, at, "no listed values go with %s: `require(%s)` does not hold", set,
                   condition);
    else
        diag_error(d, at, "no listed values of kernel `%s` are allowed by its `require`s",
                   l->kernel->info->name);
    for (int i = 1; i < v->count; i++)
        diag_note(d, v->at[i], "with other values this does not hold");
}

static void resolve_tunes(tw_launch *l)
{
    if (l->kernel->info->tune_count == 0)
        return;
    struct tune_rules *rules = modules_kernel_rules(l->kernel);
    int count, decided;
    struct tune_group *groups = tune_groups(l, &count);
    struct violations violated = {.count = 0};
    int tried = 0; /* combinations; skipped ones count once */
    bool others = false;
    do {
        take_rows(l, groups, count);
        struct loc why = LOC_NONE;
        if (lang_tune_rules_allow(rules, l->choice.tunes, &decided, &why))
            return;
        add_violation(&violated, why);
        others = skip_rows(groups, count, decided) || tried > 0;
    } while (++tried < COMBINATIONS_TRIED && next_rows(groups, count));
    for (int g = 0; g < count; g++)
        groups[g].row = 0;
    take_rows(l, groups, count);
    report_violated(l, &violated, others);
    if (tried == COMBINATIONS_TRIED)
        diag_note(&l->ctx->diag, LOC_NONE,
                  "the search ended after %d combinations; set some by hand", tried);
}

/* --- scalars --- */

/* The source of a size: the array and its axis; array -1: set by hand. */
struct origin {
    int array, axis;
    bool refused; /* an error already names it, with value */
    int64_t by;   /* this from an array */
};

/* Reports a derived parameter that is `was` and differs from an array's axis. */
static void report_derived(tw_launch *l, int p, long long was, int array, int axis)
{
    const struct lang_param *params = l->kernel->info->params;
    diag_error(&l->ctx->diag, params[p].loc,
               "`%s` is %lld (`%s`%s), but it is %lld by `%s` (axis %d)", params[p].name, was,
               params[p].derived_text, derive_values_text(l, params[p].derived),
               (long long)l->arrays[array].shape[axis], params[array].name, axis);
}

static void report_size(tw_launch *l, int p, struct origin *first, int array, int axis)
{
    const struct lang_param *params = l->kernel->info->params;
    struct diag *d = &l->ctx->diag;
    long long was = (long long)l->choice.values[p].i;
    long long is = (long long)l->arrays[array].shape[axis];
    if (first->refused && first->by == is)
        return; /* once is enough */
    first->refused = true;
    first->by = is;
    if (params[p].derived)
        report_derived(l, p, was, array, axis);
    else if (first->array < 0)
        diag_error(d, LOC_NONE, "`%s` is set to %lld, but it is %lld by `%s` (axis %d)",
                   params[p].name, was, is, params[array].name, axis);
    else
        diag_error(d, LOC_NONE, "`%s` is %lld by `%s` (axis %d) but %lld by `%s` (axis %d)",
                   params[p].name, was, params[first->array].name, first->axis, is,
                   params[array].name, axis);
}

/* Sets sizes that are not known yet, and compares those that are. */
static void infer_from(tw_launch *l, int array, struct origin *origins, bool derived)
{
    const struct lang_param *param = &l->kernel->info->params[array];
    if (!l->array_set[array] || l->arrays[array].rank != param->rank)
        return;
    for (int axis = 0; axis < param->rank; axis++) {
        int p = param->dim_param[axis];
        if (p < 0 || !l->kernel->info->params[p].derived == derived)
            continue;
        int64_t extent = l->arrays[array].shape[axis];
        if (derived && !l->choice.known[p])
            continue; /* an error was reported, or its inputs are not known */
        if (!l->choice.known[p]) {
            if (!l->value_set[p]) /* else an error was reported for it */
                launch_take_value(l, p, tw_int(extent));
            origins[p] = (struct origin){.array = array, .axis = axis};
        } else if (l->choice.values[p].i != extent && param->views <= 1) {
            report_size(l, p, &origins[p], array, axis);
        }
    }
}

/* Takes the value of a static parameter whose program is for one value; it takes no other. */
static bool take_only_value(tw_launch *l, int p)
{
    const struct lang_param *param = &l->kernel->info->params[p];
    const struct literal *only = &param->value;
    if (!param->has_value)
        return false;
    launch_take_value(l, p, value_of(*only));
    const tw_value *given = &l->values[p];
    double is = only->is_float ? only->f : (double)only->i;
    double wanted = value_number(*given);
    if (l->value_set[p] && memcmp(&is, &wanted, sizeof is) != 0) /* -0.0 is not 0.0, NaN is NaN */
        diag_error(&l->ctx->diag, LOC_NONE, "`%s` is set to %g, but this program is for `%s = %g`",
                   param->name, wanted, param->name, is);
    return true;
}

/* Infers sizes from arrays. Arrays of several views come last, because they may be longer than
 * one view gives. */
static void infer(tw_launch *l, struct origin *origins, bool derived)
{
    const struct lang_kernel *info = l->kernel->info;
    for (int many = 0; many < 2; many++)
        for (int p = 0; p < info->param_count; p++)
            if ((info->params[p].views > 1) == many)
                infer_from(l, p, origins, derived);
}

/* Fills in defaults for values that neither the caller nor an array gives, then the values that
 * follow from others. */
static void complete(tw_launch *l, bool statics_alone)
{
    const struct lang_kernel *info = l->kernel->info;
    for (int p = 0; p < info->param_count; p++) {
        const struct lang_param *param = &info->params[p];
        const struct literal *v = &param->value;
        bool asks = param->device && statics_alone; /* a build ships no number of this device */
        if (param->has_default && !asks && !l->choice.known[p] && !l->value_set[p])
            launch_take_value(l, p,
                              param->device ? tw_int(launch_device_number(l, p)) : value_of(*v));
        else if (param->derived)
            launch_derive(l, p, statics_alone);
    }
}

/* Names the missing inputs that would give an unset size. */
static void note_silent_arrays(tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    struct text names;
    text_init(&names, &l->ctx->scratch);
    for (int p = 0; p < info->param_count; p++) {
        bool says = false;
        for (int axis = 0; info->params[p].is_const && axis < info->params[p].rank; axis++) {
            int size = info->params[p].dim_param[axis];
            says = says || (size >= 0 && !l->choice.known[size]);
        }
        if (says && !l->array_set[p] && !l->array_refused[p])
            text_printf(&names, "%s`%s` (%s)", names.length ? ", " : "", info->params[p].name,
                        launch_param_text(&l->ctx->scratch, info, p));
    }
    if (names.length)
        diag_note(&l->ctx->diag, LOC_NONE, "no array was given for %s", names.data);
}

static void resolve_scalars(tw_launch *l, bool strict, bool statics_alone)
{
    const struct lang_kernel *info = l->kernel->info;
    struct diag *d = &l->ctx->diag;
    struct origin *origins = arena_array(&l->ctx->scratch, struct origin, info->param_count);
    for (int p = 0; p < info->param_count; p++) {
        l->choice.known[p] = false;
        origins[p] = (struct origin){.array = -1};
        if (!take_only_value(l, p) && !info->params[p].is_pointer && l->value_set[p] &&
            !info->params[p].derived)
            launch_take_value(l, p, l->values[p]);
    }
    infer(l, origins, false);
    complete(l, statics_alone);
    infer(l, origins, true);
    bool all = true;
    for (int p = 0; p < info->param_count && strict; p++)
        if (!info->params[p].is_pointer && !info->params[p].derived && !l->choice.known[p] &&
            !l->value_set[p] && origins[p].array < 0) {
            enum dtype t = launch_param_dtype(l, p);
            d->code = CODE_UNSET;
            diag_error(d, LOC_NONE, "`%s` (%s%s) is not set, and no array %s", info->params[p].name,
                       info->params[p].is_static ? "static " : "", dtype_table[t].name,
                       dtype_is_float(t) ? "says a float: set it" : "given says it");
            all = false;
        }
    if (all)
        return;
    note_silent_arrays(l);
    launch_note_refused(l);
}

/* Returns the divisor of an array's address that code for a GPU may assume: 16 bytes, which
 * vectors need, or less for an array on the device with a lower alignment. Arrays of the host
 * are copied to aligned memory. */
static int address_divisor(const tw_launch *l, int p)
{
    const tw_array *x = &l->arrays[p];
    int divisor = 16;
    while (l->array_set[p] && x->place == TW_ON_DEVICE && (uintptr_t)x->data % (unsigned)divisor)
        divisor /= 2;
    return divisor;
}

/* Finds run-time integers that are multiples of 16, or of 8 as the rows of 16-bit elements that
 * begin at multiples of 16 bytes: most masks are unnecessary because of them. */
static void find_divisors(tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    for (int p = 0; p < info->param_count; p++) {
        if (info->params[p].is_pointer) {
            l->choice.divisor[p] = address_divisor(l, p);
            continue;
        }
        bool fact = !info->params[p].is_static && l->choice.known[p] &&
                    dtype_is_int(launch_param_dtype(l, p));
        int64_t v = l->choice.values[p].i;
        l->choice.divisor[p] = !fact || v % 8 ? 1 : v % 16 ? 8 : 16;
    }
}

bool launch_check_declarations(tw_launch *l)
{
    const tw_kernel *k = l->kernel;
    struct lang_choice choice = {.target = k->target, .types = l->choice.types};
    return !k->info->has_wrong_params ||
           lang_check_params(&l->ctx->scratch, &l->ctx->diag, k->module->parsed, k->index, &choice);
}

static tw_status resolve(tw_launch *l, bool strict, bool statics_alone)
{
    const struct diag *d = &l->ctx->diag;
    l->resolved = false;
    l->choice.despite_races = false; /* launch_prepare alone sets both */
    l->choice.probe = NULL;
    for (int t = 0; t < l->kernel->info->type_count; t++)
        resolve_type(l, t);
    if (d->errors)
        return TW_BAD_ARGUMENT;
    if (strict && !launch_check_declarations(l))
        return TW_BAD_PROGRAM;
    resolve_tunes(l);
    resolve_scalars(l, strict, statics_alone);
    find_divisors(l);
    l->resolved = !d->errors;
    return d->errors ? TW_BAD_ARGUMENT : TW_OK;
}

tw_status launch_resolve(tw_launch *l, bool strict)
{
    return resolve(l, strict, false);
}

tw_status launch_resolve_facts(tw_launch *l)
{
    return resolve(l, false, true);
}

struct tune_rules *modules_kernel_rules(tw_kernel *k)
{
    tw_module *m = k->module;
    arena_doing(&m->arena, "searching for tuned values that its `require`s allow");
    if (!k->rules)
        k->rules = lang_tune_rules(&m->arena, m->parsed, k->index, k->target);
    return k->rules;
}
