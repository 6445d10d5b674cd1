/* Variants of entries: compiled for the arguments of a start that has none yet. */
#include "api/entry.h"

#include "base/grid.h"

#include <string.h>

void entry_fill_choice(tw_entry *e, const struct given *g)
{
    struct choice *choice = &e->launch->choice;
    for (int i = 0; i < e->param_count; i++) {
        const struct entry_param *p = &e->params[i];
        bool by_16 = g->key.word[0] >> i & 1, by_8 = g->key.word[1] >> i & 1;
        choice->known[i] = p->kind != TW_POINTER;
        choice->divisor[i] = by_16 ? 16 : by_8 ? 8 : p->kind == TW_POINTER ? (int)p->below + 1 : 1;
        launch_keep_value(
            e->launch, i,
            p->kind == TW_FLOAT
                ? (struct literal){.is_float = true, .f = dtype_load_f64(p->dtype, &g->value[i])}
                : (struct literal){.i = (int64_t)g->value[i]});
    }
}

/* Makes room for a variant. If there are many, facts about sizes get no variants of their own
 * any more; values of statics always need one. */
static tw_status make_room(const struct entry_call *c, struct given *g)
{
    tw_entry *e = c->entry;
    if (e->table.count >= VARIANTS_KEPT)
        entry_forget_facts(&g->key);
    if (e->table.count < ENTRY_VARIANTS)
        return TW_OK;
    const struct lang_kernel *info = e->launch->kernel->info;
    struct text names;
    text_init(&names, &e->ctx->scratch);
    for (int p = 0; p < info->param_count; p++)
        if (e->params[p].is_static)
            text_printf(&names, "%s`%s`", names.length ? ", " : "", info->params[p].name);
    diag_error(&e->ctx->diag, info->loc,
               "kernel `%s` has been compiled for %d combinations of values of %s, the most that "
               "an entry keeps: parameters that vary this much should not be static",
               info->name, ENTRY_VARIANTS, names.data);
    return TW_UNSUPPORTED;
}

/* Keeps only the parts of the lowered program that a launch needs. */
static void trim(struct variant *v)
{
    const struct lowered *whole = v->lowered;
    struct lowered *kept = arena_new(&v->arena, struct lowered);
    kept->shared_bytes = whole->shared_bytes;
    kept->cluster = whole->cluster;
    kept->begins_early = whole->begins_early;
    memcpy(kept->block, whole->block, sizeof kept->block);
    for (size_t i = 0; i < whole->params.count; i++) {
        struct lowered_param p = whole->params.data[i];
        p.map = p.map ? arena_copy(&v->arena, p.map, sizeof *p.map) : NULL;
        vec_push(&v->arena, &kept->params, p);
    }
    v->lowered = kept;
}

static void find_pairs(struct entry_variant *out, struct arena *a, const struct overlay *o)
{
    unsigned char all[ENTRY_PARAMS * ENTRY_PARAMS][2];
    for (int p = 0; p < ENTRY_PARAMS; p++)
        for (int q = 0; q < ENTRY_PARAMS; q++)
            if (o->apart[p] >> q & 1) {
                all[out->pairs][0] = (unsigned char)p;
                all[out->pairs++][1] = (unsigned char)q;
            }
    out->pair = arena_copy(a, all, (size_t)out->pairs * sizeof *all);
}

/* Lists what the kernel gets. A kernel with workspace, or with more maps than a start makes quickly, has
 * no quick starts. */
static void describe_passed(struct entry_variant *out, struct variant *v)
{
    const struct sym *views[ENTRY_MAPS];
    for (size_t i = 0; i < v->lowered->params.count && out->quick; i++) {
        const struct lowered_param *p = &v->lowered->params.data[i];
        unsigned char *from = &out->from[out->passed++];
        if (p->kind == LOWERED_MAP && p->sym->base && out->map_count < ENTRY_MAPS) {
            enum dtype t = p->sym->type.dtype;
            *from = (unsigned char)(FROM_MAPS + out->map_count);
            views[out->map_count] = p->sym;
            out->map[out->map_count++] =
                (struct entry_map){.form = lowered_map_form(p, tensor_map_type(t)),
                                   .type = t,
                                   .base = (unsigned char)p->sym->base->index};
        } else if (p->kind == LOWERED_SCALAR || p->kind == LOWERED_POINTER) {
            *from = (unsigned char)p->sym->index;
        } else {
            out->quick = false;
        }
    }
    if (out->map_count)
        launch_sizes_compile_all(&out->map_sizes, &v->arena, v->ir, views, out->map_count);
}

static struct entry_variant *describe(tw_entry *e, struct variant *v, const struct entry_key *key)
{
    struct entry_variant *out = arena_new(&v->arena, struct entry_variant);
    out->item.word = arena_copy(&v->arena, key->word, (size_t)key->words * sizeof *key->word);
    out->variant = v;
    out->program = v->program;
    if (!e->launch->allows_overlap)
        find_pairs(out, &v->arena, &v->overlay);
    if (!e->executor->streams)
        return out;
    trim(v);
    out->quick = !v->ir->cooperative;
    describe_passed(out, v);
    launch_sizes_compile(&out->sizes, &v->arena, v->ir);
    struct cuda_launch as = {.shared_bytes = v->lowered->shared_bytes,
                             .cluster = {v->lowered->cluster},
                             .overlap = v->lowered->begins_early};
    memcpy(as.block, v->lowered->block, sizeof as.block);
    out->launch = cuda_quick(e->ctx->cuda, v->module, &as);
    out->encoder = cuda_encoder(e->ctx->cuda);
    return out;
}

void entry_drop_unfinished(tw_entry *e)
{
    if (e->making)
        variant_free(e->ctx, e->making);
    e->making = NULL;
}

/* Returns true if the values of statics make too many blocks. Statics are arguments here, so
 * that is not an error of the program. */
static bool has_large_grid(const struct kernel *ir)
{
    int64_t blocks;
    for (int i = 0; ir && i < 3; i++)
        if (ir->grid[i] && eval_int(ir->grid[i], NULL, &blocks) && blocks > grid_limits[i])
            return true;
    return false;
}

/* Makes a variant. e->launch then has it. */
static tw_status make_variant(const struct entry_call *c, struct given *g,
                              const struct entry_variant **out)
{
    tw_entry *e = c->entry;
    tw_launch *l = e->launch;
    struct variant *v = e->making = context_object(e->ctx, sizeof *v);
    if (!v)
        return TW_NO_MEMORY;
    context_arena(e->ctx, &v->arena);
    entry_fill_choice(e, g);
    tw_status status = variant_compile(l->kernel, v, &l->choice, &e->ctx->scratch);
    if (status == TW_BAD_PROGRAM && has_large_grid(v->ir))
        status = TW_BAD_ARGUMENT;
    l->variant = v;
    l->prepared = status == TW_OK;
    if (status == TW_OK && e->executor->streams)
        status = launch_load(l);
    if (status != TW_OK)
        return status;
    struct entry_variant *made = describe(e, v, &g->key);
    made->next = e->variants;
    e->variants = made;
    e->making = NULL;
    entry_put(&e->table, &made->item, &g->key);
    if (e->table.count >= VARIANTS_KEPT)
        atomic_store_explicit(&e->full, true, memory_order_release);
    *out = made;
    return TW_OK;
}

tw_status entry_variant_of(const struct entry_call *c, struct given *g,
                           const struct entry_variant **out)
{
    *out = entry_find_variant(c->entry, g);
    if (*out)
        return TW_OK;
    tw_status status = TW_OK;
    if (c->entry->executor->streams)
        status = launch_not_captured(
            c->entry->launch, c->stream,
            arena_printf(&c->entry->ctx->scratch,
                         "it was not started with such arguments before, and cannot be compiled "
                         "while the stream is captured: call %s before the capture",
                         c->entry->made_ready_by));
    if (status == TW_OK)
        status = make_room(c, g);
    if (status == TW_OK)
        status = make_variant(c, g, out);
    if (status != TW_OK)
        entry_drop_unfinished(c->entry);
    return status;
}
