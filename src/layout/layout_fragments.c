/* Fragments of matrix instructions as layouts.
 *
 * PTX ISA, "Matrix Fragments for mma.…" (9.7.14.5 in PTX 9): with groupID = lane >> 2 and
 * threadID_in_group = lane % 4, one rule gives every shape. The elements of a factor that share
 * a 32-bit register (one, for 32 and 64 bits) are neighbours along k; the four lanes of a group
 * continue along k; the eight groups run along m (A) or n (B). Registers follow: for A the other
 * eight rows, if m is 16, then the rest of k. A lane of the sum has two neighbours along n,
 * whatever its type; the group runs along n, the groups along m, and then come the other eight
 * rows. The tests check this against the formulae of each section. */
#include "base/arithmetic.h"
#include "layout/layout_named.h"

static const struct mma_shape shapes[] = {
    {16, 8, 8, 16}, {16, 8, 16, 16},                                   /* f16, bf16 */
    {16, 8, 4, 32}, {16, 8, 8, 32},                                    /* tf32 */
    {8, 8, 4, 64},  {16, 8, 4, 64},  {16, 8, 8, 64},  {16, 8, 16, 64}, /* f64 */
    {8, 8, 16, 8},  {16, 8, 16, 8},  {16, 8, 32, 8},                   /* s8 u8 e4m3 e5m2 */
    {8, 8, 32, 4},  {16, 8, 32, 4},  {16, 8, 64, 4},                   /* s4 u4 e2m1 */
    {8, 8, 128, 1}, {16, 8, 128, 1}, {16, 8, 256, 1},                  /* b1 */
};

static bool shape_exists(struct mma_shape shape)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].m == shape.m && shapes[i].n == shape.n && shapes[i].k == shape.k &&
            shapes[i].bits == shape.bits)
            return true;
    return false;
}

/* Returns the elements of a factor that share a register. */
static int packed(int bits)
{
    return bits < 32 ? 32 / bits : 1;
}

static void fragment_a(int m, int k, int bits, struct layout *out)
{
    int e = packed(bits);
    layout_add_out(out, AXIS_D0, m);
    layout_add_out(out, AXIS_D1, k);
    layout_add_digit(out, AXIS_REG, e, AXIS_D1, 1);
    layout_add_digit(out, AXIS_REG, m / 8, AXIS_D0, 8);
    layout_add_digit(out, AXIS_REG, k / (4 * e), AXIS_D1, 4 * e);
    layout_add_digit(out, AXIS_LANE, 4, AXIS_D1, e);
    layout_add_digit(out, AXIS_LANE, 8, AXIS_D0, 1);
}

static void fragment_b(int k, int bits, struct layout *out)
{
    int e = packed(bits);
    layout_add_out(out, AXIS_D0, k);
    layout_add_out(out, AXIS_D1, 8);
    layout_add_digit(out, AXIS_REG, e, AXIS_D0, 1);
    layout_add_digit(out, AXIS_REG, k / (4 * e), AXIS_D0, 4 * e);
    layout_add_digit(out, AXIS_LANE, 4, AXIS_D0, e);
    layout_add_digit(out, AXIS_LANE, 8, AXIS_D1, 1);
}

static void fragment_c(int m, int n, struct layout *out)
{
    layout_add_out(out, AXIS_D0, m);
    layout_add_out(out, AXIS_D1, n);
    layout_add_digit(out, AXIS_REG, 2, AXIS_D1, 1);
    layout_add_digit(out, AXIS_REG, m / 8, AXIS_D0, 8);
    layout_add_digit(out, AXIS_REG, n / 8, AXIS_D1, 8);
    layout_add_digit(out, AXIS_LANE, 4, AXIS_D1, 2);
    layout_add_digit(out, AXIS_LANE, 8, AXIS_D0, 1);
}

bool layout_mma(struct mma_shape shape, enum matrix_operand operand, struct layout *out)
{
    if (!shape_exists(shape))
        return false;
    layout_init(out);
    switch (operand) {
    case MATRIX_A: fragment_a(shape.m, shape.k, shape.bits, out); break;
    case MATRIX_B: fragment_b(shape.k, shape.bits, out); break;
    case MATRIX_C: fragment_c(shape.m, shape.n, out); break;
    }
    layout_normalise(out);
    return true;
}

/* The division of one axis of a tile: instructions of `atom`, repeated in `reps` registers and
 * over `warps` warps. */
struct division {
    int32_t atom, reps, warps;
    int32_t rep_step, warp_step; /* in atoms */
};

static struct division divide(int32_t extent, int32_t atom, int32_t warps, bool scattered)
{
    int32_t atoms = divide_up(extent, atom), reps = divide_up(atoms, warps);
    struct division d = {atom, reps, warps, 1, reps};
    if (scattered) {
        d.rep_step = warps;
        d.warp_step = 1;
    }
    return d;
}

/* Adds the warps of an axis; this operand has the axis, or lacks it (then their extent is free). */
static void add_warps(struct layout *out, const struct division *d, int axis, int warps)
{
    if (axis < 0)
        layout_add_free(out, AXIS_WARP, warps);
    else
        layout_add_digit(out, AXIS_WARP, warps, AXIS_DIM(axis), d[axis].warp_step);
}

bool layout_mma_tile(const struct mma_tiling *t, enum matrix_operand operand,
                     const int32_t extents[2], struct layout *result)
{
    struct layout fragment, grid;
    int m_axis = operand == MATRIX_B ? -1 : 0, n_axis = operand == MATRIX_A ? -1 : 1;
    if (!layout_mma(t->shape, operand, &fragment))
        return false;
    struct division d[2];
    for (int i = 0; i < 2; i++) {
        int warps = i == m_axis ? t->warps_m : i == n_axis ? t->warps_n : 1;
        d[i] = divide(extents[i], fragment.outs[i].extent, warps, t->scattered);
    }
    layout_init(&grid);
    for (int i = 0; i < 2; i++)
        layout_add_out(&grid, AXIS_DIM(i), d[i].reps * d[i].warps);
    layout_add_digit(&grid, AXIS_REG, d[1].reps, AXIS_D1, d[1].rep_step);
    layout_add_digit(&grid, AXIS_REG, d[0].reps, AXIS_D0, d[0].rep_step);
    add_warps(&grid, d, n_axis, t->warps_n);
    add_warps(&grid, d, m_axis, t->warps_m);
    layout_normalise(&grid);
    if (!layout_product(&fragment, &grid, result))
        return false;
    result->outs[0].extent = extents[0];
    result->outs[1].extent = extents[1];
    return true;
}

/* PTX ISA, ldmatrix: lane 4r + c holds elements 2c and 2c + 1 of row r of each matrix. */
bool layout_ldmatrix(int count, bool trans, struct layout *out)
{
    enum layout_axis row = trans ? AXIS_D1 : AXIS_D0, column = trans ? AXIS_D0 : AXIS_D1;
    if (count != 1 && count != 2 && count != 4)
        return false;
    layout_init(out);
    layout_add_out(out, AXIS_D0, 8 * count);
    layout_add_out(out, AXIS_D1, 8);
    layout_add_digit(out, AXIS_REG, 2, column, 1);
    layout_add_digit(out, AXIS_REG, count, AXIS_D0, 8);
    layout_add_digit(out, AXIS_LANE, 4, column, 2);
    layout_add_digit(out, AXIS_LANE, 8, row, 1);
    layout_normalise(out);
    return true;
}

bool layout_ldmatrix_rows(int count, struct layout *out)
{
    if (count != 1 && count != 2 && count != 4)
        return false;
    layout_init(out);
    layout_add_out(out, AXIS_D0, 8 * count);
    layout_add_digit(out, AXIS_LANE, LAYOUT_LANES, AXIS_D0, 1);
    layout_normalise(out);
    return true;
}

/* PTX ISA, "Register Fragments for wgmma.mma_async": each warp of the warpgroup has 16 rows.
 * Within them it is as in mma.m16n8k16, eight columns at a time. */
bool layout_wgmma(int n, struct layout *out)
{
    if (n < 8 || n > 256 || n % 8)
        return false;
    layout_init(out);
    fragment_c(16, n, out);
    out->outs[0].extent = 64;
    layout_add_digit(out, AXIS_WARP, 4, AXIS_D0, 16);
    layout_normalise(out);
    return true;
}

bool layout_wgmma_a(int bits, struct layout *out)
{
    if (bits != 8 && bits != 16 && bits != 32)
        return false;
    layout_init(out);
    fragment_a(16, 256 / bits, bits, out);
    out->outs[0].extent = 64;
    layout_add_digit(out, AXIS_WARP, 4, AXIS_D0, 16);
    layout_normalise(out);
    return true;
}
