/* fmod: the exact remainder of floats, with the sign of the dividend.
 *
 * The quotient of the magnitudes, truncated, is right or one too large, and the remainder is
 * representable: one division and one fma. If the quotient has more bits than a float, the
 * mantissas are divided as integers, some bits at a time, which is branched around.
 */
#include "nvptx/nvptx_math.h"

/* The layout of the format. */
struct format {
    enum ptx_mod t, bits, unsigned_bits;      /* .f32 .b32 .u32 */
    int mantissa;                             /* bits stored: 23 */
    int step;                                 /* bits that a mantissa leaves free in a word: 8 */
    struct ptx_operand infinity, zero, limit; /* limit: quotients below are exact integers */
};

static struct format format_of(enum dtype t)
{
    if (t == DT_F32)
        return (struct format){
            MOD_F32,    MOD_B32,         MOD_U32, 23, 8, ptx_f32(__builtin_inff()),
            ptx_f32(0), ptx_f32(0x1p23f)};
    return (struct format){MOD_F64,    MOD_B64,        MOD_U64, 52, 11, ptx_f64(__builtin_inf()),
                           ptx_f64(0), ptx_f64(0x1p52)};
}

/* A positive finite x = m 2^(e - bias), subnormal ones with e = 1: e as .b32, m as .b32 or .b64. */
static void take_apart(struct nvptx_scalars *out, const struct format *f, struct ptx_operand x,
                       struct ptx_operand *m, struct ptx_operand *e)
{
    const int64_t implicit = (int64_t)1 << f->mantissa;
    struct ptx_operand bits = NEW_OF(out, f->bits, f->bits, "mov.*", x);
    struct ptx_operand field =
        NEW_OF(out, f->bits, f->unsigned_bits, "shr.*", bits, ptx_int(f->mantissa));
    if (f->bits == MOD_B64)
        field = NEW(out, MOD_B32, "cvt.u32.u64", field);
    struct ptx_operand normal = NEW(out, MOD_PRED, "setp.ne.b32", field, ptx_int(0));
    struct ptx_operand fraction =
        NEW_OF(out, f->bits, f->bits, "and.*", bits, ptx_int(implicit - 1));
    struct ptx_operand whole = NEW_OF(out, f->bits, f->bits, "or.*", fraction, ptx_int(implicit));
    *m = nvptx_select(out, f->bits, normal, whole, fraction);
    *e = NEW(out, MOD_B32, "max.s32", field, ptx_int(1));
}

/* m = m 2^distance mod divisor, `step` powers of two at a time. */
static void reduce(struct nvptx_scalars *out, const struct format *f, struct ptx_operand m,
                   struct ptx_operand divisor, struct ptx_operand distance)
{
    struct ptx_label *again = ptx_new_label(out->build, "remainder"),
                     *reduced = ptx_new_label(out->build, "reduced");
    struct ptx_operand step = ptx_reg(out->build, MOD_B32), last = ptx_reg(out->build, MOD_PRED);
    ptx_place(out->build, again);
    ptx_emit_for(out->build, PTX_TYPES((uint16_t)f->unsigned_bits), "rem.*", m, m, divisor);
    ptx_emit(out->build, "setp.eq.s32", last, distance, ptx_int(0));
    ptx_when(ptx_branch(out->build, reduced), last);
    ptx_emit(out->build, "min.s32", step, distance, ptx_int(f->step));
    ptx_emit(out->build, "sub.s32", distance, distance, step);
    ptx_emit_for(out->build, PTX_TYPES((uint16_t)f->bits), "shl.*", m, m, step);
    ptx_branch(out->build, again);
    ptx_place(out->build, reduced);
}

/* r = x mod y for finite x > y > 0. */
static void long_division(struct nvptx_scalars *out, const struct format *f, struct ptx_operand x,
                          struct ptx_operand y, struct ptx_operand r)
{
    struct ptx_operand m, e, divisor, exponent;
    take_apart(out, f, x, &m, &e);
    take_apart(out, f, y, &divisor, &exponent);
    reduce(out, f, m, divisor, NEW(out, MOD_B32, "sub.s32", e, exponent));
    /* m 2^-mantissa is exact, and so is its product with 2^(exponent - bias), a power in itself */
    struct ptx_operand fraction = nvptx_new(
        out, f->t, "cvt.rn.*.*", PTX_TYPES((uint16_t)f->t, (uint16_t)f->unsigned_bits), &m, 1);
    if (f->t == MOD_F32) {
        fraction = math_mul(out, f->t, fraction, ptx_f32(0x1p-23f));
        exponent = NEW(out, MOD_B32, "shl.b32", exponent, ptx_int(23));
        exponent = NEW(out, MOD_F32, "mov.b32", exponent);
    } else {
        fraction = math_mul(out, f->t, fraction, ptx_f64(0x1p-52));
        exponent = NEW(out, MOD_B32, "shl.b32", exponent, ptx_int(20));
        exponent = math_of_words(out, NEW(out, MOD_B32, "mov.b32", ptx_int(0)), exponent);
    }
    ptx_emit_for(out->build, PTX_TYPES((uint16_t)f->t), "mul.rn.*", r, fraction, exponent);
}

struct ptx_operand math_rem(struct nvptx_scalars *out, enum dtype dtype, struct ptx_operand x,
                            struct ptx_operand y)
{
    struct format f = format_of(dtype);
    enum ptx_mod t = f.t;
    struct ptx_operand a = NEW_OF(out, t, t, "abs.*", x), b = NEW_OF(out, t, t, "abs.*", y);
    struct ptx_operand ratio = NEW_OF(out, t, t, "div.rn.*", a, b);
    struct ptx_operand quotient = NEW_OF(out, t, t, "cvt.rzi.*.*", ratio);
    struct ptx_operand r = math_fma(out, t, NEW_OF(out, t, t, "neg.*", quotient), b, a);
    struct ptx_operand too_far = NEW_OF(out, MOD_PRED, t, "setp.lt.*", r, f.zero);
    ptx_when(ptx_emit_for(out->build, PTX_TYPES((uint16_t)t), "add.rn.*", r, r, b), too_far);
    struct ptx_operand within = NEW_OF(out, MOD_PRED, t, "setp.lt.*", a, b);
    ptx_when(ptx_emit_for(out->build, PTX_TYPES((uint16_t)t), "mov.*", r, a), within);
    struct ptx_label *done = ptx_new_label(out->build, "exact");
    struct ptx_operand is_long = NEW_OF(out, MOD_PRED, t, "setp.ge.*", ratio, f.limit);
    is_long = NEW_OF(out, MOD_PRED, t, "setp.lt.and.*", a, f.infinity, is_long);
    is_long = NEW_OF(out, MOD_PRED, t, "setp.gt.and.*", b, f.zero, is_long);
    ptx_when(ptx_branch(out->build, done), ptx_not(is_long));
    long_division(out, &f, a, b, r);
    ptx_place(out->build, done);
    return NEW_OF(out, t, t, "copysign.*", x, r);
}
