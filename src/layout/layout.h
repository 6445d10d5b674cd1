/* Layouts: which thread holds which element, and the place of each element in memory.
 *
 * A layout is a function from a few counters to a few numbers. A register layout maps (register,
 * lane, warp) to the coordinates of an element; a shared layout maps coordinates to a place,
 * counted in elements. Each counter is written in mixed radix, the lowest digit first, and each
 * digit moves each result in one of two ways:
 *
 *     result = offset + (flip ^ x1 ^ x2 ^ ...) + a1 + a2 + ...
 *
 * A digit of 2 may be a bit of the GF(2) atom: it contributes x = xor if the digit is 1. Any digit
 * may contribute a = digit * add. The atom gives matrix fragments and swizzles ("Linear Layouts:
 * Robust Code Generation of Efficient Tensor Computation Using F2", section 4); the integer part
 * around it gives extents such as 80, 96 and 176, three stages, twelve warps, padded rows. An
 * offset below zero or a result past its extent is a mask: the layout has no element there.
 *
 * Every layout is kept in one normal form (layout_normalise): runs of digits that one longer digit
 * can express are joined, then powers of two are split off as bits, lowest first, and a bit whose
 * addition cannot carry becomes a bit of the atom. So the linear part is as large as possible, and
 * equal functions nearly always have equal digits.
 *
 * A layout is a value without pointers: nothing is allocated or freed. If the result of an
 * operation has no such form, the operation returns false and *out is unspecified. */
#ifndef TW_LAYOUT_H
#define TW_LAYOUT_H

#include "base/arena.h"

enum layout_axis {
    AXIS_REG,  /* an element within a thread's registers */
    AXIS_LANE, /* of a warp */
    AXIS_WARP, /* warp of the block, or of the role */
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
    int32_t in;     /* counter of the digit: index into ins */
    int32_t extent; /* 2 if any xor is not 0 */
    int32_t xor [LAYOUT_OUTS], add[LAYOUT_OUTS];
};

struct layout {
    int in_count, out_count, digit_count;
    struct layout_dim ins[LAYOUT_INS];   /* in order of axis; the extent is the product of the
                                          * digits' extents */
    struct layout_dim outs[LAYOUT_OUTS]; /* in order of axis */
    struct layout_digit
        digits[LAYOUT_DIGITS]; /* by counter, the lowest first; the first digit_count are used */
    int32_t flip[LAYOUT_OUTS], offset[LAYOUT_OUTS];
};

/* --- Building: outs first, then digits from low to high, then layout_normalise --- */

void layout_init(struct layout *l);
/* Copies a layout as `*to = *from` does, but only the digits in use. */
void layout_copy(struct layout *to, const struct layout *from);
void layout_add_out(struct layout *l, enum layout_axis axis, int32_t extent);
/* Adds a digit above the digits that `in` has; it moves one result by `step`. Extent 1 adds the
 * counter alone. */
void layout_add_digit(struct layout *l, enum layout_axis in, int32_t extent, enum layout_axis out,
                      int32_t step);
/* Adds a digit that moves nothing: all its values hold the same element (a broadcast). */
void layout_add_free(struct layout *l, enum layout_axis in, int32_t extent);
/* Adds a bit of the atom; xor has a number for each result. */
void layout_add_bit(struct layout *l, enum layout_axis in, const int32_t * xor);
void layout_normalise(struct layout *l);

/* --- Asking --- */

bool layout_digit_xors(const struct layout *l, const struct layout_digit *d); /* in some result */
int layout_in_index(const struct layout *l, enum layout_axis axis);           /* -1: not there */
int layout_out_index(const struct layout *l, enum layout_axis axis);          /* -1: not there */
int32_t layout_in_extent(const struct layout *l, enum layout_axis axis);  /* 1 where not there */
int32_t layout_out_extent(const struct layout *l, enum layout_axis axis); /* 1 where not there */
int64_t layout_size_in(const struct layout *l);  /* product of the counters' extents */
int64_t layout_size_out(const struct layout *l); /* product of the results' extents */

/* Evaluates the function: `in` has a number for each of ins, `out` for each of outs. */
void layout_apply(const struct layout *l, const int32_t *in, int32_t *out);
/* Returns true if every result is within its extent. */
bool layout_inside(const struct layout *l, const int32_t *out);
/* For register layouts: gives the coordinates of the element that (reg, lane, warp) holds.
 * Returns false if it is masked. */
bool layout_element(const struct layout *l, int32_t reg, int32_t lane, int32_t warp, int32_t *out);
/* Returns the weight of a digit in its counter: 1 for the lowest digit. */
int32_t layout_weight(const struct layout *l, int digit);
/* Gives the least and the greatest value of a result over all counters. */
void layout_range(const struct layout *l, int out, int32_t *least, int32_t *greatest);
/* Returns true if results can fall outside their extents. */
bool layout_masked(const struct layout *l);

/* Returns true if counters, results and all digits agree. */
bool layout_same(const struct layout *a, const struct layout *b);
/* Returns true if counters and results agree and the functions are equal. */
bool layout_equal(const struct layout *a, const struct layout *b);
/* Returns the number of values of `axis` that hold the same element: the product of its digits
 * that move nothing. */
int32_t layout_free_extent(const struct layout *l, enum layout_axis axis);
/* Returns true if no two threads hold the same element. */
static inline bool layout_is_exclusive(const struct layout *l)
{
    return layout_free_extent(l, AXIS_LANE) == 1 && layout_free_extent(l, AXIS_WARP) == 1;
}
/* The results of enumerating the function. Exact; takes a step for every value of the counters. */
struct layout_census {
    bool injective;  /* no element is reached twice, except by digits that move nothing */
    bool surjective; /* every element within the extents is reached */
    bool masked;     /* something falls outside */
    int32_t holders; /* the greatest number of counter values that reach one element, broadcasts
                  * included */
};
void layout_take_census(const struct layout *l, struct arena *scratch, struct layout_census *out);

/* --- Algebra (layout_algebra.c) --- */

/* Composes: out(x) = outer(inner(x)). The results of inner are the counters of outer. */
bool layout_compose(const struct layout *outer, const struct layout *inner, struct layout *out);
/* Inverts: out(l(x)) = x, except for digits that move nothing; of several x it gives the one
 * whose free bits are 0. Values that l does not reach give arbitrary results. It is a right
 * inverse: l(out(y)) = y for every y that l reaches. */
bool layout_invert(const struct layout *l, struct layout *out);
/* Repeats `inner` as `outer` says: inner's digits lie below outer's, and outer's results count
 * in units of inner's extents. */
bool layout_product(const struct layout *inner, const struct layout *outer, struct layout *out);
/* Fixes a counter at a value and removes it. */
bool layout_fix(const struct layout *l, enum layout_axis in, int32_t value, struct layout *out);
/* Restricts counter `in` to a part: out(y) = l(start + y), y < extent. For parts of shared
 * tiles. */
bool layout_slice_in(const struct layout *l, enum layout_axis in, int32_t start, int32_t extent,
                     struct layout *out);
/* Restricts result `axis` to [start, start + extent) and masks the rest; registers without an
 * element of that part are removed. For parts of register tiles. */
bool layout_slice_out(const struct layout *l, enum layout_axis axis, int32_t start, int32_t extent,
                      struct layout *out);
/* Maps registers of a part (from layout_slice_out with `axis` and `start`) to registers of
 * `whole`: `source` has an entry for each register of the part. The places are those of the
 * registers of `whole` (layout_register_places). */
void layout_slice_registers(const struct layout *whole, const int32_t *places,
                            const struct layout *part, enum layout_axis axis, int32_t start,
                            int32_t *source);
/* Writes LAYOUT_OUTS numbers for each register: the place of its element in the first lane of the
 * first warp. */
void layout_register_places(const struct layout *l, int32_t *places);
/* Replaces each axis by map[axis]. Transposes a layout, or drops an axis of extent 1 together
 * with others. */
void layout_rename(const struct layout *l, const enum layout_axis map[AXIS_COUNT],
                   struct layout *out);
void layout_transpose(const struct layout *l, struct layout *out); /* d0 and d1 exchanged */
/* Removes result `axis`: gives the register layout of a tile reduced over that axis. */
void layout_drop_out(const struct layout *l, enum layout_axis axis, struct layout *out);

/* For the other files of this folder: turns private bits of the atom into additions and joins
 * runs (layout_runs), or keeps all digits apart (layout_demote). */
void layout_demote(struct layout *l);
void layout_runs(struct layout *l);

#endif
