/* exp, exp2, log, log2, tanh, erf, erfc, expm1, log1p, sigmoid of f32.
 *
 * The largest errors found on an H200 (every positive number for exp, exp2 and log, every fifth for
 * the others; of exp and exp2 the negative ones too), in units in the last place: exp 1.94, exp2
 * 2.06, log 0.95, log2 1.47, sin and cos 1.54, tanh 1.72, erf 1.26, rsqrt 1.52. Those of exp and
 * exp2 are nearly all ex2.approx's.
 */
#include "nvptx/nvptx_math.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static struct ptx_operand fma32(struct nvptx_scalars *out, struct ptx_operand a,
                                struct ptx_operand b, struct ptx_operand c)
{
    return math_fma(out, MOD_F32, a, b, c);
}

/* 2^ea for ea in a range where neither argument nor result is subnormal. */
static struct ptx_operand power_near(struct nvptx_scalars *out, struct ptx_operand x)
{
    return NEW(out, MOD_F32, "ex2.approx.ftz.f32", x);
}

/* Below -126 the result is subnormal: 2^(x + 24) is not, and 2^-24 times that is rounded once.
 * (ex2.approx without .ftz squares 2^(x / 2), and with it the error.) */
struct ptx_operand math_exp2_f32(struct nvptx_scalars *out, struct ptx_operand x)
{
    struct ptx_operand low = NEW(out, MOD_PRED, "setp.lt.f32", x, ptx_f32(-126));
    struct ptx_operand near = NEW(out, MOD_F32, "mov.f32", x);
    ptx_when(ptx_emit(out->build, "add.rn.f32", near, x, ptx_f32(24)), low);
    struct ptx_operand y = power_near(out, near);
    ptx_when(ptx_emit(out->build, "mul.rn.f32", y, y, ptx_f32(0x1p-24f)), low);
    return y;
}

/* e^x = 2^n 2^s with n + s = x / ln 2. A saturating fma limits x / ln 2 to ±126, one that rounds
 * down and adds 1.5 * 2^23 leaves n + 127 in the last bits, the exponent of 2^n. s is small, except
 * far outside of the range, where 2^s is what makes the result subnormal, 0 or infinite. */
struct ptx_operand math_exp_f32(struct nvptx_scalars *out, struct ptx_operand x)
{
    const float half_range = 252, magic = 0x1.8p23f + 1;
    struct ptx_operand share = NEW(out, MOD_F32, "fma.rn.sat.f32", x, ptx_f32(0x1.77313cp-8f),
                                   ptx_f32(0.5f)); /* 1 / (252 ln 2) */
    struct ptx_operand shifted =
        NEW(out, MOD_F32, "fma.rm.f32", share, ptx_f32(half_range), ptx_f32(magic));
    struct ptx_operand minus_n = math_sub(out, MOD_F32, ptx_f32(0x1.8p23f + 127), shifted);
    struct ptx_operand s = fma32(out, x, ptx_f32(0x1.715476p+0f), minus_n); /* 1 / ln 2, */
    s = fma32(out, x, ptx_f32(0x1.4ae0cp-26f), s);                          /* and the rest of it */
    struct ptx_operand bits =
        NEW(out, MOD_B32, "shl.b32", NEW(out, MOD_B32, "mov.b32", shifted), ptx_int(23));
    struct ptx_operand whole = NEW(out, MOD_F32, "mov.b32", bits);
    return math_mul(out, MOD_F32, power_near(out, s), whole);
}

/* --- logarithms --- */

struct math_split math_split_f32(struct nvptx_scalars *out, struct ptx_operand x)
{
    struct math_split s;
    struct ptx_operand tiny = NEW(out, MOD_PRED, "setp.lt.f32", x, ptx_f32(0x1p-126f));
    struct ptx_operand scaled = math_mul(out, MOD_F32, x, ptx_f32(0x1p23f));
    s.x = nvptx_select(out, MOD_F32, tiny, scaled, x);
    struct ptx_operand offset = nvptx_select(out, MOD_F32, tiny, ptx_f32(-23), ptx_f32(0));
    s.bits = NEW(out, MOD_B32, "mov.b32", s.x);
    /* bits of 2/3 */
    struct ptx_operand above = NEW(out, MOD_B32, "sub.s32", s.bits, ptx_int(0x3f2aaaab));
    struct ptx_operand exponent = NEW(out, MOD_B32, "and.b32", above, ptx_int(0xff800000));
    struct ptx_operand mantissa = NEW(out, MOD_B32, "sub.s32", s.bits, exponent);
    s.f = math_sub(out, MOD_F32, NEW(out, MOD_F32, "mov.b32", mantissa), ptx_f32(1));
    struct ptx_operand whole = NEW(out, MOD_F32, "cvt.rn.f32.s32", exponent);
    s.e = fma32(out, whole, ptx_f32(0x1p-23f), offset);
    return s;
}

/* log(1 + f) = f + f^2 P(f), error 2^-27.5. */
static const double log_terms[] = {-0x1p-1f,        0x1.5554fap-2f,  -0x1.ffff94p-3f,
                                   0x1.99d58cp-3f,  -0x1.557e26p-3f, 0x1.1e828cp-3f,
                                   -0x1.f6b64ap-4f, 0x1.1ff06ap-3f,  -0x1.ff9e5p-4f};
/* log2(1 + f) = f / ln 2 + f P(f), error 2^-26.6; the first term is what 1 / ln 2 as f32 lacks. */
static const double log2_terms[] = {
    0x1.ac88b8p-26f, -0x1.715478p-1f, 0x1.ec6ff4p-2f,  -0x1.715328p-2f, 0x1.27a5c6p-2f,
    -0x1.ecf406p-3f, 0x1.9d143p-3f,   -0x1.66efecp-3f, 0x1.a03ba2p-3f,  -0x1.80aec8p-3f};

struct ptx_operand math_log_f32(struct nvptx_scalars *out, struct ptx_operand x, bool base2)
{
    struct math_split s = math_split_f32(out, x);
    struct ptx_operand y;
    if (base2) {
        struct ptx_operand p = math_poly(out, MOD_F32, s.f, log2_terms, COUNT(log2_terms));
        struct ptx_operand rest = math_mul(out, MOD_F32, s.f, p);
        y = math_add(out, MOD_F32, s.e, fma32(out, s.f, ptx_f32(0x1.715476p+0f), rest));
    } else {
        struct ptx_operand p = math_poly(out, MOD_F32, s.f, log_terms, COUNT(log_terms));
        struct ptx_operand square = math_mul(out, MOD_F32, s.f, s.f);
        struct ptx_operand near = fma32(out, square, p, s.f);
        y = fma32(out, s.e, ptx_f32(0x1.62e43p-1f), near);
    }
    return math_special_log(out, MOD_F32, &s, y);
}

/* log(1 + x): of u = 1 + x, and what the sum lost is added, divided by u. */
struct ptx_operand math_log1p_f32(struct nvptx_scalars *out, struct ptx_operand x)
{
    const enum ptx_mod t = MOD_F32;
    struct ptx_operand u = math_add(out, t, x, ptx_f32(1));
    struct ptx_operand lost = math_sub(out, t, x, math_sub(out, t, u, ptx_f32(1)));
    struct math_split s = math_split_f32(out, u);
    struct ptx_operand p = math_poly(out, MOD_F32, s.f, log_terms, COUNT(log_terms));
    struct ptx_operand more = math_mul(out, t, lost, NEW(out, t, "rcp.approx.ftz.f32", u));
    more = fma32(out, s.e, ptx_f32(0x1.7f7d1cp-20f), more); /* ln 2 in two parts */
    more = math_add(out, t, s.f, fma32(out, math_mul(out, t, s.f, s.f), p, more));
    struct ptx_operand y =
        math_special_log(out, MOD_F32, &s, fma32(out, s.e, ptx_f32(0x1.62e4p-1f), more));
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand tiny = NEW(out, MOD_PRED, "setp.lt.f32", a, ptx_f32(0x1p-24f));
    return nvptx_select(out, t, tiny, x, y);
}

/* --- tanh, erf --- */

/* Up to 0.65, tanh x = x + x^3 P(x^2), error 2^-27; then 1 - 2 / (e^2x + 1), whose rounding errors
 * are small compared with 1. */
struct ptx_operand math_tanh_f32(struct nvptx_scalars *out, struct ptx_operand x)
{
    static const double terms[] = {-0x1.555524p-2f, 0x1.1103fp-3f, -0x1.b7cfb2p-5f, 0x1.4f5d36p-6f,
                                   -0x1.6968fap-8f};
    struct ptx_operand a = NEW(out, MOD_F32, "abs.f32", x);
    struct ptx_operand power =
        power_near(out, math_mul(out, MOD_F32, a, ptx_f32(0x1.715476p+1f))); /* 2 / ln 2 */
    struct ptx_operand sum = math_add(out, MOD_F32, power, ptx_f32(1));
    struct ptx_operand inverse = NEW(out, MOD_F32, "rcp.approx.ftz.f32", sum);
    struct ptx_operand far = fma32(out, inverse, ptx_f32(-2), ptx_f32(1));
    struct ptx_operand square = math_mul(out, MOD_F32, x, x);
    struct ptx_operand p = math_poly(out, MOD_F32, square, terms, COUNT(terms));
    struct ptx_operand near = fma32(out, math_mul(out, MOD_F32, square, p), a, a);
    return math_join_odd(out, MOD_F32, x, a, ptx_f32(0.65f), far, near);
}

/* erf x = x + x P(x^2) for |x| up to 1, error 2^-29. */
static const double erf_terms[] = {0x1.06eba8p-3f,  -0x1.81273ep-2f, 0x1.ce2ce6p-4f,
                                   -0x1.b7f71ap-6f, 0x1.53f224p-8f,  -0x1.a3515ep-11f,
                                   0x1.4771fep-14f};

/* Up to 1 as above; then 1 - 2^Q(x), Q the logarithm of erfc, error 2^-29
 * of 1. From 4 on it is 1. */
struct ptx_operand math_erf_f32(struct nvptx_scalars *out, struct ptx_operand x)
{
    static const double exponent[] = {-0x1.0b8ca4p-11f, -0x1.a03fe6p+0f, -0x1.d76e8ap-1f,
                                      -0x1.30700cp-3f,  0x1.01b4a8p-5f,  -0x1.15ee24p-8f,
                                      0x1.18b83ap-12f};
    struct ptx_operand a = NEW(out, MOD_F32, "abs.f32", x);
    struct ptx_operand limited = NEW(out, MOD_F32, "min.f32", a, ptx_f32(4));
    struct ptx_operand q = math_poly(out, MOD_F32, limited, exponent, COUNT(exponent));
    struct ptx_operand far = math_sub(out, MOD_F32, ptx_f32(1), power_near(out, q));
    struct ptx_operand square = math_mul(out, MOD_F32, x, x);
    struct ptx_operand p = math_poly(out, MOD_F32, square, erf_terms, COUNT(erf_terms));
    struct ptx_operand near = fma32(out, p, a, a);
    return math_join_odd(out, MOD_F32, x, a, ptx_f32(1), far, near);
}

/* Up to 0.5, 1 - erf x; then e^-(a^2) P((a - 2) / (a + 2)) / (1 + 2 a), error 2^-25.9, with the square
 * in two parts. From 11 on it is 0. */
struct ptx_operand math_erfc_f32(struct nvptx_scalars *out, struct ptx_operand x)
{
    static const double terms[] = {
        0x1.46e80ep+0f,  -0x1.7bf5dcp-4f, -0x1.5407f8p-3f, 0x1.4ff8d2p-3f,   -0x1.bc1958p-5f,
        -0x1.0659f2p-7f, 0x1.1bc082p-7f,  0x1.2d1756p-10f, -0x1.4bdee6p-10f, -0x1.dd5e72p-13f};
    const enum ptx_mod t = MOD_F32;
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand some = NEW(out, t, "min.f32", a, ptx_f32(11));
    struct ptx_operand square = math_mul(out, t, some, some);
    struct ptx_operand p = math_poly(out, MOD_F32, square, erf_terms, COUNT(erf_terms));
    struct ptx_operand near = math_sub(out, t, ptx_f32(1), fma32(out, p, x, x));
    struct ptx_operand minus = math_neg(out, t, square);
    struct ptx_operand lost = fma32(out, some, some, minus);
    struct ptx_operand power = math_exp_f32(out, minus);
    power = fma32(out, math_neg(out, t, power), lost, power);
    struct ptx_operand below = math_add(out, t, some, ptx_f32(2));
    struct ptx_operand place = NEW(out, t, "rcp.approx.ftz.f32", below);
    place = math_mul(out, t, math_sub(out, t, some, ptx_f32(2)), place);
    struct ptx_operand share = math_poly(out, MOD_F32, place, terms, COUNT(terms));
    below = fma32(out, some, ptx_f32(2), ptx_f32(1));
    share = math_mul(out, t, share, NEW(out, t, "rcp.approx.ftz.f32", below));
    struct ptx_operand tail = math_mul(out, t, share, power);
    return math_join_erfc(out, t, x, a, tail, near);
}

/* --- expm1, sigmoid --- */

/* x = n ln 2 + r; e^r - 1 = r + r^2 P(r), error 2^-26; 2^(n-1) times that and 2^(n-1) - 1/2 are half
 * of the result. The n of the largest x is 128. */
struct ptx_operand math_expm1_f32(struct nvptx_scalars *out, struct ptx_operand x)
{
    static const double terms[] = {0x1.fffffep-2f, 0x1.5554aap-3f, 0x1.55579cp-5f, 0x1.122c5ap-7f,
                                   0x1.6ab96ap-10f};
    const enum ptx_mod t = MOD_F32;
    const float magic = 0x1.8p23f;
    struct ptx_operand some =
        NEW(out, t, "min.f32", NEW(out, t, "max.f32", x, ptx_f32(-30)), ptx_f32(89));
    struct ptx_operand shifted = fma32(out, some, ptx_f32(0x1.715476p+0f), ptx_f32(magic));
    struct ptx_operand n = math_sub(out, t, shifted, ptx_f32(magic));
    /* the bits of magic are 0x4b400000, and only the last 8 of the sum are left */
    struct ptx_operand bits =
        NEW(out, MOD_B32, "add.s32", NEW(out, MOD_B32, "mov.b32", shifted), ptx_int(126));
    struct ptx_operand half =
        NEW(out, t, "mov.b32", NEW(out, MOD_B32, "shl.b32", bits, ptx_int(23)));
    struct ptx_operand r = fma32(out, n, ptx_f32(-0x1.62e4p-1f), some);
    r = fma32(out, n, ptx_f32(-0x1.7f7d1cp-20f), r);
    struct ptx_operand p = math_poly(out, MOD_F32, r, terms, COUNT(terms));
    struct ptx_operand q = fma32(out, math_mul(out, t, r, r), p, r);
    struct ptx_operand y = fma32(out, half, q, math_sub(out, t, half, ptx_f32(0.5f)));
    y = math_add(out, t, y, y);
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand usual = NEW(out, MOD_PRED, "setp.ge.f32", a, ptx_f32(0x1p-25f));
    return nvptx_select(out, t, usual, y, x); /* tiny, or NaN */
}

/* With e = e^-|x|: 1 / (1 + e), or e / (1 + e) for negative x. */
struct ptx_operand math_sigmoid_f32(struct nvptx_scalars *out, struct ptx_operand x)
{
    const enum ptx_mod t = MOD_F32;
    struct ptx_operand a = math_abs(out, t, x);
    struct ptx_operand e = math_exp_f32(out, math_neg(out, t, a));
    struct ptx_operand inverse = NEW(out, t, "rcp.rn.f32", math_add(out, t, e, ptx_f32(1)));
    struct ptx_operand negative = NEW(out, MOD_PRED, "setp.lt.f32", x, ptx_f32(0));
    return nvptx_select(out, t, negative, math_mul(out, t, e, inverse), inverse);
}
