#include "tile/launch_sizes.h"

#include "base/grid.h"

/* The effect of a step on the stack. A result outside of least … most ends the run. */
enum step_op {
    STEP_PARAM,    /* push a parameter's value */
    STEP_CONSTANT, /* push `value` */
    STEP_ADD,      /* this and the next ones take two values and push one */
    STEP_SUB,
    STEP_MUL,
    STEP_DIV,
    STEP_REM,
    STEP_CDIV,
    STEP_MIN,
    STEP_MAX,
    STEP_NARROW, /* check that the top is within the range of another type */
    STEP_TREE,   /* push the value of `tree`; a view's value that cannot be known is skipped */
    STEP_AXIS,   /* check that a parameter is not negative; the stack does not change */
    STEP_DROP,   /* pop a value that only needed to be computed and be within its range */
    STEP_RESULT  /* pop result `index`: the blocks along an axis, or the value of a parameter */
};

struct size_step {
    enum step_op op;
    int index;
    int64_t value, least, most;
    const struct expr *tree;
};

enum { DEEPEST = 16, MOST_PARAMS = 64 };

/* --- compiling --- */

struct compiler {
    struct launch_sizes *out;
    struct arena *arena;
    bool *is_axis; /* by parameter: its STEP_AXIS was added */
};

static void add_step(struct compiler *c, struct size_step step)
{
    vec_push(c->arena, &c->out->steps, step);
}

/* Returns true for integer types whose values all fit an int64_t. */
static bool is_plain_type(enum dtype t)
{
    return (int)t >= 0 && dtype_is_int(t) && t != DT_BOOL && t != DT_U64;
}

/* The range of a type's values as int64_t. A u64 may have any bits, because values above INT64_MAX
 * are kept as negative numbers. */
static int64_t least_of(enum dtype t)
{
    if (t == DT_U64)
        return INT64_MIN;
    return dtype_table[t].kind == DK_UINT ? 0 : (int64_t)(-1ULL << (dtype_table[t].bits - 1));
}

static int64_t most_of(enum dtype t)
{
    if (t == DT_U64)
        return INT64_MAX;
    int value_bits = dtype_table[t].bits - (dtype_table[t].kind != DK_UINT);
    return (int64_t)(UINT64_MAX >> (64 - value_bits));
}

static bool binary_op(enum op op, enum step_op *out)
{
    switch (op) {
    case OP_ADD: *out = STEP_ADD; return true;
    case OP_SUB: *out = STEP_SUB; return true;
    case OP_MUL: *out = STEP_MUL; return true;
    case OP_DIV: *out = STEP_DIV; return true;
    case OP_REM: *out = STEP_REM; return true;
    case OP_CDIV: *out = STEP_CDIV; return true;
    case OP_MIN: *out = STEP_MIN; return true;
    case OP_MAX: *out = STEP_MAX; return true;
    default: return false;
    }
}

static bool constant_of(const struct expr *e, int64_t *value)
{
    bool bound = e->op == OP_REF && (e->sym->storage == ST_CONST || e->sym->has_value);
    return (e->op == OP_LITERAL || bound) && eval_int(e, NULL, value);
}

/* Returns true if e is plain integer arithmetic on parameters and needs at most the remaining
 * depth of the stack. */
static bool is_plain(const struct expr *e, int depth)
{
    int64_t ignored;
    enum step_op op;
    if (e->type.rank != 0 || !is_plain_type(e->type.dtype) || depth >= DEEPEST)
        return false;
    if (constant_of(e, &ignored))
        return true;
    if (e->op == OP_REF)
        return e->sym->storage == ST_PARAM && !e->sym->is_pointer;
    if (e->op == OP_CAST)
        return is_plain(e->args[0], depth);
    return e->count == 2 && binary_op(e->op, &op) && e->args[0]->type.dtype == e->type.dtype &&
           e->args[1]->type.dtype == e->type.dtype && is_plain(e->args[0], depth) &&
           is_plain(e->args[1], depth + 1);
}

static void add_plain(struct compiler *c, const struct expr *e)
{
    struct size_step step = {.least = least_of(e->type.dtype), .most = most_of(e->type.dtype)};
    for (int i = 0; i < e->count; i++)
        add_plain(c, e->args[i]);
    if (constant_of(e, &step.value)) {
        step.op = STEP_CONSTANT;
    } else if (e->op == OP_REF) {
        step.op = STEP_PARAM;
        step.index = e->sym->index;
    } else if (e->op == OP_CAST) {
        step.op = STEP_NARROW;
    } else {
        binary_op(e->op, &step.op);
    }
    add_step(c, step);
}

/* Adds the steps of e and then `end`, whose range is least … most. */
static void add_root(struct compiler *c, const struct expr *e, struct size_step end)
{
    if (is_plain(e, 0))
        add_plain(c, e);
    else
        add_step(c, (struct size_step){.op = STEP_TREE, .index = end.op == STEP_RESULT, .tree = e});
    add_step(c, end);
}

/* Adds the check of a stride or an offset. A single name or number needs none: it may have any
 * value. */
static void add_checked(struct compiler *c, const struct expr *e)
{
    if (e && e->count > 0)
        add_root(c, e, (struct size_step){.op = STEP_DROP, .least = INT64_MIN, .most = INT64_MAX});
}

static void add_extent(struct compiler *c, const struct expr *e)
{
    int64_t value;
    if (!e || (constant_of(e, &value) && value >= 0))
        return;
    if (e->op != OP_REF || !is_plain(e, 0)) {
        add_root(c, e, (struct size_step){.op = STEP_DROP, .least = 0, .most = INT64_MAX});
    } else if (!c->is_axis[e->sym->index]) {
        c->is_axis[e->sym->index] = true;
        add_step(c, (struct size_step){.op = STEP_AXIS, .index = e->sym->index});
    }
}

static void add_view(struct compiler *c, const struct sym *view)
{
    add_checked(c, view->base_offset);
    for (int i = 0; i < view->type.rank; i++) {
        add_extent(c, view->dims[i]);
        add_checked(c, view->strides[i]);
    }
}

void launch_sizes_compile(struct launch_sizes *s, struct arena *a, const struct kernel *k)
{
    struct compiler c = {s, a, arena_array(a, bool, k->param_count)};
    *s = (struct launch_sizes){.param_count = k->param_count};
    enum dtype *dtypes = arena_array(a, enum dtype, k->param_count);
    for (const struct param *p = k->params; p; p = p->next)
        dtypes[p->sym->index] = p->sym->type.dtype;
    s->dtypes = dtypes;
    for (int i = 0; i < 3; i++)
        if (k->grid[i])
            add_root(
                &c, k->grid[i],
                (struct size_step){
                    .op = STEP_RESULT, .index = i, .least = INT64_MIN, .most = grid_limits[i]});
    for (const struct sym *view = k->symbols; view; view = view->next)
        if (view->storage == ST_VIEW)
            add_view(&c, view);
}

void launch_derived_compile(struct launch_sizes *s, struct arena *a,
                            const struct derived_param *params, int count)
{
    struct compiler c = {s, a, NULL};
    *s = (struct launch_sizes){.param_count = count};
    enum dtype *dtypes = arena_array(a, enum dtype, count);
    for (int i = 0; i < count; i++)
        dtypes[i] = params[i].dtype;
    s->dtypes = dtypes;
    for (int i = 0; i < count; i++)
        if (params[i].value)
            add_root(&c, params[i].value,
                     (struct size_step){.op = STEP_RESULT,
                                        .index = i,
                                        .least = least_of(dtypes[i]),
                                        .most = most_of(dtypes[i])});
}

/* --- running --- */

/* Returns a / b rounded up, for integers of any sign. b is neither 0 nor -1. */
static int64_t divide_up(int64_t a, int64_t b)
{
    int64_t quotient = a / b, rest = a % b;
    return quotient + (rest != 0 && (rest < 0) == (b < 0));
}

/* Divides. Fails for the divisor 0, and for the least number by -1. */
static bool divide(enum step_op op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return false;
    if (b == -1) {
        *out = 0;
        return op == STEP_REM || !__builtin_sub_overflow((int64_t)0, a, out);
    }
    *out = op == STEP_DIV ? a / b : op == STEP_REM ? a % b : divide_up(a, b);
    return true;
}

/* Evaluates an expression that is not plain arithmetic. */
static bool evaluate(const struct launch_sizes *s, const struct size_step *step,
                     const uint64_t *values, int64_t *out)
{
    struct literal literals[MOST_PARAMS];
    bool known[MOST_PARAMS], needed = step->index;
    struct scalar_env env = {.values = literals, .known = known, .count = s->param_count};
    if (s->param_count > MOST_PARAMS)
        return false;
    for (int p = 0; p < s->param_count; p++) {
        enum dtype t = s->dtypes[p];
        bool is_float = dtype_is_float(t);
        known[p] = true;
        literals[p] = is_float
                          ? (struct literal){.is_float = true, .f = dtype_load_f64(t, &values[p])}
                          : (struct literal){.i = (int64_t)values[p]};
    }
    *out = 0;
    if (eval_overflow(step->tree, &env, true))
        return false;
    return eval_int(step->tree, &env, out) || !needed;
}

static bool calculate(enum step_op op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case STEP_ADD: return !__builtin_add_overflow(a, b, out);
    case STEP_SUB: return !__builtin_sub_overflow(a, b, out);
    case STEP_MUL: return !__builtin_mul_overflow(a, b, out);
    case STEP_MIN: *out = a < b ? a : b; return true;
    case STEP_MAX: *out = a > b ? a : b; return true;
    default: return divide(op, a, b, out);
    }
}

static bool run(const struct launch_sizes *s, const uint64_t *values, int64_t *results)
{
    int64_t stack[DEEPEST + 2], *top = stack; /* `top` is the first free place */
    for (size_t i = 0; i < s->steps.count; i++) {
        const struct size_step *step = &s->steps.data[i];
        switch (step->op) {
        case STEP_PARAM: *top++ = (int64_t)values[step->index]; continue;
        case STEP_CONSTANT: *top++ = step->value; continue;
        case STEP_AXIS:
            if ((int64_t)values[step->index] < 0)
                return false;
            continue;
        case STEP_TREE:
            if (!evaluate(s, step, values, top++))
                return false;
            continue;
        case STEP_RESULT: results[step->index] = top[-1]; break;
        case STEP_NARROW:
        case STEP_DROP: break;
        default:
            top--;
            if (!calculate(step->op, top[-1], top[0], &top[-1]))
                return false;
            break;
        }
        if (top[-1] < step->least || top[-1] > step->most)
            return false;
        top -= step->op == STEP_DROP || step->op == STEP_RESULT;
    }
    return true;
}

bool launch_sizes_run(const struct launch_sizes *s, const uint64_t *values, int64_t grid[3])
{
    grid[0] = grid[1] = grid[2] = 1;
    return run(s, values, grid);
}

bool launch_derived_run(const struct launch_sizes *s, uint64_t *values)
{
    return run(s, values, (int64_t *)values);
}
