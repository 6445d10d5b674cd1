/* Operators, casts and literals.
 *
 * The operands of an arithmetic operator are converted to one type (Meaning 12: a literal takes
 * the type of the other operand, f16 with f32 gives f32) by casts that are nodes of the tree.
 * Shapes are joined by broadcasting, which needs no nodes. */
#include "lang/check_internal.h"

#include <string.h>

/* --- operators --- */

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
    struct type shape = check_shape_of(want);
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
        return check_untyped_int(c, INT64_MIN, n->loc);
    if (check_is_untyped(a))
        return check_make_fold(c, n->op, n->loc, &a, 1);
    if (n->op == OP_INVERT && a->type.dtype == DT_BOOL) {
        diag_error(c->diag, n->loc, "`~` of a bool");
        diag_note(c->diag, n->loc, "the opposite of a bool is `!x`");
        return NULL;
    }
    if (n->op == OP_INVERT && !check_integers(c, n->op, a))
        return NULL;
    if (a->type.dtype == DT_BOOL)
        a = check_cast_to(c, a, DT_I32);
    return expr_unary(c->kernel, n->op, a->type, n->loc, a);
}

/* --- choices --- */

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
    if (!check_join_choices(c, n->loc, arms, want, &t) ||
        !check_join_all_shapes(c, n->loc, arms, 2, &type))
        return NULL;
    type.dtype = t;
    struct expr *e = expr_new(c->kernel, OP_SELECT, type, n->loc, 3);
    e->args[0] = condition;
    e->args[1] = arms[0];
    e->args[2] = arms[1];
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
    struct type shape = check_shape_of(want);
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
        struct expr *e = check_untyped_int(c, n->i, n->loc);
        e->axis = n->above_i64;
        return e;
    }
    case N_FLOAT: return check_untyped_float(c, n->f, n->loc);
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

struct expr *check_expr_by_kind(struct checker *c, const struct node *n, const struct type *want)
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
