/* Products of few rows by a right operand whose columns are contiguous (dot_turned_fn), with AVX-512:
 * squares of 16 columns of 16 groups of 4 bytes are transposed in registers. A group is an f32, or
 * two bf16. Each line of the cache is read by one load: lines of columns that are a power of two
 * apart may fall in one set of the first-level cache. */
#ifndef TW_ROUTINES_DOT_TURNED_H
#define TW_ROUTINES_DOT_TURNED_H

#include "cpu/routines.h"

#include <immintrin.h>

/* Columns, and groups of a column, that are transposed together; squares whose sums are computed
 * together, because each sum waits for its last addition. */
enum { SQUARE = 16, SQUARES = 2 };

/* Transposes 4 × 4 groups in each quarter: from four columns to four groups. */
static INLINED void turn_quarters(__m512 x[4])
{
    const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(x[0], x[1])),
                  low23 = _mm512_castps_pd(_mm512_unpacklo_ps(x[2], x[3])),
                  high01 = _mm512_castps_pd(_mm512_unpackhi_ps(x[0], x[1])),
                  high23 = _mm512_castps_pd(_mm512_unpackhi_ps(x[2], x[3]));
    x[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23));
    x[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23));
    x[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23));
    x[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23));
}

/* Writes group u of the square's columns to `to` + u * step. */
static INLINED void turn_square(float *to, size_t step, const unsigned char *b, size_t column)
{
    enum { EVEN = 0x88, ODD = 0xdd }; /* quarters 0 and 2, 1 and 3 of two vectors */
    __m512 x[4][4];
    UNROLLED
    for (size_t q = 0; q < 4; q++) {
        UNROLLED
        for (size_t i = 0; i < 4; i++)
            x[q][i] = _mm512_loadu_ps(b + (4 * q + i) * column);
        turn_quarters(x[q]);
    }
    UNROLLED
    for (size_t i = 0; i < 4; i++) {
        const __m512 even01 = _mm512_shuffle_f32x4(x[0][i], x[1][i], EVEN),
                     even23 = _mm512_shuffle_f32x4(x[2][i], x[3][i], EVEN),
                     odd01 = _mm512_shuffle_f32x4(x[0][i], x[1][i], ODD),
                     odd23 = _mm512_shuffle_f32x4(x[2][i], x[3][i], ODD);
        _mm512_storeu_ps(to + i * step, _mm512_shuffle_f32x4(even01, even23, EVEN));
        _mm512_storeu_ps(to + (4 + i) * step, _mm512_shuffle_f32x4(odd01, odd23, EVEN));
        _mm512_storeu_ps(to + (8 + i) * step, _mm512_shuffle_f32x4(even01, even23, ODD));
        _mm512_storeu_ps(to + (12 + i) * step, _mm512_shuffle_f32x4(odd01, odd23, ODD));
    }
}

/* Adds the steps of k that the squares have to a row of sums. */
static INLINED void add_squares(const bool pairs, float *c, const float *a, const float *from)
{
    const __m512i mask = _mm512_set1_epi32(-0x10000);
    __m512 sum[SQUARES];
    UNROLLED
    for (int v = 0; v < SQUARES; v++)
        sum[v] = _mm512_loadu_ps(c + v * SQUARE);
    ROLLED
    for (int u = 0; u < SQUARE; u++, from += SQUARES * SQUARE, a += pairs ? 2 : 1)
        UNROLLED
    for (int v = 0; v < SQUARES; v++) {
        const __m512 y = _mm512_loadu_ps(from + v * SQUARE);
        const __m512i bits = _mm512_castps_si512(y);
        const __m512 first = pairs ? _mm512_castsi512_ps(_mm512_and_si512(bits, mask)) : y;
        sum[v] = _mm512_fmadd_ps(_mm512_set1_ps(a[0]), first, sum[v]);
        if (pairs) {
            const __m512 second = _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
            sum[v] = _mm512_fmadd_ps(_mm512_set1_ps(a[1]), second, sum[v]);
        }
    }
    UNROLLED
    for (int v = 0; v < SQUARES; v++)
        _mm512_storeu_ps(c + v * SQUARE, sum[v]);
}

static INLINED void add_turned(const bool pairs, float *c, const float *a, const unsigned char *b,
                               size_t m, size_t n, size_t k, const struct dot_few_strides *s)
{
    enum { WIDTH = SQUARES * SQUARE };
    _Alignas(CACHE_LINE) float room[SQUARE][WIDTH];
    const size_t steps = pairs ? 2 * SQUARE : SQUARE;
    for (size_t j = 0; j < n; j += WIDTH, b += WIDTH * s->b)
        for (size_t p = 0; p < k; p += steps) {
            const unsigned char *from = b + p / steps * CACHE_LINE;
            ROLLED
            for (size_t v = 0; v < WIDTH; v += SQUARE)
                turn_square(room[0] + v, WIDTH, from + v * s->b, s->b);
            ROLLED
            for (size_t r = 0; r < m; r++)
                add_squares(pairs, c + r * s->c + j, a + r * s->a + p, room[0]);
        }
}

static void turned_f32(float *c, const float *a, const void *b, size_t m, size_t n, size_t k,
                       const struct dot_few_strides *s)
{
    add_turned(false, c, a, b, m, n, k, s);
}

static void turned_bf16(float *c, const float *a, const void *b, size_t m, size_t n, size_t k,
                        const struct dot_few_strides *s)
{
    add_turned(true, c, a, b, m, n, k, s);
}

#endif
