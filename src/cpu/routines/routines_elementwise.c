/* Arithmetic, comparisons, bits: one operation on each element. */
#include "base/arithmetic.h"
#include "base/float_bits.h"
#include "cpu/float_order.h"
#include "cpu/routines/routines.h"

#include <math.h>
#include <string.h>

#if defined(ROUTINES_V3) || defined(ROUTINES_V4)
#include <immintrin.h>
#endif

/* Defines a function `name` from elements x (y, z) of type T to elements of type R. */
#define UNARY(name, T, R, expression)                                                              \
    static void name(void *dst, const void *a, const void *b, const void *c, size_t n)             \
    {                                                                                              \
        const T *xs = a;                                                                           \
        R *out = dst;                                                                              \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        VECTORISE for (size_t i = 0; i < n; i++)                                                   \
        {                                                                                          \
            T x = xs[i];                                                                           \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    }

#define BINARY(name, T, R, expression) BINARY_MADE(APART, name, T, R, expression)
#define BINARY_MADE(how, name, T, R, expression)                                                   \
    static how void name(void *dst, const void *a, const void *b, const void *c, size_t n)         \
    {                                                                                              \
        const T *xs = a, *ys = b;                                                                  \
        R *out = dst;                                                                              \
        (void)c;                                                                                   \
        VECTORISE for (size_t i = 0; i < n; i++)                                                   \
        {                                                                                          \
            T x = xs[i], y = ys[i];                                                                \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    }

#define TERNARY(name, T, R, expression) TERNARY_MADE(APART, name, T, R, expression)
#define TERNARY_MADE(how, name, T, R, expression)                                                  \
    static how void name(void *dst, const void *a, const void *b, const void *c, size_t n)         \
    {                                                                                              \
        const T *xs = a, *ys = b, *zs = c;                                                         \
        R *out = dst;                                                                              \
        VECTORISE for (size_t i = 0; i < n; i++)                                                   \
        {                                                                                          \
            T x = xs[i], y = ys[i], z = zs[i];                                                     \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    }

/* Defines `greater` as `less` with its operands exchanged. */
#define TURNED(greater, less)                                                                      \
    static void greater(void *dst, const void *a, const void *b, const void *c, size_t n)          \
    {                                                                                              \
        less(dst, b, a, c, n);                                                                     \
    }

#define ORDER(t, T)                                                                                \
    BINARY(t##_lt, T, uint8_t, x < y)                                                              \
    BINARY(t##_le, T, uint8_t, x <= y)                                                             \
    TURNED(t##_gt, t##_lt)                                                                         \
    TURNED(t##_ge, t##_le)
#define EQUALITY(t, T)                                                                             \
    BINARY(t##_eq, T, uint8_t, x == y)                                                             \
    BINARY(t##_ne, T, uint8_t, x != y)
#define COMPARISONS(t, T)                                                                          \
    ORDER(t, T)                                                                                    \
    EQUALITY(t, T)

/* --- floats --- */

#define FLOATS(t, T, how, absolute, remainder, fused, root, nearest, down, up)                     \
    COMPARISONS(t, T)                                                                              \
    UNARY(t##_neg, T, T, -x)                                                                       \
    UNARY(t##_abs, T, T, absolute(x))                                                              \
    UNARY(t##_square, T, T, x *x)                                                                  \
    UNARY(t##_sqrt, T, T, root(x))                                                                 \
    UNARY(t##_rsqrt, T, T, 1 / root(x))                                                            \
    UNARY(t##_round, T, T, nearest(x))                                                             \
    UNARY(t##_floor, T, T, down(x))                                                                \
    UNARY(t##_ceil, T, T, up(x))                                                                   \
    BINARY_MADE(how, t##_add, T, T, x + y)                                                         \
    BINARY_MADE(how, t##_sub, T, T, x - y)                                                         \
    BINARY_MADE(how, t##_mul, T, T, x *y)                                                          \
    BINARY(t##_div, T, T, x / y)                                                                   \
    BINARY(t##_rem, T, T, remainder(x, y))                                                         \
    BINARY(t##_min, T, T, t##_least(x, y))                                                         \
    BINARY(t##_max, T, T, t##_most(x, y))                                                          \
    TERNARY_MADE(how, t##_fma, T, T, fused(x, y, z))                                               \
    TERNARY(t##_clip, T, T, t##_least(t##_most(x, y), z))

FLOATS(f32, float, OFTEN, fabsf, fmodf, fma_once, sqrtf, rintf, floorf, ceilf)
#if !defined(ROUTINES_V4)
FLOATS(f64, double, APART, fabs, fmod, fma, sqrt, rint, floor, ceil)
#endif

/* The product of two 16-bit floats is exact in double, so the sum is rounded once. */
#define HALF_FMA(name, load, store)                                                                \
    static void name(void *dst, const void *a, const void *b, const void *c, size_t n)             \
    {                                                                                              \
        const uint16_t *x = a, *y = b, *z = c;                                                     \
        uint16_t *out = dst;                                                                       \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] =                                                                               \
                store(add_to_odd((double)load(x[i]) * (double)load(y[i]), (double)load(z[i])));    \
    }
HALF_FMA(fma_f16, f16_to_f32, f64_to_f16)
HALF_FMA(fma_bf16, bf16_to_f32, f64_to_bf16)

/* --- with one value as the right operand --- */

#define BY_ONE(name, T, expression)                                                                \
    static OFTEN void name(void *dst, const void *a, const void *b, const void *c, size_t n)       \
    {                                                                                              \
        const T *xs = a, y = *(const T *)b;                                                        \
        T *out = dst;                                                                              \
        (void)c;                                                                                   \
        VECTORISE for (size_t i = 0; i < n; i++)                                                   \
        {                                                                                          \
            T x = xs[i];                                                                           \
            out[i] = expression;                                                                   \
        }                                                                                          \
    }
BY_ONE(f32_add_one, float, x + y)
BY_ONE(f32_sub_one, float, x - y)
BY_ONE(f32_mul_one, float, x *y)
BY_ONE(f32_divide_one, float, x / y)

static OFTEN void f32_scaled_fma(void *dst, const void *a, const void *b, const void *c,
                                 const void *s, size_t n)
{
    const float *xs = a, *ys = b, *zs = c, by = *(const float *)s;
    float *out = dst;
    VECTORISE for (size_t i = 0; i < n; i++)
    {
        float x = xs[i] * by;
        out[i] = fma_once(x, ys[i], zs[i]);
    }
}

static OFTEN void f32_scaled_product(void *dst, const void *a, const void *b, const void *c,
                                     const void *s, size_t n)
{
    const float *xs = a, *ys = b, by = *(const float *)s;
    float *out = dst;
    (void)c;
    VECTORISE for (size_t i = 0; i < n; i++)
    {
        float x = xs[i] * by;
        out[i] = x * ys[i];
    }
}

#if defined(FP_FAST_FMAF) || defined(__FMA__) /* clang defines only __FMA__ */
enum { QUOTIENTS = 256 };                     /* elements at a time */
enum { MEDIUM_LEAST = (27 << 23) - 1, MEDIUM_MOST = 227 << 23 };

/* The least magnitude except 0, minus one as bits; and the greatest. */
struct magnitudes {
    uint32_t least, most;
};

/* Returns whether each x is from 2^-100 to 2^100, or 0. */
static inline bool are_medium(struct magnitudes m)
{
    return m.least >= MEDIUM_LEAST && m.most <= MEDIUM_MOST;
}

static inline bool is_medium_divisor(float y)
{
    return y >= 0x1p-24f && y <= 0x1p24f;
}

static inline struct magnitudes magnitudes_with(struct magnitudes m, float x)
{
    uint32_t magnitude = f32_bits(x) & 0x7fffffffu;
    m.least = magnitude - 1 < m.least ? magnitude - 1 : m.least; /* 0 becomes the greatest */
    m.most = magnitude > m.most ? magnitude : m.most;
    return m;
}

/* Returns x / y, correctly rounded, from y' = 1 / y: the error of x y' is computed exactly and
 * added as a correction (Markstein: Computation of elementary functions on the IBM RISC
 * System/6000 processor). The error of x y' is below 1.5 units, so the sum could round wrongly
 * only if x / y is within 4 units of 2^-48 of the middle between two numbers; all such x and y
 * were tried. Operands so large or small that a step could lose bits are divided instead. */
static inline float quotient_by(float x, float y, float inverse)
{
    float q = x * inverse;
    return fma_once(fma_once(q, y, -x), -inverse, q); /* -0 gives -0 */
}

static void f32_div_one(void *dst, const void *a, const void *b, const void *c, size_t n)
{
    const float y = *(const float *)b, inverse = 1 / y;
    const bool medium = is_medium_divisor(y);
    float kept[QUOTIENTS];
    for (size_t i = 0, count; i < n; i += count) {
        const float *x = (const float *)a + i;
        float *out = (float *)dst + i;
        struct magnitudes m = {UINT32_MAX, 0};
        count = n - i < QUOTIENTS ? n - i : QUOTIENTS;
        if (medium && x == out)
            x = memcpy(kept, x, count * sizeof *x);
        if (medium)
            VECTORISE for (size_t j = 0; j < count; j++)
            {
                m = magnitudes_with(m, x[j]);
                out[j] = quotient_by(x[j], y, inverse);
            }
        if (!medium || !are_medium(m))
            f32_divide_one(out, x, b, c, count);
    }
}
#else
#define f32_div_one f32_divide_one
#endif

/* --- past the caches --- */

#if defined(ROUTINES_V4)
#define PAST_VECTOR __m512
#define PAST_WORDS __m512i
#define PAST(name) _mm512_##name##_ps
#define WORDS(name) _mm512_##name
#define IS_ANY(x) (_mm512_test_epi32_mask(x, x) != 0)
#elif defined(ROUTINES_V3)
#define PAST_VECTOR __m256
#define PAST_WORDS __m256i
#define PAST(name) _mm256_##name##_ps
#define WORDS(name) _mm256_##name
#define IS_ANY(x) (!_mm256_testz_si256(x, x))
#endif

#if defined(PAST_VECTOR)
/* The loop of a routine whose result is a vector, computed from the vectors at xs, ys and zs. */
#define PAST_LOOP(expression)                                                                      \
    const float *xs = a, *ys = b, *zs = c;                                                         \
    float *out = dst;                                                                              \
    (void)ys;                                                                                      \
    (void)zs;                                                                                      \
    for (size_t i = 0; i < n; i += sizeof(PAST_VECTOR) / sizeof *out) {                            \
        PAST_VECTOR x = PAST(loadu)(xs + i);                                                       \
        PAST(stream)(out + i, expression);                                                         \
    }
#define PAST_ROUTINE(name, expression)                                                             \
    static APART void name(void *dst, const void *a, const void *b, const void *c, size_t n)       \
    {                                                                                              \
        PAST_LOOP(expression)                                                                      \
    }
#define PAST_BY_ONE(name, expression)                                                              \
    static APART void name(void *dst, const void *a, const void *b, const void *c, size_t n)       \
    {                                                                                              \
        const PAST_VECTOR one = PAST(set1)(*(const float *)b);                                     \
        PAST_LOOP(expression)                                                                      \
    }
PAST_ROUTINE(f32_add_past, x + PAST(loadu)(ys + i))
PAST_ROUTINE(f32_sub_past, x - PAST(loadu)(ys + i))
PAST_ROUTINE(f32_mul_past, x *PAST(loadu)(ys + i))
PAST_ROUTINE(f32_fma_past, PAST(fmadd)(x, PAST(loadu)(ys + i), PAST(loadu)(zs + i)))
PAST_BY_ONE(f32_add_one_past, x + one)
PAST_BY_ONE(f32_sub_one_past, x - one)
PAST_BY_ONE(f32_mul_one_past, x *one)
PAST_BY_ONE(f32_divide_one_past, x / one)

static void scaled_fma_past(void *dst, const void *a, const void *b, const void *c, const void *s,
                            size_t n)
{
    const PAST_VECTOR one = PAST(set1)(*(const float *)s);
    PAST_LOOP(PAST(fmadd)(x * one, PAST(loadu)(ys + i), PAST(loadu)(zs + i)))
}

static void scaled_product_past(void *dst, const void *a, const void *b, const void *c,
                                const void *s, size_t n)
{
    const PAST_VECTOR one = PAST(set1)(*(const float *)s);
    PAST_LOOP(x * one * PAST(loadu)(ys + i))
}

/* Divides like f32_div_one. If some x is not medium, the quotients are divided and written
 * again. */
static void f32_div_one_past(void *dst, const void *a, const void *b, const void *c, size_t n)
{
    enum { LANES = sizeof(PAST_VECTOR) / 4 };
    const float *xs = a, y = *(const float *)b;
    const PAST_VECTOR one = PAST(set1)(y), inverse = PAST(set1)(1 / y), less = -inverse;
    const PAST_WORDS magnitude = WORDS(set1_epi32)(0x7fffffff), unit = WORDS(set1_epi32)(1);
    PAST_WORDS least = WORDS(set1_epi32)(-1), most = least ^ least;
    for (size_t i = 0; i < n; i += LANES) {
        PAST_VECTOR x = PAST(loadu)(xs + i), q = x * inverse;
        PAST_WORDS bits = (PAST_WORDS)x & magnitude;
        least = WORDS(min_epu32)(least, WORDS(sub_epi32)(bits, unit));
        most = WORDS(max_epu32)(most, bits);
        PAST(stream)((float *)dst + i, PAST(fmadd)(PAST(fmsub)(q, one, x), less, q));
    }
    const PAST_WORDS low = WORDS(set1_epi32)(MEDIUM_LEAST), high = WORDS(set1_epi32)(MEDIUM_MOST);
    PAST_WORDS beyond =
        (WORDS(min_epu32)(least, low) ^ low) | (WORDS(max_epu32)(most, high) ^ high);
    if (!is_medium_divisor(y) || IS_ANY(beyond))
        f32_divide_one_past(dst, a, b, c, n);
}

#if defined(ROUTINES_V4) /* only this set has a routine for powers, which this one divides */
static APART void medium_div_one_past(void *dst, const void *a, const void *b, const void *c,
                                      size_t n)
{
    const float y = *(const float *)b;
    const PAST_VECTOR one = PAST(set1)(y), inverse = PAST(set1)(1 / y), less = -inverse;
    if (!is_medium_divisor(y)) {
        f32_divide_one_past(dst, a, b, c, n);
        return;
    }
    PAST_LOOP(PAST(fmadd)(PAST(fmsub)(x * inverse, one, x), less, x * inverse))
}
#endif

static const struct past_routine past[] = {
    {OP_ADD, f32_add_past, f32_add_one_past}, {OP_SUB, f32_sub_past, f32_sub_one_past},
    {OP_MUL, f32_mul_past, f32_mul_one_past}, {OP_FMA, f32_fma_past, NULL},
    {OP_DIV, NULL, f32_div_one_past},         {OP_DIV, NULL, NULL}};
#else
static const struct past_routine past[] = {{OP_DIV, NULL, NULL}};
#define scaled_fma_past NULL
#define scaled_product_past NULL
#endif

#if !defined(ROUTINES_V4)
#define medium_div_one_past NULL
#endif

#if !defined(ROUTINES_V4)
/* --- integers: computed unsigned, so that they wrap --- */

/* Division by 0 gives 0 here; a step before it has reported the fault if the lane was active. */
#define SIGNED_DIVISION(t, T, U)                                                                   \
    static inline T t##_quotient(T x, T y)                                                         \
    {                                                                                              \
        return y == 0 ? 0 : y == -1 ? (T)(0 - (U)x) : x / y;                                       \
    }                                                                                              \
    static inline T t##_rest(T x, T y)                                                             \
    {                                                                                              \
        return y == 0 || y == -1 ? 0 : x % y;                                                      \
    }                                                                                              \
    static inline T t##_quotient_up(T x, T y)                                                      \
    {                                                                                              \
        T rest = t##_rest(x, y);                                                                   \
        return t##_quotient(x, y) + (rest != 0 && (rest < 0) == (y < 0));                          \
    }

#define UNSIGNED_DIVISION(t, T)                                                                    \
    static inline T t##_quotient(T x, T y)                                                         \
    {                                                                                              \
        return y == 0 ? 0 : x / y;                                                                 \
    }                                                                                              \
    static inline T t##_rest(T x, T y)                                                             \
    {                                                                                              \
        return y == 0 ? 0 : x % y;                                                                 \
    }                                                                                              \
    static inline T t##_quotient_up(T x, T y)                                                      \
    {                                                                                              \
        return t##_quotient(x, y) + (t##_rest(x, y) != 0);                                         \
    }

#define INTEGERS(t, T, U, bits, negative)                                                          \
    static inline U t##_power(U x)                                                                 \
    {                                                                                              \
        U power = 1;                                                                               \
        while (power && power < x)                                                                 \
            power = (U)(power << 1);                                                               \
        return power;                                                                              \
    }                                                                                              \
    ORDER(t, T)                                                                                    \
    UNARY(t##_abs, T, T, negative(x) ? 0 - (U)x : (U)x)                                            \
    UNARY(t##_pow2_ceil, T, T, negative(x) ? 1 : t##_power((U)x))                                  \
    BINARY(t##_div, T, T, t##_quotient(x, y))                                                      \
    BINARY(t##_rem, T, T, t##_rest(x, y))                                                          \
    BINARY(t##_cdiv, T, T, t##_quotient_up(x, y))                                                  \
    BINARY(t##_shr, T, T, (U)y < bits ? x >> ((U)y & (bits - 1)) : (T)(negative(x) ? ~(U)0 : 0))   \
    BINARY(t##_min, T, T, y < x ? y : x)                                                           \
    BINARY(t##_max, T, T, x < y ? y : x)                                                           \
    TERNARY(t##_clip, T, T, z < (x < y ? y : x) ? z : (x < y ? y : x))

/* Operations that have the same bits for signed and unsigned types; one routine serves both. */
#define UNSIGNED(u, U, bits)                                                                       \
    EQUALITY(u, U)                                                                                 \
    UNARY(u##_neg, U, U, 0 - x)                                                                    \
    UNARY(u##_invert, U, U, ~x)                                                                    \
    UNARY(u##_square, U, U, x *x)                                                                  \
    BINARY(u##_add, U, U, x + y)                                                                   \
    BINARY(u##_sub, U, U, x - y)                                                                   \
    BINARY(u##_mul, U, U, x *y)                                                                    \
    BINARY(u##_and, U, U, x &y)                                                                    \
    BINARY(u##_or, U, U, x | y)                                                                    \
    BINARY(u##_xor, U, U, x ^ y)                                                                   \
    BINARY(u##_shl, U, U, y < bits ? x << (y & (bits - 1)) : 0)                                    \
    TERNARY(u##_fma, U, U, x *y + z)

#define BELOW_ZERO(x) ((x) < 0)
#define NEVER(x) ((void)(x), false)

SIGNED_DIVISION(i32, int32_t, uint32_t)
SIGNED_DIVISION(i64, int64_t, uint64_t)
UNSIGNED_DIVISION(u32, uint32_t)
UNSIGNED_DIVISION(u64, uint64_t)
INTEGERS(i32, int32_t, uint32_t, 32, BELOW_ZERO)
INTEGERS(u32, uint32_t, uint32_t, 32, NEVER)
INTEGERS(i64, int64_t, uint64_t, 64, BELOW_ZERO)
INTEGERS(u64, uint64_t, uint64_t, 64, NEVER)
UNSIGNED(u32, uint32_t, 32)
UNSIGNED(u64, uint64_t, 64)

/* --- bool --- */

COMPARISONS(truth, uint8_t)
UNARY(truth_not, uint8_t, uint8_t, x == 0)
BINARY(truth_and, uint8_t, uint8_t, (x != 0) & (y != 0))
BINARY(truth_or, uint8_t, uint8_t, (x != 0) | (y != 0))
BINARY(truth_xor, uint8_t, uint8_t, (x != 0) ^ (y != 0))

#endif

/* --- choosing --- */

#define SELECT(name, T)                                                                            \
    static void name(void *dst, const void *a, const void *b, const void *c, size_t n)             \
    {                                                                                              \
        const uint8_t *condition = a;                                                              \
        const T *ys = b, *zs = c;                                                                  \
        T *out = dst;                                                                              \
        VECTORISE for (size_t i = 0; i < n; i++)                                                   \
        {                                                                                          \
            T y = ys[i], z = zs[i];                                                                \
            out[i] = condition[i] ? y : z;                                                         \
        }                                                                                          \
    }
SELECT(select_8, uint8_t)
SELECT(select_16, uint16_t)
SELECT(select_32, uint32_t)
SELECT(select_64, uint64_t)

/* --- random numbers --- */

static void philox(void *dst, const void *a, const void *b, const void *c, size_t n)
{
    const uint64_t *keys = a, *counters = b;
    const uint32_t *words = c;
    uint32_t *out = dst;
    for (size_t i = 0; i < n; i++)
        out[i] = philox_word(keys[i], counters[i], words[i]);
}

/* --- the table --- */

#if defined(ROUTINES_V4) /* the other types have the routines for AVX2 */
extern const struct elementwise_routines routines_elementwise_v3;
#define OTHER_TYPES &routines_elementwise_v3
#define OF_FLOATS(name) [COMPUTE_F32] = f32_##name
#define OF_INTEGERS(name) [COMPUTE_I32] = NULL
#define OF_UNSIGNED(name) [COMPUTE_I32] = NULL
#define OF_BOOL(name) [COMPUTE_BOOL] = NULL
#else
#define OTHER_TYPES NULL
#define OF_FLOATS(name) [COMPUTE_F32] = f32_##name, [COMPUTE_F64] = f64_##name
#define OF_INTEGERS(name)                                                                          \
    [COMPUTE_I32] = i32_##name, [COMPUTE_U32] = u32_##name, [COMPUTE_I64] = i64_##name,            \
    [COMPUTE_U64] = u64_##name
#define OF_UNSIGNED(name)                                                                          \
    [COMPUTE_I32] = u32_##name, [COMPUTE_U32] = u32_##name, [COMPUTE_I64] = u64_##name,            \
    [COMPUTE_U64] = u64_##name
#define OF_BOOL(name) [COMPUTE_BOOL] = truth_##name
#endif

static const struct elementwise_row rows[] = {
    {OP_NEG, {OF_FLOATS(neg), OF_UNSIGNED(neg)}, NULL},
    {OP_ABS, {OF_FLOATS(abs), OF_INTEGERS(abs)}, NULL},
    {OP_SQUARE, {OF_FLOATS(square), OF_UNSIGNED(square)}, NULL},
    {OP_ADD, {OF_FLOATS(add), OF_UNSIGNED(add)}, f32_add_one},
    {OP_SUB, {OF_FLOATS(sub), OF_UNSIGNED(sub)}, f32_sub_one},
    {OP_MUL, {OF_FLOATS(mul), OF_UNSIGNED(mul)}, f32_mul_one},
    {OP_DIV, {OF_FLOATS(div), OF_INTEGERS(div)}, f32_div_one},
    {OP_REM, {OF_FLOATS(rem), OF_INTEGERS(rem)}, NULL},
    {OP_MIN, {OF_FLOATS(min), OF_INTEGERS(min)}, NULL},
    {OP_MAX, {OF_FLOATS(max), OF_INTEGERS(max)}, NULL},
    {OP_FMA, {OF_FLOATS(fma), OF_UNSIGNED(fma)}, NULL},
    {OP_CLIP, {OF_FLOATS(clip), OF_INTEGERS(clip)}, NULL},
    {OP_LT, {OF_FLOATS(lt), OF_INTEGERS(lt), OF_BOOL(lt)}, NULL},
    {OP_GT, {OF_FLOATS(gt), OF_INTEGERS(gt), OF_BOOL(gt)}, NULL},
    {OP_LE, {OF_FLOATS(le), OF_INTEGERS(le), OF_BOOL(le)}, NULL},
    {OP_GE, {OF_FLOATS(ge), OF_INTEGERS(ge), OF_BOOL(ge)}, NULL},
    {OP_EQ, {OF_FLOATS(eq), OF_UNSIGNED(eq), OF_BOOL(eq)}, NULL},
    {OP_NE, {OF_FLOATS(ne), OF_UNSIGNED(ne), OF_BOOL(ne)}, NULL},
    {OP_SQRT, {OF_FLOATS(sqrt)}, NULL},
    {OP_RSQRT, {OF_FLOATS(rsqrt)}, NULL},
    {OP_ROUND, {OF_FLOATS(round)}, NULL},
    {OP_FLOOR, {OF_FLOATS(floor)}, NULL},
    {OP_CEIL, {OF_FLOATS(ceil)}, NULL},
#if !defined(ROUTINES_V4)
    {OP_CDIV, {OF_INTEGERS(cdiv)}, NULL},
    {OP_POW2_CEIL, {OF_INTEGERS(pow2_ceil)}, NULL},
    {OP_SHL, {OF_UNSIGNED(shl)}, NULL},
    {OP_SHR, {OF_INTEGERS(shr)}, NULL},
    {OP_AND, {OF_UNSIGNED(and), OF_BOOL(and)}, NULL},
    {OP_OR, {OF_UNSIGNED(or), OF_BOOL(or)}, NULL},
    {OP_XOR, {OF_UNSIGNED(xor), OF_BOOL(xor)}, NULL},
    {OP_INVERT, {OF_UNSIGNED(invert), [COMPUTE_BOOL] = truth_not}, NULL},
    {OP_NOT, {[COMPUTE_BOOL] = truth_not}, NULL},
    {OP_LAND, {[COMPUTE_BOOL] = truth_and}, NULL},
    {OP_LOR, {[COMPUTE_BOOL] = truth_or}, NULL},
#endif
};

extern const struct elementwise_routines ROUTINE(routines_elementwise);
const struct elementwise_routines ROUTINE(routines_elementwise) = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .other_types = OTHER_TYPES,
    .select = {select_8, select_16, select_32, select_64},
    .f32_scaled_fma = f32_scaled_fma,
    .f32_scaled_fma_past = scaled_fma_past,
    .f32_medium_div_one_past = medium_div_one_past,
    .f32_scaled_product = f32_scaled_product,
    .f32_scaled_product_past = scaled_product_past,
    .past = past,
    .fma_f16 = fma_f16,
    .fma_bf16 = fma_bf16,
    .philox = philox,
};
