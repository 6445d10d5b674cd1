/* Layouts for the tests of src/layout, most of them random: the same seed gives the same ones. */
#ifndef TW_TEST_LAYOUT_RANDOM_H
#define TW_TEST_LAYOUT_RANDOM_H

#include "layout/gf2.h"
#include "layout/layout.h"
#include "layout/layout_named.h"

#include <stdlib.h>
#include <string.h>

/* xorshift64* */
static inline uint32_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(*state * 0x2545f4914f6cdd1dULL >> 32);
}
static inline int random_below(uint64_t *state, int n)
{
    return (int)(random_next(state) % (uint32_t)n);
}

/* Returns the number of random layouts to try a property on: more if TW_TEST_LONG is set. */
static inline int random_rounds(int n)
{
    return getenv("TW_TEST_LONG") ? 50 * n : n;
}

/* Chooses the bits of the place that each of `ins` bits of (reg, lane, warp) moves: one bit
 * each, all different while there are enough; the first is often the lowest, as in vectors. */
static inline void random_permutation(uint64_t *state, int ins, int outs, uint32_t *vector)
{
    int order[32], keep = random_below(state, 4);
    for (int b = 0; b < outs; b++)
        order[b] = b;
    for (int b = keep; b < outs; b++) {
        int other = b + random_below(state, outs - b), swap = order[b];
        order[b] = order[other];
        order[other] = swap;
    }
    for (int i = 0; i < ins; i++)
        vector[i] = i < outs ? 1u << order[i] : random_below(state, 2) ? 0 : 1u << order[i - outs];
}

/* Makes an atom: reg_bits, 5 lane bits and warp_bits onto [2^rows][2^columns], as a bijection or
 * as any linear map. Half of the atoms move one bit for each bit, as in practice, a quarter of
 * them with xors in between; a quarter is a random matrix. */
static inline void random_atom(uint64_t *state, int reg_bits, int warp_bits, int rows, int columns,
                               bool bijective, struct layout *out)
{
    int ins = reg_bits + 5 + warp_bits, outs = rows + columns, kind = random_below(state, 4);
    uint32_t v[32], all = (1u << outs) - 1;
    struct gf2_space space;
    do {
        random_permutation(state, ins, outs, v);
        for (int i = 0; i < ins && kind < 2; i++)
            v[i] = kind == 1 ? random_next(state) & all : v[i] ^ v[random_below(state, ins)];
        gf2_init(&space);
        for (int i = 0; i < ins; i++)
            gf2_insert(&space, v[i], 0);
    } while (bijective && space.rank < outs);
    layout_init(out);
    layout_add_out(out, AXIS_D0, 1 << rows);
    layout_add_out(out, AXIS_D1, 1 << columns);
    layout_add_free(out, AXIS_WARP, 1);
    layout_add_free(out, AXIS_REG, 1);
    for (int i = 0; i < ins; i++) {
        int32_t xor [2] = {(int32_t)(v[i] >> columns), (int32_t)(v[i] & ((1u << columns) - 1))};
        layout_add_bit(out,
                       i < reg_bits       ? AXIS_REG
                       : i < reg_bits + 5 ? AXIS_LANE
                                          : AXIS_WARP,
                       xor);
    }
    layout_normalise(out);
}

/* Adds digits of registers and warps above the atom: rows times `row_factor`, columns times
 * `column_factor`, distributed at random. */
static inline void random_outer(uint64_t *state, int row_factor, int column_factor,
                                struct layout *out)
{
    int32_t step[2] = {1, 1}, left[2] = {row_factor, column_factor};
    layout_init(out);
    layout_add_out(out, AXIS_D0, row_factor);
    layout_add_out(out, AXIS_D1, column_factor);
    layout_add_free(out, AXIS_REG, 1);
    layout_add_free(out, AXIS_WARP, 1);
    while (left[0] > 1 || left[1] > 1) {
        int j = left[0] == 1 ? 1 : left[1] == 1 ? 0 : random_below(state, 2), f = 2;
        while (left[j] % f)
            f++;
        layout_add_digit(out, random_below(state, 3) ? AXIS_REG : AXIS_WARP, f, AXIS_DIM(j),
                         step[j]);
        step[j] *= f;
        left[j] /= f;
    }
    layout_normalise(out);
}

/* The shape of a tile, powers of two times odd (or any) factors, and the number of its bits that
 * belong to registers and to warps. */
struct random_shape {
    int rows, columns, row_factor, column_factor, reg_bits, warp_bits;
};

/* Returns extents such as 32, 80, 96, 176. */
static inline struct random_shape random_shape(uint64_t *state)
{
    static const int factors[] = {1, 1, 1, 2, 3, 5, 6, 11};
    struct random_shape s = {.rows = 2 + random_below(state, 4),
                             .columns = 2 + random_below(state, 4)};
    s.warp_bits = random_below(state, 3);
    s.reg_bits = s.rows + s.columns - 5 - s.warp_bits;
    if (s.reg_bits < 0) {
        s.columns -= s.reg_bits;
        s.reg_bits = 0;
    }
    s.row_factor = factors[random_below(state, 8)];
    s.column_factor = factors[random_below(state, 8)];
    return s;
}

/* Makes a register layout of that shape: one that covers its tile once (bijective), or any. */
static inline void random_of_shape(uint64_t *state, const struct random_shape *s, bool bijective,
                                   struct layout *out)
{
    struct layout atom, outer;
    int more_regs = bijective ? 0 : random_below(state, 2);
    int more_warps = bijective ? 0 : random_below(state, 2);
    random_atom(state, s->reg_bits + more_regs, s->warp_bits + more_warps, s->rows, s->columns,
                bijective, &atom);
    random_outer(state, s->row_factor, s->column_factor, &outer);
    layout_product(&atom, &outer, out);
}

static inline void random_registers(uint64_t *state, bool bijective, struct layout *out)
{
    struct random_shape s = random_shape(state);
    random_of_shape(state, &s, bijective, out);
}

/* Gives `count` copies of a shared layout, `distance` elements apart, for the counter `stage`. */
static inline void with_stages(const struct layout *l, int count, int32_t distance,
                               struct layout *out)
{
    *out = *l;
    out->outs[layout_out_index(l, AXIS_AT)].extent = distance * count;
    layout_add_digit(out, AXIS_STAGE, count, AXIS_AT, distance);
    layout_normalise(out);
}

/* Makes a shared layout for a tile of two axes, and tells how it was made. */
static inline void random_shared(uint64_t *state, const int32_t extents[2], struct layout *out)
{
    static const int by_column[2] = {0, 1};
    struct layout plain;
    switch (random_below(state, 5)) {
    case 0: layout_ordered(extents, 2, by_column, 0, out); return;
    case 1: layout_rows(extents, 2, 1 + random_below(state, 16), out); return;
    case 2:
        if (extents[1] % 16 == 0 && layout_panels(extents, 2, 16, out))
            return;
        break;
    case 3:
        layout_rows(extents, 2, 0, &plain);
        if (layout_swizzled(&plain, 1 + random_below(state, 3), random_below(state, 4), 3, out))
            return;
        break;
    default: break;
    }
    layout_rows(extents, 2, 0, out);
}

#endif
