/* Reductions. A thread combines its elements of a row or of a column. Then the lanes of a warp exchange by shuffles: the four
 * lanes of a quad share a row, and lanes with the same number in their quads share a column. Columns are then combined over the
 * warps of the role, through shared memory. Elements beyond the tile's extents become the neutral element first. */
#include "emit/emit_own.h"

#include <math.h>

struct reduction {
    enum op op;
    enum dtype t; /* in which it is computed */
};

static enum thread_opcode opcode(enum op op, bool of_group)
{
    switch (op) {
    case OP_REDUCE_SUM: return of_group ? THREAD_REDUCE_ADD : THREAD_ADD;
    case OP_REDUCE_MAX: return of_group ? THREAD_REDUCE_MAX : THREAD_MAX;
    case OP_REDUCE_MIN: return of_group ? THREAD_REDUCE_MIN : THREAD_MIN;
    case OP_REDUCE_ANY: return of_group ? THREAD_REDUCE_OR : THREAD_OR;
    default: return of_group ? THREAD_REDUCE_AND : THREAD_AND;
    }
}

static enum dtype computed_in(const struct expr *e)
{
    enum dtype t = e->op == OP_REDUCE_SUM ? e->type.dtype : e->args[0]->type.dtype;
    if (t == DT_BOOL)
        return DT_U32;
    if (dtype_is_float(t))
        return t == DT_F64 ? t : DT_F32;
    return dtype_table[t].bits >= 32 ? t : dtype_is_signed(t) ? DT_I32 : DT_U32;
}

/* Returns the neutral element. For the largest and the least float it is NaN, because a number and a NaN give the number. */
static struct thread_operand neutral(const struct reduction *r)
{
    bool is_float = dtype_is_float(r->t), is_signed = dtype_is_signed(r->t);
    int bits = dtype_table[r->t].bits;
    int64_t least = is_signed ? (int64_t)((uint64_t)-1 << (bits - 1)) : 0;
    int64_t most = is_signed ? ~least : bits == 64 ? -1 : ((int64_t)1 << bits) - 1;
    switch (r->op) {
    case OP_REDUCE_SUM: return is_float ? thread_real(-0.0) : thread_integer(0);
    case OP_REDUCE_MAX: return is_float ? thread_real((double)NAN) : thread_integer(least);
    case OP_REDUCE_MIN: return is_float ? thread_real((double)NAN) : thread_integer(most);
    default: return thread_integer(r->op == OP_REDUCE_ALL);
    }
}

static struct thread_operand combine(struct emit *m, const struct reduction *r,
                                     struct thread_operand a, struct thread_operand b)
{
    return thread_use(THREAD_ADD_OP(&m->b, opcode(r->op, false), r->t, DT_NONE, a, b));
}

/* Combines the elements of a group. */
static struct thread_operand fold(struct emit *m, const struct reduction *r,
                                  struct thread_operand v)
{
    if (v.kind != THREAD_VALUE || v.value->type.count == 1)
        return v;
    return thread_use(THREAD_ADD_OP(&m->b, opcode(r->op, true), r->t, DT_NONE, v));
}

/* Combines the values of lanes whose numbers differ only in the bits from `first` to `last`. */
static struct thread_operand over_lanes(struct emit *m, const struct reduction *r,
                                        struct thread_operand v, int first, int last)
{
    for (int bit = first; bit <= last; bit *= 2)
        v = combine(m, r, v,
                    thread_use(THREAD_ADD_OP(&m->b, THREAD_SHUFFLE_XOR, r->t, DT_NONE, v,
                                             thread_integer(bit))));
    return v;
}

/* Combines the values of all warps: a scalar, or a group of the thread's columns. */
static struct thread_operand over_warps(struct emit *m, const struct reduction *r,
                                        struct thread_operand v, int columns)
{
    enum { MOST = EMIT_MOST_COLUMNS / 4 };
    struct thread_operand all[MOST], sum = v;
    struct tile of_warp = {.form = columns > 1 ? TILE_COLUMNS : TILE_UNIFORM, .blocks = 1};
    const struct type type = {.rank = 1, .extent = {columns}};
    int elements;
    emit_parts(of_warp.form, 1, columns, &elements);
    if (m->place.warps == 1)
        return v;
    struct scratch s = emit_warps_to_scratch(m, r->t, v, columns);
    emit_sync(m);
    for (int w = 0; w < m->place.warps; w++) {
        for (int i = 0; i < elements; i++) {
            struct held h = emit_held(m, &of_warp, &type, 0, i);
            all[i] =
                emit_from_scratch(m, &s, emit_by(m, THREAD_ADD, h.column, (int64_t)w * columns));
        }
        struct thread_operand group = emit_join(m, r->t, all, elements);
        sum = w == 0 ? group : combine(m, r, sum, group);
    }
    emit_sync(m);
    return sum;
}

/* --- along an axis --- */

static void along_rows(struct emit *m, const struct reduction *r, const struct tile *from,
                       struct tile *out)
{
    if (from->form == TILE_COLUMNS) {
        out->part[0] = over_lanes(m, r, fold(m, r, from->part[0]), 1, 2);
        return;
    }
    for (int b = 0; b < from->blocks; b++)
        for (int i = 0; i < 2; i++) {
            struct thread_operand odd =
                fold(m, r, emit_strand(m, from, b, 2 * i + 1, from->columns));
            struct thread_operand even = fold(m, r, emit_strand(m, from, b, 2 * i, from->columns));
            out->part[2 * b + i] = over_lanes(m, r, combine(m, r, even, odd), 1, 2);
        }
}

static void along_columns(struct emit *m, const struct reduction *r, const struct tile *from,
                          struct tile *out)
{
    enum { OTHER_ROWS = 4, LAST = 16 };
    struct thread_operand sum[2];
    for (int i = 0; i < 2; i++)
        for (int b = 0; b < 2 * from->blocks; b++) {
            struct thread_operand v =
                from->form == TILE_ROWS ? from->part[b]
                                        : emit_strand(m, from, b / 2, b % 2 * 2 + i, from->columns);
            sum[i] = b == 0 ? v : combine(m, r, sum[i], v);
        }
    struct thread_operand v = sum[0];
    if (from->form == TILE_WHOLE)
        v = thread_use(thread_add_counted(&m->b, THREAD_WEAVE, r->t, DT_NONE, 0, sum, 2));
    v = over_lanes(m, r, v, OTHER_ROWS, LAST);
    out->part[0] = over_warps(m, r, v, from->form == TILE_WHOLE ? from->columns : 1);
}

static void over_all(struct emit *m, const struct reduction *r, const struct tile *from,
                     struct tile *out)
{
    enum { LAST = 16 };
    int elements, parts = emit_parts(from->form, from->blocks, from->columns, &elements);
    struct thread_operand v = fold(m, r, from->part[0]);
    for (int i = 1; i < parts; i++)
        v = combine(m, r, v, fold(m, r, from->part[i]));
    bool of_columns = from->form != TILE_ROWS, of_rows = from->form != TILE_COLUMNS;
    v = over_lanes(m, r, v, of_columns ? 1 : 4, of_rows ? LAST : 2);
    out->part[0] = of_rows ? over_warps(m, r, v, 1) : v;
}

/* --- the whole --- */

/* Replaces elements beyond the tile's extents. */
static void mask(struct emit *m, const struct reduction *r, struct tile *t, const struct type *type)
{
    enum { MOST = EMIT_MOST_COLUMNS / 2 };
    struct thread_operand all[MOST];
    int elements, parts = emit_parts(t->form, t->blocks, t->columns, &elements);
    if (emit_is_whole(m, type, t->blocks))
        return;
    for (int p = 0; p < parts; p++) {
        for (int i = 0; i < elements; i++) {
            struct scalar real = emit_held(m, t, type, p, i).real;
            all[i] = emit_element(m, t, p, i);
            if (real.o.kind == THREAD_VALUE)
                all[i] = thread_use(
                    THREAD_ADD_OP(&m->b, THREAD_SELECT, r->t, DT_NONE, real.o, all[i], neutral(r)));
            else if (!real.o.integer)
                all[i] = neutral(r);
        }
        t->part[p] = emit_join(m, r->t, all, elements);
    }
}

struct tile emit_reduce(struct emit *m, const struct expr *e)
{
    const struct type *type = &e->args[0]->type;
    struct reduction r = {.op = e->op, .t = computed_in(e)};
    struct tile from = emit_tile_cast(m, emit_tile(m, e->args[0]), r.t), out = {0};
    if (m->failed)
        return from;
    if (from.form == TILE_UNIFORM)
        from = emit_spread(m, &from, type, e->loc);
    out = (struct tile){.form = emit_form(&e->type),
                        .dtype = r.t,
                        .blocks = from.blocks,
                        .columns = emit_columns(&e->type)};
    bool all = e->axis < 0 || type->rank == 1, rows = e->axis == type->rank - 1;
    bool alone = e->axis >= 0 && type->extent[e->axis] == 1;
    if (m->failed || from.form == TILE_UNIFORM || alone)
        out = from;
    else
        mask(m, &r, &from, type);
    if (m->failed || from.form == TILE_UNIFORM || alone)
        return emit_tile_cast(m, out, e->type.dtype);
    if (all)
        over_all(m, &r, &from, &out);
    else if (rows)
        along_rows(m, &r, &from, &out);
    else
        along_columns(m, &r, &from, &out);
    if (out.form != TILE_ROWS)
        out.blocks = 1;
    return emit_tile_cast(m, out, e->type.dtype);
}
