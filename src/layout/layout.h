/* Layouts: which thread holds which element, where an element sits in memory.
 *
 * A layout is a function from a few counters to a few numbers. A register layout takes (register,
 * lane, warp) to the coordinates of an element; a shared layout takes coordinates to a place,
 * counted in elements. Each counter is written in mixed radix, the lowest digit first, and each
 * digit moves each result in one of two ways:
 *
 *     result = offset + (flip ^ x1 ^ x2 ^ ...) + a1 + a2 + ...
 *
 * A digit of 2 may be a bit of the GF(2) atom: it contributes x = xor where the digit is 1. Any
 * digit may contribute a = digit * add. The atom gives matrix fragments and swizzles ("Linear
 * Layouts: Robust Code Generation of Efficient Tensor Computation Using F2", section 4); the
 * integer part around it gives extents such as 80, 96 and 176, three stages, twelve warps, padded
 * rows. An offset below zero and a result past its extent mean: nothing there (a mask).
 *
 * Every layout is kept in one normal form (layout_normalise): runs of digits that a longer digit
 * can say are joined, then powers of two are taken out as bits, lowest first, and a bit whose
 * addition cannot carry is a bit of the atom. So the linear part is as large as it can be, and
 * equal functions nearly always have equal digits.
 *
 * A layout is a value without pointers: nothing is allocated, nothing is freed. What cannot be said
 * in this form makes an operation return false, and *out is then unspecified.
 */
#ifndef TW_LAYOUT_H
#define TW_LAYOUT_H

#include "base/arena.h"

enum layout_axis {
    AXIS_REG,  /* an element within a thread's registers */
    AXIS_LANE, /* of a warp */
    AXIS_WARP, /* of a block (of a role) */
    AXIS_BLOCK,
    AXIS_STAGE,
    AXIS_D0, /* coordinates of a tile, the slowest first */
    AXIS_D1,
    AXIS_D2,
    AXIS_D3,
    AXIS_D4,
    AXIS_D5,
    AXIS_AT, /* a place in memory, in elements */
    AXIS_COUNT
};
extern const char *const layout_axis_names[AXIS_COUNT];
#define AXIS_DIM(i) ((enum layout_axis)(AXIS_D0 + (i)))

enum { LAYOUT_INS = 8, LAYOUT_OUTS = 6, LAYOUT_DIGITS = 64, LAYOUT_LANES = 32 };

struct layout_dim {
    enum layout_axis axis;
    int32_t extent;
};

struct layout_digit {
    int32_t in;     /* whose counter's digit: index into ins */
    int32_t extent; /* 2 where any xor is not 0 */
    int32_t xor [LAYOUT_OUTS], add[LAYOUT_OUTS];
};

struct layout {
    int in_count, out_count, digit_count;
    struct layout_dim ins[LAYOUT_INS];   /* in order of axis; extent: product of its digits' */
    struct layout_dim outs[LAYOUT_OUTS]; /* in order of axis */
    struct layout_digit
        digits[LAYOUT_DIGITS]; /* by counter, the lowest first; digit_count of them */
    int32_t flip[LAYOUT_OUTS], offset[LAYOUT_OUTS];
};

/* --- Building: outs first, then digits from low to high, then layout_normalise --- */

void layout_init(struct layout *l);
/* As `*to = *from`, without the digits that are not there. */
void layout_copy(struct layout *to, const struct layout *from);
void layout_add_out(struct layout *l, enum layout_axis axis, int32_t extent);
/* A digit above the digits of `in` so far, moving one result by `step`. Extent 1 adds the counter
 * only. */
void layout_add_digit(struct layout *l, enum layout_axis in, int32_t extent, enum layout_axis out,
                      int32_t step);
/* A digit that moves nothing: all its values hold the same (broadcast). */
void layout_add_free(struct layout *l, enum layout_axis in, int32_t extent);
/* A bit of the atom; xor has a number for each result. */
void layout_add_bit(struct layout *l, enum layout_axis in, const int32_t * xor);
void layout_normalise(struct layout *l);

/* --- Asking --- */

int layout_in_index(const struct layout *l, enum layout_axis axis);       /* -1: not there */
int layout_out_index(const struct layout *l, enum layout_axis axis);      /* -1: not there */
int32_t layout_in_extent(const struct layout *l, enum layout_axis axis);  /* 1 where not there */
int32_t layout_out_extent(const struct layout *l, enum layout_axis axis); /* 1 where not there */
int64_t layout_size_in(const struct layout *l);  /* product of the counters' extents */
int64_t layout_size_out(const struct layout *l); /* product of the results' extents */

/* The function itself: a number for each of ins, a number for each of outs. */
void layout_apply(const struct layout *l, const int32_t *in, int32_t *out);
/* Is every result within its extent? */
bool layout_inside(const struct layout *l, const int32_t *out);
/* The same for register layouts: coordinates of what (reg, lane, warp) holds. False: masked. */
bool layout_element(const struct layout *l, int32_t reg, int32_t lane, int32_t warp, int32_t *out);
/* The value of a counter's digit in steps of the counter: 1 for the lowest digit. */
int32_t layout_weight(const struct layout *l, int digit);
/* The least and the greatest value of a result over all counters. */
void layout_range(const struct layout *l, int out, int32_t *least, int32_t *greatest);
/* Can results fall outside the extents? */
bool layout_masked(const struct layout *l);

/* Same counters, same results, and digit for digit the same way from one to the other. */
bool layout_same(const struct layout *a, const struct layout *b);
/* Same counters, same results, same function. */
bool layout_equal(const struct layout *a, const struct layout *b);
/* Digits that move nothing, as the number of values of `axis` that hold the same. */
int32_t layout_free_extent(const struct layout *l, enum layout_axis axis);
/* How `in` walks along result `out`: its digits that move that result and no other, lowest first.
 * *mixed: some digit moves it together with another result. For reductions: along an axis, lanes by
 * shuffles, registers within a thread, warps through shared memory. */
struct layout_walk {
    int count;
    int32_t weight[16], extent[16]; /* weight: in steps of the counter */
    bool mixed;
};
void layout_walk_along(const struct layout *l, enum layout_axis in, enum layout_axis out,
                       struct layout_walk *walk);
/* What enumerating the function shows. Exact; costs a step for every value of the counters. */
struct layout_census {
    bool injective;  /* nothing is reached twice, digits that move nothing aside */
    bool surjective; /* everything within the extents is reached */
    bool masked;     /* something falls outside */
    int32_t
        holders; /* the most values of the counters that reach one element, free digits included */
};
void layout_take_census(const struct layout *l, struct arena *scratch, struct layout_census *out);

/* --- Algebra (layout_algebra.c) --- */

/* out(x) = outer(inner(x)). The results of inner are the counters of outer. */
bool layout_compose(const struct layout *outer, const struct layout *inner, struct layout *out);
/* out(l(x)) = x up to digits that move nothing; of several x the one whose free bits are 0. Where l
 * does not reach, out gives something. Right inverse: l(out(y)) = y for every y that l reaches. */
bool layout_invert(const struct layout *l, struct layout *out);
/* `inner` repeated as `outer` says: inner's digits below outer's, outer's results in steps of
 * inner's extents. */
bool layout_product(const struct layout *inner, const struct layout *outer, struct layout *out);
/* The out with product(inner, out) == l. */
bool layout_divide(const struct layout *l, const struct layout *inner, struct layout *out);
/* A counter held at a value, and gone. */
bool layout_fix(const struct layout *l, enum layout_axis in, int32_t value, struct layout *out);
/* A part of what the counter `in` runs over: out(y) = l(start + y), y < extent. For parts of shared
 * tiles. */
bool layout_slice_in(const struct layout *l, enum layout_axis in, int32_t start, int32_t extent,
                     struct layout *out);
/* A part of the result `axis`: [start, start + extent), the rest masked; registers that hold
 * nothing of it are gone. For parts of register tiles. */
bool layout_slice_out(const struct layout *l, enum layout_axis axis, int32_t start, int32_t extent,
                      struct layout *out);
/* Which register of `whole` each register of its part (from layout_slice_out with `axis` and
 * `start`) is: source has an entry for each of part's. */
void layout_slice_registers(const struct layout *whole, const struct layout *part,
                            enum layout_axis axis, int32_t start, int32_t *source);
/* Each axis replaced by map[axis]; for transposing and for dropping an axis of extent 1 together
 * with others. */
void layout_rename(const struct layout *l, const enum layout_axis map[AXIS_COUNT],
                   struct layout *out);
void layout_transpose(const struct layout *l, struct layout *out); /* d0 and d1 exchanged */
/* The result `axis` gone: what is left of a register layout when a tile is reduced over that
 * axis. */
void layout_drop_out(const struct layout *l, enum layout_axis axis, struct layout *out);

/* For the other files of this room: private bits of the atom as additions and runs joined
 * (layout_runs), all digits kept apart (layout_demote). */
void layout_demote(struct layout *l);
void layout_runs(struct layout *l);

#endif
