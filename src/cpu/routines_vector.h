/* Vectors of f32, for functions that look what they need up in registers. `floats` has FLOATS
 * elements, `words` as many u32; they add, shift and so on as C's numbers do. Without instructions
 * for that a vector is one element.
 */
#ifndef TW_ROUTINES_VECTOR_H
#define TW_ROUTINES_VECTOR_H

#include "base/float_bits.h"
#include "cpu/routines.h"

#include <math.h>
#include <string.h>

/* Elements of a table. Of a place in it the last bits count: four, or three where the table's second
 * half is as its first (looked_up_in_half). */
enum { TABLE = 16 };

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
static INLINED floats least(floats x, float most) /* a NaN stays one; so in the other sets */
{
    return _mm512_min_ps(every(most), x);
}
static INLINED bool any_beyond(words x, uint32_t bits)
{
    return _mm512_test_epi32_mask((__m512i)x, _mm512_set1_epi32((int)~bits)) != 0;
}
/* y where x is not below the limit, else 0 */
static INLINED floats kept_from(float limit, floats x, floats y)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, every(limit), _CMP_NLT_UQ), y);
}
static INLINED bool all_below(floats x, float limit)
{
    return _mm512_cmp_ps_mask(x, every(limit), _CMP_LT_OQ) == 0xffff;
}
static INLINED floats looked_up(const void *table, words place)
{
    return _mm512_permutexvar_ps((__m512i)place, _mm512_loadu_ps(table));
}
static INLINED floats looked_up_in_half(const void *table, words place)
{
    return looked_up(table, place);
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
static INLINED bool any_beyond(words x, uint32_t bits)
{
    return !_mm256_testz_si256((__m256i)x, _mm256_set1_epi32((int)~bits));
}
static INLINED bool all_below(floats x, float limit)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(x, every(limit), _CMP_LT_OQ)) == 0xff;
}
static INLINED floats looked_up_in_half(const void *table, words place)
{
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), (__m256i)place);
}
static INLINED floats looked_up(const void *table, words place)
{
    const float *high = (const float *)table + TABLE / 2;
    return _mm256_blendv_ps(looked_up_in_half(table, place), looked_up_in_half(high, place),
                            (floats)(place << 28)); /* by its sign */
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
static INLINED bool any_beyond(words x, uint32_t bits)
{
    return vmaxvq_u32(x) > bits;
}
static INLINED bool all_below(floats x, float limit)
{
    return vminvq_u32(vcltq_f32(x, every(limit))) != 0;
}
/* The places of an element's bytes. */
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
    return fmaf(x, y, z);
}
static inline floats least(floats x, float most)
{
    return x > most ? most : x;
}
static inline bool any_beyond(words x, uint32_t bits)
{
    return x > bits;
}
static inline bool all_below(floats x, float limit)
{
    return x < limit;
}
static inline floats looked_up(const void *table, words place)
{
    return ((const float *)table)[place % TABLE];
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
static inline floats kept_from(float limit, floats x, floats y)
{
    return x < limit ? 0 : y;
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
#if !defined(ROUTINES_V4)
static INLINED floats kept_from(float limit, floats x, floats y)
{
    return as_floats(as_words(y) & ~(words)(x < every(limit)));
}
#endif
#endif

/* x 2^n, rounded once: n from -252 to 254. */
static INLINED floats scaled(floats x, integers n)
{
#if defined(ROUTINES_V4)
    return _mm512_scalef_ps(x, _mm512_cvtepi32_ps((__m512i)n));
#else
    integers half = n >> 1; /* and n - half: powers that are normal numbers */
    return x * as_floats((words)(half + 127) << 23) * as_floats((words)(n - half + 127) << 23);
#endif
}

/* Some elements of memory, FLOATS at most; the others are 0. */
static INLINED floats loaded(const float *from, size_t count)
{
    floats x = every(0);
    memcpy(&x, from, count * sizeof *from);
    return x;
}
static INLINED void store(float *to, floats x, size_t count)
{
    memcpy(to, &x, count * sizeof *to);
}

#endif
