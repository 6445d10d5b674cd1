#include "sim/sim_exact.h"

/* A format. fraction: bits below the point; least: exponent of the smallest normal value;
 * beyond: the first pattern that is not a finite value; infinite: true if that pattern is
 * infinity. */
static const struct format {
    int fraction, least;
    uint64_t beyond;
    bool infinite;
    int sign; /* bit of the sign */
} formats[SIM_FORMATS] = {
    [SIM_AS_F64] = {52, -1022, 0x7ffull << 52, true, 63},
    [SIM_AS_F32] = {23, -126, 0x7f800000, true, 31},
    [SIM_AS_F16] = {10, -14, 0x7c00, true, 15},
    [SIM_AS_BF16] = {7, -126, 0x7f80, true, 15},
    [SIM_AS_TF32] = {10, -126, 0x7f800000 >> 13, true, 18},
    [SIM_AS_E4M3] = {3, -6, 0x7f, false, 7},
    [SIM_AS_E5M2] = {2, -14, 0x7c, false, 7},
    [SIM_AS_E2M3] = {3, 0, 0x20, false, 5},
    [SIM_AS_E3M2] = {2, -2, 0x20, false, 5},
    [SIM_AS_E2M1] = {1, 0, 0x8, false, 3},
};

uint64_t sim_format_sign(enum sim_format format)
{
    return (uint64_t)1 << formats[format].sign;
}

uint64_t sim_format_infinity(enum sim_format format)
{
    return formats[format].beyond;
}

/* Returns the number of bits up to the highest one that is set. */
static int length_of(sim_u128 v)
{
    uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
    if (high)
        return 128 - __builtin_clzll(high);
    return low ? 64 - __builtin_clzll(low) : 0;
}

/* Shifts v right, and sets the last bit if any lost bit was set. */
static sim_u128 shift_right_jam(sim_u128 v, int by)
{
    if (by <= 0)
        return v;
    if (by > 127)
        return v != 0;
    sim_u128 dropped = v & (((sim_u128)1 << by) - 1);
    return v >> by | (dropped != 0);
}

struct sim_exact sim_exact_of(enum sim_format format, uint64_t bits)
{
    const struct format *f = &formats[format];
    bool negative = bits >> f->sign & 1;
    uint64_t magnitude = bits & (((uint64_t)1 << f->sign) - 1);
    uint64_t digits = magnitude & (((uint64_t)1 << f->fraction) - 1);
    int field = (int)(magnitude >> f->fraction);
    if (field > 0)
        digits |= (uint64_t)1 << f->fraction;
    return (struct sim_exact){negative, f->least + (field ? field - 1 : 0) - f->fraction, digits};
}

struct sim_exact sim_exact_integer(bool negative, uint64_t magnitude)
{
    return (struct sim_exact){negative, 0, magnitude};
}

struct sim_exact sim_exact_product(struct sim_exact a, struct sim_exact b)
{
    return (struct sim_exact){a.negative != b.negative, a.exponent + b.exponent,
                              a.digits * b.digits};
}

/* Returns the same value with its highest digit at bit 125, which leaves room for a carry. */
static struct sim_exact normalised(struct sim_exact a)
{
    int by = 126 - length_of(a.digits);
    a.digits = by >= 0 ? a.digits << by : shift_right_jam(a.digits, -by);
    a.exponent -= by;
    return a;
}

struct sim_exact sim_exact_sum(struct sim_exact a, struct sim_exact b, enum sim_rounding rounding)
{
    bool zero_sign = a.negative == b.negative ? a.negative : rounding == SIM_RM;
    if (!a.digits && !b.digits)
        return (struct sim_exact){zero_sign, 0, 0};
    if (!a.digits)
        return b;
    if (!b.digits)
        return a;
    a = normalised(a);
    b = normalised(b);
    if (a.exponent < b.exponent) {
        struct sim_exact swapped = a;
        a = b;
        b = swapped;
    }
    b.digits = shift_right_jam(b.digits, a.exponent - b.exponent);
    if (a.negative == b.negative) {
        a.digits += b.digits;
        return a;
    }
    if (a.digits == b.digits)
        return (struct sim_exact){rounding == SIM_RM, 0, 0};
    if (a.digits > b.digits) {
        a.digits -= b.digits;
        return a;
    }
    b.digits -= a.digits;
    b.exponent = a.exponent;
    return b;
}

struct sim_exact sim_exact_quotient(struct sim_exact a, struct sim_exact b)
{
    struct sim_exact q = {a.negative != b.negative, 0, 0};
    if (!a.digits)
        return q;
    int up = 127 - length_of(a.digits), down = length_of(b.digits) - 53;
    if (down > 0) { /* no format has more digits; only for safety */
        b.digits = shift_right_jam(b.digits, down);
        b.exponent += down;
    }
    a.digits <<= up;
    q.digits = a.digits / b.digits;
    q.digits = q.digits << 1 | (a.digits % b.digits != 0);
    q.exponent = a.exponent - up - b.exponent - 1;
    return q;
}

struct sim_exact sim_exact_root(struct sim_exact a)
{
    if (!a.digits)
        return a;
    int up = 126 - length_of(a.digits);
    if ((a.exponent - up) % 2 != 0)
        up--;
    sim_u128 rest = a.digits << up, root = 0, bit = (sim_u128)1 << 124;
    for (; bit; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = root >> 1 | bit;
        } else {
            root >>= 1;
        }
    }
    return (struct sim_exact){false, (a.exponent - up) / 2 - 1, root << 1 | (rest != 0)};
}

/* Returns true if `kept` must be rounded up by one; `dropped` / 2^shift is the part that was cut
 * off. */
static bool rounds_up(sim_u128 kept, sim_u128 dropped, int shift, bool negative,
                      enum sim_rounding rounding)
{
    if (!dropped)
        return false;
    sim_u128 half = shift > 127 ? 0 : (sim_u128)1 << (shift - 1);
    switch (rounding) {
    case SIM_RN: return half && (dropped > half || (dropped == half && (kept & 1)));
    case SIM_RNA: return half && dropped >= half;
    case SIM_RM: return negative;
    case SIM_RP: return !negative;
    default: return false;
    }
}

/* Cuts off the digits below 2^quantum and returns the rest in units of 2^quantum. Sets *dropped
 * to the lost digits and *shift to their number. */
static sim_u128 cut(struct sim_exact a, int quantum, sim_u128 *dropped, int *shift)
{
    *shift = quantum - a.exponent;
    *dropped = 0;
    if (*shift <= 0)
        return a.digits << -*shift;
    if (*shift > 127) {
        *dropped = a.digits;
        return 0;
    }
    *dropped = a.digits & (((sim_u128)1 << *shift) - 1);
    return a.digits >> *shift;
}

static uint64_t overflow(const struct format *f, bool negative, enum sim_rounding rounding)
{
    if (!f->infinite || rounding == SIM_RZ || (rounding == SIM_RM && !negative) ||
        (rounding == SIM_RP && negative))
        return f->beyond - 1;
    return f->beyond;
}

/* Returns the exponent of the last digit that is kept. */
static int quantum_of(struct sim_exact a, const struct format *f)
{
    int top = a.exponent + length_of(a.digits) - 1;
    return (top > f->least ? top : f->least) - f->fraction;
}

/* Returns the pattern of `kept` in units of 2^quantum. The leading digit of `kept` adds one to
 * the exponent. */
static uint64_t encode(const struct format *f, bool negative, sim_u128 kept, int quantum,
                       enum sim_rounding rounding)
{
    uint64_t sign = negative ? (uint64_t)1 << f->sign : 0;
    int steps = quantum + f->fraction - f->least;
    if (steps > 4096)
        return sign | overflow(f, negative, rounding);
    uint64_t magnitude = ((uint64_t)steps << f->fraction) + (uint64_t)kept;
    return sign | (magnitude < f->beyond ? magnitude : overflow(f, negative, rounding));
}

uint64_t sim_exact_round(struct sim_exact a, enum sim_format format, enum sim_rounding rounding)
{
    const struct format *f = &formats[format];
    if (!a.digits)
        return a.negative ? (uint64_t)1 << f->sign : 0;
    int quantum = quantum_of(a, f), shift;
    sim_u128 dropped, kept = cut(a, quantum, &dropped, &shift);
    kept += rounds_up(kept, dropped, shift, a.negative, rounding);
    return encode(f, a.negative, kept, quantum, rounding);
}

uint64_t sim_exact_round_random(struct sim_exact a, enum sim_format format, uint32_t random,
                                int bits)
{
    const struct format *f = &formats[format];
    if (!a.digits)
        return a.negative ? (uint64_t)1 << f->sign : 0;
    int quantum = quantum_of(a, f), shift;
    sim_u128 dropped, kept = cut(a, quantum, &dropped, &shift);
    /* A source has 24 digits. If the shift is more than 64 bits, the dropped digits cannot reach
     * the random ones. */
    if (shift > 0 && shift <= 64)
        kept += (dropped << bits) + ((sim_u128)random << shift) >= (sim_u128)1 << (shift + bits);
    return encode(f, a.negative, kept, quantum, SIM_RNA);
}

bool sim_exact_tiny(struct sim_exact a, enum sim_format format)
{
    return a.digits && a.exponent + length_of(a.digits) - 1 < formats[format].least;
}

bool sim_exact_tiny_rounded(struct sim_exact a, enum sim_format format, enum sim_rounding rounding)
{
    if (!sim_exact_tiny(a, format))
        return false;
    const struct format *f = &formats[format];
    int top = a.exponent + length_of(a.digits) - 1, shift;
    sim_u128 dropped, kept = cut(a, top - f->fraction, &dropped, &shift);
    kept += rounds_up(kept, dropped, shift, a.negative, rounding);
    return top + (kept >> (f->fraction + 1) ? 1 : 0) < f->least;
}

struct sim_exact sim_exact_integral(struct sim_exact a, enum sim_rounding rounding)
{
    if (a.exponent >= 0)
        return a;
    int shift;
    sim_u128 dropped, kept = cut(a, 0, &dropped, &shift);
    kept += rounds_up(kept, dropped, shift, a.negative, rounding);
    return (struct sim_exact){a.negative, 0, kept};
}
