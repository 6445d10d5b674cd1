/* Products of matrices of doubles with their magnitudes, from which the oracle's error bounds
 * are computed. */
#include "cpu/routines/magnitude.h"
#include "cpu/routines/routines.h"

#include <math.h>
#include <string.h>

/* Rows at a time. Sums and magnitudes of ROWS × MAGNITUDE_PANEL stay in registers; there are 16
 * or 32 of these, of LANES doubles each. */
#if defined(ROUTINES_V3)
enum { ROWS = 4, LANES = 4 };
#elif defined(ROUTINES_NEON)
enum { ROWS = 4, LANES = 2 };
#else
enum { ROWS = 2, LANES = 2 };
#endif

#if defined(__GNUC__)

/* Written with the compilers' vector types: from plain loops compilers generate more shuffles
 * than additions here. */
typedef double vector __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t vector_bits __attribute__((vector_size(LANES * sizeof(double))));
enum { PARTS = MAGNITUDE_PANEL / LANES };

/* Multiplies ROWS rows. Requires: b is packed, with MAGNITUDE_PANEL columns in a row. */
static void block_rows(const double *restrict a, int64_t lda, const double *restrict b,
                       int64_t depth, double *restrict v, double *restrict magnitude)
{
    const vector_bits not_sign = ~((vector_bits){0} + INT64_MIN);
    vector sum[ROWS][PARTS] = {{{0}}}, size[ROWS][PARTS] = {{{0}}};
    for (int64_t p = 0; p < depth; p++) {
        vector columns[PARTS];
        for (int i = 0; i < PARTS; i++)
            memcpy(&columns[i], b + p * MAGNITUDE_PANEL + i * LANES, sizeof(vector));
        UNROLLED
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < PARTS; i++) {
                vector product = columns[i] * a[r * lda + p];
                sum[r][i] += product;
                size[r][i] += (vector)((vector_bits)product & not_sign);
            }
    }
    UNROLLED
    for (int i = 0; i < ROWS * PARTS; i++) {
        memcpy(v + i * LANES, &sum[i / PARTS][i % PARTS], sizeof(vector));
        memcpy(magnitude + i * LANES, &size[i / PARTS][i % PARTS], sizeof(vector));
    }
}

#else

static void one_row(const double *restrict a, const double *restrict b, int64_t depth,
                    double *restrict v, double *restrict magnitude);

static void block_rows(const double *restrict a, int64_t lda, const double *restrict b,
                       int64_t depth, double *restrict v, double *restrict magnitude)
{
    for (int r = 0; r < ROWS; r++)
        one_row(a + r * lda, b, depth, v + r * MAGNITUDE_PANEL, magnitude + r * MAGNITUDE_PANEL);
}

#endif

static void one_row(const double *restrict a, const double *restrict b, int64_t depth,
                    double *restrict v, double *restrict magnitude)
{
    double sum[MAGNITUDE_PANEL] = {0}, size[MAGNITUDE_PANEL] = {0};
    for (int64_t p = 0; p < depth; p++)
        for (int c = 0; c < MAGNITUDE_PANEL; c++) {
            double product = a[p] * b[p * MAGNITUDE_PANEL + c];
            sum[c] += product;
            size[c] += fabs(product);
        }
    for (int c = 0; c < MAGNITUDE_PANEL; c++) {
        v[c] = sum[c];
        magnitude[c] = size[c];
    }
}

void ROUTINE(routines_magnitude_block)(const double *a, int64_t lda, const double *b, int64_t depth,
                                       int64_t rows, double *v, double *magnitude)
{
    int64_t row = 0;
    for (; row + ROWS <= rows; row += ROWS)
        block_rows(a + row * lda, lda, b, depth, v + row * MAGNITUDE_PANEL,
                   magnitude + row * MAGNITUDE_PANEL);
    for (; row < rows; row++)
        one_row(a + row * lda, b, depth, v + row * MAGNITUDE_PANEL,
                magnitude + row * MAGNITUDE_PANEL);
}
