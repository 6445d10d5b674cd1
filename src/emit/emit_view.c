/* Views: register tiles loaded and stored by the threads that hold them, elements outside the view left out. */
#include "emit/emit_own.h"

enum { MOST_AXES = MAX_RANK };

/* The part of a view that an access chooses: its element (0, 0) and the steps along the last two axes of the part. */
struct view_part {
    struct scalar base; /* address of the element (0, 0) of the part, u64; it may lie outside */
    struct scalar row, column;           /* in the view, of the element (0, 0): i64 */
    struct scalar rows, columns;         /* of the view: i64 */
    struct scalar row_step, column_step; /* bytes, i64 */
    struct scalar inside;                /* the element indices are within the view: bool */
};

static struct scalar wide(struct emit *m, const struct expr *e)
{
    return emit_as(m, emit_scalar(m, e), DT_I64);
}

static struct scalar add(struct emit *m, struct scalar a, struct scalar b)
{
    return emit_op2(m, THREAD_ADD, DT_I64, a, b);
}

static struct scalar times(struct emit *m, struct scalar a, struct scalar b)
{
    return emit_op2(m, THREAD_MUL, DT_I64, a, b);
}

static struct scalar wide_constant(int64_t v)
{
    return emit_constant(DT_I64, v);
}

static void find_steps(struct emit *m, const struct sym *s, struct scalar *steps)
{
    struct scalar step = wide_constant((int64_t)dtype_size(s->type.dtype));
    for (int i = s->type.rank - 1; i >= 0; i--) {
        steps[i] = s->strides[0] ? times(m, wide(m, s->strides[i]),
                                         wide_constant((int64_t)dtype_size(s->type.dtype)))
                                 : step;
        if (!s->strides[0] && i > 0)
            step = times(m, step, wide(m, s->dims[i]));
    }
}

/* Is index in [0, extent)? Negative numbers are large without a sign. */
static struct scalar within(struct emit *m, struct scalar index, struct scalar extent)
{
    return emit_op2(m, THREAD_LT, DT_U64, emit_as(m, index, DT_U64), emit_as(m, extent, DT_U64));
}

static bool find_part(struct emit *m, const struct expr *e, struct view_part *out)
{
    const struct sym *s = e->sym;
    struct scalar steps[MOST_AXES], at = wide_constant(0);
    int rank = e->type.rank, seen = 0;
    *out = (struct view_part){.inside = emit_constant(DT_BOOL, 1)};
    out->rows = out->columns = wide_constant(1);
    out->row_step = out->column_step = out->row = out->column = wide_constant(0);
    find_steps(m, s, steps);
    for (int i = 0; i < s->type.rank; i++) {
        enum index_kind kind = i < e->indices ? e->index[i].kind : IX_ALL;
        struct scalar start =
            kind == IX_ELEMENT || kind == IX_SLICE ? wide(m, e->index[i].value) : wide_constant(0);
        struct scalar extent = wide(m, s->dims[i]);
        if (kind == IX_GATHER || rank > 2) {
            emit_missing(m, e->loc,
                         kind == IX_GATHER ? "a gather" : "a tile of more than two axes");
            return false;
        }
        at = add(m, at, times(m, start, steps[i]));
        if (kind == IX_ELEMENT && rank > 0) {
            out->inside = emit_op2(m, THREAD_AND, DT_BOOL, out->inside, within(m, start, extent));
        } else if (kind != IX_ELEMENT) {
            bool is_row = rank == 2 && seen == 0;
            *(is_row ? &out->row : &out->column) = start;
            *(is_row ? &out->rows : &out->columns) = extent;
            *(is_row ? &out->row_step : &out->column_step) = steps[i];
            seen++;
        }
    }
    out->base = (struct scalar){emit_base(m, s), DT_U64};
    out->base = emit_op2(m, THREAD_ADD, DT_U64, out->base, emit_as(m, at, DT_U64));
    return true;
}

/* An element's address, and whether it is inside. */
struct element {
    struct scalar address, inside;
};

static struct element element_at(struct emit *m, const struct view_part *p, enum tile_form form,
                                 struct scalar row, struct scalar column)
{
    struct element e = {p->base, p->inside};
    if (form != TILE_COLUMNS) {
        row = emit_as(m, row, DT_I64);
        e.address = emit_op2(m, THREAD_ADD, DT_U64, e.address,
                             emit_as(m, times(m, row, p->row_step), DT_U64));
        e.inside =
            emit_op2(m, THREAD_AND, DT_BOOL, e.inside, within(m, add(m, p->row, row), p->rows));
    }
    if (form != TILE_ROWS) {
        column = emit_as(m, column, DT_I64);
        e.address = emit_op2(m, THREAD_ADD, DT_U64, e.address,
                             emit_as(m, times(m, column, p->column_step), DT_U64));
        e.inside = emit_op2(m, THREAD_AND, DT_BOOL, e.inside,
                            within(m, add(m, p->column, column), p->columns));
    }
    return e;
}

/* Row and column of element i of a part, within the tile. */
static void place_of(struct emit *m, const struct tile *t, int part, int i, struct scalar *row,
                     struct scalar *column)
{
    *row = *column = emit_constant(DT_U32, 0);
    if (t->form == TILE_ROWS)
        *row = emit_op2(m, THREAD_ADD, DT_U32, emit_row(m, part / 2, t->blocks),
                        emit_constant(DT_U32, part % 2 * 8));
    if (t->form == TILE_WHOLE)
        *row = emit_op2(m, THREAD_ADD, DT_U32, emit_row(m, part, t->blocks),
                        emit_constant(DT_U32, i / 2 % 2 * 8));
    if (t->form == TILE_WHOLE)
        *column = emit_op2(m, THREAD_ADD, DT_U32, emit_column(m),
                           emit_constant(DT_U32, i / 4 * 8 + i % 2));
    if (t->form == TILE_COLUMNS)
        *column = emit_op2(m, THREAD_ADD, DT_U32, emit_column(m),
                           emit_constant(DT_U32, i / 2 * 8 + i % 2));
}

/* Loads one element; `otherwise` outside. An element that is not there is not read: the address is then that of the
 * view's first element. */
static struct thread_operand load(struct emit *m, const struct expr *e, struct element at,
                                  struct scalar otherwise)
{
    enum dtype t = e->type.dtype;
    if (at.inside.o.kind != THREAD_VALUE && at.inside.o.integer == 0)
        return otherwise.o;
    struct thread_operand address = at.address.o;
    if (at.inside.o.kind == THREAD_VALUE)
        address = thread_use(THREAD_ADD_OP(&m->b, THREAD_SELECT, DT_U64, DT_NONE, at.inside.o,
                                           address, emit_base(m, e->sym)));
    struct thread_operand from[] = {address, thread_integer(0), thread_integer(0)};
    struct thread_operand v =
        thread_use(thread_add_counted(&m->b, THREAD_LOAD, t, DT_NONE, 1, from, 3));
    if (at.inside.o.kind == THREAD_VALUE)
        v = thread_use(
            THREAD_ADD_OP(&m->b, THREAD_SELECT, t, DT_NONE, at.inside.o, v, otherwise.o));
    return v;
}

static int parts_of_tile(const struct tile *t, int *elements)
{
    *elements = t->form == TILE_WHOLE     ? t->columns / 2
                : t->form == TILE_COLUMNS ? t->columns / 4
                                          : 1;
    return t->form == TILE_WHOLE ? t->blocks : t->form == TILE_ROWS ? 2 * t->blocks : 1;
}

static enum tile_form form_of(const struct type *t)
{
    int64_t columns = t->extent[t->rank - 1], rows = t->rank > 1 ? t->extent[t->rank - 2] : 1;
    return rows > 1 && columns > 1 ? TILE_WHOLE : rows > 1 ? TILE_ROWS : TILE_COLUMNS;
}

struct tile emit_view_load(struct emit *m, const struct expr *e)
{
    struct view_part p;
    struct tile t = {.form = form_of(&e->type), .dtype = e->type.dtype};
    t.blocks = emit_blocks(m, &e->type, e->loc);
    t.columns = (int)e->type.extent[e->type.rank - 1];
    if (!t.blocks || !find_part(m, e, &p))
        return t;
    struct scalar otherwise = e->otherwise ? emit_as(m, emit_scalar(m, e->otherwise), t.dtype)
                                           : emit_constant(t.dtype, 0);
    emit_note_global(m, e, &t, false);
    int elements, parts = parts_of_tile(&t, &elements);
    struct thread_operand *loaded = arena_array(m->arena, struct thread_operand, elements);
    for (int i = 0; i < parts; i++) {
        for (int j = 0; j < elements; j++) {
            struct scalar row, column;
            place_of(m, &t, i, j, &row, &column);
            loaded[j] = load(m, e, element_at(m, &p, t.form, row, column), otherwise);
        }
        t.part[i] = emit_join(m, t.dtype, loaded, elements);
    }
    return t;
}

/* Emits the store of one value where the element is inside. */
static void store(struct emit *m, enum dtype t, struct element at, struct thread_operand v)
{
    struct thread_region *outer = m->b.region;
    if (at.inside.o.kind != THREAD_VALUE && at.inside.o.integer == 0)
        return;
    if (at.inside.o.kind == THREAD_VALUE) {
        struct thread_operation *o = thread_add_control(&m->b, THREAD_IF);
        vec_push(m->arena, &o->operands, at.inside.o);
        m->b.region = arena_new(m->arena, struct thread_region);
        vec_push(m->arena, &o->regions, m->b.region);
    }
    THREAD_ADD_OP(&m->b, THREAD_STORE, t, DT_NONE, at.address.o, thread_integer(0),
                  thread_integer(0), v);
    m->b.region = outer;
}

/* Emits a predicate that is true for one of the threads that hold the same elements: that one stores them. */
static struct scalar holds_first(struct emit *m, enum tile_form form)
{
    struct scalar quad = emit_op2(m, THREAD_AND, DT_U32, m->place.lane, emit_constant(DT_U32, 3));
    if (form == TILE_ROWS)
        return emit_op2(m, THREAD_EQ, DT_U32, quad, emit_constant(DT_U32, 0));
    if (form == TILE_WHOLE)
        return emit_constant(DT_BOOL, 1);
    struct scalar first = emit_op2(m, THREAD_EQ, DT_U32, m->place.warp, emit_constant(DT_U32, 0));
    return emit_op2(m, THREAD_AND, DT_BOOL, first,
                    emit_op2(m, THREAD_LT, DT_U32, m->place.lane, emit_constant(DT_U32, 4)));
}

void emit_view_store(struct emit *m, const struct expr *target, const struct tile *value)
{
    struct view_part p;
    struct tile t = {.form = form_of(&target->type), .dtype = target->type.dtype};
    t.blocks = emit_blocks(m, &target->type, target->loc);
    t.columns = (int)target->type.extent[target->type.rank - 1];
    if (!t.blocks || !find_part(m, target, &p))
        return;
    if (value->form != t.form && value->form != TILE_UNIFORM) {
        emit_missing(m, target->loc, "a store of equal rows or columns to a view");
        return;
    }
    p.inside = emit_op2(m, THREAD_AND, DT_BOOL, p.inside, holds_first(m, t.form));
    emit_note_global(m, target, &t, true);
    int elements, parts = parts_of_tile(&t, &elements);
    for (int i = 0; i < parts; i++)
        for (int j = 0; j < elements; j++) {
            struct scalar row, column;
            struct thread_operand v = value->part[value->form == TILE_UNIFORM ? 0 : i];
            if (v.kind == THREAD_VALUE && v.value->type.count > 1)
                v = thread_use(THREAD_ADD_OP(&m->b, THREAD_PART, t.dtype, DT_NONE, v,
                                             thread_integer(j), thread_integer(1),
                                             thread_integer(1)));
            place_of(m, &t, i, j, &row, &column);
            store(m, t.dtype, element_at(m, &p, t.form, row, column), v);
        }
}

/* --- elements --- */

struct scalar emit_view_element(struct emit *m, const struct expr *e)
{
    struct view_part p;
    if (!find_part(m, e, &p))
        return emit_constant(e->type.dtype, 0);
    struct element at = {p.base, emit_constant(DT_BOOL, 1)};
    return (struct scalar){load(m, e, at, emit_constant(e->type.dtype, 0)), e->type.dtype};
}

/* Once for the role: by its one thread. */
void emit_view_store_element(struct emit *m, const struct expr *target, struct scalar value)
{
    struct view_part p;
    if (!find_part(m, target, &p))
        return;
    struct element at = {p.base, emit_constant(DT_BOOL, 1)};
    if (!m->place.one_thread)
        at.inside = (struct scalar){thread_use(m->place.elected), DT_BOOL};
    store(m, target->type.dtype, at, value.o);
}
