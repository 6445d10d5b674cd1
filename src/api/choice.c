/* A choice of tuned values, types and statics: its checked kernel, and the passes over it. */
#include "api/objects.h"
#include "synccheck/synccheck.h"
#include "api/pass_order.h"
#include "plan/plan.h"
#include "tile/probe.h"

#include <string.h>

struct choice choice_new(struct arena *a, const struct lang_kernel *info)
{
    return (struct choice){
        .tunes = arena_array(a, struct literal, info->tune_count),
        .types = arena_array(a, enum dtype, info->type_count),
        .values = arena_array(a, struct literal, info->param_count),
        .known = arena_array(a, bool, info->param_count),
        .divisor = arena_array(a, int, info->param_count),
    };
}

bool choice_same(const struct lang_kernel *info, const struct choice *a, const struct choice *b)
{
    if (a->any_threads != b->any_threads || a->despite_races != b->despite_races ||
        a->probe != b->probe)
        return false;
    for (int t = 0; t < info->tune_count; t++)
        if (!literal_same(a->tunes[t], b->tunes[t]))
            return false;
    for (int t = 0; t < info->type_count; t++)
        if (a->types[t] != b->types[t])
            return false;
    for (int p = 0; p < info->param_count; p++) {
        if (a->divisor[p] != b->divisor[p])
            return false;
        if (!info->params[p].is_static)
            continue;
        if (a->known[p] != b->known[p] ||
            (a->known[p] && !literal_same(a->values[p], b->values[p])))
            return false;
    }
    return true;
}

struct choice choice_copy(struct arena *a, const struct lang_kernel *info, const struct choice *c)
{
    struct choice copy = choice_new(a, info);
    copy.any_threads = c->any_threads;
    copy.despite_races = c->despite_races;
    copy.probe = c->probe;
    for (int t = 0; t < info->tune_count; t++)
        copy.tunes[t] = c->tunes[t];
    for (int t = 0; t < info->type_count; t++)
        copy.types[t] = c->types[t];
    for (int p = 0; p < info->param_count; p++) {
        copy.divisor[p] = c->divisor[p];
        copy.known[p] = info->params[p].is_static && c->known[p];
        if (copy.known[p])
            copy.values[p] = c->values[p];
    }
    return copy;
}

static bool is_listed(const struct lang_tune *tune, struct literal value)
{
    for (int i = 0; i < tune->count; i++)
        if (literal_same(tune->values[i], value))
            return true;
    return false;
}

/* Returns the first error after `skipped` others; NULL: there is none. */
static const struct diagnostic *error_after(const struct diag *d, int skipped)
{
    for (const struct diagnostic *one = d->first; one; one = one->next)
        if (one->severity == SEV_ERROR && skipped-- == 0)
            return one;
    return NULL;
}

/* Returns true if the same first error comes with listed values in place of those set by hand. */
static bool errs_with_listed(struct arena *a, const struct diag *d, const tw_kernel *k,
                             struct lang_choice choice, int errors)
{
    const struct lang_kernel *info = k->info;
    struct literal *listed = arena_array(a, struct literal, (size_t)info->tune_count);
    struct diag quiet;
    for (int t = 0; t < info->tune_count; t++)
        listed[t] = is_listed(&info->tunes[t], choice.tunes[t]) ? choice.tunes[t]
                                                                : info->tunes[t].values[0];
    choice.tunes = listed;
    diag_init(&quiet, a);
    lang_check(a, &quiet, k->module->parsed, k->index, &choice);
    const struct diagnostic *mine = error_after(d, errors), *other = error_after(&quiet, 0);
    return mine && other && mine->loc.source == other->loc.source &&
           mine->loc.offset == other->loc.offset && strcmp(mine->message, other->message) == 0;
}

/* Reports one error for a value set by hand. It may be any value, and a wrong one causes errors
 * wherever it is used; this error names the value as their cause. */
static void blame_unlisted(struct arena *a, struct diag *d, const struct lang_kernel *info,
                           const struct choice *c, int errors)
{
    bool first = true;
    for (int t = 0; t < info->tune_count; t++) {
        const struct lang_tune *tune = &info->tunes[t];
        struct text value;
        if (is_listed(tune, c->tunes[t]))
            continue;
        if (first)
            diag_keep_first(d, errors);
        first = false;
        text_init(&value, a);
        resolve_add_literal(&value, c->tunes[t]);
        diag_note(d, tune->loc, "`%s` was set to %s, which is not in its list", tune->name,
                  value.data);
    }
}

struct kernel *choice_check(struct arena *a, struct diag *d, const tw_kernel *k,
                            const struct choice *c, const bool *statics_known)
{
    int errors = d->errors;
    arena_doing(a, "compiling a kernel");
    const struct lang_choice choice = {
        .target = k->target,
        .tunes = k->info->tune_count ? c->tunes : NULL,
        .types = k->info->type_count ? c->types : NULL,
        .statics = c->values,
        .statics_known = statics_known,
        .any_threads = c->any_threads,
    };
    struct kernel *ir = lang_check(a, d, k->module->parsed, k->index, &choice);
    if (d->errors == errors)
        return ir;
    if (choice.tunes && !errs_with_listed(a, d, k, choice, errors))
        blame_unlisted(a, d, k->info, c, errors);
    return NULL;
}

/* Returns the bytes that divide the address of each pointer parameter, by parameter index. */
int *choice_alignment(struct arena *a, const tw_kernel *k, const struct choice *c)
{
    int *alignment = arena_array(a, int, k->info->param_count + 1);
    for (int p = 0; p < k->info->param_count; p++)
        alignment[p] = c->divisor && c->divisor[p] ? c->divisor[p] : 16;
    return alignment;
}

/* Returns true for a pass that decides for the GPU that the kernel is compiled for (plan/plan.h). */
static bool is_planned(const tw_kernel *k, const char *pass)
{
    for (int i = 0; k->executor->lowers && pass && i < plan_pass_count; i++)
        if (strcmp(plan_pass_list[i].name, pass) == 0)
            return true;
    return false;
}

static tw_status plan_to(const tw_kernel *k, struct kernel *ir, const struct choice *c,
                         const char *last)
{
    struct plan_context plan = {.kernel = ir,
                                .target = k->device,
                                .diag = &k->module->ctx->diag,
                                .alignment = choice_alignment(ir->arena, k, c)};
    return plan_run(&plan, last) ? TW_OK : TW_BAD_PROGRAM;
}

tw_status choice_passes_kept(const tw_kernel *k, struct kernel *ir, const struct choice *c,
                             const bool *statics_known, const char *last,
                             struct pass_context *passes)
{
    struct launch_facts facts = {
        .values = c->values, .known = statics_known, .divisor = c->divisor};
    *passes = (struct pass_context){.kernel = ir,
                                    .diag = &k->module->ctx->diag,
                                    .facts = &facts,
                                    .sync_memory = &k->module->sync,
                                    .sm = k->device ? k->device->ptx.number : 0,
                                    .shared_most = target_most_shared(),
                                    .despite_races = c->despite_races};
    int errors = passes->diag->errors;
    if (c->probe) {
        if (!pass_order_run(passes, "variance"))
            return TW_BAD_PROGRAM;
        probe_add(ir, c->probe, passes->diag);
    }
    if (passes->diag->errors > errors)
        return TW_BAD_ARGUMENT;
    if (pass_order_run(passes, last))
        return is_planned(k, last) ? plan_to(k, ir, c, last) : TW_OK;
    return passes->refused_by == synccheck_pass ? TW_UNSYNCHRONISED : TW_BAD_PROGRAM;
}

tw_status choice_passes(const tw_kernel *k, struct kernel *ir, const struct choice *c,
                        const bool *statics_known, const char *last)
{
    struct pass_context passes;
    return choice_passes_kept(k, ir, c, statics_known, last, &passes);
}
