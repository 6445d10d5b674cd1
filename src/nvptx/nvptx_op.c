/* Elementwise operations on one element, or on the elements of a word: the instructions of each, by its type. */
#include "base/float_bits.h"
#include "nvptx/nvptx_scalars_own.h"

#include <assert.h>
#include <math.h>
#include <string.h>

bool nvptx_is_defined(enum thread_opcode op, enum dtype t)
{
    const bool is_float = dtype_is_float(t);
    switch (op) {
    case THREAD_SELECT:
    case THREAD_EQ:
    case THREAD_NE:
    case THREAD_LT:
    case THREAD_LE:
    case THREAD_GT:
    case THREAD_GE: return true;
    case THREAD_AND:
    case THREAD_OR:
    case THREAD_XOR:
    case THREAD_NOT: return !is_float;
    case THREAD_SHL:
    case THREAD_SHR:
    case THREAD_CDIV:
    case THREAD_POW2_CEIL: return dtype_is_int(t);
    case THREAD_RECIPROCAL_APPROX: return t == DT_F32;
    case THREAD_POW: return is_float;
    case THREAD_PHILOX: return t == DT_U32;
    default: return (op >= THREAD_EXP && op <= THREAD_CEIL) ? is_float : t != DT_BOOL;
    }
}

/* Emits an instruction on operands of type t: .f32, .s32, .u64 …; the result has the same. */
static struct ptx_operand emit_of(struct nvptx_scalars *out, enum dtype t, const char *mnemonic,
                                  const struct ptx_operand *args, size_t count)
{
    return nvptx_new(out, nvptx_register_of(t), mnemonic, PTX_TYPES((uint16_t)nvptx_type_of(t)),
                     args, count);
}

static struct ptx_operand copied(struct nvptx_scalars *out, enum dtype t, struct ptx_operand x)
{
    struct ptx_operand to = nvptx_new_register(out, t);
    nvptx_move(out, t, to, x);
    return to;
}

/* --- truth --- */

static struct ptx_operand truth_emit(struct nvptx_scalars *out, enum thread_opcode op,
                                     const struct ptx_operand *a)
{
    switch (op) {
    case THREAD_NOT: return NEW(out, MOD_PRED, "not.pred", a[0]);
    case THREAD_AND: return NEW(out, MOD_PRED, "and.pred", a[0], a[1]);
    case THREAD_OR: return NEW(out, MOD_PRED, "or.pred", a[0], a[1]);
    case THREAD_XOR:
    case THREAD_NE: return NEW(out, MOD_PRED, "xor.pred", a[0], a[1]);
    case THREAD_EQ: return NEW(out, MOD_PRED, "xor.pred", a[0], ptx_not(a[1]));
    case THREAD_LT: return NEW(out, MOD_PRED, "and.pred", ptx_not(a[0]), a[1]);
    case THREAD_GT: return NEW(out, MOD_PRED, "and.pred", a[0], ptx_not(a[1]));
    case THREAD_LE: return NEW(out, MOD_PRED, "or.pred", ptx_not(a[0]), a[1]);
    case THREAD_GE: return NEW(out, MOD_PRED, "or.pred", a[0], ptx_not(a[1]));
    default: return nvptx_without_code(out, a[0]);
    }
}

static struct ptx_operand choose_emit(struct nvptx_scalars *out, enum dtype t,
                                      const struct ptx_operand *a)
{
    static const uint16_t untyped[] = {[1] = MOD_B8, [2] = MOD_B16, [4] = MOD_B32, [8] = MOD_B64};
    if (t == DT_BOOL) {
        struct ptx_operand yes = NEW(out, MOD_PRED, "and.pred", a[0], a[1]);
        struct ptx_operand no = NEW(out, MOD_PRED, "and.pred", ptx_not(a[0]), a[2]);
        return NEW(out, MOD_PRED, "or.pred", yes, no);
    }
    enum ptx_mod type = nvptx_register_of(t);
    uint16_t each =
        type == MOD_F32 || type == MOD_F64 ? (uint16_t)type : untyped[ptx_mods[type].bits / 8];
    return NEW_OF(out, type, each, "selp.*", a[1], a[2], a[0]);
}

/* --- comparisons --- */

/* With a NaN, "not equal" holds and the other comparisons do not. */
static struct ptx_operand compare_emit(struct nvptx_scalars *out, enum thread_opcode op,
                                       enum dtype t, const struct ptx_operand *a)
{
    const char *mnemonic = NULL;
    switch (op) {
    case THREAD_LT: mnemonic = "setp.lt.*"; break;
    case THREAD_GT: mnemonic = "setp.gt.*"; break;
    case THREAD_LE: mnemonic = "setp.le.*"; break;
    case THREAD_GE: mnemonic = "setp.ge.*"; break;
    case THREAD_EQ: mnemonic = "setp.eq.*"; break;
    default: mnemonic = dtype_is_float(t) ? "setp.neu.*" : "setp.ne.*"; break;
    }
    if (t == DT_BF16 && !nvptx_has(out, TARGET_BF16_ARITHMETIC)) {
        struct ptx_operand x[2];
        for (int i = 0; i < 2; i++)
            x[i] = nvptx_cast(out, DT_F32, t, a[i]);
        return compare_emit(out, op, DT_F32, x);
    }
    return NEW_OF(out, MOD_PRED, nvptx_type_of(t), mnemonic, a[0], a[1]);
}

/* --- integers --- */

/* setp …; result + 1 where both signs agree and there is a rest. */
static struct ptx_operand divide_up(struct nvptx_scalars *out, enum dtype t,
                                    const struct ptx_operand *a)
{
    struct ptx_operand quotient = emit_of(out, t, "div.*", a, 2);
    struct ptx_operand product =
        emit_of(out, t, "mul.lo.*", (struct ptx_operand[]){quotient, a[1]}, 2);
    struct ptx_operand rest = emit_of(out, t, "sub.*", (struct ptx_operand[]){a[0], product}, 2);
    struct ptx_operand more =
        NEW_OF(out, MOD_PRED, nvptx_type_of(t), "setp.ne.*", rest, ptx_int(0));
    if (dtype_is_signed(t)) {
        enum ptx_mod bits = nvptx_register_of(t);
        struct ptx_operand signs = NEW_OF(out, bits, bits, "xor.*", rest, a[1]);
        more = nvptx_new(out, MOD_PRED, "setp.ge.and.*", PTX_TYPES((uint16_t)nvptx_type_of(t)),
                         (struct ptx_operand[]){signs, ptx_int(0), more}, 3);
    }
    struct ptx_operand up =
        emit_of(out, t, "add.*", (struct ptx_operand[]){quotient, ptx_int(1)}, 2);
    return choose_emit(out, t, (struct ptx_operand[]){more, up, quotient});
}

/* 1 << (1 + position of the highest bit of x - 1); bfind gives -1 for 0, and a shift by the whole
 * width gives 0. */
static struct ptx_operand power_emit(struct nvptx_scalars *out, enum dtype t, struct ptx_operand x)
{
    enum ptx_mod bits = nvptx_register_of(t);
    struct ptx_operand one = ptx_int(1);
    struct ptx_operand least = emit_of(out, t, "max.*", (struct ptx_operand[]){x, one}, 2);
    struct ptx_operand less = emit_of(out, t, "sub.*", (struct ptx_operand[]){least, one}, 2);
    struct ptx_operand high = NEW_OF(out, MOD_B32, is_wide(t) ? MOD_U64 : MOD_U32, "bfind.*", less);
    struct ptx_operand shift = NEW(out, MOD_B32, "add.s32", high, one);
    if (is_wide(t))
        one = NEW(out, MOD_B64, "mov.b64", one);
    return NEW_OF(out, bits, bits, "shl.*", one, shift);
}

/* The instructions treat all amounts from the width on alike. */
static struct ptx_operand shift_emit(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t,
                                     const struct ptx_operand *a)
{
    enum ptx_mod bits = nvptx_register_of(t);
    if (op == THREAD_SHL)
        return NEW_OF(out, bits, bits, "shl.*", a[0], a[1]);
    return NEW_OF(out, bits, nvptx_type_of(t), "shr.*", a[0], a[1]);
}

static struct ptx_operand negative(struct nvptx_scalars *out, enum dtype t, struct ptx_operand x)
{
    return NEW_OF(out, nvptx_register_of(t), is_wide(t) ? MOD_S64 : MOD_S32, "neg.*", x);
}

/* Not abs.s32 or abs.s64: the assembler takes their results to be positive, and folds what compares the least
 * integer's, which is that integer, with 0 (CUDA 13.0's ptxas, seen on an H200). */
static struct ptx_operand magnitude(struct nvptx_scalars *out, enum dtype t, struct ptx_operand x)
{
    enum ptx_mod bits = nvptx_register_of(t), whole = is_wide(t) ? MOD_S64 : MOD_S32;
    struct ptx_operand sign = NEW_OF(out, bits, whole, "shr.*", x, ptx_int(is_wide(t) ? 63 : 31));
    struct ptx_operand turned = NEW_OF(out, bits, bits, "xor.*", x, sign);
    return NEW_OF(out, bits, whole, "sub.*", turned, sign);
}

/* Emits the op on 32 or 64 bits; small integers are cut by the caller. */
static struct ptx_operand integer_whole(struct nvptx_scalars *out, enum thread_opcode op,
                                        enum dtype t, const struct ptx_operand *a)
{
    enum ptx_mod bits = nvptx_register_of(t);
    switch (op) {
    case THREAD_NEG: return negative(out, t, a[0]);
    case THREAD_ABS: return dtype_is_signed(t) ? magnitude(out, t, a[0]) : copied(out, t, a[0]);
    case THREAD_NOT: return NEW_OF(out, bits, bits, "not.*", a[0]);
    case THREAD_AND: return NEW_OF(out, bits, bits, "and.*", a[0], a[1]);
    case THREAD_OR: return NEW_OF(out, bits, bits, "or.*", a[0], a[1]);
    case THREAD_XOR: return NEW_OF(out, bits, bits, "xor.*", a[0], a[1]);
    case THREAD_SHL:
    case THREAD_SHR: return shift_emit(out, op, t, a);
    case THREAD_ADD: return emit_of(out, t, "add.*", a, 2);
    case THREAD_SUB: return emit_of(out, t, "sub.*", a, 2);
    case THREAD_MUL: return emit_of(out, t, "mul.lo.*", a, 2);
    case THREAD_SQUARE: return emit_of(out, t, "mul.lo.*", (struct ptx_operand[]){a[0], a[0]}, 2);
    case THREAD_DIV: return emit_of(out, t, "div.*", a, 2);
    case THREAD_REM: return emit_of(out, t, "rem.*", a, 2);
    case THREAD_MIN: return emit_of(out, t, "min.*", a, 2);
    case THREAD_MAX: return emit_of(out, t, "max.*", a, 2);
    case THREAD_FMA: return emit_of(out, t, "mad.lo.*", a, 3);
    case THREAD_CLIP: {
        struct ptx_operand low = emit_of(out, t, "max.*", a, 2);
        return emit_of(out, t, "min.*", (struct ptx_operand[]){low, a[2]}, 2);
    }
    case THREAD_CDIV: return divide_up(out, t, a);
    case THREAD_POW2_CEIL: return power_emit(out, t, a[0]);
    default: return nvptx_without_code(out, a[0]);
    }
}

/* Returns whether a result on 32 bits may lie outside of a small type whose operands do not. */
static bool may_leave(enum thread_opcode op, enum dtype t)
{
    switch (op) {
    case THREAD_AND:
    case THREAD_OR:
    case THREAD_XOR:
    case THREAD_SHR:
    case THREAD_REM:
    case THREAD_MIN:
    case THREAD_MAX:
    case THREAD_CLIP: return false;
    case THREAD_ABS:
    case THREAD_DIV: return dtype_is_signed(t); /* the least number's negative */
    case THREAD_NOT: return !dtype_is_signed(t);
    default: return true;
    }
}

static struct ptx_operand integer_emit(struct nvptx_scalars *out, enum thread_opcode op,
                                       enum dtype t, const struct ptx_operand *a)
{
    struct ptx_operand whole = integer_whole(out, op, t, a);
    return is_small(t) && may_leave(op, t) ? nvptx_narrow(out, t, whole) : whole;
}

/* --- f32 and f64 --- */

/* x / 2^n is x * 2^-n, rounded alike. */
static bool reciprocal_of_power(struct ptx_operand divisor, struct ptx_operand *factor)
{
    int exponent;
    if (divisor.kind == PTX_FLOAT) {
        float v;
        uint32_t bits = (uint32_t)divisor.bits;
        memcpy(&v, &bits, sizeof v);
        *factor = ptx_f32(1 / v);
        return isnormal(v) && isnormal(1 / v) && fabsf(frexpf(v, &exponent)) == 0.5f;
    }
    if (divisor.kind == PTX_DOUBLE) {
        double v;
        memcpy(&v, &divisor.bits, sizeof v);
        *factor = ptx_f64(1 / v);
        return isnormal(v) && isnormal(1 / v) && fabs(frexp(v, &exponent)) == 0.5;
    }
    return false;
}

static struct ptx_operand float_emit(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t,
                                     const struct ptx_operand *a)
{
    struct ptx_operand two[2] = {a[0], a[0]};
    switch (op) {
    case THREAD_NEG: return emit_of(out, t, "neg.*", a, 1);
    case THREAD_ABS: return emit_of(out, t, "abs.*", a, 1);
    case THREAD_ADD: return emit_of(out, t, "add.rn.*", a, 2);
    case THREAD_SUB: return emit_of(out, t, "sub.rn.*", a, 2);
    case THREAD_MUL: return emit_of(out, t, "mul.rn.*", a, 2);
    case THREAD_SQUARE: return emit_of(out, t, "mul.rn.*", two, 2);
    case THREAD_DIV:
        if (reciprocal_of_power(a[1], &two[1]))
            return emit_of(out, t, "mul.rn.*", two, 2);
        return emit_of(out, t, "div.rn.*", a, 2);
    case THREAD_REM: return math_rem(out, t, a[0], a[1]);
    case THREAD_POW: return math_pow(out, t, a[0], a[1]);
    case THREAD_MIN: return emit_of(out, t, "min.*", a, 2);
    case THREAD_MAX: return emit_of(out, t, "max.*", a, 2);
    case THREAD_FMA: return emit_of(out, t, "fma.rn.*", a, 3);
    case THREAD_CLIP:
        two[0] = emit_of(out, t, "max.*", a, 2);
        two[1] = a[2];
        return emit_of(out, t, "min.*", two, 2);
    default: return math_emit(out, op, t, a[0]);
    }
}

/* --- f16 and bf16, alone or two in a .b32 --- */

/* A type to compute on: of a register `reg`, named `name` in instructions. */
struct half {
    enum dtype t;
    enum ptx_mod reg, name;
};

static struct half half_of(enum dtype t, bool pair)
{
    if (pair)
        return (struct half){t, MOD_B32, t == DT_F16 ? MOD_F16X2 : MOD_BF16X2};
    return (struct half){t, MOD_B16, t == DT_F16 ? MOD_F16 : MOD_BF16};
}

/* A constant, in both halves of a pair. */
static struct ptx_operand half_constant(struct nvptx_scalars *out, struct half h, float value)
{
    uint32_t bits = h.t == DT_F16 ? f32_to_f16(value) : f32_to_bf16(value);
    if (h.reg == MOD_B32)
        bits |= bits << 16;
    return NEW_OF(out, h.reg, h.reg, "mov.*", ptx_int(bits));
}

/* Before sm_90 bf16 has fma as its only arithmetic: a * 1 + b, a * b + -0. */
static struct ptx_operand half_sum(struct nvptx_scalars *out, struct half h, enum thread_opcode op,
                                   const struct ptx_operand *a)
{
    bool native = h.t == DT_F16 || nvptx_has(out, TARGET_BF16_ARITHMETIC);
    struct ptx_operand b = op == THREAD_SQUARE ? a[0] : a[1];
    if (native) {
        const char *mnemonic = op == THREAD_ADD   ? "add.rn.*"
                               : op == THREAD_SUB ? "sub.rn.*"
                                                  : "mul.rn.*";
        return NEW_OF(out, h.reg, h.name, mnemonic, a[0], b);
    }
    if (op == THREAD_ADD)
        return NEW_OF(out, h.reg, h.name, "fma.rn.*", a[0], half_constant(out, h, 1), b);
    if (op == THREAD_SUB)
        return NEW_OF(out, h.reg, h.name, "fma.rn.*", b, half_constant(out, h, -1), a[0]);
    return NEW_OF(out, h.reg, h.name, "fma.rn.*", a[0], b, half_constant(out, h, -0.0f));
}

/* Returns false if there is no instruction. */
static bool half_emit(struct nvptx_scalars *out, struct half h, enum thread_opcode op,
                      const struct ptx_operand *a, struct ptx_operand *result)
{
    switch (op) {
    case THREAD_NEG: *result = NEW_OF(out, h.reg, h.name, "neg.*", a[0]); return true;
    case THREAD_ABS: *result = NEW_OF(out, h.reg, h.name, "abs.*", a[0]); return true;
    case THREAD_ADD:
    case THREAD_SUB:
    case THREAD_MUL:
    case THREAD_SQUARE: *result = half_sum(out, h, op, a); return true;
    case THREAD_FMA:
        *result = NEW_OF(out, h.reg, h.name, "fma.rn.*", a[0], a[1], a[2]);
        return true;
    case THREAD_MIN: *result = NEW_OF(out, h.reg, h.name, "min.*", a[0], a[1]); return true;
    case THREAD_MAX: *result = NEW_OF(out, h.reg, h.name, "max.*", a[0], a[1]); return true;
    case THREAD_CLIP:
        *result = NEW_OF(out, h.reg, h.name, "max.*", a[0], a[1]);
        *result = NEW_OF(out, h.reg, h.name, "min.*", *result, a[2]);
        return true;
    case THREAD_ROUND:
    case THREAD_FLOOR:
    case THREAD_CEIL: {
        const char *mnemonic = op == THREAD_ROUND   ? "cvt.rni.*.*"
                               : op == THREAD_FLOOR ? "cvt.rmi.*.*"
                                                    : "cvt.rpi.*.*";
        if (h.reg != MOD_B16 || (h.t == DT_BF16 && !nvptx_has(out, TARGET_BF16_ARITHMETIC)))
            return false;
        *result = NEW_OF(out, h.reg, h.name, mnemonic, a[0]);
        return true;
    }
    default: return false;
    }
}

/* The quotient of f16 in f32: one Newton step from the approximation gives the f32 nearest to it, for a quotient of 11 bits by
 * 11 bits is never within 2^-36 of the middle between two. If the rest is 0 or NaN, the approximation is the result. */
static struct ptx_operand f16_quotient(struct nvptx_scalars *out, struct ptx_operand a,
                                       struct ptx_operand b)
{
    struct ptx_operand inverse = NEW(out, MOD_F32, "rcp.approx.ftz.f32", b);
    struct ptx_operand q = NEW(out, MOD_F32, "mul.rn.f32", a, inverse);
    struct ptx_operand rest =
        NEW(out, MOD_F32, "fma.rn.f32", NEW(out, MOD_F32, "neg.f32", q), b, a);
    struct ptx_operand more = NEW(out, MOD_PRED, "setp.ne.f32", rest, ptx_f32(0));
    ptx_when(ptx_emit(out->build, "fma.rn.f32", q, rest, inverse, q), more);
    return q;
}

/* Computes in f32 and rounds if there is no instruction. */
static struct ptx_operand half_single(struct nvptx_scalars *out, enum thread_opcode op,
                                      enum dtype t, const struct ptx_operand *a, int count)
{
    struct ptx_operand result, wide[3];
    if (half_emit(out, half_of(t, false), op, a, &result))
        return result;
    assert(count <= 3);
    for (int i = 0; i < count; i++)
        wide[i] = nvptx_cast(out, DT_F32, t, a[i]);
    if (t == DT_F16 && op == THREAD_DIV)
        return nvptx_cast(out, t, DT_F32, f16_quotient(out, wide[0], wide[1]));
    if (t == DT_F16 && (op == THREAD_SIN || op == THREAD_COS))
        return nvptx_cast(out, t, DT_F32, math_sin_f32(out, wide[0], op == THREAD_COS, false));
    return nvptx_cast(out, t, DT_F32, float_emit(out, op, DT_F32, wide));
}

bool nvptx_op_pair(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t,
                   const struct ptx_operand *args, struct ptx_operand *result)
{
    if (dtype_is_half(t))
        return half_emit(out, half_of(t, true), op, args, result);
    if (!is_small(t))
        return false;
    switch (op) { /* bits are the same however many share a word */
    case THREAD_AND:
    case THREAD_OR:
    case THREAD_XOR:
    case THREAD_NOT: *result = integer_whole(out, op, DT_U32, args); return true;
    default: return false;
    }
}

/* --- all types --- */

static struct ptx_operand arithmetic_emit(struct nvptx_scalars *out, enum thread_opcode op,
                                          enum dtype t, const struct ptx_operand *args, int count)
{
    if (t == DT_BOOL)
        return truth_emit(out, op, args);
    if (thread_is_comparison(op))
        return compare_emit(out, op, t, args);
    if (dtype_is_int(t))
        return integer_emit(out, op, t, args);
    return dtype_is_half(t) ? half_single(out, op, t, args, count) : float_emit(out, op, t, args);
}

struct ptx_operand nvptx_op(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t,
                            const struct ptx_operand *args, int count)
{
    struct ptx_operand wide[3];
    if (op == THREAD_SELECT)
        return choose_emit(out, t, args);
    if (!is_matrix_format(t))
        return arithmetic_emit(out, op, t, args, count);
    assert(count <= 3);
    for (int i = 0; i < count; i++)
        wide[i] = nvptx_cast(out, DT_F32, t, args[i]);
    struct ptx_operand y = arithmetic_emit(out, op, DT_F32, wide, count);
    return thread_is_comparison(op) ? y : nvptx_cast(out, t, DT_F32, y);
}

/* --- constants --- */

struct ptx_operand nvptx_real(struct nvptx_scalars *out, enum dtype t, double v)
{
    switch (t) {
    case DT_F64: return ptx_f64(v);
    case DT_F32: return ptx_f32((float)v);
    case DT_F16: return NEW(out, MOD_B16, "mov.b16", ptx_int(f64_to_f16(v)));
    case DT_BF16: return NEW(out, MOD_B16, "mov.b16", ptx_int(f64_to_bf16(v)));
    case DT_TF32: return ptx_int(f32_bits(f32_to_tf32((float)v))); /* units take bits */
    case DT_E4M3: return ptx_int(f32_to_e4m3((float)v));
    case DT_E5M2: return ptx_int(f32_to_e5m2((float)v));
    case DT_BOOL: return NEW(out, MOD_PRED, "setp.ne.s32", ptx_int(v != 0), ptx_int(0));
    default: return ptx_int(dtype_wrap(t, (int64_t)v));
    }
}

struct ptx_operand nvptx_integer(struct nvptx_scalars *out, enum dtype t, int64_t v)
{
    if (t == DT_F32)
        return ptx_f32((float)v);
    return dtype_is_int(t) ? ptx_int(dtype_wrap(t, v)) : nvptx_real(out, t, (double)v);
}
