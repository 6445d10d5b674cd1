/* Matrix products of row-major arrays: c[m][n] += a[m][k] · b[k][n].
 *
 * For floats each element of c takes one fma a step of k, in increasing order, however the loops
 * are blocked; so every version gives the same bits. The versions with FMA units keep a block of
 * rows by 2 vectors of c in registers, beside 2 vectors of b and 1 of a (Van Zee and van de Geijn,
 * "BLIS", 2015): 6 rows with 16 registers, 14 with 32.
 */
#include "cpu/routines.h"

#include <math.h>
#include <string.h>

/* A panel of b at a time; `sum`: of row[j] and x times bs[j]. */
enum { PLAIN_WIDTH = 16 };
#define PLAIN_DOT(t, T, sum)                                                                       \
    static void t##_panel(T *row, const T *as, const T *bs, size_t m, size_t n, size_t k,          \
                          const struct dot_strides *s)                                             \
    {                                                                                              \
        const T *first = bs;                                                                       \
        for (size_t i = 0; i < m; i++, row += s->c, as += s->a, bs = first)                        \
            for (size_t p = 0; p < k; p++, bs += s->b) {                                           \
                T x = as[p];                                                                       \
                VECTORISE for (size_t j = 0; j < n; j++)                                           \
                {                                                                                  \
                    row[j] = sum;                                                                  \
                }                                                                                  \
            }                                                                                      \
    }                                                                                              \
    static void t##_dot(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,       \
                        const struct dot_strides *s)                                               \
    {                                                                                              \
        const struct dot_strides in_place = {                                                      \
            .c = s->out ? s->out_step : s->c, .a = s->a, .b = s->b, .panel = s->panel};            \
        T *to = s->out ? s->out : c;                                                               \
        for (size_t i = 0; i < m; i++)                                                             \
            if (s->fresh)                                                                          \
                memset(to + i * in_place.c, 0, n * sizeof(T));                                     \
            else if (s->out)                                                                       \
                memcpy(to + i * in_place.c, (T *)c + i * s->c, n * sizeof(T));                     \
        c = to;                                                                                    \
        s = &in_place;                                                                             \
        if (s->panel == PLAIN_WIDTH) { /* one after the other: all of a row at once */             \
            t##_panel(c, a, b, m, n, k, s);                                                        \
            return;                                                                                \
        }                                                                                          \
        for (size_t j = 0; j < n; j += PLAIN_WIDTH)                                                \
            t##_panel((T *)c + j, a, (const T *)b + j / PLAIN_WIDTH * s->panel, m,                 \
                      n - j < PLAIN_WIDTH ? n - j : PLAIN_WIDTH, k, s);                            \
    }

#if defined(__FMA__) && defined(__AVX2__)
#include "cpu/routines_dot_lines.h"

#if defined(__AVX512F__)

static __mmask8 f64_mask(size_t columns)
{
    return (__mmask8)((1u << columns) - 1);
}

#define BROADCAST_F32(at) _mm512_set1_ps(*(at))
#define BROADCAST_F64(at) _mm512_set1_pd(*(at))
#define LOAD_MASKED_F32(at, mask) _mm512_maskz_loadu_ps(mask, at)
#define LOAD_MASKED_F64(at, mask) _mm512_maskz_loadu_pd(mask, at)

#define T float
#define NAME(x) f32_##x
#define VECTOR __m512
#define LANES 16
#define MASK __mmask16
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define LOAD_MASKED LOAD_MASKED_F32
#define STORE_MASKED _mm512_mask_storeu_ps
#define BROADCAST BROADCAST_F32
#define OPERAND VECTOR
#define SUM T
#define GET LOAD
#define GET_MASKED LOAD_MASKED
#define FUSED _mm512_fmadd_ps
#include "cpu/routines_dot_block.h"

#define T double
#define NAME(x) f64_##x
#define VECTOR __m512d
#define LANES 8
#define MASK __mmask8
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define LOAD_MASKED LOAD_MASKED_F64
#define STORE_MASKED _mm512_mask_storeu_pd
#define BROADCAST BROADCAST_F64
#define OPERAND VECTOR
#define SUM T
#define GET LOAD
#define GET_MASKED LOAD_MASKED
#define FUSED _mm512_fmadd_pd
#include "cpu/routines_dot_block.h"

#else

static __m256i f32_mask(size_t columns)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)columns),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static __m256i f64_mask(size_t columns)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)columns),
                              _mm256_setr_epi64x(0, 1, 2, 3));
}

#define T float
#define NAME(x) f32_##x
#define VECTOR __m256
#define LANES 8
#define MASK __m256i
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define LOAD_MASKED _mm256_maskload_ps
#define STORE_MASKED _mm256_maskstore_ps
#define BROADCAST _mm256_broadcast_ss
#define OPERAND VECTOR
#define SUM T
#define GET LOAD
#define GET_MASKED LOAD_MASKED
#define FUSED _mm256_fmadd_ps
#include "cpu/routines_dot_block.h"

#define T double
#define NAME(x) f64_##x
#define VECTOR __m256d
#define LANES 4
#define MASK __m256i
#define LOAD _mm256_loadu_pd
#define STORE _mm256_storeu_pd
#define LOAD_MASKED _mm256_maskload_pd
#define STORE_MASKED _mm256_maskstore_pd
#define BROADCAST _mm256_broadcast_sd
#define OPERAND VECTOR
#define SUM T
#define GET LOAD
#define GET_MASKED LOAD_MASKED
#define FUSED _mm256_fmadd_pd
#include "cpu/routines_dot_block.h"

#endif

#else

#define FLOAT_DOT(t, T, fused) PLAIN_DOT(t, T, fused(x, bs[j], row[j]))
FLOAT_DOT(f32, float, fmaf)
FLOAT_DOT(f64, double, fma)

#endif

/* Unsigned, so that sums wrap; the signed types are the same bits. */
#define INTEGER_DOT(t, T) PLAIN_DOT(t, T, row[j] + x * bs[j])
INTEGER_DOT(u32, uint32_t)
INTEGER_DOT(u64, uint64_t)

#if defined(__FMA__) && defined(__AVX2__)
#define WIDTH(t) t##_width
#else
#define WIDTH(t) PLAIN_WIDTH
#endif

extern const struct dot_routines ROUTINE(routines_dot);
const struct dot_routines ROUTINE(routines_dot) = {.dot = {[COMPUTE_F32] = f32_dot,
                                                           [COMPUTE_F64] = f64_dot,
                                                           [COMPUTE_I32] = u32_dot,
                                                           [COMPUTE_U32] = u32_dot,
                                                           [COMPUTE_I64] = u64_dot,
                                                           [COMPUTE_U64] = u64_dot},
                                                   .width = {[COMPUTE_F32] = WIDTH(f32),
                                                             [COMPUTE_F64] = WIDTH(f64),
                                                             [COMPUTE_I32] = PLAIN_WIDTH,
                                                             [COMPUTE_U32] = PLAIN_WIDTH,
                                                             [COMPUTE_I64] = PLAIN_WIDTH,
                                                             [COMPUTE_U64] = PLAIN_WIDTH}};
