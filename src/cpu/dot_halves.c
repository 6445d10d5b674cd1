/* Products of one row with weights of 4 bits, in registers: few_halves_fn, for AVX-512. A line of codes
 * has 64 columns, whose sums stay in four registers.
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
#include "cpu/routines.h"

#include <float.h>
#include <immintrin.h>

extern few_halves_fn dot_few_halves_v4;

#if defined(ROUTINES_FP16)
#define MULTIPLY_HALVES(x, y) (__m512i) _mm512_mul_ph((__m512h)(x), (__m512h)(y))
#define SUBTRACT_HALVES(x, y) (__m512i) _mm512_sub_ph((__m512h)(x), (__m512h)(y))
#include "cpu/routines_dot_halves.h"

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

static INLINED __m512 load_scales(const void *from, enum dtype type, size_t at)
{
    if (type == DT_F32)
        return _mm512_loadu_ps((const float *)from + at);
    const __m256i some = _mm256_loadu_si256((const void *)((const uint16_t *)from + at));
    if (type == DT_F16)
        return _mm512_cvtph_ps(some);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(some), 16));
}

static INLINED __m512 load_zeros(const uint8_t *from)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)from)));
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

/* Returns the number of columns, for a loop that compilers must not unroll. */
static INLINED size_t all_columns(void)
{
    size_t count = HALVES_COLUMNS;
    __asm__("" : "+r"(count));
    return count;
}

/* The scales and zero points of some columns, as f32. */
struct by_column {
    float scale[HALVES_COLUMNS], zero[HALVES_COLUMNS];
};

/* Reads those from column j on. Returns whether the splitting then rounds the products. It makes no
 * difference that -0 becomes 0, because no sum is -0: a sum that is not 0 is at least 2^-149. Zero
 * points above 240 could make integers that bf16 does not have. */
static bool splits(struct by_column *by, const float *c, size_t j, const struct weight_halves *w,
                   const struct splitting *s)
{
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    __m512i least = sign, most = _mm512_setzero_si512(), bits = most, sum = most;
    __m512 zero = _mm512_setzero_ps();
    ROLLED
    for (size_t i = 0, end = all_columns(); i < end; i += 16) {
        const __m512 scale = load_scales(w->scale, w->scale_type, j + i);
        const __m512i as_bits = _mm512_castps_si512(scale);
        const __m512i size = _mm512_andnot_si512(sign, as_bits);
        least = _mm512_min_epu32(least, size);
        most = _mm512_max_epu32(most, size);
        bits = _mm512_or_si512(bits, as_bits);
        sum = _mm512_min_epi32(sum, _mm512_loadu_si512(c + j + i));
        _mm512_storeu_ps(by->scale + i, scale);
        if (w->zero) {
            const __m512 zeros = load_zeros((const uint8_t *)w->zero + j + i);
            zero = _mm512_max_ps(zero, zeros);
            _mm512_storeu_ps(by->zero + i, zeros);
        }
    }
    return (outside(least, s->least, s->most) | outside(most, s->least, s->most) |
            _mm512_cmp_ps_mask(zero, _mm512_set1_ps(s->most_zero), _CMP_GT_OQ) |
            _mm512_test_epi32_mask(bits, _mm512_set1_epi32((int)s->rest)) |
            _mm512_cmpeq_epi32_mask(sum, sign)) == 0;
}

/* How the steps of a row of codes are computed: the lower or the upper half of a byte is the first one;
 * in any order, with zero points. */
enum line_form { LOWER_FIRST, UPPER_FIRST, WITH_ZEROS };

/* Adds the columns of a line of codes from column j on. */
static INLINED void add_line(float *c, const float *a, const uint8_t *codes, size_t j,
                             const struct by_column *by, const struct weight_halves *w,
                             const struct splitting *s, const enum line_form form, size_t rows)
{
    enum { VECTORS = CACHE_LINE / 16 };
    __m512 sum[VECTORS], of_t[VECTORS], high[VECTORS], zero[VECTORS];
    const __m512 values[2] = {_mm512_loadu_ps(w->table[0]), _mm512_loadu_ps(w->table[1])};
    const __m512i shift[2] = {_mm512_set1_epi32(w->shift[0]), _mm512_set1_epi32(w->shift[1])};
    UNROLLED for (int v = 0; v < VECTORS; v++)
    {
        const size_t at = j % HALVES_COLUMNS + 16 * (size_t)v;
        const __m512 scale = _mm512_loadu_ps(by->scale + at);
        sum[v] = _mm512_loadu_ps(c + j + 16 * v);
        of_t[v] = _mm512_mul_ps(scale, _mm512_set1_ps(s->of_t));
        high[v] = _mm512_mul_ps(scale, _mm512_set1_ps(s->high));
        if (form == WITH_ZEROS)
            zero[v] = _mm512_loadu_ps(by->zero + at);
    }
    ROLLED
    for (size_t r = 0; r < rows; r++, codes += w->row, a += 2) {
        const __m512 x[2] = {_mm512_set1_ps(a[0]), _mm512_set1_ps(a[1])};
        PREFETCH_SECOND(codes + j + w->ahead);
        UNROLLED for (int v = 0; v < VECTORS; v++)
        {
            const __m512i low = _mm512_cvtepu8_epi32(
                _mm_loadu_si128((const __m128i *)(const void *)(codes + j) + v));
            UNROLLED for (int u = 0; u < 2; u++)
            {
                const __m512i at = form == WITH_ZEROS ? _mm512_srlv_epi32(low, shift[u])
                                   : (u == 0) == (form == UPPER_FIRST) ? _mm512_srli_epi32(low, 4)
                                                                       : low;
                __m512 q = _mm512_permutexvar_ps(at, values[u]);
                if (form == WITH_ZEROS)
                    q = _mm512_sub_ps(q, zero[v]);
                const __m512 y = _mm512_fnmadd_ps(q, high[v], _mm512_mul_ps(q, of_t[v]));
                sum[v] = _mm512_fmadd_ps(x[u], y, sum[v]);
            }
        }
    }
    UNROLLED for (int v = 0; v < VECTORS; v++) _mm512_storeu_ps(c + j + 16 * v, sum[v]);
}

size_t dot_few_halves_v4(float *c, const float *a, const uint8_t *codes,
                         const struct weight_halves *w, size_t rows, size_t columns)
{
    const struct splitting s = splitting_of(w->round, w->zero);
    const bool upper = w->shift[0] == 4;
    size_t j = 0;
    if ((w->zero && w->zero_type != DT_U8) || w->shift[1] + w->shift[0] != 4 ||
        !are_usual(a, w, &s, rows))
        return 0;
    struct by_column by;
    for (; j < columns; j += CACHE_LINE) {
        if (j % HALVES_COLUMNS == 0 && !splits(&by, c, j, w, &s))
            break;
        if (w->zero)
            add_line(c, a, codes, j, &by, w, &s, WITH_ZEROS, rows);
        else if (upper)
            add_line(c, a, codes, j, &by, w, &s, UPPER_FIRST, rows);
        else
            add_line(c, a, codes, j, &by, w, &s, LOWER_FIRST, rows);
    }
    return j;
}
#endif
