/* Layouts of reductions: which digits move an axis, and the tiles through which warps exchange their results. */
#include "plan/plan_layouts_own.h"

#include <string.h>

static bool moves(const struct layout_digit *d, int j)
{
    return d->xor [j] || d->add[j];
}

/* Returns whether a digit moves the axis and another one. */
bool plan_axis_mixed(const struct layout *layout, int axis)
{
    for (int d = 0; d < layout->digit_count; d++)
        for (int j = 0; j < layout->out_count; j++)
            if (j != axis && moves(&layout->digits[d], axis) && moves(&layout->digits[d], j))
                return true;
    return false;
}

static int32_t step_of(const struct layout *l, int d, int axis)
{
    return axis < 0 ? d : l->digits[d].xor [axis] + l->digits[d].add[axis];
}

/* Digits of warp along the axis, those that move it least first. */
static int warp_digits(const struct layout *l, int axis, int digits[LAYOUT_DIGITS])
{
    int in = layout_in_index(l, AXIS_WARP), count = 0;
    for (int d = 0; d < l->digit_count; d++) {
        if (l->digits[d].in != in || !plan_moves_axis(l, d, axis))
            continue;
        int at = count++;
        for (; at > 0 && step_of(l, digits[at - 1], axis) > step_of(l, d, axis); at--)
            digits[at] = digits[at - 1];
        digits[at] = d;
    }
    return count;
}

static void stand_still(struct layout *l, int d, int axis)
{
    for (int j = 0; j < l->out_count; j++)
        if (axis < 0 || j == axis)
            l->digits[d].xor [j] = l->digits[d].add[j] = 0;
}

/* The tile of totals: along the axis a place for each warp, and for each register beyond `above`.
 * registers: which register of `whole` each of its registers is. */
static void layout_of_totals(const struct layout *whole, int axis, int32_t above, const int *digits,
                             int count, struct layout *out, int32_t *registers)
{
    int reg = layout_in_index(whole, AXIS_REG), kept = 0, j = axis < 0 ? 0 : axis;
    int32_t extent = 1, weight[LAYOUT_DIGITS], held = 1;
    bool stays[LAYOUT_DIGITS];
    *out = *whole;
    for (int d = 0; d < whole->digit_count; d++) {
        bool along = plan_moves_axis(whole, d, axis);
        stays[d] =
            axis >= 0 && along && whole->digits[d].in == reg && step_of(whole, d, axis) >= above;
        stand_still(out, d, axis);
    }
    for (int i = 0; i < out->out_count; i++)
        if (axis < 0 || i == axis) {
            out->flip[i] = out->offset[i] = 0;
            out->outs[i].extent = 1;
        }
    if (axis < 0) {
        out->out_count = 1;
        out->outs[0].axis = AXIS_D0;
    }
    for (int i = 0; i < count; i++) {
        out->digits[digits[i]].add[j] = extent;
        extent *= whole->digits[digits[i]].extent;
    }
    for (int d = 0; d < whole->digit_count; d++)
        if (stays[d]) {
            out->digits[d].add[j] = extent;
            extent *= whole->digits[d].extent;
        }
    out->outs[j].extent = extent;
    for (int d = 0; d < whole->digit_count; d++) {
        bool moved = false;
        for (int i = 0; i < out->out_count; i++)
            moved |= moves(&out->digits[d], i);
        weight[d] = 0;
        if (whole->digits[d].in == reg && !moved)
            continue;
        if (whole->digits[d].in == reg) {
            weight[d] = held;
            held *= whole->digits[d].extent;
        }
        out->digits[kept++] = out->digits[d];
    }
    out->digit_count = kept;
    if (reg >= 0)
        out->ins[reg].extent = held;
    for (int32_t r = plan_registers(whole) - 1; r >= 0; r--) {
        int32_t rest = r, to = 0;
        for (int d = 0; d < whole->digit_count; d++)
            if (whole->digits[d].in == reg) {
                to += rest % whole->digits[d].extent * weight[d];
                rest /= whole->digits[d].extent;
            }
        registers[to] = r; /* the least of those that are one */
    }
}

/* The same tile with what the warps have side by side in the lowest registers of each. */
static void layout_of_all(const struct layout *totals, int axis, const struct layout *whole,
                          const int *digits, int count, int32_t warps, struct layout *out)
{
    int reg = layout_in_index(totals, AXIS_REG), warp = layout_in_index(totals, AXIS_WARP);
    int j = axis < 0 ? 0 : axis;
    *out = *totals;
    for (int d = 0; d < out->digit_count; d++)
        for (int i = 0; i < count; i++)
            if (out->digits[d].in == warp &&
                layout_weight(totals, d) == layout_weight(whole, digits[i]))
                out->digits[d].add[j] = 0;
    memmove(out->digits + 1, out->digits, (size_t)out->digit_count * sizeof *out->digits);
    out->digit_count++;
    out->digits[0] = (struct layout_digit){.in = reg, .extent = warps};
    out->digits[0].add[j] = 1;
    out->ins[reg].extent *= warps;
}

bool plan_warp_totals(struct layouts *l, const struct layout *whole, int axis, int32_t above,
                      struct warp_totals *out)
{
    int digits[LAYOUT_DIGITS], count = warp_digits(whole, axis, digits);
    out->registers = arena_array(l->arena, int32_t, plan_registers(whole));
    out->warps = 1;
    for (int i = 0; i < count; i++)
        out->warps *= whole->digits[digits[i]].extent;
    if (count == 0)
        return false;
    layout_of_totals(whole, axis, above, digits, count, &out->totals, out->registers);
    layout_of_all(&out->totals, axis, whole, digits, count, out->warps, &out->all);
    return true;
}
