/* Shared tiles. The last two axes are a matrix; axes before them count matrices. A swizzled matrix lies in panels of 128
 * bytes a row, one after the other; in each row the pieces of 16 bytes are exchanged: piece p of row r is at
 * p ^ (r % 8). */
#include "emit/emit_own.h"

enum { MOST_LOADS = 128 };

static int size_of(const struct sym *s)
{
    return (int)dtype_size(s->type.dtype);
}

bool emit_is_swizzled(const struct sym *s)
{
    const struct type *t = &s->type;
    return t->rank >= 2 && t->extent[t->rank - 1] * size_of(s) % EMIT_PANEL == 0;
}

/* The start and the extent of an axis of a part. */
static bool part_of_axis(struct emit *m, const struct expr *e, int axis, int *start, int *extent)
{
    int64_t first = 0;
    *start = 0;
    *extent = (int)e->sym->type.extent[axis];
    if (axis >= e->indices || e->index[axis].kind == IX_ALL)
        return true;
    if (e->index[axis].kind != IX_SLICE || !eval_int(e->index[axis].value, NULL, &first)) {
        emit_missing(m, e->loc, "a part of a shared tile other than a slice from a constant on");
        return false;
    }
    *start = (int)first;
    *extent = (int)e->index[axis].extent;
    if (first >= 0 && first + *extent <= e->sym->type.extent[axis])
        return true;
    emit_missing(m, e->loc, "a slice that reaches past the edge of a shared tile");
    return false;
}

/* The number of the matrix. */
static bool find_stage(struct emit *m, const struct expr *e, int axes, struct scalar *stage)
{
    *stage = emit_constant(DT_U32, 0);
    for (int i = 0; i < axes; i++) {
        if (i >= e->indices || e->index[i].kind != IX_ELEMENT) {
            emit_missing(m, e->loc, "several matrices of a shared tile at once");
            return false;
        }
        struct scalar index = emit_as(m, emit_scalar(m, e->index[i].value), DT_U32);
        *stage =
            emit_op2(m, THREAD_MUL, DT_U32, *stage, emit_constant(DT_U32, e->sym->type.extent[i]));
        *stage = emit_op2(m, THREAD_ADD, DT_U32, index, *stage);
    }
    return true;
}

bool emit_shared_part(struct emit *m, const struct expr *e, struct shared_part *out)
{
    const struct type *t = &e->sym->type;
    int axes = t->rank > 2 ? t->rank - 2 : 0, last = t->rank - 1;
    *out = (struct shared_part){.sym = e->sym, .object = emit_object(m, e->sym)};
    if (!find_stage(m, e, axes, &out->stage))
        return false;
    out->rows = t->rank > 1 ? (int)t->extent[last - 1] : 1;
    out->columns = (int)t->extent[last];
    out->part_rows = 1;
    if (!part_of_axis(m, e, last, &out->column, &out->part_columns) ||
        (t->rank > 1 && !part_of_axis(m, e, last - 1, &out->row, &out->part_rows)))
        return false;
    out->swizzled = emit_is_swizzled(e->sym);
    out->panel = out->swizzled ? EMIT_PANEL / size_of(e->sym) : out->columns;
    if (!out->swizzled || (out->row % EMIT_SWIZZLED_ROWS == 0 && out->column % out->panel == 0 &&
                           (out->part_columns % out->panel == 0)))
        return true;
    emit_error(m, e->loc, "this part of `%s` does not begin and end where its swizzled panels do",
               e->sym->name);
    diag_note(m->diag, e->loc, "rows begin at multiples of %d, columns at multiples of %d",
              EMIT_SWIZZLED_ROWS, out->panel);
    return false;
}

/* --- loads and stores --- */

/* Element (row, column) of the part: row a scalar, u32; column = column_of(lane) + a constant, and `piece` the piece of
 * 16 bytes that it lies in, without the constant. */
struct at {
    const struct shared_part *part;
    struct scalar row_start; /* element of the row in its first panel */
    struct scalar turned;    /* row % 8 */
};

static struct at at_row(struct emit *m, const struct shared_part *p, struct scalar row)
{
    struct at at = {.part = p};
    struct scalar matrix = emit_op2(m, THREAD_MUL, DT_U32, p->stage,
                                    emit_constant(DT_U32, (int64_t)p->rows * p->columns));
    at.row_start = emit_op2(m, THREAD_ADD, DT_U32, matrix,
                            emit_op2(m, THREAD_MUL, DT_U32, row, emit_constant(DT_U32, p->panel)));
    at.turned = emit_op2(m, THREAD_AND, DT_U32, row, emit_constant(DT_U32, EMIT_SWIZZLED_ROWS - 1));
    return at;
}

/* The constant part of the place: of the part's own start, and of a panel. */
static int64_t panel_start(const struct shared_part *p, int column)
{
    int whole = p->column + column;
    return (int64_t)p->row * p->panel +
           (p->swizzled ? (int64_t)(whole / p->panel) * p->rows * p->panel : (int64_t)whole);
}

/* The element `within` of piece `piece` + `more` (of the panel), where `more` is a constant multiple of 2. */
static struct scalar in_row(struct emit *m, const struct at *at, struct scalar piece, int more,
                            struct scalar within)
{
    int each = EMIT_PIECE / size_of(at->part->sym);
    if (at->part->swizzled)
        piece = emit_op2(m, THREAD_XOR, DT_U32, emit_op2(m, THREAD_XOR, DT_U32, piece, at->turned),
                         emit_constant(DT_U32, more));
    struct scalar place = emit_op2(m, THREAD_MUL, DT_U32, piece, emit_constant(DT_U32, each));
    place = emit_op2(m, THREAD_ADD, DT_U32, at->row_start, place);
    return emit_op2(m, THREAD_ADD, DT_U32, place, within);
}

/* Matrices of 8 x 8 elements of 16 bits, four at a time: rows 0 to 7 and 8 to 15 of 8 columns, then of the next 8. A lane
 * has the address of row lane % 16, and of the first or the second 8 columns. */
static struct thread_operand matrices_at(struct emit *m, const struct shared_part *p, int block,
                                         int blocks, int columns)
{
    struct scalar first = emit_row(m, block, blocks);
    struct scalar quarter =
        emit_op2(m, THREAD_SHR, DT_U32, m->place.lane, emit_constant(DT_U32, 2));
    struct scalar in_half =
        emit_op2(m, THREAD_AND, DT_U32, m->place.lane, emit_constant(DT_U32, 15));
    struct scalar row =
        emit_op2(m, THREAD_ADD, DT_U32, emit_op2(m, THREAD_SUB, DT_U32, first, quarter), in_half);
    struct scalar half = emit_op2(m, THREAD_SHR, DT_U32, m->place.lane, emit_constant(DT_U32, 4));
    struct at at = at_row(m, p, row);
    int in_panel = p->swizzled ? columns % p->panel / 8 : 0;
    struct scalar place = in_row(m, &at, half, in_panel, emit_constant(DT_U32, 0));
    return thread_element(p->object, place.o, panel_start(p, columns));
}

static void store_halves(struct emit *m, const struct shared_part *p, const struct tile *t)
{
    enum { EACH = 8 }; /* elements of four matrices in a lane, of 16 columns */
    for (int b = 0; b < t->blocks; b++)
        for (int c = 0; c < t->columns; c += 16) {
            struct thread_operand eight[] = {t->part[b], thread_integer(c / 2),
                                             thread_integer(EACH), thread_integer(1)};
            struct thread_operand v =
                thread_use(thread_add_counted(&m->b, THREAD_PART, t->dtype, DT_NONE, 0, eight, 4));
            THREAD_ADD_OP(&m->b, THREAD_STORE_MATRIX, t->dtype, DT_NONE,
                          matrices_at(m, p, b, t->blocks, c), v);
        }
}

static struct thread_operand load_halves(struct emit *m, const struct shared_part *p,
                                         const struct tile *t, int block)
{
    enum { EACH = 8 };
    struct thread_operand all[MOST_LOADS];
    int count = 0;
    for (int c = 0; c < t->columns; c += 16) {
        struct thread_operand from[] = {matrices_at(m, p, block, t->blocks, c), thread_integer(0)};
        struct thread_operand v = thread_use(
            thread_add_counted(&m->b, THREAD_LOAD_MATRIX, t->dtype, DT_NONE, EACH, from, 2));
        all[count++] = v;
    }
    return emit_join(m, t->dtype, all, count);
}

/* Two neighbouring elements of 32 bits of the thread's columns 8 i and 8 i + 1. */
static struct thread_operand pair_at(struct emit *m, const struct shared_part *p, int block,
                                     int blocks, int below, int columns)
{
    struct scalar row =
        emit_op2(m, THREAD_ADD, DT_U32, emit_row(m, block, blocks), emit_constant(DT_U32, below));
    struct scalar column = emit_column(m);
    struct at at = at_row(m, p, row);
    struct scalar piece = emit_constant(DT_U32, 0), within = column;
    int more = 0;
    if (p->swizzled) {
        piece = emit_op2(m, THREAD_SHR, DT_U32, column, emit_constant(DT_U32, 2));
        within = emit_op2(m, THREAD_AND, DT_U32, column, emit_constant(DT_U32, 3));
        more = columns % p->panel / 4;
    }
    struct scalar place = in_row(m, &at, piece, more, within);
    return thread_element(p->object, place.o, panel_start(p, columns));
}

static void store_words(struct emit *m, const struct shared_part *p, const struct tile *t)
{
    for (int b = 0; b < t->blocks; b++)
        for (int i = 0; i < t->columns / 2; i += 2) {
            struct thread_operand two[] = {t->part[b], thread_integer(i), thread_integer(2),
                                           thread_integer(1)};
            struct thread_operand v =
                thread_use(thread_add_counted(&m->b, THREAD_PART, t->dtype, DT_NONE, 0, two, 4));
            THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, t->dtype, DT_NONE,
                          pair_at(m, p, b, t->blocks, i % 4 * 4, i / 4 * 8), v);
        }
}

static struct thread_operand load_words(struct emit *m, const struct shared_part *p,
                                        const struct tile *t, int block)
{
    struct thread_operand all[MOST_LOADS];
    int count = 0;
    for (int i = 0; i < t->columns / 2; i += 2) {
        struct thread_operand from = pair_at(m, p, block, t->blocks, i % 4 * 4, i / 4 * 8);
        struct thread_operand v = thread_use(
            thread_add_counted(&m->b, THREAD_LOAD_SHARED, t->dtype, DT_NONE, 2, &from, 1));
        all[count++] = v;
    }
    return emit_join(m, t->dtype, all, count);
}

static bool fits(struct emit *m, const struct shared_part *p, const struct type *t, struct loc loc)
{
    size_t size = dtype_size(p->sym->type.dtype);
    bool halves = size == 2 && t->extent[t->rank - 1] % 16 == 0 && p->columns % 8 == 0;
    if (t->rank == 2 && t->extent[0] > 1 && t->extent[1] > 1 && (halves || size == 4))
        return true;
    emit_missing(m, loc, "a load or store of this part of a shared tile");
    return false;
}

void emit_shared_store(struct emit *m, const struct expr *target, const struct tile *value)
{
    m->place.touched = true;
    struct shared_part p;
    const struct type *t = &target->type;
    int blocks = emit_blocks(m, t, target->loc);
    if (!blocks || !emit_shared_part(m, target, &p) || !fits(m, &p, t, target->loc))
        return;
    if (value->form != TILE_WHOLE) {
        emit_missing(m, target->loc, "a store of equal rows or columns to a shared tile");
        return;
    }
    emit_note_moved(m, target, &p, blocks, true);
    if (dtype_size(value->dtype) == 2)
        store_halves(m, &p, value);
    else
        store_words(m, &p, value);
}

struct tile emit_shared_load(struct emit *m, const struct expr *e)
{
    m->place.touched = true;
    struct shared_part p;
    struct tile t = {.form = TILE_WHOLE, .dtype = e->type.dtype};
    t.blocks = emit_blocks(m, &e->type, e->loc);
    if (!t.blocks || !emit_shared_part(m, e, &p) || !fits(m, &p, &e->type, e->loc))
        return t;
    t.columns = (int)e->type.extent[1];
    emit_note_moved(m, e, &p, t.blocks, false);
    for (int b = 0; b < t.blocks; b++)
        t.part[b] = dtype_size(t.dtype) == 2 ? load_halves(m, &p, &t, b) : load_words(m, &p, &t, b);
    return t;
}
