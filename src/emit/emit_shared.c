/* Parts of shared tiles, as tensor copies and products of warpgroups take them. The last two axes are a matrix; axes before them
 * count matrices. A swizzled matrix lies in panels of 128 bytes a row, one after the other; in each row the pieces of 16 bytes are
 * exchanged: piece p of row r is at p ^ (r % 8). */
#include "emit/emit_own.h"
#include "plan/plan_layouts.h"

static int size_of(const struct sym *s)
{
    return (int)dtype_size(s->type.dtype);
}

/* Returns whether a slice that begins at a scalar lies within the tile, and begins at a row where the swizzle repeats. */
static bool is_further(struct emit *m, const struct expr *e, int axis)
{
    const struct facts f = emit_facts_of(m, e->index[axis].value);
    return f.least >= 0 && f.greatest <= e->sym->type.extent[axis] - e->index[axis].extent &&
           f.modulus % PLAN_SWIZZLED_ROWS == 0 && f.rest % PLAN_SWIZZLED_ROWS == 0;
}

static bool part_further(struct emit *m, const struct expr *e, int axis, int *extent,
                         struct scalar *further)
{
    *extent = (int)e->index[axis].extent;
    if (is_further(m, e, axis)) {
        *further = emit_as(m, emit_scalar(m, e->index[axis].value), DT_U32);
        return true;
    }
    emit_error(m, e->loc, "it is not known where this part of `%s` begins", e->sym->name);
    diag_note(
        m->diag, e->loc,
        "rows begin at a constant, or at a multiple of %d within the tile that follows from a "
        "role's index, a loop's counter or `cluster.rank`",
        PLAN_SWIZZLED_ROWS);
    return false;
}

/* Finds the start and the extent of an axis of a part. */
static bool part_of_axis(struct emit *m, const struct expr *e, int axis, int *start, int *extent,
                         struct scalar *further)
{
    int64_t first = 0;
    *start = 0;
    *extent = (int)e->sym->type.extent[axis];
    if (axis >= e->indices || e->index[axis].kind == IX_ALL)
        return true;
    if (further && e->index[axis].kind == IX_SLICE && !eval_int(e->index[axis].value, NULL, &first))
        return part_further(m, e, axis, extent, further);
    if (e->index[axis].kind != IX_SLICE || !eval_int(e->index[axis].value, NULL, &first)) {
        emit_missing(m, e->loc,
                     "a part of a shared tile, here, other than a slice from a constant on",
                     "give the part a tile of its own, or an axis of the tile, as `s[i]`");
        return false;
    }
    *start = (int)first;
    *extent = (int)e->index[axis].extent;
    if (first >= 0 && first + *extent <= e->sym->type.extent[axis])
        return true;
    emit_missing(m, e->loc, "a slice that reaches past the edge of a shared tile, here,",
                 "let it end at the edge");
    return false;
}

/* Finds the number of the matrix. */
static bool find_stage(struct emit *m, const struct expr *e, int axes, struct scalar *stage)
{
    *stage = emit_constant(DT_U32, 0);
    for (int i = 0; i < axes; i++) {
        if (i >= e->indices || e->index[i].kind != IX_ELEMENT) {
            emit_missing(m, e->loc, "several matrices of a shared tile at once, here,",
                         "take one at a time: `s[i]`, in a loop");
            return false;
        }
        struct scalar index = emit_as(m, emit_scalar(m, e->index[i].value), DT_U32);
        *stage = emit_by(m, THREAD_MUL, *stage, e->sym->type.extent[i]);
        *stage = emit_op2(m, THREAD_ADD, DT_U32, index, *stage);
    }
    return true;
}

struct scalar emit_peer(struct emit *m, const struct expr *e)
{
    struct scalar rank = emit_as(m, emit_scalar(m, access_peer(e)), DT_U32);
    return (struct scalar){thread_use(THREAD_ADD_OP(&m->b, THREAD_PEER, DT_NONE, DT_NONE, rank.o)),
                           DT_U32};
}

bool emit_shared_part(struct emit *m, const struct expr *e, struct shared_part *out)
{
    const struct type *t = &e->sym->type;
    int axes = t->rank > 2 ? t->rank - 2 : 0, last = t->rank - 1;
    *out = (struct shared_part){.sym = e->sym, .object = emit_object(m, e->sym)};
    out->further = emit_constant(DT_U32, 0);
    out->of_peer = access_peer(e) != NULL;
    if (out->of_peer)
        out->peer = emit_peer(m, e);
    if (!find_stage(m, e, axes, &out->stage))
        return false;
    out->rows = t->rank > 1 ? (int)t->extent[last - 1] : 1;
    out->columns = (int)t->extent[last];
    out->part_rows = 1;
    if (!part_of_axis(m, e, last, &out->column, &out->part_columns, NULL) ||
        (t->rank > 1 && !part_of_axis(m, e, last - 1, &out->row, &out->part_rows, &out->further)))
        return false;
    out->swizzled = plan_is_swizzled(e->sym);
    out->panel = out->swizzled ? PLAN_PANEL / size_of(e->sym) : out->columns;
    if (!out->swizzled || (out->row % PLAN_SWIZZLED_ROWS == 0 && out->column % out->panel == 0 &&
                           (out->part_columns % out->panel == 0)))
        return true;
    emit_error(m, e->loc, "this part of `%s` does not begin and end where its swizzled panels do",
               e->sym->name);
    diag_note(m->diag, e->loc, "rows begin at multiples of %d, columns at multiples of %d",
              PLAN_SWIZZLED_ROWS, out->panel);
    return false;
}
