/* Reductions and scans over the middle axis of [outer][n][inner]. The order in which a sum is taken
 * is part of its value, so it is written out: along contiguous elements in parts (128 from 256
 * elements on, 32 from 32 on) that are combined as a tree; fewer than 32 elements, and rows, one
 * after another. */
#include "cpu/float_order.h"
#include "cpu/routines.h"

#include <math.h>
#include <string.h>

enum {
    MANY = REDUCTION_PARTS, /* of a long row: enough that none waits for the one before */
    FEW = 32,
    LONG_ROW = 2 * REDUCTION_PARTS
};

/* part[j] takes x[j], x[j + parts], …; then the second half of the parts is combined with the
 * first, and so on. */
#define PARTS(name, T, combine, parts)                                                             \
    static void name##_add(void *to, const void *src, size_t n)                                    \
    {                                                                                              \
        T *restrict part = to;                                                                     \
        const T *restrict x = src;                                                                 \
        size_t i = 0;                                                                              \
        for (; i + parts <= n; i += parts)                                                         \
            for (size_t j = 0; j < parts; j++)                                                     \
                part[j] = combine(part[j], x[i + j]);                                              \
        for (size_t j = 0; j < parts && i + j < n; j++)                                            \
            part[j] = combine(part[j], x[i + j]);                                                  \
    }                                                                                              \
    static void name##_end(void *to)                                                               \
    {                                                                                              \
        T *part = to;                                                                              \
        for (size_t half = parts / 2; half > 0; half /= 2)                                         \
            for (size_t j = 0; j < half; j++)                                                      \
                part[j] = combine(part[j], part[j + half]);                                        \
    }

#define REDUCE_RUN(name, T, combine)                                                               \
    PARTS(name, T, combine, MANY)                                                                  \
    PARTS(name##_short, T, combine, FEW)                                                           \
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

/* dst[outer][inner], where run gives the result of one row. */
#define REDUCE_ALL(name, T, combine, run)                                                          \
    static void name(void *dst, const void *src, size_t outer, size_t n, size_t inner)             \
    {                                                                                              \
        const T *x = src;                                                                          \
        T *out = dst;                                                                              \
        for (size_t o = 0; o < outer; o++, x += n * inner, out += inner) {                         \
            if (inner == 1) {                                                                      \
                *out = run(x, n);                                                                  \
                continue;                                                                          \
            }                                                                                      \
            memcpy(out, x, inner * sizeof *out);                                                   \
            for (size_t k = 1; k < n; k++) {                                                       \
                const T *row = x + k * inner;                                                      \
                VECTORISE for (size_t j = 0; j < inner; j++)                                       \
                {                                                                                  \
                    out[j] = combine(out[j], row[j]);                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

#define REDUCE(name, T, combine)                                                                   \
    REDUCE_RUN(name, T, combine)                                                                   \
    REDUCE_ALL(name, T, combine, name##_run)

/* The greatest or least of floats. Nearly always one comparison an element does: from the infinity
 * on that every number beats, a NaN never wins. If no number won, or a zero of some sign, the exact
 * order decides. */
#define REDUCE_ORDER(name, T, least, simple, exact)                                                \
    REDUCE_RUN(name, T, exact)                                                                     \
    PARTS(name##_simple, T, simple, FEW)                                                           \
    static T name##_quick(const T *x, size_t n)                                                    \
    {                                                                                              \
        T part[FEW];                                                                               \
        for (size_t j = 0; j < FEW; j++)                                                           \
            part[j] = least;                                                                       \
        name##_simple_add(part, x, n);                                                             \
        name##_simple_end(part);                                                                   \
        return part[0] == 0 || part[0] == least ? name##_run(x, n) : part[0];                      \
    }                                                                                              \
    REDUCE_ALL(name, T, exact, name##_quick)

#define SCAN(name, T, combine)                                                                     \
    static void name(void *dst, const void *src, size_t outer, size_t n, size_t inner,             \
                     const void *first)                                                            \
    {                                                                                              \
        const T *x = src, *start = first;                                                          \
        T *out = dst;                                                                              \
        for (size_t o = 0; o < outer; o++, x += n * inner, out += n * inner)                       \
            for (size_t j = 0; j < inner; j++) {                                                   \
                T total = start ? *start : x[j];                                                   \
                out[j] = total;                                                                    \
                for (size_t k = 1; k < n; k++) {                                                   \
                    size_t from = start ? k - 1 : k;                                               \
                    total = combine(total, x[from * inner + j]);                                   \
                    out[k * inner + j] = total;                                                    \
                }                                                                                  \
            }                                                                                      \
    }

#define PLUS(x, y) ((x) + (y))
#define TIMES(x, y) ((x) * (y))
#define ABOVE(x, y) ((y) > (x) ? (y) : (x)) /* a NaN as y does not win */
#define BELOW(x, y) ((y) < (x) ? (y) : (x))
#define LESSER(x, y) ((y) < (x) ? (y) : (x))
#define GREATER(x, y) ((x) < (y) ? (y) : (x))
#define BOTH(x, y) ((x) & (y))
#define EITHER(x, y) ((x) | (y))
#define ODD(x, y) ((x) ^ (y))

#define FLOATS(t, T)                                                                               \
    REDUCE(t##_sum, T, PLUS)                                                                       \
    REDUCE_ORDER(t##_max, T, -INFINITY, ABOVE, t##_most)                                           \
    REDUCE_ORDER(t##_min, T, INFINITY, BELOW, t##_least)                                           \
    SCAN(t##_scan_add, T, PLUS)                                                                    \
    SCAN(t##_scan_mul, T, TIMES)                                                                   \
    SCAN(t##_scan_max, T, t##_most)                                                                \
    SCAN(t##_scan_min, T, t##_least)
FLOATS(f32, float)
FLOATS(f64, double)

/* Sums and products are taken unsigned, so that they wrap; the same routine serves the signed type.
 */
#define INTEGERS(u, U)                                                                             \
    REDUCE(u##_sum, U, PLUS)                                                                       \
    SCAN(u##_scan_add, U, PLUS)                                                                    \
    SCAN(u##_scan_mul, U, TIMES)                                                                   \
    SCAN(u##_scan_and, U, BOTH)                                                                    \
    SCAN(u##_scan_or, U, EITHER)                                                                   \
    SCAN(u##_scan_xor, U, ODD)
INTEGERS(u32, uint32_t)
INTEGERS(u64, uint64_t)

#define ORDER(t, T)                                                                                \
    REDUCE(t##_max, T, GREATER)                                                                    \
    REDUCE(t##_min, T, LESSER)                                                                     \
    SCAN(t##_scan_max, T, GREATER)                                                                 \
    SCAN(t##_scan_min, T, LESSER)
ORDER(i32, int32_t)
ORDER(u32, uint32_t)
ORDER(i64, int64_t)
ORDER(u64, uint64_t)

#define TRUTH_BOTH(x, y) ((uint8_t)(((x) != 0) & ((y) != 0)))
#define TRUTH_EITHER(x, y) ((uint8_t)(((x) != 0) | ((y) != 0)))
#define TRUTH_ODD(x, y) ((uint8_t)(((x) != 0) ^ ((y) != 0)))
REDUCE(bool_all, uint8_t, TRUTH_BOTH)
REDUCE(bool_any, uint8_t, TRUTH_EITHER)
SCAN(bool_scan_and, uint8_t, TRUTH_BOTH)
SCAN(bool_scan_or, uint8_t, TRUTH_EITHER)
SCAN(bool_scan_xor, uint8_t, TRUTH_ODD)

#define ROW(name)                                                                                  \
    {                                                                                              \
        [COMPUTE_F32] = f32_##name, [COMPUTE_F64] = f64_##name, [COMPUTE_I32] = u32_##name,        \
        [COMPUTE_U32] = u32_##name, [COMPUTE_I64] = u64_##name, [COMPUTE_U64] = u64_##name         \
    }
#define ORDER_ROW(name)                                                                            \
    [COMPUTE_F32] = f32_##name, [COMPUTE_F64] = f64_##name, [COMPUTE_I32] = i32_##name,            \
    [COMPUTE_U32] = u32_##name, [COMPUTE_I64] = i64_##name, [COMPUTE_U64] = u64_##name
#define BITS_ROW(name)                                                                             \
    {                                                                                              \
        [COMPUTE_I32] = u32_##name, [COMPUTE_U32] = u32_##name, [COMPUTE_I64] = u64_##name,        \
        [COMPUTE_U64] = u64_##name, [COMPUTE_BOOL] = bool_##name                                   \
    }

#define REDUCTIONS(part)                                                                           \
    {                                                                                              \
        [REDUCTION_SUM] = ROW(sum##part),                                                          \
        [REDUCTION_MAX] = {ORDER_ROW(max##part), [COMPUTE_BOOL] = bool_any##part},                 \
        [REDUCTION_MIN] = {ORDER_ROW(min##part), [COMPUTE_BOOL] = bool_all##part},                 \
        [REDUCTION_ANY] = {[COMPUTE_BOOL] = bool_any##part}, [REDUCTION_ALL] = {                   \
            [COMPUTE_BOOL] = bool_all##part                                                        \
        }                                                                                          \
    }

extern const struct reduce_routines ROUTINE(routines_reduce);
const struct reduce_routines ROUTINE(routines_reduce) = {
    .reduce = REDUCTIONS(),
    .add = REDUCTIONS(_add),
    .end = REDUCTIONS(_end),
    .scan = {[OP_ADD] = ROW(scan_add),
             [OP_MUL] = ROW(scan_mul),
             [OP_MAX] = {ORDER_ROW(scan_max), [COMPUTE_BOOL] = bool_scan_or},
             [OP_MIN] = {ORDER_ROW(scan_min), [COMPUTE_BOOL] = bool_scan_and},
             [OP_AND] = BITS_ROW(scan_and),
             [OP_OR] = BITS_ROW(scan_or),
             [OP_XOR] = BITS_ROW(scan_xor)},
};
