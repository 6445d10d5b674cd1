#include "readings_bounds.h"

#include "base/dtype.h"
#include "base/float_bits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- numbers --- */

static double number(enum ptx_mod t, uint64_t bits)
{
    if (t == PTX_F16)
        return (double)f16_to_f32((uint16_t)bits);
    if (t == PTX_BF16)
        return (double)bf16_to_f32((uint16_t)bits);
    return t == PTX_F64 ? f64_from_bits(bits) : (double)f32_from_bits((uint32_t)bits);
}

/* Returns the type of one element of a reading. */
static enum ptx_mod element_type(const struct reading *r)
{
    return r->type == PTX_F16X2 ? PTX_F16 : r->type == PTX_BF16X2 ? PTX_BF16 : r->type;
}

static bool is_coarse(const struct reading *r)
{
    return r->type == PTX_F64 && strstr(r->key, ".ftz");
}

/* Returns the last digit of a value of this size; for the coarse functions of f64, the last
 * digit of the high word. */
static double ulp(const struct reading *r, double size)
{
    int least = -126, digits = 23;
    switch ((int)element_type(r)) {
    case PTX_F16: least = -14, digits = 10; break;
    case PTX_BF16: digits = 7; break;
    case PTX_F64: least = -1022, digits = is_coarse(r) ? 20 : 52; break;
    default: break;
    }
    int exponent = size > 0 ? ilogb(size) : least;
    return ldexp(1, (exponent > least ? exponent : least) - digits);
}

/* --- bounds that PTX gives --- */

/* The distance of a result from the true value, by kind. */
enum measure {
    ULPS,
    RELATIVE,
    ABSOLUTE,
    LOGARITHM, /* absolute if the result is below 1, else relative */
    ANGLE      /* absolute, by the argument */
};

static const struct promise {
    enum ptx_op op;
    enum ptx_mod type;
    enum measure measure;
    double error; /* ULPS: their number; else a power of two */
} promises[] = {
    /* PTX ISA 9.7.3.8, floating-point-instructions-div: .full for all divisors, .approx for
     * divisors from 2^-126 to 2^126; larger ones give 0 or NaN. It gives no bound for smaller
     * ones: the test uses the same bound. */
    {PTX_DIV, PTX_F32, ULPS, 2},
    /* 9.7.3.13, floating-point-instructions-rcp; 9.7.3.14, -rcp-approx-ftz-f64, gives no bound:
     * the test uses the last digit of its result. */
    {PTX_RCP, PTX_F32, ULPS, 1},
    {PTX_RCP, PTX_F64, ULPS, 1},
    /* 9.7.3.15, -sqrt */
    {PTX_SQRT, PTX_F32, RELATIVE, -23},
    /* 9.7.3.16, -rsqrt; it gives no bound for f64, nor does 9.7.3.17, -rsqrt-approx-ftz-f64: the
     * test uses the last digit. */
    {PTX_RSQRT, PTX_F32, RELATIVE, -22.9},
    {PTX_RSQRT, PTX_F64, ULPS, 1},
    /* 9.7.3.18, -sin; 9.7.3.19, -cos */
    {PTX_SIN, PTX_F32, ANGLE, 0},
    {PTX_COS, PTX_F32, ANGLE, 0},
    /* 9.7.3.20, -lg2: arguments from 0.5 to 2 absolute, others relative */
    {PTX_LG2, PTX_F32, LOGARITHM, -22},
    /* 9.7.3.21, -ex2: from the correctly rounded result */
    {PTX_EX2, PTX_F32, ULPS, 2},
    /* 9.7.3.22, -tanh */
    {PTX_TANH, PTX_F32, RELATIVE, -11},
    /* 9.7.4.9, half-precision-floating-point-instructions-tanh */
    {PTX_TANH, PTX_F16, ABSOLUTE, -10.987},
    {PTX_TANH, PTX_BF16, ABSOLUTE, -8},
    /* 9.7.4.10, -ex2 */
    {PTX_EX2, PTX_F16, RELATIVE, -9.9},
    {PTX_EX2, PTX_BF16, RELATIVE, -7},
};

/* Returns the bound for an angle, PTX ISA 9.7.3.18: 2^-20.5 up to two turns, 2^-14.7 up to a
 * hundred times pi. It gives no bound for larger angles: -1. */
static double error_of_angle(uint64_t argument)
{
    const double pi = 3.141592653589793, x = fabs(number(PTX_F32, argument & 0xffffffff));
    return x <= 2 * pi ? exp2(-20.5) : x <= 100 * pi ? exp2(-14.7) : -1;
}

/* -1: nothing. */
static double error_of(const struct reading *r, double size, uint64_t argument)
{
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
        const struct promise *p = &promises[i];
        if (p->op != r->op || p->type != element_type(r))
            continue;
        switch (p->measure) {
        case ULPS: return p->error * ulp(r, size);
        case RELATIVE: return fmax(exp2(p->error) * size, ulp(r, size) / 2);
        case LOGARITHM: return exp2(p->error) * fmax(size, 1);
        case ANGLE: return error_of_angle(argument);
        default: return exp2(p->error);
        }
    }
    return 0;
}

/* Returns the bound of a sum of k products, below 4 each, and of C, below 2. To f32: terms lose
 * the part below 2^-25 of the greatest exponent (on an H200, halves whose sums cancel are off by
 * at most 2^-26), and in at most four steps (an assumption that holds for all readings) the
 * partial sum is cut or rounded to f32. To f16: f16 factors are rounded once, 8-bit factors
 * twice. */
static double bound_of_product(const struct reading *r, double size)
{
    int m = 0, n = 0, k = 0;
    for (const char *at = strchr(r->key, '.'); at && k == 0; at = strchr(at + 1, '.'))
        if (sscanf(at, ".m%dn%dk%d", &m, &n, &k) != 3)
            k = 0;
    double most = 4 * k + 2;
    bool bytes = strstr(r->key, ".e4m3") || strstr(r->key, ".e5m2");
    if (r->type == PTX_F32)
        return 4 * ldexp(most, -23) + ldexp(k + 1, -24);
    return bytes ? 2 * ldexp(most, -11) : ldexp(size, -10);
}

/* --- comparison --- */

/* Returns true if both results are within the bound; ours, computed in double precision, is
 * rounded. */
static bool is_near(const struct reading *r, uint64_t a, uint64_t b, uint64_t argument)
{
    if (a == b)
        return true;
    double x = number(element_type(r), a), y = number(element_type(r), b);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y))
        return false;
    double size = fmax(fabs(x), fabs(y));
    if (r->op == PTX_MMA || r->op == PTX_WMMA_MMA)
        return fabs(x - y) <= bound_of_product(r, size);
    double error = error_of(r, size, argument);
    return fabs(x - y) <= error + 0.51 * ulp(r, size);
}

static uint64_t word(const uint8_t *data, size_t bytes)
{
    uint64_t v = 0;
    memcpy(&v, data, bytes);
    return v;
}

bool reading_same(const struct reading *r, const uint8_t *ours, const uint8_t *theirs,
                  uint64_t argument)
{
    size_t bytes = (size_t)r->bytes, size = ptx_mods[element_type(r)].bits / 8;
    if (!r->approximate)
        return memcmp(ours, theirs, bytes) == 0;
    if ((r->op == PTX_SIN || r->op == PTX_COS) && error_of_angle(argument) < 0)
        return true;
    for (size_t at = 0; at < bytes; at += size)
        if (!is_near(r, word(ours + at, size), word(theirs + at, size), argument))
            return false;
    return true;
}
