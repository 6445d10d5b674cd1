/* Spreads a tile over threads for accesses of memory.
 *
 * Lanes fill the last axis first, in vectors, so that a warp accesses whole sectors of 32 bytes.
 * If the number of a row's vectors is not a power of two (80 or 176 elements), lanes take the
 * power of two that divides it, as long as that still makes a sector, and registers take the odd
 * rest. If not even a sector divides the row, it is rounded up and its end is masked. Warps go
 * to the slow axes: first the factor that divides them, then the rest with a mask. */
#include "base/arithmetic.h"
#include "layout/layout_named.h"

enum { RANK_MAX = 6, VECTOR_BITS = 128, SECTOR_BITS = 256 };

static int32_t power_below(int32_t limit,
                           int32_t n) /* largest power of two that is <= limit and divides n */
{
    int32_t p = 1;
    while (p * 2 <= limit && n % (p * 2) == 0)
        p *= 2;
    return p;
}

static int32_t power_over(int32_t limit,
                          int32_t n) /* smallest power of two that is >= n, at most limit */
{
    int32_t p = 1;
    while (p < limit && p < n)
        p *= 2;
    return p;
}

int layout_widest_vector(const int32_t *extents, int rank, int bits)
{
    int most = bits >= VECTOR_BITS ? 1 : VECTOR_BITS / bits;
    return (int)power_below(most, extents[rank - 1]);
}

/* Returns the lanes along the last axis, which has `units` vectors of `vector_bits` each. */
static int32_t lanes_along(int32_t units, int vector_bits)
{
    int32_t lanes = power_below(LAYOUT_LANES, units);
    if (lanes * vector_bits >= SECTOR_BITS || units <= lanes)
        return lanes;
    return power_over(LAYOUT_LANES, units);
}

/* The lanes, warps and registers of each axis; left[i]: units not yet distributed. */
struct deal {
    int32_t lanes[RANK_MAX], warps[RANK_MAX], left[RANK_MAX];
    int32_t free_lanes, free_warps;
};

static void deal_lanes(struct deal *d, int rank, int32_t along)
{
    int32_t lanes = LAYOUT_LANES;
    for (int i = rank - 1; i >= 0; i--) {
        d->lanes[i] = i == rank - 1 ? along : power_over(lanes, d->left[i]);
        d->left[i] = divide_up(d->left[i], d->lanes[i]);
        lanes /= d->lanes[i];
    }
    int32_t more =
        power_over(lanes, d->left[rank - 1]); /* with few rows, the last axis takes the other
                                               * lanes */
    d->lanes[rank - 1] *= more;
    d->left[rank - 1] = divide_up(d->left[rank - 1], more);
    d->free_lanes = lanes / more;
}

static void deal_warps(struct deal *d, int rank, int32_t warps)
{
    for (int i = 0; i < rank; i++) {
        d->warps[i] = (int32_t)greatest_common_divisor(d->left[i], warps);
        d->left[i] /= d->warps[i];
        warps /= d->warps[i];
    }
    while (warps > 1) { /* masks rather than holding an element twice */
        int widest = 0;
        for (int i = 1; i < rank; i++)
            if (d->left[i] > d->left[widest])
                widest = i;
        if (d->left[widest] == 1)
            break;
        int32_t more = warps < d->left[widest] ? warps : d->left[widest];
        while (warps % more)
            more++;
        d->warps[widest] *= more;
        d->left[widest] = divide_up(d->left[widest], more);
        warps /= more;
    }
    d->free_warps = warps;
}

bool layout_blocked(const int32_t *extents, int rank, int bits, int vector, int warps,
                    struct layout *out)
{
    if (rank < 1 || vector < 1)
        return false;
    int32_t along = lanes_along(divide_up(extents[rank - 1], vector), vector * bits);
    return layout_blocked_lanes(extents, rank, vector, warps, along, out);
}

bool layout_blocked_lanes(const int32_t *extents, int rank, int vector, int warps, int along,
                          struct layout *out)
{
    struct deal d;
    if (rank < 1 || rank > RANK_MAX || vector < 1 || warps < 1 || along < 1 ||
        along > LAYOUT_LANES || (along & (along - 1)))
        return false;
    for (int i = 0; i < rank; i++)
        d.left[i] = i == rank - 1 ? divide_up(extents[i], vector) : extents[i];
    deal_lanes(&d, rank, along);
    deal_warps(&d, rank, warps);

    layout_init(out);
    for (int i = 0; i < rank; i++)
        layout_add_out(out, AXIS_DIM(i), extents[i]);
    int32_t step[RANK_MAX];
    for (int i = 0; i < rank; i++)
        step[i] = 1;
    layout_add_digit(out, AXIS_REG, vector, AXIS_DIM(rank - 1), 1);
    step[rank - 1] = vector;
    for (int i = rank - 1; i >= 0; i--) {
        layout_add_digit(out, AXIS_LANE, d.lanes[i], AXIS_DIM(i), step[i]);
        step[i] *= d.lanes[i];
    }
    layout_add_free(out, AXIS_LANE, d.free_lanes);
    for (int i = rank - 1; i >= 0; i--) {
        layout_add_digit(out, AXIS_WARP, d.warps[i], AXIS_DIM(i), step[i]);
        step[i] *= d.warps[i];
    }
    layout_add_free(out, AXIS_WARP, d.free_warps);
    for (int i = rank - 1; i >= 0; i--)
        layout_add_digit(out, AXIS_REG, d.left[i], AXIS_DIM(i), step[i]);
    layout_normalise(out);
    return true;
}
