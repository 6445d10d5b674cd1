/* What `bench` multiplies on a GPU, and whether the products are right.
 *
 * The tolerances are those of `ensures` (docs/language.md): twice the bound for the rounding of a
 * sum of K products in the type it is made in, and of the result's. */
#ifndef TW_BENCH_VALUES_H
#define TW_BENCH_VALUES_H

#include "gemm.h"

/* Random elements, the same for the same seed: floats uniform in ±scale/2, 8-bit integers of all
 * values but the least, other integers 0 … limit-1; a sequence of about a million of them, over and
 * over. */
void values_fill(tw_array *a, uint64_t seed, double scale, int64_t limit);
/* What `rows` × `columns` elements, `batch` times, are turned: to has as many. */
void values_turn(const tw_array *from, int64_t batch, int64_t rows, int64_t columns, void *to);

struct value_check {
    bool ok;
    int64_t compared;   /* elements */
    double max_error;   /* largest difference */
    double worst_error; /* at the element that uses most of its tolerance, */
    double tolerance;   /* which is this */
    int64_t at;         /* and where: its index in C */
};
/* c against products made here in double precision, at `samples` elements all over it. */
struct value_check values_sample(const struct gemm *g, const void *a, const void *b, const void *c,
                                 int64_t samples);
/* Two results that may both be rounded, element by element. */
struct value_check values_compare(const struct gemm *g, const void *a, const void *b, const void *c,
                                  const void *other);

#endif
