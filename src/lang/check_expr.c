/* Operators, casts and literals.
 *
 * The operands of an arithmetic operator are converted to one type (Meaning 12: a literal takes
 * the type of the other operand, f16 with f32 gives f32) by casts that are nodes of the tree.
 * Shapes are joined by broadcasting, which needs no nodes. */
#include "lang/check_internal.h"

#include <math.h>
#include <string.h>

/* --- queries of expressions --- */

static bool any_below(const struct expr *e, bool (*test)(const struct expr *e))
{
    if (!e)
        return false;
    if (test(e))
        return true;
    for (int i = 0; i < e->count; i++)
        if (any_below(e->args[i], test))
            return true;
    for (int i = 0; i < e->indices; i++)
        if (any_below(e->index[i].value, test))
            return true;
    return any_below(e->otherwise, test);
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
    for (int i = 0; i < e->count; i++)
        if (check_expr_varies(c, e->args[i]))
            return true;
    for (int i = 0; i < e->indices; i++)
        if (check_expr_varies(c, e->index[i].value))
            return true;
    return check_expr_varies(c, e->otherwise);
}

int64_t check_expr_size(const struct expr *e)
{
    if (!e)
        return 0;
    int64_t size = 1 + check_expr_size(e->otherwise);
    for (int i = 0; i < e->count; i++)
        size += check_expr_size(e->args[i]);
    for (int i = 0; i < e->indices; i++)
        size += check_expr_size(e->index[i].value);
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
    int depth = check_expr_depth(e->otherwise);
    for (int i = 0; i < e->count; i++)
        depth = deepest(depth, check_expr_depth(e->args[i]));
    for (int i = 0; i < e->indices; i++)
        depth = deepest(depth, check_expr_depth(e->index[i].value));
    return depth + 1;
}

/* --- constant expressions of literals --- */

static struct expr *untyped_int(struct checker *c, int64_t v, struct loc loc)
{
    struct expr *e = expr_new(c->kernel, OP_LITERAL, type_scalar(DT_NONE), loc, 0);
    e->literal.i = v;
    return e;
}

static struct expr *untyped_float(struct checker *c, double v, struct loc loc)
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
    struct expr *e = untyped_float(c, v, loc);
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
    return untyped_float(c, fma(a, b, other), loc);
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
    return floats ? untyped_float(c, value.f, loc) : untyped_int(c, value.i, loc);
}

static bool all_untyped(struct expr **args, int count)
{
    for (int i = 0; i < count; i++)
        if (!check_is_untyped(args[i]))
            return false;
    return true;
}

/* --- operators --- */

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

static bool join_all_shapes(struct checker *c, struct loc loc, struct expr **args, int count,
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
    if (!check_join_operands(c, loc, args, 2, &t) || !join_all_shapes(c, loc, args, 2, &type) ||
        divides_by_zero(c, op, args[1]))
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

static bool integers(struct checker *c, enum op op, const struct expr *a)
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
    bool good = integers(c, op, a);
    if (!integers(c, op, b) || !good)
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
    if (all_untyped(args, 2))
        return check_make_fold(c, op, loc, args, 2);
    if (op_table[op].class == CLASS_BITWISE)
        return make_bitwise(c, op, loc, a, b);
    return make_arith(c, op, loc, a, b);
}

/* Returns the context of an operand: it has the shape of `want`, but not its element type. */
static struct type shape_of(const struct type *want)
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

/* Checks an operand that is evaluated only if `condition` equals `truth`. */
static struct expr *check_arm(struct checker *c, const struct node *n, const struct type *want,
                              const struct expr *condition, bool truth)
{
    bool never = check_rules_out(c, condition, truth);
    c->never += never;
    struct expr *e = check_expr(c, n, want);
    c->never -= never;
    return e;
}

/* Warns about "0 <= i < n", which means (0 <= i) < n. */
static void warn_chain(struct checker *c, const struct node *n)
{
    enum op first = n->a->kind == N_BINARY ? n->a->op : OP_COUNT;
    bool orders = n->op == OP_LT || n->op == OP_LE || n->op == OP_GT || n->op == OP_GE;
    if (!orders || (first != OP_LT && first != OP_LE && first != OP_GT && first != OP_GE))
        return;
    diag_warning(c->diag, n->loc, "this compares `%s`, which is true or false, with `%s`",
                 check_source_snippet(c, n->a->loc), check_source_snippet(c, n->b->loc));
    diag_note(c->diag, n->loc, "say `%s && %s %s %s`", check_source_snippet(c, n->a->loc),
              check_source_snippet(c, n->a->b->loc), op_table[n->op].text,
              check_source_snippet(c, n->b->loc));
}

static struct expr *check_binary(struct checker *c, const struct node *n, const struct type *want)
{
    bool logic = op_table[n->op].class == CLASS_LOGIC, hoistable = c->hoistable;
    struct type shape = shape_of(want);
    struct expr *a = check_expr(c, n->a, &shape);
    if (logic && (!a || a->type.rank == 0))
        c->hoistable = false; /* the right side is not always evaluated */
    struct expr *b =
        logic ? check_arm(c, n->b, &shape, a, n->op == OP_LAND) : check_expr(c, n->b, &shape);
    c->hoistable = hoistable;
    warn_chain(c, n);
    return a && b ? check_make_binary(c, n->op, n->loc, a, b) : NULL;
}

static struct expr *check_unary(struct checker *c, const struct node *n, const struct type *want)
{
    struct expr *a = check_expr(c, n->a, n->op == OP_NOT ? NULL : want);
    if (!a)
        return NULL;
    if (n->op == OP_NOT) {
        a = check_to_bool(c, a);
        return a ? expr_unary(c->kernel, OP_NOT, a->type, n->loc, a) : NULL;
    }
    if (n->op == OP_NEG && check_is_untyped(a) && a->axis == 1 && a->literal.i == INT64_MIN)
        return untyped_int(c, INT64_MIN, n->loc);
    if (check_is_untyped(a))
        return check_make_fold(c, n->op, n->loc, &a, 1);
    if (n->op == OP_INVERT && a->type.dtype == DT_BOOL) {
        diag_error(c->diag, n->loc, "`~` of a bool");
        diag_note(c->diag, n->loc, "the opposite of a bool is `!x`");
        return NULL;
    }
    if (n->op == OP_INVERT && !integers(c, n->op, a))
        return NULL;
    if (a->type.dtype == DT_BOOL)
        a = check_cast_to(c, a, DT_I32);
    return expr_unary(c->kernel, n->op, a->type, n->loc, a);
}

/* --- choices --- */

/* Converts two values to one type. Each is the context of the other; `want` is the context of
 * two literals. */
static bool join_choices(struct checker *c, struct loc loc, struct expr **arms,
                         const struct type *want, enum dtype *t)
{
    if (all_untyped(arms, 2)) {
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

static struct expr *check_select(struct checker *c, const struct node *n, const struct type *want)
{
    struct expr *condition = check_expr(c, n->a, NULL);
    condition = condition ? check_to_bool(c, condition) : NULL;
    bool hoistable = c->hoistable;
    c->hoistable = false;
    struct expr *arms[2] = {check_arm(c, n->b, want, condition, true),
                            check_arm(c, n->c, want, condition, false)};
    c->hoistable = hoistable;
    if (!condition || !arms[0] || !arms[1])
        return NULL;
    if (condition->type.rank > 0) {
        diag_error(c->diag, condition->loc, "the condition of `?:` is a scalar, this is %s",
                   check_type_name(c, condition));
        diag_note(c->diag, n->loc, "to choose element by element: `where(condition, a, b)`");
        return NULL;
    }
    enum dtype t;
    struct type type;
    if (!join_choices(c, n->loc, arms, want, &t) || !join_all_shapes(c, n->loc, arms, 2, &type))
        return NULL;
    type.dtype = t;
    struct expr *e = expr_new(c->kernel, OP_SELECT, type, n->loc, 3);
    e->args[0] = condition;
    e->args[1] = arms[0];
    e->args[2] = arms[1];
    return e;
}

/* Checks where(condition, a, b). */
struct expr *check_where(struct checker *c, const struct node *n, const struct type *want)
{
    if (!check_arguments(c, n, 3, 3, NULL, "where(condition, a, b)"))
        return NULL;
    struct type shape = shape_of(want);
    struct expr *condition = check_expr(c, check_call_argument(n, 0), &shape);
    condition = condition ? check_to_bool(c, condition) : NULL;
    struct expr *arms[2] = {check_expr(c, check_call_argument(n, 1), want),
                            check_expr(c, check_call_argument(n, 2), want)};
    if (!condition || !arms[0] || !arms[1])
        return NULL;
    enum dtype t;
    struct type type;
    struct expr *all[3] = {condition, NULL, NULL};
    if (!join_choices(c, n->loc, arms, want, &t))
        return NULL;
    all[1] = arms[0];
    all[2] = arms[1];
    if (!join_all_shapes(c, n->loc, all, 3, &type))
        return NULL;
    type.dtype = t;
    struct expr *e = expr_new(c->kernel, OP_WHERE, type, n->loc, 3);
    memcpy(e->args, all, sizeof all);
    return e;
}

/* --- casts --- */

static struct expr *cast_literal(struct checker *c, struct expr *e, enum dtype t, struct loc loc)
{
    struct literal value = e->literal;
    if (value.is_float)
        value = eval_cast(t, DT_F64, &value);
    else
        value = eval_cast(t, e->axis == 1 ? DT_U64 : DT_I64, &value);
    struct expr *typed = expr_new(c->kernel, OP_LITERAL, type_scalar(t), loc, 0);
    typed->literal = value;
    return typed;
}

static struct expr *check_cast(struct checker *c, const struct node *n, const struct type *want)
{
    struct type shape = shape_of(want);
    enum dtype t = check_dtype(c, n->type);
    struct expr *a = check_expr(c, n->a, &shape);
    if (!a || t == DT_NONE)
        return NULL;
    if (check_is_untyped(a))
        return cast_literal(c, a, t, n->loc);
    bool rounded = dtype_is_float(t) && (a->op == OP_MUL || a->op == OP_DOT);
    if (a->type.dtype == t && !rounded)
        return a;
    /* A cast of a product, even to its own type, keeps it from being contracted with a sum. */
    struct expr *e = a->type.dtype == t ? expr_unary(c->kernel, OP_CAST, a->type, n->loc, a)
                                        : check_cast_to(c, a, t);
    e->loc = n->loc;
    return e;
}

static struct expr *check_bits(struct checker *c, const struct node *n)
{
    enum dtype t = check_dtype(c, n->type);
    struct expr *a = check_operand(c, n->a);
    if (!a || t == DT_NONE)
        return NULL;
    enum dtype from = a->type.dtype;
    if (dtype_table[from].bits != dtype_table[t].bits || t == DT_BOOL || from == DT_BOOL) {
        diag_error(c->diag, n->loc, "bits<%s> of %s, which has %d bits", dtype_table[t].name,
                   dtype_table[from].name, dtype_table[from].bits);
        diag_note(c->diag, n->loc, "the same bits need a type of the same width, and no bool");
        return NULL;
    }
    struct type type = a->type;
    type.dtype = t;
    return expr_unary(c->kernel, OP_BITS, type, n->loc, a);
}

/* --- any expression --- */

static struct expr *check_else(struct checker *c, const struct node *n)
{
    diag_error(c->diag, n->loc,
               "`else` gives the value of a load beyond the edge; this is not a load");
    diag_note(c->diag, n->loc, "write it right after the access: `A[i +: N] else 0`");
    return NULL;
}

/* Reports by(…) after a call that it says nothing about. */
static bool good_by(struct checker *c, const struct node *n)
{
    if (!n->by || (strcmp(n->text, "dot") == 0 && !c->in_ensures))
        return true;
    if (c->in_ensures) {
        diag_error(c->diag, n->by->loc, "`ensures` names values, not the unit that computes them");
    } else {
        diag_error(c->diag, n->by->loc, "`by(…)` says which unit does a `dot`; `%s` has none",
                   n->text);
    }
    diag_note(c->diag, n->by->loc, "leave it out");
    diag_fix(c->diag, n->by->loc, "%s", "");
    return false;
}

static struct expr *check_kind(struct checker *c, const struct node *n, const struct type *want)
{
    switch (n->kind) {
    case N_INT: {
        struct expr *e = untyped_int(c, n->i, n->loc);
        e->axis = n->above_i64;
        return e;
    }
    case N_FLOAT: return untyped_float(c, n->f, n->loc);
    case N_BOOL: return expr_int(c->kernel, DT_BOOL, n->i != 0, n->loc);
    case N_NAME: return check_take_by(c, n, check_name(c, n));
    case N_MEMBER: return check_member(c, n);
    case N_ACCESS: return check_take_by(c, n, check_access(c, n));
    case N_UNARY: return check_unary(c, n, want);
    case N_BINARY: return check_binary(c, n, want);
    case N_SELECT: return check_select(c, n, want);
    case N_CAST: return check_cast(c, n, want);
    case N_BITS: return check_bits(c, n);
    case N_CALL: return good_by(c, n) ? check_call(c, n, want) : NULL;
    case N_ELSE: return check_else(c, n);
    case N_STRING: diag_error(c->diag, n->loc, "a string has no value here"); return NULL;
    case N_NAMED:
        diag_error(c->diag, n->loc, "`%s = …` is not an argument here", n->text);
        return NULL;
    case N_TUPLE: diag_error(c->diag, n->loc, "several values are not allowed here"); return NULL;
    default: diag_error(c->diag, n->loc, "this is not an expression"); return NULL;
    }
}

struct expr *check_expr(struct checker *c, const struct node *n, const struct type *want)
{
    if (!n)
        return NULL;
    struct expr *e = check_deeper(c, n->loc) ? check_kind(c, n, want) : NULL;
    c->depth--;
    bool any_size = c->in_ensures || c->any_extent; /* the value is not stored, so any size is
                                                     * allowed */
    if (e && !check_is_untyped(e) && !any_size && !check_size(c, &e->type, n->loc))
        return NULL;
    return e;
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
