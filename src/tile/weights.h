/* Weights: right operands of `dot` whose elements are unpacked from bytes, converted and scaled.
 *
 *     (T) (((i32) repeat_interleave(W[p / 2 +: 16][j +: 64], 2, 1) >> shift & 15) - 8)
 *         * Scale[p / 32 +: 1][j +: 64]
 *
 * An element depends on one byte, its *code*, on its place among the `repeat` elements of that byte,
 * and on elements of *scales*, rows with one element for each column. The part that depends on the
 * code alone is a table, whatever operations it consists of. So an executor can compute any rows of
 * the operand from the views: it takes the table's values and applies the steps that have a scale.
 * A sum of a product, `q * s + z`, is not such a step, because it is one fma. */
#ifndef TW_WEIGHTS_H
#define TW_WEIGHTS_H

#include "tile/tile.h"

enum { CODES = 256, MOST_REPEAT = 8, MOST_SCALES = 3, MOST_WEIGHT_STEPS = 8 };

/* Computes x = x op scale, or scale op x, then rounds to a type. */
struct weight_step {
    enum op op; /* MUL, ADD or SUB; CAST: rounds only */
    bool turned;
    int scale;
    enum dtype round;
};
struct weights {
    const struct expr
        *codes;     /* two slices of a read-only view of bytes: [depth / repeat][columns] */
    int64_t repeat; /* elements of the operand, along its depth, that a byte has */
    float value[MOST_REPEAT][CODES]; /* of each element and byte, exact in f32 */
    int scales, steps;
    const struct expr *scale[MOST_SCALES]; /* access of a read-only view with one or two axes; the
                                            * last one is a slice of the columns */
    int64_t every[MOST_SCALES]; /* steps of depth for which one row of the scale holds; 0: all */
    struct weight_step step[MOST_WEIGHT_STEPS];
};

/* Returns whether e, a tile of two axes, consists of weights. */
bool weights_read(const struct expr *e, struct weights *w);
/* Returns whether the weights are their codes, as numbers of another type. Then the operand may also be
 * transposed. */
bool weights_are_codes(const struct weights *w);
/* Returns whether e has the same elements in each block and turn: iota, literals and operations. */
bool weights_constant(const struct expr *e);

#endif
