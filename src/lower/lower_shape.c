/* Shapes: elements moved, not changed.
 *
 * A change of shape is a function from places of the result to places of the operand. Composed with
 * the layout in which the result is wanted it says how the operand is wanted, and then nothing
 * moves at all. Where the composition is no layout (extents that do not divide, masks in the
 * middle), the operand's own layout is tried the other way; else the tile goes through shared
 * memory, stored row by row, and read where each element's is.
 */
#include "lower/lower_memory_own.h"
#include "lower/lower_tile_own.h"

#include "layout/layout_named.h"

#include <string.h>

/* --- Through memory --- */

/* Any function of the coordinates: an address for each element. */
static struct regtile get_elements(struct lower *l, const struct value *base,
                                   const struct layout *get, enum dtype t,
                                   const struct layout *wanted)
{
    struct vector one = {.elements = 1};
    struct transfer x = transfer_load(l, t, wanted, &one, NULL);
    for (int32_t r = 0; r < plan_registers(wanted); r++) {
        const struct value *inside = tile_inside_of(l, wanted, r), *counter[LAYOUT_INS] = {NULL};
        struct guard guard = guard_of(l, inside);
        if (!transfer_moves(&x, r))
            continue;
        for (int j = 0; j < wanted->out_count; j++) {
            int in = layout_in_index(get, AXIS_DIM(j));
            if (in >= 0)
                counter[in] = tile_coordinate_of(l, wanted, j, r);
        }
        const struct value *at = layout_value(l, get, counter, (int64_t)dtype_size(t));
        transfer_in(l, &x, IN_SHARED, r, value_address(l, value_add(l, base, at)), guard);
    }
    return transfer_finish(l, &x);
}

static struct regtile get_tile(struct lower *l, const struct value *base, const struct layout *get,
                               enum dtype t, const struct layout *wanted)
{
    struct layout composed;
    if (!layout_compose(get, wanted, &composed))
        return get_elements(l, base, get, t, wanted);
    struct regtile out = tile_new(l, t, wanted);
    shared_get(l, base, get, NULL, &out);
    return out;
}

static struct regtile through_memory(struct lower *l, const struct expr *e, const struct regtile *x,
                                     const struct layout *wanted)
{
    struct layout put, get;
    struct regtile bytes = x->dtype == DT_BOOL ? tile_as_bytes(l, x) : *x;
    plan_shape_through_memory(e, &put, &get);
    int64_t size = type_elements(&e->args[0]->type) * dtype_table[x->dtype].bits / 8;
    const struct value *base = scratch_address(l, scratch_take(l, size));
    shared_put(l, base, &put, NULL, &bytes);
    barrier_emit(l);
    struct regtile out = get_tile(l, base, &get, bytes.dtype, wanted);
    scratch_done(l);
    return x->dtype == DT_BOOL ? tile_as_bool(l, &out) : out;
}

struct regtile shape_eval(struct lower *l, const struct expr *e, const struct layout *wanted)
{
    const struct expr *arg = e->args[0];
    struct layout forward;
    if (arg->type.rank == 0)
        return tile_eval(l, arg, wanted);
    const struct layout *source = plan_shape_source(&l->layouts, e, wanted);
    struct regtile x = source ? tile_eval(l, arg, source) : tile_eval_natural(l, arg);
    if (source) {
        x.layout = wanted;
        return x;
    }
    if (e->op == OP_RESHAPE && plan_reshaped(x.layout, &arg->type, &e->type, &forward)) {
        x.layout = plan_keep(&l->layouts, &forward);
        return tile_convert(l, &x, wanted);
    }
    return through_memory(l, e, &x, wanted);
}
