/* Changes of shape: functions from places of the result to places of the operand. Composed with the layout in which the
 * result is wanted, such a function gives the layout of the operand in which nothing moves. */
#include "plan/plan_layouts_own.h"

#include "layout/layout_named.h"

/* Places in order of rows -> coordinates. */
static void unravel(const struct type *t, struct layout *out)
{
    layout_init(out);
    for (int i = 0; i < t->rank; i++)
        layout_add_out(out, AXIS_DIM(i), (int32_t)t->extent[i]);
    for (int i = t->rank - 1; i >= 0; i--)
        layout_add_digit(out, AXIS_AT, (int32_t)t->extent[i], AXIS_DIM(i), 1);
}

/* Returns false if elements outside of an axis after the first one of more than one element would become others. */
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

bool plan_reshaped(const struct layout *layout, const struct type *from, const struct type *to,
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

void plan_shape_through_memory(const struct expr *e, struct layout *put, struct layout *get)
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

const struct layout *plan_shape_source(struct layouts *l, const struct expr *e,
                                       const struct layout *wanted)
{
    struct layout out, times;
    bool found = e->args[0]->type.rank > 0;
    switch (e->op) {
    case OP_TRANS: transposed(wanted, e->type.rank, &out); break;
    case OP_RESHAPE:
        found = found && plan_reshaped(wanted, &e->type, &e->args[0]->type, &out);
        break;
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE:
        repetition(e, false, &times);
        found = found && layout_compose(&times, wanted, &out);
        break;
    default: return NULL;
    }
    return found ? plan_keep(l, &out) : NULL;
}
