/* sin and cos. x is n pi/2 + r. The bits of 2/pi that r is computed from are chosen by the size of x, so
 * that 60 bits of r are right for any x (Payne and Hanek, "Radian reduction for trigonometric functions", 1983). The two series for r
 * are fdlibm's, k_sin.c and k_cos.c:
 *
 *   Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
 *   Developed at SunSoft, a Sun Microsystems, Inc. business. Permission to use, copy, modify, and
 *   distribute this software is freely granted, provided that this notice is preserved. */
#include "base/real.h"

#include "base/float_bits.h"

#include <math.h>
#include <stdbool.h>

__extension__ typedef unsigned __int128 wide;

/* The bits of 2/pi after the binary point. */
static const uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

/* Returns 64 of them, starting at bit `at`; bits before the point are zeros. */
static uint64_t bits_from(int at)
{
    if (at < 0)
        return at > -64 ? two_over_pi[0] >> -at : 0;
    int word = at / 64, shift = at % 64;
    return two_over_pi[word] << shift | (shift ? two_over_pi[word + 1] >> (64 - shift) : 0);
}

struct angle {
    double r,
        rest; /* an angle up to pi/4, and the part of it that does not fit in the first double */
    unsigned quarter;
};

/* Reduces a finite x that is not small. Bits of 2/pi whose product with x is a multiple of 4 are
 * left out, because they give whole turns. */
static struct angle reduce(double x)
{
    uint64_t bits = f64_bits(x), digits = (bits & 0xfffffffffffff) | (uint64_t)1 << 52;
    int at = (int)(bits >> 52 & 0x7ff) - 1023 - 52 - 2;
    uint64_t high = digits * bits_from(at);
    wide middle = (wide)digits * bits_from(at + 64), low = (wide)digits * bits_from(at + 128);
    wide turn = ((wide)high << 64) + middle + (uint64_t)(low >> 64); /* of 2^128 */
    unsigned quarter = (unsigned)(turn >> 126);
    wide rest = turn << 2; /* of a quarter */
    bool negative = rest >> 127;
    if (negative) {
        rest = 0 - rest;
        quarter++;
    }
    int zeros = 0;
    if (!(rest >> 64)) { /* rare, and once is enough: no f64 is closer to n pi/2 */
        rest <<= 64;
        zeros = 64;
    }
    int more = __builtin_clzll((unsigned long long)(rest >> 64));
    zeros += more;
    rest <<= more;
    wide r = (wide)(uint64_t)(rest >> 64) * 0xc90fdaa22168c235; /* pi/2 in 2^63 */
    struct angle out = {.quarter = quarter};
    double unit = f64_from_bits((uint64_t)(1023 - zeros) << 52); /* r counts units of 2^-127 */
    unit = negative != (x < 0) ? -unit : unit;
    out.r = (double)(uint64_t)(r >> 75) * 0x1p-52 * unit;
    out.rest = (double)(uint64_t)(r >> 11 & UINT64_MAX) * 0x1p-116 * unit;
    if (x < 0)
        out.quarter = 0 - out.quarter;
    return out;
}

static double sine_near(double x, double rest)
{
    static const double s1 = -1.66666666666666324348e-01, s2 = 8.33333333332248946124e-03,
                        s3 = -1.98412698298579493134e-04, s4 = 2.75573137070700676789e-06,
                        s5 = -2.50507602534068634195e-08, s6 = 1.58969099521155010221e-10;
    double z = x * x, w = z * z, v = z * x;
    double r = s2 + z * (s3 + z * s4) + z * w * (s5 + z * s6);
    return x - ((z * (0.5 * rest - v * r) - rest) - v * s1);
}

static double cosine_near(double x, double rest)
{
    static const double c1 = 4.16666666666666019037e-02, c2 = -1.38888888888741095749e-03,
                        c3 = 2.48015872894767294178e-05, c4 = -2.75573143513906633035e-07,
                        c5 = 2.08757232129817482790e-09, c6 = -1.13596475577881948265e-11;
    double z = x * x, w = z * z, half = 0.5 * z, most = 1 - half;
    double r = z * (c1 + z * (c2 + z * c3)) + w * w * (c4 + z * (c5 + z * c6));
    return most + (((1 - most) - half) + (z * r - x * rest));
}

/* turn: 0 for sin, 1 for cos. */
static double sine_of(double x, unsigned turn)
{
    struct angle a = {x, 0, 0};
    if (!(fabs(x) < INFINITY))
        return isnan(x) ? x : NAN;
    if (fabs(x) > 0.78539816339744830962)
        a = reduce(x);
    unsigned quarter = a.quarter + turn;
    double v = quarter & 1 ? cosine_near(a.r, a.rest) : sine_near(a.r, a.rest);
    return quarter & 2 ? -v : v;
}

double real_sin(double x)
{
    return fabs(x) < 0x1p-28 ? x : sine_of(x, 0);
}

double real_cos(double x)
{
    return sine_of(x, 1);
}
