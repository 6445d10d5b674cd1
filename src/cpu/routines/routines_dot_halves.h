/* Products of one row with weights of 4 bits that are rounded to f16 by the instructions of
 * AVX512-FP16. dot_halves.c includes it and has the macros, of 32 numbers of f16 in a __m512i:
 *
 *   MULTIPLY_HALVES, SUBTRACT_HALVES   x * y, x - y, each rounded to the nearest, ties to even
 *   PERMUTE_BYTES                      bytes of a table at the lower 6 bits of each byte of an index
 *   LOOK_UP_UPPER                      the same for the upper byte of each number; the lower one is 0
 *
 * Weights go through memory to become f32: a conversion of half a register takes two operations, of
 * memory one. So 128 weights take 28 operations: 1 to pair columns, 3 shifts, 4 look-ups, 4 products, 8
 * conversions and 8 multiply-adds; zero points take 4 more. The look-ups are of bytes (VPERMB), because
 * those of words (VPERMW) take two operations on processors of Intel. So only upper bytes come from a
 * table: 0, and numbers with up to three significant bits, such as -8 to 7. Other tables are of words.
 * The rounding is that of f16 for all values, so scales are not tested. */
#include "cpu/routines/routines.h"

#include <immintrin.h>

enum { LINE_WORDS = CACHE_LINE / 2 };

/* Loads 32 numbers of f16, or bytes that become such numbers. */
static APART __m512i load_halves(const void *from, enum dtype type, size_t at)
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

/* Makes two tables from the 16 numbers of a step's table: these numbers twice, and their upper bytes four
 * times. false: they are not numbers of f16. *bytes becomes false if a lower byte is not 0. */
static APART bool table_of_halves(const float *from, __m512i table[2], bool *bytes)
{
    const __m512 values = _mm512_loadu_ps(from);
    const __m256i some = _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT);
    table[false] = _mm512_broadcast_i64x4(some);
    table[true] = _mm512_broadcast_i32x4(_mm256_cvtepi16_epi8(_mm256_srli_epi16(some, 8)));
    *bytes &= _mm256_test_epi16_mask(some, _mm256_set1_epi16(0xff)) == 0;
    return _mm512_cmp_ps_mask(_mm512_cvtph_ps(some), values, _CMP_NEQ_UQ) == 0;
}

enum { SUMS = 4, PARTS = 2 }; /* vectors of f32 and of f16 that a line of columns has */

/* Rows of codes that have the same scales and zero points, from one column on. table: of the lower half
 * of a byte, which is the step `low` of two, and of the upper half. */
struct f16_rows {
    const uint8_t *codes;
    const float *a;
    size_t count, row, ahead, low;
    __m512i by[PARTS], zero[PARTS], table[2];
};

/* Looks up 32 columns from 32 p on, of the lower (u == 0) or the upper halves of the bytes of a line; it
 * has pairs of columns 32 apart. */
static INLINED __m512i looked_up_halves(__m512i line, int p, int u, __m512i table, bool bytes)
{
    if (bytes)
        return LOOK_UP_UPPER(p == 0   ? _mm512_slli_epi16(line, u == 0 ? 8 : 4)
                             : u == 0 ? line
                                      : _mm512_srli_epi16(line, 4),
                             table);
    if (p == 1)
        line = _mm512_srli_epi16(line, 8);
    return _mm512_permutexvar_epi16(u == 0 ? line : _mm512_srli_epi16(line, 4), table);
}

/* Adds the columns of a line of rows. Without a table of bytes, zero points are subtracted. */
static INLINED void add_f16_rows(__m512 sum[SUMS], struct f16_rows r, const bool bytes)
{
    static const uint8_t pairs[CACHE_LINE] = {
#define PAIRS(i) (i), (i) + 32, (i) + 1, (i) + 33, (i) + 2, (i) + 34, (i) + 3, (i) + 35
        PAIRS(0),  PAIRS(4),  PAIRS(8), PAIRS(12), PAIRS(16),
        PAIRS(20), PAIRS(24), PAIRS(28)
#undef PAIRS
    };
    const __m512i order = _mm512_loadu_si512(pairs);
    _Alignas(CACHE_LINE) uint16_t room[2][PARTS * LINE_WORDS];
    ROLLED
    for (; r.count > 0; r.count--, r.codes += r.row, r.a += 2) {
        const __m512i line = PERMUTE_BYTES(order, _mm512_loadu_si512(r.codes));
        PREFETCH_SECOND(r.codes + r.ahead);
        UNROLLED for (int p = 0; p < PARTS; p++)
        {
            UNROLLED for (int u = 0; u < 2; u++)
            {
                __m512i x = looked_up_halves(line, p, u, r.table[u], bytes);
                if (!bytes)
                    x = SUBTRACT_HALVES(x, r.zero[p]);
                _mm512_store_si512(room[r.low ^ (size_t)u] + LINE_WORDS * p,
                                   MULTIPLY_HALVES(x, r.by[p]));
            }
        }
        __asm__ volatile("" ::"r"(room) : "memory"); /* the weights go through memory */
        UNROLLED for (int u = 0; u < 2; u++)
        {
            const __m512 x = _mm512_set1_ps(r.a[u]);
            UNROLLED for (int v = 0; v < SUMS; v++)
            {
                const __m256i *at = (const __m256i *)(const void *)room[u] + v;
                sum[v] = _mm512_fmadd_ps(x, _mm512_cvtph_ps(_mm256_load_si256(at)), sum[v]);
            }
        }
    }
}

/* Adds the columns of a line of codes from column j on. */
static void add_f16_line(float *c, const float *a, const uint8_t *codes, size_t j,
                         const struct weight_halves *w, __m512i table[2][2], bool bytes,
                         size_t rows)
{
    const unsigned char *scale = w->scale, *zeros = w->zero;
    struct f16_rows part = {.row = w->row, .ahead = w->ahead, .low = w->shift[0] == 0 ? 0 : 1};
    __m512 sum[SUMS];
    part.table[0] = table[0][bytes];
    part.table[1] = table[1][bytes];
    UNROLLED for (int v = 0; v < SUMS; v++) sum[v] = _mm512_loadu_ps(c + j + 16 * v);
    ROLLED
    for (size_t r = 0; r < rows; r += part.count, scale += w->scale_step) {
        ROLLED
        for (size_t p = 0; p < PARTS; p++) {
            const size_t at = j + LINE_WORDS * p;
            part.by[p] = _mm512_loadu_si512((const uint16_t *)(const void *)scale + at);
            part.zero[p] = zeros ? load_halves(zeros, w->zero_type, at) : _mm512_setzero_si512();
        }
        zeros += zeros ? w->zero_step : 0;
        part.codes = codes + r * w->row + j;
        part.a = a + 2 * r;
        part.count = rows - r < w->group ? rows - r : w->group;
        if (bytes)
            add_f16_rows(sum, part, true);
        else
            add_f16_rows(sum, part, false);
    }
    UNROLLED for (int v = 0; v < SUMS; v++) _mm512_storeu_ps(c + j + 16 * v, sum[v]);
}

/* Does the work of a few_halves_fn. false: it has added nothing, because a value of a table is not a
 * number of f16. */
static bool add_f16_halves(float *c, const float *a, const uint8_t *codes,
                           const struct weight_halves *w, size_t rows, size_t columns)
{
    const size_t low = w->shift[0] == 0 ? 0 : 1;
    __m512i table[2][2];
    bool bytes = !w->zero;
    if (w->round != DT_F16 || w->scale_type != DT_F16 || w->shift[low] != 0 ||
        w->shift[1 - low] != 4 || !table_of_halves(w->table[low], table[0], &bytes) ||
        !table_of_halves(w->table[1 - low], table[1], &bytes))
        return false;
    for (size_t j = 0; j < columns; j += CACHE_LINE)
        add_f16_line(c, a, codes, j, w, table, bytes, rows);
    return true;
}
