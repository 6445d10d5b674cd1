/* Conversions between element types. To floats: rounded once, to nearest even. From floats to
 * integers: truncated and saturated, NaN becomes 0. Between integers: wrapped. To bool: x != 0. */
#include "base/float_bits.h"
#include "cpu/routines/routines.h"

#include <string.h>

#if defined(__F16C__) && defined(__AVX__)
#include <immintrin.h>
#define HARDWARE_F16 1
#elif defined(ROUTINES_NEON)
#include <arm_neon.h>
#define HARDWARE_F16 1
#endif

/* --- 16-bit floats: the values are those of base/dtype.c --- */

/* These have no branches, so that the loops vectorise. */

static inline float from_f16(uint16_t x)
{
    uint32_t sign = (uint32_t)(x & 0x8000u) << 16, rest = x & 0x7fffu;
    uint32_t normal = (rest << 13) + (112u << 23);
    uint32_t small = f32_bits((float)(int32_t)rest * 0x1p-24f);
    uint32_t special = 0x7f800000u | (rest & 0x3ffu) << 13 | (rest > 0x7c00u ? 0x400000u : 0u);
    uint32_t bits = rest < 0x400u ? small : normal;
    bits = rest >= 0x7c00u ? special : bits;
    return f32_from_bits(sign | bits);
}

static inline uint16_t to_f16(float x)
{
    uint32_t bits = f32_bits(x), sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    uint32_t normal = (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
    uint32_t kept = bits < 0x38800000u ? bits : 0;
    uint32_t small =
        f32_bits(f32_from_bits(kept) + 0.5f) - f32_bits(0.5f); /* the addition rounds */
    uint32_t result = bits < 0x38800000u ? small : normal;
    result = bits >= 0x477ff000u ? 0x7c00u : result;
    result = bits > 0x7f800000u ? (0x7e00u | (bits >> 13 & 0x3ffu)) : result;
    return (uint16_t)(sign | result);
}

static inline float from_bf16(uint16_t x)
{
    uint32_t wide = (uint32_t)x << 16;
    return f32_from_bits((wide & 0x7fffffffu) > 0x7f800000u ? wide | 0x400000u : wide);
}

static inline uint16_t to_bf16(float x)
{
    uint32_t bits = f32_bits(x);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 | 0x40u) : rounded);
}

/* Returns an integer as a double whose last bit means "inexact". Rounding that double gives the
 * same as rounding the integer once. */
static inline double odd_f64_u64(uint64_t magnitude)
{
    if (magnitude >> 53) {
        uint64_t dropped = magnitude & 0xfff;
        magnitude = (magnitude & ~(uint64_t)0xfff) | (dropped ? 0x1000u : 0u);
    }
    return (double)magnitude;
}

static inline double odd_f64_i64(int64_t x)
{
    return x < 0 ? -odd_f64_u64(0 - (uint64_t)x) : odd_f64_u64((uint64_t)x);
}

/* --- floats to integers --- */

/* most: the largest value of F that is at most the type's largest value. */
#define TO_INTEGER(name, F, T, least, most, largest)                                               \
    static inline T name(F x)                                                                      \
    {                                                                                              \
        F inside = x < (F)(most) ? x : (F)(most);                                                  \
        inside = inside > (F)(least) ? inside : (F)(least);                                        \
        T r = (T)inside;                                                                           \
        r = x > (F)(most) ? (T)(largest) : r;                                                      \
        return x == x ? r : (T)0;                                                                  \
    }
TO_INTEGER(f32_i64, float, int64_t, -0x1p63f, 0x1.fffffep62f, INT64_MAX)
TO_INTEGER(f32_i32, float, int32_t, -0x1p31f, 0x1.fffffep30f, INT32_MAX)
TO_INTEGER(f32_i8, float, int8_t, -128, 127, INT8_MAX)
TO_INTEGER(f32_u64, float, uint64_t, 0, 0x1.fffffep63f, UINT64_MAX)
TO_INTEGER(f32_u32, float, uint32_t, 0, 0x1.fffffep31f, UINT32_MAX)
TO_INTEGER(f32_u8, float, uint8_t, 0, 255, UINT8_MAX)
TO_INTEGER(f64_i64, double, int64_t, -0x1p63, 0x1.fffffffffffffp62, INT64_MAX)
TO_INTEGER(f64_i32, double, int32_t, -0x1p31, 2147483647.0, INT32_MAX)
TO_INTEGER(f64_u64, double, uint64_t, 0, 0x1.fffffffffffffp63, UINT64_MAX)
TO_INTEGER(f64_u32, double, uint32_t, 0, 4294967295.0, UINT32_MAX)

/* --- all pairs: in one step, or in two that give the same result --- */

#define CONVERT(name, S, D, expression)                                                            \
    static void name(void *dst, const void *src, size_t n)                                         \
    {                                                                                              \
        const S *in = src;                                                                         \
        D *out = dst;                                                                              \
        VECTORISE for (size_t i = 0; i < n; i++)                                                   \
        {                                                                                          \
            S x = in[i];                                                                           \
            out[i] = (D)(expression);                                                              \
        }                                                                                          \
    }

/* Copies elements unchanged: the same type, or another type of its size. */
#define SAME(size)                                                                                 \
    static void same_##size(void *dst, const void *src, size_t n)                                  \
    {                                                                                              \
        memcpy(dst, src, n *size);                                                                 \
    }
SAME(1)
SAME(2)
SAME(4)
SAME(8)

/* Converts through another type of 4 bytes, a part at a time; `from`, `to`: bytes of an element. */
static APART void in_two(char *dst, const char *src, size_t n, convert_fn *first, size_t from,
                         convert_fn *second, size_t to)
{
    enum { PART = 256 };
    uint32_t between[PART];
    for (size_t i = 0; i < n; i += PART) {
        size_t part = n - i < PART ? n - i : PART;
        first(between, src + i * from, part);
        second(dst + i * to, between, part);
    }
}
#define IN_TWO(name, S, D, first, second)                                                          \
    static void name(void *dst, const void *src, size_t n)                                         \
    {                                                                                              \
        in_two(dst, src, n, first, sizeof(S), second, sizeof(D));                                  \
    }

/* From f32. A tf32 is read as the f32 that it is. */
CONVERT(f32_to_f64, float, double, x)
CONVERT(f32_to_tf32_run, float, float, f32_to_tf32(x))
#if defined(__AVX2__)
/* Returns the bits of bf16 in the lower halves of 32-bit lanes. */
static inline __m256i bf16_lanes(const float *in)
{
    __m256 x = _mm256_loadu_ps(in);
    __m256i bits = _mm256_castps_si256(x), upper = _mm256_srli_epi32(bits, 16);
    __m256i half =
        _mm256_add_epi32(_mm256_and_si256(upper, _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7fff));
    __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    return _mm256_blendv_epi8(rounded, quiet,
                              _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}
#endif

static void f32_to_bf16_run(void *dst, const void *src, size_t n)
{
    const float *in = src;
    uint16_t *out = dst;
    size_t i = 0;
#if defined(__AVX2__)
    for (; i + 16 <= n; i += 16) {
        __m256i both = _mm256_packus_epi32(bf16_lanes(in + i), bf16_lanes(in + i + 8));
        _mm256_storeu_si256((void *)(out + i), _mm256_permute4x64_epi64(both, 0xd8));
    }
    for (; i < n; i++)
#else
    VECTORISE for (; i < n; i++)
#endif
        out[i] = to_bf16(in[i]);
}

CONVERT(f32_to_e4m3_run, float, uint8_t, f32_to_e4m3(x))
CONVERT(f32_to_e5m2_run, float, uint8_t, f32_to_e5m2(x))
CONVERT(f32_to_i64, float, int64_t, f32_i64(x))
CONVERT(f32_to_i32, float, int32_t, f32_i32(x))
CONVERT(f32_to_u64, float, uint64_t, f32_u64(x))
CONVERT(f32_to_u32, float, uint32_t, f32_u32(x))
CONVERT(f32_to_i8, float, int8_t, f32_i8(x))
CONVERT(f32_to_u8, float, uint8_t, f32_u8(x))
CONVERT(f32_to_truth, float, uint8_t, x != 0)
/* A short integer is the nearest to the 32-bit one. */
#define WITHIN(x, least, most) ((x) < (least) ? (least) : (x) > (most) ? (most) : (x))
CONVERT(i32_into_i16, int32_t, int16_t, WITHIN(x, INT16_MIN, INT16_MAX))
CONVERT(i32_into_i8, int32_t, int8_t, WITHIN(x, INT8_MIN, INT8_MAX))
CONVERT(i32_into_u16, int32_t, uint16_t, WITHIN(x, 0, UINT16_MAX))
CONVERT(i32_into_u8, int32_t, uint8_t, WITHIN(x, 0, UINT8_MAX))
IN_TWO(f32_to_i16, float, int16_t, f32_to_i32, i32_into_i16)
IN_TWO(f32_to_u16, float, uint16_t, f32_to_i32, i32_into_u16)

enum { HALVES = 8 }; /* elements at a time, if the processor has instructions for it */

#if defined(__F16C__) && defined(__AVX__)
static inline void from_halves(float *out, const uint16_t *in)
{
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const void *)in)));
}

static inline void to_halves(uint16_t *out, const float *in)
{
    __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((void *)out, halves);
}
#elif defined(ROUTINES_NEON)
static inline void from_halves(float *out, const uint16_t *in)
{
    float16x8_t halves = vreinterpretq_f16_u16(vld1q_u16(in));
    vst1q_f32(out, vcvt_f32_f16(vget_low_f16(halves)));
    vst1q_f32(out + 4, vcvt_high_f32_f16(halves));
}

static inline void to_halves(uint16_t *out, const float *in)
{
    float16x4_t low = vcvt_f16_f32(vld1q_f32(in));
    vst1q_u16(out, vreinterpretq_u16_f16(vcvt_high_f16_f32(low, vld1q_f32(in + 4))));
}
#endif

static void f16_to_f32_run(void *dst, const void *src, size_t n)
{
    const uint16_t *in = src;
    float *out = dst;
    size_t i = 0;
#ifdef HARDWARE_F16
    for (; i + HALVES <= n; i += HALVES)
        from_halves(out + i, in + i);
#endif
    VECTORISE for (; i < n; i++)
    {
        out[i] = from_f16(in[i]);
    }
}

static void f32_to_f16_run(void *dst, const void *src, size_t n)
{
    const float *in = src;
    uint16_t *out = dst;
    size_t i = 0;
#ifdef HARDWARE_F16
    for (; i + HALVES <= n; i += HALVES)
        to_halves(out + i, in + i);
#endif
    VECTORISE for (; i < n; i++)
    {
        out[i] = to_f16(in[i]);
    }
}

/* Small floats are converted to f32 first, then to the other type. */
CONVERT(bf16_to_f32_run, uint16_t, float, from_bf16(x))
/* If instructions convert f16, bytes become f16 first. An e5m2 is the upper byte of an f16. The bits
 * of an e4m3, one to the right of an f16's exponent, are the f16 that is 2^8 times smaller, because
 * the exponents have biases of 7 and 15; its NaN becomes one. */
static inline uint16_t e5m2_to_half(uint8_t x)
{
    return (uint16_t)(x << 8);
}

static inline uint16_t e4m3_to_half(uint8_t x)
{
    uint16_t nan = (x & 0x7fu) == 0x7fu ? 0x7fffu : 0;
    return (uint16_t)((x & 0x80u) << 8 | (x & 0x7fu) << 7 | nan);
}

#ifdef HARDWARE_F16
#define FROM_BYTES(t, scale)                                                                       \
    static void t##_to_f32_run(void *dst, const void *src, size_t n)                               \
    {                                                                                              \
        enum { PART = 32 };                                                                        \
        uint16_t halves[PART];                                                                     \
        const uint8_t *in = src;                                                                   \
        float *out = dst;                                                                          \
        size_t i = 0;                                                                              \
        for (; i + PART <= n; i += PART) {                                                         \
            for (int j = 0; j < PART; j++)                                                         \
                halves[j] = t##_to_half(in[i + (size_t)j]);                                        \
            for (size_t j = 0; j < PART; j += HALVES)                                              \
                from_halves(out + i + j, halves + j);                                              \
            for (size_t j = 0; j < PART && (scale) > 1; j++)                                       \
                out[i + j] *= (scale);                                                             \
        }                                                                                          \
        VECTORISE for (; i < n; i++)                                                               \
        {                                                                                          \
            out[i] = t##_to_f32(in[i]);                                                            \
        }                                                                                          \
    }
FROM_BYTES(e4m3, 0x1p8f)
FROM_BYTES(e5m2, 1.0f)
#else
CONVERT(e4m3_to_f32_run, uint8_t, float, e4m3_to_f32(x))
CONVERT(e5m2_to_f32_run, uint8_t, float, e5m2_to_f32(x))
#endif
#define FROM_SMALL(s, S)                                                                           \
    IN_TWO(s##_to_f64, S, double, s##_to_f32_run, f32_to_f64)                                      \
    IN_TWO(s##_to_i64, S, int64_t, s##_to_f32_run, f32_to_i64)                                     \
    IN_TWO(s##_to_i32, S, int32_t, s##_to_f32_run, f32_to_i32)                                     \
    IN_TWO(s##_to_i16, S, int16_t, s##_to_f32_run, f32_to_i16)                                     \
    IN_TWO(s##_to_i8, S, int8_t, s##_to_f32_run, f32_to_i8)                                        \
    IN_TWO(s##_to_u64, S, uint64_t, s##_to_f32_run, f32_to_u64)                                    \
    IN_TWO(s##_to_u32, S, uint32_t, s##_to_f32_run, f32_to_u32)                                    \
    IN_TWO(s##_to_u16, S, uint16_t, s##_to_f32_run, f32_to_u16)                                    \
    IN_TWO(s##_to_u8, S, uint8_t, s##_to_f32_run, f32_to_u8)                                       \
    IN_TWO(s##_to_truth, S, uint8_t, s##_to_f32_run, f32_to_truth)
FROM_SMALL(f16, uint16_t)
FROM_SMALL(bf16, uint16_t)
FROM_SMALL(e4m3, uint8_t)
FROM_SMALL(e5m2, uint8_t)
IN_TWO(f16_to_tf32, uint16_t, float, f16_to_f32_run, f32_to_tf32_run)
IN_TWO(f16_to_bf16, uint16_t, uint16_t, f16_to_f32_run, f32_to_bf16_run)
IN_TWO(f16_to_e4m3, uint16_t, uint8_t, f16_to_f32_run, f32_to_e4m3_run)
IN_TWO(f16_to_e5m2, uint16_t, uint8_t, f16_to_f32_run, f32_to_e5m2_run)
IN_TWO(bf16_to_tf32, uint16_t, float, bf16_to_f32_run, f32_to_tf32_run)
IN_TWO(bf16_to_f16, uint16_t, uint16_t, bf16_to_f32_run, f32_to_f16_run)
IN_TWO(bf16_to_e4m3, uint16_t, uint8_t, bf16_to_f32_run, f32_to_e4m3_run)
IN_TWO(bf16_to_e5m2, uint16_t, uint8_t, bf16_to_f32_run, f32_to_e5m2_run)
IN_TWO(e4m3_to_f16, uint8_t, uint16_t, e4m3_to_f32_run, f32_to_f16_run)
IN_TWO(e4m3_to_bf16, uint8_t, uint16_t, e4m3_to_f32_run, f32_to_bf16_run)
IN_TWO(e4m3_to_e5m2, uint8_t, uint8_t, e4m3_to_f32_run, f32_to_e5m2_run)
IN_TWO(e5m2_to_f16, uint8_t, uint16_t, e5m2_to_f32_run, f32_to_f16_run)
IN_TWO(e5m2_to_bf16, uint8_t, uint16_t, e5m2_to_f32_run, f32_to_bf16_run)
IN_TWO(e5m2_to_e4m3, uint8_t, uint8_t, e5m2_to_f32_run, f32_to_e4m3_run)

/* From f64. To the formats of matrix units it goes through f32. */
CONVERT(f64_to_f32, double, float, x)
CONVERT(f64_to_f16_run, double, uint16_t, f64_to_f16(x))
CONVERT(f64_to_bf16_run, double, uint16_t, f64_to_bf16(x))
IN_TWO(f64_to_tf32, double, float, f64_to_f32, f32_to_tf32_run)
IN_TWO(f64_to_e4m3, double, uint8_t, f64_to_f32, f32_to_e4m3_run)
IN_TWO(f64_to_e5m2, double, uint8_t, f64_to_f32, f32_to_e5m2_run)
CONVERT(f64_to_i64, double, int64_t, f64_i64(x))
CONVERT(f64_to_i32, double, int32_t, f64_i32(x))
CONVERT(f64_to_u64, double, uint64_t, f64_u64(x))
CONVERT(f64_to_u32, double, uint32_t, f64_u32(x))
CONVERT(f64_to_truth, double, uint8_t, x != 0)
IN_TWO(f64_to_i16, double, int16_t, f64_to_i32, i32_into_i16)
IN_TWO(f64_to_i8, double, int8_t, f64_to_i32, i32_into_i8)
IN_TWO(f64_to_u16, double, uint16_t, f64_to_i32, i32_into_u16)
IN_TWO(f64_to_u8, double, uint8_t, f64_to_i32, i32_into_u8)

/* Between integers only the source's sign matters, and only if the result is wider. */
CONVERT(bits64_to_32, uint64_t, uint32_t, x)
CONVERT(bits64_to_16, uint64_t, uint16_t, x)
CONVERT(bits64_to_8, uint64_t, uint8_t, x)
CONVERT(bits64_to_truth, uint64_t, uint8_t, x != 0)
CONVERT(bits32_to_16, uint32_t, uint16_t, x)
CONVERT(bits32_to_8, uint32_t, uint8_t, x)
CONVERT(bits32_to_truth, uint32_t, uint8_t, x != 0)
CONVERT(bits16_to_8, uint16_t, uint8_t, x)
CONVERT(bits16_to_truth, uint16_t, uint8_t, x != 0)
CONVERT(bits8_to_truth, uint8_t, uint8_t, x != 0)
#define WIDEN(s, S, I32, I64)                                                                      \
    CONVERT(s##_to_64, S, I64, x)                                                                  \
    CONVERT(s##_to_32, S, I32, x)
CONVERT(i32_to_64, int32_t, int64_t, x)
CONVERT(u32_to_64, uint32_t, uint64_t, x)
WIDEN(i16, int16_t, int32_t, int64_t)
WIDEN(u16, uint16_t, uint32_t, uint64_t)
WIDEN(i8, int8_t, int32_t, int64_t)
WIDEN(u8, uint8_t, uint32_t, uint64_t)
CONVERT(i8_to_16, int8_t, int16_t, x)
CONVERT(u8_to_16, uint8_t, uint16_t, x)

/* From integers to floats. Integers of 16 bits and fewer are exact in f32. One of 32 bits that
 * f32 does not hold exactly, beyond 2^24, is infinite as f16 however it is rounded; for bf16 it
 * must be rounded once. */
#define TO_FLOATS(s, S)                                                                            \
    CONVERT(s##_to_f64, S, double, x)                                                              \
    CONVERT(s##_to_f32, S, float, x)                                                               \
    IN_TWO(s##_to_tf32, S, float, s##_to_f32, f32_to_tf32_run)                                     \
    IN_TWO(s##_to_e4m3, S, uint8_t, s##_to_f32, f32_to_e4m3_run)                                   \
    IN_TWO(s##_to_e5m2, S, uint8_t, s##_to_f32, f32_to_e5m2_run)
#define TO_HALVES(s, S)                                                                            \
    IN_TWO(s##_to_f16, S, uint16_t, s##_to_f32, f32_to_f16_run)                                    \
    IN_TWO(s##_to_bf16, S, uint16_t, s##_to_f32, f32_to_bf16_run)
TO_FLOATS(i64, int64_t)
CONVERT(i64_to_f16, int64_t, uint16_t, f64_to_f16(odd_f64_i64(x)))
CONVERT(i64_to_bf16, int64_t, uint16_t, f64_to_bf16(odd_f64_i64(x)))
TO_FLOATS(u64, uint64_t)
CONVERT(u64_to_f16, uint64_t, uint16_t, f64_to_f16(odd_f64_u64(x)))
CONVERT(u64_to_bf16, uint64_t, uint16_t, f64_to_bf16(odd_f64_u64(x)))
TO_FLOATS(i32, int32_t)
IN_TWO(i32_to_f16, int32_t, uint16_t, i32_to_f32, f32_to_f16_run)
CONVERT(i32_to_bf16, int32_t, uint16_t, f64_to_bf16((double)x))
TO_FLOATS(u32, uint32_t)
IN_TWO(u32_to_f16, uint32_t, uint16_t, u32_to_f32, f32_to_f16_run)
CONVERT(u32_to_bf16, uint32_t, uint16_t, f64_to_bf16((double)x))
TO_FLOATS(i16, int16_t)
TO_HALVES(i16, int16_t)
TO_FLOATS(u16, uint16_t)
TO_HALVES(u16, uint16_t)
TO_FLOATS(i8, int8_t)
TO_HALVES(i8, int8_t)
TO_FLOATS(u8, uint8_t)
TO_HALVES(u8, uint8_t)

CONVERT(bool_to_f64, uint8_t, double, x != 0)
CONVERT(bool_to_f32, uint8_t, float, x != 0)
CONVERT(bool_to_tf32, uint8_t, float, x != 0)
CONVERT(bool_to_e4m3, uint8_t, uint8_t, x != 0 ? 0x38u : 0u)
CONVERT(bool_to_e5m2, uint8_t, uint8_t, x != 0 ? 0x3cu : 0u)
CONVERT(bool_to_f16, uint8_t, uint16_t, x != 0 ? 0x3c00u : 0u)
CONVERT(bool_to_bf16, uint8_t, uint16_t, x != 0 ? 0x3f80u : 0u)
CONVERT(bool_to_64, uint8_t, uint64_t, x != 0)
CONVERT(bool_to_32, uint8_t, uint32_t, x != 0)
CONVERT(bool_to_16, uint8_t, uint16_t, x != 0)
CONVERT(bool_to_8, uint8_t, uint8_t, x != 0)

/* A row of the table holds the conversions to one type. */
#define FROM_INTEGERS(d)                                                                           \
    [DT_I64] = i64_to_##d, [DT_I32] = i32_to_##d, [DT_I16] = i16_to_##d, [DT_I8] = i8_to_##d,      \
    [DT_U64] = u64_to_##d, [DT_U32] = u32_to_##d, [DT_U16] = u16_to_##d, [DT_U8] = u8_to_##d
#define TO_INTEGER_TYPE(d, i64, u64, i32, u32, i16, u16, i8, u8, from_bool)                        \
    {                                                                                              \
        [DT_I64] = i64, [DT_U64] = u64, [DT_I32] = i32, [DT_U32] = u32, [DT_I16] = i16,            \
        [DT_U16] = u16, [DT_I8] = i8, [DT_U8] = u8, [DT_F64] = f64_to_##d, [DT_F32] = f32_to_##d,  \
        [DT_TF32] = f32_to_##d, [DT_F16] = f16_to_##d, [DT_BF16] = bf16_to_##d,                    \
        [DT_E4M3] = e4m3_to_##d, [DT_E5M2] = e5m2_to_##d, [DT_BOOL] = from_bool                    \
    }
#define TO_64(d)                                                                                   \
    TO_INTEGER_TYPE(d, same_8, same_8, i32_to_64, u32_to_64, i16_to_64, u16_to_64, i8_to_64,       \
                    u8_to_64, bool_to_64)
#define TO_32(d)                                                                                   \
    TO_INTEGER_TYPE(d, bits64_to_32, bits64_to_32, same_4, same_4, i16_to_32, u16_to_32, i8_to_32, \
                    u8_to_32, bool_to_32)
#define TO_16(d)                                                                                   \
    TO_INTEGER_TYPE(d, bits64_to_16, bits64_to_16, bits32_to_16, bits32_to_16, same_2, same_2,     \
                    i8_to_16, u8_to_16, bool_to_16)
#define TO_8(d)                                                                                    \
    TO_INTEGER_TYPE(d, bits64_to_8, bits64_to_8, bits32_to_8, bits32_to_8, bits16_to_8,            \
                    bits16_to_8, same_1, same_1, bool_to_8)
#define TO_FLOAT_TYPE(d, f64, f32, tf32, f16, bf16, e4m3, e5m2)                                    \
    {                                                                                              \
        FROM_INTEGERS(d), [DT_F64] = f64, [DT_F32] = f32, [DT_TF32] = tf32, [DT_F16] = f16,        \
                          [DT_BF16] = bf16, [DT_E4M3] = e4m3, [DT_E5M2] = e5m2,                    \
                          [DT_BOOL] = bool_to_##d                                                  \
    }

extern const struct convert_routines ROUTINE(routines_convert);
const struct convert_routines
    ROUTINE(routines_convert) =
        {
            .convert =
                {
                    [DT_F64] = TO_FLOAT_TYPE(f64, same_8, f32_to_f64, f32_to_f64, f16_to_f64,
                                             bf16_to_f64, e4m3_to_f64, e5m2_to_f64),
                    [DT_F32] = TO_FLOAT_TYPE(f32, f64_to_f32, same_4, same_4, f16_to_f32_run,
                                             bf16_to_f32_run, e4m3_to_f32_run, e5m2_to_f32_run),
                    [DT_TF32] = TO_FLOAT_TYPE(tf32, f64_to_tf32, f32_to_tf32_run, same_4,
                                              f16_to_tf32, bf16_to_tf32, e4m3_to_f32_run,
                                              e5m2_to_f32_run),
                    [DT_F16] = TO_FLOAT_TYPE(f16, f64_to_f16_run, f32_to_f16_run, f32_to_f16_run,
                                             same_2, bf16_to_f16, e4m3_to_f16, e5m2_to_f16),
                    [DT_BF16] = TO_FLOAT_TYPE(bf16, f64_to_bf16_run, f32_to_bf16_run,
                                              f32_to_bf16_run, f16_to_bf16, same_2, e4m3_to_bf16,
                                              e5m2_to_bf16),
                    [DT_E4M3] = TO_FLOAT_TYPE(e4m3, f64_to_e4m3, f32_to_e4m3_run, f32_to_e4m3_run,
                                              f16_to_e4m3, bf16_to_e4m3, same_1, e5m2_to_e4m3),
                    [DT_E5M2] = TO_FLOAT_TYPE(e5m2, f64_to_e5m2, f32_to_e5m2_run, f32_to_e5m2_run,
                                              f16_to_e5m2, bf16_to_e5m2, e4m3_to_e5m2, same_1),
                    [DT_I64] = TO_64(i64),
                    [DT_I32] = TO_32(i32),
                    [DT_I16] = TO_16(i16),
                    [DT_I8] = TO_8(i8),
                    [DT_U64] = TO_64(u64),
                    [DT_U32] = TO_32(u32),
                    [DT_U16] = TO_16(u16),
                    [DT_U8] = TO_8(u8),
                    [DT_BOOL] = TO_INTEGER_TYPE(truth, bits64_to_truth, bits64_to_truth,
                                                bits32_to_truth, bits32_to_truth, bits16_to_truth,
                                                bits16_to_truth,
                                                bits8_to_truth, bits8_to_truth, bool_to_8),
                },
};
