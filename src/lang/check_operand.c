/* Operands: their types, shapes and values, and the operations that are made of them. */
#include "lang/check_internal.h"

#include <math.h>

struct expr *check_index_value(struct checker *c, const struct node *n, const char *what)
{
    struct expr *e = check_operand(c, n);
    if (!e || dtype_is_int(e->type.dtype))
        return e;
    diag_error(c->diag, n->loc, "%s is an integer, `%s` is %s", what,
               check_source_snippet(c, n->loc), check_type_name(c, e));
    if (dtype_is_float(e->type.dtype)) {
        diag_note(c->diag, n->loc, "write the cast: `(i32) …`");
        check_fix_with_cast(c, n->loc, DT_I32, n->kind == N_NAME || n->kind == N_FLOAT);
    }
    return NULL;
}

static bool any_below(const struct expr *e, bool (*test)(const struct expr *e))
{
    if (!e)
        return false;
    if (test(e))
        return true;
    for (int i = 0; i < expr_children(e); i++)
        if (any_below(expr_child(e, i), test))
            return true;
    return false;
}

static bool is_access(const struct expr *e)
{
    return e->op == OP_ACCESS;
}

bool check_expr_reads_memory(const struct expr *e)
{
    return any_below(e, is_access);
}

bool check_expr_varies(struct checker *c, const struct expr *e)
{
    if (!e)
        return false;
    if (e->op == OP_THREAD || (c->thread_level && op_is_atomic_of_thread(e->op)))
        return true;
    if (e->op == OP_REF && (e->sym->storage == ST_ARRAY || check_sym_info(c, e->sym)->varying))
        return c->thread_level;
    if (e->op == OP_ACCESS && e->sym->storage == ST_ARRAY)
        return c->thread_level;
    for (int i = 0; i < expr_children(e); i++)
        if (check_expr_varies(c, expr_child(e, i)))
            return true;
    return false;
}

int64_t check_expr_size(const struct expr *e)
{
    if (!e)
        return 0;
    int64_t size = 1;
    for (int i = 0; i < expr_children(e); i++)
        size += check_expr_size(expr_child(e, i));
    return size;
}

static int deepest(int a, int b)
{
    return a > b ? a : b;
}

int check_expr_depth(const struct expr *e)
{
    if (!e)
        return 0;
    int depth = 0;
    for (int i = 0; i < expr_children(e); i++)
        depth = deepest(depth, check_expr_depth(expr_child(e, i)));
    return depth + 1;
}

struct expr *check_untyped_int(struct checker *c, int64_t v, struct loc loc)
{
    struct expr *e = expr_new(c->kernel, OP_LITERAL, type_scalar(DT_NONE), loc, 0);
    e->literal.i = v;
    return e;
}

struct expr *check_untyped_float(struct checker *c, double v, struct loc loc)
{
    struct expr *e = expr_new(c->kernel, OP_LITERAL, type_scalar(DT_NONE), loc, 0);
    e->literal = (struct literal){.is_float = true, .f = v};
    return e;
}

static bool fold_overflows(enum op op, const struct literal *x)
{
    int64_t ignored;
    switch (op) {
    case OP_ADD: return __builtin_add_overflow(x[0].i, x[1].i, &ignored);
    case OP_SUB: return __builtin_sub_overflow(x[0].i, x[1].i, &ignored);
    case OP_MUL: return __builtin_mul_overflow(x[0].i, x[1].i, &ignored);
    case OP_SQUARE: return __builtin_mul_overflow(x[0].i, x[0].i, &ignored);
    case OP_SHL:
        return x[1].i < 0 || x[1].i > 62 ||
               __builtin_mul_overflow(x[0].i, (int64_t)1 << x[1].i, &ignored);
    case OP_NEG:
    case OP_ABS: return x[0].i == INT64_MIN;
    default: return false;
    }
}

static void fold_error(struct checker *c, enum op op, struct loc loc, bool floats,
                       const struct literal *x)
{
    if ((op == OP_DIV || op == OP_REM || op == OP_CDIV) && !floats && x[1].i == 0)
        diag_error(c->diag, loc, "division by zero");
    else if (floats && op_table[op].class == CLASS_BITWISE)
        diag_error(c->diag, loc, "`%s` is for integers and bool", op_table[op].text);
    else
        diag_error(c->diag, loc, "this constant does not fit 64 bits");
}

/* Makes the product of two literals. It keeps its factors, because a sum with it is computed as
 * one fma. */
static struct expr *folded_product(struct checker *c, double v, struct loc loc, struct expr **args)
{
    struct expr *e = check_untyped_float(c, v, loc);
    e->args = arena_copy(c->kernel->arena, args, 2 * sizeof *args);
    return e;
}

static double factor_of(const struct expr *e, int at)
{
    const struct literal *x = &e->args[at]->literal;
    return x->is_float ? x->f : (double)x->i;
}

/* Makes a * b + c, a * b - c or c - a * b of literals, as one fma in f64. NULL: it has another
 * form. */
static struct expr *folded_sum(struct checker *c, enum op op, struct loc loc, struct expr **args,
                               const struct literal *x)
{
    int at = args[0]->args ? 0 : 1;
    if ((op != OP_ADD && op != OP_SUB) || !args[at]->args)
        return NULL;
    double a = factor_of(args[at], 0), b = factor_of(args[at], 1), other = x[1 - at].f;
    if (op == OP_SUB && at == 0)
        other = -other;
    else if (op == OP_SUB)
        a = -a;
    return check_untyped_float(c, fma(a, b, other), loc);
}

struct expr *check_make_fold(struct checker *c, enum op op, struct loc loc, struct expr **args,
                             int count)
{
    struct literal x[3] = {0}, value;
    bool floats = false, beyond = false;
    for (int i = 0; i < count; i++) {
        floats = floats || args[i]->literal.is_float;
        beyond = beyond || args[i]->axis == 1; /* above INT64_MAX: allowed only without an
                                                * operator */
    }
    for (int i = 0; i < count; i++) {
        x[i] = args[i]->literal;
        if (floats && !x[i].is_float)
            x[i] = (struct literal){.is_float = true, .f = (double)x[i].i};
    }
    bool bad = !floats && (beyond || fold_overflows(op, x));
    if (bad || !eval_op(op, floats ? DT_F64 : DT_I64, x, count, &value)) {
        fold_error(c, op, loc, floats, x);
        return NULL;
    }
    if (op_table[op].class == CLASS_COMPARE)
        return expr_int(c->kernel, DT_BOOL, value.i, loc);
    if (floats && op == OP_MUL)
        return folded_product(c, value.f, loc, args);
    struct expr *sum = floats ? folded_sum(c, op, loc, args, x) : NULL;
    if (sum)
        return sum;
    return floats ? check_untyped_float(c, value.f, loc) : check_untyped_int(c, value.i, loc);
}

bool check_are_untyped(struct expr **args, int count)
{
    for (int i = 0; i < count; i++)
        if (!check_is_untyped(args[i]))
            return false;
    return true;
}

bool check_join_operands(struct checker *c, struct loc loc, struct expr **args, int count,
                         enum dtype *out)
{
    (void)loc;
    enum dtype t = DT_NONE;
    bool float_literal = false;
    for (int i = 0; i < count; i++) {
        if (check_is_untyped(args[i]))
            float_literal = float_literal || args[i]->literal.is_float;
        else
            t = t == DT_NONE ? dtype_join(args[i]->type.dtype, args[i]->type.dtype)
                             : dtype_join(t, args[i]->type.dtype);
    }
    if (t == DT_NONE) { /* all are literals, and the op is not folded */
        t = DT_I32;
        for (int i = 0; i < count; i++)
            if (!args[i]->literal.is_float &&
                dtype_wrap(DT_I32, args[i]->literal.i) != args[i]->literal.i)
                t = DT_I64;
    }
    if (float_literal && !dtype_is_float(t))
        t = DT_F32;
    for (int i = 0; i < count; i++) {
        args[i] = check_is_untyped(args[i]) ? check_adapt_literal(c, args[i], t)
                                            : check_cast_to(c, args[i], t);
        if (!args[i])
            return false;
    }
    *out = t;
    return true;
}

bool check_join_all_shapes(struct checker *c, struct loc loc, struct expr **args, int count,
                           struct type *out)
{
    struct expr so_far = *args[0];
    for (int i = 1; i < count; i++)
        if (!check_join_shapes(c, loc, &so_far, args[i], &so_far.type))
            return false;
    *out = so_far.type;
    return true;
}

/* Reports an integer division by the constant 0, because every executor would stop there. */
static bool divides_by_zero(struct checker *c, enum op op, const struct expr *divisor)
{
    int64_t v;
    if ((op != OP_DIV && op != OP_REM && op != OP_CDIV) || dtype_is_float(divisor->type.dtype) ||
        !eval_int(divisor, NULL, &v) || v != 0 || c->never > 0)
        return false;
    diag_error(c->diag, divisor->loc, "division by zero");
    return true;
}

/* Returns true if both operands are integer literals with a type. Extents that the arguments of
 * a fn bring are such literals; folding makes N - 1 one number again. */
static bool typed_integers(enum op op, struct expr **args)
{
    return op_table[op].class == CLASS_ARITH && args[0]->op == OP_LITERAL &&
           args[1]->op == OP_LITERAL && !args[0]->literal.is_float && !args[1]->literal.is_float;
}

static bool fold_typed(enum op op, struct expr **args, struct literal *out)
{
    const struct literal x[2] = {args[0]->literal, args[1]->literal};
    return eval_op(op, args[0]->type.dtype, x, 2, out);
}

static struct expr *make_arith(struct checker *c, enum op op, struct loc loc, struct expr *a,
                               struct expr *b)
{
    struct expr *args[2] = {a, b};
    enum dtype t;
    struct type type;
    if (!check_join_operands(c, loc, args, 2, &t) ||
        !check_join_all_shapes(c, loc, args, 2, &type) || divides_by_zero(c, op, args[1]))
        return NULL;
    type.dtype = op_table[op].class == CLASS_COMPARE ? DT_BOOL : t;
    struct literal value;
    if (typed_integers(op, args) && fold_typed(op, args, &value))
        return expr_int(c->kernel, t, value.i, loc);
    return expr_binary(c->kernel, op, type, loc, args[0], args[1]);
}

static struct expr *make_logic(struct checker *c, enum op op, struct loc loc, struct expr *a,
                               struct expr *b)
{
    a = check_to_bool(c, a);
    b = check_to_bool(c, b);
    struct type type;
    if (!a || !b || !check_join_shapes(c, loc, a, b, &type))
        return NULL;
    type.dtype = DT_BOOL;
    return expr_binary(c->kernel, op, type, loc, a, b);
}

bool check_integers(struct checker *c, enum op op, const struct expr *a)
{
    if (check_is_untyped(a) ? !a->literal.is_float : !dtype_is_float(a->type.dtype))
        return true;
    struct loc at = check_expr_place(c, a);
    diag_error(c->diag, at, "`%s` is for integers and bool, `%s` is %s", op_table[op].text,
               check_source_snippet(c, at), check_type_name(c, a));
    if (op == OP_XOR)
        diag_note(c->diag, at, "powers are `exp2(y * log2(x))`, `square(x)`");
    else
        diag_note(c->diag, at, "to work on the bits of a float: `bits<u32>(x)`");
    return false;
}

/* Makes a shift. As in C, the left operand alone decides the type. */
static struct expr *make_shift(struct checker *c, enum op op, struct loc loc, struct expr *a,
                               struct expr *b)
{
    a = check_settle_literal(c, a);
    if (!a)
        return NULL;
    if (a->type.dtype == DT_BOOL)
        a = check_cast_to(c, a, DT_I32);
    int64_t amount;
    enum dtype t = a->type.dtype;
    b = check_is_untyped(b) ? check_adapt_literal(c, b, t) : b;
    if (!b)
        return NULL;
    if (eval_int(b, NULL, &amount) && (amount < 0 || amount >= dtype_table[t].bits)) {
        diag_error(c->diag, b->loc, "a shift by %lld of %s, which has %d bits", (long long)amount,
                   dtype_table[t].name, dtype_table[t].bits);
        return NULL;
    }
    if (dtype_holds(t, b->type.dtype) || dtype_table[b->type.dtype].bits <= dtype_table[t].bits)
        b = check_cast_to(c, b, t);
    struct type type;
    if (!check_join_shapes(c, loc, a, b, &type))
        return NULL;
    type.dtype = t;
    return expr_binary(c->kernel, op, type, loc, a, b);
}

static struct expr *make_bitwise(struct checker *c, enum op op, struct loc loc, struct expr *a,
                                 struct expr *b)
{
    bool good = check_integers(c, op, a);
    if (!check_integers(c, op, b) || !good)
        return NULL;
    if (op == OP_SHL || op == OP_SHR)
        return make_shift(c, op, loc, a, b);
    if (check_is_untyped(a) || check_is_untyped(b) || a->type.dtype != DT_BOOL ||
        b->type.dtype != DT_BOOL)
        return make_arith(c, op, loc, a, b);
    struct type type;
    if (!check_join_shapes(c, loc, a, b, &type))
        return NULL;
    type.dtype = DT_BOOL;
    return expr_binary(c->kernel, op, type, loc, a, b);
}

struct expr *check_make_binary(struct checker *c, enum op op, struct loc loc, struct expr *a,
                               struct expr *b)
{
    struct expr *args[2] = {a, b};
    if (op_table[op].class == CLASS_LOGIC)
        return make_logic(c, op, loc, a, b);
    if (check_are_untyped(args, 2))
        return check_make_fold(c, op, loc, args, 2);
    if (op_table[op].class == CLASS_BITWISE)
        return make_bitwise(c, op, loc, a, b);
    return make_arith(c, op, loc, a, b);
}

struct type check_shape_of(const struct type *want)
{
    struct type shape = want ? *want : type_scalar(DT_NONE);
    shape.dtype = DT_NONE;
    return shape;
}

/* Returns true if the condition, or its first operand (`a && b` in `a && b && c`), is known to
 * be undecidable. */
static bool begins_unknown(const struct checker *c, const struct expr *condition)
{
    bool logic = condition->op == OP_LAND || condition->op == OP_LOR;
    return number_map_find(&c->unknown, (uintptr_t)condition) ||
           (logic && number_map_find(&c->unknown, (uintptr_t)condition->args[0]));
}

bool check_rules_out(struct checker *c, const struct expr *condition, bool truth)
{
    struct literal value;
    if (!condition || condition->type.rank > 0)
        return false;
    if (!begins_unknown(c, condition) && eval_scalar(condition, NULL, &value))
        return (value.i != 0) != truth;
    number_map_add_object(c->arena, &c->unknown, condition);
    return false;
}

bool check_join_choices(struct checker *c, struct loc loc, struct expr **arms,
                        const struct type *want, enum dtype *t)
{
    if (check_are_untyped(arms, 2)) {
        bool floats = arms[0]->literal.is_float || arms[1]->literal.is_float;
        if (want && want->dtype != DT_NONE && (dtype_is_float(want->dtype) || !floats)) {
            arms[0] = check_adapt_literal(c, arms[0], want->dtype);
            arms[1] = check_adapt_literal(c, arms[1], want->dtype);
            *t = want->dtype;
            return arms[0] && arms[1];
        }
    }
    if (!check_is_untyped(arms[0]) && !check_is_untyped(arms[1]) &&
        arms[0]->type.dtype == arms[1]->type.dtype) {
        *t = arms[0]->type.dtype; /* bool stays bool */
        return true;
    }
    return check_join_operands(c, loc, arms, 2, t);
}

struct expr *check_operand(struct checker *c, const struct node *n)
{
    struct expr *e = check_expr(c, n, NULL);
    return e ? check_settle_literal(c, e) : NULL;
}

struct expr *check_scalar_int(struct checker *c, const struct node *n, const char *what)
{
    struct expr *e = check_operand(c, n);
    if (!e)
        return NULL;
    if (e->type.rank == 0 && dtype_is_int(e->type.dtype))
        return e;
    diag_error(c->diag, n->loc, "%s is an integer, `%s` is %s", what,
               check_source_snippet(c, n->loc), check_type_name(c, e));
    return NULL;
}

struct expr *check_condition(struct checker *c, const struct node *n)
{
    struct expr *e = check_expr(c, n, NULL);
    e = e ? check_to_bool(c, e) : NULL;
    if (!e || e->type.rank == 0)
        return e;
    diag_error(c->diag, n->loc, "a condition is a scalar, `%s` is %s",
               check_source_snippet(c, n->loc), check_type_name(c, e));
    diag_note(c->diag, n->loc, "`any(x)` and `all(x)` make one of a tile");
    return NULL;
}
