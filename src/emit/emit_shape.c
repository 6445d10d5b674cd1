/* Operations that move elements of a register tile between threads. Each thread stores its elements of the tile to shared
 * memory, and then loads its elements of the result. A part of a tile that begins at the thread's own elements needs no
 * exchange. */
#include "emit/emit_own.h"

static int64_t extent_of(const struct type *t, int from_last)
{
    return t->rank > from_last ? t->extent[t->rank - 1 - from_last] : 1;
}

/* --- parts --- */

/* Finds the first row and column of a part of a register tile. */
static bool find_start(struct emit *m, const struct expr *e, int64_t start[2])
{
    int rank = e->sym->type.rank;
    start[0] = start[1] = 0;
    for (int i = 0; i < e->indices; i++) {
        int axis = i - rank + 2;
        int64_t first = 0;
        const struct index *x = &e->index[i];
        if (x->kind == IX_GATHER || (x->value && !eval_int(x->value, NULL, &first)) ||
            (x->kind == IX_ELEMENT && e->type.rank > 0 && i >= rank - e->type.rank)) {
            emit_missing(m, e->loc, "this part of a register tile",
                         "keep the tile in shared memory, and take the part from there");
            return false;
        }
        if (axis >= 0)
            start[axis] = first;
    }
    return true;
}

/* Gives the part if each thread already has all elements that it needs. Returns false otherwise. */
static bool own_part(struct emit *m, const struct expr *e, const struct tile *from,
                     const int64_t start[2], struct tile *out)
{
    int columns = emit_columns(&e->type), elements, of_all;
    bool groups = m->place.warps > EMIT_WARPGROUP && m->place.warps % EMIT_WARPGROUP == 0;
    int64_t rows = (int64_t)16 * m->place.warps;
    *out = (struct tile){.form = emit_form(&e->type),
                         .dtype = from->dtype,
                         .blocks = emit_blocks(m, &e->type, e->loc),
                         .columns = columns};
    if (m->failed || out->form != from->form || start[1] % 8 != 0 || start[0] % rows != 0 ||
        (groups && (start[0] != 0 || from->blocks != out->blocks)))
        return false;
    int parts = emit_parts(out->form, out->blocks, columns, &elements);
    emit_parts(from->form, from->blocks, from->columns, &of_all);
    int first = out->form == TILE_WHOLE ? (int)start[1] / 2 : (int)start[1] / 4;
    int skipped = (int)(start[0] / rows) * (out->form == TILE_ROWS ? 2 : 1);
    for (int i = 0; i < parts; i++) {
        struct thread_operand v = from->part[skipped + i];
        if (elements < of_all)
            v = emit_part(m, out->dtype, v, first, elements, 1);
        out->part[i] = v;
    }
    return true;
}

/* --- exchanges --- */

/* Returns the place in scratch from which the result's element at `at` comes. apart: elements from one row of the source to the
 * next. */
static struct scalar source_of(struct emit *m, const struct expr *e, const struct type *from,
                               int64_t apart, struct held at)
{
    int64_t columns = extent_of(from, 0), rows = extent_of(from, 1);
    const struct type *to = &e->type;
    struct scalar row = at.row, column = at.column;
    if (e->op == OP_RESHAPE || e->op == OP_ACCESS) {
        row = emit_by(m, THREAD_MUL, row, e->op == OP_ACCESS ? apart : extent_of(to, 0));
        return emit_op2(m, THREAD_ADD, DT_U32, row, column);
    }
    switch (e->op) {
    case OP_TRANS:
        row = at.column;
        column = at.row;
        break;
    case OP_REPEAT:
        row = emit_by(m, THREAD_REM, row, rows);
        column = emit_by(m, THREAD_REM, column, columns);
        break;
    case OP_REPEAT_INTERLEAVE:
        row = emit_by(m, THREAD_DIV, row, extent_of(to, 1) / rows);
        column = emit_by(m, THREAD_DIV, column, extent_of(to, 0) / columns);
        break;
    default: break;
    }
    return emit_op2(m, THREAD_ADD, DT_U32, emit_by(m, THREAD_MUL, row, apart), column);
}

static struct tile exchange(struct emit *m, const struct expr *e, const struct tile *from,
                            const struct type *type, const int64_t start[2])
{
    struct thread_operand all[EMIT_MOST_COLUMNS / 2];
    struct tile t = emit_tile_like(&e->type, emit_blocks(m, &e->type, e->loc));
    t.dtype = from->dtype;
    if (m->failed)
        return t;
    const bool is_part = e->op == OP_ACCESS;
    const struct window part = {{start[0], start[1]},
                                {extent_of(&e->type, 1), extent_of(&e->type, 0)}};
    const struct type *kept = is_part ? &e->type : type;
    /* The rows of a reshaped tile follow each other. */
    struct scratch s = e->op == OP_RESHAPE ? emit_scratch(m, t.dtype, 0, type_elements(type))
                                           : emit_scratch_rows(m, t.dtype, 0, extent_of(kept, 1),
                                                               extent_of(kept, 0));
    emit_to_scratch(m, &s, from, type, is_part ? &part : NULL);
    emit_sync(m);
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    for (int i = 0; i < parts; i++) {
        for (int j = 0; j < elements; j++) {
            struct held at = emit_held(m, &t, &e->type, i, j);
            struct scalar number = source_of(m, e, type, s.columns, at);
            if (at.real.o.kind == THREAD_VALUE)
                number = emit_select(m, at.real, number, emit_constant(DT_U32, 0));
            all[j] = emit_from_scratch(m, &s, number);
        }
        t.part[i] = emit_join(m, t.dtype, all, elements);
    }
    emit_sync(m);
    return t;
}

/* Returns true if a reshape leaves each element with its thread: the rows and columns are the same. */
static bool keeps_places(const struct type *a, const struct type *b)
{
    return extent_of(a, 0) == extent_of(b, 0) && extent_of(a, 1) == extent_of(b, 1);
}

struct tile emit_shape(struct emit *m, const struct expr *e)
{
    int64_t start[2] = {0, 0};
    const bool is_part = e->op == OP_ACCESS;
    const struct variable *v = is_part ? emit_variable(m, e->sym) : NULL;
    const struct type *type = is_part ? &e->sym->type : &e->args[0]->type;
    struct tile from = is_part && v ? emit_tile_of(m, v, e->loc) : (struct tile){0}, out = from;
    if (!is_part)
        from = emit_tile(m, e->args[0]);
    if (m->failed || from.form == TILE_UNIFORM ||
        (e->op == OP_RESHAPE && keeps_places(type, &e->type)))
        return from;
    if (is_part && (!find_start(m, e, start) || own_part(m, e, &from, start, &out)))
        return out;
    return exchange(m, e, &from, type, start);
}
