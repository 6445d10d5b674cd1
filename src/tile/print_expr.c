/* Prints expressions as the language itself, for print.c.
 *
 * Literals have no type of their own (Meaning 12): a literal takes the type of the operand next
 * to it. When an expression is printed, `want` is that type; a literal of another type gets a
 * cast. */
#include "base/number.h"
#include "base/text.h"
#include "tile/print_own.h"

#include <math.h>
#include <stdio.h>

/* --- literals --- */

/* Returns true for a literal that takes its type from its context; `true` and `false` have a
 * type of their own. */
static bool is_pliable(const struct expr *e)
{
    return e->op == OP_LITERAL && e->type.dtype != DT_BOOL;
}

static bool is_integer_literal(const struct expr *e)
{
    return !dtype_is_float(e->type.dtype);
}

/* Returns the value of a literal of floating type, in either of its representations. */
static double float_value(const struct expr *e)
{
    return e->literal.is_float ? e->literal.f : (double)e->literal.i;
}

/* Returns true if the literal gets its type without a cast. */
static bool literal_type_follows(const struct expr *e, int want)
{
    enum dtype t = e->type.dtype;
    int64_t v = e->literal.i;
    if (t == DT_BOOL || want == (int)t)
        return true;
    if (!is_integer_literal(e))
        return want == WANT_DEFAULT && t == DT_F32;
    if (t == DT_U64 && v < 0)
        return false; /* only u64 can hold it */
    if (want == WANT_DEFAULT)
        return t == (v == dtype_wrap(DT_I32, v) ? DT_I32 : DT_I64);
    return want == WANT_INTEGER;
}

static bool is_negative_literal(const struct expr *e)
{
    if (e->op != OP_LITERAL)
        return false;
    if (!is_integer_literal(e))
        return signbit(float_value(e)) != 0;
    return e->literal.i < 0 && e->type.dtype != DT_U64;
}

/* Prints the shortest text that reads as v. For a 16-bit type it is shorter than that of the
 * same value in f32. */
static void print_float(struct text *t, enum dtype type, double v)
{
    enum { MOST_DIGITS = 9 };
    if (isnan(v)) {
        text_add(t, signbit(v) ? "-nan" : "nan"); /* the sign of a NaN is one of its bits */
        return;
    }
    bool narrow = type != DT_F64 && type != DT_F32 && isfinite(v);
    for (int digits = 1; narrow && digits <= MOST_DIGITS; digits++) {
        char text[32];
        number_format(text, sizeof text, "%.*g", digits, v);
        struct literal shorter = {.is_float = true, .f = number_read(text, NULL)};
        if (eval_cast(type, DT_F64, &shorter).f == v) {
            text_add_double(t, shorter.f, false);
            return;
        }
    }
    text_add_double(t, v, type != DT_F64);
}

static void print_literal(struct text *t, const struct expr *e, int want)
{
    if (!literal_type_follows(e, want))
        text_printf(t, "(%s) ", dtype_table[e->type.dtype].name);
    if (e->type.dtype == DT_BOOL)
        text_add(t, e->literal.i ? "true" : "false");
    else if (!is_integer_literal(e))
        print_float(t, e->type.dtype, float_value(e));
    else if (e->type.dtype == DT_U64)
        text_printf(t, "%llu", (unsigned long long)e->literal.i);
    else
        text_printf(t, "%lld", (long long)e->literal.i);
}

/* --- operands --- */

static bool is_choice(enum op op)
{
    return op == OP_SELECT || op == OP_WHERE;
}

/* Returns true if the operands from `first` on share one type, so that a literal among them
 * takes it from the others. */
static bool operands_share_type(enum op op, int *first)
{
    *first = is_choice(op) ? 1 : 0;
    if (is_choice(op))
        return true;
    if (op == OP_SHL || op == OP_SHR)
        return false;
    enum op_class class = op_table[op].class;
    return class == CLASS_ARITH || class == CLASS_COMPARE || class == CLASS_BITWISE;
}

/* Returns `want` for literal i among operands that share a type. */
static int shared_want(const struct expr *e, int first, int i, int want)
{
    enum dtype t = e->args[first]->type.dtype;
    for (int other = first; other < e->count; other++)
        if (!is_pliable(e->args[other]))
            return (int)e->args[other]->type.dtype;
    /* All are literals. Those of a choice take the type that is wanted from the choice. */
    bool by_default = want == WANT_DEFAULT && (t == DT_I32 || t == DT_F32);
    if (is_choice(e->op) && (want == (int)t || by_default))
        return want;
    return i == first ? WANT_CAST : (int)t;
}

/* Returns `want` for literal i of e's operands. */
static int literal_want(const struct expr *e, int i, int want)
{
    static const enum dtype philox_types[] = {DT_U64, DT_U64, DT_U32};
    int first;
    switch (e->op) {
    case OP_CAST: return WANT_CAST;
    case OP_SHL:
    case OP_SHR: /* the left operand alone decides the type */
        if (i == 1)
            return (int)e->args[0]->type.dtype;
        return is_pliable(e->args[1]) ? WANT_CAST : WANT_DEFAULT;
    case OP_PHILOX: return i < 3 ? (int)philox_types[i] : WANT_DEFAULT;
    case OP_ASYNC_WAIT:
    case OP_DOT_WAIT:
    case OP_STORE_WAIT:
    case OP_EXPECT:
    case OP_WAIT: return WANT_INTEGER;
    case OP_LOCK:
    case OP_UNLOCK: return (int)e->args[0]->type.dtype;
    default: break;
    }
    return operands_share_type(e->op, &first) && i >= first ? shared_want(e, first, i, want)
                                                            : WANT_DEFAULT;
}

int print_operand_want(const struct expr *e, int i, int want)
{
    if (op_is_atomic(e->op))
        return (int)e->args[0]->type.dtype; /* the element's type */
    if (is_pliable(e->args[i]))
        return literal_want(e, i, want);
    bool handed_on = (is_choice(e->op) && i > 0) || e->op == OP_NEG || e->op == OP_INVERT;
    return handed_on ? want : WANT_DEFAULT;
}

void print_settled(struct text *t, const struct expr *e, int prec, int want)
{
    print_expr(t, e, prec, is_pliable(e) ? want : WANT_DEFAULT);
}

/* Prints an integer divisor that is 0 only because a size was given as 0. A plain 0 would be an
 * error of the text, although the division may never run. */
static bool print_zero_divisor(struct text *t, const struct expr *e, int i)
{
    const struct expr *x = e->args[i];
    if (!op_divides(e->op) || i != 1 || e->args[0]->op == OP_LITERAL || x->op != OP_LITERAL ||
        dtype_is_float(x->type.dtype) || x->literal.i != 0)
        return false;
    text_printf(t, x->type.dtype == DT_I32 ? "(grid.x & 0)" : "(%s)(grid.x & 0)",
                dtype_table[x->type.dtype].name);
    return true;
}

static void print_operands(struct text *t, const struct expr *e, int want)
{
    for (int i = 0; i < e->count; i++) {
        if (i > 0)
            text_add(t, ", ");
        if (!print_zero_divisor(t, e, i))
            print_expr(t, e->args[i], PREC_ANY, print_operand_want(e, i, want));
    }
}

/* --- expressions --- */

static void print_index(struct text *t, const struct index *index)
{
    text_add_char(t, '[');
    if (index->kind == IX_ALL)
        text_add_char(t, ':');
    else
        print_settled(t, index->value, index->kind == IX_SLICE ? PREC_LOR : PREC_ANY, WANT_INTEGER);
    if (index->kind == IX_SLICE)
        text_printf(t, " +: %lld%s", (long long)index->extent, index->inside ? " inside" : "");
    text_add_char(t, ']');
}

static void print_lookup(struct text *t, const struct expr *e)
{
    text_printf(t, "%s[", e->sym->name);
    print_settled(t, e->args[1], PREC_ANY, WANT_INTEGER);
    text_add_char(t, ']');
}

static void print_access(struct text *t, const struct expr *e)
{
    const struct expr *peer = access_peer(e);
    if (peer)
        text_add(t, "peer(");
    text_add(t, e->sym->name);
    for (int i = 0; i < e->indices; i++)
        print_index(t, &e->index[i]);
    if (peer) {
        text_add(t, ", ");
        print_settled(t, peer, PREC_ANY, WANT_INTEGER);
        text_add_char(t, ')');
    }
    if (e->by)
        by_print(t, e->by);
    if (e->otherwise) {
        text_add(t, " else ");
        print_settled(t, e->otherwise, PREC_UNARY, (int)e->type.dtype);
    }
}

/* Prints the numbers after the operand of reshape, broadcast and iota (the shape of the result)
 * and of the two repeats (the count along each axis of the result). */
static void print_shape_numbers(struct text *t, const struct expr *e)
{
    bool repeats = e->op == OP_REPEAT || e->op == OP_REPEAT_INTERLEAVE;
    bool operands = e->op == OP_IOTA ? e->count > 0 : e->op != OP_BROADCAST && e->count > 1;
    if (operands)
        return; /* in `ensures`: extents known only at the launch are operands, already printed */
    for (int axis = 0; axis < e->type.rank; axis++) {
        int64_t n = e->type.extent[axis];
        if (repeats) {
            const struct type *from = &e->args[0]->type;
            int from_axis = axis - (e->type.rank - from->rank);
            n = from_axis >= 0 && from->extent[from_axis] > 0 ? n / from->extent[from_axis] : n;
        }
        text_printf(t, "%s%lld", axis == 0 && e->count == 0 ? "" : ", ", (long long)n);
    }
}

static void print_label(struct text *t, const char *label)
{
    text_add_char(t, '"');
    for (const char *c = label; *c; c++) {
        switch (*c) {
        case '\n': text_add(t, "\\n"); break;
        case '\t': text_add(t, "\\t"); break;
        case '"':
        case '\\': text_printf(t, "\\%c", *c); break;
        default: text_add_char(t, *c); break;
        }
    }
    text_add_char(t, '"');
}

static void print_call(struct text *t, const struct expr *e, int want)
{
    text_printf(t, "%s(", op_table[e->op].text);
    if (e->op == OP_SCAN)
        text_printf(t, "%s, ", op_scan_name(e->scan_op));
    if (e->op == OP_PRINT && e->label) {
        print_label(t, e->label);
        text_add(t, e->count > 0 ? ", " : "");
    }
    print_operands(t, e, want);
    switch (e->op) {
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE:
    case OP_BROADCAST:
    case OP_IOTA: print_shape_numbers(t, e); break;
    case OP_SCAN: text_printf(t, ", axis = %d", e->axis); break;
    case OP_FREE: text_add(t, e->count == 0 && e->sym ? e->sym->name : ""); break;
    default: break;
    }
    if (op_is_reduction(e->op) && e->axis >= 0)
        text_printf(t, ", axis = %d", e->axis);
    if (e->op == OP_SCAN && e->exclusive)
        text_add(t, ", exclusive = true");
    text_add_char(t, ')');
    if (e->by)
        by_print(t, e->by);
}

static int precedence(const struct expr *e, int want)
{
    switch (e->op) {
    case OP_LITERAL:
        return is_negative_literal(e) || !literal_type_follows(e, want) ? PREC_UNARY : PREC_PRIMARY;
    case OP_SELECT: return PREC_SELECT;
    case OP_CAST: return PREC_UNARY;
    /* `else` binds tighter than any operator, but the parentheses help the reader. */
    case OP_ACCESS: return e->otherwise ? PREC_SELECT : PREC_PRIMARY;
    default: break;
    }
    switch (op_table[e->op].form) {
    case FORM_INFIX: return op_precedence(e->op);
    case FORM_PREFIX: return PREC_UNARY;
    default: return PREC_PRIMARY;
    }
}

static void print_infix(struct text *t, const struct expr *e, int want)
{
    int prec = op_precedence(e->op);
    print_expr(t, e->args[0], prec, print_operand_want(e, 0, want));
    text_printf(t, " %s ", op_table[e->op].text);
    if (!print_zero_divisor(t, e, 1))
        print_expr(t, e->args[1], prec + 1, print_operand_want(e, 1, want));
}

static void print_prefix(struct text *t, const struct expr *e, int want)
{
    const struct expr *operand = e->args[0];
    int inner = print_operand_want(e, 0, want);
    /* `--x` would be a decrement. */
    bool minus_twice =
        e->op == OP_NEG && (operand->op == OP_NEG ||
                            (is_negative_literal(operand) && literal_type_follows(operand, inner)));
    text_add(t, op_table[e->op].text);
    print_expr(t, operand, minus_twice ? PREC_PRIMARY : PREC_UNARY, inner);
}

static void print_select(struct text *t, const struct expr *e, int want)
{
    print_expr(t, e->args[0], PREC_LOR, WANT_DEFAULT);
    text_add(t, " ? ");
    print_expr(t, e->args[1], PREC_SELECT, print_operand_want(e, 1, want));
    text_add(t, " : ");
    print_expr(t, e->args[2], PREC_SELECT, print_operand_want(e, 2, want));
}

static void print_leaf_or_other(struct text *t, const struct expr *e, int want)
{
    static const char *const parts[] = {"x", "y", "z", [CLUSTER_RANK] = "rank"};
    switch (e->op) {
    case OP_LITERAL: print_literal(t, e, want); break;
    case OP_REF:
        text_add(t, e->sym->device ? op_device_number_text(e->sym->device) : e->sym->name);
        break;
    case OP_ACCESS: print_access(t, e); break;
    case OP_LOOKUP: print_lookup(t, e); break;
    case OP_SELECT: print_select(t, e, want); break;
    case OP_CAST:
        text_printf(t, "(%s) ", dtype_table[e->type.dtype].name);
        print_expr(t, e->args[0], PREC_UNARY, print_operand_want(e, 0, want));
        break;
    case OP_BITS:
        text_printf(t, "bits<%s>(", dtype_table[e->type.dtype].name);
        print_operands(t, e, WANT_DEFAULT);
        text_add_char(t, ')');
        break;
    default: text_printf(t, "%s.%s", op_table[e->op].text, parts[e->axis]); break;
    }
}

void print_expr(struct text *t, const struct expr *e, int prec, int want)
{
    bool parentheses = precedence(e, want) < prec;
    if (parentheses)
        text_add_char(t, '(');
    switch (op_table[e->op].form) {
    case FORM_INFIX: print_infix(t, e, want); break;
    case FORM_PREFIX: print_prefix(t, e, want); break;
    case FORM_CALL: print_call(t, e, want); break;
    default: print_leaf_or_other(t, e, want); break;
    }
    if (parentheses)
        text_add_char(t, ')');
}

void expr_print(struct text *out, const struct expr *e)
{
    print_expr(out, e, PREC_ANY, WANT_DEFAULT);
}
