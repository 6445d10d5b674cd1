/* The layout that an expression prefers: in which its value comes, or which is coalesced for what it reads. */
#include "plan/plan_layouts_own.h"

#include <string.h>

enum { CANDIDATES = 4 };

struct axis_map {
    enum layout_axis to[AXIS_COUNT];
};

static struct axis_map same_axes(void)
{
    struct axis_map map;
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        map.to[axis] = (enum layout_axis)axis;
    return map;
}

const struct layout *plan_transposed(struct layouts *l, const struct layout *layout, int rank)
{
    struct axis_map map = same_axes();
    struct layout out;
    map.to[AXIS_DIM(rank - 2)] = AXIS_DIM(rank - 1);
    map.to[AXIS_DIM(rank - 1)] = AXIS_DIM(rank - 2);
    layout_rename(layout, map.to, &out);
    return plan_keep(l, &out);
}

/* Finds the axis of `to` that each axis of `from` is. Returns false unless they differ in axes of
 * extent 1 alone. */
static bool match_axes(const struct type *from, const struct type *to, int *axis)
{
    int j = 0;
    for (int i = 0; i < from->rank; i++) {
        axis[i] = -1;
        if (from->extent[i] == 1)
            continue;
        while (j < to->rank && to->extent[j] == 1)
            j++;
        if (j == to->rank || to->extent[j] != from->extent[i])
            return false;
        axis[i] = j++;
    }
    while (j < to->rank && to->extent[j] == 1)
        j++;
    return j == to->rank;
}

/* A reshape that only adds or takes away axes of extent 1. */
static const struct layout *unit_axes_moved(struct layouts *l, const struct layout *layout,
                                            const struct type *from, const struct type *to)
{
    int axis[MAX_RANK];
    struct layout out = *layout;
    if (!match_axes(from, to, axis))
        return NULL;
    out.out_count = to->rank;
    memset(out.flip, 0, sizeof out.flip);
    memset(out.offset, 0, sizeof out.offset);
    for (int d = 0; d < out.digit_count; d++) {
        memset(out.digits[d].xor, 0, sizeof out.digits[d].xor);
        memset(out.digits[d].add, 0, sizeof out.digits[d].add);
    }
    for (int j = 0; j < to->rank; j++)
        out.outs[j] = (struct layout_dim){AXIS_DIM(j), (int32_t)to->extent[j]};
    for (int i = 0; i < from->rank; i++) {
        int old = layout_out_index(layout, AXIS_DIM(i)), new = axis[i];
        if (new < 0 || old < 0)
            continue;
        out.flip[new] = layout->flip[old];
        out.offset[new] = layout->offset[old];
        for (int d = 0; d < out.digit_count; d++) {
            out.digits[d].xor [new] = layout->digits[d].xor [old];
            out.digits[d].add[new] = layout->digits[d].add[old];
        }
    }
    layout_normalise(&out);
    return plan_keep(l, &out);
}

/* A part of a register tile, with constant starts. */
static const struct layout *part_of(struct layouts *l, const struct layout *whole,
                                    const struct expr *access)
{
    struct layout out = *whole;
    for (int i = 0; i < access->indices; i++) {
        int64_t start;
        if (access->index[i].kind == IX_ALL)
            continue;
        if (access->index[i].kind != IX_SLICE || !eval_int(access->index[i].value, NULL, &start) ||
            !layout_slice_out(&out, AXIS_DIM(i), (int32_t)start, (int32_t)access->index[i].extent,
                              &out))
            return NULL;
    }
    return plan_keep(l, &out);
}

static int64_t bits_of(const struct expr *e)
{
    return type_elements(&e->type) * dtype_table[e->type.dtype].bits;
}

/* Bits to be moved between threads when e is computed in that layout. */
static int64_t turning(struct layouts *l, const struct expr *e, const struct layout *layout)
{
    if (!plan_is_tile(&e->type) || !layout)
        return 0;
    if (!plan_is_elementwise(e->op)) {
        const struct layout *is = plan_prefer(l, e).layout;
        return is && is != layout ? bits_of(e) : 0;
    }
    int64_t sum = 0;
    for (int i = 0; i < e->count; i++) {
        const struct type *t = &e->args[i]->type;
        if (plan_is_tile(t))
            sum +=
                turning(l, e->args[i],
                        type_same_shape(t, &e->type) ? layout : plan_operand_layout(l, layout, t));
    }
    return sum;
}

/* Prefers the operand's layout to which the other operands are converted at least cost. */
static struct preference prefer_elementwise(struct layouts *l, const struct expr *e)
{
    struct preference all[CANDIDATES], best = {NULL, false, false};
    int count = 0;
    for (int i = 0; i < e->count && count < CANDIDATES; i++) {
        if (!type_same_shape(&e->args[i]->type, &e->type))
            continue;
        struct preference p = plan_prefer(l, e->args[i]);
        bool known = p.layout == NULL;
        for (int k = 0; k < count && !known; k++)
            known = all[k].layout == p.layout && all[k].firm >= p.firm;
        if (!known)
            all[count++] = p;
    }
    int64_t least = INT64_MAX;
    for (int i = 0; i < count; i++) {
        int64_t cost = count == 1 ? 0 : turning(l, e, all[i].layout);
        bool better = cost < least;
        if (best.layout && all[i].firm != best.firm)
            better = all[i].firm;
        if (better) {
            best = all[i];
            least = cost;
        }
    }
    return best;
}

static struct preference prefer(struct layouts *l, const struct expr *e)
{
    struct preference p = {NULL, false, false};
    if (!plan_is_tile(&e->type))
        return p;
    if (plan_is_elementwise(e->op))
        return prefer_elementwise(l, e);
    if (e->op == OP_REF || (e->op == OP_ACCESS && e->sym->storage == ST_REG)) {
        const struct planned_symbol *s = plan_planned_symbol(l, e->sym);
        p = s ? s->is : p;
        if (p.layout && e->op == OP_ACCESS)
            p.layout = part_of(l, p.layout, e);
        return p;
    }
    if (e->op == OP_DOT) {
        const struct planned_dot *d = plan_planned_dot(l, e);
        return (struct preference){d ? d->plan.c : NULL, d != NULL, false};
    }
    if (e->count == 0 || !plan_is_tile(&e->args[0]->type))
        return p;
    bool reduces = op_is_reduction(e->op);
    if (reduces || e->op == OP_TRANS || e->op == OP_SCAN || e->op == OP_RESHAPE)
        p = plan_prefer(l, e->args[0]);
    if (reduces && !p.layout && l->plan->settled)
        p.layout = plan_place(l, e->args[0], NULL);
    if (!p.layout)
        return p;
    if (reduces)
        p.layout = plan_reduced_layout(l, p.layout, e->axis);
    if (e->op == OP_TRANS)
        p.layout = plan_transposed(l, p.layout, e->type.rank);
    if (e->op == OP_RESHAPE)
        p.layout = unit_axes_moved(l, p.layout, &e->args[0]->type, &e->type);
    return p;
}

struct preference plan_prefer(struct layouts *l, const struct expr *e)
{
    struct plan *p = l->plan;
    struct preference *known = p->settled ? pointer_map_get(&p->natural_of, e) : NULL;
    if (known)
        return *known;
    struct preference found = prefer(l, e);
    if (p->settled && e->count > 0) {
        known = arena_new(l->arena, struct preference);
        *known = found;
        pointer_map_put(l->arena, &p->natural_of, e, known);
    }
    return found;
}

/* --- Coalesced for what is read --- */

struct reads {
    const struct type *shape;
    int vector; /* elements a lane; 0: nothing found */
};

static void find_reads(struct layouts *l, const struct expr *e, struct reads *r)
{
    if (e->op == OP_ACCESS && type_same_shape(&e->type, r->shape) &&
        (e->sym->storage == ST_VIEW || e->sym->storage == ST_SHARED)) {
        int vector = plan_copy_vector(l, e, &e->type);
        r->vector = vector > r->vector ? vector : r->vector;
    }
    for (int i = 0; plan_is_elementwise(e->op) && i < e->count; i++)
        find_reads(l, e->args[i], r);
}

/* The widest vectors that a read (or, of an assignment, the target) can use. */
const struct layout *plan_coalesced(struct layouts *l, const struct expr *e,
                                    const struct expr *target)
{
    const struct type *shape = target ? &target->type : &e->type;
    struct reads r = {shape, 0};
    find_reads(l, e, &r);
    if (target)
        find_reads(l, target, &r);
    while (r.vector > 1 && (int64_t)r.vector * l->warps * WARP_LANES > type_elements(shape))
        r.vector /= 2;
    return r.vector ? plan_blocked(l, shape, r.vector) : NULL;
}

/* --- Where an expression is computed --- */

const struct layout *plan_natural(struct layouts *l, const struct expr *e)
{
    const struct layout *natural = plan_prefer(l, e).layout;
    return natural || !plan_is_tile(&e->type) ? natural : plan_coalesced(l, e, NULL);
}

const struct layout *plan_place(struct layouts *l, const struct expr *e,
                                const struct layout *wanted)
{
    const struct layout *natural = wanted ? plan_prefer(l, e).layout : plan_natural(l, e);
    if (!natural)
        return wanted ? wanted : plan_blocked(l, &e->type, 0);
    if (!wanted || natural == wanted || !plan_is_elementwise(e->op))
        return natural;
    return turning(l, e, natural) + bits_of(e) < turning(l, e, wanted) ? natural : wanted;
}
