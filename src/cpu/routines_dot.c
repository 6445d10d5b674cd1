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

/* rows × two vectors of c; `first` and `second` select the columns there are. Inlined with constant
 * rows. */
#define BLOCK(t, T, V, LANES, load, store, broadcast, fused, mask_load, mask_store, M)             \
    static inline __attribute__((always_inline)) void t##_block(const int rows, T *c, const T *a,  \
                                                                const T *b, size_t k, size_t ldc,  \
                                                                size_t lda, size_t ldb)            \
    {                                                                                              \
        V acc[ROWS][2];                                                                            \
        for (int r = 0; r < rows; r++) {                                                           \
            acc[r][0] = load(c + (size_t)r * ldc);                                                 \
            acc[r][1] = load(c + (size_t)r * ldc + LANES);                                         \
        }                                                                                          \
        for (size_t p = 0; p < k; p++, a++, b += ldb) {                                            \
            V b0 = load(b), b1 = load(b + LANES);                                                  \
            for (int r = 0; r < rows; r++) {                                                       \
                V x = broadcast(a + (size_t)r * lda);                                              \
                acc[r][0] = fused(x, b0, acc[r][0]);                                               \
                acc[r][1] = fused(x, b1, acc[r][1]);                                               \
            }                                                                                      \
        }                                                                                          \
        for (int r = 0; r < rows; r++) {                                                           \
            store(c + (size_t)r * ldc, acc[r][0]);                                                 \
            store(c + (size_t)r * ldc + LANES, acc[r][1]);                                         \
        }                                                                                          \
    }                                                                                              \
    /* The same for the last columns, fewer than two vectors. */                                   \
    static inline __attribute__((always_inline)) void t##_edge(                                    \
        const int rows, T *c, const T *a, const T *b, size_t k, size_t ldc, size_t lda,            \
        size_t ldb, M first, M second)                                                             \
    {                                                                                              \
        V acc[ROWS][2];                                                                            \
        for (int r = 0; r < rows; r++) {                                                           \
            acc[r][0] = mask_load(c + (size_t)r * ldc, first);                                     \
            acc[r][1] = mask_load(c + (size_t)r * ldc + LANES, second);                            \
        }                                                                                          \
        for (size_t p = 0; p < k; p++, a++, b += ldb) {                                            \
            V b0 = mask_load(b, first), b1 = mask_load(b + LANES, second);                         \
            for (int r = 0; r < rows; r++) {                                                       \
                V x = broadcast(a + (size_t)r * lda);                                              \
                acc[r][0] = fused(x, b0, acc[r][0]);                                               \
                acc[r][1] = fused(x, b1, acc[r][1]);                                               \
            }                                                                                      \
        }                                                                                          \
        for (int r = 0; r < rows; r++) {                                                           \
            mask_store(c + (size_t)r * ldc, first, acc[r][0]);                                     \
            mask_store(c + (size_t)r * ldc + LANES, second, acc[r][1]);                            \
        }                                                                                          \
    }                                                                                              \
    static void t##_columns(T *c, const T *a, const T *b, size_t m, size_t k, size_t ldc,          \
                            size_t lda, size_t ldb)                                                \
    {                                                                                              \
        for (; m >= ROWS; m -= ROWS, c += ROWS * ldc, a += ROWS * lda)                             \
            t##_block(ROWS, c, a, b, k, ldc, lda, ldb);                                            \
        switch (m) {                                                                               \
        case 5: t##_block(5, c, a, b, k, ldc, lda, ldb); break;                                    \
        case 4: t##_block(4, c, a, b, k, ldc, lda, ldb); break;                                    \
        case 3: t##_block(3, c, a, b, k, ldc, lda, ldb); break;                                    \
        case 2: t##_block(2, c, a, b, k, ldc, lda, ldb); break;                                    \
        case 1: t##_block(1, c, a, b, k, ldc, lda, ldb); break;                                    \
        default: break;                                                                            \
        }                                                                                          \
    }                                                                                              \
    static void t##_last_columns(T *c, const T *a, const T *b, size_t m, size_t k, size_t ldc,     \
                                 size_t lda, size_t ldb, size_t columns)                           \
    {                                                                                              \
        M first = t##_mask(columns), second = t##_mask(columns > LANES ? columns - LANES : 0);     \
        for (; m >= ROWS; m -= ROWS, c += ROWS * ldc, a += ROWS * lda)                             \
            t##_edge(ROWS, c, a, b, k, ldc, lda, ldb, first, second);                              \
        for (; m > 0; m--, c += ldc, a += lda)                                                     \
            t##_edge(1, c, a, b, k, ldc, lda, ldb, first, second);                                 \
    }                                                                                              \
    static void t##_dot(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,       \
                        size_t ldc, size_t lda, size_t ldb)                                        \
    {                                                                                              \
        T *cs = c;                                                                                 \
        const T *bs = b;                                                                           \
        size_t j = 0;                                                                              \
        for (; j + 2 * LANES <= n; j += 2 * LANES)                                                 \
            t##_columns(cs + j, a, bs + j, m, k, ldc, lda, ldb);                                   \
        if (j < n)                                                                                 \
            t##_last_columns(cs + j, a, bs + j, m, k, ldc, lda, ldb, n - j);                       \
    }

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

BLOCK(f32, float, __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_broadcast_ss,
      _mm256_fmadd_ps, _mm256_maskload_ps, _mm256_maskstore_ps, __m256i)
BLOCK(f64, double, __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_broadcast_sd,
      _mm256_fmadd_pd, _mm256_maskload_pd, _mm256_maskstore_pd, __m256i)

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
