/* Checks the products that `bench` times.
 *
 * The tolerances are those of `ensures` (docs/language.md): twice the rounding bound of a sum of
 * K products in the type of the sum, plus the rounding of the result's type; and plus the bound of
 * the sums in a unit's fewer bits, which gemm.unit_terms tells. */
#ifndef TW_BENCH_VALUES_H
#define TW_BENCH_VALUES_H

#include "cli/gemm.h"

/* Factor of a product, row-major. Its elements are the first `period` ones, again and again. */
struct factor {
    tw_dtype dtype;
    const void *data;
    int64_t period; /* all elements, if nothing repeats */
};

struct value_check {
    bool ok;
    int64_t compared;   /* elements */
    double max_error;   /* largest difference */
    double worst_error; /* at the element that uses most of its tolerance, */
    double tolerance;   /* which is this */
    int64_t at;         /* index of that element in C */
};

/* Elements of C, computed in double precision: where some rows and columns cross. Rows are
 * counted through all matrices: row i of matrix z is row z·m + i. */
struct value_samples {
    int64_t row_count, column_count;
    int64_t *rows, *columns;     /* ascending, spread over C; with the first and the last */
    double *values, *magnitudes; /* [row_count][column_count]; magnitudes of the sums' parts */
};
/* Computes samples: 4096, or fewer if C has fewer, or if these would take more than 2^26
 * multiplications (but at least 64). The caller calls values_samples_free, for which NULL is
 * allowed. */
struct value_samples *values_samples(const struct gemm *g, const struct factor *a,
                                     const struct factor *b);
void values_samples_free(struct value_samples *x);
/* Compares c with the samples. only_rows: c has the rows of the samples only. */
struct value_check values_check(const struct gemm *g, const struct value_samples *x, const void *c,
                                bool only_rows);

/* Euclidean norms of all rows of A and columns of B. By Cauchy and Schwarz, the magnitudes of the
 * products of a row and a column add up to at most the product of their norms. */
struct value_norms {
    double *rows;    /* [batch][m] */
    double *columns; /* [batch][n] */
};
struct value_norms values_norms(const struct gemm *g, const struct factor *a,
                                const struct factor *b);
void values_norms_free(struct value_norms *x);
/* Compares two results, both of which may be rounded, element by element. Those of `other` are
 * sums in full precision. only: NULL, or both have the rows of these samples only. */
struct value_check values_compare(const struct gemm *g, const struct value_norms *n,
                                  const struct value_samples *only, const void *c,
                                  const void *other);

#endif
