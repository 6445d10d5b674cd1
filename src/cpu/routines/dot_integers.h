/* Vectors of 32-bit sums, for products whose operands lie in groups of 4 bytes: dot_int8.c,
 * dot_int16.c. Included after routines_dot_lines.h. A group is read as one uint32_t; groups that
 * are read directly from a view may begin at any byte. */
#ifndef TW_DOT_INTEGERS_H
#define TW_DOT_INTEGERS_H

#include <string.h>

/* SUM_LANES: sums of a vector. lane_mask: selects the first lanes of a vector. */
#if defined(ROUTINES_NEON)
#define SUM_LANES 4
typedef int32x4_t vector;
typedef size_t lane_mask;

static INLINED vector get_sums(const int32_t *at)
{
    return vld1q_s32(at);
}

static INLINED void put_sums(int32_t *at, vector x)
{
    vst1q_s32(at, x);
}

static INLINED lane_mask first_lanes(size_t n)
{
    return n;
}

/* Load and store without a branch: missing elements are read from the first one's place, and are
 * written there before the first one is. */
static INLINED vector get_some(const void *from, lane_mask n)
{
    const int32_t *at = from;
    vector x = vld1q_dup_s32(at);
    x = vld1q_lane_s32(at + (n > 1 ? 1 : 0), x, 1);
    x = vld1q_lane_s32(at + (n > 2 ? 2 : 0), x, 2);
    return vld1q_lane_s32(at + (n > 3 ? 3 : 0), x, 3);
}

static INLINED void put_some(int32_t *at, lane_mask n, vector x)
{
    vst1q_lane_s32(at + (n > 3 ? 3 : 0), x, 3);
    vst1q_lane_s32(at + (n > 2 ? 2 : 0), x, 2);
    vst1q_lane_s32(at + (n > 1 ? 1 : 0), x, 1);
    vst1q_lane_s32(at, x, 0);
}

static INLINED vector repeat(int x)
{
    return vdupq_n_s32(x);
}

static INLINED vector add(vector x, vector y)
{
    return vaddq_s32(x, y);
}

static INLINED int total(vector x)
{
    return vaddvq_s32(x);
}

#elif defined(__AVX512F__)
#define SUM_LANES 16
typedef __m512i vector;
typedef __mmask16 lane_mask;

static INLINED vector get_sums(const int32_t *at)
{
    return _mm512_loadu_si512(at);
}

static INLINED void put_sums(int32_t *at, vector x)
{
    _mm512_storeu_si512(at, x);
}

static INLINED lane_mask first_lanes(size_t n)
{
    return (lane_mask)((1u << n) - 1);
}

static INLINED vector get_some(const void *at, lane_mask mask)
{
    return _mm512_maskz_loadu_epi32(mask, at);
}

static INLINED void put_some(int32_t *at, lane_mask mask, vector x)
{
    _mm512_mask_storeu_epi32(at, mask, x);
}

static INLINED vector repeat(int x)
{
    return _mm512_set1_epi32(x);
}

static INLINED vector add(vector x, vector y)
{
    return _mm512_add_epi32(x, y);
}

static INLINED int total(vector x)
{
    return _mm512_reduce_add_epi32(x);
}

#else
#define SUM_LANES 8
typedef __m256i vector;
typedef __m256i lane_mask;

static INLINED vector get_sums(const int32_t *at)
{
    return _mm256_loadu_si256((const void *)at);
}

static INLINED void put_sums(int32_t *at, vector x)
{
    _mm256_storeu_si256((void *)at, x);
}

static INLINED lane_mask first_lanes(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static INLINED vector get_some(const void *at, lane_mask mask)
{
    return _mm256_maskload_epi32(at, mask);
}

static INLINED void put_some(int32_t *at, lane_mask mask, vector x)
{
    _mm256_maskstore_epi32(at, mask, x);
}

static INLINED vector repeat(int x)
{
    return _mm256_set1_epi32(x);
}

static INLINED vector add(vector x, vector y)
{
    return _mm256_add_epi32(x, y);
}

static INLINED int total(vector x)
{
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e)); /* the other two lanes */
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1)); /* the other lane of each two */
    return _mm_cvtsi128_si32(half);
}
#endif

static INLINED vector get_groups(const uint32_t *at)
{
    return get_sums((const int32_t *)at);
}

/* Loads one group into all lanes. */
static INLINED vector repeat_group(const uint32_t *at)
{
    int group;
    memcpy(&group, at, sizeof group);
    return repeat(group);
}

#endif
