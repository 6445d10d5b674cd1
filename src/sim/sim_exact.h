/* Arithmetic without rounding on finite floats, and one rounding at the end, in any of PTX's modes:
 * what directed rounding and the rarer conversions are made of. Slow and plain; the common
 * roundings are the host's own, elsewhere.
 */
#ifndef TW_SIM_EXACT_H
#define TW_SIM_EXACT_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(__SIZEOF_INT128__)
#error "the simulator needs a 128-bit integer type"
#endif
__extension__ typedef unsigned __int128 sim_u128;

enum sim_rounding { SIM_RN, SIM_RZ, SIM_RM, SIM_RP, SIM_RNA };

enum sim_format {
    SIM_AS_F64,
    SIM_AS_F32,
    SIM_AS_F16,
    SIM_AS_BF16,
    SIM_AS_TF32, /* as bits of an f32, shifted right by 13 */
    /* without infinity: what is too large becomes the largest */
    SIM_AS_E4M3,
    SIM_AS_E5M2,
    SIM_AS_E2M3,
    SIM_AS_E3M2,
    SIM_AS_E2M1,
    SIM_FORMATS
};

/* digits * 2^exponent. Of a value that needs more than 128 bits, the last digit says "and a little
 * more". */
struct sim_exact {
    bool negative;
    int exponent;
    sim_u128 digits;
};

/* A finite value from its bits. */
struct sim_exact sim_exact_of(enum sim_format format, uint64_t bits);
struct sim_exact sim_exact_integer(bool negative, uint64_t magnitude);
struct sim_exact sim_exact_product(struct sim_exact a, struct sim_exact b);
/* A sum that is zero though its terms are not both -0 is -0 only when rounding down. */
struct sim_exact sim_exact_sum(struct sim_exact a, struct sim_exact b, enum sim_rounding rounding);
/* b is not zero. */
struct sim_exact sim_exact_quotient(struct sim_exact a, struct sim_exact b);
/* a is not negative. */
struct sim_exact sim_exact_root(struct sim_exact a);
/* Rounded to a multiple of 1. */
struct sim_exact sim_exact_integral(struct sim_exact a, enum sim_rounding rounding);

/* Bits, rounded. */
uint64_t sim_exact_round(struct sim_exact a, enum sim_format format, enum sim_rounding rounding);
/* Rounded stochastically: away from zero where what is dropped and the random fraction `random` /
 * 2^`bits` make one. */
uint64_t sim_exact_round_random(struct sim_exact a, enum sim_format format, uint32_t random,
                                int bits);
/* Not zero, and below the smallest normal value: before rounding; after rounding as if exponents
 * had no end. */
bool sim_exact_tiny(struct sim_exact a, enum sim_format format);
bool sim_exact_tiny_rounded(struct sim_exact a, enum sim_format format, enum sim_rounding rounding);

/* Sign bit, infinity (of a format without one: the first pattern that is no number) and first
 * exponent bit. */
uint64_t sim_format_sign(enum sim_format format);
uint64_t sim_format_infinity(enum sim_format format);

#endif
