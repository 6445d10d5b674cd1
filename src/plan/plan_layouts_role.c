/* The layouts of a role's tiles, which follow from their types. Register tiles have the layouts of the sums of warpgroup products,
 * so only operations that move elements exchange them between threads. Shared tiles lie as tensor copies and products need them. */
#include "plan/plan_layouts_own.h"

enum { WARP_ROWS = 16, WARPGROUP = 4, EACH_COLUMNS = 8, MOST_BLOCKS = 8, MOST_COLUMNS = 256 };

/* --- register tiles --- */

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

int plan_role_blocks(const struct layouts *l, const struct type *t)
{
    return divide_up((int32_t)extent_of(t, 1), WARP_ROWS * l->warps);
}

int32_t plan_role_group(const struct type *t)
{
    const int32_t columns = (int32_t)extent_of(t, 0);
    if (columns == 1 || !is_matrix(t))
        return 1;
    return divide_up(columns, EACH_COLUMNS) * (extent_of(t, 1) > 1 ? 4 : 2);
}

bool plan_role_holds(struct layouts *l, const struct type *t, struct loc loc)
{
    const bool matrix = is_matrix(t);
    if (matrix && extent_of(t, 0) <= MOST_COLUMNS && plan_role_blocks(l, t) <= MOST_BLOCKS)
        return true;
    plan_error(l, loc, "a tile of %s is more than the %d warps here hold", type_text(l->arena, t),
               l->warps);
    diag_note(l->diag, loc,
              matrix ? "they hold at most %lld rows and %d columns: take parts of it"
                     : "they hold at most %lld rows and %d columns, on two axes: take parts of it",
              (long long)WARP_ROWS * l->warps * MOST_BLOCKS, MOST_COLUMNS);
    return false;
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

/* --- shared tiles --- */

bool plan_is_swizzled(const struct sym *s)
{
    const struct type *t = &s->type;
    const int64_t size = (int64_t)dtype_size(t->dtype);
    if (t->rank < 2 || t->extent[t->rank - 1] * size % PLAN_PANEL != 0)
        return false;
    int64_t rows = t->extent[t->rank - 2];
    return rows % PLAN_SWIZZLED_ROWS == 0 || type_elements(t) * size == rows * PLAN_PANEL;
}

static struct planned_shared *plan_box(struct layouts *l, const struct sym *s)
{
    struct planned_shared *t = arena_new(l->arena, struct planned_shared);
    const bool panels = plan_is_swizzled(s);
    int32_t extents[MAX_RANK];
    for (int i = 0; i < s->type.rank; i++)
        extents[i] = (int32_t)s->type.extent[i];
    t->sym = s;
    t->form = panels ? SHARED_PANELS_SWIZZLED : SHARED_PLAIN;
    if (!layout_tensor_box(extents, s->type.rank, 8 * (int)dtype_size(s->type.dtype),
                           panels ? PLAN_PANEL : 0, &t->layout))
        layout_rows(extents, s->type.rank, 0, &t->layout);
    t->kept = plan_keep(l, &t->layout);
    return t;
}

void plan_make_role(struct layouts *l, const struct layouts *block)
{
    l->of_role = true;
    l->plan = arena_new(l->arena, struct plan);
    l->plan->settled = true;
    if (block) {
        l->plan->tiles.data = block->plan->tiles.data;
        l->plan->tiles.count = block->plan->tiles.count;
        l->plan->shared_of = block->plan->shared_of;
        return;
    }
    for (const struct sym *s = l->kernel->symbols; s; s = s->next) {
        if (s->storage != ST_SHARED)
            continue;
        struct planned_shared *t = plan_box(l, s);
        vec_push(l->arena, &l->plan->tiles, t);
        pointer_map_put(l->arena, &l->plan->shared_of, s, t);
    }
}
