/* Products with the magnitudes of their sums, for the error bounds of the oracle: routines_magnitude.c, compiled as routines.h says. */
#ifndef TW_MAGNITUDE_H
#define TW_MAGNITUDE_H

#include <stdint.h>

enum { MAGNITUDE_PANEL = 4 };
/* Computes v[r][c] = sum of a[r][p] b[p][c] over the depth, and magnitude[r][c], the sum of
 * their absolute values, for MAGNITUDE_PANEL columns; a's rows lie lda elements apart. */
typedef void magnitude_fn(const double *a, int64_t lda, const double *b, int64_t depth,
                          int64_t rows, double *v, double *magnitude);
magnitude_fn routines_magnitude_block_any, routines_magnitude_block_v3,
    routines_magnitude_block_neon;

#endif
