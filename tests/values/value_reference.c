#include "value_reference.h"

#include <math.h>
#include <string.h>

const struct value_format value_f16 = {10, -14, 15, 16}, value_bf16 = {7, -126, 127, 16},
                          value_f32 = {23, -126, 127, 32}, value_f64 = {52, -1022, 1023, 64};

static int magnitude_order(const uint32_t *a, const uint32_t *b)
{
    for (int i = VALUE_WORDS - 1; i >= 0; i--)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

void value_add(struct value_number *x, bool negative, value_u128 digits, int exponent)
{
    uint32_t y[VALUE_WORDS] = {0};
    for (int i = 0; i < 128; i++)
        if (digits >> i & 1) {
            int at = exponent + i - VALUE_LOWEST;
            y[at / 32] |= 1u << at % 32;
        }
    if (x->negative == negative) {
        uint64_t carry = 0;
        for (int i = 0; i < VALUE_WORDS; i++) {
            carry += (uint64_t)x->d[i] + y[i];
            x->d[i] = (uint32_t)carry;
            carry >>= 32;
        }
        return;
    }
    bool swap = magnitude_order(x->d, y) < 0;
    int64_t borrow = 0;
    for (int i = 0; i < VALUE_WORDS; i++) {
        int64_t v = swap ? (int64_t)y[i] - x->d[i] : (int64_t)x->d[i] - y[i];
        v += borrow;
        borrow = v < 0 ? -1 : 0;
        x->d[i] = (uint32_t)(uint64_t)v;
    }
    if (swap)
        x->negative = negative;
}

bool value_is_zero(const struct value_number *x)
{
    for (int i = 0; i < VALUE_WORDS; i++)
        if (x->d[i])
            return false;
    return true;
}

static bool digit(const struct value_number *x, int exponent)
{
    int at = exponent - VALUE_LOWEST;
    return at >= 0 && (x->d[at / 32] >> at % 32 & 1);
}

static int top_of(const struct value_number *x)
{
    int word = VALUE_WORDS - 1;
    while (!x->d[word])
        word--;
    int top = VALUE_LOWEST + 32 * word + 31;
    while (!digit(x, top))
        top--;
    return top;
}

static uint64_t sign_of(const struct value_format *f)
{
    return (uint64_t)1 << (f->bits - 1);
}
uint64_t value_infinity(const struct value_format *f, bool minus)
{
    return (uint64_t)(f->greatest - f->least + 2) << f->fraction | (minus ? sign_of(f) : 0);
}
uint64_t value_zero(const struct value_format *f, bool minus)
{
    return minus ? sign_of(f) : 0;
}
bool value_nan(const struct value_format *f, uint64_t bits)
{
    return (bits & (sign_of(f) - 1)) > value_infinity(f, false);
}
bool value_infinite(const struct value_format *f, uint64_t bits)
{
    return (bits & (sign_of(f) - 1)) == value_infinity(f, false);
}
bool value_minus(const struct value_format *f, uint64_t bits)
{
    return bits & sign_of(f);
}
bool value_subnormal(const struct value_format *f, uint64_t bits)
{
    return (bits & (sign_of(f) - 1)) >> f->fraction == 0;
}

void value_split(const struct value_format *f, uint64_t bits, uint64_t *digits, int *exponent)
{
    uint64_t rest = bits & (sign_of(f) - 1);
    int field = (int)(rest >> f->fraction);
    *digits = rest & (((uint64_t)1 << f->fraction) - 1);
    if (field)
        *digits |= (uint64_t)1 << f->fraction;
    *exponent = (field ? field - 1 : 0) + f->least - f->fraction;
}

bool value_tiny(const struct value_format *f, const struct value_number *x)
{
    return top_of(x) < f->least;
}

/* Returns true if the number has a digit below 2^exponent. */
static bool any_below(const struct value_number *x, int exponent)
{
    int at = exponent - VALUE_LOWEST;
    for (int word = 0; word < at / 32; word++)
        if (x->d[word])
            return true;
    return x->d[at / 32] & ((1u << at % 32) - 1);
}

uint64_t value_round(const struct value_format *f, const struct value_number *x, char rounding)
{
    int top = top_of(x), lowest = (top > f->least ? top : f->least) - f->fraction;
    uint64_t kept = 0;
    for (int e = lowest + f->fraction; e >= lowest; e--)
        kept = kept << 1 | digit(x, e);
    bool half = digit(x, lowest - 1), below = any_below(x, lowest - 1);
    bool up = rounding == 'n'   ? half && (below || (kept & 1))
              : rounding == 'a' ? half
              : rounding == 'm' ? x->negative && (half || below)
              : rounding == 'p' ? !x->negative && (half || below)
                                : false;
    kept += up;
    if (kept >> (f->fraction + 1)) {
        kept >>= 1;
        lowest++;
    }
    if (lowest + f->fraction > f->greatest) {
        bool outwards = rounding == 'n' || rounding == 'a' || (rounding == 'm' && x->negative) ||
                        (rounding == 'p' && !x->negative);
        return value_infinity(f, x->negative) - (outwards ? 0 : 1);
    }
    uint64_t field = 0;
    if (kept >> f->fraction) {
        field = (uint64_t)(lowest + f->fraction - f->least + 1);
        kept -= (uint64_t)1 << f->fraction;
    }
    return field << f->fraction | kept | value_zero(f, x->negative);
}

/* Adds the root, a little more or less if it is not exact. */
static void add_root(struct value_number *x, uint64_t digits, int exponent)
{
    if (exponent % 2) {
        digits <<= 1;
        exponent--;
    }
    while (digits < (uint64_t)1 << 60) {
        digits <<= 2;
        exponent -= 2;
    }
    value_u128 wide = (value_u128)digits << 62; /* 124 bits at most; the root has 62 */
    value_u128 root = (value_u128)(uint64_t)sqrtl((long double)digits * 0x1p62L);
    while (root * root > wide)
        root--;
    while ((root + 1) * (root + 1) <= wide)
        root++;
    value_add(x, false, root * 2 + (root * root != wide), (exponent - 62) / 2 - 1);
}

/* Handles infinity and division by 0. Returns true if *result is the result. */
static bool special(const struct value_format *f, char op, uint64_t a, uint64_t b, uint64_t c,
                    uint64_t nan, uint64_t *result)
{
    bool ai = value_infinite(f, a), bi = value_infinite(f, b), ci = value_infinite(f, c);
    bool az = !(a & (sign_of(f) - 1)), bz = !(b & (sign_of(f) - 1));
    bool am = value_minus(f, a), bm = value_minus(f, b), cm = value_minus(f, c);
    switch (op) {
    case '-': bm = !bm; /* fall through */
    case '+':
        if (ai && bi && am != bm)
            *result = nan;
        else
            *result = value_infinity(f, ai ? am : bm);
        return ai || bi;
    case '*':
        *result = (ai && bz) || (bi && az) ? nan : value_infinity(f, am != bm);
        return ai || bi;
    case 'f':
        if ((ai && bz) || (bi && az) || ((ai || bi) && ci && (am != bm) != cm))
            *result = nan;
        else
            *result = value_infinity(f, ci ? cm : am != bm);
        return ai || bi || ci;
    case '/':
        if ((ai && bi) || (az && bz))
            *result = nan;
        else if (ai || bz)
            *result = value_infinity(f, am != bm);
        else
            *result = value_zero(f, am != bm);
        return ai || bi || az || bz;
    default: *result = am && !az ? nan : a; return ai || az || am;
    }
}

uint64_t value_compute(const struct value_format *f, char op, char rounding, uint64_t a, uint64_t b,
                       uint64_t c, uint64_t nan, bool *tiny)
{
    uint64_t result, da, db, dc;
    int ea, eb, ec;
    *tiny = false;
    if (special(f, op, a, b, c, nan, &result))
        return result;
    value_split(f, a, &da, &ea);
    value_split(f, b, &db, &eb);
    value_split(f, c, &dc, &ec);
    bool am = value_minus(f, a), bm = value_minus(f, b) != (op == '-'), cm = value_minus(f, c);
    bool first = am, second = bm; /* signs of the summands */
    static struct value_number x;
    memset(&x, 0, sizeof x);
    switch (op) {
    case '+':
    case '-':
        x.negative = am;
        value_add(&x, am, da, ea);
        value_add(&x, bm, db, eb);
        break;
    case '*':
    case 'f':
        first = am != bm;
        second = op == 'f' ? cm : first;
        x.negative = first;
        value_add(&x, first, (value_u128)da * db, ea + eb);
        if (op == 'f')
            value_add(&x, cm, dc, ec);
        break;
    case '/': {
        for (; da < (uint64_t)1 << 52; ea--)
            da <<= 1;
        value_u128 n = (value_u128)da << 74, q = n / db;
        first = second = x.negative = am != bm;
        value_add(&x, x.negative, q * 2 + (q * db != n), ea - 74 - eb - 1);
        break;
    }
    default: add_root(&x, da, ea); break;
    }
    if (value_is_zero(&x))
        return value_zero(f, first == second ? first : rounding == 'm');
    *tiny = value_tiny(f, &x);
    return value_round(f, &x, rounding);
}
