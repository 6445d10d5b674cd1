/* Slices and gathers of views: from global memory and to it.
 *
 * An address is what the view, the start and the thread make together, and a constant for each
 * register where the strides are constants. Registers are moved in vectors along the axis whose
 * elements are neighbours, as wide as the layout has them and as surely aligned.
 */
#include "lower/lower_memory_own.h"

#include "plan/plan.h"

static void note(struct lower *l, const struct places *p, const struct transfer *t,
                 enum memory_space space, bool store)
{
    int64_t count = 0;
    for (int32_t reg = 0; reg < t->tile.elements; reg++)
        count += transfer_moves(t, reg);
    memory_note(l,
                (struct lower_access){.loc = p->access->loc,
                                      .sym = p->sym,
                                      .store = store,
                                      .how = transfer_name(l, t, space, store),
                                      .bytes = t->vector.elements * (int)dtype_size(t->tile.dtype),
                                      .instructions = count * l->warps});
}

struct regtile view_load(struct lower *l, const struct expr *access, const struct layout *wanted,
                         const struct value *who)
{
    struct places *p = places_open(l, access, wanted);
    struct vector v = places_vector(l, p, plan_copier_of(l->target, access).bytes);
    const struct value *otherwise = access->otherwise ? scalar_eval(l, access->otherwise) : NULL;
    enum memory_space space = access->sym->is_const ? IN_GLOBAL_CONST : IN_GLOBAL;
    lower_line(l, access->loc);
    sync_view(l, access, wanted, false);
    struct transfer t = transfer_load(l, access->sym->type.dtype, wanted, &v, otherwise);
    for (int32_t reg = 0; reg < t.tile.elements; reg++) {
        if (!transfer_moves(&t, reg))
            continue;
        struct element_place e = places_at(l, p, reg);
        e.inside = both(l, who, e.inside);
        struct guard guard = places_guard(l, &e);
        struct ptx_operand address = {0};
        if (!guard.never)
            address = value_address(l, e.address);
        transfer_in(l, &t, space, reg, address, guard);
    }
    note(l, p, &t, space, false);
    return transfer_finish(l, &t);
}

void view_store(struct lower *l, const struct expr *access, const struct regtile *value)
{
    struct places *p = places_open(l, access, value->layout);
    struct vector v = places_vector(l, p, plan_copier_of(l->target, access).bytes);
    lower_line(l, access->loc);
    sync_view(l, access, value->layout, true);
    const struct value *first = tile_is_first_holder(l, value->layout);
    struct transfer t = transfer_store(l, value, &v);
    for (int32_t reg = 0; reg < t.tile.elements; reg++) {
        if (!transfer_moves(&t, reg))
            continue;
        struct element_place e = places_at(l, p, reg);
        const struct value *condition = both(l, first, e.inside);
        struct guard guard = guard_of(l, condition);
        if (e.never || guard.never)
            continue;
        transfer_out(l, &t, IN_GLOBAL, reg, value_address(l, e.address), guard);
    }
    note(l, p, &t, IN_GLOBAL, true);
}
