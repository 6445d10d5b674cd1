/* Unpacks the factors of a multiplication from their registers, for sim_mma.c: elements that are
 * multiplied by the same one become neighbours, step by step along k.
 *
 * Eight rows (of B: columns) are in the order 0 2 4 6 1 3 5 7, because the registers of the sum
 * have even and odd columns. */
#ifndef TW_SIM_MMA_FACTOR_H
#define TW_SIM_MMA_FACTOR_H

#include "sim/sim_half.h"
#include "sim/sim_mma.h"

#include <math.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define MMA_INLINE static inline __attribute__((always_inline))

/* The types, with the number of elements in a word. */
#define MMA_EACH_FLOAT(DO)                                                                         \
    DO(F16, 2)                                                                                     \
    DO(BF16, 2)                                                                                    \
    DO(TF32, 1)                                                                                    \
    DO(E4M3, 4)                                                                                    \
    DO(E5M2, 4)
#define MMA_EACH_INTEGER(DO)                                                                       \
    DO(S8, 4)                                                                                      \
    DO(U8, 4)                                                                                      \
    DO(S4, 8)                                                                                      \
    DO(U4, 8)

enum { MMA_MOST_FLOATS_PER_WORD = 4, MMA_QUAD = 4 };

/* --- floats --- */

/* Converts `count` halves, a multiple of MMA_SIDE. */
MMA_INLINE void mma_widen_halves(int count, const uint16_t *codes, float *out)
{
#if defined(__F16C__)
    for (int i = 0; i < count; i += MMA_SIDE) {
        __m128i eight = _mm_loadu_si128((const __m128i *)(const void *)(codes + i));
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(eight));
    }
#else
    for (int i = 0; i < count; i++)
        out[i] = sim_f16_float(codes[i]);
#endif
}

/* Returns element i of a word as a half, lowest bits first. 8-bit floats are parts of halves:
 * e5m2 lacks the last bits, e4m3 becomes 2^8 too small. */
MMA_INLINE uint16_t mma_half_of(enum ptx_mod type, uint32_t word, int i)
{
    if (type == MOD_F16)
        return (uint16_t)(word >> 16 * i);
    uint32_t byte = word >> 8 * i & 0xff;
    return (uint16_t)(type == MOD_E5M2 ? byte << 8 : (byte & 0x80) << 8 | (byte & 0x7f) << 7);
}

/* Converts the elements of turned words, one row after the other. */
MMA_INLINE void mma_floats(enum ptx_mod type, int per_word, const uint32_t *turned, float *out)
{
    const float nan_at = 480; /* e4m3 has no infinity; it has its NaN at this value */
    uint16_t halves[SIM_LANES * MMA_MOST_FLOATS_PER_WORD];
    for (int p = 0; p < MMA_WORDS; p++)
        for (int i = 0; i < per_word; i++)
            for (int j = 0; j < MMA_SIDE; j++) {
                uint32_t word = turned[MMA_SIDE * p + j];
                int at = (p * per_word + i) * MMA_SIDE + j;
                if (type == MOD_TF32) /* the last 13 bits are ignored */
                    out[at] = f32_from_bits(word & 0xffffe000);
                else if (type == MOD_BF16)
                    out[at] = f32_from_bits(i ? word & 0xffff0000 : word << 16);
                else
                    halves[at] = mma_half_of(type, word, i);
            }
    if (type == MOD_TF32 || type == MOD_BF16)
        return;
    mma_widen_halves(SIM_LANES * per_word, halves, out);
    for (int i = 0; i < SIM_LANES * per_word && type == MOD_E4M3; i++) {
        float v = out[i] * 256;
        out[i] = fabsf(v) == nan_at ? (float)NAN : v;
    }
}

/* Takes four rows at a time, every second one. */
static void mma_spread_doubles(const uint32_t *words, double *out, size_t across)
{
    const double *in = (const double *)(const void *)words;
    for (int odd = 0; odd < 2; odd++, in += MMA_WORDS, out += MMA_SIDE / 2) {
#if defined(__AVX2__)
        __m256d row[MMA_WORDS], pair[MMA_WORDS];
        for (int i = 0; i < MMA_WORDS; i++)
            row[i] = _mm256_loadu_pd(in + 2 * MMA_WORDS * i);
        for (int i = 0; i < 2; i++) { /* columns 0 and 1, then 2 and 3, of rows 0 2 and of 1 3 */
            pair[i] = _mm256_permute2f128_pd(row[i], row[2 + i], 0x20);
            pair[2 + i] = _mm256_permute2f128_pd(row[i], row[2 + i], 0x31);
        }
        for (int k = 0; k < MMA_WORDS; k++) {
            __m256d even = pair[k / 2 * 2], other = pair[k / 2 * 2 + 1];
            _mm256_storeu_pd(out + (size_t)k * across, k % 2 ? _mm256_unpackhi_pd(even, other)
                                                             : _mm256_unpacklo_pd(even, other));
        }
#else
        for (int row = 0; row < MMA_SIDE / 2; row++)
            for (int k = 0; k < MMA_WORDS; k++)
                out[(size_t)k * across + (size_t)row] = in[2 * MMA_WORDS * row + k];
#endif
    }
}

/* --- integers, four along k as neighbours --- */

typedef uint64_t mma_quad __attribute__((may_alias));

/* Returns the low four of eight nibbles, in 16 bits each. */
static inline uint64_t mma_nibbles(uint32_t word, bool is_signed)
{
    const uint64_t sign = 0x0008000800080008;
    uint64_t four = word & 0xffff;
    four = (four | four << 24) & 0x000000ff000000ff;
    four = (four | four << 12) & 0x000f000f000f000f;
    if (!is_signed)
        return four;
    uint64_t minus = four & sign; /* then negative ones become 0xfff0 */
    return four | ((minus << 13) - (minus << 1));
}

/* Unpacks a register's elements; each step of k takes `across` groups of four. */
MMA_INLINE void mma_spread_integers(enum ptx_mod type, int per_word, const uint32_t *turned,
                                    int16_t *out, size_t across)
{
    const bool is_signed = type == MOD_S8 || type == MOD_S4;
    const int halves = per_word / MMA_QUAD;
    for (int p = 0; p < MMA_WORDS * halves; p++, out += across * MMA_QUAD) {
        const uint32_t *row = turned + MMA_SIDE * (p / halves);
        uint8_t bytes[MMA_SIDE * MMA_QUAD];
        memcpy(bytes, row, sizeof bytes);
        for (int i = 0; i < MMA_SIDE * MMA_QUAD && halves == 1; i++)
            out[i] = is_signed ? (int8_t)bytes[i] : bytes[i];
        for (int j = 0; j < MMA_SIDE && halves == 2; j++) {
            uint64_t four = mma_nibbles(row[j] >> p % 2 * 16, is_signed);
            memcpy(out + MMA_QUAD * j, &four, sizeof four);
        }
    }
}

static inline bool mma_is_integer(enum ptx_mod type)
{
    return type == MOD_S8 || type == MOD_U8 || type == MOD_S4 || type == MOD_U4;
}

#endif
