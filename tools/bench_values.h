/* Fills the factors that `bench` multiplies on a GPU, and checks the products.
 *
 * The tolerances are those of `ensures` (docs/language.md): twice the rounding bound of a sum of
 * K products in the type of the sum, plus the rounding of the result's type. */
#ifndef TW_BENCH_VALUES_H
#define TW_BENCH_VALUES_H

#include "gemm.h"
#include "tensor.h"

/* Fills an array with random elements that depend on the seed only: floats uniform in ±scale/2,
 * 8-bit integers that are not indices of all values except the least, other integers 0 … limit-1. A
 * sequence of about a million elements repeats, except in starts of rows. */
void values_fill(tw_array *a, const struct fill_options *o);
/* Transposes `batch` matrices of `rows` × `columns` elements into `to`, which has the same
 * number of elements. */
void values_turn(const tw_array *from, int64_t batch, int64_t rows, int64_t columns, void *to);

struct value_check {
    bool ok;
    int64_t compared;   /* elements */
    double max_error;   /* largest difference */
    double worst_error; /* at the element that uses most of its tolerance, */
    double tolerance;   /* which is this */
    int64_t at;         /* index of that element in C */
};
/* Compares c with products computed here in double precision, at `samples` elements spread over
 * c. */
struct value_check values_sample(const struct gemm *g, const void *a, const void *b, const void *c,
                                 int64_t samples);
/* Compares two results, both of which may be rounded, element by element. */
struct value_check values_compare(const struct gemm *g, const void *a, const void *b, const void *c,
                                  const void *other);

#endif
