/* The layouts of a product by multiply-adds of single elements.
 *
 * The data that a thread loads for one step of k serves vector_m * vector_n products of a block:
 * larger blocks read less shared memory. Lanes in a row of threads read the same elements of A,
 * lanes in a column the same of B, so one word serves all of them. The elements of a vector are
 * neighbours in m (or n), so one access of 16 bytes loads it if m (or n) is contiguous. */
#include "base/arithmetic.h"
#include "layout/layout_named.h"

/* One axis of the tile. */
struct side {
    int32_t vector, lanes, warps, reps;
    enum layout_axis axis;
};

static struct side side_of(int32_t extent, int vector, int lanes, int warps, enum layout_axis axis)
{
    int32_t atom = vector * lanes * warps;
    return (struct side){vector, lanes, warps, divide_up(extent, atom), axis};
}

/* Steps along an axis: vector, lanes, repetitions, warps; each is above the one before. */
static int32_t lane_step(const struct side *s)
{
    return s->vector;
}
static int32_t rep_step(const struct side *s)
{
    return s->vector * s->lanes;
}
static int32_t warp_step(const struct side *s)
{
    return s->vector * s->lanes * s->reps;
}

/* Adds every `every`-th of the side's lanes, `count` of them. s NULL: lanes that do not belong
 * to the operand. */
static void add_lanes(struct layout *l, const struct side *s, int32_t count, int32_t every)
{
    if (s)
        layout_add_digit(l, AXIS_LANE, count, s->axis, every * lane_step(s));
    else
        layout_add_free(l, AXIS_LANE, count);
}

/* Adds the lanes: the lowest bit of the lane's number goes along n, the next along m, then the
 * rest. Accesses of 16 bytes take half the wavefronts if lane i always has the same address as i
 * ^ 1 or i ^ 2. */
static void add_threads(struct layout *l, const struct side *m, const struct side *n,
                        const struct fma_tiling *t)
{
    int32_t low_n = t->lanes_n > 1 && t->lanes_m > 1 ? 2 : t->lanes_n;
    int32_t low_m = t->lanes_n > 1 && t->lanes_m > 1 ? 2 : t->lanes_m;
    add_lanes(l, n, low_n, 1);
    add_lanes(l, m, low_m, 1);
    add_lanes(l, n, t->lanes_n / low_n, low_n);
    add_lanes(l, m, t->lanes_m / low_m, low_m);
    if (n)
        layout_add_digit(l, AXIS_WARP, n->warps, n->axis, warp_step(n));
    else
        layout_add_free(l, AXIS_WARP, t->warps_n);
    if (m)
        layout_add_digit(l, AXIS_WARP, m->warps, m->axis, warp_step(m));
    else
        layout_add_free(l, AXIS_WARP, t->warps_m);
}

static void add_registers(struct layout *l, const struct side *s, bool vectors)
{
    if (vectors)
        layout_add_digit(l, AXIS_REG, s->vector, s->axis, 1);
    else
        layout_add_digit(l, AXIS_REG, s->reps, s->axis, rep_step(s));
}

bool layout_fma_tile(const struct fma_tiling *t, enum matrix_operand operand,
                     const int32_t extents[2], struct layout *out)
{
    bool is_a = operand == MATRIX_A, is_b = operand == MATRIX_B;
    if (t->lanes_m * t->lanes_n != LAYOUT_LANES || t->vector_m < 1 || t->vector_n < 1)
        return false;
    struct side m = side_of(extents[0], t->vector_m, t->lanes_m, t->warps_m, AXIS_D0);
    struct side n = side_of(extents[1], t->vector_n, t->lanes_n, t->warps_n, AXIS_D1);
    layout_init(out);
    layout_add_out(out, AXIS_D0, extents[0]);
    layout_add_out(out, AXIS_D1, extents[1]);
    if (!is_a)
        add_registers(out, &n, true);
    if (!is_b)
        add_registers(out, &m, true);
    if (!is_a)
        add_registers(out, &n, false);
    if (!is_b)
        add_registers(out, &m, false);
    if (is_a)
        layout_add_digit(out, AXIS_REG, extents[1], AXIS_D1, 1);
    if (is_b)
        layout_add_digit(out, AXIS_REG, extents[0], AXIS_D0, 1);
    add_threads(out, is_b ? NULL : &m, is_a ? NULL : &n, t);
    layout_normalise(out);
    return true;
}
