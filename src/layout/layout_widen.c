/* A register layout with wider vectors, for global accesses that take a detour: digits of lanes
 * that move along an axis change places with digits of registers outside the vector. Each warp
 * holds the same elements, so shuffles convert between the two. */
#include "layout/layout_access.h"

/* Returns a bit of `in` that moves result j by `width` alone, or -1. */
static int bit_along(const struct layout *l, enum layout_axis in, int j, int32_t width)
{
    int i = layout_in_index(l, in);
    for (int d = 0; i >= 0 && d < l->digit_count; d++)
        if (l->digits[d].in == i && layout_moves_only(l, &l->digits[d], j, width))
            return d;
    return -1;
}

/* Returns a bit of the registers to give away: the lowest outside the vector, or -1 if there is
 * none. */
static int bit_to_give(const struct layout *l, int j, int32_t width)
{
    int reg = layout_in_index(l, AXIS_REG);
    for (int d = 0; reg >= 0 && d < l->digit_count; d++) {
        bool in_vector = false;
        for (int32_t w = 1; w < width; w *= 2)
            in_vector |= layout_moves_only(l, &l->digits[d], j, w);
        if (l->digits[d].in == reg && l->digits[d].extent == 2 && !in_vector)
            return d;
    }
    return -1;
}

/* Exchanges two digits in place, so that the other digits keep their weights. */
static void exchange(struct layout_digit *a, struct layout_digit *b)
{
    struct layout_digit first = *a;
    *a = *b;
    a->in = first.in;
    first.in = b->in;
    *b = first;
}

bool layout_widen(const struct layout *l, int j, int vector, struct layout *out)
{
    int32_t weights[ACCESS_VECTOR_BITS];
    int bits;
    layout_copy(out, l);
    for (int32_t width = 1; width < vector; width *= 2) {
        if (bit_along(out, AXIS_REG, j, width) >= 0)
            continue;
        int lane = bit_along(out, AXIS_LANE, j, width), reg = bit_to_give(out, j, width);
        if (lane < 0 || reg < 0)
            return false;
        exchange(&out->digits[lane], &out->digits[reg]);
    }
    layout_normalise(out);
    return layout_vector(out, j, vector, weights, &bits) >= vector;
}
