/* Functions of one float, and pow.
 *
 * f64: base/real.h. f32: polynomials (scripts/minimax.c computes the coefficients). Steps are
 * fused in all sets where the code says it, so that the sets agree to the bit.
 * docs/cpu-engine.md has the largest error of each function. */
#include "base/float_bits.h"
#include "base/real.h"
#include "cpu/routines/routines.h"
#include "cpu/routines/routines_tree.h"
#include "cpu/routines/routines_vector.h"

#include <math.h>
#include <string.h>

/* --- steps that several functions share --- */

/* Polynomials by Horner's rule, with coefficients from the highest power down. The count is a
 * constant, so no loop is left. */
#define COUNT(terms) ((int)(sizeof(terms) / sizeof *(terms)))
static INLINED floats polynomial(floats x, const float *terms, int count)
{
    floats p = every(terms[0]);
    UNROLLED for (int i = 1; i < count; i++) p = fused(p, x, every(terms[i]));
    return p;
}
static INLINED double polynomial_f64(double x, const double *terms, int count)
{
    double p = terms[0];
    UNROLLED for (int i = 1; i < count; i++) p = fma(p, x, terms[i]);
    return p;
}

#define SIGN 0x80000000u

static INLINED floats magnitude_of(floats x)
{
    return as_floats(as_words(x) & ~SIGN);
}

/* Returns y, which is not negative, with the sign of x. */
static INLINED floats with_sign_of(floats x, floats y)
{
    return as_floats(as_words(y) | (as_words(x) & SIGN));
}

#define VECTOR_FUNCTION(name, call)                                                                \
    static void name(void *dst, const void *a, const void *b, const void *c, size_t n)             \
    {                                                                                              \
        const float *from = a;                                                                     \
        float *to = dst;                                                                           \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        for (; n >= FLOATS; n -= FLOATS, from += FLOATS, to += FLOATS)                             \
            store(to, call(load(from)));                                                           \
        if (n > 0)                                                                                 \
            store_some(to, call(load_some(from, n, 0)), n);                                        \
    }

/* --- exponentials --- */

/* Constants that are added to 8 x / ln 2, or to x of 2^x. The last bits of the sum are then n +
 * EXPONENT_ZERO, where n is x in eighths of a power of two. */
#define EXP_ROUNDER (0x1.8p23f + 512)
#define EXP2_ROUNDER (0x1.8p20f + 64)
enum { EXPONENT_ZERO = 512, EIGHTHS = 8 };

/* 2^(i/8) as bits, to which (n + EXPONENT_ZERO) << 20 will be added. The i in n and
 * EXPONENT_ZERO are subtracted here, so that only the whole powers of two in n count. */
#define EIGHTH(bits, i) ((bits) - ((i) << 20) - (EXPONENT_ZERO << 20))
#define ALL_EIGHTHS                                                                                \
    EIGHTH(0x3f800000u, 0), EIGHTH(0x3f8b95c2u, 1), EIGHTH(0x3f9837f0u, 2),                        \
        EIGHTH(0x3fa5fed7u, 3), EIGHTH(0x3fb504f3u, 4), EIGHTH(0x3fc5672au, 5),                    \
        EIGHTH(0x3fd744fdu, 6), EIGHTH(0x3feac0c7u, 7)
static const _Alignas(CACHE_LINE) uint32_t eighths[TABLE] = {ALL_EIGHTHS, ALL_EIGHTHS};

/* Returns the exponent, with its constant, of e^x, or of 2^x if `two`. */
static INLINED floats exponent_of(const bool two, floats x)
{
    if (two)
        return x + every(EXP2_ROUNDER);
    return fused(x, every(0x1.715476p+3f), every(EXP_ROUNDER));
}

/* Returns e^r - 1 (2^r - 1 if `two`) of the rest r of x, at most half an eighth: r + r^2 P(r),
 * or r P(r) if `two`; error 2^-25. */
static INLINED floats power_of_rest(const bool two, floats x, floats exponent)
{
    if (two) {
        floats r = x - (exponent - every(EXP2_ROUNDER));
        floats p =
            fused(fused(every(0x1.c67d6ap-5f), r, every(0x1.ec0c68p-3f)), r, every(0x1.62e432p-1f));
        return r * p;
    }
    floats n = exponent - every(EXP_ROUNDER);
    floats r = fused(n, every(-0x1.7f7d1cp-23f), fused(n, every(-0x1.62e4p-4f), x));
    return fused(fused(every(0x1.555658p-3f), r, every(0x1.000878p-1f)), r * r, r);
}

/* Returns e^r 2^(n/8), where the last bits of `bits` are n + EXPONENT_ZERO; the result must be a
 * normal number. */
static INLINED floats power_of_eighths(const bool two, floats x, floats exponent, words bits)
{
    floats power = as_floats(as_words(looked_up_in_half(eighths, bits)) + (bits << 20));
    return fused(power, power_of_rest(two, x, exponent), power);
}

static INLINED floats normal_power(const bool two, floats x)
{
    floats exponent = exponent_of(two, x);
    return power_of_eighths(two, x, exponent, as_words(exponent));
}

/* Returns the power for any x: the whole powers of two in n are multiplied at the end. */
static INLINED floats other_power(const bool two, floats x)
{
    floats exponent = exponent_of(two, x);
    words n = as_words(exponent) - as_words(every(two ? EXP2_ROUNDER : EXP_ROUNDER));
    floats y = power_of_eighths(two, x, exponent, n % EIGHTHS + EXPONENT_ZERO);
    return scaled(y, (integers)n >> 3);
}

/* Returns the power for any x. If it is 0, it is not computed, because processors are slow with
 * subnormal numbers. So masks of -inf cost little. */
static INLINED floats any_power(const bool two, floats x)
{
    const float zero_below = two ? -150 : -104, infinite_from = two ? 129 : 89;
    floats some = chosen(x, zero_below, every(0), x), y;
    if (all_within(some, two ? -126 : -87, two ? 127 : 88))
        y = normal_power(two, some);
    else
        y = other_power(two, least(some, infinite_from));
    return chosen(x, zero_below, every(0), y);
}
static APART floats any_exp(floats x)
{
    return any_power(false, x);
}
static APART floats any_exp2(floats x)
{
    return any_power(true, x);
}

enum { GROUP = 4, AT_ONCE = GROUP * FLOATS };

/* Computes the powers of a group of x - less, if all are from 2^-65 to 2^64. One operation for
 * each x tests this: the last bits of their exponents must be a number below 2 EXPONENT_ZERO,
 * and the other bits those of the constant. false: nothing was done. sums: NULL, or sums to
 * which the powers are added. */
static INLINED bool medium_powers(const bool two, float *to, const float *from, float less,
                                  floats *sums)
{
    enum { MEDIUM = 2 * EXPONENT_ZERO - 1 };
    const uint32_t first = f32_bits(two ? EXP2_ROUNDER : EXP_ROUNDER) - EXPONENT_ZERO;
    floats x[GROUP], exponent[GROUP];
    words bits = as_words(every(0));
    UNROLLED for (int i = 0; i < GROUP; i++)
    {
        x[i] = load(from + i * FLOATS) - every(less);
        exponent[i] = exponent_of(two, x[i]);
        bits |= as_words(exponent[i]) ^ first;
    }
    if (any_beyond(bits, MEDIUM))
        return false;
    UNROLLED for (int i = 0; i < GROUP; i++)
    {
        floats power = power_of_eighths(two, x[i], exponent[i], as_words(exponent[i]));
        store(to + i * FLOATS, power);
        if (sums)
            sums[i] += power;
    }
    return true;
}

/* Fetches the lines of a group. */
static INLINED void group_is_coming(const float *ahead, bool near)
{
    if (near)
        UNROLLED for (size_t i = 0; i < AT_ONCE; i += CACHE_LINE / sizeof *ahead)
            PREFETCH(ahead + i);
    else
        UNROLLED for (size_t i = 0; i < AT_ONCE; i += CACHE_LINE / sizeof *ahead)
            PREFETCH_SECOND(ahead + i);
}

/* Returns whether the first-level cache has room for this row and the next. */
static INLINED bool both_are_near(size_t n)
{
    return n <= 1024;
}

/* Computes the powers of x - less. Most groups are medium. */
static INLINED void powers(const bool two, float *to, const float *from, float less,
                           const float *ahead, size_t n)
{
    const bool near = both_are_near(n);
    for (; n >= AT_ONCE; n -= AT_ONCE, from += AT_ONCE, to += AT_ONCE, ahead += AT_ONCE) {
        group_is_coming(ahead, near);
        if (medium_powers(two, to, from, less, NULL))
            continue;
        ROLLED for (int i = 0; i < AT_ONCE; i += FLOATS) /* load x again, so that it need not be
                                                          * kept in memory */
            store(to + i, any_power(two, load(from + i) - every(less)));
    }
    for (size_t count; n > 0; n -= count, from += count, to += count) {
        count = n < FLOATS ? n : FLOATS;
        floats x = load_some(from, count, less) - every(less);
        store_some(to, two ? any_exp2(x) : any_exp(x), count);
    }
}

#define EXPONENTIAL(name, two)                                                                     \
    static APART void name##_difference(void *dst, const void *a, const void *b, const void *c,    \
                                        size_t n)                                                  \
    {                                                                                              \
        powers(two, dst, a, *(const float *)b, c ? c : dst, n);                                    \
    }                                                                                              \
    static void name(void *dst, const void *a, const void *b, const void *c, size_t n)             \
    {                                                                                              \
        const float zero = 0;                                                                      \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        name##_difference(dst, a, &zero, NULL, n);                                                 \
    }
EXPONENTIAL(f32_exp, false)
EXPONENTIAL(f32_exp2, true)

#if defined(ROUTINES_V4) /* it has registers for all parts of a sum */
enum { PARTS = REDUCTION_PARTS / FLOATS };
F32_ENDS(sum, float, PLUS, REDUCTION_PARTS)

/* Computes the elements that exp_sum_row left. */
static APART float rest_of_exp_sum(float *to, const float *from, const float *less,
                                   const float *ahead, struct powers_seen *seen, size_t n)
{
    floats *sums = (floats *)(void *)seen->part;
    f32_exp_difference(to, from, less, ahead, n);
    for (size_t i = 0; i * FLOATS < n; i++) {
        floats power = load(to + i * FLOATS);
        sums[(seen->done + i) % PARTS] += power;
        seen->medium &= all_within(power, 0x1p-64f, 0x1p64f);
    }
    return sum_tree(sums);
}

/* Computes powers and returns their sum. It stores little except the powers, because stores that follow those
 * past the caches have to wait for them. */
static APART float exp_sum_row(float *to, const float *from, const float *less, const float *ahead,
                               struct powers_seen *seen, size_t n)
{
    const bool near = both_are_near(n);
    floats sums[PARTS];
    size_t done = 0;
    UNROLLED for (int i = 0; i < PARTS; i++) sums[i] = every(-0.0f);
    for (; n >= REDUCTION_PARTS; n -= REDUCTION_PARTS) {
        UNROLLED for (done = 0; done < PARTS; done += GROUP)
        {
            if (!medium_powers(false, to, from, *less, sums + done))
                goto rest;
            group_is_coming(ahead, near);
            from += AT_ONCE;
            to += AT_ONCE;
            ahead += AT_ONCE;
        }
    }
    done = 0;
rest:
    seen->medium = true;
    if (n == 0)
        return sum_tree(sums);
    UNROLLED for (int i = 0; i < PARTS; i++) store(seen->part + i * FLOATS, sums[i]);
    seen->done = done;
    return rest_of_exp_sum(to, from, less, ahead, seen, n - done * FLOATS);
}

static void powers_and_sum(void *sum, void *to, const void *x, const void *less, const void *ahead,
                           struct powers_seen *seen, size_t n)
{
    *(float *)sum = exp_sum_row(to, x, less, ahead ? ahead : x, seen, n);
}
#else
#define powers_and_sum NULL
#endif

/* --- logarithms --- */

/* Splits x = 2^e (1 + f), with 1 + f from 2/3 to 4/3, also if x is subnormal. Returns f. */
static INLINED floats log_split(floats x, floats *e)
{
    const uint32_t two_thirds = 0x3f2aaaab;
    const float normal = 0x1p-126f;
    words bits = as_words(chosen(x, normal, x * every(0x1p23f), x));
    words exponent = (bits - two_thirds) & 0xff800000u;
    *e = numbers((integers)exponent >> 23) + chosen(x, normal, every(-23), every(0));
    return as_floats(bits - exponent) - every(1);
}

/* Returns y, the log of x, or its special values: log of 0 is -inf, of inf it is inf, of
 * negative numbers and NaN it is NaN. */
static INLINED floats special_log(floats x, floats y)
{
    const float least_above_0 = 0x1p-149f;
    floats not_above_0 = chosen(x, 0, every(NAN), every(-INFINITY));
    return chosen(x, least_above_0, not_above_0, chosen(x, INFINITY, y, x));
}

static const float log_terms[] = {-0x1.ff9e5p-4f,  0x1.1ff06ap-3f,  -0x1.f6b64ap-4f,
                                  0x1.1e828cp-3f,  -0x1.557e26p-3f, 0x1.99d58cp-3f,
                                  -0x1.ffff94p-3f, 0x1.5554fap-2f,  -0x1p-1f};

/* log(1 + f) = f + f^2 P(f), error 2^-27.5. The product of e and the first part of ln 2 is
 * exact. */
static INLINED floats log_of(floats x)
{
    floats e, f = log_split(x, &e);
    floats p = polynomial(f, log_terms, COUNT(log_terms));
    floats rest = f + fused(f * f, p, e * every(0x1.7f7d1cp-20f));
    return special_log(x, fused(e, every(0x1.62e4p-1f), rest));
}

static const float log2_terms[] = {-0x1.80aec8p-3f, 0x1.a03ba2p-3f, -0x1.66efecp-3f, 0x1.9d143p-3f,
                                   -0x1.ecf406p-3f, 0x1.27a5c6p-2f, -0x1.715328p-2f, 0x1.ec6ff4p-2f,
                                   -0x1.715478p-1f, 0x1.ac88b8p-26f};

/* log2(1 + f) = f / ln 2 + f P(f), error 2^-26.6. The upper halves of f and 1 / ln 2 have an
 * exact product; the first term of P is the part of 1 / ln 2 that f32 lacks. */
static INLINED floats log2_of(floats x)
{
    const float first = 0x1.715p+0f, second = 0x1.1d8p-14f;
    floats e, f = log_split(x, &e);
    floats p = polynomial(f, log2_terms, COUNT(log2_terms));
    floats upper = as_floats(as_words(f) & 0xffffe000u);
    floats rest = fused(f - upper, every(first), fused(f, every(second), f * p));
    return special_log(x, fused(upper, every(first), e) + rest);
}
VECTOR_FUNCTION(f32_log, log_of)
VECTOR_FUNCTION(f32_log2, log2_of)

/* log(1 + x) = log u + lost / u, with u = 1 + x rounded and `lost` the rounding error of that
 * sum. */
static APART floats log1p_of(floats x)
{
    floats u = x + every(1), lost = x - (u - every(1));
    floats e, f = log_split(u, &e);
    floats p = polynomial(f, log_terms, COUNT(log_terms));
    floats rest = f + fused(f * f, p, fused(e, every(0x1.7f7d1cp-20f), lost / u));
    floats y = special_log(u, fused(e, every(0x1.62e4p-1f), rest));
    return chosen(magnitude_of(x), 0x1p-24f, x, y);
}
VECTOR_FUNCTION(f32_log1p, log1p_of)

/* --- tanh, erf --- */

/* tanh consists of TABLE polynomials, of degree 5 and error 2^-24.5, in the distance of |x| from
 * the start of its piece. Each power of two of |x| + TANH_OFFSET, which is below 10, has four
 * pieces. A piece's number is made of the last bits of the exponent and the first two bits after
 * it: piece 10 begins at 0, piece 1 at 1.375. From TANH_END on tanh is 1. */
#define TANH_OFFSET 0.625f
#define TANH_END 9.25f
#define TANH_PIECE_SHIFT 21
enum { TANH_TERMS = 6 };

static const _Alignas(CACHE_LINE) float tanh_terms[TANH_TERMS][TABLE] = {
    {0x1.3bdd7p-10f, 0x1.3d426cp-8f, 0x1.5f500ap-9f, 0x1.6bf574p-10f, 0x1.f64a42p-13f,
     0x1.b6e9fap-16f, 0x1.2307fep-16f, -0x1.74fbcep-17f, -0x1.270be6p-23f, 0x1.0a35dep-3f,
     0x1.4ba81ep-3f, 0x1.ac2e3p-4f, -0x1.9f7f52p-6f, -0x1.a784e4p-5f, -0x1.1d3e38p-5f,
     -0x1.821032p-6f},
    {-0x1.af358cp-6f, -0x1.59842ap-6f, -0x1.429078p-7f, -0x1.176d9cp-8f, -0x1.3a1652p-10f,
     -0x1.35912ap-13f, -0x1.c94dfep-15f, 0x1.b8f82ep-16f, 0x1.41081ep-21f, 0x1.efd0d8p-12f,
     0x1.015178p-4f, 0x1.00571ep-3f, 0x1.6f3e7cp-3f, 0x1.0e923ap-3f, 0x1.998be6p-5f,
     0x1.4d162ep-9f},
    {0x1.9c9e76p-4f, 0x1.a9704ap-5f, 0x1.613bdcp-6f, 0x1.14503ap-7f, 0x1.815a8ap-9f, 0x1.95b7ap-12f,
     0x1.5a930cp-14f, -0x1.329c5p-16f, -0x1.65194ap-21f, -0x1.555b2ep-2f, -0x1.3e87a6p-2f,
     -0x1.05583ep-2f, -0x1.707c92p-3f, -0x1.0cc2ep-6f, 0x1.575674p-4f, 0x1.c5db94p-4f},
    {-0x1.97513ep-3f, -0x1.5f06d8p-4f, -0x1.120548p-5f, -0x1.9d00aep-7f, -0x1.2f649p-8f,
     -0x1.474bf8p-11f, -0x1.8fe0bp-14f, -0x1.3f588ap-19f, -0x1.c5964p-22f, 0x1.4ee65cp-22f,
     -0x1.f5cf8cp-4f, -0x1.d7ab0ap-3f, -0x1.3fc316p-2f, -0x1.895db2p-2f, -0x1.6bd246p-2f,
     -0x1.1de7acp-2f},
    {0x1.ceaa02p-3f, 0x1.6fd1dap-4f, 0x1.16ab4ep-5f, 0x1.9e9b64p-7f, 0x1.3210fep-8f,
     0x1.4bbeacp-11f, 0x1.6cf52ap-14f, 0x1.5ef9d6p-17f, 0x1.5b978cp-20f, 1, 0x1.f8154ep-1f,
     0x1.e149cap-1f, 0x1.be3f92p-1f, 0x1.62854cp-1f, 0x1.0250a6p-1f, 0x1.614facp-2f},
    {0x1.c278a4p-1f, 0x1.e8789ep-1f, 0x1.f73776p-1f, 0x1.fcc04cp-1f, 0x1.fecd6cp-1f, 0x1.ffd678p-1f,
     0x1.fffa6p-1f, 0x1.ffff3ep-1f, 0x1.ffffe6p-1f, 0, 0x1.fd5992p-4f, 0x1.f597eap-3f,
     0x1.6ef53ep-2f, 0x1.1bf47ep-1f, 0x1.68665p-1f, 0x1.9e5cb6p-1f},
};

#define PIECE_START (~0u << TANH_PIECE_SHIFT)

static INLINED floats tanh_of(floats x)
{
    floats a = least(magnitude_of(x), TANH_END);
    words place = as_words(a + every(TANH_OFFSET));
    floats r = a - (as_floats(place & PIECE_START) - every(TANH_OFFSET));
    place >>= TANH_PIECE_SHIFT;
    floats p = looked_up(tanh_terms[0], place);
    UNROLLED for (int i = 1; i < TANH_TERMS; i++) p = fused(p, r, looked_up(tanh_terms[i], place));
    return with_sign_of(x, p);
}

static const float erf_terms[] = {0x1.4771fep-14f, -0x1.a3515ep-11f, 0x1.53f224p-8f,
                                  -0x1.b7f71ap-6f, 0x1.ce2ce6p-4f,   -0x1.81273ep-2f,
                                  0x1.06eba8p-3f};
static const float erfc_log_terms[] = {0x1.18b83ap-12f, -0x1.15ee24p-8f, 0x1.01b4a8p-5f,
                                       -0x1.30700cp-3f, -0x1.d76e8ap-1f, -0x1.a03fe6p+0f,
                                       -0x1.0b8ca4p-11f};

/* Up to 1, erf x = x + x P(x^2), error 2^-29; then 1 - 2^Q(x), with Q the logarithm of erfc,
 * error 2^-29 of 1. From 4 on it is 1. */
static INLINED floats erf_of(floats x)
{
    floats a = magnitude_of(x), some = least(a, 4);
    floats q = polynomial(some, erfc_log_terms, COUNT(erfc_log_terms));
    floats far = every(1) - normal_power(true, q);
    floats near = fused(some, polynomial(some * some, erf_terms, COUNT(erf_terms)), some);
    return with_sign_of(x, chosen(a, 1, near, far));
}

/* e^(a^2) erfc a (1 + 2 a) as a polynomial in (a - 2) / (a + 2), for a from 0.5 on; error
 * 2^-25.9. */
static const float tail_terms[] = {
    -0x1.dd5e72p-13f, -0x1.4bdee6p-10f, 0x1.2d1756p-10f, 0x1.1bc082p-7f,  -0x1.0659f2p-7f,
    -0x1.bc1958p-5f,  0x1.4ff8d2p-3f,   -0x1.5407f8p-3f, -0x1.7bf5dcp-4f, 0x1.46e80ep+0f};

/* Up to 0.5, 1 - erf x; then e^-(a^2) times the polynomial above / (1 + 2 a), with the square in
 * two parts. From 11 on it is 0. */
static APART floats erfc_of(floats x)
{
    floats a = magnitude_of(x), some = least(a, 11), square = some * some;
    floats near = fused(some, polynomial(square, erf_terms, COUNT(erf_terms)), some);
    floats lost = fused(some, some, -square), power = any_exp(-square);
    floats place = (some - every(2)) / (some + every(2));
    floats share =
        polynomial(place, tail_terms, COUNT(tail_terms)) / fused(some, every(2), every(1));
    floats tail = share * fused(-power, lost, power);
    return chosen(a, 0.5f, every(1) - with_sign_of(x, near), chosen(x, 0, every(2) - tail, tail));
}

VECTOR_FUNCTION(f32_tanh, tanh_of)
VECTOR_FUNCTION(f32_erf, erf_of)
VECTOR_FUNCTION(f32_erfc, erfc_of)

/* --- expm1, sigmoid --- */

static const float expm1_terms[] = {0x1.6ab96ap-10f, 0x1.122c5ap-7f, 0x1.55579cp-5f, 0x1.5554aap-3f,
                                    0x1.fffffep-2f};

/* x = n ln 2 + r; e^r - 1 = r + r^2 P(r), error 2^-26. Half of the result is 2^(n-1) times that,
 * plus 2^(n-1) - 1/2; half, because the n of the largest x is 128. */
static APART floats expm1_of(floats x)
{
    const float rounder = 0x1.8p23f;
    floats some = least(chosen(x, -30, every(-30), x), 89);
    floats shifted = fused(some, every(0x1.715476p+0f), every(rounder));
    floats n = shifted - every(rounder);
    floats half = as_floats((as_words(shifted) - as_words(every(rounder)) + 126) << 23);
    floats r = fused(n, every(-0x1.7f7d1cp-20f), fused(n, every(-0x1.62e4p-1f), some));
    floats q = fused(r * r, polynomial(r, expm1_terms, COUNT(expm1_terms)), r);
    floats y = fused(half, q, half - every(0.5f));
    return chosen(magnitude_of(x), 0x1p-25f, x, y + y);
}

static APART floats sigmoid_of(floats x)
{
    floats e = any_exp(as_floats(as_words(x) | SIGN));
    return chosen(x, 0, e, every(1)) / (every(1) + e);
}

VECTOR_FUNCTION(f32_expm1, expm1_of)
VECTOR_FUNCTION(f32_sigmoid, sigmoid_of)

/* --- pow --- */

/* log2 a = k + 2 s / ln 2 (1 + s^2 / 3 + s^4 P(s^2)), s = f / (2 + f), error 2^-44; 2^r for |r|
 * up to 1/2, error 2^-34. */
static const double pow_log_terms[] = {0x1.8ebb54587941dp-4, 0x1.c658f0e6ddeeap-4,
                                       0x1.249374de51dc2p-3, 0x1.9999985ed85adp-3};
static const double pow_terms[] = {
    0x1.fe17833df7838p-17, 0x1.446a1fdc0041dp-13, 0x1.5d8a7088eb935p-10, 0x1.3b29dc40d4a8dp-7,
    0x1.c6b08aaf2e2f7p-5,  0x1.ebfbe0a4be83ap-3,  0x1.62e42ff116291p-1,  0x1.ffffffffabbcep-1};

/* Returns log2 of a >= 0, which is not a subnormal f64. */
static inline double log2_in_f64(double a)
{
    const uint64_t root = 0x3fe6a09e667f3bcd; /* the square root of 1/2 */
    uint64_t above = f64_bits(a) - root, whole = above & 0xfff0000000000000;
    double k = (double)((int64_t)whole >> 52), f = f64_from_bits(f64_bits(a) - whole) - 1;
    double s = f / (2 + f), u = s * s;
    double p = polynomial_f64(u, pow_log_terms, COUNT(pow_log_terms));
    double log = k + s * 0x1.71547652b82fep+1 * (1 + u * (0x1.5555555555555p-2 + u * p));
    log = a == 0 ? -(double)INFINITY : log;
    return a < (double)INFINITY ? log : a;
}

/* Computes the power in f64 and rounds it at the end. In f32 every y from 2^24 on is even. */
static inline float power_of(float x, float y)
{
    const double rounder = 0x1.8p52;
    double a = fabs((double)x), wide = y, size = fabs(wide);
    double t = wide * log2_in_f64(a);
    t = t > 200 ? 200 : t < -200 ? -200 : t;
    double shifted = t + rounder,
           v = polynomial_f64(t - (shifted - rounder), pow_terms, COUNT(pow_terms));
    v = v * f64_from_bits((f64_bits(shifted) + 1023) << 52);
    bool large = size >= 0x1p24, finite = size < (double)INFINITY;
    bool whole = large | ((size + rounder) - rounder == size);
    bool even = large | ((size * 0.5 + rounder) - rounder == size * 0.5);
    v = ((a == 1) & !finite) ? 1 : v;
    v = ((f32_bits(x) >> 31) & whole & !even) ? -v : v;
    v = ((x < 0) & (a < (double)INFINITY) & !whole) ? (double)NAN : v;
    v = ((x != x) | (y != y)) ? (double)NAN : v;
    return (float)(((x == 1) | (y == 0)) ? 1 : v);
}

static void f32_pow(void *dst, const void *a, const void *b, const void *c, size_t n)
{
    const float *x = a, *y = b;
    float *out = dst;
    (void)c;
    VECTORISE for (size_t i = 0; i < n; i++)
    {
        out[i] = power_of(x[i], y[i]);
    }
}

static void f64_pow(void *dst, const void *a, const void *b, const void *c, size_t n)
{
    const double *x = a, *y = b;
    double *out = dst;
    (void)c;
    for (size_t i = 0; i < n; i++)
        out[i] = real_pow(x[i], y[i]);
}

/* --- sin, cos --- */

#define MOST_TURNS 0x1p20f /* up to here the method below is exact enough */

static const double sin_terms[] = {0x1.6cd1b09c00552p-19, -0x1.a00f7e14d363cp-13,
                                   0x1.111108690bfd6p-7, -0x1.5555554c6ffcap-3};
static const double cos_terms[] = {-0x1.241e6a95d175cp-22, 0x1.a010dddf94076p-16,
                                   -0x1.6c16b828a5fdep-10, 0x1.5555554ed82cdp-5};

/* x = n pi/2 + r in f64; sin and cos of r to 2^-37; n selects one of them and its sign. The
 * product of n and the first part of pi/2, which has 33 bits, is exact. turn: 0 for sin, 1 for
 * cos. */
static inline float sine_of(float x, uint64_t turn)
{
    double wide = x, shifted = wide * 0x1.45f306dc9c883p-1 + 0x1.8p52;
    double whole = shifted - 0x1.8p52;
    double r = (wide - whole * 0x1.921fb544p+0) - whole * 0x1.0b4611a626331p-34;
    double u = r * r;
    double s = polynomial_f64(u, sin_terms, COUNT(sin_terms));
    s = r * (1 + u * s); /* -0 stays -0 */
    double c = polynomial_f64(u, cos_terms, COUNT(cos_terms));
    c = 1 - 0.5 * u + u * u * c;
    uint64_t quarter = f64_bits(shifted) + turn, odd = 0 - (quarter & 1);
    uint64_t bits = (f64_bits(s) & ~odd) | (f64_bits(c) & odd);
    return (float)f64_from_bits(bits ^ (quarter & 2) << 62);
}

/* Computes arguments beyond MOST_TURNS, which are rare, one by one with the functions of f64. */
static void far_sines(float *out, const float *x, size_t n, double (*function)(double))
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(x[i]) <= MOST_TURNS))
            out[i] = (float)function(x[i]);
}

enum { SINES = 256 }; /* elements at a time */

static void sines(float *out, const float *x, size_t n, uint64_t turn, double (*function)(double))
{
    float copy[SINES]; /* out may be x */
    for (; n > 0; n -= n < SINES ? n : SINES, x += SINES, out += SINES) {
        size_t count = n < SINES ? n : SINES;
        int far = 0;
        memcpy(copy, x, count * sizeof *x);
        VECTORISE for (size_t i = 0; i < count; i++)
        {
            out[i] = sine_of(copy[i], turn);
        }
        for (size_t i = 0; i < count; i++)
            far |= !(fabsf(copy[i]) <= MOST_TURNS);
        if (far)
            far_sines(out, copy, count, function);
    }
}

static void f32_sin(void *dst, const void *a, const void *b, const void *c, size_t n)
{
    (void)b;
    (void)c;
    sines(dst, a, n, 0, real_sin);
}

static void f32_cos(void *dst, const void *a, const void *b, const void *c, size_t n)
{
    (void)b;
    (void)c;
    sines(dst, a, n, 1, real_cos);
}

/* --- the table --- */

#define F64(function)                                                                              \
    static void f64_##function(void *dst, const void *a, const void *b, const void *c, size_t n)   \
    {                                                                                              \
        const double *x = a;                                                                       \
        double *out = dst;                                                                         \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = real_##function(x[i]);                                                        \
    }
F64(exp)
F64(exp2)
F64(log)
F64(log2)
F64(sin)
F64(cos)
F64(tanh)
F64(erf)
F64(erfc)
F64(expm1)
F64(log1p)
F64(sigmoid)

#define BOTH(call) [COMPUTE_F32] = f32_##call, [COMPUTE_F64] = f64_##call
static const struct elementwise_row rows[] = {
    {OP_EXP, {BOTH(exp)}, f32_exp_difference},
    {OP_EXP2, {BOTH(exp2)}, f32_exp2_difference},
    {OP_EXP2_APPROX, {BOTH(exp2)}, f32_exp2_difference},
    {OP_LOG, {BOTH(log)}, NULL},
    {OP_LOG2, {BOTH(log2)}, NULL},
    {OP_SIN, {BOTH(sin)}, NULL},
    {OP_COS, {BOTH(cos)}, NULL},
    {OP_TANH, {BOTH(tanh)}, NULL},
    {OP_ERF, {BOTH(erf)}, NULL},
    {OP_ERFC, {BOTH(erfc)}, NULL},
    {OP_EXPM1, {BOTH(expm1)}, NULL},
    {OP_LOG1P, {BOTH(log1p)}, NULL},
    {OP_SIGMOID, {BOTH(sigmoid)}, NULL},
    {OP_POW, {BOTH(pow)}, NULL},
};

extern const struct elementwise_routines ROUTINE(routines_math);
const struct elementwise_routines ROUTINE(routines_math) = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .f32_powers = powers_and_sum};
