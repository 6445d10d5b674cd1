/* Angles to the interval around 0 of length pi/2.
 *
 * Up to 2^17 or so by Cody and Waite's method: the multiple of pi/2 is subtracted in three parts,
 * the first exact. Beyond, by Payne and Hanek's ("Radian reduction for trigonometric functions",
 * SIGNUM Newsletter 18, 1983): of 2/pi only those bits are multiplied that matter modulo 4, and the
 * fraction of the product is the rest in quarter turns. That part is branched around.
 */
#include "nvptx/nvptx_math.h"

#include <string.h>

/* 2/pi, 1216 bits after 64 zeros, the highest first. */
static const uint64_t two_over_pi[] = {
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
};
enum { MOST_WORDS = 3 };
#define CODY_WAITE_LIMIT 105615

static struct ptx_variable *table(struct nvptx_scalars *out)
{
    static const char name[] = "$two_over_pi";
    uint8_t bytes[sizeof two_over_pi];
    struct ptx_variable *v = ptx_find_variable(out->build->module, name);
    if (v)
        return v;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(two_over_pi[i / 8] >> (i % 8 * 8));
    return ptx_bytes(out->build, MOD_CONST, name, bytes, sizeof bytes, 8);
}

/* `count` words of 2/pi from bit `bit` of the table on (.b32). */
static void bits_from(struct nvptx_scalars *out, struct ptx_operand bit, int count,
                      struct ptx_operand *words)
{
    struct ptx_operand read[MOST_WORDS + 1];
    struct ptx_operand base = NEW(out, MOD_B64, "mov.u64", ptx_address_of(table(out), 0));
    struct ptx_operand word = NEW(out, MOD_B32, "shr.u32", bit, ptx_int(6));
    struct ptx_operand at = NEW(out, MOD_B64, "mad.wide.u32", word, ptx_int(8), base);
    struct ptx_operand left = NEW(out, MOD_B32, "and.b32", bit, ptx_int(63));
    struct ptx_operand right = NEW(out, MOD_B32, "sub.s32", ptx_int(64), left);
    for (int i = 0; i <= count; i++)
        read[i] = NEW(out, MOD_B64, "ld.const.b64", ptx_at(at, 8 * i));
    for (int i = 0; i < count; i++) {
        struct ptx_operand first = NEW(out, MOD_B64, "shl.b64", read[i], left);
        struct ptx_operand second = NEW(out, MOD_B64, "shr.u64", read[i + 1], right);
        words[i] = NEW(out, MOD_B64, "or.b64", first, second);
    }
}

/* Skips to the label unless x is finite and beyond Cody and Waite's reach. */
static struct ptx_label *unless_huge(struct nvptx_scalars *out, enum ptx_mod t,
                                     struct ptx_operand x, struct ptx_operand limit,
                                     struct ptx_operand infinity)
{
    struct ptx_label *small = ptx_new_label(out->build, "reduced");
    struct ptx_operand a = NEW_OF(out, t, t, "abs.*", x);
    struct ptx_operand finite = NEW_OF(out, MOD_PRED, t, "setp.lt.*", a, infinity);
    struct ptx_operand huge = NEW_OF(out, MOD_PRED, t, "setp.gt.and.*", a, limit, finite);
    ptx_when(ptx_branch(out->build, small), ptx_not(huge));
    return small;
}

/* --- f32 --- */

/* x = ±m 2^e: m times 64 + 64 bits of 2/pi, of which the highest counts 2 quarter turns. Two bits
 * are the quadrant, what follows is a fraction of 62, rounded to nearest by taking it as signed. An
 * f32 comes no closer to a multiple of pi/2 than 2^-32, so 30 bits are left. */
static void huge_f32(struct nvptx_scalars *out, struct ptx_operand x, const struct math_angle *to)
{
    struct ptx_operand w[2];
    struct ptx_operand bits = NEW(out, MOD_B32, "mov.b32", x);
    struct ptx_operand fraction = NEW(out, MOD_B32, "and.b32", bits, ptx_int(0x7fffff));
    struct ptx_operand m = NEW(out, MOD_B32, "or.b32", fraction, ptx_int(0x800000));
    struct ptx_operand exponent = NEW(out, MOD_B32, "bfe.u32", bits, ptx_int(23), ptx_int(8));
    /* bit 62 of the table counts 2 where e is 0 */
    bits_from(out, NEW(out, MOD_B32, "add.s32", exponent, ptx_int(62 - 150)), 2, w);
    m = NEW(out, MOD_B64, "cvt.u64.u32", m);
    struct ptx_operand product = NEW(out, MOD_B64, "mul.hi.u64", m, w[1]);
    product = NEW(out, MOD_B64, "mad.lo.u64", m, w[0], product);
    struct ptx_operand rest = NEW(out, MOD_B64, "shl.b64", product, ptx_int(2));
    struct ptx_operand top =
        NEW(out, MOD_B32, "cvt.u32.u64", NEW(out, MOD_B64, "shr.u64", product, ptx_int(61)));
    struct ptx_operand quadrant = NEW(out, MOD_B32, "add.s32", top, ptx_int(1));
    quadrant = NEW(out, MOD_B32, "shr.u32", quadrant, ptx_int(1));
    struct ptx_operand r = NEW(out, MOD_F64, "cvt.rn.f64.s64", rest);
    r = math_mul(out, MOD_F64, r, ptx_f64(0x1.921fb54442d18p-64)); /* pi/2 2^-64 */
    r = NEW(out, MOD_F32, "cvt.rn.f32.f64", r);
    struct ptx_operand negative = NEW(out, MOD_PRED, "setp.lt.s32", bits, ptx_int(0));
    ptx_when(ptx_emit(out->build, "neg.f32", r, r), negative);
    ptx_when(ptx_emit(out->build, "neg.s32", quadrant, quadrant), negative);
    ptx_emit(out->build, "mov.f32", to->rest, r);
    ptx_emit(out->build, "mov.b32", to->quadrant, quadrant);
}

struct math_angle math_reduce_f32(struct nvptx_scalars *out, struct ptx_operand x, bool may_be_huge)
{
    enum ptx_mod t = MOD_F32;
    const float magic = 0x1.8p23f;
    struct ptx_operand shifted = math_fma(out, t, x, ptx_f32(0x1.45f306p-1f), ptx_f32(magic));
    struct ptx_operand n = math_sub(out, t, shifted, ptx_f32(magic));
    struct math_angle angle = {.quadrant = NEW(out, MOD_B32, "mov.b32", shifted)};
    angle.rest = math_fma(out, t, n, ptx_f32(-0x1.921fb6p+0f), x);
    angle.rest = math_fma(out, t, n, ptx_f32(0x1.777a5cp-25f), angle.rest);
    angle.rest = math_fma(out, t, n, ptx_f32(0x1.ee59dap-50f), angle.rest);
    if (!may_be_huge)
        return angle;
    struct ptx_label *small =
        unless_huge(out, t, x, ptx_f32(CODY_WAITE_LIMIT), ptx_f32(__builtin_inff()));
    huge_f32(out, x, &angle);
    ptx_place(out->build, small);
    return angle;
}

/* --- f64 --- */

/* x = ±m 2^e as above: the upper 128 bits of m times 192 bits of 2/pi, modulo 4. */
struct product {
    struct ptx_operand high, low;
};

static struct product product_of(struct nvptx_scalars *out, struct ptx_operand word[2])
{
    struct ptx_operand w[3];
    struct ptx_operand fraction = NEW(out, MOD_B32, "and.b32", word[1], ptx_int(0xfffff));
    struct ptx_operand part[2] = {word[0],
                                  NEW(out, MOD_B32, "or.b32", fraction, ptx_int(0x100000))};
    struct ptx_operand m = NEW(out, MOD_B64, "mov.b64", ptx_vector(out->build, part, 2));
    struct ptx_operand exponent = NEW(out, MOD_B32, "bfe.u32", word[1], ptx_int(20), ptx_int(11));
    bits_from(out, NEW(out, MOD_B32, "add.s32", exponent, ptx_int(62 - 1075)), 3, w);
    struct ptx_operand carried = NEW(out, MOD_B64, "mul.hi.u64", m, w[2]);
    struct ptx_operand high = NEW(out, MOD_B64, "mul.lo.u64", m, w[0]);
    struct ptx_operand low = NEW(out, MOD_B64, "mad.lo.cc.u64", m, w[1], carried);
    return (struct product){NEW(out, MOD_B64, "madc.hi.u64", m, w[1], high), low};
}

/* The fraction as a sign and 64 bits after its leading zeros, times pi/2: rounded once. An f64
 * comes no closer to a multiple of pi/2 than 2^-62 (Muller, table 11.1). */
static void huge_f64(struct nvptx_scalars *out, struct ptx_operand x, const struct math_angle *to)
{
    struct ptx_operand word[2], two = ptx_int(2);
    math_words(out, x, word);
    struct product p = product_of(out, word);
    struct ptx_operand top =
        NEW(out, MOD_B32, "cvt.u32.u64", NEW(out, MOD_B64, "shr.u64", p.high, ptx_int(61)));
    struct ptx_operand quadrant = NEW(out, MOD_B32, "add.s32", top, ptx_int(1));
    quadrant = NEW(out, MOD_B32, "shr.u32", quadrant, ptx_int(1));
    struct ptx_operand high = NEW(out, MOD_B64, "shl.b64", p.high, two);
    struct ptx_operand carried = NEW(out, MOD_B64, "shr.u64", p.low, ptx_int(62));
    high = NEW(out, MOD_B64, "or.b64", high, carried);
    struct ptx_operand low = NEW(out, MOD_B64, "shl.b64", p.low, two);
    /* where the fraction is one half or more, it is negative: its complement */
    struct ptx_operand signs = NEW(out, MOD_B64, "shr.s64", high, ptx_int(63));
    high = NEW(out, MOD_B64, "xor.b64", high, signs);
    low = NEW(out, MOD_B64, "xor.b64", low, signs);
    struct ptx_operand zeros = NEW(out, MOD_B32, "clz.b64", high);
    struct ptx_operand others = NEW(out, MOD_B32, "sub.s32", ptx_int(64), zeros);
    struct ptx_operand leading = NEW(out, MOD_B64, "shl.b64", high, zeros);
    struct ptx_operand last = NEW(out, MOD_B64, "shr.u64", low, others);
    leading = NEW(out, MOD_B64, "or.b64", leading, last);
    /* pi/2 2^63 */
    struct ptx_operand scaled =
        NEW(out, MOD_B64, "mul.hi.u64", leading, ptx_int((int64_t)0xc90fdaa22168c235));
    struct ptx_operand exponent = NEW(out, MOD_B32, "sub.s32", ptx_int(-63), zeros);
    struct ptx_operand r = NEW(out, MOD_F64, "cvt.rn.f64.u64", scaled);
    r = math_mul(out, MOD_F64, r, math_power_f64(out, exponent));
    struct ptx_operand sign = NEW(out, MOD_PRED, "setp.lt.s64", signs, ptx_int(0));
    struct ptx_operand negative = NEW(out, MOD_PRED, "setp.lt.s32", word[1], ptx_int(0));
    sign = NEW(out, MOD_PRED, "xor.pred", sign, negative);
    ptx_when(ptx_emit(out->build, "neg.f64", r, r), sign);
    ptx_when(ptx_emit(out->build, "neg.s32", quadrant, quadrant), negative);
    ptx_emit(out->build, "mov.f64", to->rest, r);
    ptx_emit(out->build, "mov.b32", to->quadrant, quadrant);
}

struct math_angle math_reduce_f64(struct nvptx_scalars *out, struct ptx_operand x)
{
    enum ptx_mod t = MOD_F64;
    const double magic = 0x1.8p52;
    struct ptx_operand word[2];
    struct ptx_operand shifted = math_fma(out, t, x, ptx_f64(0x1.45f306dc9c883p-1), ptx_f64(magic));
    struct ptx_operand n = math_sub(out, t, shifted, ptx_f64(magic));
    math_words(out, shifted, word);
    struct math_angle angle = {.quadrant = word[0]};
    angle.rest = math_fma(out, t, n, ptx_f64(-0x1.921fb54442d18p+0), x);
    angle.rest = math_fma(out, t, n, ptx_f64(-0x1.1a62633145c07p-54), angle.rest);
    angle.rest = math_fma(out, t, n, ptx_f64(0x1p-109), angle.rest);
    struct ptx_label *small =
        unless_huge(out, t, x, ptx_f64(CODY_WAITE_LIMIT), ptx_f64(__builtin_inf()));
    huge_f64(out, x, &angle);
    ptx_place(out->build, small);
    return angle;
}
