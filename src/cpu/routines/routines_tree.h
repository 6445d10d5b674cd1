/* The parts of a row's f32 reduction, in registers, for sets that define how two vectors are
 * combined. routines_reduce.c describes the order. */
#ifndef TW_ROUTINES_TREE_H
#define TW_ROUTINES_TREE_H

#include "cpu/routines/routines.h"

#if defined(ROUTINES_V3) || defined(ROUTINES_V4)
#include <immintrin.h>
#endif

#if defined(ROUTINES_V4)
#define VECTOR __m512
#define LOAD _mm512_loadu_ps
#define ONE_IN_ALL _mm512_set1_ps
#define STORE _mm512_storeu_ps
#define WIDE(combine) combine##_512
#define HALVES(combine, x) combine##_256(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1))
#define PLUS_512(x, y) _mm512_add_ps(x, y)
#define ABOVE_512(x, y) _mm512_max_ps(y, x)
#define BELOW_512(x, y) _mm512_min_ps(y, x)
#elif defined(ROUTINES_V3)
#define VECTOR __m256
#define LOAD _mm256_loadu_ps
#define ONE_IN_ALL _mm256_set1_ps
#define STORE _mm256_storeu_ps
#define WIDE(combine) combine##_256
#define HALVES(combine, x) (x)
#endif

#if defined(VECTOR)
#define PLUS_256(x, y) _mm256_add_ps(x, y)
#define ABOVE_256(x, y) _mm256_max_ps(y, x) /* of a NaN and x it returns x, its second operand */
#define BELOW_256(x, y) _mm256_min_ps(y, x)
#define PLUS_128(x, y) _mm_add_ps(x, y)
#define ABOVE_128(x, y) _mm_max_ps(y, x)
#define BELOW_128(x, y) _mm_min_ps(y, x)

/* Reduces all parts, p, to one value. */
#define F32_ENDS(name, T, combine, parts)                                                          \
    static INLINED float name##_tree(VECTOR *p)                                                    \
    {                                                                                              \
        UNROLLED                                                                                   \
        for (size_t v = parts * 4 / sizeof *p - 1; v > 0; v--) {                                   \
            size_t with = v - (v >= 8 ? 8 : v >= 4 ? 4 : v >= 2 ? 2 : 1);                          \
            p[with] = WIDE(combine)(p[with], p[v]);                                                \
        }                                                                                          \
        __m256 eight = HALVES(combine, p[0]);                                                      \
        __m128 four =                                                                              \
            combine##_128(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));         \
        __m128 two = combine##_128(four, _mm_movehl_ps(four, four));                               \
        return _mm_cvtss_f32(combine##_128(two, _mm_movehdup_ps(two)));                            \
    }
#endif

#endif
