/* Places of elements in shared memory: plain, padded, in panels, swizzled.
 *
 * A swizzle permutes places, so it is a layout from places to places, composed after the plain
 * one. CuTe writes it Swizzle<B, M, S>: bits [M + S, M + S + B) are xored into bits [M, M + B).
 * The three modes of bulk tensor copies are Swizzle<1, 4, 3>, <2, 4, 3> and <3, 4, 3> of byte
 * addresses (PTX ISA, "Swizzling Modes"): the 16-byte chunk within a line is xored with the
 * number of the line. */
#include "layout/layout_named.h"

#include "layout/gf2.h"

#include <assert.h>

enum { RANK_MAX = 6 };

bool layout_ordered(const int32_t *extents, int rank, const int *order, int pad, struct layout *out)
{
    int32_t step[RANK_MAX], size = 1;
    if (rank < 1 || rank > RANK_MAX)
        return false;
    for (int i = 0; i < rank; i++) {
        assert(order[i] >= 0 && order[i] < rank);
        step[order[i]] = size;
        size *= extents[order[i]];
        if (i == 0)
            size += pad;
    }
    layout_init(out);
    layout_add_out(out, AXIS_AT, size);
    for (int i = 0; i < rank; i++)
        layout_add_digit(out, AXIS_DIM(i), extents[i], AXIS_AT, step[i]);
    layout_normalise(out);
    return true;
}

bool layout_rows(const int32_t *extents, int rank, int pad, struct layout *out)
{
    int order[RANK_MAX];
    for (int i = 0; i < rank && i < RANK_MAX; i++)
        order[i] = rank - 1 - i;
    return layout_ordered(extents, rank, order, pad, out);
}

bool layout_panels(const int32_t *extents, int rank, int width, struct layout *out)
{
    struct layout panel, panels;
    int32_t inner[RANK_MAX];
    if (rank < 1 || rank > RANK_MAX || width < 1 || extents[rank - 1] % width)
        return false;
    for (int i = 0; i < rank; i++)
        inner[i] = i == rank - 1 ? width : extents[i];
    layout_init(&panels);
    layout_add_out(&panels, AXIS_AT, extents[rank - 1] / width);
    layout_add_digit(&panels, AXIS_DIM(rank - 1), extents[rank - 1] / width, AXIS_AT, 1);
    layout_normalise(&panels);
    return layout_rows(inner, rank, 0, &panel) && layout_product(&panel, &panels, out);
}

bool layout_swizzled(const struct layout *l, int bits, int base, int shift, struct layout *out)
{
    struct layout swizzle;
    int32_t extent = layout_out_extent(l, AXIS_AT);
    int top = gf2_highest((uint64_t)extent - 1) + 1;
    layout_init(&swizzle);
    layout_add_out(&swizzle, AXIS_AT, extent);
    for (int b = 0; b < base + shift + bits || b < top; b++) {
        int32_t xor = (int32_t)1 << b;
        if (b >= base + shift && b < base + shift + bits)
            xor |= (int32_t)1 << (b - shift);
        layout_add_bit(&swizzle, AXIS_AT, &xor);
    }
    layout_normalise(&swizzle);
    return shift >= bits && layout_compose(&swizzle, l, out);
}

bool layout_tensor_box(const int32_t *extents, int rank, int element_bits, int span,
                       struct layout *out)
{
    assert(element_bits > 0);
    struct layout plain;
    int modes = span == 32 ? 1 : span == 64 ? 2 : span == 128 ? 3 : 0;
    if (span == 0)
        return layout_rows(extents, rank, 0, out);
    if (!modes || rank < 2 || rank > RANK_MAX || element_bits > 128)
        return false;
    int32_t width = span * 8 / element_bits;
    int32_t rows = extents[rank - 2], columns = extents[rank - 1], step = rows * columns;
    if (columns % width)
        return false;
    layout_init(&plain);
    layout_add_out(&plain, AXIS_AT, step);
    for (int i = rank - 3; i >= 0; i--) {
        layout_add_digit(&plain, AXIS_DIM(i), extents[i], AXIS_AT, step);
        step *= extents[i];
    }
    plain.outs[0].extent = step;
    layout_add_digit(&plain, AXIS_DIM(rank - 2), rows, AXIS_AT, width);
    layout_add_digit(&plain, AXIS_DIM(rank - 1), width, AXIS_AT, 1);
    layout_add_digit(&plain, AXIS_DIM(rank - 1), columns / width, AXIS_AT, rows * width);
    layout_normalise(&plain);
    int chunk = gf2_highest((uint64_t)(128 / element_bits)); /* log2 of the elements in 16 bytes */
    return layout_swizzled(&plain, modes, chunk, 3, out);
}
