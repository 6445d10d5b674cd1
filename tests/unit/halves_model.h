/* The weights of 4 bits that AVX512-FP16 rounds (src/cpu/routines/routines_dot_halves.h), on a model of its
 * instructions: each number becomes f32, and the result is rounded to f16. A product of two numbers of
 * f16 is exact in f32. Rounding a difference twice changes nothing, because f32 has more than twice as
 * many bits (Figueroa, "When is double rounding innocuous?", 1995). Any machine with AVX-512 runs it. */
#ifndef TW_HALVES_MODEL_H
#define TW_HALVES_MODEL_H

#include "base/platform.h"
#include "cpu/routines/routines.h"

#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))),        \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif

static INLINED __m512i model_halves(__m512i x, __m512i y, bool subtracts)
{
    __m256i part[2];
    for (int i = 0; i < 2; i++) {
        const __m512 a =
            _mm512_cvtph_ps(i == 0 ? _mm512_castsi512_si256(x) : _mm512_extracti64x4_epi64(x, 1));
        const __m512 b =
            _mm512_cvtph_ps(i == 0 ? _mm512_castsi512_si256(y) : _mm512_extracti64x4_epi64(y, 1));
        part[i] = _mm512_cvtps_ph(subtracts ? _mm512_sub_ps(a, b) : _mm512_mul_ps(a, b),
                                  _MM_FROUND_TO_NEAREST_INT);
    }
    return _mm512_inserti64x4(_mm512_castsi256_si512(part[0]), part[1], 1);
}

/* Looks up bytes of a table at the lower 6 bits of the bytes of an index: all of them, or every second one
 * from `first` on, and 0 in their places. */
static __m512i model_bytes(__m512i index, __m512i table, int first, int step)
{
    unsigned char at[64], from[64], to[64] = {0};
    _mm512_storeu_si512(at, index);
    _mm512_storeu_si512(from, table);
    for (int i = first; i < 64; i += step)
        to[i] = from[at[i] % 64];
    return _mm512_loadu_si512(to);
}

#define PERMUTE_BYTES(index, table) model_bytes(index, table, 0, 1)
#define LOOK_UP_UPPER(index, table) model_bytes(index, table, 1, 2)
#define MULTIPLY_HALVES(x, y) model_halves(x, y, false)
#define SUBTRACT_HALVES(x, y) model_halves(x, y, true)
#include "cpu/routines/routines_dot_halves.h"

static size_t few_halves_of_model(float *c, const float *a, const uint8_t *codes,
                                  const struct weight_halves *w, size_t rows, size_t columns)
{
    return add_f16_halves(c, a, codes, w, rows, columns) ? columns : 0;
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/* Returns whether this machine runs the model. */
static bool models_halves(void)
{
#if defined(__x86_64__)
    return platform_x86_has(X86_V4);
#else
    return false;
#endif
}

/* Returns the sets that this machine can run, then the last of them with the model. */
static const struct routine_set *set_at(int index)
{
    const struct routine_set *set = routine_set_at(index);
#if defined(__x86_64__)
    static struct routine_set model;
    if (!set && index > 0 && routine_set_at(index - 1) && models_halves()) {
        model = *routine_set_at(index - 1);
        model.name = "a model of AVX512-FP16";
        model.few_halves = few_halves_of_model;
        set = &model;
    }
#endif
    return set;
}

#endif
