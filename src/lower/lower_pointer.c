/* Addresses in shared memory through any layout.
 *
 * layout_value computes a place from numbers known at run time, digit by digit. Where a tile's
 * registers are moved, lanes compute a few pointers once, and each register is a constant beside
 * one of them (layout_split_addresses).
 */
#include "lower/lower_memory_own.h"

#include <string.h>

/* --- places from numbers --- */

/* (c / weight) % extent; top: c has no digit above. */
static const struct value *digit_of(struct lower *l, const struct value *c, int32_t weight,
                                    int32_t extent, bool top)
{
    if (weight == 1 && top)
        return c;
    if ((weight & (weight - 1)) == 0 && (extent & (extent - 1)) == 0) {
        int low = 0, count = 0;
        while (1 << low < weight)
            low++;
        while (1 << count < extent)
            count++;
        return value_bits(l, c, low, count);
    }
    if (weight > 1)
        c = value_apply2(l, OP_DIV, DT_I32, c, value_int(l, DT_I32, weight));
    return top ? c : value_apply2(l, OP_REM, DT_I32, c, value_int(l, DT_I32, extent));
}

/* Neighbouring bits that are xored in one beside the other are one field: shifted once for each
 * bit of its step. */
static const struct value *xor_field(struct lower *l, const struct value *field, int64_t step)
{
    const struct value *all = value_int(l, DT_I32, 0);
    for (int b = 0; step >> b; b++)
        if (step >> b & 1)
            all = value_xor(l, all, value_affine(l, field, (int64_t)1 << b, 0));
    return all;
}

static bool is_top(const struct layout *m, int d)
{
    return d + 1 == m->digit_count || m->digits[d + 1].in != m->digits[d].in;
}

/* Digits from d on that xor like one field of bits: how many. */
static int field_length(const struct layout *m, int d)
{
    int n = 1;
    while (d + n < m->digit_count && m->digits[d + n].in == m->digits[d].in &&
           m->digits[d + n].extent == 2 &&
           m->digits[d + n].add[0] == m->digits[d + n - 1].add[0] * 2 &&
           m->digits[d + n].xor [0] == m->digits[d + n - 1].xor [0] * 2)
        n++;
    return n;
}

struct sums {
    const struct value *xors, *adds;
};

/* The digits of one counter. */
static void add_counter(struct lower *l, const struct layout *m, int in, const struct value *c,
                        int64_t scale, struct sums *sums)
{
    for (int d = 0; d < m->digit_count; d++) {
        const struct layout_digit *digit = &m->digits[d];
        if (digit->in != in || (!digit->xor [0] && !digit->add[0]))
            continue;
        int n = digit->extent == 2 ? field_length(m, d) : 1;
        int32_t extent = n > 1 ? (int32_t)1 << n : digit->extent;
        const struct value *field =
            digit_of(l, c, layout_weight(m, d), extent, is_top(m, d + n - 1));
        if (digit->add[0])
            sums->adds = value_add(l, sums->adds, value_affine(l, field, digit->add[0] * scale, 0));
        if (digit->xor [0])
            sums->xors = value_xor(l, sums->xors, xor_field(l, field, digit->xor [0] * scale));
        d += n - 1;
    }
}

const struct value *layout_value(struct lower *l, const struct layout *memory,
                                 const struct value *const *counter, int64_t scale)
{
    struct layout m;
    layout_copy(&m, memory);
    layout_runs(&m);
    struct sums sums = {value_int(l, DT_I32, m.flip[0] * scale),
                        value_int(l, DT_I32, m.offset[0] * scale)};
    for (int i = 0; i < m.in_count; i++)
        if (counter[i])
            add_counter(l, &m, i, counter[i], scale, &sums);
    return value_add(l, sums.xors, sums.adds);
}

/* --- pointers --- */

bool pointers_open(struct lower *l, struct pointers *p, const struct value *base,
                   const struct layout *composed, int64_t size, const struct access *how)
{
    p->base = base;
    p->size = size;
    memset(p->pointer, 0, sizeof p->pointer);
    if (how && how->kind != ACCESS_LANES)
        layout_access_rows(composed, how, &p->composed);
    else
        layout_copy(&p->composed, composed);
    layout_runs(&p->composed);
    layout_split_addresses(&p->composed, &p->split);
    if (p->split.variants > 16)
        return false;
    struct sums sums = {value_int(l, DT_I32, p->composed.flip[0] * size), value_int(l, DT_I32, 0)};
    for (int i = 0; i < p->composed.in_count; i++)
        if (p->composed.ins[i].axis == AXIS_LANE)
            add_counter(l, &p->composed, i, value_lane(l), size, &sums);
        else if (p->composed.ins[i].axis == AXIS_WARP)
            add_counter(l, &p->composed, i, value_warp(l), size, &sums);
    p->xors = sums.xors;
    p->adds = sums.adds;
    return true;
}

void pointers_follow(struct lower *l, struct pointers *p, enum layout_axis axis,
                     const struct value *v)
{
    struct sums sums = {p->xors, p->adds};
    int in = layout_in_index(&p->composed, axis);
    if (in >= 0)
        add_counter(l, &p->composed, in, v, p->size, &sums);
    p->xors = sums.xors;
    p->adds = sums.adds;
    for (int i = 0; i < p->split.variants; i++)
        p->pointer[i] = NULL;
}

const struct value *pointers_at(struct lower *l, struct pointers *p, int32_t reg)
{
    int variant;
    int32_t constant = layout_split_constant(&p->composed, &p->split, reg, &variant);
    if (!p->pointer[variant]) {
        const struct value *flip = value_int(l, DT_I32, p->split.variant[variant] * p->size);
        const struct value *place = value_xor(l, p->xors, flip);
        p->pointer[variant] = value_add(l, p->base, value_add(l, place, p->adds));
    }
    return value_affine(l, p->pointer[variant], 1, constant * p->size);
}
