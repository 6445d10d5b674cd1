/* Variants: one compiled version of a kernel for each choice of tuned values, types, statics and
 * facts about sizes. The kernel keeps the most recently used. */
#include "api/objects.h"
#include "cpu/program.h"
#include "emit/emit.h"
#include "plan/plan.h"

struct lowered *choice_lower(struct arena *a, const tw_kernel *k, struct kernel *ir,
                             const struct choice *c, const bool *statics_known)
{
    struct lowered *out = arena_new(a, struct lowered);
    struct lowered_options options = {
        .target = k->device, .alignment = choice_alignment(a, k, c), .lines = true};
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
