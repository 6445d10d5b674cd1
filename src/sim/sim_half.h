/* f16 and bf16 arithmetic with one rounding, to nearest, for use in loops: branch-free code on f32
 * and f64.
 *
 * A sum is computed with its error (two-sum) and, if the error is not zero, gets an odd last
 * digit. Rounding such a value again, to a type with at least two digits less, gives the exact
 * sum rounded once. */
#ifndef TW_SIM_HALF_H
#define TW_SIM_HALF_H

#include "sim/sim_value.h"

/* Returns a + b as f32, rounded to odd; infinities and NaNs are unchanged. */
static inline float sim_odd_sum_f32(float a, float b)
{
    float s = a + b, b_part = s - a, error = (a - (s - b_part)) + (b - b_part);
    uint32_t bits = f32_bits(s);
    uint32_t inexact = ((error < 0) | (error > 0)) ? 1 : 0, even = ~bits & 1;
    bool outwards = (error > 0) == (s > 0);
    return f32_from_bits(bits + (inexact & even) * (outwards ? 1u : UINT32_MAX));
}
static inline double sim_odd_sum_f64(double a, double b)
{
    double s = a + b, b_part = s - a, error = (a - (s - b_part)) + (b - b_part);
    uint64_t bits = f64_bits(s);
    uint64_t inexact = ((error < 0) | (error > 0)) ? 1 : 0, even = ~bits & 1;
    bool outwards = (error > 0) == (s > 0);
    return f64_from_bits(bits + (inexact & even) * (outwards ? 1u : UINT64_MAX));
}
/* Returns v as f32, rounded to odd. A value that is too large becomes the largest f32, which all
 * narrower types round to infinity. */
static inline uint32_t sim_odd_f32(double v)
{
    float f = (float)v;
    double error = v - (double)f;
    uint32_t bits = f32_bits(f);
    uint32_t inexact = ((error < 0) | (error > 0)) ? 1 : 0, even = ~bits & 1;
    bool outwards = (error > 0) == (v > 0);
    return bits + (inexact & even) * (outwards ? 1u : UINT32_MAX);
}

/* Rounds an f32 to nearest even; NaN becomes 0x7fff. */
static inline uint16_t sim_f16_narrow(uint32_t a)
{
    uint32_t sign = a >> 16 & 0x8000u, rest = a & 0x7fffffffu;
    uint32_t normal = (rest - (112u << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13;
    /* below 2^-14 an addition aligns and rounds */
    uint32_t aligned = sim_choice(rest < 0x38800000u, rest, 0);
    uint32_t small = f32_bits(f32_from_bits(aligned) + 0.5f) - 0x3f000000u;
    uint32_t large = rest >= 0x477ff000u ? 0x7c00u : normal;
    uint32_t r = sign | sim_choice(rest < 0x38800000u, small, large);
    return (uint16_t)sim_choice(rest > 0x7f800000u, 0x7fffu, r);
}
static inline uint16_t sim_bf16_narrow(uint32_t a)
{
    uint32_t r = (a + 0x7fffu + (a >> 16 & 1u)) >> 16;
    return (uint16_t)sim_choice(sim_f32_nan(a), 0x7fffu, r);
}

static inline float sim_f16_float(uint16_t a)
{
    return f32_from_bits(sim_f16_widen(a));
}
static inline float sim_bf16_float(uint16_t a)
{
    return f32_from_bits(sim_bf16_widen(a));
}

/* Products of two f16 are exact in f32. */
static inline uint16_t sim_f16_add(uint16_t a, uint16_t b)
{
    return sim_f16_narrow(f32_bits(sim_odd_sum_f32(sim_f16_float(a), sim_f16_float(b))));
}
static inline uint16_t sim_f16_mul(uint16_t a, uint16_t b)
{
    return sim_f16_narrow(f32_bits(sim_f16_float(a) * sim_f16_float(b)));
}
static inline uint16_t sim_f16_fma(uint16_t a, uint16_t b, uint16_t c)
{
    return sim_f16_narrow(
        f32_bits(sim_odd_sum_f32(sim_f16_float(a) * sim_f16_float(b), sim_f16_float(c))));
}
/* Products of two bf16 need the exponents of f64. */
static inline uint16_t sim_bf16_add(uint16_t a, uint16_t b)
{
    return sim_bf16_narrow(f32_bits(sim_odd_sum_f32(sim_bf16_float(a), sim_bf16_float(b))));
}
static inline uint16_t sim_bf16_mul(uint16_t a, uint16_t b)
{
    return sim_bf16_narrow(sim_odd_f32((double)sim_bf16_float(a) * (double)sim_bf16_float(b)));
}
static inline uint16_t sim_bf16_fma(uint16_t a, uint16_t b, uint16_t c)
{
    return sim_bf16_narrow(sim_odd_f32(sim_odd_sum_f64(
        (double)sim_bf16_float(a) * (double)sim_bf16_float(b), (double)sim_bf16_float(c))));
}

/* Extremes, -0 below +0. A NaN loses against a number; with `nan_wins` it wins and becomes
 * 0x7fff. `infinity`: the type's. */
static inline int16_t sim_half_order(uint16_t a)
{
    return (int16_t)(a ^ (a >> 15 ? 0x7fffu : 0u));
}
static inline uint16_t sim_half_extreme(uint16_t a, uint16_t b, uint16_t infinity, bool max,
                                        bool nan_wins)
{
    bool a_nan = (a & 0x7fffu) > infinity, b_nan = (b & 0x7fffu) > infinity;
    bool first =
        max ? sim_half_order(a) > sim_half_order(b) : sim_half_order(a) < sim_half_order(b);
    uint16_t r = first ? a : b;
    r = a_nan ? (nan_wins ? a : b) : r;
    r = b_nan ? (nan_wins ? b : a) : r;
    return (r & 0x7fffu) > infinity ? 0x7fffu : r;
}
enum { SIM_F16_INFINITY = 0x7c00, SIM_BF16_INFINITY = 0x7f80 };

#endif
