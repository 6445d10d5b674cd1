/* Copies element by element, the block's threads in turn: for blocks that are no whole warps,
 * whose tiles have no layout.
 *
 * Thread t takes elements t, t + T, t + 2 T … of T threads, in row-major order: a loop where
 * they are many.
 */
#include "lower/lower_memory.h"
#include "plan/plan_limits.h"
#include "lower/lower_memory_own.h"

enum { UNROLLED = 8 };

struct turns {
    const struct expr *target, *value;
    struct place to, from;
    int64_t elements;
    bool slice;                  /* value is one, read from `from`; else */
    struct ptx_operand constant; /* a scalar value */
};

/* Row-major coordinates of element number `at` of the target's type. */
static void coordinates_of(struct lower *l, const struct type *t, const struct value *at,
                           const struct value **coordinate)
{
    for (int i = t->rank - 1; i >= 0; i--) {
        const struct value *extent = value_int(l, DT_I32, t->extent[i]);
        coordinate[i] = i == 0 ? at : value_apply2(l, OP_REM, DT_I32, at, extent);
        at = value_apply2(l, OP_DIV, DT_I32, at, extent);
    }
}

/* The index along the symbol's axis i, which is no gather; *inside: and it is within the axis. */
static const struct value *index_at(struct lower *l, const struct place *p, int i,
                                    const struct value *const *coordinate,
                                    const struct value **inside)
{
    int t = p->axis[i].tile_axis;
    const struct sym *s = p->access->sym;
    const struct value *start = p->axis[i].start, *extent, *at;
    if (t < 0)
        return start;
    at = value_index(l, coordinate[t]);
    if (p->axis[i].inside)
        return value_add(l, start, at);
    extent = s->storage == ST_VIEW ? view_extent(l, s, i) : value_int(l, DT_I64, s->type.extent[i]);
    *inside = both(l, *inside, value_apply2(l, OP_LT, DT_BOOL, start, value_sub(l, extent, at)));
    if (value_least(start) < 0)
        *inside =
            both(l, *inside, value_apply2(l, OP_GE, DT_BOOL, start, value_affine(l, at, -1, 0)));
    return value_add(l, start, at);
}

static struct ptx_operand address_at(struct lower *l, const struct place *p, const struct type *t,
                                     const struct value *const *coordinate,
                                     const struct value **inside)
{
    const struct value *own[MAX_RANK], *index[MAX_RANK];
    const struct type *type = &p->access->type;
    const struct sym *s = p->access->sym;
    for (int i = 0; i < type->rank; i++) /* the value is broadcast to the target */
        own[i] =
            type->extent[i] == 1 ? value_int(l, DT_I32, 0) : coordinate[t->rank - type->rank + i];
    for (int i = 0; i < p->rank; i++)
        index[i] = index_at(l, p, i, own, inside);
    return value_address(l, s->storage == ST_VIEW ? view_address(l, s, index)
                                                  : shared_address(l, s, index));
}

static enum memory_space space_of(const struct sym *s)
{
    return s->storage != ST_VIEW ? IN_SHARED : s->is_const ? IN_GLOBAL_CONST : IN_GLOBAL;
}

/* One element of one thread; mine: NULL, it surely is there. */
static void take_element(struct lower *l, const struct turns *x, const struct value *number,
                         const struct value *mine)
{
    static const struct vector single = {.elements = 1};
    const struct type *type = &x->target->type;
    const struct value *coordinate[MAX_RANK], *inside = mine, *stored = mine;
    struct layout one;
    coordinates_of(l, type, number, coordinate);
    layout_init(&one);
    layout_add_out(&one, AXIS_D0, 1);
    layout_add_free(&one, AXIS_REG, 1);
    const struct layout *layout = plan_keep(&l->layouts, &one);
    struct regtile t;
    if (x->slice) {
        const struct value *otherwise =
            x->value->otherwise ? scalar_eval(l, x->value->otherwise) : NULL;
        struct ptx_operand address = address_at(l, &x->from, type, coordinate, &inside);
        struct transfer load =
            transfer_load(l, x->value->sym->type.dtype, layout, &single, otherwise);
        transfer_in(l, &load, space_of(x->value->sym), 0, address, guard_of(l, inside));
        t = transfer_finish(l, &load);
    } else {
        t = tile_of_elements(l, type->dtype, layout, &x->constant);
    }
    struct ptx_operand address = address_at(l, &x->to, type, coordinate, &stored);
    struct transfer store = transfer_store(l, &t, &single);
    transfer_out(l, &store, space_of(x->target->sym), 0, address, guard_of(l, stored));
}

static const struct value *is_below(struct lower *l, const struct value *number, int64_t count)
{
    return value_apply2(l, OP_LT, DT_BOOL, number, value_int(l, DT_I32, count));
}

static void take_in_loop(struct lower *l, const struct turns *x, int64_t turns)
{
    struct frame frame;
    struct ptx_label *head = ptx_new_label(&l->b, "turns");
    const struct value *thread = value_thread_linear(l);
    struct ptx_operand reg = value_copy(l, thread);
    frame_open(l, &frame);
    ptx_place(&l->b, head);
    const struct value *number =
        frame_counter(l, DT_I32, reg, thread, value_int(l, DT_I32, l->threads), false);
    value_learn(l, number, 1, 0, (turns + 1) * l->threads);
    take_element(l, x, number, is_below(l, number, x->elements));
    frame_latch(l);
    const struct value *next = frame_counter_next(l, number);
    /* the same for all threads, so that they stay together */
    const struct value *more = value_apply2(l, OP_LT, DT_BOOL, value_sub(l, next, thread),
                                            value_int(l, DT_I32, turns * l->threads));
    struct guard again = guard_of(l, more);
    guard_apply(ptx_branch(&l->b, head), again);
    frame_close(l, &frame);
}

static bool gathers(const struct expr *e)
{
    bool found = false;
    for (int i = 0; i < e->indices; i++)
        found |= e->index[i].kind == IX_GATHER;
    return found;
}

/* Threads in turn copy slices and scalars; all else takes layouts, which have whole warps. */
static bool may_take_turns(struct lower *l, const struct turns *x)
{
    const char *what = NULL;
    if (gathers(x->target) || (x->slice && gathers(x->value)))
        what = "a gather";
    else if (!x->slice && x->value->type.rank > 0)
        what = "an expression of whole tiles";
    if (what)
        plan_limits_ragged(&l->layouts, x->value->loc, what);
    return !what;
}

void copy_elements(struct lower *l, const struct expr *target, const struct expr *value)
{
    struct turns x = {.target = target, .value = value};
    x.slice = value->op == OP_ACCESS && value->type.rank > 0;
    if (!may_take_turns(l, &x))
        return;
    x.to = place_of(l, target);
    x.elements = type_elements(&target->type);
    if (x.slice) {
        x.from = place_of(l, value);
        if (value->sym->storage == ST_SHARED)
            sync_shared_read(l, value, NULL);
    } else {
        x.constant = value_register(l, scalar_eval(l, value));
    }
    if (target->sym->storage == ST_SHARED)
        sync_shared_write(l, target, NULL);
    int64_t turns = (x.elements + l->threads - 1) / l->threads;
    lower_line(l, target->loc);
    if (turns > UNROLLED) {
        take_in_loop(l, &x, turns);
        return;
    }
    for (int64_t i = 0; i < turns; i++) {
        const struct value *number = value_affine(l, value_thread_linear(l), 1, i * l->threads);
        bool all = (i + 1) * l->threads <= x.elements;
        take_element(l, &x, number, all ? NULL : is_below(l, number, x.elements));
    }
}
