/* Reductions of floats over the middle axis of [outer][n][inner]. The order of a sum is part of its
 * value, so it is written out: along contiguous elements in parts (128 from 256 elements on, 32
 * from 32 on) that are combined as a tree; fewer than 32 elements, and rows, one after another. All
 * else gives the same in any order. */
#include "cpu/float_order.h"
#include "cpu/routines_reduce_rows.h"

#include <math.h>
#include <string.h>

#if defined(ROUTINES_V3) || defined(ROUTINES_V4)
#include <immintrin.h>
#endif

enum {
    MANY = REDUCTION_PARTS, /* of a long row: enough that none waits for the one before */
    FEW = 32,
    LONG_ROW = 2 * REDUCTION_PARTS
};

/* part[j] takes x[j], x[j + parts], …; then the second half of the parts is combined with the
 * first, and so on. term(k): what stands for element k, x[k] itself or a product. */
#define ELEMENT(k) x[k]
#define PRODUCT(k) (x[k] * y[k])
#define ADD_TERMS(combine, parts, term)                                                            \
    size_t i = 0;                                                                                  \
    for (; i + parts <= n; i += parts)                                                             \
        for (size_t j = 0; j < parts; j++)                                                         \
            part[j] = combine(part[j], term(i + j));                                               \
    for (size_t j = 0; j < parts && i + j < n; j++)                                                \
        part[j] = combine(part[j], term(i + j));
#define ADD(name, T, combine, parts)                                                               \
    static void name##_add(void *to, const void *src, size_t n)                                    \
    {                                                                                              \
        T *restrict part = to;                                                                     \
        const T *restrict x = src;                                                                 \
        ADD_TERMS(combine, parts, ELEMENT)                                                         \
    }
#define PARTS(name, T, combine, parts)                                                             \
    ADD(name, T, combine, parts)                                                                   \
    static void name##_end(void *to)                                                               \
    {                                                                                              \
        T *part = to;                                                                              \
        for (size_t half = parts / 2; half > 0; half /= 2)                                         \
            for (size_t j = 0; j < half; j++)                                                      \
                part[j] = combine(part[j], part[j + half]);                                        \
    }

/* PARTS of f32 in registers, for sets that say how two vectors are combined; 8 vectors at a time,
 * enough that none waits for the one before. */
#if defined(ROUTINES_V4)
#define VECTOR __m512
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define WIDE(combine) combine##_512
#define HALVES(combine, x) combine##_256(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1))
#define PLUS_512(x, y) _mm512_add_ps(x, y)
#define ABOVE_512(x, y) _mm512_max_ps(y, x)
#define BELOW_512(x, y) _mm512_min_ps(y, x)
#elif defined(ROUTINES_V3)
#define VECTOR __m256
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define WIDE(combine) combine##_256
#define HALVES(combine, x) (x)
#endif

#if defined(VECTOR)
#define PLUS_256(x, y) _mm256_add_ps(x, y)
#define ABOVE_256(x, y) _mm256_max_ps(y, x) /* of a NaN and x it is x, which comes last */
#define BELOW_256(x, y) _mm256_min_ps(y, x)
#define PLUS_128(x, y) _mm_add_ps(x, y)
#define ABOVE_128(x, y) _mm_max_ps(y, x)
#define BELOW_128(x, y) _mm_min_ps(y, x)

#define ELEMENT_WIDE(k) LOAD(x + k)
#define PRODUCT_WIDE(k) (LOAD(x + k) * LOAD(y + k))
#define ADD_TERMS_F32(combine, parts, term)                                                        \
    enum { LANES = sizeof(VECTOR) / 4, COUNT = parts / LANES < 8 ? parts / LANES : 8 };            \
    size_t whole = n / parts * parts;                                                              \
    for (size_t j = 0; j < parts && whole > 0; j += COUNT * LANES) {                               \
        VECTOR p[COUNT];                                                                           \
        UNROLLED                                                                                   \
        for (size_t v = 0; v < COUNT; v++)                                                         \
            p[v] = LOAD(part + j + v * LANES);                                                     \
        for (size_t i = j; i < j + whole; i += parts) {                                            \
            UNROLLED                                                                               \
            for (size_t v = 0; v < COUNT; v++)                                                     \
                p[v] = WIDE(combine)(p[v], term##_WIDE(i + v * LANES));                            \
        }                                                                                          \
        UNROLLED                                                                                   \
        for (size_t v = 0; v < COUNT; v++)                                                         \
            STORE(part + j + v * LANES, p[v]);                                                     \
    }                                                                                              \
    for (size_t j = 0; j < parts && whole + j < n; j++)                                            \
        part[j] = combine(part[j], term(whole + j));
#define PARTS_F32(name, T, combine, parts)                                                         \
    static void name##_add(void *to, const void *src, size_t n)                                    \
    {                                                                                              \
        float *part = to;                                                                          \
        const float *x = src;                                                                      \
        ADD_TERMS_F32(combine, parts, ELEMENT)                                                     \
    }                                                                                              \
    static void name##_end(void *to)                                                               \
    {                                                                                              \
        enum { LANES = sizeof(VECTOR) / 4, COUNT = parts / LANES / 2 };                            \
        float *part = to;                                                                          \
        VECTOR p[COUNT];                                                                           \
        UNROLLED                                                                                   \
        for (size_t v = 0; v < COUNT; v++)                                                         \
            p[v] = WIDE(combine)(LOAD(part + v * LANES), LOAD(part + parts / 2 + v * LANES));      \
        UNROLLED                                                                                   \
        for (size_t v = COUNT - 1; v > 0; v--) {                                                   \
            size_t with = v - (v >= 4 ? 4 : v >= 2 ? 2 : 1);                                       \
            p[with] = WIDE(combine)(p[with], p[v]);                                                \
        }                                                                                          \
        __m256 eight = HALVES(combine, p[0]);                                                      \
        __m128 four =                                                                              \
            combine##_128(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));         \
        __m128 two = combine##_128(four, _mm_movehl_ps(four, four));                               \
        *part = _mm_cvtss_f32(combine##_128(two, _mm_movehdup_ps(two)));                           \
    }

#else
#define ADD_TERMS_F32 ADD_TERMS
#define PARTS_F32 PARTS
#endif

/* PARTS_OF makes the loops over the parts: PARTS where nothing is better. */
#define REDUCE_RUN(name, T, combine, PARTS_OF)                                                     \
    PARTS_OF(name, T, combine, MANY)                                                               \
    PARTS_OF(name##_short, T, combine, FEW)                                                        \
    static T name##_run(const T *x, size_t n)                                                      \
    {                                                                                              \
        T part[MANY];                                                                              \
        if (n >= LONG_ROW) {                                                                       \
            memcpy(part, x, sizeof part);                                                          \
            name##_add(part, x + MANY, n - MANY);                                                  \
            name##_end(part);                                                                      \
            return part[0];                                                                        \
        }                                                                                          \
        if (n >= FEW) {                                                                            \
            memcpy(part, x, FEW * sizeof *part);                                                   \
            name##_short_add(part, x + FEW, n - FEW);                                              \
            name##_short_end(part);                                                                \
            return part[0];                                                                        \
        }                                                                                          \
        T total = x[0];                                                                            \
        for (size_t i = 1; i < n; i++)                                                             \
            total = combine(total, x[i]);                                                          \
        return total;                                                                              \
    }

/* Where any order gives the same: FEW parts, however long the row, and for the parts of pieces. */
#define RUN_ANY_ORDER(name, T, combine)                                                            \
    PARTS(name##_few, T, combine, FEW)                                                             \
    static APART T name##_run(const T *x, size_t n)                                                \
    {                                                                                              \
        T part[FEW], total = x[0];                                                                 \
        if (n >= FEW) {                                                                            \
            memcpy(part, x, sizeof part);                                                          \
            name##_few_add(part, x + FEW, n - FEW);                                                \
            name##_few_end(part);                                                                  \
            return part[0];                                                                        \
        }                                                                                          \
        for (size_t i = 1; i < n; i++)                                                             \
            total = combine(total, x[i]);                                                          \
        return total;                                                                              \
    }                                                                                              \
    END_RUN(name, T)

#define REDUCE(name, T, combine, PARTS_OF)                                                         \
    REDUCE_RUN(name, T, combine, PARTS_OF)                                                         \
    REDUCE_ALL(name, T, combine, name##_run)

/* The greatest or least of floats. Nearly always one comparison an element does: from the infinity
 * on that every number beats, a NaN never wins. If no number won, or a zero of some sign, the exact
 * order decides. */
#define REDUCE_ORDER(name, T, least, simple, exact, PARTS_OF)                                      \
    RUN_ANY_ORDER(name, T, exact)                                                                  \
    ADD(name, T, exact, MANY)                                                                      \
    PARTS_OF(name##_simple, T, simple, MANY)                                                       \
    PARTS_OF(name##_simple_short, T, simple, FEW)                                                  \
    static T name##_quick(const T *x, size_t n)                                                    \
    {                                                                                              \
        T part[MANY];                                                                              \
        for (size_t j = 0; j < (n < LONG_ROW ? FEW : MANY); j++)                                   \
            part[j] = least;                                                                       \
        if (n < LONG_ROW) {                                                                        \
            name##_simple_short_add(part, x, n);                                                   \
            name##_simple_short_end(part);                                                         \
        } else {                                                                                   \
            name##_simple_add(part, x, n);                                                         \
            name##_simple_end(part);                                                               \
        }                                                                                          \
        return part[0] == 0 || part[0] == least ? name##_run(x, n) : part[0];                      \
    }                                                                                              \
    REDUCE_ALL(name, T, exact, name##_quick)

#define PLUS(x, y) ((x) + (y))
#define ABOVE(x, y) ((y) > (x) ? (y) : (x)) /* a NaN as y does not win */
#define BELOW(x, y) ((y) < (x) ? (y) : (x))

#define FLOATS(t, T, PARTS_OF)                                                                     \
    REDUCE(t##_sum, T, PLUS, PARTS_OF)                                                             \
    REDUCE_ORDER(t##_max, T, -INFINITY, ABOVE, t##_most, PARTS_OF)                                 \
    REDUCE_ORDER(t##_min, T, INFINITY, BELOW, t##_least, PARTS_OF)
FLOATS(f32, float, PARTS_F32)
FLOATS(f64, double, PARTS)

static void f32_products(void *to, const void *a, const void *b, size_t n)
{
    float *restrict part = to;
    const float *restrict x = a, *restrict y = b;
    ADD_TERMS_F32(PLUS, MANY, PRODUCT)
}

#define ROW(name)                                                                                  \
    {                                                                                              \
        [COMPUTE_F32] = f32_##name, [COMPUTE_F64] = f64_##name                                     \
    }
#define REDUCTIONS(part)                                                                           \
    {                                                                                              \
        [REDUCTION_SUM] = ROW(sum##part), [REDUCTION_MAX] = ROW(max##part),                        \
        [REDUCTION_MIN] = ROW(min##part)                                                           \
    }

extern const struct reduce_routines ROUTINE(routines_reduce);
const struct reduce_routines ROUTINE(routines_reduce) = {.f32_products = f32_products,
                                                         .reduce = REDUCTIONS(),
                                                         .add = REDUCTIONS(_add),
                                                         .end = REDUCTIONS(_end)};
