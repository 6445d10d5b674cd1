/* Arithmetic without rounding on finite floats, and one rounding at the end, in any of PTX's
 * modes. Directed rounding and the rarer conversions use it. It is slow and plain; for common
 * roundings other files use the host's arithmetic. */
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
    SIM_AS_TF32, /* as the bits of an f32 shifted right by 13 */
    /* without infinity: a value that is too large becomes the largest one */
    SIM_AS_E4M3,
    SIM_AS_E5M2,
    SIM_AS_E2M3,
    SIM_AS_E3M2,
    SIM_AS_E2M1,
    SIM_FORMATS
};

/* The value digits * 2^exponent. If a value needs more than 128 bits, the last digit is set if
 * any lower digit is. */
struct sim_exact {
    bool negative;
    int exponent;
    sim_u128 digits;
};

/* Returns a finite value from its bits. */
struct sim_exact sim_exact_of(enum sim_format format, uint64_t bits);
struct sim_exact sim_exact_integer(bool negative, uint64_t magnitude);
struct sim_exact sim_exact_product(struct sim_exact a, struct sim_exact b);
/* Returns a sum. A sum of zero whose terms are not both -0 is -0 only when rounding down. */
struct sim_exact sim_exact_sum(struct sim_exact a, struct sim_exact b, enum sim_rounding rounding);
/* Requires b != 0. */
struct sim_exact sim_exact_quotient(struct sim_exact a, struct sim_exact b);
/* Requires a >= 0. */
struct sim_exact sim_exact_root(struct sim_exact a);
/* Returns the value rounded to a multiple of 1. */
struct sim_exact sim_exact_integral(struct sim_exact a, enum sim_rounding rounding);

/* Returns the bits of the value, rounded. */
uint64_t sim_exact_round(struct sim_exact a, enum sim_format format, enum sim_rounding rounding);
/* Rounds stochastically: away from zero if the dropped part and the random fraction `random` /
 * 2^`bits` add up to at least one. */
uint64_t sim_exact_round_random(struct sim_exact a, enum sim_format format, uint32_t random,
                                int bits);
/* Returns true if the value is not zero and is below the smallest normal value: before rounding,
 * or after rounding as if exponents had no limit. */
bool sim_exact_tiny(struct sim_exact a, enum sim_format format);
bool sim_exact_tiny_rounded(struct sim_exact a, enum sim_format format, enum sim_rounding rounding);

/* Return the sign bit, the infinity (if a format has none: the first pattern that is not a
 * number) and the first exponent bit. */
uint64_t sim_format_sign(enum sim_format format);
uint64_t sim_format_infinity(enum sim_format format);

#endif
