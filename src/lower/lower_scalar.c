/* Scalar expressions.
 *
 * What is pure becomes a value, emitted when somebody needs it. Loads and atomics are emitted where
 * they stand. `&&`, `||` and `?:` do not load from memory what they do not need: a load in an arm
 * is executed under the arm's condition, with no branch as long as the arms are small.
 */
#include "lower/lower_flow.h"

#include <assert.h>

/* --- what an expression costs --- */

static int op_cost(const struct expr *e)
{
    enum { DIVISION = 8, FUNCTION = 12 };
    switch (e->op) {
    case OP_LITERAL:
    case OP_REF: return 0;
    case OP_DIV:
    case OP_REM:
    case OP_CDIV:
        return dtype_is_float(e->type.dtype) || e->args[1]->op != OP_LITERAL ? DIVISION : 2;
    case OP_POW: return 4 * FUNCTION;
    case OP_PHILOX: return 10 * FUNCTION;
    default: return op_table[e->op].class == CLASS_FLOAT ? FUNCTION : 1;
    }
}

int scalar_cost(const struct expr *e)
{
    if (!e)
        return 0;
    int cost = op_cost(e);
    for (int i = 0; i < e->count; i++)
        cost += scalar_cost(e->args[i]);
    for (int i = 0; i < e->indices; i++)
        cost += scalar_cost(e->index[i].value);
    return cost + scalar_cost(e->otherwise);
}

bool expr_is_pure(const struct expr *e)
{
    if (!(op_table[e->op].flags & OP_PURE))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!expr_is_pure(e->args[i]))
            return false;
    return true;
}

/* Reductions take part in by all threads: they are not for some of them. */
static bool has_tiles(const struct expr *e)
{
    if (e->type.rank > 0)
        return true;
    for (int i = 0; i < e->count; i++)
        if (has_tiles(e->args[i]))
            return true;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && has_tiles(e->index[i].value))
            return true;
    return false;
}

enum { CHEAP = 10, FEW = 16 };

/* Costs no more than a few instructions, which may be executed in vain. */
static bool scalar_is_cheap(const struct expr *e)
{
    return expr_is_pure(e) && !has_tiles(e) && scalar_cost(e) <= CHEAP;
}

/* May its loads be executed under a condition, and the rest in any case? */
static bool is_short(const struct expr *e)
{
    return !expr_has_atomic(e) && !has_tiles(e) && scalar_cost(e) <= FEW;
}

/* --- who has it --- */

/* --- symbols --- */

const struct value *block_index(struct lower *l, int axis)
{
    if (!l->kernel->grid[axis])
        return value_int(l, DT_I32, 0);
    if (l->bodies->block[axis])
        return l->bodies->block[axis];
    return value_special(l, PTX_SREG_CTAID_X + (unsigned)axis);
}

const struct value *symbol_value(struct lower *l, const struct sym *s)
{
    if (s->storage == ST_CONST || (s->storage == ST_PARAM && s->has_value))
        return value_literal(l, s->type.dtype, s->value);
    if (s->storage == ST_PARAM || s->storage == ST_VIEW) {
        const struct value *v = pointer_map_get(&l->bodies->fixed, s);
        assert(v && "a parameter that the body does not use");
        return v;
    }
    struct variable *v = variable_of(l, s);
    struct literal nothing = {.is_float = dtype_is_float(s->type.dtype)};
    return v->value ? v->value : value_literal(l, s->type.dtype, nothing);
}

const struct value *scalar_cast(struct lower *l, const struct value *v, enum dtype t)
{
    return value_dtype(v) == t ? v : value_apply1(l, OP_CAST, t, v);
}

const struct value *scalar_truth(struct lower *l, const struct expr *e)
{
    return scalar_cast(l, scalar_eval(l, e), DT_BOOL);
}

static const struct value * not(struct lower * l, const struct value *v)
{
    return value_apply1(l, OP_NOT, DT_BOOL, v);
}

/* --- memory --- */

static const struct value *load(struct lower *l, const struct expr *e)
{
    const struct value *lazy = l->bodies->lazy;
    bool in_memory = e->sym->storage == ST_VIEW || e->sym->storage == ST_SHARED;
    if (e->sym->storage == ST_VIEW && !kernel_thread_level(l->kernel))
        sync_view(l, e, NULL, false);
    if (!lazy || !in_memory)
        return element_load(l, e);
    return element_load_if(l, e, guard_of(l, lazy), NULL);
}

/* e where the condition holds, for which it may load. */
static const struct value *eval_where(struct lower *l, const struct value *condition,
                                      const struct expr *e)
{
    const struct value *outer = l->bodies->lazy;
    l->bodies->lazy = outer ? value_apply2(l, OP_LAND, DT_BOOL, outer, condition) : condition;
    const struct value *v = scalar_eval(l, e);
    l->bodies->lazy = outer;
    return v;
}

/* --- lazy ops --- */

static void eval_into(struct lower *l, const struct expr *e, enum dtype t, struct ptx_operand reg)
{
    struct scope scope;
    scope_open(l, &scope);
    value_into(l, scalar_cast(l, scalar_eval(l, e), t), reg);
    scope_close(l, &scope);
}

/* c ? x : y with branches. */
static const struct value *select_by_branches(struct lower *l, const struct expr *e,
                                              const struct value *c)
{
    enum dtype t = e->type.dtype;
    bool uniform = !expr_is_varying(l->kernel, e->args[0]);
    struct ptx_operand reg = ptx_reg(&l->b, lower_register_type(t));
    struct ptx_label *otherwise = NULL, *end = NULL;
    branch_on(l, not(l, c), uniform, &otherwise, "else");
    eval_into(l, e->args[1], t, reg);
    branch_always(l, &end, "endif");
    place_label(l, otherwise);
    eval_into(l, e->args[2], t, reg);
    place_label(l, end);
    return value_of_register(l, t, reg);
}

static bool is_element(const struct expr *e)
{
    return e->op == OP_ACCESS && e->type.rank == 0 &&
           (e->sym->storage == ST_VIEW || e->sym->storage == ST_SHARED);
}

/* Emits a choice with an arm that is just a load: the load's register has the other arm's value where it does not load. */
static const struct value *select_by_load(struct lower *l, const struct expr *access,
                                          const struct value *when, const struct value *otherwise)
{
    const struct value *lazy = l->bodies->lazy;
    if (access->sym->storage == ST_VIEW && !kernel_thread_level(l->kernel))
        sync_view(l, access, NULL, false);
    if (lazy)
        when = value_apply2(l, OP_LAND, DT_BOOL, lazy, when);
    return element_load_if(l, access, guard_of(l, when), otherwise);
}

static const struct value *eval_select(struct lower *l, const struct expr *e)
{
    const struct expr *x = e->args[1], *y = e->args[2];
    enum dtype t = e->type.dtype;
    const struct value *c = scalar_truth(l, e->args[0]);
    int64_t known;
    if (value_known(c, &known))
        return scalar_cast(l, scalar_eval(l, known ? x : y), t);
    if (is_element(x) && x->type.dtype == t && scalar_is_cheap(y) && is_short(x))
        return select_by_load(l, x, c, scalar_cast(l, scalar_eval(l, y), t));
    if (is_element(y) && y->type.dtype == t && scalar_is_cheap(x) && is_short(y)) {
        const struct value *other = scalar_cast(l, scalar_eval(l, x), t);
        return select_by_load(l, y, not(l, c), other);
    }
    if (!is_short(x) || !is_short(y))
        return select_by_branches(l, e, c);
    const struct value *args[3] = {c};
    args[1] = scalar_cast(l, eval_where(l, c, x), t);
    args[2] = scalar_cast(l, eval_where(l, not(l, c), y), t);
    return value_apply(l, OP_SELECT, t, args, 3);
}

/* The right side where the left one does not decide. */
static const struct value *logic_by_branches(struct lower *l, const struct expr *e,
                                             const struct value *left)
{
    struct ptx_operand reg = ptx_reg(&l->b, PTX_PRED);
    struct ptx_label *end = NULL;
    value_into(l, left, reg);
    branch_on(l, e->op == OP_LAND ? not(l, left) : left, !expr_is_varying(l->kernel, e->args[0]),
              &end, "decided");
    eval_into(l, e->args[1], DT_BOOL, reg);
    place_label(l, end);
    return value_of_register(l, DT_BOOL, reg);
}

static const struct value *eval_logic(struct lower *l, const struct expr *e)
{
    const struct value *left = scalar_truth(l, e->args[0]), *right;
    int64_t known;
    if (value_known(left, &known)) {
        bool decided = (known != 0) == (e->op == OP_LOR);
        return decided ? left : scalar_truth(l, e->args[1]);
    }
    if (scalar_is_cheap(e->args[1]))
        right = scalar_truth(l, e->args[1]);
    else if (is_short(e->args[1]))
        right = scalar_cast(l, eval_where(l, e->op == OP_LAND ? left : not(l, left), e->args[1]),
                            DT_BOOL);
    else
        return logic_by_branches(l, e, left);
    return value_apply2(l, e->op, DT_BOOL, left, right);
}

/* --- reductions --- */

/* Over a thread's own elements. */
static const struct value *reduce_own(struct lower *l, const struct expr *e)
{
    const struct expr *x = e->args[0];
    enum dtype t = e->type.dtype;
    int64_t count = type_elements(&x->type);
    struct ptx_operand *element = array_eval(l, x);
    struct ptx_operand sum = op_cast(l, t, x->type.dtype, element[0]);
    for (int64_t i = 1; i < count; i++)
        sum = op_emit2(l, op_of_reduction(e->op), t, t, sum,
                       op_cast(l, t, x->type.dtype, element[i]));
    return value_of_register(l, t, sum);
}

static const struct value *eval_reduction(struct lower *l, const struct expr *e)
{
    const struct expr *x = e->args[0];
    if (x->type.rank == 0)
        return scalar_cast(l, scalar_eval(l, x), e->type.dtype);
    if (plan_of_thread(&l->layouts, x))
        return reduce_own(l, e);
    struct regtile tile = tile_eval_natural(l, x);
    return tile_reduce_all(l, e->op, &tile, e->type.dtype);
}

/* --- elementwise --- */

/* The type that operand i is computed in. */
static enum dtype operand_type(const struct expr *e, int i)
{
    enum dtype own = e->args[i]->type.dtype;
    switch (op_table[e->op].class) {
    case CLASS_COMPARE: return dtype_join(e->args[0]->type.dtype, e->args[1]->type.dtype);
    case CLASS_LOGIC: return DT_BOOL;
    case CLASS_BITWISE:
        return e->op == OP_SHL || e->op == OP_SHR ? op_shift_type(e) : e->type.dtype;
    case CLASS_ARITH:
    case CLASS_FLOAT: return e->type.dtype;
    default: break;
    }
    if (e->op == OP_WHERE)
        return i == 0 ? DT_BOOL : e->type.dtype;
    if (e->op == OP_PHILOX)
        return i == 2 ? DT_U32 : DT_U64;
    return own;
}

const struct value *scalar_apply(struct lower *l, const struct expr *e,
                                 const struct value *const *operands)
{
    enum { MOST = 4 };
    const struct value *args[MOST];
    assert(e->count > 0 && e->count <= MOST);
    for (int i = 0; i < e->count; i++)
        args[i] = scalar_cast(l, operands[i], operand_type(e, i));
    if (e->op == OP_SHL || e->op == OP_SHR) {
        enum dtype t = op_shift_type(e);
        return scalar_cast(l, value_apply(l, e->op, t, args, 2), e->type.dtype);
    }
    return value_apply(l, e->op, e->type.dtype, args, e->count);
}

static const struct value *eval_elementwise(struct lower *l, const struct expr *e)
{
    enum { MOST = 4 };
    const struct value *operands[MOST];
    assert(e->count > 0 && e->count <= MOST);
    for (int i = 0; i < e->count; i++)
        operands[i] = scalar_eval(l, e->args[i]);
    return scalar_apply(l, e, operands);
}

static const struct value *grid_size(struct lower *l, int axis)
{
    const struct expr *e = l->kernel->grid[axis];
    int64_t known = 1;
    if (!e || eval_int(e, NULL, &known))
        return value_int(l, DT_I32, known);
    return value_special(l, PTX_SREG_NCTAID_X + (unsigned)axis);
}

const struct value *scalar_eval(struct lower *l, const struct expr *e)
{
    switch (e->op) {
    case OP_LITERAL: return value_literal(l, e->type.dtype, e->literal);
    case OP_REF: return symbol_value(l, e->sym);
    case OP_BLOCK: return block_index(l, e->axis);
    case OP_GRID: return grid_size(l, e->axis);
    case OP_THREAD: return value_thread(l, e->axis);
    case OP_ACCESS: return load(l, e);
    case OP_LAND:
    case OP_LOR: return eval_logic(l, e);
    case OP_SELECT: return eval_select(l, e);
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL: return eval_reduction(l, e);
    default: break;
    }
    if (e->op == OP_ARRIVE)
        return arrive_emit(l, e, true);
    if (op_is_atomic(e->op))
        return atomic_scalar(l, e, true);
    if (op_table[e->op].class == CLASS_SHAPE) /* of one element */
        return scalar_eval(l, e->args[0]);
    return eval_elementwise(l, e);
}
