/* The parts that functions of floats share: single instructions, polynomials, words of an f64, special values. */
#include "nvptx/nvptx_math.h"

#include <assert.h>

struct ptx_operand math_fma(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b, struct ptx_operand c)
{
    return NEW_OF(out, t, t, "fma.rn.*", a, b, c);
}

struct ptx_operand math_mul(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b)
{
    return NEW_OF(out, t, t, "mul.rn.*", a, b);
}

struct ptx_operand math_add(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b)
{
    return NEW_OF(out, t, t, "add.rn.*", a, b);
}

struct ptx_operand math_sub(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b)
{
    return NEW_OF(out, t, t, "sub.rn.*", a, b);
}

struct ptx_operand math_abs(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x)
{
    return NEW_OF(out, t, t, "abs.*", x);
}

struct ptx_operand math_neg(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x)
{
    return NEW_OF(out, t, t, "neg.*", x);
}

struct ptx_operand math_number(enum ptx_mod t, double value)
{
    assert(t == MOD_F64 || (double)(float)value == value);
    return t == MOD_F64 ? ptx_f64(value) : ptx_f32((float)value);
}

struct ptx_operand math_poly(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x,
                             const double *c, int count)
{
    struct ptx_operand y = math_number(t, c[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        y = math_fma(out, t, y, x, math_number(t, c[i]));
    return y;
}

void math_words(struct nvptx_scalars *out, struct ptx_operand x, struct ptx_operand word[2])
{
    word[0] = ptx_reg(out->build, MOD_B32);
    word[1] = ptx_reg(out->build, MOD_B32);
    ptx_emit(out->build, "mov.b64", ptx_vector(out->build, word, 2), x);
}

struct ptx_operand math_of_words(struct nvptx_scalars *out, struct ptx_operand low,
                                 struct ptx_operand high)
{
    struct ptx_operand word[2] = {low, high};
    return NEW(out, MOD_F64, "mov.b64", ptx_vector(out->build, word, 2));
}

struct ptx_operand math_power_f64(struct nvptx_scalars *out, struct ptx_operand n)
{
    struct ptx_operand high =
        NEW(out, MOD_B32, "mad.lo.s32", n, ptx_int(1 << 20), ptx_int(1023 << 20));
    return math_of_words(out, NEW(out, MOD_B32, "mov.b32", ptx_int(0)), high);
}

struct ptx_operand math_join_odd(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x,
                                 struct ptx_operand a, struct ptx_operand bound,
                                 struct ptx_operand far, struct ptx_operand near)
{
    struct ptx_operand is_far = NEW_OF(out, MOD_PRED, t, "setp.ge.*", a, bound);
    return NEW_OF(out, t, t, "copysign.*", x, nvptx_select(out, t, is_far, far, near));
}

struct ptx_operand math_special_log(struct nvptx_scalars *out, enum ptx_mod t,
                                    const struct math_split *s, struct ptx_operand y)
{
    const struct ptx_operand infinity = math_number(t, __builtin_inf());
    const struct ptx_operand last_finite = ptx_int(t == MOD_F32 ? 0x7f7fffff : 0x7fefffff);
    struct ptx_operand special = NEW(out, MOD_PRED, "setp.gt.u32", s->bits, last_finite);
    struct ptx_operand other = math_fma(out, t, s->x, infinity, infinity);
    y = nvptx_select(out, t, special, other, y);
    struct ptx_operand zero = NEW_OF(out, MOD_PRED, t, "setp.eq.*", s->x, math_number(t, 0));
    return nvptx_select(out, t, zero, math_number(t, -__builtin_inf()), y);
}

struct ptx_operand math_join_erfc(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x,
                                  struct ptx_operand a, struct ptx_operand tail,
                                  struct ptx_operand near)
{
    struct ptx_operand negative = NEW_OF(out, MOD_PRED, t, "setp.lt.*", x, math_number(t, 0));
    struct ptx_operand mirrored = math_sub(out, t, math_number(t, 2), tail);
    tail = nvptx_select(out, t, negative, mirrored, tail);
    struct ptx_operand is_far = NEW_OF(out, MOD_PRED, t, "setp.ge.*", a, math_number(t, 0.5));
    return nvptx_select(out, t, is_far, tail, near);
}
