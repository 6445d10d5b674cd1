/* Reductions of floats over the middle axis of [outer][n][inner]. The order of a sum is part
 * of the value, so it is written out: along contiguous elements in parts (128 from 256 elements on,
 * 32 from 32 on) that are combined as a tree; fewer than 32 elements, and rows, one after another.
 * All else gives the same in any order. */
#include "cpu/float_order.h"
#include "cpu/routines_reduce_rows.h"

#include <math.h>
#include <string.h>

enum {
    MANY = REDUCTION_PARTS, /* of a long row: enough that none waits for the one before */
    FEW = 32,
    LONG_ROW = 2 * REDUCTION_PARTS
};

/* part[j] takes x[j], x[j + parts], …; then the second half of the parts is combined with the
 * first, and so on. */
#define ADD(name, T, combine, parts)                                                               \
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

/* Where any order gives the same: in one number of parts, whatever others it comes in. */
#define RUN_ANY_ORDER(name, T, combine, parts)                                                     \
    PARTS(name##_few, T, combine, parts)                                                           \
    static APART T name##_run(const T *x, size_t n)                                                \
    {                                                                                              \
        T part[parts], total = x[0];                                                               \
        if (n >= parts) {                                                                          \
            memcpy(part, x, sizeof part);                                                          \
            name##_few_add(part, x + parts, n - parts);                                            \
            name##_few_end(part);                                                                  \
            return part[0];                                                                        \
        }                                                                                          \
        for (size_t i = 1; i < n; i++)                                                             \
            total = combine(total, x[i]);                                                          \
        return total;                                                                              \
    }                                                                                              \
    END_RUN(name, T)

#define REDUCE(name, T, combine)                                                                   \
    REDUCE_RUN(name, T, combine)                                                                   \
    REDUCE_ALL(name, T, combine, name##_run)

/* The greatest or least of floats. Nearly always one comparison an element does: from the infinity
 * on that every number beats, a NaN never wins. If no number won, or a zero of some sign, the exact
 * order decides. */
#define REDUCE_ORDER(name, T, least, simple, exact)                                                \
    RUN_ANY_ORDER(name, T, exact, FEW)                                                             \
    ADD(name, T, exact, MANY)                                                                      \
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

#define PLUS(x, y) ((x) + (y))
#define ABOVE(x, y) ((y) > (x) ? (y) : (x)) /* a NaN as y does not win */
#define BELOW(x, y) ((y) < (x) ? (y) : (x))

#define FLOATS(t, T)                                                                               \
    REDUCE(t##_sum, T, PLUS)                                                                       \
    REDUCE_ORDER(t##_max, T, -INFINITY, ABOVE, t##_most)                                           \
    REDUCE_ORDER(t##_min, T, INFINITY, BELOW, t##_least)
FLOATS(f32, float)
FLOATS(f64, double)

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
const struct reduce_routines ROUTINE(routines_reduce) = {
    .reduce = REDUCTIONS(), .add = REDUCTIONS(_add), .end = REDUCTIONS(_end)};
