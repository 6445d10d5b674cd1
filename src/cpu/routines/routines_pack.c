/* Copies rows of a view to rows with another layout, and fetches them before the processor
 * would. Rows that are packed come from far away, each from another page. Also brings rows and
 * columns into groups of 4 bytes: pairs of 2-byte elements, or four bytes. */
#include "base/float_bits.h"
#include "cpu/routines/routines_transpose.h"

#include <string.h>
#if defined(ROUTINES_V4) || defined(ROUTINES_V3)
#include <immintrin.h>
#endif

/* Copies the pieces of a row, `piece` bytes each, to places `apart` bytes apart. */
static inline void copy_row(unsigned char *to, const unsigned char *from, size_t pieces,
                            size_t piece, ptrdiff_t apart, ptrdiff_t ahead, ptrdiff_t to_ahead)
{
    for (size_t i = 0; i < pieces; i++, to += apart, from += piece) {
        size_t b = 0;
        for (; b + CACHE_LINE <= piece; b += CACHE_LINE) {
            PREFETCH(from + b + ahead);
            PREFETCH_TO_WRITE(to + b + to_ahead);
            *(cache_line *)(to + b) = *(const cache_line *)(from + b);
        }
        if (b < piece)
            memcpy(to + b, from + b, piece - b);
    }
}

static void pack_rows(void *to, ptrdiff_t to_row, ptrdiff_t apart, const void *from,
                      ptrdiff_t from_row, size_t rows, size_t pieces, size_t piece)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    size_t lines = pieces * piece / CACHE_LINE + 1;
    ptrdiff_t ahead = (ptrdiff_t)((PACK_LINES_AHEAD + lines - 1) / lines);
    for (size_t i = 0; i < rows; i++, out += to_row, in += from_row)
        copy_row(out, in, pieces, piece, apart, i + (size_t)ahead < rows ? ahead * from_row : 0,
                 i + (size_t)ahead < rows ? ahead * to_row : 0);
}

static void interleave_pairs(void *to, ptrdiff_t apart, const void *from, ptrdiff_t row, size_t n,
                             size_t width, uint32_t flip)
{
    uint16_t *out = to;
    const uint16_t *first = from, *second = first + row;
    (void)flip; /* 16-bit elements keep their bits */
    for (size_t j = 0; j < n; j += width, out += apart, first += width, second += width)
        VECTORISE for (size_t i = 0; i < width; i++)
        {
            out[2 * i] = first[i];
            out[2 * i + 1] = second[i];
        }
}

static void interleave_fours(void *to, ptrdiff_t apart, const void *from, ptrdiff_t row, size_t n,
                             size_t width, uint32_t flip)
{
    uint8_t *out = to;
    const uint8_t *in = from, bits = (uint8_t)flip;
    for (size_t j = 0; j < n; j += width, out += apart, in += width) {
        const uint8_t *second = in + row, *third = second + row, *fourth = third + row;
        VECTORISE for (size_t i = 0; i < width; i++)
        {
            out[4 * i] = in[i] ^ bits;
            out[4 * i + 1] = second[i] ^ bits;
            out[4 * i + 2] = third[i] ^ bits;
            out[4 * i + 3] = fourth[i] ^ bits;
        }
    }
}

static void transpose_groups(void *to, ptrdiff_t row, const void *from, ptrdiff_t line,
                             size_t lines, size_t groups, uint32_t flip)
{
    transpose_words(to, row, from, line, lines, groups, flip, true);
}

/* --- weights --- */

#if defined(ROUTINES_V4)
/* Computes 16 elements; values: the table. */
static INLINED __m512 look_up(__m512 values, __m128i codes, __m128i shift)
{
    return _mm512_permutexvar_ps(_mm512_srl_epi32(_mm512_cvtepu8_epi32(codes), shift), values);
}

static INLINED __m512 round_to(__m512 x, enum dtype type)
{
    if (type == DT_F16)
        return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    if (type != DT_BF16)
        return x;
    const __m512i bits = _mm512_castps_si512(x), one = _mm512_set1_epi32(1);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
    const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __m512 near = _mm512_castsi512_ps(_mm512_and_si512(sum, _mm512_set1_epi32(-0x10000)));
    return _mm512_mask_mov_ps(near, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x);
}

static void unpack_scaled(float *restrict to, const uint8_t *codes, const float *table, int shift,
                          const float *by, enum dtype round, size_t n)
{
    const __m512 values = _mm512_loadu_ps(table);
    const __m128i amount = _mm_cvtsi32_si128(shift);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m128i some = _mm_loadu_si128((const __m128i *)(const void *)(codes + i));
        const __m512 x = _mm512_mul_ps(look_up(values, some, amount), _mm512_loadu_ps(by + i));
        _mm512_storeu_ps(to + i, round_to(x, round));
    }
    if (i < n) {
        const __mmask16 mask = (__mmask16)((1u << (n - i)) - 1);
        const __m128i some = _mm_maskz_loadu_epi8(mask, codes + i);
        const __m512 scale = _mm512_maskz_loadu_ps(mask, by + i);
        const __m512 x = _mm512_mul_ps(look_up(values, some, amount), scale);
        _mm512_mask_storeu_ps(to + i, mask, round_to(x, round));
    }
}
#elif defined(ROUTINES_V3)
/* Computes 8 elements: the lower 3 bits of a code choose a value of each half of the table, the next
 * bit chooses the half. */
static INLINED __m256 look_up(const float *table, const uint8_t *codes, int shift)
{
    const __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)codes));
    const __m256i at = _mm256_srl_epi32(wide, _mm_cvtsi32_si128(shift));
    const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), at);
    const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), at);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)));
}

static INLINED __m256 round_to(__m256 x, enum dtype type)
{
    if (type == DT_F16)
        return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    if (type != DT_BF16)
        return x;
    const __m256i bits = _mm256_castps_si256(x), one = _mm256_set1_epi32(1);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256 near = _mm256_castsi256_ps(_mm256_and_si256(sum, _mm256_set1_epi32(-0x10000)));
    return _mm256_blendv_ps(near, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

/* by == NULL: elements are neither scaled nor rounded. Fewer than 8 elements at the end are copied to
 * memory that has room for 8. */
static void unpack_scaled(float *to, const uint8_t *codes, const float *table, int shift,
                          const float *by, enum dtype round, size_t n)
{
    enum { FLOATS = 8 };
    uint8_t last[FLOATS] = {0};
    float scales[FLOATS] = {0}, room[FLOATS];
    for (size_t i = 0; i < n; i += FLOATS) {
        const size_t left = n - i;
        const uint8_t *from = codes + i;
        const float *scale = by ? by + i : NULL;
        if (left < FLOATS) {
            memcpy(last, from, left);
            from = last;
            if (by)
                scale = memcpy(scales, scale, left * sizeof *by);
        }
        __m256 x = look_up(table, from, shift);
        if (by)
            x = round_to(_mm256_mul_ps(x, _mm256_loadu_ps(scale)), round);
        _mm256_storeu_ps(left < FLOATS ? room : to + i, x);
        if (left < FLOATS)
            memcpy(to + i, room, left * sizeof *to);
    }
}
#else
#define unpack_scaled NULL
#endif

/* The set for AVX-512 has some routines of the set for AVX2. */
#if defined(ROUTINES_V4)
#define UNPACK routines_unpack_v3
#define SWAPPED_BF16 routines_swapped_bf16_v3
#else
#define UNPACK ROUTINE(routines_unpack)
#define SWAPPED_BF16 ROUTINE(routines_swapped_bf16)
#endif
extern unpack_fn UNPACK;
extern convert_fn SWAPPED_BF16;

#if !defined(ROUTINES_V4)
void UNPACK(float *to, const uint8_t *codes, const float *table, int shift, size_t n)
{
    const int first = shift < 0 ? 0 : shift, mask = shift < 0 ? 255 : 15;
#if defined(ROUTINES_V3)
    if (shift >= 0) {
        unpack_scaled(to, codes, table, shift, NULL, DT_F32, n);
        return;
    }
#endif
    for (size_t i = 0; i < n; i++)
        to[i] = table[codes[i] >> first & mask];
}

void SWAPPED_BF16(void *to, const void *from, size_t n)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    VECTORISE for (size_t i = 0; i < n / 2; i++)
    {
        uint32_t pair;
        memcpy(&pair, in + i * sizeof pair, sizeof pair);
        const uint64_t both = (pair & 0xffff0000u) | (uint64_t)pair << 48;
        memcpy(out + i * sizeof both, &both, sizeof both);
    }
    if (n % 2 > 0) {
        uint16_t last[2] = {0};
        memcpy(&last[1], in + (n - 1) * sizeof *last, sizeof *last);
        memcpy(out + n * sizeof last, last, sizeof last);
    }
}
#endif

extern const struct pack_routines ROUTINE(routines_pack);
const struct pack_routines ROUTINE(routines_pack) = {
    pack_rows, interleave_pairs, interleave_fours, transpose_groups,
    UNPACK,    unpack_scaled,    SWAPPED_BF16};
