/* Factors of bytes that lie in shared memory the wrong way round: a fragment has four neighbours
 * along k in a register, memory has them rows apart.
 *
 * ldmatrix.trans moves pairs of bytes, so a register then has two neighbours along k of two
 * neighbours along n. Two such registers and two byte permutations give the fragments of two
 * instructions, where the one takes the even columns and the other the odd ones. So columns 2j and
 * 2j + 1 of sixteen are column j of two instructions, and the sum is held accordingly: four
 * neighbours a lane. The same along m for the left factor, where even rows are the fragment's upper
 * eight and odd ones the lower. Rows of the matrices may be any, so k stays in order.
 */
#include "plan/plan_layouts_own.h"

/* The digits of an operand, by name. */
struct digits {
    enum layout_axis axis;
    int32_t pair, lanes, more; /* steps along m or n: of the pair, of a lane, of what follows */
};

static struct digits digits_of(const struct dot_plan *p, bool right)
{
    bool paired = right ? p->b_paired : p->a_paired;
    return (struct digits){right ? AXIS_D1 : AXIS_D0, paired ? 1 : 8, paired ? 2 : 1, 16};
}

/* Warps along m and n; those that an operand lacks hold the same. */
static void add_warps(struct layout *out, const struct dot_plan *p, enum matrix_operand operand)
{
    const struct mma_tiling *t = &p->mma;
    if (operand == MATRIX_A)
        layout_add_free(out, AXIS_WARP, t->warps_n);
    else
        layout_add_digit(out, AXIS_WARP, t->warps_n, AXIS_D1, p->n / t->warps_n);
    if (operand == MATRIX_B)
        layout_add_free(out, AXIS_WARP, t->warps_m);
    else
        layout_add_digit(out, AXIS_WARP, t->warps_m, AXIS_D0, p->m / t->warps_m);
}

/* raw: as ldmatrix.trans brings it, where the factor is paired; else as fragments have it. */
static void factor_layout(const struct dot_plan *p, bool right, bool raw, struct layout *out)
{
    struct digits d = digits_of(p, right);
    enum layout_axis k = right ? AXIS_D0 : AXIS_D1;
    int32_t depth = p->mma.shape.k, steps = p->k / depth;
    int32_t reps = right ? p->n / p->mma.warps_n / 16 : p->m / p->mma.warps_m / 16;
    layout_add_out(out, AXIS_D0, right ? p->k : p->m);
    layout_add_out(out, AXIS_D1, right ? p->n : p->k);
    if (raw)
        layout_add_digit(out, AXIS_REG, 2, d.axis, d.pair);
    layout_add_digit(out, AXIS_REG, 4, k, 1);
    if (!raw && !right)
        layout_add_digit(out, AXIS_REG, 2, d.axis, d.pair);
    layout_add_digit(out, AXIS_REG, depth / 16, k, 16);
    if (!raw && right)
        layout_add_digit(out, AXIS_REG, 2, d.axis, d.pair);
    if (right)
        layout_add_digit(out, AXIS_REG, reps, d.axis, d.more);
    layout_add_digit(out, AXIS_REG, steps, k, depth);
    if (!right)
        layout_add_digit(out, AXIS_REG, reps, d.axis, d.more);
    layout_add_digit(out, AXIS_LANE, 4, k, 4);
    layout_add_digit(out, AXIS_LANE, 8, d.axis, d.lanes);
}

static void sum_layout(const struct dot_plan *p, struct layout *out)
{
    struct digits m = digits_of(p, false), n = digits_of(p, true);
    layout_add_out(out, AXIS_D0, p->m);
    layout_add_out(out, AXIS_D1, p->n);
    layout_add_digit(out, AXIS_REG, 2, AXIS_D1, n.lanes);
    layout_add_digit(out, AXIS_REG, 2, AXIS_D0, m.pair);
    layout_add_digit(out, AXIS_REG, 2, AXIS_D1, n.pair);
    layout_add_digit(out, AXIS_REG, p->n / p->mma.warps_n / 16, AXIS_D1, n.more);
    layout_add_digit(out, AXIS_REG, p->m / p->mma.warps_m / 16, AXIS_D0, m.more);
    layout_add_digit(out, AXIS_LANE, 4, AXIS_D1, 2 * n.lanes);
    layout_add_digit(out, AXIS_LANE, 8, AXIS_D0, m.lanes);
}

static const struct layout *keep(struct layouts *l, const struct dot_plan *p,
                                 enum matrix_operand operand, bool raw)
{
    struct layout out;
    int used = p->mma.warps_m * p->mma.warps_n;
    layout_init(&out);
    if (operand == MATRIX_C)
        sum_layout(p, &out);
    else
        factor_layout(p, operand == MATRIX_B, raw, &out);
    add_warps(&out, p, operand);
    layout_add_free(&out, AXIS_WARP, l->warps / used);
    layout_normalise(&out);
    return plan_keep(l, &out);
}

void plan_pair_bytes(struct layouts *l, struct dot_plan *p, const struct plan_source source[2])
{
    if (p->kind != DOT_MMA || p->mma.shape.bits != 8 || p->m % (16 * p->mma.warps_m) != 0 ||
        p->n % (16 * p->mma.warps_n) != 0)
        return;
    p->a_paired = source[0].shared && source[0].type == p->a_type && source[0].transposed;
    p->b_paired = source[1].shared && source[1].type == p->b_type && !source[1].transposed;
    if (!p->a_paired && !p->b_paired)
        return;
    p->fragment_a = keep(l, p, MATRIX_A, false);
    p->fragment_b = keep(l, p, MATRIX_B, false);
    p->a = p->a_paired ? keep(l, p, MATRIX_A, true) : p->fragment_a;
    p->b = p->b_paired ? keep(l, p, MATRIX_B, true) : p->fragment_b;
    p->c = keep(l, p, MATRIX_C, false);
}
