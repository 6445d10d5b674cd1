/* Tile expressions that each thread has for itself: one value for each element, row-major.
 * Elementwise ops are emitted when an element is used (lower_value.h). */
#include "lower/lower_element.h"

#include "lower/lower_flow.h"
#include "lower/lower_tile_own.h"

#include <string.h>

static const struct value **new_values(struct lower *l, int64_t count)
{
    return arena_array(l->arena, const struct value *, count > 0 ? count : 1);
}

/* --- shapes --- */

const struct value **array_broadcast(struct lower *l, const struct value *const *v,
                                     const struct type *from, const struct type *to)
{
    int64_t at[MAX_RANK] = {0}, count = type_elements(to);
    const struct value **spread = new_values(l, count);
    for (int64_t i = 0; i < count; i++) {
        type_coordinates(to, i, at);
        spread[i] = v[type_broadcast_number(from, to, at)];
    }
    return spread;
}

static const struct value **moved(struct lower *l, const struct expr *e)
{
    const struct value **x = array_values(l, e->args[0]);
    int64_t at[MAX_RANK] = {0}, count = type_elements(&e->type);
    const struct value **v = new_values(l, count);
    for (int64_t i = 0; i < count; i++) {
        type_coordinates(&e->type, i, at);
        v[i] = x[expr_moved_number(e, at)];
    }
    return v;
}

static const struct value **counted(struct lower *l, const struct expr *e)
{
    int64_t count = type_elements(&e->type);
    const struct value **v = new_values(l, count);
    for (int64_t i = 0; i < count; i++)
        v[i] = value_int(l, DT_I32, i); /* all axes but one have extent 1 */
    return v;
}

/* --- elementwise --- */

static const struct value **elementwise(struct lower *l, const struct expr *e)
{
    const struct value **arg[4] = {NULL};
    int64_t count = type_elements(&e->type);
    const struct value **v = new_values(l, count);
    for (int i = 0; i < e->count; i++)
        arg[i] = array_broadcast(l, array_values(l, e->args[i]), &e->args[i]->type, &e->type);
    for (int64_t i = 0; i < count; i++) {
        const struct value *args[4] = {NULL};
        for (int k = 0; k < e->count; k++)
            args[k] = arg[k][i];
        v[i] = scalar_apply(l, e, args);
    }
    return v;
}

static const struct value **arm(struct lower *l, const struct expr *e, const struct expr *whole)
{
    return array_broadcast(l, array_values(l, e), &e->type, &whole->type);
}

static void arm_into(struct lower *l, const struct expr *e, const struct expr *whole,
                     const struct ptx_operand *reg)
{
    struct scope scope;
    int64_t count = type_elements(&whole->type);
    scope_open(l, &scope);
    const struct value **v = arm(l, e, whole);
    for (int64_t i = 0; i < count; i++)
        value_into(l, v[i], reg[i]);
    scope_close(l, &scope);
}

/* ?: over tiles: one side is evaluated, so what reads memory there stands behind a branch. */
static const struct value **selected(struct lower *l, const struct expr *e)
{
    int64_t holds, count = type_elements(&e->type);
    const struct value *condition = scalar_truth(l, e->args[0]);
    if (value_known(condition, &holds))
        return arm(l, e->args[holds ? 1 : 2], e);
    const struct value **v = new_values(l, count);
    if (expr_is_pure(e->args[1]) && expr_is_pure(e->args[2])) {
        const struct value *args[] = {condition, NULL, NULL};
        const struct value **a = arm(l, e->args[1], e), **b = arm(l, e->args[2], e);
        for (int64_t i = 0; i < count; i++) {
            args[1] = a[i];
            args[2] = b[i];
            v[i] = value_apply(l, OP_WHERE, e->type.dtype, args, 3);
        }
        return v;
    }
    struct ptx_operand *reg = arena_array(l->arena, struct ptx_operand, count);
    for (int64_t i = 0; i < count; i++)
        reg[i] = op_register(l, e->type.dtype);
    struct ptx_label *other = NULL, *end = NULL;
    branch_on(l, value_apply1(l, OP_NOT, DT_BOOL, condition),
              !expr_is_varying(l->kernel, e->args[0]), &other, "else");
    arm_into(l, e->args[1], e, reg);
    branch_always(l, &end, "endif");
    place_label(l, other);
    arm_into(l, e->args[2], e, reg);
    place_label(l, end);
    for (int64_t i = 0; i < count; i++)
        v[i] = value_of_register(l, e->type.dtype, reg[i]);
    return v;
}

/* --- along an axis --- */

static const struct value **reduced(struct lower *l, const struct expr *e)
{
    const struct type *from = &e->args[0]->type;
    const struct value **x = array_values(l, e->args[0]);
    enum op op = op_of_reduction(e->op);
    enum dtype t = e->type.dtype;
    struct line line = type_line(from, e->axis);
    const struct value **v = new_values(l, line.lines);
    for (int64_t i = 0; i < line.lines; i++) {
        int64_t first = type_line_first(&line, i);
        v[i] = scalar_cast(l, x[first], t);
        for (int64_t k = 1; k < line.count; k++)
            v[i] = value_apply2(l, op, t, v[i], scalar_cast(l, x[first + k * line.step], t));
    }
    return v;
}

static const struct value **scanned(struct lower *l, const struct expr *e)
{
    const struct type *type = &e->type;
    const struct value **x = array_values(l, e->args[0]);
    enum dtype t = type->dtype;
    struct line line = type_line(type, e->axis);
    const struct value **v = new_values(l, type_elements(type));
    for (int64_t i = 0; i < line.lines; i++) {
        int64_t at = type_line_first(&line, i);
        const struct value *so_far = value_literal(l, t, op_neutral(e->scan_op, t));
        for (int64_t k = 0; k < line.count; k++, at += line.step) {
            const struct value *one = scalar_cast(l, x[at], t), *before = so_far;
            so_far = k == 0 ? one : value_apply2(l, e->scan_op, t, so_far, one);
            v[at] = e->exclusive ? before : so_far;
        }
    }
    return v;
}

/* --- products --- */

static const struct value *multiply_add(struct lower *l, enum dtype t, const struct value *a,
                                        const struct value *b, const struct value *c)
{
    const struct value *args[] = {scalar_cast(l, a, t), scalar_cast(l, b, t), c};
    return value_apply(l, OP_FMA, t, args, 3);
}

static const struct value **product(struct lower *l, const struct expr *e)
{
    const struct type *type = &e->type;
    const struct value **a = array_values(l, e->args[0]), **b = array_values(l, e->args[1]);
    int64_t m = type->extent[type->rank - 2], n = type->extent[type->rank - 1];
    int64_t k = e->args[0]->type.extent[type->rank - 1], count = type_elements(type);
    const struct value **v = new_values(l, count), **c = NULL;
    if (e->count > 2)
        c = arm(l, e->args[2], e);
    for (int64_t i = 0; i < count; i++) {
        int64_t batch = i / (m * n), row = i / n % m, column = i % n;
        v[i] = c ? c[i]
                 : value_literal(l, type->dtype,
                                 (struct literal){.is_float = dtype_is_float(type->dtype)});
        for (int64_t p = 0; p < k; p++)
            v[i] = multiply_add(l, type->dtype, a[(batch * m + row) * k + p],
                                b[(batch * k + p) * n + column], v[i]);
    }
    return v;
}

/* --- what the block holds together --- */

bool array_is_own(const struct lower *l, const struct expr *e)
{
    if (op_is_atomic(e->op))
        return kernel_thread_level(l->kernel) || e->args[0]->type.varying;
    return expr_is_per_thread(e);
}

/* A tile of the block that each thread is to have whole. */
static const struct value **of_block(struct lower *l, const struct expr *e)
{
    struct regtile tile = tile_eval(l, e, plan_everywhere(&l->layouts, &e->type));
    struct ptx_operand *element = tile_elements(l, &tile);
    int64_t count = type_elements(&e->type);
    const struct value **v = new_values(l, count);
    for (int64_t i = 0; i < count; i++)
        v[i] = value_of_variable(l, tile.dtype, element[i]);
    return v;
}

/* --- atomics --- */

const struct value **array_atomic(struct lower *l, const struct expr *e, bool result_wanted)
{
    const struct expr *target = e->args[0];
    struct own_place p = own_place_of(l, target);
    const struct value **args[2] = {NULL}, **old = NULL;
    bool shared = target->sym->storage == ST_SHARED;
    enum dtype t = target->type.dtype;
    for (int i = 1; i < e->count; i++)
        args[i - 1] = arm(l, e->args[i], target);
    if (result_wanted)
        old = new_values(l, p.elements);
    lower_line(l, e->loc);
    for (int64_t i = 0; i < p.elements; i++) {
        struct own_piece piece = own_piece_at(l, &p, i, 1);
        struct guard guard = guard_and(l, guard_of_effect(l), piece.inside);
        struct ptx_operand result = {0}, operand[2] = {{0}};
        if (result_wanted) {
            result =
                value_copy(l, value_literal(l, t, (struct literal){.is_float = dtype_is_float(t)}));
            old[i] = value_of_register(l, t, result);
        }
        if (guard.never)
            continue;
        for (int k = 0; k + 1 < e->count; k++)
            operand[k] = value_register(l, args[k][i]);
        atomic_emit(l, e->op, t, shared, value_address(l, piece.address), operand, guard,
                    result_wanted ? &result : NULL);
    }
    return old;
}

/* --- everything --- */

const struct value **array_values(struct lower *l, const struct expr *e)
{
    if (e->type.rank == 0) {
        const struct value **v = new_values(l, 1);
        v[0] = scalar_eval(l, e);
        return v;
    }
    if (expr_has_register_tile(e))
        return of_block(l, e);
    switch (e->op) {
    case OP_REF: return array_elements(l, e->sym);
    case OP_ACCESS: return own_load(l, e);
    case OP_TRANS:
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE:
    case OP_BROADCAST: return moved(l, e);
    case OP_IOTA: return counted(l, e);
    case OP_SELECT: return selected(l, e);
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL: return reduced(l, e);
    case OP_SCAN: return scanned(l, e);
    case OP_DOT: return product(l, e);
    default: break;
    }
    return op_is_atomic(e->op) ? array_atomic(l, e, true) : elementwise(l, e);
}

struct ptx_operand *array_eval(struct lower *l, const struct expr *e)
{
    int64_t count = type_elements(&e->type);
    const struct value **v = array_values(l, e);
    struct ptx_operand *reg = arena_array(l->arena, struct ptx_operand, count);
    for (int64_t i = 0; i < count; i++)
        reg[i] = value_register(l, v[i]);
    return reg;
}
