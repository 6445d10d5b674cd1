/* Products, symbols and coalesced layouts, as the plan knows them and the rest asks for them. */
#include "plan/plan_layouts_own.h"

bool plan_is_tile(const struct type *t)
{
    return t->rank > 0 && !t->varying;
}

bool plan_fits(const struct layout *layout, const struct type *t)
{
    bool same = layout->out_count == t->rank;
    for (int i = 0; same && i < t->rank; i++)
        same = layout->outs[i].axis == AXIS_DIM(i) && layout->outs[i].extent == t->extent[i];
    return same;
}

struct planned_symbol *plan_planned_symbol(struct layouts *l, const struct sym *s)
{
    return s && s->storage == ST_REG ? pointer_map_get(&l->plan->symbol_of, s) : NULL;
}

struct planned_dot *plan_planned_dot(struct layouts *l, const struct expr *e)
{
    return pointer_map_get(&l->plan->dot_of, e);
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
    if (!(l->of_role && plan_role_layout(l, &tile, &layout)) &&
        !layout_blocked(extents, tile.rank, dtype_table[t->dtype].bits, lanes, l->warps, &layout))
        return NULL;
    const struct layout *kept = plan_keep(l, &layout);
    vec_push(l->arena, &p->blocked, ((struct blocked_made){*t, vector, kept}));
    return kept;
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
