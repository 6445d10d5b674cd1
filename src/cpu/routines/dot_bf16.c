/* Products of bf16 with sums in f32, by AVX512-BF16. Each instruction adds two steps of k, the
 * later one first, and treats subnormal numbers as zeros (Intel SDM, VDPBF16PS). Operands lie in
 * pairs: in a row of a, each pair is two steps of k; b has two rows interleaved, with the
 * element of the earlier row first. The blocks treat a pair as one element. */
#include "cpu/routines/routines_dot_lines.h"

#include <string.h>

static INLINED __m512bh get_pairs(const uint32_t *at)
{
    return (__m512bh)_mm512_loadu_si512(at);
}

static INLINED __m512bh get_masked(const uint32_t *at, __mmask16 mask)
{
    return (__m512bh)_mm512_maskz_loadu_epi32(mask, at);
}

/* Loads one pair into all lanes. A pair that is read directly from a view may begin at any
 * element, so the address has half of a pair's alignment. */
static INLINED __m512bh broadcast_pair(const uint32_t *at)
{
    int pair;
    memcpy(&pair, at, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

static INLINED __m512 add_pairs(__m512bh x, __m512bh y, __m512 sum)
{
    return _mm512_dpbf16_ps(sum, x, y);
}

put_block_fn ROUTINE(dot_put_block);

#define LOAD_MASKED_SUM(at, mask) _mm512_maskz_loadu_ps(mask, at)
#define bf16_mask f32_mask

#define T uint32_t
#define SUM float
#define NAME(x) bf16_##x
#define VECTOR __m512
#define LANES 16
#define MASK __mmask16
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define LOAD_MASKED LOAD_MASKED_SUM
#define STORE_MASKED _mm512_mask_storeu_ps
#define OPERAND __m512bh
#define GET get_pairs
#define GET_MASKED get_masked
#define BROADCAST broadcast_pair
#define FUSED add_pairs
#define UNROLLS_LINES 0
#define PUT_BLOCK ROUTINE(dot_put_block)
#include "cpu/routines/routines_dot_block.h"

dot_fn dot_pairs_bf16;
void dot_pairs_bf16(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                    const struct dot_strides *s)
{
    bf16_dot(c, a, b, m, n, k, s);
}
