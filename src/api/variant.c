/* Variants: one compiled version of a kernel for each choice of tuned values, types, statics and
 * facts about sizes. The kernel keeps the most recently used. */
#include "api/objects.h"
#include "cpu/program.h"
#include "emit/emit.h"
#include "plan/plan.h"
#include "tile/probe.h"

#include <string.h>

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
static int *alignment_of(struct arena *a, const tw_kernel *k, const struct choice *c)
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
                                .alignment = alignment_of(ir->arena, k, c)};
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
        if (!passes_run(passes, "variance"))
            return TW_BAD_PROGRAM;
        probe_add(ir, c->probe, passes->diag);
    }
    if (passes->diag->errors > errors)
        return TW_BAD_ARGUMENT;
    if (passes_run(passes, last))
        return is_planned(k, last) ? plan_to(k, ir, c, last) : TW_OK;
    return passes->refused_by == pass_synccheck ? TW_UNSYNCHRONISED : TW_BAD_PROGRAM;
}

tw_status choice_passes(const tw_kernel *k, struct kernel *ir, const struct choice *c,
                        const bool *statics_known, const char *last)
{
    struct pass_context passes;
    return choice_passes_kept(k, ir, c, statics_known, last, &passes);
}

struct lowered *choice_lower(struct arena *a, const tw_kernel *k, struct kernel *ir,
                             const struct choice *c, const bool *statics_known)
{
    struct lowered *out = arena_new(a, struct lowered);
    struct lowered_options options = {
        .target = k->device, .alignment = alignment_of(a, k, c), .lines = true};
    if (emit_kernel(a, ir, &options, &k->module->ctx->diag, out))
        return out;
    if (out->excess != LOWERED_FITS)
        fit_note(k, c, statics_known, out->excess);
    return NULL;
}

static struct view_list *find_views(struct arena *a, const struct kernel *ir)
{
    struct view_list *views = arena_array(a, struct view_list, ir->param_count + 1);
    for (const struct sym *s = ir->symbols; s; s = s->next)
        if (s->storage == ST_VIEW && s->base)
            vec_push(a, &views[s->base->index].all, s);
    return views;
}

static void find_sizes(struct variant *v)
{
    VEC(const struct sym *) all = {.count = 0};
    for (const struct sym *s = v->ir->symbols; s; s = s->next)
        if (s->storage == ST_VIEW)
            vec_push(&v->arena, &all, s);
    v->sized = all.data;
    launch_sizes_compile_all(&v->sizes, &v->arena, v->ir, v->sized, (int)all.count);
}

tw_status gpu_compile(tw_kernel *k, struct variant *v, const struct pass_context *passes,
                      struct arena *lowered)
{
    (void)passes;
    v->lowered = choice_lower(lowered, k, v->ir, &v->key, v->key.known);
    return v->lowered ? TW_OK : TW_BAD_PROGRAM;
}

tw_status host_compile(tw_kernel *k, struct variant *v, const struct pass_context *passes,
                       struct arena *lowered)
{
    (void)lowered;
    tw_context *ctx = k->module->ctx;
    const char *why = "";
    v->program = cpu_compile(&v->arena, v->ir, ctx->config.machine_bits, &why);
    if (!v->program) {
        diag_error(&ctx->diag, v->ir->loc, "kernel `%s` cannot run on the cpu: %s", v->ir->name,
                   why);
        return TW_UNSUPPORTED;
    }
    for (int i = 0; i < passes->joined_count; i++)
        cpu_add_joined(&v->arena, v->program, passes->joined[i].kernel, passes->joined[i].joins);
    return TW_OK;
}

tw_status variant_compile(tw_kernel *k, struct variant *v, const struct choice *c,
                          struct arena *lowered)
{
    v->key = choice_copy(&v->arena, k->info, c);
    v->ir = choice_check(&v->arena, &k->module->ctx->diag, k, &v->key, v->key.known);
    if (!v->ir)
        return TW_BAD_PROGRAM;
    struct pass_context passes;
    tw_status status = choice_passes_kept(k, v->ir, &v->key, v->key.known, NULL, &passes);
    if (status != TW_OK)
        return status;
    v->views = find_views(&v->arena, v->ir);
    find_sizes(v);
    overlay_find(&v->arena, v->ir, &v->overlay);
    return k->executor->compile(k, v, &passes, lowered);
}

void variant_free(tw_context *ctx, struct variant *v)
{
    for (tw_launch *l = ctx->launches; l; l = l->next) {
        if (l->begun.variant == v)
            launch_settle(l);
        if (l->variant == v) {
            l->variant = NULL;
            l->prepared = false;
        }
    }
    cuda_unload(ctx->cuda, v->module);
    arena_free(&v->arena);
    context_object_free(ctx, v, sizeof *v);
}

static void drop_oldest(tw_kernel *k)
{
    struct variant **at = &k->variants;
    while ((*at)->next)
        at = &(*at)->next;
    struct variant *oldest = *at;
    *at = NULL;
    k->variant_count--;
    variant_free(k->module->ctx, oldest);
}

/* Drops a variant that a call left unfinished. A variant is in the list while it is being
 * compiled, so that the next call finds it if memory runs out. */
static void drop_unfinished(tw_kernel *k)
{
    struct variant *first = k->variants;
    if (!first || first->program || first->lowered)
        return;
    k->variants = first->next;
    k->variant_count--;
    variant_free(k->module->ctx, first);
}

tw_status variant_for(tw_kernel *k, const struct choice *c, struct variant **out)
{
    drop_unfinished(k);
    for (struct variant **at = &k->variants; *at; at = &(*at)->next) {
        struct variant *v = *at;
        if (!choice_same(k->info, &v->key, c))
            continue;
        *at = v->next;
        v->next = k->variants;
        k->variants = v;
        *out = v;
        return TW_OK;
    }
    tw_context *ctx = k->module->ctx;
    struct variant *v = context_object(ctx, sizeof *v);
    if (!v)
        return TW_NO_MEMORY;
    context_arena(ctx, &v->arena);
    v->next = k->variants;
    k->variants = v;
    if (++k->variant_count > VARIANTS_KEPT)
        drop_oldest(k);
    tw_status status = variant_compile(k, v, c, &v->arena);
    if (status == TW_OK)
        *out = v;
    else
        drop_unfinished(k);
    return status;
}

void variant_free_all(tw_kernel *k)
{
    while (k->variants) {
        struct variant *v = k->variants;
        k->variants = v->next;
        variant_free(k->module->ctx, v);
    }
    k->variant_count = 0;
}
