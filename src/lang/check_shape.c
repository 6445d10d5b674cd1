/* Calls about shapes: dot, trans, reshape, repeat, broadcast, iota. */
#include "lang/check_internal.h"

#include <string.h>

bool check_is_shape_call(enum op op)
{
    return op == OP_DOT || op == OP_IOTA || op_table[op].class == CLASS_SHAPE;
}

static struct expr *tile_operand(struct checker *c, const struct node *n, const char *call)
{
    struct expr *x = check_operand(c, n);
    if (!x || x->type.rank > 0)
        return x;
    diag_error(c->diag, check_expr_place(c, x), "`%s` takes a tile, and this is a scalar", call);
    return NULL;
}

/* --- dot --- */

/* Returns the type in which a dot product sums. */
static enum dtype dot_result(enum dtype t)
{
    if (dtype_is_float(t))
        return t == DT_F64 ? DT_F64 : DT_F32;
    return dtype_table[t].bits == 64 ? DT_I64 : DT_I32;
}

/* Returns one type that holds both operands: u8 with i8 is multiplied as i16. */
static enum dtype dot_operand_type(enum dtype a, enum dtype b)
{
    if (dtype_is_float(a) || dtype_table[a].kind == dtype_table[b].kind)
        return dtype_join(a, b);
    enum dtype joined = dtype_join(a, b);
    if (dtype_holds(joined, a) && dtype_holds(joined, b))
        return joined;
    int bits = dtype_table[joined].bits;
    return bits == 8 ? DT_I16 : bits == 16 ? DT_I32 : joined;
}

/* Returns an extent as the program writes it: a number, or the expression in the view's
 * declaration. */
static const char *extent_text(struct checker *c, const struct expr *x, int axis)
{
    if (x->op == OP_ACCESS && x->indices == 0 && x->sym->storage == ST_VIEW)
        return check_source_snippet(c, x->sym->dims[axis]->loc);
    return x->type.extent[axis] == EXTENT_RUNTIME
               ? "…"
               : arena_printf(c->arena, "%lld", (long long)x->type.extent[axis]);
}

static bool is_matrix(struct checker *c, const struct expr *x)
{
    if (x->type.rank == 2)
        return true;
    diag_error(c->diag, check_expr_place(c, x), "dot multiplies matrices, `%s` is %s",
               check_expr_snippet(c, x), check_type_name(c, x));
    if (x->type.rank == 1)
        diag_note(c->diag, check_expr_place(c, x),
                  "as a row it is `reshape(%s, 1, %s)`, as a column `reshape(%s, %s, 1)`",
                  check_expr_snippet(c, x), extent_text(c, x, 0), check_expr_snippet(c, x),
                  extent_text(c, x, 0));
    else if (x->type.rank > 2)
        diag_note(c->diag, check_expr_place(c, x), "choose one matrix with an index: `x[i]`");
    return false;
}

static bool extents_meet(int64_t a, int64_t b)
{
    return a == b || a == EXTENT_RUNTIME || b == EXTENT_RUNTIME;
}

/* Returns true if a product with these rows and columns fits the statement. `want` may be NULL:
 * it always fits. */
static bool product_fits(const struct type *want, int64_t rows, int64_t columns)
{
    return !want || want->rank != 2 ||
           (extents_meet(want->extent[0], rows) && extents_meet(want->extent[1], columns));
}

static bool dot_shapes(struct checker *c, const struct node *n, const struct expr *a,
                       const struct expr *b, const struct type *want)
{
    const int64_t *x = a->type.extent, *y = b->type.extent;
    if (extents_meet(a->type.extent[1], b->type.extent[0]))
        return true;
    const char *left = arena_printf(c->arena, "`%s`", check_expr_snippet(c, a));
    const char *right = arena_printf(c->arena, "`%s`", check_expr_snippet(c, b));
    check_shape_error(c, n->loc, left, &a->type, right, &b->type);
    if (x[1] == y[1] && product_fits(want, x[0], y[0]))
        diag_note(c->diag, check_expr_place(c, b),
                  "the left's columns must match the right's rows: `trans(%s)`",
                  check_expr_snippet(c, b));
    else if (x[0] == y[0] && product_fits(want, x[1], y[1]))
        diag_note(c->diag, check_expr_place(c, a),
                  "the left's columns must match the right's rows: `trans(%s)`",
                  check_expr_snippet(c, a));
    else
        diag_note(c->diag, n->loc, "dot takes [M][K] and [K][N]: %lld columns meet %lld rows",
                  (long long)x[1], (long long)y[0]);
    return false;
}

static bool dot_types(struct checker *c, const struct node *n, struct expr **args,
                      enum dtype *result)
{
    enum dtype a = args[0]->type.dtype, b = args[1]->type.dtype;
    a = a == DT_BOOL ? DT_I32 : a;
    b = b == DT_BOOL ? DT_I32 : b;
    if (dtype_is_float(a) != dtype_is_float(b)) {
        diag_error(c->diag, n->loc, "dot of %s and %s: both are floats, or both integers",
                   check_type_name(c, args[0]), check_type_name(c, args[1]));
        struct expr *integer = args[dtype_is_float(a)];
        enum dtype t = dtype_is_float(a) ? a : b;
        diag_note(c->diag, check_expr_place(c, integer), "write the cast: `(%s) %s`",
                  dtype_table[t].name, check_expr_snippet(c, integer));
        check_fix_with_cast(c, check_expr_place(c, integer), t, integer->op == OP_REF);
        return false;
    }
    enum dtype t = dot_operand_type(a, b);
    args[0] = check_cast_to(c, args[0], t);
    args[1] = check_cast_to(c, args[1], t);
    *result = dot_result(t);
    return true;
}

/* Checks dot(a, b), or dot(a, b, c) = c + a·b. */
struct expr *check_dot(struct checker *c, const struct node *n, const struct type *want)
{
    if (!check_arguments(c, n, 2, 3, NULL, "dot(a, b)` or `dot(a, b, c)"))
        return NULL;
    int count = check_call_argument_count(n);
    struct expr *args[3] = {NULL, NULL, NULL};
    for (int i = 0; i < count; i++)
        args[i] = check_operand(c, check_call_argument(n, i));
    if (!args[0] || !args[1] || (count == 3 && !args[2]))
        return NULL;
    bool good = is_matrix(c, args[0]);
    if (!is_matrix(c, args[1]) || !good || !dot_shapes(c, n, args[0], args[1], want))
        return NULL;
    int64_t extent[2] = {args[0]->type.extent[0], args[1]->type.extent[1]};
    enum dtype t;
    if (!dot_types(c, n, args, &t))
        return NULL;
    struct type type = type_tile(t, 2, extent);
    if (count == 3) {
        args[2] = check_convert_to(c, args[2], t, "the sum of `dot`");
        if (!args[2])
            return NULL;
        if (!check_broadcasts_to(&type, &args[2]->type) || args[2]->type.rank != 2) {
            check_shape_error(c, check_expr_place(c, args[2]), "the product", &type,
                              arena_printf(c->arena, "`%s`", check_expr_snippet(c, args[2])),
                              &args[2]->type);
            return NULL;
        }
    }
    struct expr *e = expr_new(c->kernel, OP_DOT, type, n->loc, count);
    e->by = n->by;
    memcpy(e->args, args, (size_t)count * sizeof args[0]);
    return e;
}

/* --- shapes given as numbers --- */

/* Evaluates the constants after the first argument; *count gets their number. */
static bool shape_numbers(struct checker *c, const struct node *n, const char *what, int64_t *out,
                          int *count)
{
    *count = 0;
    for (const struct node *a = check_call_argument(n, 0)->next; a; a = a->next) {
        if (*count == MAX_RANK) {
            diag_error(c->diag, a->loc, "a tile has at most %d axes", MAX_RANK);
            return false;
        }
        if (!check_constant_in(c, a, what, 1, MAX_ELEMENTS, &out[*count]))
            return false;
        ++*count;
    }
    return true;
}

static bool known_extents(struct checker *c, const struct node *n, const struct expr *x)
{
    for (int i = 0; i < x->type.rank; i++)
        if (x->type.extent[i] == EXTENT_RUNTIME) {
            diag_error(c->diag, check_expr_place(c, x),
                       "`%s` of `%s`, whose shape %s is known only when the kernel is launched",
                       n->text, check_expr_snippet(c, x), check_type_name(c, x));
            diag_note(c->diag, n->loc, "`static` parameters make shapes known");
            return false;
        }
    return check_size(c, &x->type, check_expr_place(c, x));
}

static struct expr *reshape_fails(struct checker *c, const struct node *n, const struct expr *x,
                                  const struct type *to)
{
    diag_error(c->diag, n->loc, "reshape of %s, %lld elements, to %s, %lld elements",
               check_type_name(c, x), (long long)type_elements(&x->type), type_text(c->arena, to),
               (long long)type_elements(to));
    return NULL;
}

static bool has_known_extents(const struct type *t)
{
    for (int i = 0; i < t->rank; i++)
        if (t->extent[i] == EXTENT_RUNTIME)
            return false;
    return true;
}

/* Checks a reshape in `ensures`: extents that are known only at the launch are operands after
 * the first. */
static struct expr *reshape_at_launch(struct checker *c, const struct node *n, struct expr *x)
{
    struct expr *extents[MAX_RANK];
    struct type type = {.dtype = x->type.dtype};
    for (const struct node *a = check_call_argument(n, 0)->next; a; a = a->next) {
        if (type.rank == MAX_RANK) {
            diag_error(c->diag, a->loc, "a tile has at most %d axes", MAX_RANK);
            return NULL;
        }
        struct expr *e = check_launch_int(c, a, "an extent");
        int64_t *extent = &type.extent[type.rank];
        if (!e)
            return NULL;
        if (!eval_int(e, NULL, extent))
            *extent = EXTENT_RUNTIME;
        else if (*extent < 0) {
            diag_error(c->diag, a->loc, "an extent is %lld; it must be at least 0",
                       (long long)*extent);
            return NULL;
        }
        extents[type.rank++] = e;
    }
    bool known = has_known_extents(&type);
    if (known && has_known_extents(&x->type) && type_elements(&type) != type_elements(&x->type))
        return reshape_fails(c, n, x, &type);
    struct expr *e = expr_new(c->kernel, OP_RESHAPE, type, n->loc, known ? 1 : 1 + type.rank);
    e->args[0] = x;
    for (int i = 1; i < e->count; i++)
        e->args[i] = extents[i - 1];
    return e;
}

static struct expr *check_reshape(struct checker *c, const struct node *n)
{
    struct expr *x = check_operand(c, check_call_argument(n, 0));
    struct type type = {0};
    if (x && c->in_ensures)
        return reshape_at_launch(c, n, x);
    if (!x || !known_extents(c, n, x) || !shape_numbers(c, n, "an extent", type.extent, &type.rank))
        return NULL;
    type.dtype = x->type.dtype;
    if (!check_size(c, &type, n->loc))
        return NULL;
    if (type_elements(&type) != type_elements(&x->type))
        return reshape_fails(c, n, x, &type);
    return expr_unary(c->kernel, OP_RESHAPE, type, n->loc, x);
}

static bool counts_axes(struct checker *c, const struct node *n, const struct expr *x, int count)
{
    if (count == x->type.rank)
        return true;
    diag_error(c->diag, n->loc, "`%s` takes a number for each axis: %s has %d, %d are given",
               n->text, check_type_name(c, x), x->type.rank, count);
    return false;
}

/* Checks a repeat in `ensures`: if a length of x or a number of times is known only at the launch,
 * the numbers are operands after the first. */
static struct expr *repeat_at_launch(struct checker *c, const struct node *n, enum op op,
                                     struct expr *x)
{
    int axis = 0;
    if (!counts_axes(c, n, x, check_call_argument_count(n) - 1))
        return NULL;
    struct expr *e = expr_new(c->kernel, op, x->type, n->loc, 1 + x->type.rank);
    e->args[0] = x;
    for (const struct node *a = check_call_argument(n, 0)->next; a; a = a->next, axis++) {
        int64_t times, *extent = &e->type.extent[axis];
        struct expr *number = e->args[axis + 1] = check_launch_int(c, a, "a number of times");
        if (!number)
            return NULL;
        bool known = eval_int(number, NULL, &times);
        if (known && times < 1) {
            diag_error(c->diag, a->loc, "a number of times is %lld; it must be at least 1",
                       (long long)times);
            return NULL;
        }
        if (!known || *extent == EXTENT_RUNTIME)
            *extent = EXTENT_RUNTIME;
        else if (__builtin_mul_overflow(*extent, times, extent))
            *extent = INT64_MAX;
    }
    if (!has_known_extents(&e->type))
        return e;
    e->count = 1;
    return check_size(c, &e->type, n->loc) ? e : NULL;
}

static struct expr *check_repeat(struct checker *c, const struct node *n, enum op op)
{
    struct expr *x = tile_operand(c, check_call_argument(n, 0), n->text);
    int64_t times[MAX_RANK];
    int count;
    if (x && c->in_ensures)
        return repeat_at_launch(c, n, op, x);
    if (!x || !known_extents(c, n, x) || !shape_numbers(c, n, "a number of times", times, &count))
        return NULL;
    if (!counts_axes(c, n, x, count))
        return NULL;
    struct type type = x->type;
    for (int i = 0; i < count; i++)
        if (__builtin_mul_overflow(type.extent[i], times[i], &type.extent[i]))
            type.extent[i] = INT64_MAX;
    return check_size(c, &type, n->loc) ? expr_unary(c->kernel, op, type, n->loc, x) : NULL;
}

static struct expr *check_broadcast(struct checker *c, const struct node *n)
{
    struct expr *x = check_operand(c, check_call_argument(n, 0));
    struct type type = {0};
    if (!x || !shape_numbers(c, n, "an extent", type.extent, &type.rank))
        return NULL;
    type.dtype = x->type.dtype;
    if (!check_size(c, &type, n->loc))
        return NULL;
    if (!check_broadcasts_to(&type, &x->type)) {
        diag_error(c->diag, n->loc, "%s does not stretch to %s", check_type_name(c, x),
                   type_text(c->arena, &type));
        diag_note(c->diag, n->loc,
                  "axes are matched from the last one on; only an axis of 1 stretches");
        return NULL;
    }
    return expr_unary(c->kernel, OP_BROADCAST, type, n->loc, x);
}

static struct expr *check_trans(struct checker *c, const struct node *n)
{
    struct expr *x = tile_operand(c, check_call_argument(n, 0), n->text);
    if (!x)
        return NULL;
    int rank = x->type.rank;
    if (rank < 2) {
        diag_error(c->diag, n->loc, "trans swaps the last two axes, `%s` is %s",
                   check_expr_snippet(c, x), check_type_name(c, x));
        diag_note(c->diag, n->loc, "a column of it is `reshape(%s, %s, 1)`",
                  check_expr_snippet(c, x), extent_text(c, x, 0));
        return NULL;
    }
    struct type type = x->type;
    type.extent[rank - 2] = x->type.extent[rank - 1];
    type.extent[rank - 1] = x->type.extent[rank - 2];
    return expr_unary(c->kernel, OP_TRANS, type, n->loc, x);
}

/* --- iota --- */

/* Checks the shape of iota: counting needs an axis to count along. */
static bool iota_shape(struct checker *c, struct loc at, const struct type *type)
{
    int long_axes = 0;
    for (int i = 0; i < type->rank; i++)
        long_axes += type->extent[i] != 1;
    if (long_axes <= 1)
        return true;
    diag_error(c->diag, at, "iota counts along one axis, and %s has %d", type_text(c->arena, type),
               long_axes);
    if (type->rank == 2 && type->extent[0] != EXTENT_RUNTIME && type->extent[1] != EXTENT_RUNTIME)
        diag_note(c->diag, at, "rows are `iota(%lld, 1)`, columns `iota(1, %lld)`",
                  (long long)type->extent[0], (long long)type->extent[1]);
    else
        diag_note(c->diag, at, "write its shape: `iota(n)`, `iota(n, 1)`");
    return false;
}

/* Checks iota in `ensures`. An extent that is known only at the launch is an operand. */
static struct expr *iota_at_launch(struct checker *c, const struct node *n)
{
    int count = check_call_argument_count(n), i = 0;
    struct expr *e = expr_new(c->kernel, OP_IOTA, type_scalar(DT_I32), n->loc, count);
    e->type.rank = count;
    bool all_known = true;
    for (const struct node *a = n->list; a; a = a->next, i++) {
        e->args[i] = check_launch_int(c, a, "an extent");
        if (!e->args[i])
            return NULL;
        if (!eval_int(e->args[i], NULL, &e->type.extent[i])) {
            e->type.extent[i] = EXTENT_RUNTIME;
            all_known = false;
        } else if (e->type.extent[i] < 0) {
            diag_error(c->diag, a->loc, "an extent is %lld; it must be at least 0",
                       (long long)e->type.extent[i]);
            return NULL;
        }
    }
    if (all_known)
        e->count = 0;
    return iota_shape(c, n->loc, &e->type) ? e : NULL;
}

/* Checks iota(), which takes its shape from its use, or iota(e0, e1, …). */
static struct expr *check_iota(struct checker *c, const struct node *n, const struct type *want)
{
    struct type type = {.dtype = DT_I32};
    if (!check_arguments(c, n, 0, MAX_RANK, NULL, "iota(n)"))
        return NULL;
    if (!n->list) {
        if (!want || want->rank == 0) {
            diag_error(c->diag, n->loc, "`iota()` cannot take its shape from this place");
            diag_note(c->diag, n->loc, "write it: `iota(n)`, `iota(n, 1)`");
            return NULL;
        }
        type = *want;
        type.dtype = DT_I32;
        for (int i = 0; i < type.rank; i++)
            if (type.extent[i] == EXTENT_RUNTIME) {
                diag_error(c->diag, n->loc, "the shape of `iota()` is not known here");
                return NULL;
            }
        return iota_shape(c, n->loc, &type) ? expr_new(c->kernel, OP_IOTA, type, n->loc, 0) : NULL;
    }
    if (c->in_ensures)
        return iota_at_launch(c, n);
    for (const struct node *a = n->list; a; a = a->next)
        if (!check_constant_in(c, a, "an extent", 1, MAX_ELEMENTS, &type.extent[type.rank++]))
            return NULL;
    if (!iota_shape(c, n->loc, &type) || !check_size(c, &type, n->loc))
        return NULL;
    return expr_new(c->kernel, OP_IOTA, type, n->loc, 0);
}

struct expr *check_shape_call(struct checker *c, const struct node *n, enum op op,
                              const struct type *want)
{
    static const char *const forms[] = {"reshape(x, e0, e1)", "repeat(x, n0, n1)",
                                        "repeat_interleave(x, n0, n1)", "broadcast(x, e0, e1)"};
    switch (op) {
    case OP_DOT: return check_dot(c, n, want);
    case OP_IOTA: return check_iota(c, n, want);
    case OP_TRANS: return check_arguments(c, n, 1, 1, NULL, "trans(x)") ? check_trans(c, n) : NULL;
    case OP_RESHAPE:
        return check_arguments(c, n, 2, -1, NULL, forms[0]) ? check_reshape(c, n) : NULL;
    case OP_REPEAT:
        return check_arguments(c, n, 2, -1, NULL, forms[1]) ? check_repeat(c, n, op) : NULL;
    case OP_REPEAT_INTERLEAVE:
        return check_arguments(c, n, 2, -1, NULL, forms[2]) ? check_repeat(c, n, op) : NULL;
    case OP_BROADCAST:
        return check_arguments(c, n, 2, -1, NULL, forms[3]) ? check_broadcast(c, n) : NULL;
    default: return NULL;
    }
}
