/* Types as written, extents, and the conversions between types. */
#include "lang/check_internal.h"

#include <math.h>
#include <string.h>

bool check_is_untyped(const struct expr *e)
{
    return e->op == OP_LITERAL && e->type.dtype == DT_NONE;
}

/* --- types as written --- */

static enum dtype check_typeof(struct checker *c, const struct node *n)
{
    struct binding *b = n->kind == N_NAME ? check_lookup_name(c, n->text) : NULL;
    if (b && b->kind == BIND_SYM && b->sym->is_pointer)
        return b->sym->type.dtype;
    bool hoistable = c->hoistable, any_extent = c->any_extent;
    c->hoistable = false;
    c->any_extent = true;
    struct expr *e = check_expr(c, n, NULL);
    c->hoistable = hoistable;
    c->any_extent = any_extent;
    e = e ? check_settle_literal(c, e) : NULL;
    return e ? e->type.dtype : DT_NONE;
}

enum dtype check_dtype(struct checker *c, const struct node *type)
{
    if (!type)
        return DT_NONE;
    if (!type->text)
        return type->a ? check_typeof(c, type->a) : DT_NONE;
    enum dtype t = dtype_by_name(type->text, strlen(type->text));
    if (t != DT_NONE)
        return t;
    const struct binding *b = check_lookup_name_of_kind(c, type->text, BIND_DTYPE);
    if (b)
        return b->dtype;
    const struct entry *e = module_entry(c->module, type->text);
    if (e && e->kind == ENTRY_TYPE && c->types)
        return c->types[e->index];
    if (e && e->kind == ENTRY_TYPE)
        diag_error(c->diag, type->loc,
                   "the type `%s` is chosen for each kernel: it is not known here", type->text);
    else
        check_unknown_type(c, type->text, type->loc);
    return DT_NONE;
}

bool check_size(struct checker *c, const struct type *t, struct loc at)
{
    int64_t elements = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->extent[i] == EXTENT_RUNTIME)
            return true;
        if (__builtin_mul_overflow(elements, t->extent[i], &elements) || elements > MAX_ELEMENTS) {
            diag_error(c->diag, at, "%s has more than 2^31 elements", type_text(c->arena, t));
            return false;
        }
    }
    return true;
}

/* --- literals --- */

struct expr *check_settle_literal(struct checker *c, struct expr *e)
{
    if (!check_is_untyped(e))
        return e;
    if (e->literal.is_float)
        return check_adapt_literal(c, e, DT_F32);
    return check_adapt_literal(c, e,
                               dtype_wrap(DT_I32, e->literal.i) == e->literal.i ? DT_I32 : DT_I64);
}

/* Returns true for an untyped integer of 2^63 or more. Such a literal keeps the bits of the
 * value and sets `axis`, which literals do not use otherwise. */
static bool above_i64(const struct expr *e)
{
    return !e->literal.is_float && e->axis == 1;
}

static const char *literal_text(struct checker *c, const struct expr *e)
{
    if (!e->literal.is_float)
        return above_i64(e) ? arena_printf(c->arena, "%llu", (unsigned long long)e->literal.i)
                            : arena_printf(c->arena, "%lld", (long long)e->literal.i);
    struct text t;
    text_init(&t, c->arena);
    text_add_double(&t, e->literal.f, false);
    return t.data;
}

static bool int_fits(const struct expr *e, enum dtype t)
{
    int64_t v = e->literal.i;
    if (above_i64(e))
        return t == DT_U64;
    return t == DT_U64 ? v >= 0 : t == DT_BOOL ? v == 0 || v == 1 : dtype_wrap(t, v) == v;
}

/* Rounds v to the float type t. */
static double round_float(enum dtype t, double v)
{
    struct literal x = {.is_float = true, .f = v};
    return eval_cast(t, DT_F64, &x).f;
}

static void literal_error(struct checker *c, const struct expr *e, enum dtype t)
{
    const char *type = dtype_table[t].name;
    diag_error(c->diag, e->loc, "%s does not fit %s", literal_text(c, e), type);
    if (e->literal.is_float && !dtype_is_float(t))
        diag_note(c->diag, e->loc, "to round toward zero write the cast `(%s) %s`", type,
                  literal_text(c, e));
    else if (!dtype_is_float(t) && t != DT_BOOL)
        diag_note(c->diag, e->loc, "compute in a wider type, or wrap it with the cast `(%s) %s`",
                  type, literal_text(c, e));
    if (!dtype_is_float(t) && t != DT_BOOL)
        check_fix_with_cast(c, e->loc, t,
                            e->loc.length && e->loc.source->text[e->loc.offset] != '-');
}

struct expr *check_adapt_literal(struct checker *c, struct expr *e, enum dtype t)
{
    const struct literal *v = &e->literal;
    bool fits = false;
    struct literal value = *v;
    if (dtype_is_float(t)) {
        double exact = v->is_float ? v->f : above_i64(e) ? (double)(uint64_t)v->i : (double)v->i;
        value = (struct literal){.is_float = true, .f = round_float(t, exact)};
        fits = isfinite(value.f) || !isfinite(exact);
    } else if (!v->is_float) {
        fits = int_fits(e, t);
    }
    if (!fits) {
        literal_error(c, e, t);
        return NULL;
    }
    struct expr *typed = expr_new(c->kernel, OP_LITERAL, type_scalar(t), e->loc, 0);
    typed->literal = value;
    return typed;
}

/* --- conversions --- */

struct expr *check_cast_to(struct checker *c, struct expr *e, enum dtype t)
{
    if (e->op != OP_LITERAL || e->type.dtype == t)
        return expr_cast(c->kernel, e, t);
    struct expr *typed = expr_new(c->kernel, OP_LITERAL, type_scalar(t), e->loc, 0);
    typed->literal = eval_cast(t, e->type.dtype, &e->literal);
    return typed;
}

const char *check_type_name(struct checker *c, const struct expr *e)
{
    if (check_is_untyped(e))
        return e->literal.is_float ? "a float" : "an integer";
    return type_text(c->arena, &e->type);
}

/* Returns the text of e in quotes, `x`, or "the value" if e has no place in the text. */
static const char *quoted(struct checker *c, const struct expr *e)
{
    struct loc at = check_expr_place(c, e);
    return at.source ? arena_printf(c->arena, "`%s`", check_source_snippet(c, at)) : "the value";
}

void check_fix_with_cast(struct checker *c, struct loc at, enum dtype t, bool whole)
{
    struct loc end = {at.source, at.offset + at.length, 0}, start = {at.source, at.offset, 0};
    diag_fix(c->diag, start, whole ? "(%s) " : "(%s) (", dtype_table[t].name);
    if (!whole)
        diag_fix(c->diag, end, ")");
}

/* Returns true if a cast can be put before the expression without parentheses. */
static bool is_whole(struct checker *c, const struct expr *e)
{
    struct loc at = check_expr_place(c, e);
    bool placed = at.offset != e->loc.offset || at.source != e->loc.source; /* shown at a call or
                                                                             * a name */
    bool whole = op_table[e->op].form == FORM_LEAF || op_table[e->op].form == FORM_CALL;
    return placed || (whole && !e->otherwise);
}

/* Returns the text of the cast, with parentheses if the operand needs them. */
static const char *cast_text(struct checker *c, const struct expr *e, enum dtype t)
{
    struct loc at = check_expr_place(c, e);
    const char *text = at.source ? check_source_snippet(c, at) : "…";
    return arena_printf(c->arena, is_whole(c, e) ? "(%s) %s" : "(%s) (%s)", dtype_table[t].name,
                        text);
}

struct expr *check_convert_to(struct checker *c, struct expr *e, enum dtype t, const char *into)
{
    if (check_is_untyped(e))
        return check_adapt_literal(c, e, t);
    enum dtype from = e->type.dtype;
    if (dtype_holds(t, from))
        return check_cast_to(c, e, t);
    struct loc at = check_expr_place(c, e);
    diag_error(c->diag, at, "%s is %s, which %s (%s) cannot always hold", quoted(c, e),
               dtype_table[from].name, into, dtype_table[t].name);
    if (t == DT_BOOL)
        diag_note(c->diag, at, "write the comparison: `… != 0`");
    else {
        diag_note(c->diag, at, "write the cast: `%s`", cast_text(c, e, t));
        check_fix_with_cast(c, at, t, is_whole(c, e));
    }
    return NULL;
}

struct expr *check_to_bool(struct checker *c, struct expr *e)
{
    if (check_is_untyped(e) && !e->literal.is_float)
        return expr_int(c->kernel, DT_BOOL, e->literal.i != 0, e->loc);
    if (!check_is_untyped(e) && e->type.dtype == DT_BOOL)
        return e;
    if (check_is_untyped(e) || dtype_is_float(e->type.dtype)) {
        struct loc at = check_expr_place(c, e);
        diag_error(c->diag, at, "a condition is bool or an integer, %s is %s", quoted(c, e),
                   check_type_name(c, e));
        diag_note(c->diag, at, "write the comparison: `… != 0`");
        return NULL;
    }
    struct type type = e->type;
    type.dtype = DT_BOOL;
    struct expr *zero = expr_int(c->kernel, e->type.dtype, 0, e->loc);
    return expr_binary(c->kernel, OP_NE, type, e->loc, e, zero);
}

/* --- shapes --- */

bool check_broadcasts_to(const struct type *to, const struct type *from)
{
    struct type joined;
    if (from->rank > to->rank || !type_broadcast(to, from, &joined) || joined.rank != to->rank)
        return false;
    for (int i = 0; i < to->rank; i++)
        if (joined.extent[i] != to->extent[i] && to->extent[i] != EXTENT_RUNTIME)
            return false;
    return true;
}

/* Notes a simple change that would make the shapes fit, if there is one. */
static void note_way_out(struct checker *c, struct loc at, const struct type *a,
                         const struct type *b)
{
    const struct type *low = a->rank < b->rank ? a : b, *high = a->rank < b->rank ? b : a;
    if (a->rank == 2 && b->rank == 2 && a->extent[0] == b->extent[1] &&
        a->extent[1] == b->extent[0] && a->extent[0] != 1 && a->extent[1] != 1)
        diag_note(c->diag, at, "`trans(x)` swaps the axes of a matrix");
    else if (low->rank == 1 && high->rank == 2 && low->extent[0] == high->extent[0])
        diag_note(c->diag, at, "to give each row its value: `reshape(x, %lld, 1)`",
                  (long long)low->extent[0]);
    else
        diag_note(c->diag, at,
                  "axes are matched from the last one on; they must be equal, or one of them 1");
}

/* Notes how an axis is written if the place has max(t, 1), which takes the larger of each element
 * and 1. */
static void note_axis(struct checker *c, struct loc at)
{
    struct loc call = c->axis_like, both = loc_join(at, call);
    bool inside = call.source && call.source == at.source &&
                  (both.length == at.length || both.length == call.length);
    if (!inside)
        return;
    const char *text = check_source_snippet(c, call), *comma = strrchr(text, ',');
    if (comma)
        diag_note(c->diag, call, "along an axis it is `%.*s, axis = %s`", (int)(comma - text), text,
                  comma + 1 + strspn(comma + 1, " "));
}

void check_shape_error(struct checker *c, struct loc at, const char *left, const struct type *a,
                       const char *right, const struct type *b)
{
    diag_error(c->diag, at, "shapes do not match: %s is %s, %s is %s", left, type_text(c->arena, a),
               right, type_text(c->arena, b));
    note_axis(c, at);
}

bool check_join_shapes(struct checker *c, struct loc at, const struct expr *a, const struct expr *b,
                       struct type *out)
{
    if (type_broadcast(&a->type, &b->type, out)) {
        out->varying = false;
        return true;
    }
    check_shape_error(c, at, quoted(c, a), &a->type, quoted(c, b), &b->type);
    note_way_out(c, at, &a->type, &b->type);
    return false;
}
