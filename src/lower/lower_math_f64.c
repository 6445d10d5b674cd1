/* exp, exp2, log, log2, tanh, erf, erfc, expm1, log1p, sigmoid of f64. */
#include "lower/lower_math.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static struct ptx_operand fma64(struct lower *l, struct ptx_operand a, struct ptx_operand b,
                                struct ptx_operand c)
{
    return math_fma(l, MOD_F64, a, b, c);
}

#define MAGIC 0x1.8p52 /* added, it leaves the nearest integer in the last bits */
#define LN2_HIGH 0x1.62e42fefa39efp-1
#define LN2_LOW 0x1.abc9e3b39803fp-56
#define LOG2E_HIGH 0x1.71547652b82fep+0
#define LOG2E_LOW 0x1.777d0ffda0d24p-56

/* --- exponentials --- */

/* e^r = 1 + r + r^2 P(r) for |r| up to (ln 2) / 2, error 2^-60.8. */
static const double exp_terms[] = {
    0x1p-1,
    0x1.5555555555559p-3,
    0x1.5555555555559p-5,
    0x1.111111110f6f7p-7,
    0x1.6c16c16c161ffp-10,
    0x1.a01a01af9c3e3p-13,
    0x1.a01a019ff9e2p-16,
    0x1.71ddf93093571p-19,
    0x1.27e4f654bf822p-22,
    0x1.af5d477e2d10fp-26,
    0x1.1f3bf8f3c5c24p-29,
};

/* x = n ln 2 + r (base2: x = n + r / ln 2): Cody and Waite's reduction, exact in its first step. */
struct reduced {
    struct ptx_operand n, r; /* .b32, f64 */
};

static struct reduced reduce_exp(struct lower *l, struct ptx_operand x, bool base2)
{
    struct ptx_operand word[2];
    struct ptx_operand shifted = base2 ? math_add(l, MOD_F64, x, ptx_f64(MAGIC))
                                       : fma64(l, x, ptx_f64(LOG2E_HIGH), ptx_f64(MAGIC));
    struct ptx_operand n = math_sub(l, MOD_F64, shifted, ptx_f64(MAGIC)), r;
    math_words(l, shifted, word);
    if (base2) {
        struct ptx_operand rest = math_sub(l, MOD_F64, x, n);
        r = math_mul(l, MOD_F64, rest, ptx_f64(LN2_HIGH));
    } else {
        r = fma64(l, n, ptx_f64(-LN2_HIGH), x);
        r = fma64(l, n, ptx_f64(-LN2_LOW), r);
    }
    return (struct reduced){word[0], r};
}

static struct ptx_operand exp_near(struct lower *l, struct ptx_operand r)
{
    struct ptx_operand p = math_poly_f64(l, r, exp_terms, COUNT(exp_terms));
    p = fma64(l, p, r, ptx_f64(1));
    return fma64(l, p, r, ptx_f64(1));
}

/* 2^n in two factors, so that each is normal and only the second product is rounded. */
static struct ptx_operand exp_reduced(struct lower *l, struct reduced e, struct ptx_operand x,
                                      bool base2)
{
    const double infinity = __builtin_inf();
    struct ptx_operand y = exp_near(l, e.r);
    struct ptx_operand half = NEW(l, MOD_B32, "shr.s32", e.n, ptx_int(1));
    struct ptx_operand other = NEW(l, MOD_B32, "sub.s32", e.n, half);
    y = math_mul(l, MOD_F64, y, math_power_f64(l, half));
    y = math_mul(l, MOD_F64, y, math_power_f64(l, other));
    struct ptx_operand over =
        NEW(l, MOD_PRED, "setp.ge.f64", x, ptx_f64(base2 ? 1024 : 0x1.62e42fefa39fp+9));
    struct ptx_operand under =
        NEW(l, MOD_PRED, "setp.lt.f64", x, ptx_f64(base2 ? -1076 : -0x1.75p+9));
    y = emit_select(l, MOD_F64, over, ptx_f64(infinity), y);
    return emit_select(l, MOD_F64, under, ptx_f64(0), y);
}

struct ptx_operand math_exp_f64(struct lower *l, struct ptx_operand x, bool base2)
{
    return exp_reduced(l, reduce_exp(l, x, base2), x, base2);
}

struct ptx_operand math_exp_of_sum_f64(struct lower *l, struct ptx_operand x,
                                       struct ptx_operand low)
{
    struct reduced e = reduce_exp(l, x, false);
    e.r = math_add(l, MOD_F64, e.r, low);
    return exp_reduced(l, e, x, false);
}

/* --- logarithms --- */

/* 2 atanh(s) = 2 s + s^3 P(s^2), error 2^-59.5. */
static const double atanh_terms[] = {
    0x1.5555555555592p-1, 0x1.999999997ff39p-2, 0x1.24924941df14bp-2, 0x1.c71c52161f46dp-3,
    0x1.74663c9a4f3cap-3, 0x1.39a1ef727312dp-3, 0x1.2f038b2b2f49ap-3,
};

struct math_split math_split_f64(struct lower *l, struct ptx_operand x)
{
    struct math_split s;
    struct ptx_operand word[2];
    struct ptx_operand tiny = NEW(l, MOD_PRED, "setp.lt.f64", x, ptx_f64(0x1p-1022));
    s.x = emit_select(l, MOD_F64, tiny, math_mul(l, MOD_F64, x, ptx_f64(0x1p54)), x);
    struct ptx_operand offset = emit_select(l, MOD_B32, tiny, ptx_int(-54), ptx_int(0));
    math_words(l, s.x, word);
    s.bits = word[1];
    /* upper word of sqrt(1/2) */
    struct ptx_operand above = NEW(l, MOD_B32, "sub.s32", s.bits, ptx_int(0x3fe6a09e));
    struct ptx_operand exponent = NEW(l, MOD_B32, "shr.s32", above, ptx_int(20));
    struct ptx_operand mantissa =
        NEW(l, MOD_B32, "mad.lo.s32", exponent, ptx_int(-(1 << 20)), s.bits);
    s.f = math_sub(l, MOD_F64, math_of_words(l, word[0], mantissa), ptx_f64(1));
    s.e = NEW(l, MOD_F64, "cvt.rn.f64.s32", NEW(l, MOD_B32, "add.s32", exponent, offset));
    return s;
}

/* By Newton's iteration from the 20 bits or so of the approximation. */
struct ptx_operand math_reciprocal_f64(struct lower *l, struct ptx_operand d)
{
    struct ptx_operand r = NEW(l, MOD_F64, "rcp.approx.ftz.f64", d);
    struct ptx_operand minus = math_neg(l, MOD_F64, d);
    for (int i = 0; i < 2; i++)
        r = fma64(l, fma64(l, minus, r, ptx_f64(1)), r, r);
    return r;
}

static struct ptx_operand special_log(struct lower *l, const struct math_split *s,
                                      struct ptx_operand y)
{
    const double infinity = __builtin_inf();
    struct ptx_operand odd = NEW(l, MOD_PRED, "setp.gt.u32", s->bits, ptx_int(0x7fefffff));
    struct ptx_operand other = fma64(l, s->x, ptx_f64(infinity), ptx_f64(infinity));
    y = emit_select(l, MOD_F64, odd, other, y);
    struct ptx_operand zero = NEW(l, MOD_PRED, "setp.eq.f64", s->x, ptx_f64(0));
    return emit_select(l, MOD_F64, zero, ptx_f64(-infinity), y);
}

/* Returns h + R, where h = f^2 / 2, s = f / (2 + f) and R = 2 atanh(s) / s - 2. */
static struct ptx_operand log_parts(struct lower *l, struct ptx_operand f, struct ptx_operand *h,
                                    struct ptx_operand *s)
{
    enum ptx_mod t = MOD_F64;
    *s = math_mul(l, t, f, math_reciprocal_f64(l, math_add(l, t, f, ptx_f64(2))));
    struct ptx_operand square = math_mul(l, t, *s, *s);
    struct ptx_operand terms = math_poly_f64(l, square, atanh_terms, COUNT(atanh_terms));
    *h = math_mul(l, t, math_mul(l, t, f, ptx_f64(0.5)), f);
    return fma64(l, square, terms, *h);
}

/* e ln 2 + log(1 + f), where `low` is what small there is to add. */
static struct ptx_operand log_sum(struct lower *l, const struct math_split *p,
                                  struct ptx_operand low, struct ptx_operand h,
                                  struct ptx_operand s, struct ptx_operand inner)
{
    enum ptx_mod t = MOD_F64;
    struct ptx_operand less = math_sub(l, t, h, fma64(l, s, inner, low));
    return fma64(l, p->e, ptx_f64(LN2_HIGH), math_sub(l, t, p->f, less));
}

/* log(1 + f) = f - (h - s (h + R)) with h = f^2 / 2, s = f / (2 + f) and R = 2 atanh(s) / s - 2: f
 * is exact, and what is subtracted is small (fdlibm, e_log.c, 1993). To base 2 the sum is kept in
 * two parts and each is divided by ln 2. */
struct ptx_operand math_log_f64(struct lower *l, struct ptx_operand x, bool base2)
{
    enum ptx_mod t = MOD_F64;
    struct math_split p = math_split_f64(l, x);
    struct ptx_operand f = p.f, h, s, inner = log_parts(l, f, &h, &s);
    if (!base2)
        return special_log(l, &p,
                           log_sum(l, &p, math_mul(l, t, p.e, ptx_f64(LN2_LOW)), h, s, inner));
    struct ptx_operand high = math_sub(l, t, f, h);
    struct ptx_operand low = math_sub(l, t, math_sub(l, t, f, high), h);
    low = fma64(l, s, inner, low);
    struct ptx_operand part = math_mul(l, t, high, ptx_f64(LOG2E_HIGH));
    struct ptx_operand lost = fma64(l, high, ptx_f64(LOG2E_HIGH), math_neg(l, MOD_F64, part));
    lost = fma64(l, high, ptx_f64(LOG2E_LOW), lost);
    lost = fma64(l, low, ptx_f64(LOG2E_HIGH), lost);
    struct ptx_operand sum = math_add(l, t, p.e, part);
    struct ptx_operand slip = math_add(l, t, math_sub(l, t, p.e, sum), part);
    return special_log(l, &p, math_add(l, t, sum, math_add(l, t, lost, slip)));
}

/* log(1 + x): of u = 1 + x, and what the sum lost is added, divided by u. */
struct ptx_operand math_log1p_f64(struct lower *l, struct ptx_operand x)
{
    enum ptx_mod t = MOD_F64;
    struct ptx_operand u = math_add(l, t, x, ptx_f64(1));
    struct ptx_operand lost = math_sub(l, t, x, math_sub(l, t, u, ptx_f64(1)));
    struct math_split p = math_split_f64(l, u);
    struct ptx_operand h, s, inner = log_parts(l, p.f, &h, &s);
    struct ptx_operand low = math_mul(l, t, lost, math_reciprocal_f64(l, u));
    low = fma64(l, p.e, ptx_f64(LN2_LOW), low);
    struct ptx_operand y = special_log(l, &p, log_sum(l, &p, low, h, s, inner));
    struct ptx_operand a = math_abs(l, t, x);
    struct ptx_operand tiny = NEW(l, MOD_PRED, "setp.lt.f64", a, ptx_f64(0x1p-53));
    return emit_select(l, t, tiny, x, y);
}

/* --- tanh, erf --- */

/* Up to 0.55, tanh x = x + x^3 P(x^2), error 2^-55; then 1 - 2 e / (1 + e) with e = e^-2x. From 20
 * on it is 1. */
struct ptx_operand math_tanh_f64(struct lower *l, struct ptx_operand x)
{
    static const double terms[] = {
        -0x1.555555555549ep-2,  0x1.11111111029b1p-3,  -0x1.ba1ba1ad73748p-5, 0x1.664f45c3234c9p-6,
        -0x1.226ddd4e44a96p-7,  0x1.d6c61e5e584a4p-9,  -0x1.7cf3c357d034p-10, 0x1.2fa2a750c1cf3p-11,
        -0x1.b90a6c84be96ap-13, 0x1.ac02cb24d651bp-15,
    };
    enum ptx_mod t = MOD_F64;
    struct ptx_operand a = math_abs(l, t, x);
    struct ptx_operand limited = NEW(l, t, "min.f64", a, ptx_f64(20));
    struct reduced e = reduce_exp(l, math_mul(l, t, limited, ptx_f64(-2)), false);
    struct ptx_operand whole = math_power_f64(l, e.n);
    struct ptx_operand power = math_mul(l, t, exp_near(l, e.r), whole);
    struct ptx_operand inverse = math_reciprocal_f64(l, math_add(l, t, power, ptx_f64(1)));
    struct ptx_operand ratio = math_mul(l, t, math_add(l, t, power, power), inverse);
    struct ptx_operand far = math_sub(l, t, ptx_f64(1), ratio);
    struct ptx_operand square = math_mul(l, t, x, x);
    struct ptx_operand p = math_poly_f64(l, square, terms, COUNT(terms));
    struct ptx_operand near = fma64(l, math_mul(l, t, square, p), a, a);
    struct ptx_operand is_far = NEW(l, MOD_PRED, "setp.ge.f64", a, ptx_f64(0.55));
    return NEW(l, t, "copysign.f64", x, emit_select(l, t, is_far, far, near));
}

/* erf x = x + x P(x^2) for |x| up to 1, error 2^-56. */
static const double erf_terms[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e6p-2,  0x1.ce2f21a042b2p-4,   -0x1.b82ce3128499cp-6,
    0x1.565bcd0db02e5p-8,  -0x1.c02db3d8ed256p-11, 0x1.f9a321a11de5p-14,  -0x1.f4d1df394c4f5p-17,
    0x1.b9def19dfb546p-20, -0x1.5f1d36c27368ap-23, 0x1.f7a4122fb318cp-27, -0x1.386ac0c873e4ap-30,
    0x1.0579aabed3f4p-34,
};

/* Up to 1 as above; then 1 - e^Q(x), Q the logarithm of erfc, error 2^-57
 * of 1. From 6 on it is 1. */
struct ptx_operand math_erf_f64(struct lower *l, struct ptx_operand x)
{
    static const double exponent[] = {
        -0x1.1387561c2a08ap-21, -0x1.20dd1e314e2f3p+0,  -0x1.45f6359c331e2p-1,
        -0x1.a4ab2902e98cbp-4,  0x1.3719a6d57b1d7p-6,   0x1.b19d0a775ab19p-12,
        -0x1.f7097e8e29aa1p-10, 0x1.954ace017e60ap-11,  -0x1.1e5c9ecd9745cp-13,
        -0x1.479bef230c614p-16, 0x1.7a1134a8f471p-16,   -0x1.1fdfbd6b0c7dfp-17,
        0x1.1bdc6801a4958p-19,  -0x1.8cd7e038ad07bp-22, 0x1.8a9727d7b71f6p-25,
        -0x1.0b56f41db1573p-28, 0x1.bc507262b8c4ep-33,  -0x1.56619eb1a2516p-38,
    };
    enum ptx_mod t = MOD_F64;
    struct ptx_operand a = math_abs(l, t, x);
    struct ptx_operand q =
        math_poly_f64(l, NEW(l, t, "min.f64", a, ptx_f64(6)), exponent, COUNT(exponent));
    struct reduced e = reduce_exp(l, q, false);
    struct ptx_operand whole = math_power_f64(l, e.n);
    struct ptx_operand rest = math_mul(l, t, exp_near(l, e.r), whole);
    struct ptx_operand far = math_sub(l, t, ptx_f64(1), rest);
    struct ptx_operand p = math_poly_f64(l, math_mul(l, t, x, x), erf_terms, COUNT(erf_terms));
    struct ptx_operand near = fma64(l, p, a, a);
    struct ptx_operand is_far = NEW(l, MOD_PRED, "setp.ge.f64", a, ptx_f64(1));
    return NEW(l, t, "copysign.f64", x, emit_select(l, t, is_far, far, near));
}

/* Up to 0.5, 1 - erf x; then e^-(a^2) P((a - 2) / (a + 2)) / (1 + 2 a), error 2^-53.6, with the square
 * in two parts. From 28 on it is 0. */
struct ptx_operand math_erfc_f64(struct lower *l, struct ptx_operand x)
{
    static const double terms[] = {
        0x1.46e80e2277953p+0,   -0x1.7bf5ec170062p-4,   -0x1.5407bebf322f9p-3,
        0x1.4ffa1e14e215fp-3,   -0x1.bc2b9561b380ep-5,  -0x1.0742340322e73p-7,
        0x1.1dd2ec9e11867p-7,   0x1.4d461c072fc1p-10,   -0x1.7de527b3c7d4ap-10,
        -0x1.dc68ecd9c3d33p-12, 0x1.b0ca6aecc107ep-13,  0x1.3cbb9bbf59a4ap-13,
        -0x1.9a21175f8526p-20,  -0x1.3115d2fa75578p-15, -0x1.c308bace608c8p-17,
        0x1.d6c16415552b9p-19,  0x1.5b056755c4f74p-18,  0x1.08748257c9d73p-19,
        -0x1.a9d3f75d06e29p-21, -0x1.8177ddcbe3aedp-20, 0x1.2cb08343bfcc9p-24,
        0x1.02b4ee3b0fb01p-21,  -0x1.0f360159fc0d4p-23,
    };
    enum ptx_mod t = MOD_F64;
    struct ptx_operand a = math_abs(l, t, x);
    struct ptx_operand some = NEW(l, t, "min.f64", a, ptx_f64(28));
    struct ptx_operand square = math_mul(l, t, some, some);
    struct ptx_operand p = math_poly_f64(l, square, erf_terms, COUNT(erf_terms));
    struct ptx_operand near = math_sub(l, t, ptx_f64(1), fma64(l, p, x, x));
    struct ptx_operand minus = math_neg(l, t, square);
    struct ptx_operand lost = math_neg(l, t, fma64(l, some, some, minus));
    struct ptx_operand power = math_exp_of_sum_f64(l, minus, lost);
    struct ptx_operand place = math_mul(l, t, math_sub(l, t, some, ptx_f64(2)),
                                        math_reciprocal_f64(l, math_add(l, t, some, ptx_f64(2))));
    struct ptx_operand share = math_poly_f64(l, place, terms, COUNT(terms));
    share = math_mul(l, t, share, math_reciprocal_f64(l, fma64(l, some, ptx_f64(2), ptx_f64(1))));
    struct ptx_operand tail = math_mul(l, t, share, power);
    struct ptx_operand negative = NEW(l, MOD_PRED, "setp.lt.f64", x, ptx_f64(0));
    tail = emit_select(l, t, negative, math_sub(l, t, ptx_f64(2), tail), tail);
    /* NaN is not far, and x is in `near` */
    struct ptx_operand is_far = NEW(l, MOD_PRED, "setp.ge.f64", a, ptx_f64(0.5));
    return emit_select(l, t, is_far, tail, near);
}

/* --- expm1, sigmoid --- */

/* x = n ln 2 + r; 2^(n-1) (e^r - 1) and 2^(n-1) - 1/2 are half of the result. The n of the largest x
 * is 1024. */
struct ptx_operand math_expm1_f64(struct lower *l, struct ptx_operand x)
{
    enum ptx_mod t = MOD_F64;
    struct ptx_operand some =
        NEW(l, t, "min.f64", NEW(l, t, "max.f64", x, ptx_f64(-60)), ptx_f64(710));
    struct reduced e = reduce_exp(l, some, false);
    struct ptx_operand half = math_power_f64(l, NEW(l, MOD_B32, "add.s32", e.n, ptx_int(-1)));
    struct ptx_operand p = math_poly_f64(l, e.r, exp_terms, COUNT(exp_terms));
    struct ptx_operand q = fma64(l, math_mul(l, t, e.r, e.r), p, e.r);
    struct ptx_operand y = fma64(l, half, q, math_sub(l, t, half, ptx_f64(0.5)));
    y = math_add(l, t, y, y);
    struct ptx_operand a = math_abs(l, t, x);
    struct ptx_operand usual = NEW(l, MOD_PRED, "setp.ge.f64", a, ptx_f64(0x1p-54));
    return emit_select(l, t, usual, y, x); /* tiny, or NaN */
}

/* With e = e^-|x|: 1 / (1 + e), or e / (1 + e) for negative x. */
struct ptx_operand math_sigmoid_f64(struct lower *l, struct ptx_operand x)
{
    enum ptx_mod t = MOD_F64;
    struct ptx_operand a = math_abs(l, t, x);
    struct ptx_operand e = math_exp_f64(l, math_neg(l, t, a), false);
    struct ptx_operand inverse = math_reciprocal_f64(l, math_add(l, t, e, ptx_f64(1)));
    struct ptx_operand negative = NEW(l, MOD_PRED, "setp.lt.f64", x, ptx_f64(0));
    return emit_select(l, t, negative, math_mul(l, t, e, inverse), inverse);
}
