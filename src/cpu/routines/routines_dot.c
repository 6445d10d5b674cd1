/* Matrix products of row-major arrays: c[m][n] += a[m][k] · b[k][n].
 *
 * For floats each element of c takes one fma for each step of k, in increasing order, however
 * the loops are blocked; so every version gives the same bits. The versions with FMA units keep
 * in registers a block of rows by 2 vectors of c, 2 vectors of b and 1 of a (Van Zee and van de
 * Geijn, "BLIS", 2015): 6 rows with 16 registers, 14 with 32. With NEON it is 6 rows by 4
 * vectors, and one vector of each row of a; there FMA can take a single element of a register. */
#include "base/arithmetic.h"
#include "base/dtype.h"
#include "cpu/routines/routines_dot_lines.h"

#include <math.h>
#include <string.h>

/* Multiplies by one panel of b at a time; `sum` is the expression of row[j], x and bs[j]. */
enum { PLAIN_WIDTH = 16 };
#define PLAIN_DOT(t, T, sum)                                                                       \
    static void t##_panel(T *row, size_t to_row, const T *as, const T *bs, size_t m, size_t n,     \
                          size_t k, const struct dot_strides *s)                                   \
    {                                                                                              \
        const T *first = bs;                                                                       \
        for (size_t i = 0; i < m; i++, row += to_row, as += s->a, bs = first) {                    \
            for (size_t p = 0; p < k; p++, bs += s->b) {                                           \
                T x = as[p];                                                                       \
                VECTORISE for (size_t j = 0; j < n; j++)                                           \
                {                                                                                  \
                    row[j] = sum;                                                                  \
                }                                                                                  \
            }                                                                                      \
            for (size_t j = 0; s->settled && j < n; j++)                                           \
                row[j] += 0;                                                                       \
        }                                                                                          \
    }                                                                                              \
    static void t##_dot(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,       \
                        const struct dot_strides *s)                                               \
    {                                                                                              \
        T *out = s->out ? s->out : c;                                                              \
        const size_t to_row = s->out ? s->out_step : s->c;                                         \
        for (size_t i = 0; i < m; i++)                                                             \
            if (s->fresh)                                                                          \
                memset(out + i * to_row, 0, n * sizeof(T));                                        \
            else if (s->out)                                                                       \
                memcpy(out + i * to_row, (T *)c + i * s->c, n * sizeof(T));                        \
        if (s->panel == PLAIN_WIDTH) { /* panels follow one another: take whole rows at once */    \
            t##_panel(out, to_row, a, b, m, n, k, s);                                              \
            return;                                                                                \
        }                                                                                          \
        for (size_t j = 0; j < n; j += PLAIN_WIDTH)                                                \
            t##_panel(out + j, to_row, a, (const T *)b + j / PLAIN_WIDTH * s->panel, m,            \
                      n - j < PLAIN_WIDTH ? n - j : PLAIN_WIDTH, k, s);                            \
    }

#if (defined(__FMA__) && defined(__AVX2__)) || defined(ROUTINES_NEON)
#define IN_BLOCKS 1

/* --- f16 in memory --- */

static INLINED float get_half(const void *from)
{
    uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    return f16_to_f32(bits);
}

/* Products of pairs of bf16 use it, too. */
put_block_fn ROUTINE(dot_put_block);

static INLINED void put_half(void *to, float x, bool bf16)
{
    uint16_t bits = bf16 ? f32_to_bf16(x) : f32_to_f16(x);
    memcpy(to, &bits, sizeof bits);
}

/* --- other elements of few rows --- */

#if defined(ROUTINES_NEON)
static INLINED float32x4_t get_bf16(const void *from)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from), 16));
}

static INLINED uint32x4_t get_pairs(const void *from)
{
    return vreinterpretq_u32_u16(vld1q_u16(from));
}

static INLINED float32x4_t low_bf16(const void *from)
{
    return vreinterpretq_f32_u32(vshlq_n_u32(get_pairs(from), 16));
}

static INLINED float32x4_t high_bf16(const void *from)
{
    return vreinterpretq_f32_u32(vandq_u32(get_pairs(from), vdupq_n_u32(0xffff0000u)));
}

static INLINED float32x4_t low_halves(const void *from)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(get_pairs(from))));
}

static INLINED float32x4_t high_halves(const void *from)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(get_pairs(from), 16)));
}
#elif defined(__AVX512F__)
static INLINED __m512 get_bf16(const void *from)
{
    __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

static INLINED __m512 low_bf16(const void *from)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(from), 16));
}

static INLINED __m512 high_bf16(const void *from)
{
    const __m512i mask = _mm512_set1_epi32((int)0xffff0000u);
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(from), mask));
}

static INLINED __m512 low_halves(const void *from)
{
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_loadu_si512(from)));
}

static INLINED __m512 high_halves(const void *from)
{
    __m512i bits = _mm512_srli_epi32(_mm512_loadu_si512(from), 16);
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(bits));
}
#else
static INLINED __m256 get_bf16(const void *from)
{
    __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}

static INLINED __m256 low_bf16(const void *from)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256(from), 16));
}

static INLINED __m256 high_bf16(const void *from)
{
    const __m256i mask = _mm256_set1_epi32((int)0xffff0000u);
    return _mm256_castsi256_ps(_mm256_and_si256(_mm256_loadu_si256(from), mask));
}

/* Converts the f16 in each 4 bytes, whose upper bits are 0. */
static INLINED __m256 wide_halves(__m256i bits)
{
    bits = _mm256_permute4x64_epi64(_mm256_packus_epi32(bits, bits), 0xd8);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(bits));
}

static INLINED __m256 low_halves(const void *from)
{
    return wide_halves(_mm256_and_si256(_mm256_loadu_si256(from), _mm256_set1_epi32(0xffff)));
}

static INLINED __m256 high_halves(const void *from)
{
    return wide_halves(_mm256_srli_epi32(_mm256_loadu_si256(from), 16));
}
#endif

#if defined(ROUTINES_NEON)
enum { FEW_BYTES = 16 };
#elif defined(__AVX512F__)
enum { FEW_BYTES = 64 };
#else
enum { FEW_BYTES = 32 };
#endif
typedef uint32_t few_words __attribute__((vector_size(FEW_BYTES)));
typedef int32_t few_integers __attribute__((vector_size(FEW_BYTES)));
typedef float few_floats __attribute__((vector_size(FEW_BYTES)));

static INLINED few_floats get_byte(const void *from, const int u)
{
    few_words x;
    memcpy(&x, from, sizeof x);
    return __builtin_convertvector((few_integers)(x << (24 - 8 * u)) >> 24, few_floats);
}
#define GET_BYTE(from, u) (OPERAND) get_byte(from, u)
#define GET_BF16 get_bf16
#define LOW_BF16 low_bf16
#define HIGH_BF16 high_bf16
#define LOW_HALVES low_halves
#define HIGH_HALVES high_halves

#if defined(ROUTINES_NEON)
static INLINED float32x4_t get_halves(const void *from)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
}

static INLINED void put_halves(void *to, float32x4_t x)
{
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}

/* Rounds to the nearest, ties to even; a NaN stays one (base/dtype.h: f32_to_bf16). */
static INLINED void put_bf16(void *to, float32x4_t x)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(x), upper = vshrq_n_u32(bits, 16);
    const uint32x4_t half = vaddq_u32(vandq_u32(upper, vdupq_n_u32(1)), vdupq_n_u32(0x7fff));
    const uint32x4_t near = vshrq_n_u32(vaddq_u32(bits, half), 16);
    const uint32x4_t quiet = vorrq_u32(upper, vdupq_n_u32(0x40));
    vst1_u16(to, vmovn_u32(vbslq_u32(vceqq_f32(x, x), near, quiet)));
}
#elif defined(__AVX512F__)
static INLINED __m512 get_halves(const void *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(from));
}

static INLINED void put_halves(void *to, __m512 x)
{
    _mm256_storeu_si256(to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

/* Rounds to the nearest, ties to even; a NaN stays one (base/dtype.h: f32_to_bf16). */
static INLINED void put_bf16(void *to, __m512 x)
{
    const __m512i bits = _mm512_castps_si512(x), upper = _mm512_srli_epi32(bits, 16);
    const __m512i half =
        _mm512_add_epi32(_mm512_and_si512(upper, _mm512_set1_epi32(1)), _mm512_set1_epi32(0x7fff));
    const __m512i near = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
    const __m512i all = _mm512_mask_or_epi32(near, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), upper,
                                             _mm512_set1_epi32(0x40));
    _mm256_storeu_si256(to, _mm512_cvtepi32_epi16(all));
}
#else
static INLINED __m256 get_halves(const void *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(from));
}

static INLINED void put_halves(void *to, __m256 x)
{
    _mm_storeu_si128(to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

/* Rounds to the nearest, ties to even; a NaN stays one (base/dtype.h: f32_to_bf16). */
static INLINED void put_bf16(void *to, __m256 x)
{
    const __m256i bits = _mm256_castps_si256(x), upper = _mm256_srli_epi32(bits, 16);
    const __m256i half =
        _mm256_add_epi32(_mm256_and_si256(upper, _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7fff));
    const __m256i near = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    const __m256i all =
        _mm256_blendv_epi8(near, quiet, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
    _mm_storeu_si128(
        to, _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
}
#endif

#if defined(ROUTINES_NEON)

/* A mask is a number: that of the first elements. */
static size_t f32_mask(size_t columns)
{
    return columns;
}

static size_t f64_mask(size_t columns)
{
    return columns;
}

/* Loads and stores without a branch: missing elements are read from the first one's place, and
 * are written there before the first one is. */
static INLINED float32x4_t load_some_f32(const float *at, size_t n)
{
    float32x4_t x = vld1q_dup_f32(at);
    x = vld1q_lane_f32(at + (n > 1 ? 1 : 0), x, 1);
    x = vld1q_lane_f32(at + (n > 2 ? 2 : 0), x, 2);
    return vld1q_lane_f32(at + (n > 3 ? 3 : 0), x, 3);
}

static INLINED void store_some_f32(float *at, size_t n, float32x4_t x)
{
    vst1q_lane_f32(at + (n > 3 ? 3 : 0), x, 3);
    vst1q_lane_f32(at + (n > 2 ? 2 : 0), x, 2);
    vst1q_lane_f32(at + (n > 1 ? 1 : 0), x, 1);
    vst1q_lane_f32(at, x, 0);
}

static INLINED float64x2_t load_some_f64(const double *at, size_t n)
{
    return vld1q_lane_f64(at + (n > 1 ? 1 : 0), vld1q_dup_f64(at), 1);
}

static INLINED void store_some_f64(double *at, size_t n, float64x2_t x)
{
    vst1q_lane_f64(at + (n > 1 ? 1 : 0), x, 1);
    vst1q_lane_f64(at, x, 0);
}

#define FUSED_F32(x, y, sum) vfmaq_f32(sum, y, x)
#define FUSED_F64(x, y, sum) vfmaq_f64(sum, y, x)
/* "by element": fmla v0.4s, v1.4s, v2.s[l] */
#define FUSED_WITH_F32(y, x, l, sum) vfmaq_n_f32(sum, y, (x)[l])
#define FUSED_WITH_F64(y, x, l, sum) vfmaq_n_f64(sum, y, (x)[l])

#define T float
#define NAME(x) f32_##x
#define PACKS
#define FEW_ROWS
#define GET_HALVES get_halves
#define GET_HALF get_half
#define PUT_HALVES put_halves
#define PUT_BF16 put_bf16
#define PUT_HALF put_half
#define PUT_BLOCK ROUTINE(dot_put_block)
#define VECTOR float32x4_t
#define LANES 4
#define MASK size_t
#define LOAD vld1q_f32
#define STORE vst1q_f32
#define LOAD_MASKED load_some_f32
#define STORE_MASKED store_some_f32
#define BROADCAST vld1q_dup_f32
#define FUSED FUSED_F32
#define FUSED_WITH FUSED_WITH_F32
#include "cpu/routines/routines_dot_block.h"

#define T double
#define NAME(x) f64_##x
#define PACKS
#define VECTOR float64x2_t
#define LANES 2
#define MASK size_t
#define LOAD vld1q_f64
#define STORE vst1q_f64
#define LOAD_MASKED load_some_f64
#define STORE_MASKED store_some_f64
#define BROADCAST vld1q_dup_f64
#define FUSED FUSED_F64
#define FUSED_WITH FUSED_WITH_F64
#include "cpu/routines/routines_dot_block.h"

#elif defined(__AVX512F__)

static __mmask8 f64_mask(size_t columns)
{
    return (__mmask8)((1u << columns) - 1);
}

/* Adds to the register that holds the sum: in unrolled blocks gcc would move sums to others. */
static INLINED __m512 fused_in_place(__m512 x, __m512 y, __m512 sum)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
    return sum;
}

#define BROADCAST_F32(at) _mm512_set1_ps(*(at))
#define BROADCAST_F64(at) _mm512_set1_pd(*(at))
#define LOAD_MASKED_F32(at, mask) _mm512_maskz_loadu_ps(mask, at)
#define LOAD_MASKED_F64(at, mask) _mm512_maskz_loadu_pd(mask, at)

#define T float
#define NAME(x) f32_##x
#define PACKS
#define FEW_ROWS
#define GET_HALVES get_halves
#define GET_HALF get_half
#define PUT_HALVES put_halves
#define PUT_BF16 put_bf16
#define PUT_HALF put_half
#define PUT_BLOCK ROUTINE(dot_put_block)
#define VECTOR __m512
#define LANES 16
#define MASK __mmask16
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define LOAD_MASKED LOAD_MASKED_F32
#define STORE_MASKED _mm512_mask_storeu_ps
#define BROADCAST BROADCAST_F32
#define FUSED fused_in_place
#define UNROLLS_LINES 1
#include "cpu/routines/routines_dot_block.h"

#define T double
#define NAME(x) f64_##x
#define PACKS
#define VECTOR __m512d
#define LANES 8
#define MASK __mmask8
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define LOAD_MASKED LOAD_MASKED_F64
#define STORE_MASKED _mm512_mask_storeu_pd
#define BROADCAST BROADCAST_F64
#define FUSED _mm512_fmadd_pd
#define UNROLLS_LINES 0
#include "cpu/routines/routines_dot_block.h"

#else

/* Computes x · y + sum in sum's own register. Without the asm, a compiler may put the result
 * into x's register; sums then rotate through the 16 registers, and through the stack, to be in
 * place when the loop turns (gcc 12: a quarter slower). */
#if defined(__GNUC__)
static INLINED __m256 fused_f32(__m256 x, __m256 y, __m256 sum)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y));
    return sum;
}

static INLINED __m256d fused_f64(__m256d x, __m256d y, __m256d sum)
{
    __asm__("vfmadd231pd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y));
    return sum;
}

/* Four steps of a block of 4 to 6 rows by 2 vectors. Registers hold the sums, two vectors of a
 * row of b, and one element of a; pointers advance twice. A compiler that keeps more values at a
 * time spills sums to the stack: with gcc 12 a Zen 4 needs 7% more time for blocks of 6 rows,
 * 20% for those of 5. `fourth`: a's row 3. */
/* clang-format off */
#define A_ROW(p, s, at, sum)                                                                       \
    "vbroadcast" s " " at ", %%ymm15\n\t"                                                          \
    "vfmadd231" p " %%ymm13, %%ymm15, %[" sum "0]\n\t"                                             \
    "vfmadd231" p " %%ymm14, %%ymm15, %[" sum "1]\n\t"
#define FOUR_ROWS(p, s, element)                                                                   \
    A_ROW(p, s, element "(%[a])", "s0")                                                            \
    A_ROW(p, s, element "(%[a],%[lda])", "s1")                                                     \
    A_ROW(p, s, element "(%[a],%[lda],2)", "s2")                                                   \
    A_ROW(p, s, element "(%[fourth])", "s3")
#define FIVE_ROWS(p, s, element)                                                                   \
    FOUR_ROWS(p, s, element)                                                                       \
    A_ROW(p, s, element "(%[fourth],%[lda])", "s4")
#define SIX_ROWS(p, s, element)                                                                    \
    FIVE_ROWS(p, s, element)                                                                       \
    A_ROW(p, s, element "(%[fourth],%[lda],2)", "s5")
#define A_STEP(rows, p, s, element, b)                                                             \
    "vmovu" p " (%[b]" b "), %%ymm13\n\t"                                                          \
    "vmovu" p " 32(%[b]" b "), %%ymm14\n\t"                                                        \
    rows(p, s, element)
#define SUMS_OF(r) [s##r##0] "+x"(sum[r][0]), [s##r##1] "+x"(sum[r][1])
#define FOUR_SUMS SUMS_OF(0), SUMS_OF(1), SUMS_OF(2), SUMS_OF(3)
#define FIVE_SUMS FOUR_SUMS, SUMS_OF(4)
#define SIX_SUMS FIVE_SUMS, SUMS_OF(5) /* with the four below 30 operands, gcc's most */
#define FOUR_STEPS(rows, sums, p, s, element1, element2, element3)                                 \
    __asm__(A_STEP(rows, p, s, "", "")                                                             \
            A_STEP(rows, p, s, element1, ",%[ldb]")                                                \
            "lea (%[b],%[ldb],2), %[b]\n\t"                                                        \
            A_STEP(rows, p, s, element2, "")                                                       \
            A_STEP(rows, p, s, element3, ",%[ldb]")                                                \
            "lea (%[b],%[ldb],2), %[b]\n\t"                                                        \
            : sums, [b] "+&r"(b)                                                                   \
            : [a] "r"(a), [fourth] "r"(a + 3 * lda), [lda] "r"(lda * sizeof *a),                   \
              [ldb] "r"(ldb * sizeof *b)                                                           \
            : "xmm13", "xmm14", "xmm15", "memory")
/* clang-format on */
#define MANY_ROWS(name, T, VECTOR, ...)                                                            \
    static INLINED const T *name(const int rows, VECTOR sum[ROWS][VECTORS], const T *a,            \
                                 size_t lda, const T *b, size_t ldb)                               \
    {                                                                                              \
        if (rows == 6)                                                                             \
            FOUR_STEPS(SIX_ROWS, SIX_SUMS, __VA_ARGS__);                                           \
        else if (rows == 5)                                                                        \
            FOUR_STEPS(FIVE_ROWS, FIVE_SUMS, __VA_ARGS__);                                         \
        else                                                                                       \
            FOUR_STEPS(FOUR_ROWS, FOUR_SUMS, __VA_ARGS__);                                         \
        return b;                                                                                  \
    }
MANY_ROWS(f32_many_rows, float, __m256, "ps", "ss", "4", "8", "12")
MANY_ROWS(f64_many_rows, double, __m256d, "pd", "sd", "8", "16", "24")
_Static_assert(LINE_STEPS % 4 == 0 && ROWS == 6 && VECTORS == 2, "as written out");
#define STEPS_WRITTEN_OUT
#else
#define fused_f32 _mm256_fmadd_ps
#define fused_f64 _mm256_fmadd_pd
#endif

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
#define PACKS
#define FEW_ROWS
#define GET_HALVES get_halves
#define GET_HALF get_half
#define PUT_HALVES put_halves
#define PUT_BF16 put_bf16
#define PUT_HALF put_half
#define PUT_BLOCK ROUTINE(dot_put_block)
#define VECTOR __m256
#define LANES 8
#define MASK __m256i
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define LOAD_MASKED _mm256_maskload_ps
#define STORE_MASKED _mm256_maskstore_ps
#define BROADCAST _mm256_broadcast_ss
#define FUSED fused_f32
#if defined(STEPS_WRITTEN_OUT)
#define FOUR_STEPS_OF_MANY f32_many_rows
#endif
#define UNROLLS_LINES 1
#include "cpu/routines/routines_dot_block.h"

#define T double
#define NAME(x) f64_##x
#define PACKS
#define VECTOR __m256d
#define LANES 4
#define MASK __m256i
#define LOAD _mm256_loadu_pd
#define STORE _mm256_storeu_pd
#define LOAD_MASKED _mm256_maskload_pd
#define STORE_MASKED _mm256_maskstore_pd
#define BROADCAST _mm256_broadcast_sd
#define FUSED fused_f64
#if defined(STEPS_WRITTEN_OUT)
#define FOUR_STEPS_OF_MANY f64_many_rows
#endif
#define UNROLLS_LINES 0
#include "cpu/routines/routines_dot_block.h"

#endif

#else

#define FLOAT_DOT(t, T, fused) PLAIN_DOT(t, T, fused(x, bs[j], row[j]))
FLOAT_DOT(f32, float, fma_once)
FLOAT_DOT(f64, double, fma)

static INLINED void f32_few(const enum few_kind kind, float *c, const float *a, const void *b,
                            size_t m, size_t n, size_t k, const struct dot_few_strides *s)
{
    (void)kind; /* elements of other kinds are converted first */
    for (size_t r = 0; r < m; r++, c += s->c, a += s->a)
        for (size_t p = 0; p < k; p++) {
            const float *row = (const float *)b + p * s->b, x = a[p];
            VECTORISE for (size_t j = 0; j < n; j++)
            {
                c[j] = fma_once(x, row[j], c[j]);
            }
        }
}

#endif

#define FEW_OF_KIND(name, kind)                                                                    \
    static void few_##name(float *c, const float *a, const void *b, size_t m, size_t n, size_t k,  \
                           const struct dot_few_strides *s)                                        \
    {                                                                                              \
        f32_few(kind, c, a, b, m, n, k, s);                                                        \
    }
FEW_OF_KIND(f32, FEW_F32)
#if defined(IN_BLOCKS)
FEW_OF_KIND(f16, FEW_F16)
FEW_OF_KIND(bf16, FEW_BF16)
#if !defined(ROUTINES_V4)
FEW_OF_KIND(f16_pairs, FEW_F16_PAIRS)
FEW_OF_KIND(bf16_pairs, FEW_BF16_PAIRS)
#else
#define few_f16_pairs NULL
#define few_bf16_pairs NULL
#endif
FEW_OF_KIND(i8_fours, FEW_I8_FOURS)
#endif

#if defined(ROUTINES_V4)
#include "cpu/routines/routines_dot_turned.h"
#define TURNED_ROUTINES                                                                            \
    .turned_f32 = turned_f32, .turned_f16 = turned_f16, .turned_bf16 = turned_bf16,
#else
#define TURNED_ROUTINES
#endif

/* Computed unsigned, so that sums wrap; the signed types have the same bits. */
#define INTEGER_DOT(t, T) PLAIN_DOT(t, T, row[j] + x * bs[j])
INTEGER_DOT(u32, uint32_t)
INTEGER_DOT(u64, uint64_t)

#if defined(IN_BLOCKS)
#define WIDTH(t) t##_width
#define PACKS_FLOATS true
#define MOST_ROWS ROWS
#define LEAST_PACKING_ROWS PACKING_ROWS
#define FEW_ROUTINES                                                                               \
    {                                                                                              \
        few_f32, few_f16, few_bf16, few_f16_pairs, few_bf16_pairs, few_i8_fours                    \
    }
#else
#define MOST_ROWS 1
#define LEAST_PACKING_ROWS 1
#define FEW_ROUTINES                                                                               \
    {                                                                                              \
        few_f32                                                                                    \
    }
#define WIDTH(t) PLAIN_WIDTH
#define PACKS_FLOATS false
#endif

extern const struct dot_routines ROUTINE(routines_dot);
const struct dot_routines ROUTINE(routines_dot) = {
    .dot = {[COMPUTE_F32] = f32_dot,
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
              [COMPUTE_U64] = PLAIN_WIDTH},
    .few = FEW_ROUTINES,
    TURNED_ROUTINES.has_halves = PACKS_FLOATS,
    .rows = MOST_ROWS,
    .packing_rows = LEAST_PACKING_ROWS,
    .packs = {[COMPUTE_F32] = PACKS_FLOATS, [COMPUTE_F64] = PACKS_FLOATS}};
