/* Layouts of scans: the digits that move the axis, in the order of how far they move it (emit/emit_fragment_scan.c). */
#include "plan/plan_layouts_own.h"

static bool find_digits(struct layouts *l, const struct layout *layout, int axis,
                        struct scan_digits *out)
{
    const struct layout *runs = plan_runs(l, layout);
    int64_t reached = 1;
    bool warps_seen = false;
    out->count = 0;
    for (int d = 0; d < runs->digit_count; d++) {
        const struct layout_digit *from = &runs->digits[d];
        struct scan_digit digit = {runs->ins[from->in].axis, layout_weight(runs, d), from->extent,
                                   from->add[axis]};
        for (int j = 0; j < runs->out_count; j++)
            if (digit.step && j != axis && (from->add[j] || from->xor [j]))
                return false;
        if (from->xor [axis] || digit.step < 0)
            return false;
        if (digit.step == 0)
            continue;
        int at = out->count++;
        for (; at > 0 && out->of[at - 1].step > digit.step; at--)
            out->of[at] = out->of[at - 1];
        out->of[at] = digit;
    }
    for (int i = 0; i < out->count; i++) {
        const struct scan_digit *digit = &out->of[i];
        bool is_warp = digit->in == AXIS_WARP;
        if (digit->step < reached || (is_warp && warps_seen) ||
            (digit->in == AXIS_LANE && (warps_seen || (digit->extent & (digit->extent - 1)))))
            return false;
        warps_seen = warps_seen || is_warp;
        reached = (int64_t)digit->step * digit->extent;
    }
    return runs->flip[axis] == 0;
}

bool plan_is_block(const struct scan_digits *digits, int32_t r, int n)
{
    for (int i = 0; i < n; i++) {
        const struct scan_digit *d = &digits->of[i];
        if (d->in == AXIS_REG && r / d->weight % d->extent)
            return false;
    }
    return true;
}

int32_t plan_block_of(const struct scan_digits *digits, int32_t r, int n)
{
    int32_t block = r;
    for (int i = 0; i < n; i++) {
        const struct scan_digit *d = &digits->of[i];
        if (d->in == AXIS_REG)
            block -= r / d->weight % d->extent * d->weight;
    }
    return block;
}

static bool is_fit(struct layouts *l, const struct layout *layout, int axis,
                   struct scan_digits *digits)
{
    struct layout_census census;
    if (!find_digits(l, layout, axis, digits))
        return false;
    layout_take_census(layout, l->arena, &census);
    return census.injective;
}

const struct layout *plan_scan_layout(struct layouts *l, const struct type *t, int axis,
                                      const struct layout *wanted, struct scan_digits *digits)
{
    struct type column = *t;
    struct layout of_one;
    int32_t extents[LAYOUT_OUTS];
    const struct layout *blocked = plan_keep(l, plan_blocked(l, &column, 0)), *alone;
    if (is_fit(l, wanted, axis, digits))
        return wanted;
    if (is_fit(l, blocked, axis, digits))
        return blocked;
    for (int i = 0; i < t->rank; i++)
        extents[i] = (int32_t)t->extent[i];
    layout_blocked(extents, t->rank, dtype_table[t->dtype].bits, 1, l->warps, &of_one);
    alone = plan_keep(l, &of_one);
    if (!is_fit(l, alone, axis, digits)) {
        alone = plan_everywhere(l, t);
        is_fit(l, alone, axis, digits);
    }
    return alone;
}
