/* How tiles come from one layout into another (layout_plan_conversion), found once for each pair of layouts. */
#include "plan/plan_layouts_own.h"

#include "layout/layout_convert.h"
#include "layout/layout_named.h"

enum { MOST_POINTERS = 16 };

struct conversion_list {
    VEC(struct conversion *) list;
};

/* Returns whether lanes can keep all the pointers that an access of this scratch tile takes. */
static bool few_pointers(const struct layout *regs, const struct layout *memory)
{
    struct layout composed;
    struct address_split split;
    if (!layout_compose(memory, regs, &composed))
        return false;
    layout_split_addresses(&composed, &split);
    return split.variants <= MOST_POINTERS;
}

/* A scratch tile whose swizzle takes too many pointers is laid out row by row. */
static void simplify(struct conversion *c)
{
    struct convert_plan *p = &c->plan;
    int32_t extents[LAYOUT_OUTS];
    struct layout from, to;
    enum layout_axis axis = c->to->outs[p->part_axis].axis;
    if (p->kind != CONVERT_SHARED || !layout_slice_out(c->from, axis, 0, p->part, &from) ||
        !layout_slice_out(c->to, axis, 0, p->part, &to) ||
        (few_pointers(&from, &p->scratch.layout) && few_pointers(&to, &p->scratch.layout)))
        return;
    for (int j = 0; j < c->to->out_count; j++)
        extents[j] = j == p->part_axis ? p->part : c->to->outs[j].extent;
    layout_rows(extents, c->to->out_count, 0, &p->scratch.layout);
    layout_access_lanes(&from, &p->scratch.layout, c->bits, 16, &p->scratch.access[0]);
    layout_access_lanes(&to, &p->scratch.layout, c->bits, 16, &p->scratch.access[1]);
}

static void plan(struct layouts *l, struct conversion *c, bool stores_matrices)
{
    unsigned matrix = 1u << ACCESS_MATRIX | 1u << ACCESS_MATRIX_TRANS;
    struct convert_wish wish = {.from = c->from,
                                .to = c->to,
                                .bits = c->bits,
                                .store_kinds = stores_matrices ? matrix : 0,
                                .load_kinds = matrix};
    c->possible = l->of_role && layout_plan_conversion(&wish, l->arena, &c->plan);
    if (c->possible) /* a role has no shared memory to spare */
        return;
    /* first within what most kernels have to spare anyway */
    int64_t all = layout_size_out(c->from) * c->bits / 8;
    wish.shared_bytes = l->target->shared_bytes - l->kernel->shared_bytes;
    int64_t spare = l->kernel->shared_bytes > 32768 ? l->kernel->shared_bytes : 32768;
    if (all > spare && spare < wish.shared_bytes)
        wish.shared_bytes = spare;
    c->possible = layout_plan_conversion(&wish, l->arena, &c->plan);
    if (c->possible)
        simplify(c);
}

const struct conversion *plan_conversion(struct layouts *l, const struct layout *from,
                                         const struct layout *to, int bits, bool stores_matrices)
{
    struct pointer_map *map = &plan_kept_layouts(l)->conversions;
    struct conversion_list *all = pointer_map_get(map, from);
    if (!all) {
        all = arena_new(l->arena, struct conversion_list);
        pointer_map_put(l->arena, map, from, all);
    }
    for (size_t i = 0; i < all->list.count; i++)
        if (all->list.data[i]->to == to && all->list.data[i]->bits == bits)
            return all->list.data[i];
    struct conversion *c = arena_new(l->arena, struct conversion);
    *c = (struct conversion){.from = from, .to = to, .bits = bits};
    plan(l, c, stores_matrices);
    vec_push(l->arena, &all->list, c);
    return c;
}
