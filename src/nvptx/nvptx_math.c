/* Functions of one float: which sequence each is. */
#include "nvptx/nvptx_math.h"

#include <assert.h>

static struct ptx_operand rounded(struct nvptx_scalars *out, enum thread_opcode op, enum ptx_mod t,
                                  struct ptx_operand x)
{
    switch (op) {
    case THREAD_ROUND: return NEW_OF(out, t, t, "cvt.rni.*.*", x);
    case THREAD_FLOOR: return NEW_OF(out, t, t, "cvt.rmi.*.*", x);
    case THREAD_CEIL: return NEW_OF(out, t, t, "cvt.rpi.*.*", x);
    default: return nvptx_without_code(out, x);
    }
}

static struct ptx_operand emit_f32(struct nvptx_scalars *out, enum thread_opcode op,
                                   struct ptx_operand x)
{
    switch (op) {
    case THREAD_EXP: return math_exp_f32(out, x);
    case THREAD_EXP2: return math_exp2_f32(out, x);
    case THREAD_EXP2_APPROX: return NEW(out, MOD_F32, "ex2.approx.ftz.f32", x);
    case THREAD_LOG: return math_log_f32(out, x, false);
    case THREAD_LOG2: return math_log_f32(out, x, true);
    case THREAD_SIN: return math_sin_f32(out, x, false, true);
    case THREAD_COS: return math_sin_f32(out, x, true, true);
    case THREAD_TANH: return math_tanh_f32(out, x);
    case THREAD_ERF: return math_erf_f32(out, x);
    case THREAD_ERFC: return math_erfc_f32(out, x);
    case THREAD_EXPM1: return math_expm1_f32(out, x);
    case THREAD_LOG1P: return math_log1p_f32(out, x);
    case THREAD_SIGMOID: return math_sigmoid_f32(out, x);
    case THREAD_SQRT: return NEW(out, MOD_F32, "sqrt.rn.f32", x);
    case THREAD_RSQRT: return NEW(out, MOD_F32, "rsqrt.approx.f32", x);
    default: return rounded(out, op, MOD_F32, x);
    }
}

static struct ptx_operand emit_f64(struct nvptx_scalars *out, enum thread_opcode op,
                                   struct ptx_operand x)
{
    switch (op) {
    case THREAD_EXP: return math_exp_f64(out, x, false);
    case THREAD_EXP2:
    case THREAD_EXP2_APPROX: return math_exp_f64(out, x, true);
    case THREAD_LOG: return math_log_f64(out, x, false);
    case THREAD_LOG2: return math_log_f64(out, x, true);
    case THREAD_SIN: return math_sin_f64(out, x, false);
    case THREAD_COS: return math_sin_f64(out, x, true);
    case THREAD_TANH: return math_tanh_f64(out, x);
    case THREAD_ERF: return math_erf_f64(out, x);
    case THREAD_ERFC: return math_erfc_f64(out, x);
    case THREAD_EXPM1: return math_expm1_f64(out, x);
    case THREAD_LOG1P: return math_log1p_f64(out, x);
    case THREAD_SIGMOID: return math_sigmoid_f64(out, x);
    case THREAD_SQRT: return NEW(out, MOD_F64, "sqrt.rn.f64", x);
    case THREAD_RSQRT: return NEW(out, MOD_F64, "rsqrt.approx.f64", x);
    default: return rounded(out, op, MOD_F64, x);
    }
}

struct ptx_operand math_emit(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t,
                             struct ptx_operand x)
{
    assert(t == DT_F32 || t == DT_F64);
    if (x.kind != PTX_REGISTER)
        x = t == DT_F32 ? NEW(out, MOD_F32, "mov.f32", x) : NEW(out, MOD_F64, "mov.f64", x);
    return t == DT_F32 ? emit_f32(out, op, x) : emit_f64(out, op, x);
}
