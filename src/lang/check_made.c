/* Calls that the checker builds from other ops, so every executor supports them without code of its
 * own.
 *
 *   argmax(x)             min(where(x == max(x), iota(), n)): the first element that is the greatest.
 *                         In `ensures` it stays an op: the checks of results need the op to tell a
 *                         winner whose margin decides from one that a rounding could change.
 *   rand(s, o)            the upper 24 bits of philox(s, o), times 2^-24
 *   randn(s, o)           sqrt(-2 log(1 - u)) cos(2 pi v) (Box and Muller 1958), u and v from words 0
 *                         and 1
 *   randint(s, o, a, b)   a + (philox(s, o) (b - a) >> 32), in 64 bits; a if b <= a */
#include "lang/check_internal.h"

struct expr *check_keep_for_uses(struct checker *c, const char *name, struct expr *e)
{
    if (!e || e->op == OP_REF || e->op == OP_LITERAL || !c->hoistable)
        return e;
    return expr_ref(c->kernel, check_keep_value(c, name, &e->type, e, e->loc), e->loc);
}

static struct expr *again(struct checker *c, const struct expr *e)
{
    return expr_copy(c->kernel, e);
}

/* --- argmax, argmin --- */

/* Returns the number of each element along the axis, or in the whole tile. */
static struct expr *element_numbers(struct checker *c, const struct expr *x, int axis)
{
    struct expr *sum = NULL;
    int64_t step = 1;
    for (int i = x->type.rank - 1; i >= 0; i--) {
        struct type type = {.dtype = DT_I32, .rank = x->type.rank};
        for (int j = 0; j < type.rank; j++)
            type.extent[j] = j == i ? x->type.extent[i] : 1;
        bool counts = axis < 0 ? x->type.extent[i] != 1 || (i == 0 && !sum) : i == axis;
        if (!counts)
            continue;
        struct expr *e = expr_new(c->kernel, OP_IOTA, type, x->loc, 0);
        if (axis < 0 && step != 1)
            e = check_make_binary(c, OP_MUL, x->loc, e, expr_int(c->kernel, DT_I32, step, x->loc));
        sum = sum ? check_make_binary(c, OP_ADD, x->loc, e, sum) : e;
        step *= x->type.extent[i];
    }
    return sum;
}

static struct expr *reduced(struct checker *c, enum op op, struct expr *x, int axis, enum dtype t)
{
    struct type type = x->type;
    if (axis < 0)
        type.rank = 0;
    else
        type.extent[axis] = 1;
    type.dtype = t;
    struct expr *e = expr_unary(c->kernel, op, type, x->loc, x);
    e->axis = axis;
    return e;
}

struct expr *check_arg_reduce(struct checker *c, const struct node *n, enum op op)
{
    static const char *const names[] = {"axis", NULL};
    const char *form = arena_printf(c->arena, "%s(x)` or `%s(x, axis = 1)", n->text, n->text);
    enum op greatest = op == OP_REDUCE_ARGMAX ? OP_REDUCE_MAX : OP_REDUCE_MIN;
    int axis;
    if (!check_arguments(c, n, 1, 1, names, form))
        return NULL;
    struct expr *x = check_reduction_operand(c, n, greatest);
    if (!x || !check_axis(c, n, x, false, &axis))
        return NULL;
    if (c->in_ensures)
        return reduced(c, op, x, axis, DT_I32);
    x = check_keep_for_uses(c, "x", x);
    struct expr *best =
        check_keep_for_uses(c, "best", reduced(c, greatest, again(c, x), axis, x->type.dtype));
    struct expr *is_best = check_make_binary(c, OP_EQ, n->loc, again(c, x), again(c, best));
    if (dtype_is_float(x->type.dtype)) { /* if all elements are NaN, the first one */
        struct expr *no_number =
            check_make_binary(c, OP_NE, n->loc, again(c, best), again(c, best));
        is_best = check_make_binary(c, OP_LOR, n->loc, is_best, no_number);
    }
    struct type type = x->type;
    type.dtype = DT_I32;
    struct expr *number = expr_new(c->kernel, OP_WHERE, type, n->loc, 3);
    number->args[0] = is_best;
    number->args[1] = element_numbers(c, x, axis);
    number->args[2] = expr_int(c->kernel, DT_I32, INT32_MAX, n->loc);
    return reduced(c, OP_REDUCE_MIN, number, axis, DT_I32);
}

/* --- random numbers --- */

/* Checks an argument, converts it to t, and makes it fit for several uses. */
static struct expr *random_argument(struct checker *c, const struct node *n, int i, enum dtype t,
                                    const struct type *want)
{
    struct type shape = want ? *want : type_scalar(DT_NONE);
    shape.dtype = DT_NONE;
    struct expr *a = check_expr(c, check_call_argument(n, i), &shape);
    if (a && (check_is_untyped(a) ? a->literal.is_float : dtype_is_float(a->type.dtype))) {
        diag_error(c->diag, a->loc, "`%s` takes integers, this is %s", n->text,
                   check_type_name(c, a));
        return NULL;
    }
    a = a && check_is_untyped(a) ? check_adapt_literal(c, a, t) : a;
    if (a && t == DT_I32)
        a = check_convert_to(c, a, t, "a bound of `randint`");
    return a ? check_cast_to(c, a, t) : NULL;
}

static struct expr *random_word(struct checker *c, struct loc loc, const struct expr *seed,
                                const struct expr *offset, int word)
{
    struct expr *e = expr_new(c->kernel, OP_PHILOX, type_scalar(DT_U32), loc, word ? 3 : 2);
    e->args[0] = again(c, seed);
    e->args[1] = again(c, offset);
    if (word)
        e->args[2] = expr_int(c->kernel, DT_U32, word, loc);
    if (!check_join_shapes(c, loc, seed, offset, &e->type))
        return NULL;
    e->type.dtype = DT_U32;
    return e;
}

/* Returns a fraction from 0 up to but not including 1. It has 24 bits, which f32 represents
 * exactly. */
static struct expr *fraction(struct checker *c, struct expr *word)
{
    struct expr *upper =
        check_make_binary(c, OP_SHR, word->loc, word, expr_int(c->kernel, DT_U32, 8, word->loc));
    return check_make_binary(c, OP_MUL, word->loc, check_cast_to(c, upper, DT_F32),
                             expr_float(c->kernel, DT_F32, 0x1p-24, word->loc));
}

static struct expr *normal(struct checker *c, struct loc loc, struct expr *u, struct expr *v)
{
    struct expr *minus = expr_unary(c->kernel, OP_NEG, u->type, loc, u);
    struct expr *log = expr_unary(c->kernel, OP_LOG1P, u->type, loc, minus);
    struct expr *square =
        check_make_binary(c, OP_MUL, loc, log, expr_float(c->kernel, DT_F32, -2, loc));
    struct expr *radius = expr_unary(c->kernel, OP_SQRT, u->type, loc, square);
    struct expr *turn =
        check_make_binary(c, OP_MUL, loc, v, expr_float(c->kernel, DT_F32, 6.283185307179586, loc));
    return check_make_binary(c, OP_MUL, loc, radius,
                             expr_unary(c->kernel, OP_COS, turn->type, loc, turn));
}

/* Returns where(high > low, range, 0): without integers to choose from, the result is low. */
static struct expr *unless_empty(struct checker *c, const struct node *n, const struct expr *low,
                                 const struct expr *high, struct expr *range)
{
    struct expr *any = check_make_binary(c, OP_GT, n->loc, again(c, high), again(c, low));
    struct expr *e = expr_new(c->kernel, OP_WHERE, range->type, n->loc, 3);
    e->args[0] = any;
    e->args[1] = range;
    e->args[2] = expr_int(c->kernel, DT_U32, 0, n->loc);
    return any ? e : NULL;
}

/* Returns low + (word (high - low) >> 32), with the product in 64 bits. */
static struct expr *whole_within(struct checker *c, const struct node *n, struct expr *word,
                                 struct expr *low, struct expr *high)
{
    int64_t least, most;
    if (eval_int(low, NULL, &least) && eval_int(high, NULL, &most) && least >= most) {
        diag_error(c->diag, n->loc, "`randint` has no integers from %lld up to but without %lld",
                   (long long)least, (long long)most);
        diag_note(c->diag, n->loc,
                  "it is written `randint(seed, offset, low, high)`, with low < high");
        return NULL;
    }
    bool known = eval_int(low, NULL, &least) && eval_int(high, NULL, &most);
    low = check_keep_for_uses(c, "low", low);
    high = check_keep_for_uses(c, "high", high);
    struct expr *range = check_make_binary(c, OP_SUB, n->loc, again(c, high), again(c, low));
    range = range ? check_cast_to(c, range, DT_U32) : NULL;
    if (range && !known)
        range = unless_empty(c, n, low, high, range);
    if (!range)
        return NULL;
    range = check_cast_to(c, range, DT_U64);
    struct expr *product =
        check_make_binary(c, OP_MUL, n->loc, check_cast_to(c, word, DT_U64), range);
    if (!product)
        return NULL;
    struct expr *upper =
        check_make_binary(c, OP_SHR, n->loc, product, expr_int(c->kernel, DT_U64, 32, n->loc));
    return check_make_binary(c, OP_ADD, n->loc, check_cast_to(c, upper, DT_I32), low);
}

struct expr *check_random(struct checker *c, const struct node *n, enum op op,
                          const struct type *want)
{
    int count = check_call_argument_count(n), most = op == OP_RANDINT ? 4 : 2;
    const char *form = op == OP_RANDINT
                           ? "randint(seed, offset)` or `randint(seed, offset, low, high)"
                           : arena_printf(c->arena, "%s(seed, offset)", n->text);
    if (!check_arguments(c, n, 2, most, NULL, form))
        return NULL;
    if (count == 3) {
        diag_error(c->diag, n->loc, "`randint` takes both bounds, or none");
        diag_note(c->diag, n->loc, "it is written `%s`", form);
        return NULL;
    }
    struct expr *args[4];
    for (int i = 0; i < count; i++) {
        args[i] = random_argument(c, n, i, i < 2 ? DT_U64 : DT_I32, want);
        if (!args[i])
            return NULL;
    }
    if (op == OP_RANDN) {
        args[0] = check_keep_for_uses(c, "seed", args[0]);
        args[1] = check_keep_for_uses(c, "offset", args[1]);
    }
    struct expr *word = random_word(c, n->loc, args[0], args[1], 0);
    if (!word || (op == OP_RANDINT && count == 2))
        return word;
    if (op == OP_RANDINT)
        return whole_within(c, n, word, args[2], args[3]);
    struct expr *u = fraction(c, word);
    if (op == OP_RAND)
        return u;
    return normal(c, n->loc, u, fraction(c, random_word(c, n->loc, args[0], args[1], 1)));
}
