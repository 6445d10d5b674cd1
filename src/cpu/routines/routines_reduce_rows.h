/* Macros that reductions of floats and of integers share. */
#ifndef TW_ROUTINES_REDUCE_ROWS_H
#define TW_ROUTINES_REDUCE_ROWS_H

#include "cpu/routines/routines.h"

#include <string.h>

/* Computes dst[outer][inner]; `run` gives the result of one row. */
#define REDUCE_ALL(name, T, combine, run)                                                          \
    static APART void name##_many(void *dst, const void *src, size_t outer, size_t n,              \
                                  size_t inner)                                                    \
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
    }                                                                                              \
    static void name(void *dst, const void *src, size_t outer, size_t n, size_t inner)             \
    {                                                                                              \
        if (outer == 1 && inner == 1)                                                              \
            *(T *)dst = run(src, n);                                                               \
        else                                                                                       \
            name##_many(dst, src, outer, n, inner);                                                \
    }

/* For reductions with the same result in any order: the routine for one row combines the parts,
 * too. */
#define END_RUN(name, T)                                                                           \
    static void name##_end(void *to)                                                               \
    {                                                                                              \
        T *part = to;                                                                              \
        *part = name##_run(part, REDUCTION_PARTS);                                                 \
    }

#endif
