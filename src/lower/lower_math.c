/* Functions of one float: which sequence each is. */
#include "lower/lower_math.h"

#include <assert.h>

struct ptx_operand math_fma(struct lower *l, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b, struct ptx_operand c)
{
    return NEW_OF(l, t, t, "fma.rn.*", a, b, c);
}

struct ptx_operand math_mul(struct lower *l, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b)
{
    return NEW_OF(l, t, t, "mul.rn.*", a, b);
}

struct ptx_operand math_add(struct lower *l, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b)
{
    return NEW_OF(l, t, t, "add.rn.*", a, b);
}

struct ptx_operand math_sub(struct lower *l, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b)
{
    return NEW_OF(l, t, t, "sub.rn.*", a, b);
}

struct ptx_operand math_abs(struct lower *l, enum ptx_mod t, struct ptx_operand x)
{
    return NEW_OF(l, t, t, "abs.*", x);
}

struct ptx_operand math_neg(struct lower *l, enum ptx_mod t, struct ptx_operand x)
{
    return NEW_OF(l, t, t, "neg.*", x);
}

struct ptx_operand math_poly_f32(struct lower *l, struct ptx_operand x, const float *c, int count)
{
    struct ptx_operand y = ptx_f32(c[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        y = math_fma(l, MOD_F32, y, x, ptx_f32(c[i]));
    return y;
}

struct ptx_operand math_poly_f64(struct lower *l, struct ptx_operand x, const double *c, int count)
{
    struct ptx_operand y = ptx_f64(c[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        y = math_fma(l, MOD_F64, y, x, ptx_f64(c[i]));
    return y;
}

void math_words(struct lower *l, struct ptx_operand x, struct ptx_operand word[2])
{
    word[0] = ptx_reg(&l->b, MOD_B32);
    word[1] = ptx_reg(&l->b, MOD_B32);
    ptx_emit(&l->b, "mov.b64", ptx_vector(&l->b, word, 2), x);
}

struct ptx_operand math_of_words(struct lower *l, struct ptx_operand low, struct ptx_operand high)
{
    struct ptx_operand word[2] = {low, high};
    return NEW(l, MOD_F64, "mov.b64", ptx_vector(&l->b, word, 2));
}

struct ptx_operand math_power_f64(struct lower *l, struct ptx_operand n)
{
    struct ptx_operand high =
        NEW(l, MOD_B32, "mad.lo.s32", n, ptx_int(1 << 20), ptx_int(1023 << 20));
    return math_of_words(l, NEW(l, MOD_B32, "mov.b32", ptx_int(0)), high);
}

static struct ptx_operand rounded(struct lower *l, enum op op, enum ptx_mod t, struct ptx_operand x)
{
    switch (op) {
    case OP_ROUND: return NEW_OF(l, t, t, "cvt.rni.*.*", x);
    case OP_FLOOR: return NEW_OF(l, t, t, "cvt.rmi.*.*", x);
    case OP_CEIL: return NEW_OF(l, t, t, "cvt.rpi.*.*", x);
    default: return op_without_code(l, op, x);
    }
}

static struct ptx_operand emit_f32(struct lower *l, enum op op, struct ptx_operand x)
{
    switch (op) {
    case OP_EXP: return math_exp_f32(l, x);
    case OP_EXP2: return math_exp2_f32(l, x);
    case OP_LOG: return math_log_f32(l, x, false);
    case OP_LOG2: return math_log_f32(l, x, true);
    case OP_SIN: return math_sin_f32(l, x, false, true);
    case OP_COS: return math_sin_f32(l, x, true, true);
    case OP_TANH: return math_tanh_f32(l, x);
    case OP_ERF: return math_erf_f32(l, x);
    case OP_ERFC: return math_erfc_f32(l, x);
    case OP_EXPM1: return math_expm1_f32(l, x);
    case OP_LOG1P: return math_log1p_f32(l, x);
    case OP_SIGMOID: return math_sigmoid_f32(l, x);
    case OP_SQRT: return NEW(l, MOD_F32, "sqrt.rn.f32", x);
    case OP_RSQRT: return NEW(l, MOD_F32, "rsqrt.approx.f32", x);
    default: return rounded(l, op, MOD_F32, x);
    }
}

static struct ptx_operand emit_f64(struct lower *l, enum op op, struct ptx_operand x)
{
    switch (op) {
    case OP_EXP: return math_exp_f64(l, x, false);
    case OP_EXP2: return math_exp_f64(l, x, true);
    case OP_LOG: return math_log_f64(l, x, false);
    case OP_LOG2: return math_log_f64(l, x, true);
    case OP_SIN: return math_sin_f64(l, x, false);
    case OP_COS: return math_sin_f64(l, x, true);
    case OP_TANH: return math_tanh_f64(l, x);
    case OP_ERF: return math_erf_f64(l, x);
    case OP_ERFC: return math_erfc_f64(l, x);
    case OP_EXPM1: return math_expm1_f64(l, x);
    case OP_LOG1P: return math_log1p_f64(l, x);
    case OP_SIGMOID: return math_sigmoid_f64(l, x);
    case OP_SQRT: return NEW(l, MOD_F64, "sqrt.rn.f64", x);
    case OP_RSQRT: return NEW(l, MOD_F64, "rsqrt.approx.f64", x);
    default: return rounded(l, op, MOD_F64, x);
    }
}

struct ptx_operand math_emit(struct lower *l, enum op op, enum dtype t, struct ptx_operand x)
{
    assert(op_table[op].class == CLASS_FLOAT && (t == DT_F32 || t == DT_F64));
    if (x.kind != PTX_REGISTER)
        x = t == DT_F32 ? NEW(l, MOD_F32, "mov.f32", x) : NEW(l, MOD_F64, "mov.f64", x);
    return t == DT_F32 ? emit_f32(l, op, x) : emit_f64(l, op, x);
}
