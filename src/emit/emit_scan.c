/* Scans: scan(add, x, axis = n). The tile goes through shared memory, where each thread combines whole rows or columns, one
 * element after the other. */
#include "emit/emit_own.h"

/* A loop over indices below an end, which may carry a value. */
struct index_loop {
    struct open_loop loop;
    struct scalar at, carried;
};

static struct scalar argument(struct emit *m, const struct index_loop *l, struct scalar first)
{
    const struct thread_type type = {.dtype = first.dtype, .count = 1};
    return (struct scalar){emit_loop_argument(m, &l->loop, first.o, type), first.dtype};
}

/* Begins the loop. carried: the carried value in the first iteration; NULL: none is carried. */
static struct index_loop begin(struct emit *m, struct scalar first, int64_t end,
                               const struct scalar *carried)
{
    struct index_loop l = {.loop = emit_open_loop(m)};
    l.at = argument(m, &l, first);
    if (carried)
        l.carried = argument(m, &l, *carried);
    emit_loop_leave(m, emit_by(m, THREAD_GE, l.at, end));
    return l;
}

static void end(struct emit *m, const struct index_loop *l, int64_t step,
                const struct scalar *carried)
{
    struct thread_operand values[2] = {emit_by(m, THREAD_ADD, l->at, step).o};
    if (carried)
        values[1] = carried->o;
    emit_close_loop(m, &l->loop, values, carried ? 2 : 1);
}

/* Combines the lines in scratch: rows, or columns. */
static void combine_lines(struct emit *m, const struct expr *e, const struct scratch *s,
                          enum dtype t, const int64_t extent[2], bool rows)
{
    struct scalar thread = emit_op2(m, THREAD_ADD, DT_U32, m->place.lane,
                                    emit_by(m, THREAD_MUL, m->place.warp, WARP_LANES));
    struct scalar first = emit_scan_start(e, t);
    struct index_loop lines = begin(m, thread, extent[!rows], NULL);
    struct scalar line = emit_by(m, THREAD_MUL, lines.at, rows ? s->columns : 1);
    struct index_loop l = begin(m, emit_constant(DT_U32, 0), extent[rows], &first);
    struct scalar at =
        emit_op2(m, THREAD_ADD, DT_U32, line, emit_by(m, THREAD_MUL, l.at, rows ? 1 : s->columns));
    struct scalar v = {emit_from_scratch(m, s, at), t};
    struct scalar sum = emit_pair(m, e->scan_op, t, l.carried, v);
    THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, t, DT_NONE, emit_scratch_at(m, s, at),
                  e->exclusive ? l.carried.o : sum.o);
    end(m, &l, 1, &sum);
    end(m, &lines, (int64_t)m->place.warps * WARP_LANES, NULL);
}

struct tile emit_scan(struct emit *m, const struct expr *e)
{
    enum { MOST = EMIT_MOST_COLUMNS / 2 };
    const struct type *type = &e->type;
    const enum dtype t = type->dtype == DT_BOOL ? DT_I32 : type->dtype;
    struct thread_operand all[MOST];
    struct tile from = emit_tile_cast(m, emit_tile(m, e->args[0]), t);
    if (m->failed)
        return from;
    struct tile out = emit_spread(m, &from, type, e->loc);
    if (m->failed)
        return out;
    const int64_t extent[2] = {type->rank > 1 ? type->extent[type->rank - 2] : 1,
                               type->extent[type->rank - 1]};
    struct scratch s = emit_scratch_rows(m, t, 0, extent[0], extent[1]);
    emit_to_scratch(m, &s, &out, type, NULL);
    emit_sync(m);
    combine_lines(m, e, &s, t, extent, e->axis == type->rank - 1);
    emit_sync(m);
    int elements, parts = emit_parts(out.form, out.blocks, out.columns, &elements);
    for (int i = 0; i < parts; i++) {
        for (int j = 0; j < elements; j++) {
            struct held h = emit_held(m, &out, type, i, j);
            struct scalar at =
                emit_op2(m, THREAD_ADD, DT_U32, h.column, emit_by(m, THREAD_MUL, h.row, s.columns));
            if (h.real.o.kind == THREAD_VALUE)
                at = emit_select(m, h.real, at, emit_constant(DT_U32, 0));
            all[j] = emit_from_scratch(m, &s, at);
        }
        out.part[i] = emit_join(m, t, all, elements);
    }
    emit_sync(m);
    return emit_tile_cast(m, out, type->dtype);
}
