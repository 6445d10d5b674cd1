/* Exponentials, logarithms and what is made of them.
 *
 * The exponentials look 2^(i/32) up and multiply by a short series (Tang, "Table-driven implementation
 * of the exponential function", 1989). The logarithms and erf are fdlibm's, e_log.c, e_log2.c and
 * s_erf.c, with its coefficients:
 *
 *   Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
 *   Developed at SunSoft, a Sun Microsystems, Inc. business. Permission to use, copy, modify, and
 *   distribute this software is freely granted, provided that this notice is preserved. */
#include "base/real.h"

#include "base/float_bits.h"

#include <math.h>
#include <stdbool.h>

#define COUNT(terms) ((int)(sizeof(terms) / sizeof *(terms)))

/* Evaluates a polynomial. The coefficients go from the highest power down. */
static double polynomial(double x, const double *terms, int count)
{
    double p = terms[0];
    for (int i = 1; i < count; i++)
        p = p * x + terms[i];
    return p;
}

/* --- exponentials --- */

enum { PARTS = 32 };

/* 2^(i/32) rounded, and the relative error of that. */
static const struct {
    double value, rest;
} powers[PARTS] = {{0x1.0000000000000p+0, 0x0.0p+0},
                   {0x1.059b0d3158574p+0, 0x1.cd2523567f613p-55},
                   {0x1.0b5586cf9890fp+0, 0x1.79aa65d837b6dp-54},
                   {0x1.11301d0125b51p+0, -0x1.556522a2fbd0ep-54},
                   {0x1.172b83c7d517bp+0, -0x1.01b15eaa59348p-55},
                   {0x1.1d4873168b9aap+0, 0x1.aecf73e3a2f60p-54},
                   {0x1.2387a6e756238p+0, 0x1.68efde3a8a894p-54},
                   {0x1.29e9df51fdee1p+0, 0x1.2f7e16d09ab31p-55},
                   {0x1.306fe0a31b715p+0, 0x1.34d754db0abb6p-55},
                   {0x1.371a7373aa9cbp+0, -0x1.24aedcc4b5068p-54},
                   {0x1.3dea64c123422p+0, 0x1.59f48a72a4c6dp-55},
                   {0x1.44e086061892dp+0, 0x1.363ed60c2ac11p-59},
                   {0x1.4bfdad5362a27p+0, 0x1.690cebb7aafb0p-56},
                   {0x1.5342b569d4f82p+0, -0x1.8dec6bd0f385fp-56},
                   {0x1.5ab07dd485429p+0, 0x1.063e1e21c5409p-54},
                   {0x1.6247eb03a5585p+0, -0x1.c33c53bef4da8p-55},
                   {0x1.6a09e667f3bcdp+0, -0x1.3b3efbf5e2228p-54},
                   {0x1.71f75e8ec5f74p+0, -0x1.81f647e5a3ecfp-56},
                   {0x1.7a11473eb0187p+0, -0x1.b32dcb94da51dp-56},
                   {0x1.82589994cce13p+0, -0x1.369b6f13b3734p-54},
                   {0x1.8ace5422aa0dbp+0, 0x1.db72fc1f0eab4p-55},
                   {0x1.93737b0cdc5e5p+0, -0x1.da9b88b6c1e29p-58},
                   {0x1.9c49182a3f090p+0, 0x1.1affc2b91ce27p-56},
                   {0x1.a5503b23e255dp+0, -0x1.1bbd1d3bcbb15p-54},
                   {0x1.ae89f995ad3adp+0, 0x1.c1a7792cb3387p-55},
                   {0x1.b7f76f2fb5e47p+0, -0x1.8d6f438ad9334p-57},
                   {0x1.c199bdd85529cp+0, 0x1.36eae30af0cb3p-56},
                   {0x1.cb720dcef9069p+0, 0x1.76b2c6c921968p-57},
                   {0x1.d5818dcfba487p+0, 0x1.4a385a63d07a7p-56},
                   {0x1.dfc97337b9b5fp+0, -0x1.2d52107b43e1fp-55},
                   {0x1.ea4afa2a490dap+0, -0x1.ff7128fd391f0p-55},
                   {0x1.f50765b6e4540p+0, 0x1.a64a931d185eep-55}};

#define ROUNDER 0x1.8p52 /* adding it leaves the nearest integer in the last bits */

/* 2^n. */
static double power_of_two(int n)
{
    return f64_from_bits((uint64_t)(n + 1023) << 52);
}

/* Returns 2^(n/32) e^r for |r| up to (ln 2)/64. Both factors of a very large or small power are
 * normal numbers. */
static double power(int n, double r)
{
    int whole = n >> 5, half = whole / 2, i = n & (PARTS - 1);
    double tail =
        r + r * r * (0.5 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720)))));
    double v = powers[i].value + powers[i].value * (powers[i].rest + tail);
    return v * power_of_two(half) * power_of_two(whole - half);
}

double real_exp(double x)
{
    if (x > 0x1.62e42fefa39efp+9) /* the largest x whose power is finite */
        return INFINITY;
    if (x < -0x1.74910d52d3052p+9)
        return 0;
    if (isnan(x))
        return x;
    double n = x * 0x1.71547652b82fep+5 + ROUNDER - ROUNDER;
    /* the first part of (ln 2)/32 has 36 bits, so n times it is exact */
    return power((int)n, (x - n * 0x1.62e42fefa0000p-6) - n * 0x1.cf79abc9e3b3ap-45);
}

double real_exp2(double x)
{
    if (x >= 1024)
        return INFINITY;
    if (x <= -1075.5)
        return 0;
    if (isnan(x))
        return x;
    double n = x * PARTS + ROUNDER - ROUNDER;
    return power((int)n, (x - n * (1.0 / PARTS)) * 0x1.62e42fefa39efp-1);
}

double real_expm1(double x)
{
    static const double terms[] = {
        0x1.0ce396db7f853p-70, 0x1.71b8ef6dcf572p-66, 0x1.e542ba4020225p-62,
        0x1.2f49b46814157p-57, 0x1.6827863b97d97p-53, 0x1.952c77030ad4ap-49,
        0x1.ae7f3e733b81fp-45, 0x1.ae7f3e733b81fp-41, 0x1.93974a8c07c9dp-37,
        0x1.6124613a86d09p-33, 0x1.1eed8eff8d898p-29, 0x1.ae64567f544e4p-26,
        0x1.27e4fb7789f5cp-22, 0x1.71de3a556c734p-19, 0x1.a01a01a01a01ap-16,
        0x1.a01a01a01a01ap-13, 0x1.6c16c16c16c17p-10, 0x1.1111111111111p-7,
        0x1.5555555555555p-5,  0x1.5555555555555p-3,  0.5}; /* 1/22! to 1/2! */
    if (fabs(x) < 0x1p-54)
        return x;
    if (x > -0x1.6p-1 &&
        x <= 1) /* for smaller x, e^x is less than 1/2, and its error counts half */
        return x + x * x * polynomial(x, terms, COUNT(terms));
    return real_exp(x) - 1;
}

double real_tanh(double x)
{
    double a = fabs(x), t;
    if (a > 20)
        t = 1;
    else if (a > 0.5)
        t = 1 - 2 / (real_exp(2 * a) + 1);
    else if (a > 0x1p-28)
        t = real_expm1(2 * a);
    else
        return x; /* NaN, too */
    return copysign(a > 0.5 ? t : t / (t + 2), x);
}

double real_sigmoid(double x)
{
    double e = real_exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

/* --- logarithms --- */

/* x = 2^k (1 + f) with 1 + f between the square roots of 1/2 and 2; log(1 + f) is f - half + rest. */
struct split {
    int k;
    double f, half, rest;
};

static struct split split_up(double x)
{
    static const double even[] = {1.531383769920937332e-01, 2.222219843214978396e-01,
                                  3.999999999940941908e-01};
    static const double odd[] = {1.479819860511658591e-01, 1.818357216161805012e-01,
                                 2.857142874366239149e-01, 6.666666666666735130e-01};
    static const uint64_t root = 0x3fe6a09e00000000, one = 0x3ff0000000000000;
    struct split out = {.k = 0};
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        out.k = -54;
    }
    uint64_t bits = f64_bits(x) + (one - root);
    out.k += (int)(bits >> 52) - 1023;
    out.f = f64_from_bits((bits & 0xfffffffffffff) + root) - 1;
    double s = out.f / (2 + out.f), z = s * s, w = z * z;
    double r = w * polynomial(w, even, COUNT(even)) + z * polynomial(w, odd, COUNT(odd));
    out.half = 0.5 * out.f * out.f;
    out.rest = s * (out.half + r);
    return out;
}

/* Returns true if the logarithm of x is infinite or NaN, and sets *out to it. */
static bool is_special(double x, double *out)
{
    if (x > 0 && x < INFINITY)
        return false;
    *out = x == 0 ? -INFINITY : x < 0 ? NAN : x;
    return true;
}

double real_log(double x)
{
    double special;
    if (is_special(x, &special))
        return special;
    struct split p = split_up(x);
    return p.rest + p.k * 1.90821492927058770002e-10 - p.half + p.f +
           p.k * 6.93147180369123816490e-01; /* ln 2 in two parts */
}

double real_log2(double x)
{
    double special;
    if (is_special(x, &special))
        return special;
    struct split p = split_up(x);
    static const double high = 1.44269504072144627571e+00, low = 1.67517131648865118353e-10;
    double first = f64_from_bits(f64_bits(p.f - p.half) & 0xffffffff00000000);
    double second = p.f - first - p.half + p.rest;
    double product = first * high, k = p.k, sum = k + product;
    return (second + first) * low + second * high + ((k - sum) + product) + sum;
}

/* Kahan's method: corrects for the digits lost in 1 + x. */
double real_log1p(double x)
{
    double u = 1 + x;
    if (u == 1)
        return x;
    return u < INFINITY ? real_log(u) * (x / (u - 1)) : u;
}

/* --- erf --- */

static const double near_zero[] = {-2.37630166566501626084e-05, -5.77027029648944159157e-03,
                                   -2.84817495755985104766e-02, -3.25042107247001499370e-01,
                                   1.28379167095512558561e-01};
static const double near_zero_below[] = {-3.96022827877536812320e-06, 1.32494738004321644526e-04,
                                         5.08130628187576562776e-03,  6.50222499887672944485e-02,
                                         3.97917223959155352819e-01,  1};
static const double near_one[] = {-2.16637559486879084300e-03, 3.54783043256182359371e-02,
                                  -1.10894694282396677476e-01, 3.18346619901161753674e-01,
                                  -3.72207876035701323847e-01, 4.14856118683748331666e-01,
                                  -2.36211856075265944077e-03};
static const double near_one_below[] = {1.19844998467991074170e-02,
                                        1.36370839120290507362e-02,
                                        1.26171219808761642112e-01,
                                        7.18286544141962662868e-02,
                                        5.40397917702171048937e-01,
                                        1.06420880400844228286e-01,
                                        1};
static const double middle[] = {-9.81432934416914548592e+00, -8.12874355063065934246e+01,
                                -1.84605092906711035994e+02, -1.62396669462573470355e+02,
                                -6.23753324503260060396e+01, -1.05586262253232909814e+01,
                                -6.93858572707181764372e-01, -9.86494403484714822705e-03};
static const double middle_below[] = {
    -6.04244152148580987438e-02, 6.57024977031928170135e+00, 1.08635005541779435134e+02,
    4.29008140027567833386e+02,  6.45387271733267880336e+02, 4.34565877475229228821e+02,
    1.37657754143519042600e+02,  1.96512716674392571292e+01, 1};
static const double far[] = {-4.83519191608651397019e+02, -1.02509513161107724954e+03,
                             -6.37566443368389627722e+02, -1.60636384855821916062e+02,
                             -1.77579549177547519889e+01, -7.99283237680523006574e-01,
                             -9.86494292470009928597e-03};
static const double far_below[] = {-2.24409524465858183362e+01, 4.74528541206955367215e+02,
                                   2.55305040643316442583e+03,  3.19985821950859553908e+03,
                                   1.53672958608443695994e+03,  3.25792512996573918826e+02,
                                   3.03380607434824582924e+01,  1};

#define QUOTIENT(x, terms)                                                                         \
    (polynomial((x), terms, COUNT(terms)) / polynomial((x), terms##_below, COUNT(terms##_below)))

/* erfc a for a from 1.25 to 28: e^(-a^2 + Q(1 / a^2)) / a. The square is taken in two parts. */
static double tail(double a)
{
    double s = 1 / (a * a), q = a < 1 / 0.35 ? QUOTIENT(s, middle) : QUOTIENT(s, far);
    double upper = f64_from_bits(f64_bits(a) & 0xffffffff00000000);
    double rest = real_exp((upper - a) * (upper + a) + q);
    return real_exp(-upper * upper - 0.5625) * rest / a;
}

double real_erf(double x)
{
    double a = fabs(x), v;
    if (!(a >= 0.84375))
        return x + x * QUOTIENT(x * x, near_zero); /* NaN, too */
    if (a < 1.25) {
        v = 8.45062911510467529297e-01 + QUOTIENT(a - 1, near_one);
    } else if (a < 6) {
        double s = 1 / (a * a);
        double q = a < 1 / 0.35 ? QUOTIENT(s, middle) : QUOTIENT(s, far);
        v = 1 - real_exp(q - 0.5625 - a * a) / a;
    } else {
        v = 1;
    }
    return copysign(v, x);
}

double real_erfc(double x)
{
    double a = fabs(x);
    if (!(a >= 0.84375)) { /* NaN, too */
        double q = x * QUOTIENT(x * x, near_zero);
        return x < 0.25 ? 1 - (x + q) : 0.5 - (x - 0.5 + q);
    }
    if (a < 1.25) {
        double q = QUOTIENT(a - 1, near_one);
        return x > 0 ? 1 - 8.45062911510467529297e-01 - q : 1 + (8.45062911510467529297e-01 + q);
    }
    if (x < -6)
        return 2;
    if (x > 28)
        return 0;
    return x > 0 ? tail(a) : 2 - tail(a);
}

/* --- powers --- */

/* An unevaluated sum of two doubles. The second is at most half a unit in the last place of the
 * first. */
struct pair {
    double high, low;
};

static struct pair sum_of(double a, double b) /* |a| >= |b|, or a is 0 (Dekker 1971) */
{
    double s = a + b;
    return (struct pair){s, b - (s - a)};
}

static struct pair product_of(double a, double b) /* Veltkamp's halves; both below 2^960 */
{
    double p = a * b, x = a * 0x1.0000002p27, y = b * 0x1.0000002p27;
    double a1 = x - (x - a), a2 = a - a1, b1 = y - (y - b), b2 = b - b1;
    return (struct pair){p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}

/* Returns log a for 0 < a < infinity with relative error 2^-66: k ln 2 + 2 s (1 + s^2 / 3 + s^4
 * P(s^2)) with s = f / (2 + f). All terms but the last are kept in two parts. */
static struct pair log_of(double a)
{
    static const double terms[] = {0x1.ead4eaa85cfd4p-5, 0x1.de3bbac5249d5p-5, 0x1.1120791e3dc5dp-4,
                                   0x1.3b13648e10cd5p-4, 0x1.745d182a13fdfp-4, 0x1.c71c71c5955ddp-4,
                                   0x1.2492492492f57p-3, 0x1.9999999999996p-3};
    static const double third = 0x1.5555555555555p-2, third_rest = 0x1.5555555555555p-56;
    struct split p = split_up(a);
    struct pair below = sum_of(2, p.f);
    double high = p.f / below.high;
    struct pair back = product_of(high, below.high);
    double low = ((p.f - back.high) - back.low - high * below.low) / below.high;
    struct pair s = sum_of(high, low), u = product_of(s.high, s.high);
    u.low += 2 * s.high * s.low;
    struct pair t = product_of(u.high, third);
    t.low += u.high * third_rest + u.low * third;
    t.low += u.high * u.high * polynomial(u.high, terms, COUNT(terms));
    struct pair more = product_of(s.high, t.high);
    more.low += s.high * t.low + s.low * t.high;
    struct pair v = sum_of(s.high, more.high);
    v.low += more.low + s.low;
    double k = p.k; /* the first part of ln 2 has 36 bits */
    struct pair sum = sum_of(k * 0x1.62e42fefa0000p-1, 2 * v.high);
    sum.low += 2 * v.low + k * 0x1.cf79abc9e3b3ap-40;
    return sum_of(sum.high, sum.low);
}

/* Returns a^y for 0 < a < infinity, a not 1, y finite. */
static double positive_power(double a, double y)
{
    if (fabs(y) > 0x1p66) /* |log a| is 2^-53 at least */
        return (a > 1) == (y > 0) ? INFINITY : 0;
    struct pair log = log_of(a), x = product_of(y, log.high);
    x.low += y * log.low;
    if (x.high > 710)
        return INFINITY;
    if (x.high < -746)
        return 0;
    double n = x.high * 0x1.71547652b82fep+5 + ROUNDER - ROUNDER;
    double r = (x.high - n * 0x1.62e42fefa0000p-6) - n * 0x1.cf79abc9e3b3ap-45;
    return power((int)n, r + x.low);
}

double real_pow(double x, double y)
{
    double a = fabs(x), v;
    if (y == 0 || x == 1)
        return 1;
    if (isnan(x) || isnan(y))
        return x + y;
    bool whole = trunc(y) == y, odd = whole && fabs(y) < 0x1p53 && fmod(y, 2) != 0;
    if (a == 1)
        v = 1;
    else if (isinf(y))
        v = (a > 1) == (y > 0) ? INFINITY : 0;
    else if (a == 0 || isinf(a))
        v = (a == 0) == (y > 0) ? 0 : INFINITY;
    else if (x < 0 && !whole)
        return NAN;
    else
        v = positive_power(a, y);
    if (x < 0 && !whole && isfinite(x)) /* a is 1 */
        return NAN;
    return signbit(x) && odd ? -v : v;
}
