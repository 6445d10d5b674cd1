/* Matrix products of row-major arrays: c[m][n] += a[m][k] · b[k][n].
 *
 * For floats each element of c takes one fma a step of k, in increasing order, however the loops
 * are blocked; so every version gives the same bits. The version with FMA units keeps a block of 6
 * rows by 2 vectors of c in registers (12 accumulators, 2 vectors of b, 1 of a: 15 of the 16
 * registers; Van Zee and van de Geijn, "BLIS", 2015).
 */
#include "cpu/routines.h"

#include <math.h>
#include <string.h>

#if defined(__FMA__) && defined(__AVX2__)
#include <immintrin.h>

enum { ROWS = 6 };

struct strides {
    size_t k, ldc, lda, ldb;
};

static __m256i f32_mask(size_t columns)
{
    int limit = columns > 8 ? 8 : (int)columns;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(limit), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static __m256i f64_mask(size_t columns)
{
    int limit = columns > 4 ? 4 : (int)columns;
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(limit), _mm256_setr_epi64x(0, 1, 2, 3));
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
#define FUSED _mm256_fmadd_pd
#include "cpu/routines_dot_block.h"

#else

#define FLOAT_DOT(t, T, fused)                                                                     \
    static void t##_dot(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,       \
                        size_t ldc, size_t lda, size_t ldb)                                        \
    {                                                                                              \
        T *row = c;                                                                                \
        const T *as = a;                                                                           \
        for (size_t i = 0; i < m; i++, row += ldc, as += lda) {                                    \
            const T *bs = b;                                                                       \
            for (size_t p = 0; p < k; p++, bs += ldb) {                                            \
                T x = as[p];                                                                       \
                VECTORISE for (size_t j = 0; j < n; j++)                                           \
                {                                                                                  \
                    row[j] = fused(x, bs[j], row[j]);                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
FLOAT_DOT(f32, float, fmaf)
FLOAT_DOT(f64, double, fma)

#endif

/* Unsigned, so that sums wrap; the signed types are the same bits. */
#define INTEGER_DOT(t, T)                                                                          \
    static void t##_dot(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,       \
                        size_t ldc, size_t lda, size_t ldb)                                        \
    {                                                                                              \
        T *row = c;                                                                                \
        const T *as = a;                                                                           \
        for (size_t i = 0; i < m; i++, row += ldc, as += lda) {                                    \
            const T *bs = b;                                                                       \
            for (size_t p = 0; p < k; p++, bs += ldb) {                                            \
                T x = as[p];                                                                       \
                VECTORISE for (size_t j = 0; j < n; j++)                                           \
                {                                                                                  \
                    row[j] += x * bs[j];                                                           \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
INTEGER_DOT(u32, uint32_t)
INTEGER_DOT(u64, uint64_t)

extern const struct dot_routines ROUTINE(routines_dot);
const struct dot_routines ROUTINE(routines_dot) = {.dot = {[COMPUTE_F32] = f32_dot,
                                                           [COMPUTE_F64] = f64_dot,
                                                           [COMPUTE_I32] = u32_dot,
                                                           [COMPUTE_U32] = u32_dot,
                                                           [COMPUTE_I64] = u64_dot,
                                                           [COMPUTE_U64] = u64_dot}};
