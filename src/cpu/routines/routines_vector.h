/* Vectors of f32, for functions whose tables are in registers. `floats` has FLOATS elements,
 * `words` the same number of u32; the operators of C (+, << and others) work on them. In sets
 * without such instructions a vector is one element. */
#ifndef TW_ROUTINES_VECTOR_H
#define TW_ROUTINES_VECTOR_H

#include "base/arithmetic.h"
#include "base/float_bits.h"
#include "cpu/routines/routines.h"

#include <math.h>
#include <string.h>

/* Elements of a table. An index uses its last bits only: four, or three if the table's second
 * half equals its first (looked_up_in_half). */
enum { TABLE = 16 };

/* Each set defines:
 *   every        x in all elements
 *   fused        x y + z, rounded once
 *   least        the lesser of x and `most`; a NaN stays a NaN
 *   chosen       `there` if x is below the limit, else `beyond`; a NaN is not below it
 *   all_within   is every element from `low` to `high`? A NaN is not.
 *   numbers      integers as floats
 *   any_beyond   has any element other bits than these?
 *   load_some, store_some    the first `count` elements; load_some sets the others to `fill` */
#if defined(ROUTINES_V4)
#include <immintrin.h>

#define FLOATS 16
typedef __m512 floats;
typedef uint32_t words __attribute__((vector_size(64)));
typedef int32_t integers __attribute__((vector_size(64)));

static INLINED floats every(float x)
{
    return _mm512_set1_ps(x);
}
static INLINED floats fused(floats x, floats y, floats z)
{
    return _mm512_fmadd_ps(x, y, z);
}
static INLINED floats least(floats x, float most)
{
    return _mm512_min_ps(every(most), x);
}
static INLINED floats chosen(floats x, float limit, floats there, floats beyond)
{
    return _mm512_mask_mov_ps(beyond, _mm512_cmp_ps_mask(x, every(limit), _CMP_LT_OQ), there);
}
static INLINED bool all_within(floats x, float low, float high)
{
    __mmask16 from = _mm512_cmp_ps_mask(x, every(low), _CMP_GE_OQ);
    return _mm512_mask_cmp_ps_mask(from, x, every(high), _CMP_LE_OQ) == 0xffff;
}
static INLINED floats numbers(integers x)
{
    return _mm512_cvtepi32_ps((__m512i)x);
}
static INLINED bool any_beyond(words x, uint32_t bits)
{
    return _mm512_test_epi32_mask((__m512i)x, _mm512_set1_epi32((int)~bits)) != 0;
}
static INLINED floats looked_up(const void *table, words place)
{
    return _mm512_permutexvar_ps((__m512i)place, _mm512_loadu_ps(table));
}
static INLINED floats looked_up_in_half(const void *table, words place)
{
    return looked_up(table, place);
}
static INLINED __mmask16 first_ones(size_t count)
{
    return (__mmask16)((1u << count) - 1);
}
static INLINED floats load_some(const float *from, size_t count, float fill)
{
    return _mm512_mask_loadu_ps(every(fill), first_ones(count), from);
}
static INLINED void store_some(float *to, floats x, size_t count)
{
    _mm512_mask_storeu_ps(to, first_ones(count), x);
}

#elif defined(ROUTINES_V3)
#include <immintrin.h>

#define FLOATS 8
typedef __m256 floats;
typedef uint32_t words __attribute__((vector_size(32)));
typedef int32_t integers __attribute__((vector_size(32)));

static INLINED floats every(float x)
{
    return _mm256_set1_ps(x);
}
static INLINED floats fused(floats x, floats y, floats z)
{
    return _mm256_fmadd_ps(x, y, z);
}
static INLINED floats least(floats x, float most)
{
    return _mm256_min_ps(every(most), x);
}
static INLINED floats chosen(floats x, float limit, floats there, floats beyond)
{
    return _mm256_blendv_ps(beyond, there, _mm256_cmp_ps(x, every(limit), _CMP_LT_OQ));
}
static INLINED bool all_within(floats x, float low, float high)
{
    floats from = _mm256_cmp_ps(x, every(low), _CMP_GE_OQ);
    return _mm256_movemask_ps(_mm256_and_ps(from, _mm256_cmp_ps(x, every(high), _CMP_LE_OQ))) ==
           0xff;
}
static INLINED floats numbers(integers x)
{
    return _mm256_cvtepi32_ps((__m256i)x);
}
static INLINED bool any_beyond(words x, uint32_t bits)
{
    return !_mm256_testz_si256((__m256i)x, _mm256_set1_epi32((int)~bits));
}
static INLINED floats looked_up_in_half(const void *table, words place)
{
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), (__m256i)place);
}
static INLINED floats looked_up(const void *table, words place)
{
    const float *high = (const float *)table + TABLE / 2;
    return _mm256_blendv_ps(looked_up_in_half(table, place), looked_up_in_half(high, place),
                            (floats)(place << 28)); /* the shifted bit is the sign, which blendv
                                                     * tests */
}
static INLINED __m256i first_ones(size_t count)
{
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), numbers);
}
static INLINED floats load_some(const float *from, size_t count, float fill)
{
    __m256i mask = first_ones(count);
    return _mm256_blendv_ps(every(fill), _mm256_maskload_ps(from, mask), (floats)mask);
}
static INLINED void store_some(float *to, floats x, size_t count)
{
    _mm256_maskstore_ps(to, first_ones(count), x);
}

#elif defined(ROUTINES_NEON)
#include <arm_neon.h>

#define FLOATS 4
typedef float32x4_t floats;
typedef uint32x4_t words;
typedef int32x4_t integers;

static INLINED floats every(float x)
{
    return vdupq_n_f32(x);
}
static INLINED floats fused(floats x, floats y, floats z)
{
    return vfmaq_f32(z, x, y);
}
static INLINED floats least(floats x, float most)
{
    return vminq_f32(x, every(most));
}
static INLINED floats chosen(floats x, float limit, floats there, floats beyond)
{
    return vbslq_f32(vcltq_f32(x, every(limit)), there, beyond);
}
static INLINED bool all_within(floats x, float low, float high)
{
    return vminvq_u32(vandq_u32(vcgeq_f32(x, every(low)), vcleq_f32(x, every(high)))) != 0;
}
static INLINED floats numbers(integers x)
{
    return vcvtq_f32_s32(x);
}
static INLINED bool any_beyond(words x, uint32_t bits)
{
    return vmaxvq_u32(x & ~bits) != 0;
}
/* Returns the indices of an element's bytes. */
static INLINED uint8x16_t places_of_bytes(words place)
{
    return (uint8x16_t)(place * 0x04040404u + 0x03020100u);
}
static INLINED floats looked_up(const void *table, words place)
{
    const uint8_t *t = table;
    uint8x16x4_t all = {{vld1q_u8(t), vld1q_u8(t + 16), vld1q_u8(t + 32), vld1q_u8(t + 48)}};
    return (floats)vqtbl4q_u8(all, places_of_bytes(place & 15));
}
static INLINED floats looked_up_in_half(const void *table, words place)
{
    const uint8_t *t = table;
    uint8x16x2_t half = {{vld1q_u8(t), vld1q_u8(t + 16)}};
    return (floats)vqtbl2q_u8(half, places_of_bytes(place & 7));
}

#else
#define FLOATS 1
typedef float floats;
typedef uint32_t words;
typedef int32_t integers;

static inline floats every(float x)
{
    return x;
}
static inline floats fused(floats x, floats y, floats z)
{
    return fma_once(x, y, z);
}
static inline floats least(floats x, float most)
{
    return x > most ? most : x;
}
static inline floats chosen(floats x, float limit, floats there, floats beyond)
{
    return x < limit ? there : beyond;
}
static inline bool all_within(floats x, float low, float high)
{
    return x >= low && x <= high;
}
static inline floats numbers(integers x)
{
    return (float)x;
}
static inline bool any_beyond(words x, uint32_t bits)
{
    return (x & ~bits) != 0;
}
static inline floats looked_up(const void *table, words place)
{
    float x;
    memcpy(&x, (const char *)table + place % TABLE * sizeof x, sizeof x);
    return x;
}
static inline floats looked_up_in_half(const void *table, words place)
{
    return looked_up(table, place);
}
#endif

#if FLOATS == 1
static inline words as_words(floats x)
{
    return f32_bits(x);
}
static inline floats as_floats(words x)
{
    return f32_from_bits(x);
}
#else
static INLINED words as_words(floats x)
{
    return (words)x;
}
static INLINED floats as_floats(words x)
{
    return (floats)x;
}
#endif

/* Returns x 2^n, rounded once, for n from -252 to 254. */
static INLINED floats scaled(floats x, integers n)
{
#if defined(ROUTINES_V4)
    return _mm512_scalef_ps(x, numbers(n));
#else
    integers half = n >> 1; /* 2^half and 2^(n - half) are normal numbers */
    return x * as_floats((words)(half + 127) << 23) * as_floats((words)(n - half + 127) << 23);
#endif
}

static INLINED floats load(const float *from)
{
    floats x;
    memcpy(&x, from, sizeof x);
    return x;
}
static INLINED void store(float *to, floats x)
{
    memcpy(to, &x, sizeof x);
}

#if FLOATS <= 4
static inline floats load_some(const float *from, size_t count, float fill)
{
    floats x = every(fill);
    memcpy(&x, from, count * sizeof fill);
    return x;
}
static inline void store_some(float *to, floats x, size_t count)
{
    memcpy(to, &x, count * sizeof *to);
}
#endif

#endif
