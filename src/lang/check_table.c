/* Elements of tables: T[i][j], with scalars or tiles as indices.
 *
 * A table has one axis in the IR, so several indices are combined into one. If one of them is
 * outside, the combined index is -1, which is a fault (tile/lookup.h):
 *
 *     T[i][j] of T[4][8]  ->  T[where(i >= 0 && i < 4 && j >= 0 && j < 8, i * 8 + j, -1)] */
#include "lang/check_internal.h"

static bool outside(struct checker *c, const struct node *n, const struct sym *s, int axis,
                    const struct expr *e)
{
    int64_t v, extent = check_sym_info(c, s)->shape.extent[axis];
    if (c->never > 0 || !eval_int(e, NULL, &v) || (v >= 0 && v < extent))
        return false;
    if (v < 0)
        diag_error(c->diag, n->loc, "the index %lld is below 0", (long long)v);
    else
        diag_error(c->diag, n->loc, "the index %lld is past the end: axis %d of `%s` has %lld",
                   (long long)v, axis, s->name, (long long)extent);
    diag_note(c->diag, s->loc, "`%s` is declared here", s->name);
    return true;
}

static struct expr *lookup_index(struct checker *c, const struct node *n, const struct sym *s,
                                 int axis)
{
    if (n->i == INDEX_SLICE || n->i == INDEX_ALL) {
        diag_error(c->diag, n->loc, "a table has no slices");
        diag_note(c->diag, n->loc, "elements in a row are `%s[first + iota(n)]`", s->name);
        return NULL;
    }
    struct expr *e = check_index_value(c, n->a, "an index");
    return e && !outside(c, n, s, axis, e) ? e : NULL;
}

static struct expr *int_like(struct checker *c, const struct expr *e, int64_t v)
{
    return expr_int(c->kernel, e->type.dtype, v, e->loc);
}

static struct expr *both(struct checker *c, struct expr *a, struct expr *b)
{
    return !a ? b : !b ? a : check_make_binary(c, OP_LAND, b->loc, a, b);
}

/* Returns the test that e is within the extent of the axis; NULL: e is always within. Copies e. */
static struct expr *within(struct checker *c, const struct expr *e, int axis, int64_t extent)
{
    int64_t v;
    if (eval_int(e, NULL, &v))
        return NULL;
    struct expr *low =
        check_make_binary(c, OP_GE, e->loc, expr_copy(c->kernel, e), int_like(c, e, 0));
    struct expr *high =
        check_make_binary(c, OP_LT, e->loc, expr_copy(c->kernel, e), int_like(c, e, extent));
    high->axis = axis + 1;
    return both(c, dtype_is_signed(e->type.dtype) ? low : NULL, high);
}

static struct expr *add_axis(struct checker *c, struct expr *sum, struct expr *e, int64_t extent)
{
    struct expr *scaled = check_make_binary(c, OP_MUL, e->loc, sum, int_like(c, sum, extent));
    return scaled ? check_make_binary(c, OP_ADD, e->loc, scaled, e) : NULL;
}

/* Returns the index into the table's values, an i32. */
static struct expr *flat_index(struct checker *c, const struct node *n, const struct sym *s)
{
    const struct type *shape = &check_sym_info(c, s)->shape;
    struct expr *sum = NULL, *fits = NULL;
    int axis = 0;
    for (const struct node *i = n->list; i; i = i->next, axis++) {
        struct expr *e = lookup_index(c, i, s, axis);
        if (!e)
            return NULL;
        bool narrow = dtype_holds(DT_I32, e->type.dtype);
        e = narrow ? check_cast_to(c, e, DT_I32) : e;
        if (shape->rank > 1 || !narrow) { /* compared before it is narrowed */
            e = check_keep_for_uses(c, "at", e);
            fits = both(c, fits, within(c, e, axis, shape->extent[axis]));
            e = check_cast_to(c, expr_copy(c->kernel, e), DT_I32);
        }
        sum = !sum ? e : add_axis(c, sum, e, shape->extent[axis]);
        if (!sum)
            return NULL;
    }
    if (!fits)
        return sum;
    struct type type = sum->type;
    if (!check_join_shapes(c, n->loc, fits, sum, &type))
        return NULL;
    type.dtype = DT_I32;
    struct expr *e = expr_new(c->kernel, OP_WHERE, type, n->loc, 3);
    e->args[0] = fits;
    e->args[1] = sum;
    e->args[2] = expr_int(c->kernel, DT_I32, -1, n->loc);
    return e;
}

struct expr *check_lookup(struct checker *c, struct sym *table, const struct node *n)
{
    int count = 0, rank = check_sym_info(c, table)->shape.rank;
    for (const struct node *i = n->list; i; i = i->next)
        count++;
    if (count != rank) {
        diag_error(c->diag, n->loc, "`%s` has %d %s, and %d %s chosen", table->name, rank,
                   rank == 1 ? "axis" : "axes", count, count == 1 ? "is" : "are");
        diag_note(c->diag, table->loc, "declared here");
        return NULL;
    }
    struct expr *index = flat_index(c, n, table);
    int64_t at;
    if (!index)
        return NULL;
    struct type type = index->type;
    type.dtype = table->type.dtype;
    if (c->never == 0 && eval_int(index, NULL, &at) && at >= 0 && at < table->type.extent[0]) {
        struct expr *known = expr_new(c->kernel, OP_LITERAL, type, n->loc, 0);
        known->literal = table->table[at];
        return known;
    }
    struct expr *e = expr_new(c->kernel, OP_LOOKUP, type, n->loc, 2);
    e->sym = table;
    e->axis = index->op == OP_WHERE ? rank : 0;
    e->args[0] = expr_int(c->kernel, DT_I32, table->index, n->loc);
    e->args[1] = index;
    return e;
}
