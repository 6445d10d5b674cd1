/* exp, exp2, log, log2, tanh, erf, erfc, expm1, log1p, sigmoid of f64. */
#include "nvptx/nvptx_math.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static struct ptx_operand fma64(struct nvptx_scalars *out, struct ptx_operand a,
                                struct ptx_operand b, struct ptx_operand c)
{
    return math_fma(out, MOD_F64, a, b, c);
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

static struct reduced reduce_exp(struct nvptx_scalars *out, struct ptx_operand x, bool base2)
{
    struct ptx_operand word[2];
    struct ptx_operand shifted = base2 ? math_add(out, MOD_F64, x, ptx_f64(MAGIC))
                                       : fma64(out, x, ptx_f64(LOG2E_HIGH), ptx_f64(MAGIC));
    struct ptx_operand n = math_sub(out, MOD_F64, shifted, ptx_f64(MAGIC)), r;
    math_words(out, shifted, word);
    if (base2) {
        struct ptx_operand rest = math_sub(out, MOD_F64, x, n);
        r = math_mul(out, MOD_F64, rest, ptx_f64(LN2_HIGH));
    } else {
        r = fma64(out, n, ptx_f64(-LN2_HIGH), x);
        r = fma64(out, n, ptx_f64(-LN2_LOW), r);
    }
    return (struct reduced){word[0], r};
}

static struct ptx_operand exp_near(struct nvptx_scalars *out, struct ptx_operand r)
{
    struct ptx_operand p = math_poly(out, MOD_F64, r, exp_terms, COUNT(exp_terms));
    p = fma64(out, p, r, ptx_f64(1));
    return fma64(out, p, r, ptx_f64(1));
}

/* 2^n in two factors, so that each is normal and only the second product is rounded. */
static struct ptx_operand exp_reduced(struct nvptx_scalars *out, struct reduced e,
                                      struct ptx_operand x, bool base2)
{
    const double infinity = __builtin_inf();
    struct ptx_operand y = exp_near(out, e.r);
    struct ptx_operand half = NEW(out, MOD_B32, "shr.s32", e.n, ptx_int(1));
    struct ptx_operand other = NEW(out, MOD_B32, "sub.s32", e.n, half);
    y = math_mul(out, MOD_F64, y, math_power_f64(out, half));
    y = math_mul(out, MOD_F64, y, math_power_f64(out, other));
    struct ptx_operand over =
        NEW(out, MOD_PRED, "setp.ge.f64", x, ptx_f64(base2 ? 1024 : 0x1.62e42fefa39fp+9));
    struct ptx_operand under =
        NEW(out, MOD_PRED, "setp.lt.f64", x, ptx_f64(base2 ? -1076 : -0x1.75p+9));
    y = nvptx_select(out, MOD_F64, over, ptx_f64(infinity), y);
    return nvptx_select(out, MOD_F64, under, ptx_f64(0), y);
}

struct ptx_operand math_exp_f64(struct nvptx_scalars *out, struct ptx_operand x, bool base2)
{
    return exp_reduced(out, reduce_exp(out, x, base2), x, base2);
}

struct ptx_operand math_exp_of_sum_f64(struct nvptx_scalars *out, struct ptx_operand x,
                                       struct ptx_operand low)
{
    struct reduced e = reduce_exp(out, x, false);
    e.r = math_add(out, MOD_F64, e.r, low);
    return exp_reduced(out, e, x, false);
}

/* --- logarithms --- */

/* 2 atanh(s) = 2 s + s^3 P(s^2), error 2^-59.5. */
static const double atanh_terms[] = {
    0x1.5555555555592p-1, 0x1.999999997ff39p-2, 0x1.24924941df14bp-2, 0x1.c71c52161f46dp-3,
    0x1.74663c9a4f3cap-3, 0x1.39a1ef727312dp-3, 0x1.2f038b2b2f49ap-3,
};

struct math_split math_split_f64(struct nvptx_scalars *out, struct ptx_operand x)
{
    struct math_split s;
    struct ptx_operand word[2];
    struct ptx_operand tiny = NEW(out, MOD_PRED, "setp.lt.f64", x, ptx_f64(0x1p-1022));
    s.x = nvptx_select(out, MOD_F64, tiny, math_mul(out, MOD_F64, x, ptx_f64(0x1p54)), x);
    struct ptx_operand offset = nvptx_select(out, MOD_B32, tiny, ptx_int(-54), ptx_int(0));
    math_words(out, s.x, word);
    s.bits = word[1];
    /* upper word of sqrt(1/2) */
    struct ptx_operand above = NEW(out, MOD_B32, "sub.s32", s.bits, ptx_int(0x3fe6a09e));
    struct ptx_operand exponent = NEW(out, MOD_B32, "shr.s32", above, ptx_int(20));
    struct ptx_operand mantissa =
        NEW(out, MOD_B32, "mad.lo.s32", exponent, ptx_int(-(1 << 20)), s.bits);
    s.f = math_sub(out, MOD_F64, math_of_words(out, word[0], mantissa), ptx_f64(1));
    s.e = NEW(out, MOD_F64, "cvt.rn.f64.s32", NEW(out, MOD_B32, "add.s32", exponent, offset));
    return s;
}

/* By Newton's iteration from the 20 bits or so of the approximation. */
struct ptx_operand math_reciprocal_f64(struct nvptx_scalars *out, struct ptx_operand d)
{
    struct ptx_operand r = NEW(out, MOD_F64, "rcp.approx.ftz.f64", d);
    struct ptx_operand minus = math_neg(out, MOD_F64, d);
    for (int i = 0; i < 2; i++)
        r = fma64(out, fma64(out, minus, r, ptx_f64(1)), r, r);
    return r;
}

/* Returns h + R, where h = f^2 / 2, s = f / (2 + f) and R = 2 atanh(s) / s - 2. */
static struct ptx_operand log_parts(struct nvptx_scalars *out, struct ptx_operand f,
                                    struct ptx_operand *h, struct ptx_operand *s)
{
    enum ptx_mod t = MOD_F64;
    *s = math_mul(out, t, f, math_reciprocal_f64(out, math_add(out, t, f, ptx_f64(2))));
    struct ptx_operand square = math_mul(out, t, *s, *s);
    struct ptx_operand terms = math_poly(out, MOD_F64, square, atanh_terms, COUNT(atanh_terms));
    *h = math_mul(out, t, math_mul(out, t, f, ptx_f64(0.5)), f);
    return fma64(out, square, terms, *h);
}

/* e ln 2 + log(1 + f), where `low` is what small there is to add. */
static struct ptx_operand log_sum(struct nvptx_scalars *out, const struct math_split *p,
                                  struct ptx_operand low, struct ptx_operand h,
                                  struct ptx_operand s, struct ptx_operand inner)
{
    enum ptx_mod t = MOD_F64;
    struct ptx_operand less = math_sub(out, t, h, fma64(out, s, inner, low));
    return fma64(out, p->e, ptx_f64(LN2_HIGH), math_sub(out, t, p->f, less));
}

/* log(1 + f) = f - (h - s (h + R)) with h = f^2 / 2, s = f / (2 + f) and R = 2 atanh(s) / s - 2: f
 * is exact, and what is subtracted is small (fdlibm, e_log.c, 1993). To base 2 the sum is kept in
 * two parts and each is divided by ln 2. */
struct ptx_operand math_log_f64(struct nvptx_scalars *out, struct ptx_operand x, bool base2)
{
    enum ptx_mod t = MOD_F64;
    struct math_split p = math_split_f64(out, x);
    struct ptx_operand f = p.f, h, s, inner = log_parts(out, f, &h, &s);
    if (!base2)
        return math_special_log(
            out, MOD_F64, &p,
            log_sum(out, &p, math_mul(out, t, p.e, ptx_f64(LN2_LOW)), h, s, inner));
    struct ptx_operand high = math_sub(out, t, f, h);
    struct ptx_operand low = math_sub(out, t, math_sub(out, t, f, high), h);
    low = fma64(out, s, inner, low);
    struct ptx_operand part = math_mul(out, t, high, ptx_f64(LOG2E_HIGH));
    struct ptx_operand lost = fma64(out, high, ptx_f64(LOG2E_HIGH), math_neg(out, MOD_F64, part));
    lost = fma64(out, high, ptx_f64(LOG2E_LOW), lost);
    lost = fma64(out, low, ptx_f64(LOG2E_HIGH), lost);
    struct ptx_operand sum = math_add(out, t, p.e, part);
    struct ptx_operand slip = math_add(out, t, math_sub(out, t, p.e, sum), part);
    return math_special_log(out, MOD_F64, &p, math_add(out, t, sum, math_add(out, t, lost, slip)));
}

/* log(1 + x): of u = 1 + x, and what the sum lost is added, divided by u. */
struct ptx_operand math_log1p_f64(struct nvptx_scalars *out, struct ptx_operand x)
{
    enum ptx_mod t = MOD_F64;
    struct ptx_operand u = math_add(out, t, x, ptx_f64(1));
    struct ptx_operand lost = math_sub(out, t, x, math_sub(out, t, u, ptx_f64(1)));
    struct math_split p = math_split_f64(out, u);
    struct ptx_operand h, s, inner = log_parts(out, p.f, &h, &s);
    struct ptx_operand low = math_mul(out, t, lost, math_reciprocal_f64(out, u));
    low = fma64(out, p.e, ptx_f64(LN2_LOW), low);
    struct ptx_operand y = math_special_log(out, MOD_F64, &p, log_sum(out, &p, low, h, s, inner));
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand tiny = NEW(out, MOD_PRED, "setp.lt.f64", a, ptx_f64(0x1p-53));
    return nvptx_select(out, t, tiny, x, y);
}

/* --- tanh, erf --- */

/* Up to 0.55, tanh x = x + x^3 P(x^2), error 2^-55; then 1 - 2 e / (1 + e) with e = e^-2x. From 20
 * on it is 1. */
struct ptx_operand math_tanh_f64(struct nvptx_scalars *out, struct ptx_operand x)
{
    static const double terms[] = {
        -0x1.555555555549ep-2,  0x1.11111111029b1p-3,  -0x1.ba1ba1ad73748p-5, 0x1.664f45c3234c9p-6,
        -0x1.226ddd4e44a96p-7,  0x1.d6c61e5e584a4p-9,  -0x1.7cf3c357d034p-10, 0x1.2fa2a750c1cf3p-11,
        -0x1.b90a6c84be96ap-13, 0x1.ac02cb24d651bp-15,
    };
    enum ptx_mod t = MOD_F64;
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand limited = NEW(out, t, "min.f64", a, ptx_f64(20));
    struct reduced e = reduce_exp(out, math_mul(out, t, limited, ptx_f64(-2)), false);
    struct ptx_operand whole = math_power_f64(out, e.n);
    struct ptx_operand power = math_mul(out, t, exp_near(out, e.r), whole);
    struct ptx_operand inverse = math_reciprocal_f64(out, math_add(out, t, power, ptx_f64(1)));
    struct ptx_operand ratio = math_mul(out, t, math_add(out, t, power, power), inverse);
    struct ptx_operand far = math_sub(out, t, ptx_f64(1), ratio);
    struct ptx_operand square = math_mul(out, t, x, x);
    struct ptx_operand p = math_poly(out, MOD_F64, square, terms, COUNT(terms));
    struct ptx_operand near = fma64(out, math_mul(out, t, square, p), a, a);
    return math_join_odd(out, t, x, a, ptx_f64(0.55), far, near);
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
struct ptx_operand math_erf_f64(struct nvptx_scalars *out, struct ptx_operand x)
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
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand q =
        math_poly(out, MOD_F64, NEW(out, t, "min.f64", a, ptx_f64(6)), exponent, COUNT(exponent));
    struct reduced e = reduce_exp(out, q, false);
    struct ptx_operand whole = math_power_f64(out, e.n);
    struct ptx_operand rest = math_mul(out, t, exp_near(out, e.r), whole);
    struct ptx_operand far = math_sub(out, t, ptx_f64(1), rest);
    struct ptx_operand p =
        math_poly(out, MOD_F64, math_mul(out, t, x, x), erf_terms, COUNT(erf_terms));
    struct ptx_operand near = fma64(out, p, a, a);
    return math_join_odd(out, t, x, a, ptx_f64(1), far, near);
}

/* Up to 0.5, 1 - erf x; then e^-(a^2) P((a - 2) / (a + 2)) / (1 + 2 a), error 2^-53.6, with the square
 * in two parts. From 28 on it is 0. */
struct ptx_operand math_erfc_f64(struct nvptx_scalars *out, struct ptx_operand x)
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
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand some = NEW(out, t, "min.f64", a, ptx_f64(28));
    struct ptx_operand square = math_mul(out, t, some, some);
    struct ptx_operand p = math_poly(out, MOD_F64, square, erf_terms, COUNT(erf_terms));
    struct ptx_operand near = math_sub(out, t, ptx_f64(1), fma64(out, p, x, x));
    struct ptx_operand minus = math_neg(out, t, square);
    struct ptx_operand lost = math_neg(out, t, fma64(out, some, some, minus));
    struct ptx_operand power = math_exp_of_sum_f64(out, minus, lost);
    struct ptx_operand place = math_reciprocal_f64(out, math_add(out, t, some, ptx_f64(2)));
    place = math_mul(out, t, math_sub(out, t, some, ptx_f64(2)), place);
    struct ptx_operand share = math_poly(out, MOD_F64, place, terms, COUNT(terms));
    share =
        math_mul(out, t, share, math_reciprocal_f64(out, fma64(out, some, ptx_f64(2), ptx_f64(1))));
    struct ptx_operand tail = math_mul(out, t, share, power);
    return math_join_erfc(out, t, x, a, tail, near);
}

/* --- expm1, sigmoid --- */

/* x = n ln 2 + r; 2^(n-1) (e^r - 1) and 2^(n-1) - 1/2 are half of the result. The n of the largest x
 * is 1024. */
struct ptx_operand math_expm1_f64(struct nvptx_scalars *out, struct ptx_operand x)
{
    enum ptx_mod t = MOD_F64;
    struct ptx_operand some =
        NEW(out, t, "min.f64", NEW(out, t, "max.f64", x, ptx_f64(-60)), ptx_f64(710));
    struct reduced e = reduce_exp(out, some, false);
    struct ptx_operand half = math_power_f64(out, NEW(out, MOD_B32, "add.s32", e.n, ptx_int(-1)));
    struct ptx_operand p = math_poly(out, MOD_F64, e.r, exp_terms, COUNT(exp_terms));
    struct ptx_operand q = fma64(out, math_mul(out, t, e.r, e.r), p, e.r);
    struct ptx_operand y = fma64(out, half, q, math_sub(out, t, half, ptx_f64(0.5)));
    y = math_add(out, t, y, y);
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand usual = NEW(out, MOD_PRED, "setp.ge.f64", a, ptx_f64(0x1p-54));
    return nvptx_select(out, t, usual, y, x); /* tiny, or NaN */
}

/* With e = e^-|x|: 1 / (1 + e), or e / (1 + e) for negative x. */
struct ptx_operand math_sigmoid_f64(struct nvptx_scalars *out, struct ptx_operand x)
{
    enum ptx_mod t = MOD_F64;
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand e = math_exp_f64(out, math_neg(out, t, a), false);
    struct ptx_operand inverse = math_reciprocal_f64(out, math_add(out, t, e, ptx_f64(1)));
    struct ptx_operand negative = NEW(out, MOD_PRED, "setp.lt.f64", x, ptx_f64(0));
    return nvptx_select(out, t, negative, math_mul(out, t, e, inverse), inverse);
}
