/* The most that a core can do with the set's instructions: multiply-adds from registers to
 * registers, and reads of memory. The roofs of profiles are measured with these (peaks.c). */
#include "cpu/peaks.h"

#if defined(ROUTINES_V3) || defined(ROUTINES_V4)
#include <immintrin.h>
#elif defined(ROUTINES_NEON)
#include <arm_neon.h>
#endif

/* Independent chains of multiply-adds. Two units with a latency of four cycles need eight. */
enum { CHAINS = 12 };

/* A macro once for each chain: compilers drop a request to unroll that is within a macro. */
#define EACH(step, f)                                                                              \
    step(f, 0) step(f, 1) step(f, 2) step(f, 3) step(f, 4) step(f, 5) step(f, 6) step(f, 7)        \
        step(f, 8) step(f, 9) step(f, 10) step(f, 11)
#define ADD(fused, i) x[i] = fused(a, b, x[i]);
#define HOLD(fused, i) KEEP(x[i]);

/* Defines a routine that executes `turns` multiply-adds in each chain. The vectors are opaque to
 * the compiler, so it keeps every one of them. */
#define PEAK(name, vector, sum, start, fused)                                                      \
    static void name(size_t turns)                                                                 \
    {                                                                                              \
        sum x[CHAINS] = {{0}};                                                                     \
        vector a = start, b = start;                                                               \
        EACH(HOLD, fused) /* else the chains would be one to the compiler */                       \
        for (size_t t = 0; t < turns; t++) {                                                       \
            KEEP(a);                                                                               \
            EACH(ADD, fused)                                                                       \
        }                                                                                          \
        EACH(HOLD, fused)                                                                          \
    }

#if defined(ROUTINES_V4)
#define KEEP(v) __asm__ volatile("" : "+v"(v))
#define F32_LANES 16
#define F64_LANES 8
PEAK(peak_f32, __m512, __m512, _mm512_setzero_ps(), _mm512_fmadd_ps)
PEAK(peak_f64, __m512d, __m512d, _mm512_setzero_pd(), _mm512_fmadd_pd)
#elif defined(ROUTINES_V3)
#define KEEP(v) __asm__ volatile("" : "+x"(v))
#define F32_LANES 8
#define F64_LANES 4
PEAK(peak_f32, __m256, __m256, _mm256_setzero_ps(), _mm256_fmadd_ps)
PEAK(peak_f64, __m256d, __m256d, _mm256_setzero_pd(), _mm256_fmadd_pd)
#elif defined(ROUTINES_NEON)
#define KEEP(v) __asm__ volatile("" : "+w"(v))
#define F32_LANES 4
#define F64_LANES 2
#define FUSED_F32(a, b, c) vfmaq_f32(c, a, b)
#define FUSED_F64(a, b, c) vfmaq_f64(c, a, b)
PEAK(peak_f32, float32x4_t, float32x4_t, vdupq_n_f32(0), FUSED_F32)
PEAK(peak_f64, float64x2_t, float64x2_t, vdupq_n_f64(0), FUSED_F64)
#else
#define KEEP(v) (*(volatile unsigned char *)&(v) = 0)
#define F32_LANES 1
#define F64_LANES 1
struct one_f32 {
    float x;
};
struct one_f64 {
    double x;
};
#define FUSED_F32(a, b, c) ((struct one_f32){(a).x * (b).x + (c).x})
#define FUSED_F64(a, b, c) ((struct one_f64){(a).x * (b).x + (c).x})
PEAK(peak_f32, struct one_f32, struct one_f32, {0}, FUSED_F32)
PEAK(peak_f64, struct one_f64, struct one_f64, {0}, FUSED_F64)
#endif

#if defined(ROUTINES_BYTES) && defined(ROUTINES_V4)
#define ADD_BYTES(a, b, c) _mm512_dpbusd_epi32(c, a, b)
PEAK(peak_i8, __m512i, __m512i, _mm512_setzero_si512(), ADD_BYTES)
#elif defined(ROUTINES_BYTES) && defined(ROUTINES_V3)
#define ADD_BYTES(a, b, c) _mm256_dpbusd_avx_epi32(c, a, b)
PEAK(peak_i8, __m256i, __m256i, _mm256_setzero_si256(), ADD_BYTES)
#elif defined(ROUTINES_BYTES)
#define ADD_BYTES(a, b, c) vdotq_u32(c, a, b)
PEAK(peak_i8, uint8x16_t, uint32x4_t, vdupq_n_u8(0), ADD_BYTES)
#endif
#if defined(ROUTINES_BF16)
#define ADD_PAIRS(a, b, c) _mm512_dpbf16_ps(c, a, b)
PEAK(peak_bf16, __m512bh, __m512, (__m512bh)_mm512_setzero_si512(), ADD_PAIRS)
#endif

/* Reads memory line by line, into several sums that do not wait for each other. */
static void read_lines(const void *memory, size_t bytes)
{
    typedef uint64_t words __attribute__((vector_size(64), may_alias));
    enum { AT_ONCE = 8 };
    const words *from = memory;
    words sum[AT_ONCE] = {{0}};
    for (size_t i = 0; i + AT_ONCE <= bytes / sizeof *from; i += AT_ONCE)
        UNROLLED for (int k = 0; k < AT_ONCE; k++) sum[k] |= from[i + (size_t)k];
    for (int k = 1; k < AT_ONCE; k++)
        sum[0] |= sum[k];
    OPAQUE(from);
    *(volatile uint64_t *)&sum[0] = sum[0][0];
}

#if defined(ROUTINES_BF16)
#define PEAKS routines_peak_bf16
#elif defined(ROUTINES_BYTES)
#define PEAKS ROUTINE(routines_peak_bytes)
#else
#define PEAKS ROUTINE(routines_peak)
#endif
extern const struct peak_routines PEAKS;
const struct peak_routines PEAKS = {
    .of[PEAK_F32] = {peak_f32, 2.0 * F32_LANES *CHAINS},
    .of[PEAK_F64] = {peak_f64, 2.0 * F64_LANES *CHAINS},
#if defined(ROUTINES_BF16)
    .of[PEAK_BF16] = {peak_bf16, 4.0 * F32_LANES *CHAINS},
#endif
#if defined(ROUTINES_BYTES)
    .of[PEAK_I8] = {peak_i8, 8.0 * F32_LANES *CHAINS},
#endif
    .read = read_lines,
};
