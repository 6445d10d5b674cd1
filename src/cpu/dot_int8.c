/* Products of 8-bit integers with 32-bit sums that wrap, by AVX512-VNNI. Each instruction adds four
 * steps of k: it multiplies bytes without a sign by bytes with a sign, and the sum of the four
 * products is exact (Intel SDM, VPDPBUSD). Operands lie in groups: in a row of a, each group is
 * four steps of k; b has four rows interleaved. The blocks treat a group as one element.
 *
 * If a and b are both signed, or both unsigned, b is packed with the top bit of each byte flipped
 * (dot_strides.flipped), which has the other kind of sign and differs by 128:
 *
 *   both signed     b' = b + 128 is unsigned     a·b = a·b' - 128 Σ a
 *   both unsigned   b' = b - 128 is signed       a·b = a·b' + 128 Σ a
 *
 * Σ a is the sum of the row of a over the steps of k. */
#include "cpu/routines_dot_lines.h"

#include <string.h>

static INLINED __m512i get_sums(const int32_t *at)
{
    return _mm512_loadu_si512(at);
}

static INLINED void put_sums(int32_t *at, __m512i x)
{
    _mm512_storeu_si512(at, x);
}

static INLINED __m512i get_groups(const uint32_t *at)
{
    return _mm512_loadu_si512(at);
}

static INLINED __m512i get_masked(const void *at, __mmask16 mask)
{
    return _mm512_maskz_loadu_epi32(mask, at);
}

static INLINED void put_masked(int32_t *at, __mmask16 mask, __m512i x)
{
    _mm512_mask_storeu_epi32(at, mask, x);
}

/* Loads one group into all lanes. A group that is read directly from a view may begin at any
 * byte. */
static INLINED __m512i broadcast_group(const uint32_t *at)
{
    int group;
    memcpy(&group, at, sizeof group);
    return _mm512_set1_epi32(group);
}

static __mmask16 u8_mask(size_t columns)
{
    return (__mmask16)((1u << columns) - 1);
}
#define i8_mask u8_mask

static INLINED __m512i add_unsigned(__m512i x, __m512i y, __m512i sum)
{
    return _mm512_dpbusd_epi32(sum, x, y);
}

static INLINED __m512i add_signed(__m512i x, __m512i y, __m512i sum)
{
    return _mm512_dpbusd_epi32(sum, y, x);
}

/* Corrects the sums of a block whose b was multiplied with its sign bits flipped: adds -128 Σ a
 * or 128 Σ a to all sums of a row. A row of a has k groups. */
static INLINED void correct(int32_t *sums, size_t step, size_t rows, size_t columns,
                            const uint32_t *a, size_t lda, size_t k, const bool is_signed)
{
    const __m512i by = _mm512_set1_epi8((char)0x80); /* 128, or -128 as the signed operand */
    for (size_t r = 0; r < rows; r++, a += lda, sums += step) {
        __m512i sum = _mm512_setzero_si512();
        ROLLED
        for (size_t p = 0; p < k; p += 16) {
            __m512i x = get_masked(a + p, k - p < 16 ? u8_mask(k - p) : (__mmask16)0xffff);
            sum = is_signed ? _mm512_dpbusd_epi32(sum, by, x) : _mm512_dpbusd_epi32(sum, x, by);
        }
        const __m512i more = _mm512_set1_epi32(_mm512_reduce_add_epi32(sum));
        for (size_t j = 0; j < columns; j += 16) {
            const __mmask16 mask = columns - j < 16 ? u8_mask(columns - j) : (__mmask16)0xffff;
            put_masked(sums + j, mask, _mm512_sub_epi32(get_masked(sums + j, mask), more));
        }
    }
}

static APART void correct_unsigned(int32_t *sums, size_t step, size_t rows, size_t columns,
                                   const uint32_t *a, size_t lda, size_t k)
{
    correct(sums, step, rows, columns, a, lda, k, false);
}

static APART void correct_signed(int32_t *sums, size_t step, size_t rows, size_t columns,
                                 const uint32_t *a, size_t lda, size_t k)
{
    correct(sums, step, rows, columns, a, lda, k, true);
}

#define T uint32_t
#define SUM int32_t
#define NAME(x) u8_##x
#define VECTOR __m512i
#define LANES 16
#define MASK __mmask16
#define LOAD get_sums
#define STORE put_sums
#define LOAD_MASKED get_masked
#define STORE_MASKED put_masked
#define OPERAND __m512i
#define GET get_groups
#define GET_MASKED get_masked
#define BROADCAST broadcast_group
#define FUSED add_unsigned
#define CORRECT correct_unsigned
#define LINE_UNROLLED ROLLED
#include "cpu/routines_dot_block.h"

#define T uint32_t
#define SUM int32_t
#define NAME(x) i8_##x
#define VECTOR __m512i
#define LANES 16
#define MASK __mmask16
#define LOAD get_sums
#define STORE put_sums
#define LOAD_MASKED get_masked
#define STORE_MASKED put_masked
#define OPERAND __m512i
#define GET get_groups
#define GET_MASKED get_masked
#define BROADCAST broadcast_group
#define FUSED add_signed
#define CORRECT correct_signed
#define LINE_UNROLLED ROLLED
#include "cpu/routines_dot_block.h"

dot_fn dot_groups_u8, dot_groups_i8;
void dot_groups_u8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                   const struct dot_strides *s)
{
    u8_dot(c, a, b, m, n, k, s);
}

void dot_groups_i8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                   const struct dot_strides *s)
{
    i8_dot(c, a, b, m, n, k, s);
}
