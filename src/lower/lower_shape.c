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

/* Places in order of rows -> coordinates. */
static void unravel(const struct type *t, struct layout *out)
{
    layout_init(out);
    for (int i = 0; i < t->rank; i++)
        layout_add_out(out, AXIS_DIM(i), (int32_t)t->extent[i]);
    for (int i = t->rank - 1; i >= 0; i--)
        layout_add_digit(out, AXIS_AT, (int32_t)t->extent[i], AXIS_DIM(i), 1);
}

/* Masks behind the first axis that is more than one long would become other elements. */
static bool masks_stay(const struct layout *l)
{
    int first = 0;
    while (first < l->out_count && l->outs[first].extent == 1)
        first++;
    for (int j = 0; j < l->out_count; j++) {
        int32_t least, greatest;
        layout_range(l, j, &least, &greatest);
        if (least < 0 || (greatest >= l->outs[j].extent && j != first))
            return false;
    }
    return true;
}

/* A layout of `from`'s shape, as that of `to`'s with the same order of rows. */
static bool reshaped(const struct layout *layout, const struct type *from, const struct type *to,
                     struct layout *out)
{
    struct layout rows, places, back;
    unravel(to, &back);
    plan_rows(from, &rows);
    return masks_stay(layout) && layout_compose(&rows, layout, &places) &&
           layout_compose(&back, &places, out);
}

/* The result's coordinates -> the operand's; for memory: -> its place in order of rows. */
static void repetition(const struct expr *e, bool places, struct layout *out)
{
    const struct type *from = &e->args[0]->type;
    int32_t stride[LAYOUT_OUTS], elements = 1;
    layout_init(out);
    for (int i = from->rank - 1; i >= 0; i--) {
        stride[i] = places ? elements : 1;
        elements *= (int32_t)from->extent[i];
    }
    if (places)
        layout_add_out(out, AXIS_AT, elements);
    for (int i = 0; !places && i < from->rank; i++)
        layout_add_out(out, AXIS_DIM(i), (int32_t)from->extent[i]);
    for (int i = 0; i < from->rank; i++) {
        int32_t times = (int32_t)(e->type.extent[i] / from->extent[i]);
        if (e->op == OP_REPEAT_INTERLEAVE)
            layout_add_free(out, AXIS_DIM(i), times);
        layout_add_digit(out, AXIS_DIM(i), (int32_t)from->extent[i], places ? AXIS_AT : AXIS_DIM(i),
                         stride[i]);
        if (e->op == OP_REPEAT)
            layout_add_free(out, AXIS_DIM(i), times);
    }
}

void shape_through_memory(const struct expr *e, struct layout *put, struct layout *get)
{
    plan_rows(&e->args[0]->type, put);
    if (e->op == OP_RESHAPE)
        plan_rows(&e->type, get);
    else
        repetition(e, true, get);
}

static void transposed(const struct layout *l, int rank, struct layout *out)
{
    enum layout_axis map[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        map[axis] = (enum layout_axis)axis;
    map[AXIS_DIM(rank - 2)] = AXIS_DIM(rank - 1);
    map[AXIS_DIM(rank - 1)] = AXIS_DIM(rank - 2);
    layout_rename(l, map, out);
}

const struct layout *shape_source(struct lower *l, const struct expr *e,
                                  const struct layout *wanted)
{
    struct layout out, times;
    bool found = e->args[0]->type.rank > 0;
    switch (e->op) {
    case OP_TRANS: transposed(wanted, e->type.rank, &out); break;
    case OP_RESHAPE: found = found && reshaped(wanted, &e->type, &e->args[0]->type, &out); break;
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE:
        repetition(e, false, &times);
        found = found && layout_compose(&times, wanted, &out);
        break;
    default: return NULL;
    }
    return found ? layout_keep(l, &out) : NULL;
}

/* --- Through memory --- */

/* Any function of the coordinates: an address for each element. */
static struct regtile get_elements(struct lower *l, const struct value *base,
                                   const struct layout *get, enum dtype t,
                                   const struct layout *wanted)
{
    struct vector one = {.elements = 1};
    struct transfer x = transfer_load(l, t, wanted, &one, NULL);
    for (int32_t r = 0; r < layout_registers(wanted); r++) {
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
    shape_through_memory(e, &put, &get);
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
    const struct layout *source = shape_source(l, e, wanted);
    struct regtile x = source ? tile_eval(l, arg, source) : tile_eval_natural(l, arg);
    if (source) {
        x.layout = wanted;
        return x;
    }
    if (e->op == OP_RESHAPE && reshaped(x.layout, &arg->type, &e->type, &forward)) {
        x.layout = layout_keep(l, &forward);
        return tile_convert(l, &x, wanted);
    }
    return through_memory(l, e, &x, wanted);
}
