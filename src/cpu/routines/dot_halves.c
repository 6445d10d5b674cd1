/* Products of one row with weights of 4 bits, in registers: few_halves_fn, for AVX-512. A line of codes has
 * 64 columns, whose sums stay in four registers.
 *
 * A product q s of two numbers of a type whose significand has b bits fewer than that of f32 is rounded
 * to the type in two operations: if t is (2^b + 1) s q, rounded, then t - 2^b s q is q s rounded to the
 * nearest, ties to even (Dekker, "A floating-point technique for extending the available precision",
 * 1971). Both multiples of s are numbers of f32. Next to a power of two, t may have one bit less; this
 * does no harm, because the last bits of q s are 0. The result must be 0 or a normal number, and -0
 * becomes 0. If the type is f32, t is s q, and 0 is subtracted.
 *
 * With AVX512-FP16, an instruction rounds each product to f16 (routines_dot_halves.h). */
#include "base/float_bits.h"
#include "cpu/routines/routines.h"

#include <float.h>
#include <immintrin.h>

extern few_halves_fn dot_few_halves_v4;

#if defined(ROUTINES_FP16)
#define MULTIPLY_HALVES(x, y) (__m512i) _mm512_mul_ph((__m512h)(x), (__m512h)(y))
#define SUBTRACT_HALVES(x, y) (__m512i) _mm512_sub_ph((__m512h)(x), (__m512h)(y))
#define PERMUTE_BYTES _mm512_permutexvar_epi8
#define LOOK_UP_UPPER(at, table) _mm512_maskz_permutexvar_epi8(0xaaaaaaaaaaaaaaaa, at, table)
#include "cpu/routines/routines_dot_halves.h"

extern few_halves_fn dot_few_halves_fp16;
size_t dot_few_halves_fp16(float *c, const float *a, const uint8_t *codes,
                           const struct weight_halves *w, size_t rows, size_t columns)
{
    return add_f16_halves(c, a, codes, w, rows, columns)
               ? columns
               : dot_few_halves_v4(c, a, codes, w, rows, columns);
}
#else
/* How weights are rounded to a type: the multiples of s above. */
struct splitting {
    float of_t, high;
    uint32_t rest;     /* bits of f32 that the type lacks */
    float least, most; /* absolute values of scales */
    float most_zero;
};

/* zeros: numbers of up to 271 are scaled, not of 16. */
static struct splitting splitting_of(enum dtype type, bool zeros)
{
    if (type == DT_F16)
        return (struct splitting){0x1p13f + 1, 0x1p13f, 0x1fff, 0x1p-13f, zeros ? 240 : 4094, 255};
    if (type == DT_BF16)
        return (struct splitting){0x1p16f + 1, 0x1p16f, 0xffff, 0x1p-40f, 0x1p96f, 240};
    return (struct splitting){1, 0, 0, 0, FLT_MAX, 255};
}

enum { VECTORS = CACHE_LINE / 16 };

/* Loads the scales of a line from column j on. */
static INLINED void load_scales(__m512 scale[VECTORS], const void *from, enum dtype type, size_t j)
{
    const __m256i *const halves = (const void *)((const uint16_t *)from + j);
    if (type == DT_F32)
        UNROLLED for (int v = 0; v < VECTORS; v++) scale[v] =
            _mm512_loadu_ps((const float *)from + j + 16 * v);
    else if (type == DT_F16)
        UNROLLED for (int v = 0; v < VECTORS; v++) scale[v] =
            _mm512_cvtph_ps(_mm256_loadu_si256(halves + v));
    else
        UNROLLED for (int v = 0; v < VECTORS; v++) scale[v] = _mm512_castsi512_ps(
            _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(halves + v)), 16));
}

/* Loads 16 bytes as 32-bit integers. */
static INLINED __m512i widen_bytes(const uint8_t *from)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)from));
}

/* Returns the elements whose absolute values are not from `least` to `most`. */
static INLINED __mmask16 outside(__m512i x, float least, float most)
{
    const uint32_t low = f32_bits(least);
    const __m512i size = _mm512_and_si512(x, _mm512_set1_epi32(INT32_MAX));
    return _mm512_cmpgt_epu32_mask(_mm512_sub_epi32(size, _mm512_set1_epi32((int)low)),
                                   _mm512_set1_epi32((int)(f32_bits(most) - low)));
}

/* Returns the elements that are not 0 and not such numbers. */
static INLINED __mmask16 strange(__m512i x, float least, float most)
{
    const __m512i size = _mm512_set1_epi32(INT32_MAX);
    return _mm512_mask_test_epi32_mask(outside(x, least, most), x, size);
}

/* Returns whether tables and elements of a row have usual sizes and bits. */
static bool are_usual(const float *a, const struct weight_halves *w, const struct splitting *s,
                      size_t rows)
{
    const __m512i rest = _mm512_set1_epi32((int)s->rest);
    __mmask16 wrong = 0;
    UNROLLED for (int u = 0; u < 2; u++)
    {
        const __m512i values = _mm512_loadu_si512(w->table[u]);
        wrong |= _mm512_test_epi32_mask(values, rest) | strange(values, 0.5f, 16);
    }
    ROLLED
    for (size_t i = 0; i < 2 * rows; i += 16) {
        const __mmask16 mask = (__mmask16)((1u << (2 * rows - i < 16 ? 2 * rows - i : 16)) - 1);
        wrong |= strange(_mm512_maskz_loadu_epi32(mask, a + i), 0x1p-64f, 0x1p96f);
    }
    return wrong == 0;
}

/* Sorts a line of columns: lane i of vector v gets column 4 i + v, which is byte v of the i-th four
 * codes. */
static INLINED void sort_columns(__m512 x[VECTORS])
{
    static const uint8_t order[16] = {0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29};
    const __m512i first = widen_bytes(order), third = _mm512_add_epi32(first, _mm512_set1_epi32(2));
    const __m512 a = _mm512_permutex2var_ps(x[0], first, x[1]);
    const __m512 b = _mm512_permutex2var_ps(x[2], first, x[3]);
    const __m512 c = _mm512_permutex2var_ps(x[0], third, x[1]);
    const __m512 d = _mm512_permutex2var_ps(x[2], third, x[3]);
    x[0] = _mm512_shuffle_f32x4(a, b, 0x44);
    x[1] = _mm512_shuffle_f32x4(a, b, 0xee);
    x[2] = _mm512_shuffle_f32x4(c, d, 0x44);
    x[3] = _mm512_shuffle_f32x4(c, d, 0xee);
}

/* Puts sorted columns in their order. */
static INLINED void order_columns(__m512 x[VECTORS])
{
    static const uint8_t order[16] = {0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27};
    const __m512i lower = widen_bytes(order), upper = _mm512_add_epi32(lower, _mm512_set1_epi32(4));
    const __m512 a = _mm512_shuffle_f32x4(x[0], x[1], 0x44);
    const __m512 b = _mm512_shuffle_f32x4(x[2], x[3], 0x44);
    const __m512 c = _mm512_shuffle_f32x4(x[0], x[1], 0xee);
    const __m512 d = _mm512_shuffle_f32x4(x[2], x[3], 0xee);
    x[0] = _mm512_permutex2var_ps(a, lower, b);
    x[1] = _mm512_permutex2var_ps(a, upper, b);
    x[2] = _mm512_permutex2var_ps(c, lower, d);
    x[3] = _mm512_permutex2var_ps(c, upper, d);
}

/* Multiples of the scales, and zero points, of a group of rows, for a line of sorted columns. */
struct line_scales {
    __m512 of_t[VECTORS], high[VECTORS], zero[VECTORS];
};

/* The scales and zero points of all groups of a line: the least and the greatest sizes, and all bits. */
struct scales_seen {
    __m512i least, most, bits;
    __m512 zero;
};

/* Reads the scales and zero points of a group from column j on. */
static INLINED struct line_scales read_group(struct scales_seen *seen, size_t group, size_t j,
                                             const struct weight_halves *w,
                                             const struct splitting *s)
{
    const unsigned char *from = (const unsigned char *)w->scale + group * w->scale_step;
    const unsigned char *zero = (const unsigned char *)w->zero + group * w->zero_step;
    struct line_scales by;
    load_scales(by.high, from, w->scale_type, j);
    UNROLLED for (int v = 0; v < VECTORS; v++)
    {
        const __m512i bits = _mm512_castps_si512(by.high[v]);
        const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MAX));
        seen->least = _mm512_min_epu32(seen->least, size);
        seen->most = _mm512_max_epu32(seen->most, size);
        seen->bits = _mm512_or_si512(seen->bits, bits);
        if (w->zero) {
            by.zero[v] = _mm512_cvtepi32_ps(widen_bytes(zero + j + 16 * (size_t)v));
            seen->zero = _mm512_max_ps(seen->zero, by.zero[v]);
        }
    }
    sort_columns(by.high);
    if (w->zero)
        sort_columns(by.zero);
    UNROLLED for (int v = 0; v < VECTORS; v++)
    {
        by.of_t[v] = _mm512_mul_ps(by.high[v], _mm512_set1_ps(s->of_t));
        by.high[v] = _mm512_mul_ps(by.high[v], _mm512_set1_ps(s->high));
    }
    return by;
}

/* Returns whether the splitting rounds the products of the scales. Zero points above 240 could make
 * integers that bf16 does not have. */
static INLINED bool splits(const struct scales_seen *seen, const struct splitting *s)
{
    return (outside(seen->least, s->least, s->most) | outside(seen->most, s->least, s->most) |
            _mm512_cmp_ps_mask(seen->zero, _mm512_set1_ps(s->most_zero), _CMP_GT_OQ) |
            _mm512_test_epi32_mask(seen->bits, _mm512_set1_epi32((int)s->rest))) == 0;
}

/* Rows of codes that have the same scales, from one column on. */
struct line_rows {
    const uint8_t *codes;
    const float *a;
    size_t count;
};

/* Adds the columns of a line of rows. */
static INLINED void add_rows(__m512 sum[VECTORS], struct line_rows rows,
                             const struct line_scales *by, const struct weight_halves *w,
                             const bool zeros)
{
    const __m512 values[2] = {_mm512_loadu_ps(w->table[0]), _mm512_loadu_ps(w->table[1])};
    const __m512i shift[2] = {_mm512_set1_epi32(w->shift[0]), _mm512_set1_epi32(w->shift[1])};
    const size_t row = w->row, ahead = w->ahead;
    ROLLED
    for (; rows.count > 0; rows.count--, rows.codes += row, rows.a += 2) {
        const __m512i line = _mm512_loadu_si512(rows.codes);
        const __m512 x[2] = {_mm512_set1_ps(rows.a[0]), _mm512_set1_ps(rows.a[1])};
        PREFETCH_SECOND(rows.codes + ahead);
        UNROLLED for (int u = 0; u < 2; u++)
        {
            const __m512i part = _mm512_srlv_epi32(line, shift[u]);
            UNROLLED for (int v = 0; v < VECTORS; v++)
            {
                const __m512i at = v > 0 ? _mm512_srli_epi32(part, 8 * (unsigned)v) : part;
                __m512 q = _mm512_permutexvar_ps(at, values[u]);
                if (zeros)
                    q = _mm512_sub_ps(q, by->zero[v]);
                const __m512 y = _mm512_fnmadd_ps(q, by->high[v], _mm512_mul_ps(q, by->of_t[v]));
                sum[v] = _mm512_fmadd_ps(x[u], y, sum[v]);
            }
        }
    }
}

/* Adds the columns of a line of codes from column j on. false: it has added nothing, because of the
 * values of scales or sums. It makes no difference that a product of -0 becomes 0 unless the sum is -0,
 * and no later sum is: a sum that is not 0 is at least 2^-149. */
static bool add_line(float *c, const float *a, const uint8_t *codes, size_t j,
                     const struct weight_halves *w, const struct splitting *s, size_t rows)
{
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    struct scales_seen seen = {.least = sign};
    __m512i least = _mm512_setzero_si512(); /* the sums' bits: those of -0 are the least */
    __m512 sum[VECTORS];
    UNROLLED for (int v = 0; v < VECTORS; v++)
    {
        sum[v] = _mm512_loadu_ps(c + j + 16 * v);
        least = _mm512_min_epi32(least, _mm512_castps_si512(sum[v]));
    }
    sort_columns(sum);
    ROLLED
    for (size_t r = 0, group = 0, some; r < rows; r += some, group++) {
        const struct line_scales by = read_group(&seen, group, j, w, s);
        some = rows - r < w->group ? rows - r : w->group;
        const struct line_rows part = {codes + r * w->row + j, a + 2 * r, some};
        if (w->zero)
            add_rows(sum, part, &by, w, true);
        else
            add_rows(sum, part, &by, w, false);
    }
    if (_mm512_cmpeq_epi32_mask(least, sign) || !splits(&seen, s))
        return false;
    order_columns(sum);
    UNROLLED for (int v = 0; v < VECTORS; v++) _mm512_storeu_ps(c + j + 16 * v, sum[v]);
    return true;
}

size_t dot_few_halves_v4(float *c, const float *a, const uint8_t *codes,
                         const struct weight_halves *w, size_t rows, size_t columns)
{
    const struct splitting s = splitting_of(w->round, w->zero);
    size_t j = 0;
    if ((w->zero && w->zero_type != DT_U8) || w->shift[1] + w->shift[0] != 4 ||
        !are_usual(a, w, &s, rows))
        return 0;
    while (j < columns && add_line(c, a, codes, j, w, &s, rows))
        j += CACHE_LINE;
    return j;
}
#endif
