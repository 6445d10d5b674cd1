/* pow: e^(y log |x|), and C's rules for its sign and special values (ISO C, annex F.10.4.4).
 *
 * The result is off by the absolute error of the exponent, so logarithm and product are kept as sums of two numbers (Dekker, "A
 * floating-point technique for extending the available precision", 1971). The logarithm is k + log(1 + f) with log(1 + f) = 2 s
 * (1 + s^2 / 3 + s^4 P(s^2)) and s = f / (2 + f): all but the last term is made of two parts. */
#include "nvptx/nvptx_math.h"

#include <float.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* high + low, where low is at most half a unit of high. */
struct pair {
    struct ptx_operand high, low;
};

/* The numbers that differ between f32, where logarithms are to base 2, and f64, where they are
 * natural. */
struct pow_format {
    enum ptx_mod t;
    struct ptx_operand zero, half, one, two, infinity;
    struct ptx_operand third, third_rest;   /* 1/3 */
    struct ptx_operand factor, factor_rest; /* of the sum: 2 / ln 2, or 2 */
};

static struct pow_format pow_format(enum ptx_mod t)
{
    const bool wide = t == MOD_F64;
    return (struct pow_format){.t = t,
                               .zero = math_number(t, 0),
                               .half = math_number(t, 0.5),
                               .one = math_number(t, 1),
                               .two = math_number(t, 2),
                               .infinity = math_number(t, __builtin_inf()),
                               .third = math_number(t, wide ? 0x1.5555555555555p-2 : 0x1.555556p-2),
                               .third_rest =
                                   math_number(t, wide ? 0x1.5555555555555p-56 : -0x1.555556p-27),
                               .factor = math_number(t, wide ? 2 : 0x1.715476p+1),
                               .factor_rest = math_number(t, wide ? 0 : 0x1.4ae0cp-25)};
}

/* |a| >= |b|, or a is 0. */
static struct pair sum_of(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                          struct ptx_operand b)
{
    struct ptx_operand s = math_add(out, t, a, b);
    return (struct pair){s, math_sub(out, t, b, math_sub(out, t, s, a))};
}

static struct pair product_of(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                              struct ptx_operand b)
{
    struct ptx_operand p = math_mul(out, t, a, b);
    return (struct pair){p, math_fma(out, t, a, b, math_neg(out, t, p))};
}

/* P(u): error 2^-34.5 of the logarithm in f32, 2^-73 in f64. */
static struct ptx_operand far_terms(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand u)
{
    static const double f32_terms[] = {0x1.999aap-3f, 0x1.241a3ep-3f, 0x1.e8e866p-4f};
    static const double f64_terms[] = {
        0x1.9999999999996p-3, 0x1.2492492492f57p-3, 0x1.c71c71c5955ddp-4, 0x1.745d182a13fdfp-4,
        0x1.3b13648e10cd5p-4, 0x1.1120791e3dc5dp-4, 0x1.de3bbac5249d5p-5, 0x1.ead4eaa85cfd4p-5,
    };
    return t == MOD_F32 ? math_poly(out, t, u, f32_terms, COUNT(f32_terms))
                        : math_poly(out, t, u, f64_terms, COUNT(f64_terms));
}

/* s = f / (2 + f) in two parts. */
static struct pair quotient(struct nvptx_scalars *out, const struct pow_format *p,
                            struct ptx_operand f)
{
    enum ptx_mod t = p->t;
    struct pair below = sum_of(out, t, p->two, f);
    struct ptx_operand inverse = t == MOD_F32 ? NEW(out, t, "rcp.approx.ftz.f32", below.high)
                                              : math_reciprocal_f64(out, below.high);
    struct ptx_operand high = math_mul(out, t, f, inverse);
    struct ptx_operand minus = math_neg(out, t, high);
    struct ptx_operand rest = math_fma(out, t, minus, below.high, f);
    rest = math_fma(out, t, minus, below.low, rest);
    return sum_of(out, t, high, math_mul(out, t, rest, inverse));
}

/* The logarithm of 1 + f, to base 2 in f32. */
static struct pair log_near_1(struct nvptx_scalars *out, const struct pow_format *p,
                              struct ptx_operand f)
{
    enum ptx_mod t = p->t;
    struct pair s = quotient(out, p, f), u = product_of(out, t, s.high, s.high);
    u.low = math_fma(out, t, math_add(out, t, s.high, s.high), s.low, u.low);
    struct pair third = product_of(out, t, u.high, p->third);
    third.low = math_fma(out, t, u.high, p->third_rest, third.low);
    third.low = math_fma(out, t, u.low, p->third, third.low);
    struct ptx_operand far = far_terms(out, t, u.high);
    third.low = math_fma(out, t, math_mul(out, t, u.high, u.high), far, third.low);
    struct pair more = product_of(out, t, s.high, third.high);
    more.low = math_fma(out, t, s.high, third.low, more.low);
    more.low = math_fma(out, t, s.low, third.high, more.low);
    struct pair v = sum_of(out, t, s.high, more.high);
    v.low = math_add(out, t, v.low, math_add(out, t, more.low, s.low));
    struct pair scaled = product_of(out, t, v.high, p->factor);
    scaled.low = math_fma(out, t, v.high, p->factor_rest, scaled.low);
    scaled.low = math_fma(out, t, v.low, p->factor, scaled.low);
    return scaled;
}

/* The logarithm of a > 0. */
static struct pair log_of(struct nvptx_scalars *out, const struct pow_format *p,
                          struct ptx_operand a)
{
    enum ptx_mod t = p->t;
    struct math_split split = t == MOD_F32 ? math_split_f32(out, a) : math_split_f64(out, a);
    struct pair near = log_near_1(out, p, split.f);
    struct ptx_operand whole = split.e;
    if (t == MOD_F64) { /* times ln 2, whose first part has 36 bits */
        whole = math_mul(out, t, split.e, ptx_f64(0x1.62e42fefa0000p-1));
        near.low = math_fma(out, t, split.e, ptx_f64(0x1.cf79abc9e3b3ap-40), near.low);
    }
    struct pair sum = sum_of(out, t, whole, near.high);
    return sum_of(out, t, sum.high, math_add(out, t, sum.low, near.low));
}

/* e^x in f64, 2^x in f32.
 *
 * In f32, the result is finite if x.high is 128 and x.low is negative: then 2^-17 moves from x.high to
 * x.low, so that the first factor is finite, and the result is limited, because the unit's error may
 * take it past the largest number. No other x.high of a finite result overflows. If x.high is
 * infinite, or 2^x.high overflows, the sum may be NaN; 2^x.high is then the result. */
static struct ptx_operand power_of_pair(struct nvptx_scalars *out, enum ptx_mod t, struct pair x)
{
    if (t == MOD_F64) { /* far out `low` is NaN, and does not matter */
        struct ptx_operand size = math_abs(out, t, x.high);
        struct ptx_operand near = NEW(out, MOD_PRED, "setp.lt.f64", size, ptx_f64(1000));
        return math_exp_of_sum_f64(out, x.high, nvptx_select(out, t, near, x.low, ptx_f64(0)));
    }
    struct ptx_operand top = NEW(out, MOD_PRED, "setp.lt.f32", x.low, ptx_f32(0));
    top = NEW(out, MOD_PRED, "setp.eq.and.f32", x.high, ptx_f32(128), top);
    x.high = nvptx_select(out, t, top, ptx_f32(0x1.fffffep6f), x.high);
    ptx_when(ptx_emit(out->build, "add.rn.f32", x.low, x.low, ptx_f32(0x1p-17f)), top);
    struct ptx_operand y = math_exp2_f32(out, x.high);
    struct ptx_operand rest = math_mul(out, t, x.low, ptx_f32(0x1.62e43p-1f)); /* ln 2 */
    struct ptx_operand r = math_fma(out, t, y, rest, y);
    ptx_when(ptx_emit(out->build, "min.f32", r, r, ptx_f32(FLT_MAX)), top);
    return nvptx_select(out, t, NEW(out, MOD_PRED, "setp.num.f32", r, r), r, y);
}

/* |x|^y, right except for an x of 1 and a NaN. */
static struct ptx_operand magnitude_of_power(struct nvptx_scalars *out, const struct pow_format *p,
                                             struct ptx_operand a, struct ptx_operand y)
{
    enum ptx_mod t = p->t;
    struct pair log = log_of(out, p, a);
    struct ptx_operand is_zero = NEW_OF(out, MOD_PRED, t, "setp.eq.*", a, p->zero);
    struct ptx_operand is_infinite = NEW_OF(out, MOD_PRED, t, "setp.eq.*", a, p->infinity);
    log.high = nvptx_select(out, t, is_infinite, p->infinity, log.high);
    log.high = nvptx_select(out, t, is_zero, math_neg(out, t, p->infinity), log.high);
    struct pair x = product_of(out, t, log.high, y);
    x.low = math_fma(out, t, log.low, y, x.low);
    return power_of_pair(out, t, x);
}

/* x < 0, -0 too. */
static struct ptx_operand is_signed(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x)
{
    if (t == MOD_F32)
        return NEW(out, MOD_PRED, "setp.lt.s32", NEW(out, MOD_B32, "mov.b32", x), ptx_int(0));
    struct ptx_operand word[2];
    math_words(out, x, word);
    return NEW(out, MOD_PRED, "setp.lt.s32", word[1], ptx_int(0));
}

struct ptx_operand math_pow(struct nvptx_scalars *out, enum dtype dtype, struct ptx_operand x,
                            struct ptx_operand y)
{
    struct pow_format p = pow_format(dtype == DT_F64 ? MOD_F64 : MOD_F32);
    enum ptx_mod t = p.t;
    struct ptx_operand a = math_abs(out, t, x), size = math_abs(out, t, y);
    struct ptx_operand r = magnitude_of_power(out, &p, a, y);
    struct ptx_operand half = math_mul(out, t, y, p.half), minus = math_neg(out, t, r);
    struct ptx_operand whole =
        NEW_OF(out, MOD_PRED, t, "setp.eq.*", NEW_OF(out, t, t, "cvt.rzi.*.*", y), y);
    struct ptx_operand odd = NEW_OF(out, MOD_PRED, t, "setp.ne.and.*",
                                    NEW_OF(out, t, t, "cvt.rzi.*.*", half), half, whole);
    odd = NEW(out, MOD_PRED, "and.pred", odd, is_signed(out, t, x));
    r = nvptx_select(out, t, odd, minus, r);
    /* a finite negative number to a power that is not whole */
    struct ptx_operand none = NEW_OF(out, MOD_PRED, t, "setp.lt.and.*", x, p.zero, ptx_not(whole));
    none = NEW_OF(out, MOD_PRED, t, "setp.lt.and.*", a, p.infinity, none);
    r = nvptx_select(out, t, none, NEW_OF(out, t, t, "sqrt.rn.*", x), r); /* NaN */
    struct ptx_operand is_one = NEW_OF(out, MOD_PRED, t, "setp.eq.*", a, p.one);
    struct ptx_operand far = NEW_OF(out, MOD_PRED, t, "setp.eq.and.*", size, p.infinity, is_one);
    r = nvptx_select(out, t, far, p.one, r);
    struct ptx_operand unordered = NEW_OF(out, MOD_PRED, t, "setp.nan.*", x, y);
    r = nvptx_select(out, t, unordered, math_add(out, t, x, y), r);
    struct ptx_operand always = NEW_OF(out, MOD_PRED, t, "setp.eq.*", y, p.zero);
    always = NEW(out, MOD_PRED, "or.pred", always, NEW_OF(out, MOD_PRED, t, "setp.eq.*", x, p.one));
    return nvptx_select(out, t, always, p.one, r);
}
