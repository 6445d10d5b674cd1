/* The layouts of a role's register tiles: those of the sums of warpgroup products, whatever a tile is used for. So only operations
 * that move elements exchange them between threads. */
#include "plan/plan_layouts_own.h"

enum { WARP_ROWS = 16, WARPGROUP = 4, EACH_COLUMNS = 8 };

void plan_make_role(struct layouts *l)
{
    l->of_role = true;
    l->plan = arena_new(l->arena, struct plan);
    l->plan->settled = true;
}

static int64_t extent_of(const struct type *t, int from_last)
{
    return t->rank > from_last ? t->extent[t->rank - 1 - from_last] : 1;
}

static bool is_matrix(const struct type *t)
{
    bool matrix = true;
    for (int i = 0; i < t->rank - 2; i++)
        matrix &= t->extent[i] == 1;
    return matrix;
}

/* Adds the columns: two neighbours of each eight, in a lane of four. */
static void add_columns(struct layout *l, enum layout_axis along, int32_t columns, bool rows)
{
    if (columns > 1) {
        layout_add_digit(l, AXIS_REG, 2, along, 1);
        layout_add_digit(l, AXIS_LANE, 4, along, 2);
    } else {
        layout_add_free(l, AXIS_LANE, 4);
    }
    if (rows)
        layout_add_digit(l, AXIS_REG, 2, along - 1, EACH_COLUMNS);
    if (columns > 1)
        layout_add_digit(l, AXIS_REG, divide_up(columns, EACH_COLUMNS), along, EACH_COLUMNS);
}

/* Adds the rows: a row of each lane of four and the row 8 further, then the warps of a group, then the blocks of the group's rows,
 * and the groups of the role. */
static void add_rows(struct layout *l, enum layout_axis down, int32_t rows, int warps)
{
    const int each = warps % WARPGROUP == 0 ? WARPGROUP : warps, groups = warps / each;
    const int blocks = divide_up(rows, WARP_ROWS * warps);
    layout_add_digit(l, AXIS_REG, blocks, down, each * WARP_ROWS);
    layout_add_digit(l, AXIS_LANE, 8, down, 1);
    layout_add_digit(l, AXIS_WARP, each, down, WARP_ROWS);
    layout_add_digit(l, AXIS_WARP, groups, down, blocks * each * WARP_ROWS);
}

bool plan_role_layout(const struct layouts *l, const struct type *t, struct layout *out)
{
    const int32_t columns = (int32_t)extent_of(t, 0), rows = (int32_t)extent_of(t, 1);
    if (!is_matrix(t))
        return false;
    layout_init(out);
    for (int i = 0; i < t->rank; i++)
        layout_add_out(out, AXIS_DIM(i), (int32_t)t->extent[i]);
    add_columns(out, AXIS_DIM(t->rank - 1), columns, rows > 1);
    if (rows > 1) {
        add_rows(out, AXIS_DIM(t->rank - 2), rows, l->warps);
    } else {
        layout_add_free(out, AXIS_LANE, 8);
        layout_add_free(out, AXIS_WARP, l->warps);
    }
    layout_normalise(out);
    return true;
}
