/* Products of one row with weights of 4 bits that are integers of 8 bits times scales of f16: few_halves_fn,
 * for AVX2. 32 codes are looked up at a time (VPSHUFB), and conversions round to f16. */
#include "base/float_bits.h"
#include "cpu/routines/routines.h"

#include <immintrin.h>

enum { SUMS = 4, LANES = 8, PART = SUMS * LANES }; /* a part of a line: its columns */

/* Makes a table of 16 bytes, twice. false: the values are not such integers. */
static bool table_of_bytes(const float *from, int8_t table[PART])
{
    bool fits = true;
    for (int i = 0; i < PART; i++) {
        const float x = from[i % 16], within = x >= -128 && x <= 127 ? x : 1;
        table[i] = (int8_t)within;
        fits &= f32_bits((float)table[i]) == f32_bits(x);
    }
    return fits;
}

/* Adds a part of a line of codes from column j on. table: of the lower half of a byte, which is the step
 * `low` of two, and of the upper half. */
static void add_part(float *c, const float *a, const uint8_t *codes, size_t j,
                     const struct weight_halves *w, const __m256i table[2], size_t low, size_t rows)
{
    const __m256i lower = _mm256_set1_epi8(15), tables[2] = {table[0], table[1]};
    const uint16_t *scale = (const uint16_t *)w->scale + j;
    _Alignas(PART) int8_t room[2][PART];
    __m256 sum[SUMS], by[SUMS];
    UNROLLED for (int v = 0; v < SUMS; v++) sum[v] = _mm256_loadu_ps(c + j + LANES * v);
    ROLLED
    for (size_t r = 0, end; r < rows; scale += w->scale_step / sizeof *scale) {
        UNROLLED for (int v = 0; v < SUMS; v++) by[v] =
            _mm256_cvtph_ps(_mm_loadu_si128((const void *)(scale + LANES * v)));
        end = rows - r < w->group ? rows : r + w->group;
        ROLLED
        for (; r < end; r++, a += 2) {
            const uint8_t *from = codes + r * w->row + j;
            const __m256i line = _mm256_loadu_si256((const void *)from);
            const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(line, 4), lower);
            PREFETCH_SECOND(from + w->ahead);
            _mm256_store_si256((void *)room[low],
                               _mm256_shuffle_epi8(tables[0], _mm256_and_si256(line, lower)));
            _mm256_store_si256((void *)room[1 - low], _mm256_shuffle_epi8(tables[1], upper));
            __asm__ volatile("" ::"r"(room) : "memory"); /* bytes of memory are widened at once */
            UNROLLED for (int u = 0; u < 2; u++)
            {
                UNROLLED for (int v = 0; v < SUMS; v++)
                {
                    const __m128i some = _mm_loadl_epi64((const void *)(room[u] + LANES * v));
                    const __m256 q = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(some));
                    const __m128i y =
                        _mm256_cvtps_ph(_mm256_mul_ps(q, by[v]), _MM_FROUND_TO_NEAREST_INT);
                    sum[v] = _mm256_fmadd_ps(_mm256_set1_ps(a[u]), _mm256_cvtph_ps(y), sum[v]);
                }
            }
        }
    }
    UNROLLED for (int v = 0; v < SUMS; v++) _mm256_storeu_ps(c + j + LANES * v, sum[v]);
}

extern few_halves_fn dot_few_halves_v3;
size_t dot_few_halves_v3(float *c, const float *a, const uint8_t *codes,
                         const struct weight_halves *w, size_t rows, size_t columns)
{
    const size_t low = w->shift[0] == 0 ? 0 : 1;
    __m256i table[2];
    if (w->zero || w->round != DT_F16 || w->scale_type != DT_F16 || w->shift[low] != 0 ||
        w->shift[1 - low] != 4 || !table_of_bytes(w->table[low], (int8_t *)&table[0]) ||
        !table_of_bytes(w->table[1 - low], (int8_t *)&table[1]))
        return 0;
    for (size_t j = 0; j < columns; j += PART)
        add_part(c, a, codes, j, w, table, low, rows);
    return columns;
}
