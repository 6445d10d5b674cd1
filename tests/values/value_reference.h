/* Floats computed slowly: exact values as long binary numbers, rounded by looking at their
 * digits one by one. */
#ifndef VALUE_REFERENCE_H
#define VALUE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 value_u128;

/* A format: bits of fraction, exponents of the least normal and of the greatest values. */
struct value_format {
    int fraction, least, greatest, bits;
};
extern const struct value_format value_f16, value_bf16, value_f32, value_f64;

/* A number with digits from 2^-2240 to 2^2239, and its sign. */
enum { VALUE_WORDS = 140, VALUE_LOWEST = -2240 };
struct value_number {
    bool negative;
    uint32_t d[VALUE_WORDS];
};
/* x = x + or - digits * 2^exponent */
void value_add(struct value_number *x, bool negative, value_u128 digits, int exponent);
bool value_is_zero(const struct value_number *x);

/* Properties of a float's bits. */
bool value_nan(const struct value_format *f, uint64_t bits);
bool value_infinite(const struct value_format *f, uint64_t bits);
bool value_minus(const struct value_format *f, uint64_t bits);
bool value_subnormal(const struct value_format *f, uint64_t bits);
uint64_t value_infinity(const struct value_format *f, bool minus);
uint64_t value_zero(const struct value_format *f, bool minus);
/* Gives the digits and the exponent of a finite float. */
void value_split(const struct value_format *f, uint64_t bits, uint64_t *digits, int *exponent);

/* Returns the bits of x (not 0) rounded: 'n' to nearest even, 'a' to nearest, ties away, 'z' to
 * zero, 'm' down, 'p' up. */
uint64_t value_round(const struct value_format *f, const struct value_number *x, char rounding);
/* Returns true if |x| is below the least normal value. */
bool value_tiny(const struct value_format *f, const struct value_number *x);

/* Computes a * b + c and the like in one format. No operand may be NaN: the caller handles NaNs;
 * an invalid operation returns `nan`. op: '+', '-', '*', 'f' (a * b + c), '/', 's' (root of a).
 * tiny: the exact result is not 0 and below the least normal value. */
uint64_t value_compute(const struct value_format *f, char op, char rounding, uint64_t a, uint64_t b,
                       uint64_t c, uint64_t nan, bool *tiny);

#endif
