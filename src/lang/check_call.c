/* Calls: finding the function, checking its arguments, and the typing rules of elementwise
 * functions and reductions.
 *
 * The class of an op in ops.def decides how most ops are checked. Ops of class OWN have a
 * function here, in check_shape.c or in check_effect.c. */
#include "lang/check_internal.h"

#include <string.h>

/* --- arguments --- */

/* Returns the form of a call with the op's number of operands: "max(a, b)". */
static const char *plain_form(struct checker *c, enum op op)
{
    static const char *const forms[] = {"%s()", "%s(x)", "%s(a, b)", "%s(a, b, c)"};
    int arity = op_table[op].arity;
    const char *form = forms[arity >= 0 && arity < 4 ? arity : 0];
    struct text t;
    text_init(&t, c->arena);
    for (const char *s = form; *s; s++) {
        if (*s == '%' && s[1] == 's') {
            text_add(&t, op_table[op].text);
            s++;
        } else {
            text_add_char(&t, *s);
        }
    }
    return t.data;
}

/* --- elementwise functions --- */

/* Reports float operands of ops for integers, such as cdiv and pow2_ceil. */
static bool integers_only(struct checker *c, enum op op, struct expr **args, int count)
{
    if (op != OP_CDIV && op != OP_POW2_CEIL)
        return true;
    for (int i = 0; i < count; i++) {
        bool is_float = check_is_untyped(args[i]) ? args[i]->literal.is_float
                                                  : dtype_is_float(args[i]->type.dtype);
        if (!is_float)
            continue;
        diag_error(c->diag, args[i]->loc, "`%s` is for integers, this is %s", op_table[op].text,
                   check_type_name(c, args[i]));
        if (op == OP_CDIV)
            diag_note(c->diag, args[i]->loc, "for floats write `ceil(a / b)`");
        return false;
    }
    return true;
}

static struct expr *make_elementwise(struct checker *c, enum op op, struct loc loc,
                                     struct expr **args, int count)
{
    enum dtype t;
    if (!integers_only(c, op, args, count))
        return NULL;
    if (check_are_untyped(args, count))
        return check_make_fold(c, op, loc, args, count);
    if (!check_join_operands(c, loc, args, count, &t))
        return NULL;
    int64_t divisor;
    bool evaluated = c->never == 0;
    if (op == OP_CDIV && evaluated && eval_int(args[1], NULL, &divisor) && divisor == 0) {
        diag_error(c->diag, args[1]->loc, "division by zero");
        return NULL;
    }
    struct expr *e = expr_new(c->kernel, op, args[0]->type, loc, count);
    struct expr so_far = *args[0];
    for (int i = 0; i < count; i++) {
        if (!check_join_shapes(c, loc, &so_far, args[i], &so_far.type))
            return NULL;
        e->args[i] = args[i];
    }
    e->type = so_far.type;
    e->type.dtype = t;
    return e;
}

static struct expr *check_elementwise(struct checker *c, const struct node *n, enum op op,
                                      const struct type *want)
{
    int arity = op_table[op].arity;
    struct expr *args[3] = {NULL, NULL, NULL};
    if (!check_arguments(c, n, arity, arity, NULL, plain_form(c, op)))
        return NULL;
    struct type shape = want ? *want : type_scalar(DT_NONE);
    shape.dtype = DT_NONE;
    bool good = true;
    for (int i = 0; i < arity; i++) {
        args[i] = check_expr(c, check_call_argument(n, i), &shape);
        good = good && args[i];
    }
    return good ? make_elementwise(c, op, n->loc, args, arity) : NULL;
}

/* Checks pow(a, b); both operands are converted to one float type. */
static struct expr *check_pow(struct checker *c, const struct node *n, const struct type *want)
{
    struct expr *args[2] = {NULL, NULL};
    struct type shape = want ? *want : type_scalar(DT_NONE);
    enum dtype t;
    if (!check_arguments(c, n, 2, 2, NULL, plain_form(c, OP_POW)))
        return NULL;
    shape.dtype = DT_NONE;
    for (int i = 0; i < 2; i++)
        args[i] = check_expr(c, check_call_argument(n, i), &shape);
    if (!args[0] || !args[1])
        return NULL;
    if (check_are_untyped(args, 2))
        args[0] = check_adapt_literal(c, args[0], DT_F32);
    if (!check_join_operands(c, n->loc, args, 2, &t))
        return NULL;
    for (int i = 0; i < 2 && !dtype_is_float(t); i++)
        args[i] = check_cast_to(c, args[i], DT_F32);
    return make_elementwise(c, OP_POW, n->loc, args, 2);
}

static struct expr *check_float_function(struct checker *c, const struct node *n, enum op op,
                                         const struct type *want)
{
    if (!check_arguments(c, n, 1, 1, NULL, plain_form(c, op)))
        return NULL;
    struct type shape = want ? *want : type_scalar(DT_NONE);
    shape.dtype = DT_NONE;
    struct expr *a = check_expr(c, check_call_argument(n, 0), &shape);
    if (!a)
        return NULL;
    if (check_is_untyped(a))
        a = check_adapt_literal(c, a, DT_F32);
    else if (!dtype_is_float(a->type.dtype))
        a = check_cast_to(c, a, DT_F32);
    return a ? expr_unary(c->kernel, op, a->type, n->loc, a) : NULL;
}

/* Checks philox(seed, offset [, word]): seed and offset become u64, the word (0 to 3) becomes
 * u32. */
static struct expr *check_philox(struct checker *c, const struct node *n, const struct type *want)
{
    static const enum dtype types[] = {DT_U64, DT_U64, DT_U32};
    if (!check_arguments(c, n, 2, 3, NULL, "philox(seed, offset)` or `philox(seed, offset, word)"))
        return NULL;
    int count = check_call_argument_count(n);
    struct expr *e = expr_new(c->kernel, OP_PHILOX, type_scalar(DT_U32), n->loc, count);
    struct expr so_far = {.type = type_scalar(DT_U32), .loc = n->loc};
    struct type shape = want ? *want : type_scalar(DT_NONE);
    shape.dtype = DT_NONE;
    for (int i = 0; i < count; i++) {
        struct expr *a = check_expr(c, check_call_argument(n, i), &shape);
        a = a && check_is_untyped(a) ? check_adapt_literal(c, a, types[i]) : a;
        if (!a)
            return NULL;
        if (dtype_is_float(a->type.dtype)) {
            diag_error(c->diag, a->loc, "philox takes integers, this is %s", check_type_name(c, a));
            return NULL;
        }
        int64_t word;
        if (i == 2 && eval_int(a, NULL, &word) && (word < 0 || word > 3)) {
            diag_error(c->diag, a->loc,
                       "philox gives words 0 to 3 for an offset, this is word %lld",
                       (long long)word);
            return NULL;
        }
        e->args[i] = check_cast_to(c, a, types[i]);
        if (!check_join_shapes(c, n->loc, &so_far, e->args[i], &so_far.type))
            return NULL;
    }
    e->type = so_far.type;
    e->type.dtype = DT_U32;
    return e;
}

/* --- reductions and scans --- */

static struct expr *check_reduce(struct checker *c, const struct node *n, enum op op)
{
    static const char *const names[] = {"axis", NULL};
    const char *form = arena_printf(c->arena, "%s(x)` or `%s(x, axis = 1)", n->text, n->text);
    if (!check_arguments(c, n, 1, 1, names, form))
        return NULL;
    struct expr *x = check_reduction_operand(c, n, op);
    int axis;
    if (!x || !check_axis(c, n, x, false, &axis))
        return NULL;
    struct type type = x->type;
    if (axis < 0)
        type = type_scalar(type.dtype);
    else
        type.extent[axis] = 1;
    struct expr *e = expr_unary(c->kernel, op, type, n->loc, x);
    e->axis = axis;
    return e;
}

static enum op scan_operation(struct checker *c, const struct node *n)
{
    const char *names[OP_COUNT];
    size_t count = 0;
    for (enum op op = 0; op < OP_COUNT; op++) {
        if (!op_scan_name(op))
            continue;
        names[count++] = op_scan_name(op);
        if (n->kind == N_NAME && strcmp(n->text, op_scan_name(op)) == 0)
            return op;
    }
    diag_error(c->diag, n->loc,
               "a scan has one of the operations add, mul, min, max, and, or, xor");
    const char *near = n->kind == N_NAME ? text_nearest(n->text, names, count) : NULL;
    if (near)
        diag_near(c->diag, n->loc, near);
    return OP_COUNT;
}

static struct expr *scan_operand(struct checker *c, const struct node *n, enum op op)
{
    struct expr *x = check_operand(c, n);
    if (!x)
        return NULL;
    if (x->type.rank == 0) {
        diag_error(c->diag, check_expr_place(c, x),
                   "a scan runs along an axis of a tile, and this is a scalar");
        return NULL;
    }
    enum dtype t = x->type.dtype;
    if (op_table[op].class == CLASS_BITWISE && dtype_is_float(t)) {
        diag_error(c->diag, check_expr_place(c, x),
                   "this scan is for integers and bool, `%s` is %s", check_expr_snippet(c, x),
                   check_type_name(c, x));
        return NULL;
    }
    if (op == OP_ADD || op == OP_MUL)
        return check_cast_to(c, x, check_sum_type(t));
    return t == DT_BOOL && op_table[op].class != CLASS_BITWISE ? check_cast_to(c, x, DT_I32) : x;
}

/* Checks scan(op, x, axis = c [, exclusive = true]). */
static struct expr *check_scan(struct checker *c, const struct node *n)
{
    static const char *const names[] = {"axis", "exclusive", NULL};
    if (!check_arguments(c, n, 2, 2, names, "scan(add, x, axis = 0)"))
        return NULL;
    enum op op = scan_operation(c, check_call_argument(n, 0));
    if (op == OP_COUNT)
        return NULL;
    struct expr *x = scan_operand(c, check_call_argument(n, 1), op);
    int axis;
    bool exclusive = false;
    if (!x || !check_axis(c, n, x, true, &axis))
        return NULL;
    const struct node *flag = check_named_argument(n, "exclusive");
    if (flag && !check_constant_condition(c, flag, "`exclusive`", &exclusive))
        return NULL;
    struct expr *e = expr_unary(c->kernel, OP_SCAN, x->type, n->loc, x);
    e->axis = axis;
    e->scan_op = op;
    e->exclusive = exclusive;
    return e;
}

/* --- any call --- */

/* Checks bytes(x), the size of a tile in bytes: an untyped integer, which takes its type from
 * its use. */
static struct expr *check_bytes(struct checker *c, const struct node *n)
{
    if (!check_arguments(c, n, 1, 1, NULL, "bytes(tile)"))
        return NULL;
    bool hoistable = c->hoistable, any_extent = c->any_extent;
    c->hoistable = false;
    c->any_extent = true;
    struct expr *x = check_operand(c, check_call_argument(n, 0));
    c->hoistable = hoistable;
    c->any_extent = any_extent;
    if (!x)
        return NULL;
    for (int i = 0; i < x->type.rank; i++)
        if (x->type.extent[i] == EXTENT_RUNTIME) {
            diag_error(c->diag, n->loc, "the size of `%s` is not known while compiling",
                       check_expr_snippet(c, x));
            return NULL;
        }
    if (!check_size(c, &x->type, check_expr_place(c, x)))
        return NULL;
    return expr_int(c->kernel, DT_NONE, type_bytes(&x->type), n->loc);
}

/* Returns the op of a call. MAX and REDUCE_MAX share a name: a call with two operands is MAX. */
static enum op find_op(const struct node *n)
{
    int count = check_call_argument_count(n);
    enum op op = op_by_text(n->text, FORM_CALL, -1), exact = op_by_text(n->text, FORM_CALL, count);
    if (op == OP_MIN || op == OP_MAX)
        return count == 1 && exact != OP_COUNT ? exact : op;
    return op;
}

/* Remembers max(t, 1) and min(t, 0) of a tile, for the message if its shape does not fit. */
static struct expr *check_arith(struct checker *c, const struct node *n, enum op op,
                                const struct type *want)
{
    struct expr *e = check_elementwise(c, n, op, want);
    const struct node *second = check_call_argument(n, 1);
    if ((op == OP_MAX || op == OP_MIN) && e && e->type.rank > 0 && second &&
        second->kind == N_INT && (second->i == 0 || second->i == 1))
        c->axis_like = n->loc;
    return e;
}

static struct expr *no_value(struct checker *c, const struct node *n)
{
    diag_error(c->diag, n->loc, "`%s` is a statement, it has no value", n->text);
    return NULL;
}

/* Checks where(condition, a, b). */
static struct expr *check_where(struct checker *c, const struct node *n, const struct type *want)
{
    if (!check_arguments(c, n, 3, 3, NULL, "where(condition, a, b)"))
        return NULL;
    struct type shape = check_shape_of(want);
    struct expr *condition = check_expr(c, check_call_argument(n, 0), &shape);
    condition = condition ? check_to_bool(c, condition) : NULL;
    struct expr *arms[2] = {check_expr(c, check_call_argument(n, 1), want),
                            check_expr(c, check_call_argument(n, 2), want)};
    if (!condition || !arms[0] || !arms[1])
        return NULL;
    enum dtype t;
    struct type type;
    struct expr *all[3] = {condition, NULL, NULL};
    if (!check_join_choices(c, n->loc, arms, want, &t))
        return NULL;
    all[1] = arms[0];
    all[2] = arms[1];
    if (!check_join_all_shapes(c, n->loc, all, 3, &type))
        return NULL;
    type.dtype = t;
    struct expr *e = expr_new(c->kernel, OP_WHERE, type, n->loc, 3);
    memcpy(e->args, all, sizeof all);
    return e;
}

struct expr *check_call(struct checker *c, const struct node *n, const struct type *want)
{
    const struct entry *fn = module_entry(c->module, n->text);
    if (fn && fn->kind == ENTRY_FN)
        return check_fn_value(c, n, fn);
    if (strcmp(n->text, "bytes") == 0)
        return check_bytes(c, n);
    enum op op = find_op(n);
    if (op == OP_COUNT) {
        check_unknown_call(c, n);
        return NULL;
    }
    if (check_is_shape_call(op))
        return check_shape_call(c, n, op, want);
    if (op == OP_ARRIVE)
        return check_arrive(c, n, want);
    if (op_is_atomic(op))
        return check_atomic(c, n, op);
    if (op == OP_POW)
        return check_pow(c, n, want);
    if (op == OP_REDUCE_ARGMAX || op == OP_REDUCE_ARGMIN)
        return check_arg_reduce(c, n, op);
    switch (op_table[op].class) {
    case CLASS_FLOAT: return check_float_function(c, n, op, want);
    case CLASS_ARITH: return check_arith(c, n, op, want);
    case CLASS_REDUCE: return check_reduce(c, n, op);
    case CLASS_EFFECT: return no_value(c, n);
    default: break;
    }
    switch (op) {
    case OP_WHERE: return check_where(c, n, want);
    case OP_PHILOX: return check_philox(c, n, want);
    case OP_RAND:
    case OP_RANDN:
    case OP_RANDINT: return check_random(c, n, op, want);
    case OP_SCAN: return check_scan(c, n);
    default: check_unknown_call(c, n); return NULL;
    }
}
