/* Products of 8-bit integers with 32-bit sums that wrap. Each instruction adds four steps of k, and
 * the sum of the four products is exact. Operands lie in groups: in a row of a, each group is four
 * steps of k; b has four rows interleaved. The blocks treat a group as one element.
 *
 * The instructions differ in the signs that they take. Those of AVX512-VNNI and AVX-VNNI multiply
 * bytes without a sign by bytes with a sign (Intel SDM, VPDPBUSD); those of AArch64 multiply bytes
 * that both have a sign, or both have none (Arm ARM, SDOT and UDOT). For other operands, b is packed
 * with the top bit of each byte flipped (dot_strides.flipped), which has the other kind of sign and
 * differs by 128:
 *
 *   b has a sign     b' = b + 128 has none       a·b = a·b' - 128 Σ a
 *   b has none       b' = b - 128 has a sign     a·b = a·b' + 128 Σ a
 *
 * Σ a is the sum of the row of a over the steps of k. */
#include "cpu/routines/routines_dot_lines.h"
#include "cpu/routines/dot_integers.h"

/* a: the operand whose sign the name tells. b: as the instruction takes it. */
#if defined(ROUTINES_NEON)
static INLINED vector add_unsigned(vector a, vector b, vector sum)
{
    return vreinterpretq_s32_u32(
        vdotq_u32(vreinterpretq_u32_s32(sum), vreinterpretq_u8_s32(a), vreinterpretq_u8_s32(b)));
}

static INLINED vector add_signed(vector a, vector b, vector sum)
{
    return vdotq_s32(sum, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b));
}

/* Multiply by lane l of a. */
#define UNSIGNED_LANE(l)                                                                           \
    vdotq_laneq_u32(vreinterpretq_u32_s32(sum), vreinterpretq_u8_s32(b), vreinterpretq_u8_s32(a), l)
#define SIGNED_LANE(l) vdotq_laneq_s32(sum, vreinterpretq_s8_s32(b), vreinterpretq_s8_s32(a), l)

static INLINED vector add_unsigned_lane(vector b, vector a, int l, vector sum)
{
    return vreinterpretq_s32_u32(l == 0   ? UNSIGNED_LANE(0)
                                 : l == 1 ? UNSIGNED_LANE(1)
                                 : l == 2 ? UNSIGNED_LANE(2)
                                          : UNSIGNED_LANE(3));
}

static INLINED vector add_signed_lane(vector b, vector a, int l, vector sum)
{
    return l == 0   ? SIGNED_LANE(0)
           : l == 1 ? SIGNED_LANE(1)
           : l == 2 ? SIGNED_LANE(2)
                    : SIGNED_LANE(3);
}

#else
#if defined(__AVX512F__)
#define ADD_GROUPS _mm512_dpbusd_epi32
#else
#define ADD_GROUPS _mm256_dpbusd_avx_epi32
#endif

static INLINED vector add_unsigned(vector a, vector b, vector sum)
{
    return ADD_GROUPS(sum, a, b);
}

static INLINED vector add_signed(vector a, vector b, vector sum)
{
    return ADD_GROUPS(sum, b, a);
}
#endif

/* Computes the terms of rows of k groups. A byte whose top bit alone is set is 128, or -128 as the
 * operand with a sign, so the instruction adds what is to be subtracted in both cases. */
static INLINED void row_terms(int32_t *terms, size_t rows, const uint32_t *a, size_t lda, size_t k,
                              const bool is_signed)
{
    const vector top_bits = repeat(-0x7f7f7f80);
    for (size_t r = 0; r < rows; r++, a += lda) {
        vector sum = repeat(0);
        size_t left = k % SUM_LANES, whole = k - left;
        ROLLED
        for (size_t p = 0; p < whole; p += SUM_LANES)
            sum = is_signed ? add_signed(get_groups(a + p), top_bits, sum)
                            : add_unsigned(get_groups(a + p), top_bits, sum);
        if (left > 0) {
            uint32_t rest[SUM_LANES] = {0};
            memcpy(rest, a + whole, left * sizeof *a);
            sum = is_signed ? add_signed(get_groups(rest), top_bits, sum)
                            : add_unsigned(get_groups(rest), top_bits, sum);
        }
        terms[r] = (int32_t)(0 - (uint32_t)total(sum));
    }
}

static APART void unsigned_terms(int32_t *terms, size_t rows, const uint32_t *a, size_t lda,
                                 size_t k)
{
    row_terms(terms, rows, a, lda, k, false);
}

static APART void signed_terms(int32_t *terms, size_t rows, const uint32_t *a, size_t lda, size_t k)
{
    row_terms(terms, rows, a, lda, k, true);
}

static INLINED vector add_term(vector sum, int32_t term)
{
    return add(sum, repeat(term));
}
#define u8_mask first_lanes
#define i8_mask first_lanes

#define NAME(x) u8_##x
#define FUSED add_unsigned
#if defined(ROUTINES_NEON)
#define FUSED_WITH add_unsigned_lane
#endif
#define ROW_TERMS unsigned_terms
#define ADD_TERM add_term
#include "cpu/routines/dot_integers_block.h"

#define NAME(x) i8_##x
#define FUSED add_signed
#if defined(ROUTINES_NEON)
#define FUSED_WITH add_signed_lane
#endif
#define ROW_TERMS signed_terms
#define ADD_TERM add_term
#include "cpu/routines/dot_integers_block.h"

dot_fn ROUTINE(dot_groups_u8), ROUTINE(dot_groups_i8);
void ROUTINE(dot_groups_u8)(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                            const struct dot_strides *s)
{
    u8_dot(c, a, b, m, n, k, s);
}

void ROUTINE(dot_groups_i8)(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                            const struct dot_strides *s)
{
    i8_dot(c, a, b, m, n, k, s);
}
