/* Register tiles: the elements that each thread has. Each warp has 16 rows. Four warps are a group, as wgmma needs them; a role
 * whose warps are not a multiple of four is one group. Each group has some blocks of the tile's rows, one after the other. Rows
 * and columns are rounded up: elements beyond the tile's extents have any value, and are neither loaded nor stored. */
#include "emit/emit_own.h"

enum { WARP_ROWS = 16, EACH_COLUMNS = 8, COLUMNS_OF_LANE = 4 };

static int64_t extent_of(const struct type *t, int from_last)
{
    return t->rank > from_last ? t->extent[t->rank - 1 - from_last] : 1;
}

enum tile_form emit_form(const struct type *t)
{
    int64_t columns = extent_of(t, 0), rows = extent_of(t, 1);
    return rows > 1 && columns > 1 ? TILE_WHOLE
           : rows > 1              ? TILE_ROWS
           : columns > 1           ? TILE_COLUMNS
                                   : TILE_UNIFORM;
}

int emit_columns(const struct type *t)
{
    int64_t columns = extent_of(t, 0);
    return columns > 1 ? (int)((columns + EACH_COLUMNS - 1) / EACH_COLUMNS * EACH_COLUMNS) : 1;
}

int emit_group_warps(const struct emit *m)
{
    return m->place.warps % EMIT_WARPGROUP == 0 ? EMIT_WARPGROUP : m->place.warps;
}

static int block_rows(const struct emit *m)
{
    return WARP_ROWS * emit_group_warps(m);
}

int emit_blocks(struct emit *m, const struct type *t, struct loc loc)
{
    enum tile_form form = emit_form(t);
    int64_t rows = extent_of(t, 1), all = (int64_t)WARP_ROWS * m->place.warps;
    int blocks = form == TILE_WHOLE || form == TILE_ROWS ? (int)((rows + all - 1) / all) : 1;
    bool matrix = true;
    for (int i = 0; i < t->rank - 2; i++)
        matrix &= t->extent[i] == 1;
    if (matrix && extent_of(t, 0) <= EMIT_MOST_COLUMNS && blocks <= EMIT_MOST_BLOCKS)
        return blocks;
    emit_error(m, loc, "a tile of %s is more than the %d warps here hold", type_text(m->arena, t),
               m->place.warps);
    diag_note(m->diag, loc,
              matrix ? "they hold at most %lld rows and %d columns: take parts of it"
                     : "they hold at most %lld rows and %d columns, on two axes: take parts of it",
              (long long)all * EMIT_MOST_BLOCKS, EMIT_MOST_COLUMNS);
    return 0;
}

bool emit_is_whole(struct emit *m, const struct type *t, int blocks)
{
    enum tile_form form = emit_form(t);
    bool of_rows = form == TILE_WHOLE || form == TILE_ROWS;
    return extent_of(t, 0) == emit_columns(t) &&
           (!of_rows || extent_of(t, 1) == (int64_t)blocks * WARP_ROWS * m->place.warps);
}

int emit_parts(enum tile_form form, int blocks, int columns, int *elements)
{
    *elements = form == TILE_WHOLE     ? columns / 2
                : form == TILE_COLUMNS ? columns / COLUMNS_OF_LANE
                                       : 1;
    return form == TILE_WHOLE ? blocks : form == TILE_ROWS ? 2 * blocks : 1;
}

struct scalar emit_row(struct emit *m, int block, int blocks)
{
    int rows = block_rows(m);
    struct scalar row = emit_by(m, THREAD_MUL, m->place.group, (int64_t)blocks * rows);
    struct scalar warp = m->place.warp;
    if (emit_group_warps(m) == EMIT_WARPGROUP)
        warp = emit_by(m, THREAD_AND, warp, EMIT_WARPGROUP - 1);
    struct scalar in_warp = emit_by(m, THREAD_SHR, m->place.lane, 2);
    row = emit_op2(m, THREAD_ADD, DT_U32, row, emit_by(m, THREAD_MUL, warp, WARP_ROWS));
    row = emit_op2(m, THREAD_ADD, DT_U32, row, in_warp);
    return emit_by(m, THREAD_ADD, row, (int64_t)block * rows);
}

struct scalar emit_column(struct emit *m)
{
    struct scalar pair = emit_by(m, THREAD_AND, m->place.lane, 3);
    return emit_by(m, THREAD_MUL, pair, 2);
}

struct held emit_held(struct emit *m, const struct tile *t, const struct type *type, int part,
                      int i)
{
    struct held h = {emit_constant(DT_U32, 0), emit_constant(DT_U32, 0), emit_constant(DT_BOOL, 1)};
    if (t->form == TILE_ROWS)
        h.row = emit_by(m, THREAD_ADD, emit_row(m, part / 2, t->blocks), part % 2 * 8);
    if (t->form == TILE_WHOLE)
        h.row = emit_by(m, THREAD_ADD, emit_row(m, part, t->blocks), i / 2 % 2 * 8);
    if (t->form == TILE_WHOLE)
        h.column = emit_by(m, THREAD_ADD, emit_column(m), i / 4 * 8 + i % 2);
    if (t->form == TILE_COLUMNS)
        h.column = emit_by(m, THREAD_ADD, emit_column(m), i / 2 * 8 + i % 2);
    if (emit_is_whole(m, type, t->blocks))
        return h;
    struct scalar rows = emit_constant(DT_U32, extent_of(type, 1));
    struct scalar columns = emit_constant(DT_U32, extent_of(type, 0));
    if (t->form == TILE_ROWS || t->form == TILE_WHOLE)
        h.real = emit_op2(m, THREAD_LT, DT_U32, h.row, rows);
    bool columns_end = t->form == TILE_WHOLE     ? i / 4 * 8 + EACH_COLUMNS > extent_of(type, 0)
                       : t->form == TILE_COLUMNS ? i / 2 * 8 + EACH_COLUMNS > extent_of(type, 0)
                                                 : false;
    if (columns_end)
        emit_and(m, &h.real, emit_op2(m, THREAD_LT, DT_U32, h.column, columns));
    return h;
}

struct scalar emit_holds_first(struct emit *m, enum tile_form form)
{
    struct scalar quad = emit_by(m, THREAD_AND, m->place.lane, 3);
    if (form == TILE_ROWS)
        return emit_by(m, THREAD_EQ, quad, 0);
    if (form == TILE_WHOLE)
        return emit_constant(DT_BOOL, 1);
    struct scalar first = emit_by(m, THREAD_EQ, m->place.warp, 0);
    int64_t lanes = form == TILE_COLUMNS ? COLUMNS_OF_LANE : 1;
    return emit_op2(m, THREAD_AND, DT_BOOL, first, emit_by(m, THREAD_LT, m->place.lane, lanes));
}

struct thread_operand emit_element(struct emit *m, const struct tile *t, int part, int i)
{
    struct thread_operand v = t->part[t->form == TILE_UNIFORM ? 0 : part];
    if (v.kind != THREAD_VALUE || v.value->type.count == 1)
        return v;
    return emit_part(m, t->dtype, v, i, 1, 1);
}

/* --- shared tiles --- */

/* Returns whether the tile is swizzled. The copy engine exchanges pieces by their addresses, so each panel must begin at a
 * multiple of 1024 bytes. */
bool emit_is_swizzled(const struct sym *s)
{
    const struct type *t = &s->type;
    const int64_t size = (int64_t)dtype_size(t->dtype);
    if (t->rank < 2 || t->extent[t->rank - 1] * size % EMIT_PANEL != 0)
        return false;
    int64_t rows = t->extent[t->rank - 2];
    return rows % EMIT_SWIZZLED_ROWS == 0 || type_elements(t) * size == rows * EMIT_PANEL;
}

/* --- register tiles in other forms --- */

struct tile emit_uniform(struct scalar v)
{
    struct tile t = {.form = TILE_UNIFORM, .dtype = v.dtype, .blocks = 1};
    t.part[0] = v.o;
    return t;
}

struct tile emit_tile_like(const struct type *t, int blocks)
{
    return (struct tile){
        .form = emit_form(t), .dtype = t->dtype, .blocks = blocks, .columns = emit_columns(t)};
}

int emit_tile_slots(struct emit *m, const struct type *t, struct loc loc, struct thread_type *types)
{
    int elements, blocks = emit_blocks(m, t, loc);
    int parts = emit_parts(emit_form(t), blocks, emit_columns(t), &elements);
    for (int i = 0; i < parts; i++)
        types[i] = (struct thread_type){.dtype = t->dtype, .count = (uint16_t)elements};
    return blocks ? parts : 0;
}

/* Returns strand i of a block of a tile that is used as a tile of `columns` columns. */
struct thread_operand emit_strand(struct emit *m, const struct tile *t, int block, int i,
                                  int columns)
{
    int count = columns / 8;
    switch (t->form) {
    case TILE_UNIFORM: return t->part[0];
    case TILE_ROWS: return t->part[2 * block + i / 2];
    case TILE_COLUMNS: return emit_part(m, t->dtype, t->part[0], i % 2, count, 2);
    default: return emit_part(m, t->dtype, t->part[block], i, count, EMIT_STRANDS);
    }
}

struct thread_operand emit_weave(struct emit *m, enum dtype t, const struct thread_operand *strands,
                                 int columns)
{
    struct thread_operand all[EMIT_STRANDS];
    for (int i = 0; i < EMIT_STRANDS; i++) {
        bool whole = strands[i].kind == THREAD_VALUE && strands[i].value->type.count == columns / 8;
        all[i] = whole ? strands[i] : emit_splat(m, t, strands[i], columns / 8);
    }
    return thread_use(thread_add_counted(&m->b, THREAD_WEAVE, t, DT_NONE, 0, all, EMIT_STRANDS));
}

struct tile emit_tile_cast(struct emit *m, struct tile t, enum dtype to)
{
    if (t.dtype == to)
        return t;
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    for (int i = 0; i < parts; i++)
        t.part[i] = emit_as(m, (struct scalar){t.part[i], t.dtype}, to).o;
    t.dtype = to;
    return t;
}

struct tile emit_spread(struct emit *m, const struct tile *from, const struct type *t,
                        struct loc loc)
{
    struct tile to = emit_tile_like(t, emit_blocks(m, t, loc));
    int elements, parts = emit_parts(to.form, to.blocks, to.columns, &elements);
    to.dtype = from->dtype;
    if (from->form == to.form)
        return *from;
    if (from->form == TILE_UNIFORM) {
        struct thread_operand all = emit_splat(m, from->dtype, from->part[0], elements);
        for (int i = 0; i < parts; i++)
            to.part[i] = all;
        return to;
    }
    struct tile wide = dtype_is_half(from->dtype) ? emit_tile_cast(m, *from, DT_F32) : *from;
    for (int b = 0; b < to.blocks; b++) {
        struct thread_operand strands[EMIT_STRANDS];
        for (int i = 0; i < EMIT_STRANDS; i++)
            strands[i] = emit_strand(m, &wide, b, i, to.columns);
        to.part[b] = emit_weave(m, wide.dtype, strands, to.columns);
    }
    to.dtype = wide.dtype;
    return emit_tile_cast(m, to, from->dtype);
}
