/* min and max of two floats, without a branch. */
#ifndef TW_FLOAT_ORDER_H
#define TW_FLOAT_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The rules are those of PTX: a number wins over NaN, and -0 is below +0. */
#if defined(ROUTINES_NEON)

/* FMINNM and FMAXNM follow the same rules, except that a signalling NaN and a number give NaN:
 * the number is put in its place. */
#define LEAST_AND_MOST(t, T, least, most)                                                          \
    static inline T t##_least(T x, T y)                                                            \
    {                                                                                              \
        T a = x == x ? x : y, b = y == y ? y : x;                                                  \
        return least(a, b);                                                                        \
    }                                                                                              \
    static inline T t##_most(T x, T y)                                                             \
    {                                                                                              \
        T a = x == x ? x : y, b = y == y ? y : x;                                                  \
        return most(a, b);                                                                         \
    }

LEAST_AND_MOST(f32, float, __builtin_fminf, __builtin_fmaxf)
LEAST_AND_MOST(f64, double, __builtin_fmin, __builtin_fmax)

#else

/* Equal numbers differ only if they are zeros, so combining their bits gives the right zero. */
#define LEAST_AND_MOST(t, T, U)                                                                    \
    static inline T t##_combine(T x, T y, bool both)                                               \
    {                                                                                              \
        U a, b;                                                                                    \
        memcpy(&a, &x, sizeof a);                                                                  \
        memcpy(&b, &y, sizeof b);                                                                  \
        a = both ? (a & b) : (a | b);                                                              \
        memcpy(&x, &a, sizeof a);                                                                  \
        return x;                                                                                  \
    }                                                                                              \
    static inline T t##_least(T x, T y)                                                            \
    {                                                                                              \
        T r = x < y ? x : y;                                                                       \
        T equal = t##_combine(x, y, false);                                                        \
        r = x == y ? equal : r;                                                                    \
        return y != y ? x : r;                                                                     \
    }                                                                                              \
    static inline T t##_most(T x, T y)                                                             \
    {                                                                                              \
        T r = x > y ? x : y;                                                                       \
        T equal = t##_combine(x, y, true);                                                         \
        r = x == y ? equal : r;                                                                    \
        return y != y ? x : r;                                                                     \
    }

LEAST_AND_MOST(f32, float, uint32_t)
LEAST_AND_MOST(f64, double, uint64_t)

#endif

#endif
