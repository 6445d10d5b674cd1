/* Products of one row with weights of 4 bits that are rounded to f16 by the instructions of
 * AVX512-FP16. dot_halves.c includes it and has the macros, of 32 numbers of f16 in a __m512i:
 *
 *   MULTIPLY_HALVES, SUBTRACT_HALVES   x * y, x - y, each rounded to the nearest, ties to even
 *
 * Weights go through memory to become f32: a conversion of half a register takes two operations, of
 * memory one. So 128 weights take 28 operations: 2 to widen codes, 2 shifts, 4 look-ups, 4 products, 8
 * conversions and 8 multiply-adds; zero points take 4 more. The rounding is that of f16 for all values,
 * so scales are not tested. */
#include "cpu/routines.h"

#include <immintrin.h>

enum { LINE_WORDS = CACHE_LINE / 2 };

/* Loads 32 numbers of f16, or bytes that become such numbers. */
static INLINED __m512i load_halves(const void *from, enum dtype type, size_t at)
{
    __m256i half[2];
    if (type == DT_F16)
        return _mm512_loadu_si512((const uint16_t *)from + at);
    UNROLLED for (int i = 0; i < 2; i++)
    {
        const void *bytes = (const uint8_t *)from + at + 16 * i;
        const __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes));
        half[i] = _mm512_cvtps_ph(_mm512_cvtepi32_ps(wide), _MM_FROUND_TO_NEAREST_INT);
    }
    return _mm512_inserti64x4(_mm512_castsi256_si512(half[0]), half[1], 1);
}

/* Makes a table of 32 numbers, twice the 16 numbers of the table for a step. false: they are not
 * numbers of f16. */
static INLINED bool table_of_halves(const float *from, __m512i *table)
{
    const __m512 values = _mm512_loadu_ps(from);
    const __m256i some = _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT);
    *table = _mm512_broadcast_i64x4(some);
    return _mm512_cmp_ps_mask(_mm512_cvtph_ps(some), values, _CMP_NEQ_UQ) == 0;
}

/* Adds the columns of a line of codes from column j on. table: of the lower half of a byte, which is the
 * step `low` of two, and of the upper half. */
static INLINED void add_f16_line(float *c, const float *a, const uint8_t *codes, size_t j,
                                 const struct weight_halves *w, const __m512i table[2], size_t low,
                                 const bool zeros, size_t rows)
{
    enum { SUMS = 4, PARTS = 2 };
    _Alignas(CACHE_LINE) uint16_t room[2][PARTS * LINE_WORDS];
    const size_t row = w->row, ahead = w->ahead;
    const unsigned char *scale = w->scale, *from = w->zero;
    __m512 sum[SUMS];
    __m512i by[PARTS], zero[PARTS];
    UNROLLED for (int v = 0; v < SUMS; v++) sum[v] = _mm512_loadu_ps(c + j + 16 * v);
    ROLLED
    for (size_t r = 0, end; r < rows; scale += w->scale_step) {
        UNROLLED for (int p = 0; p < PARTS; p++)
        {
            by[p] = load_halves(scale, DT_F16, j + LINE_WORDS * (size_t)p);
            zero[p] = zeros ? load_halves(from, w->zero_type, j + LINE_WORDS * (size_t)p) : by[p];
        }
        from += zeros ? w->zero_step : 0;
        end = rows - r < w->group ? rows : r + w->group;
        ROLLED
        for (; r < end; r++, codes += row, a += 2) {
            PREFETCH_SECOND(codes + j + ahead);
            UNROLLED for (int p = 0; p < PARTS; p++)
            {
                const __m512i bytes = _mm512_cvtepu8_epi16(
                    _mm256_loadu_si256((const __m256i *)(const void *)(codes + j) + p));
                UNROLLED for (int u = 0; u < 2; u++)
                {
                    const __m512i at = u == 0 ? bytes : _mm512_srli_epi16(bytes, 4);
                    __m512i x = _mm512_permutexvar_epi16(at, table[u]);
                    if (zeros)
                        x = SUBTRACT_HALVES(x, zero[p]);
                    _mm512_store_si512(room[low ^ (size_t)u] + LINE_WORDS * p,
                                       MULTIPLY_HALVES(x, by[p]));
                }
            }
            __asm__ volatile("" ::"r"(room) : "memory"); /* the weights go through memory */
            UNROLLED for (int u = 0; u < 2; u++)
            {
                const __m512 x = _mm512_set1_ps(a[u]);
                UNROLLED for (int v = 0; v < SUMS; v++)
                {
                    const __m256i *at = (const __m256i *)(const void *)room[u] + v;
                    sum[v] = _mm512_fmadd_ps(x, _mm512_cvtph_ps(_mm256_load_si256(at)), sum[v]);
                }
            }
        }
    }
    UNROLLED for (int v = 0; v < SUMS; v++) _mm512_storeu_ps(c + j + 16 * v, sum[v]);
}

/* Does the work of a few_halves_fn. false: it has added nothing, because a value of a table is not a
 * number of f16. */
static bool add_f16_halves(float *c, const float *a, const uint8_t *codes,
                           const struct weight_halves *w, size_t rows, size_t columns)
{
    const size_t low = w->shift[0] == 0 ? 0 : 1;
    __m512i table[2];
    if (w->round != DT_F16 || w->scale_type != DT_F16 || w->shift[low] != 0 ||
        w->shift[1 - low] != 4 || !table_of_halves(w->table[low], &table[0]) ||
        !table_of_halves(w->table[1 - low], &table[1]))
        return false;
    for (size_t j = 0; j < columns; j += CACHE_LINE)
        if (w->zero)
            add_f16_line(c, a, codes, j, w, table, low, true, rows);
        else
            add_f16_line(c, a, codes, j, w, table, low, false, rows);
    return true;
}
