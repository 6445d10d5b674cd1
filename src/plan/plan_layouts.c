/* The plan: in which order it is found, and what the rest asks of it.
 *
 *   products         the hardware's fragments; plan_layouts_dot.c
 *   register tiles   by vote of what they are assigned and used for; plan_layouts_symbol.c
 *   shared tiles     after them: the registers that meet them are then known; plan_layouts_shared.c
 *   global accesses  when they are emitted; plan_layouts_view.c
 */
#include "plan/plan_layouts_own.h"

/* --- For show --- */

static void note_layout(struct layouts *l, const struct sym *s, const char *what,
                        const struct layout *layout, enum dtype t)
{
    struct lowered_placed placed = {s, what, layout, dtype_table[t].bits, false, NULL};
    vec_push(l->arena, &l->out->placed, placed);
}

static void note_dots(struct layouts *l)
{
    struct line_starts lines = {0};
    for (size_t i = 0; i < l->plan->dots.count; i++) {
        const struct dot_plan *d = &l->plan->dots.data[i].plan;
        const struct expr *e = l->plan->dots.data[i].use.e;
        const char *where = "dot";
        if (e->loc.source) {
            int line, column;
            loc_line_starts_find(l->arena, &lines, e->loc, &line, &column);
            where = arena_printf(l->arena, "dot at %d:%d", line, column);
        }
        note_layout(l, NULL, arena_printf(l->arena, "%s, left factor", where), d->a, d->factor);
        note_layout(l, NULL, arena_printf(l->arena, "%s, right factor", where), d->b, d->factor);
        note_layout(l, NULL, arena_printf(l->arena, "%s, sum", where), d->c, d->sum);
    }
}

static void note_all(struct layouts *l)
{
    for (size_t i = 0; i < l->plan->tiles.count; i++) {
        const struct planned_shared *t = l->plan->tiles.data[i];
        struct lowered_placed placed = {t->sym,  NULL,
                                        t->kept, dtype_table[t->sym->type.dtype].bits,
                                        true,    layout_shared_form_names[t->form]};
        vec_push(l->arena, &l->out->placed, placed);
    }
    for (size_t i = 0; i < l->plan->symbols.count; i++) {
        const struct planned_symbol *s = l->plan->symbols.data[i];
        note_layout(l, s->sym, NULL, s->is.layout, s->sym->type.dtype);
    }
    note_dots(l);
}

bool plan_make(struct layouts *l)
{
    l->plan = arena_new(l->arena, struct plan);
    plan_settle_sums(l);
    l->plan->stmts = plan_statements(l->arena, l->kernel);
    plan_scalars(l);
    plan_find_symbols(l);
    plan_dots(l);
    if (l->failed)
        return false;
    plan_symbols(l);
    plan_tiles(l);
    note_all(l);
    return !l->failed;
}

/* --- Answers --- */

const struct dot_plan *plan_dot(struct layouts *l, const struct expr *e)
{
    struct planned_dot *d = plan_planned_dot(l, e);
    return d ? &d->plan : NULL;
}

bool plan_reads_again(const struct layouts *l, const struct expr *value)
{
    for (size_t i = 0; value && i < l->plan->dots.count; i++) {
        const struct dot_plan *d = &l->plan->dots.data[i].plan;
        if (d->a_again == value || d->b_again == value)
            return true;
    }
    return false;
}

bool plan_multiplies_elements(const struct layouts *l)
{
    for (size_t i = 0; l->plan && i < l->plan->dots.count; i++)
        if (l->plan->dots.data[i].plan.kind == DOT_FMA)
            return true;
    return false;
}

const struct layout *plan_symbol(struct layouts *l, const struct sym *s)
{
    const struct planned_symbol *p = plan_planned_symbol(l, s);
    return p && p->is.layout ? p->is.layout : plan_blocked(l, &s->type, 0);
}

const struct layout *plan_shared(struct layouts *l, const struct sym *s)
{
    const struct planned_shared *t = pointer_map_get(&l->plan->shared_of, s);
    return t ? t->kept : NULL;
}

const struct layout *plan_copy(struct layouts *l, const struct expr *target,
                               const struct expr *value)
{
    const struct layout *copy = target ? pointer_map_get(&l->plan->copy_of, target) : NULL;
    if (!copy && value)
        copy = pointer_map_get(&l->plan->copy_of, value);
    return copy ? copy : plan_blocked(l, target ? &target->type : &value->type, 0);
}

/* --- Coalesced layouts --- */

static bool same_kind(const struct type *a, const struct type *b)
{
    return dtype_table[a->dtype].bits == dtype_table[b->dtype].bits && type_same_shape(a, b);
}

/* As wide as rows allow, but not so wide that threads have nothing. */
static int usual_vector(const struct layouts *l, const int32_t *extents, const struct type *t)
{
    int vector = layout_widest_vector(extents, t->rank, dtype_table[t->dtype].bits);
    while (vector > 1 && (int64_t)vector * l->warps * WARP_LANES > type_elements(t))
        vector /= 2;
    return vector;
}

void plan_rows(const struct type *t, struct layout *out)
{
    int32_t extents[MAX_RANK] = {0};
    for (int i = 0; i < t->rank; i++)
        extents[i] = (int32_t)t->extent[i];
    layout_rows(extents, t->rank, 0, out);
}

const struct layout *plan_blocked(struct layouts *l, const struct type *t, int vector)
{
    struct plan *p = l->plan;
    for (size_t i = 0; i < p->blocked.count; i++)
        if (p->blocked.data[i].vector == vector && same_kind(&p->blocked.data[i].type, t))
            return p->blocked.data[i].layout;
    int32_t extents[MAX_RANK] = {1};
    struct type tile = *t;
    struct layout layout;
    if (tile.rank == 0) {
        tile.rank = 1;
        tile.extent[0] = 1;
    }
    for (int i = 0; i < tile.rank; i++)
        extents[i] = (int32_t)tile.extent[i];
    int lanes = vector > 0 ? vector : usual_vector(l, extents, &tile);
    if (!layout_blocked(extents, tile.rank, dtype_table[t->dtype].bits, lanes, l->warps, &layout))
        return NULL;
    const struct layout *kept = plan_keep(l, &layout);
    vec_push(l->arena, &p->blocked, ((struct blocked_made){*t, vector, kept}));
    return kept;
}
