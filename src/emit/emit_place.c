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
