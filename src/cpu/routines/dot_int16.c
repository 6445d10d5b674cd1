/* Products of 16-bit integers with 32-bit sums that wrap, for processors without an instruction for
 * bytes: these are widened when they are packed. Two instructions add two steps of k. The sum of
 * the two products of a pair wraps in one case only, as it must (Intel SDM, VPMADDWD). Operands lie
 * in pairs: in a row of a, each pair is two steps of k; b has two rows interleaved. The blocks treat
 * a pair as one element. */
#include "cpu/routines/routines_dot_lines.h"
#include "cpu/routines/dot_integers.h"

static INLINED vector add_pairs(vector x, vector y, vector sum)
{
#if defined(__AVX512F__)
    return add(sum, _mm512_madd_epi16(x, y));
#else
    return add(sum, _mm256_madd_epi16(x, y));
#endif
}
#define i16_mask first_lanes

#define NAME(x) i16_##x
#define FUSED add_pairs
#include "cpu/routines/dot_integers_block.h"

dot_fn ROUTINE(dot_pairs_i16);
void ROUTINE(dot_pairs_i16)(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                            const struct dot_strides *s)
{
    i16_dot(c, a, b, m, n, k, s);
}
