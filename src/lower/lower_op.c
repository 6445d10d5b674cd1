/* Elementwise ops on one element: which instructions each is, by its type. */
#include "lower/lower_emit.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum dtype op_shift_type(const struct expr *e)
{
    enum dtype t = e->type.dtype;
    if (dtype_size(e->args[1]->type.dtype) <= dtype_size(t))
        return t;
    bool wide = dtype_size(e->args[1]->type.dtype) == 8;
    if (dtype_is_signed(t))
        return wide ? DT_I64 : DT_I32;
    return wide ? DT_U64 : DT_U32;
}

struct ptx_operand op_register(struct lower *l, enum dtype t)
{
    return ptx_reg(&l->b, lower_register_type(t));
}

struct ptx_operand emit_new(struct lower *l, enum ptx_mod type, const char *mnemonic,
                            const uint16_t *types, const struct ptx_operand *sources, size_t count)
{
    struct ptx_operand all[PTX_MOST_OPERANDS];
    assert(count < PTX_MOST_OPERANDS);
    all[0] = ptx_reg(&l->b, type);
    memcpy(all + 1, sources, count * sizeof *sources);
    ptx_emit_list(&l->b, mnemonic, types, all, count + 1);
    return all[0];
}

/* An instruction on operands of type t: .f32, .s32, .u64 …; the result has the same. */
static struct ptx_operand emit_of(struct lower *l, enum dtype t, const char *mnemonic,
                                  const struct ptx_operand *args, size_t count)
{
    return emit_new(l, lower_register_type(t), mnemonic, PTX_TYPES((uint16_t)lower_type(t)), args,
                    count);
}

void op_move(struct lower *l, enum dtype t, struct ptx_operand to, struct ptx_operand from)
{
    ptx_emit_for(&l->b, PTX_TYPES((uint16_t)lower_register_type(t)), "mov.*", to, from);
}

static struct ptx_operand copied(struct lower *l, enum dtype t, struct ptx_operand x)
{
    struct ptx_operand to = op_register(l, t);
    op_move(l, t, to, x);
    return to;
}

struct ptx_operand op_without_code(struct lower *l, enum op op, struct ptx_operand instead)
{
    lower_error(l, l->kernel->loc, "`%s` has no code for GPUs yet", op_table[op].text);
    return instead;
}

/* --- truth --- */

static struct ptx_operand truth_emit(struct lower *l, enum op op, const struct ptx_operand *a)
{
    switch (op) {
    case OP_NOT:
    case OP_INVERT: return NEW(l, MOD_PRED, "not.pred", a[0]);
    case OP_AND:
    case OP_LAND: return NEW(l, MOD_PRED, "and.pred", a[0], a[1]);
    case OP_OR:
    case OP_LOR: return NEW(l, MOD_PRED, "or.pred", a[0], a[1]);
    case OP_XOR:
    case OP_NE: return NEW(l, MOD_PRED, "xor.pred", a[0], a[1]);
    case OP_EQ: return NEW(l, MOD_PRED, "xor.pred", a[0], ptx_not(a[1]));
    case OP_LT: return NEW(l, MOD_PRED, "and.pred", ptx_not(a[0]), a[1]);
    case OP_GT: return NEW(l, MOD_PRED, "and.pred", a[0], ptx_not(a[1]));
    case OP_LE: return NEW(l, MOD_PRED, "or.pred", ptx_not(a[0]), a[1]);
    case OP_GE: return NEW(l, MOD_PRED, "or.pred", a[0], ptx_not(a[1]));
    default: return op_without_code(l, op, a[0]);
    }
}

static struct ptx_operand choose_emit(struct lower *l, enum dtype t, const struct ptx_operand *a)
{
    static const uint16_t untyped[] = {[1] = MOD_B8, [2] = MOD_B16, [4] = MOD_B32, [8] = MOD_B64};
    if (t == DT_BOOL) {
        struct ptx_operand yes = NEW(l, MOD_PRED, "and.pred", a[0], a[1]);
        struct ptx_operand no = NEW(l, MOD_PRED, "and.pred", ptx_not(a[0]), a[2]);
        return NEW(l, MOD_PRED, "or.pred", yes, no);
    }
    enum ptx_mod type = lower_register_type(t);
    uint16_t each =
        type == MOD_F32 || type == MOD_F64 ? (uint16_t)type : untyped[ptx_mods[type].bits / 8];
    return NEW_OF(l, type, each, "selp.*", a[1], a[2], a[0]);
}

/* --- comparisons --- */

/* Of floats "not equal" holds for NaN, the others do not. */
static struct ptx_operand compare_emit(struct lower *l, enum op op, enum dtype t,
                                       const struct ptx_operand *a)
{
    const char *mnemonic = NULL;
    switch (op) {
    case OP_LT: mnemonic = "setp.lt.*"; break;
    case OP_GT: mnemonic = "setp.gt.*"; break;
    case OP_LE: mnemonic = "setp.le.*"; break;
    case OP_GE: mnemonic = "setp.ge.*"; break;
    case OP_EQ: mnemonic = "setp.eq.*"; break;
    default: mnemonic = dtype_is_float(t) ? "setp.neu.*" : "setp.ne.*"; break;
    }
    if (t == DT_BF16 && !lower_has(l, TARGET_BF16_ARITHMETIC)) {
        struct ptx_operand x[2] = {op_cast(l, DT_F32, t, a[0]), op_cast(l, DT_F32, t, a[1])};
        return compare_emit(l, op, DT_F32, x);
    }
    return NEW_OF(l, MOD_PRED, lower_type(t), mnemonic, a[0], a[1]);
}

/* --- integers --- */

/* setp …; result + 1 where both signs agree and there is a rest. */
static struct ptx_operand divide_up(struct lower *l, enum dtype t, const struct ptx_operand *a)
{
    struct ptx_operand quotient = emit_of(l, t, "div.*", a, 2);
    struct ptx_operand product =
        emit_of(l, t, "mul.lo.*", (struct ptx_operand[]){quotient, a[1]}, 2);
    struct ptx_operand rest = emit_of(l, t, "sub.*", (struct ptx_operand[]){a[0], product}, 2);
    struct ptx_operand more = NEW_OF(l, MOD_PRED, lower_type(t), "setp.ne.*", rest, ptx_int(0));
    if (dtype_is_signed(t)) {
        enum ptx_mod bits = lower_register_type(t);
        struct ptx_operand signs = NEW_OF(l, bits, bits, "xor.*", rest, a[1]);
        more = emit_new(l, MOD_PRED, "setp.ge.and.*", PTX_TYPES((uint16_t)lower_type(t)),
                        (struct ptx_operand[]){signs, ptx_int(0), more}, 3);
    }
    struct ptx_operand up = emit_of(l, t, "add.*", (struct ptx_operand[]){quotient, ptx_int(1)}, 2);
    return choose_emit(l, t, (struct ptx_operand[]){more, up, quotient});
}

/* 1 << (1 + position of the highest bit of x - 1); bfind gives -1 for 0, and a shift by the whole
 * width gives 0. */
static struct ptx_operand power_emit(struct lower *l, enum dtype t, struct ptx_operand x)
{
    enum ptx_mod bits = lower_register_type(t);
    struct ptx_operand one = ptx_int(1);
    struct ptx_operand least = emit_of(l, t, "max.*", (struct ptx_operand[]){x, one}, 2);
    struct ptx_operand less = emit_of(l, t, "sub.*", (struct ptx_operand[]){least, one}, 2);
    struct ptx_operand high = NEW_OF(l, MOD_B32, is_wide(t) ? MOD_U64 : MOD_U32, "bfind.*", less);
    struct ptx_operand shift = NEW(l, MOD_B32, "add.s32", high, one);
    if (is_wide(t))
        one = NEW(l, MOD_B64, "mov.b64", one);
    return NEW_OF(l, bits, bits, "shl.*", one, shift);
}

/* Shifts take an amount of 32 bits and treat all from the width on alike. */
static struct ptx_operand shift_amount(struct lower *l, enum dtype t, struct ptx_operand x)
{
    if (x.kind == PTX_IMMEDIATE)
        return ptx_int(x.bits < 64 ? (int64_t)x.bits : 64);
    if (!is_wide(t))
        return x;
    struct ptx_operand least = NEW(l, MOD_B64, "min.u64", x, ptx_int(64));
    return NEW(l, MOD_B32, "cvt.u32.u64", least);
}

static struct ptx_operand shift_emit(struct lower *l, enum op op, enum dtype t,
                                     const struct ptx_operand *a)
{
    enum ptx_mod bits = lower_register_type(t);
    struct ptx_operand amount = shift_amount(l, t, a[1]);
    if (op == OP_SHL)
        return NEW_OF(l, bits, bits, "shl.*", a[0], amount);
    return NEW_OF(l, bits, lower_type(t), "shr.*", a[0], amount);
}

static struct ptx_operand negative(struct lower *l, enum dtype t, struct ptx_operand x)
{
    return NEW_OF(l, lower_register_type(t), is_wide(t) ? MOD_S64 : MOD_S32, "neg.*", x);
}

/* Not abs.s32 or abs.s64: the assembler takes their results to be positive, and folds what compares the least
 * integer's, which is that integer, with 0 (CUDA 13.0's ptxas, seen on an H200). */
static struct ptx_operand magnitude(struct lower *l, enum dtype t, struct ptx_operand x)
{
    enum ptx_mod bits = lower_register_type(t), whole = is_wide(t) ? MOD_S64 : MOD_S32;
    struct ptx_operand sign = NEW_OF(l, bits, whole, "shr.*", x, ptx_int(is_wide(t) ? 63 : 31));
    struct ptx_operand turned = NEW_OF(l, bits, bits, "xor.*", x, sign);
    return NEW_OF(l, bits, whole, "sub.*", turned, sign);
}

/* Emits the op on 32 or 64 bits; small integers are cut by the caller. */
static struct ptx_operand integer_whole(struct lower *l, enum op op, enum dtype t,
                                        const struct ptx_operand *a)
{
    enum ptx_mod bits = lower_register_type(t);
    switch (op) {
    case OP_NEG: return negative(l, t, a[0]);
    case OP_ABS: return dtype_is_signed(t) ? magnitude(l, t, a[0]) : copied(l, t, a[0]);
    case OP_INVERT: return NEW_OF(l, bits, bits, "not.*", a[0]);
    case OP_AND: return NEW_OF(l, bits, bits, "and.*", a[0], a[1]);
    case OP_OR: return NEW_OF(l, bits, bits, "or.*", a[0], a[1]);
    case OP_XOR: return NEW_OF(l, bits, bits, "xor.*", a[0], a[1]);
    case OP_SHL:
    case OP_SHR: return shift_emit(l, op, t, a);
    case OP_ADD: return emit_of(l, t, "add.*", a, 2);
    case OP_SUB: return emit_of(l, t, "sub.*", a, 2);
    case OP_MUL: return emit_of(l, t, "mul.lo.*", a, 2);
    case OP_SQUARE: return emit_of(l, t, "mul.lo.*", (struct ptx_operand[]){a[0], a[0]}, 2);
    case OP_DIV: return emit_of(l, t, "div.*", a, 2);
    case OP_REM: return emit_of(l, t, "rem.*", a, 2);
    case OP_MIN: return emit_of(l, t, "min.*", a, 2);
    case OP_MAX: return emit_of(l, t, "max.*", a, 2);
    case OP_FMA: return emit_of(l, t, "mad.lo.*", a, 3);
    case OP_CLIP: {
        struct ptx_operand low = emit_of(l, t, "max.*", a, 2);
        return emit_of(l, t, "min.*", (struct ptx_operand[]){low, a[2]}, 2);
    }
    case OP_CDIV: return divide_up(l, t, a);
    case OP_POW2_CEIL: return power_emit(l, t, a[0]);
    default: return op_without_code(l, op, a[0]);
    }
}

/* Can a result on 32 bits lie outside of a small type whose operands do not? */
static bool may_leave(enum op op, enum dtype t)
{
    switch (op) {
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHR:
    case OP_REM:
    case OP_MIN:
    case OP_MAX:
    case OP_CLIP: return false;
    case OP_ABS:
    case OP_DIV: return dtype_is_signed(t); /* the least number's negative */
    case OP_INVERT: return !dtype_is_signed(t);
    default: return true;
    }
}

static struct ptx_operand integer_emit(struct lower *l, enum op op, enum dtype t,
                                       const struct ptx_operand *a)
{
    struct ptx_operand whole = integer_whole(l, op, t, a);
    return is_small(t) && may_leave(op, t) ? emit_narrow(l, t, whole) : whole;
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

static struct ptx_operand float_emit(struct lower *l, enum op op, enum dtype t,
                                     const struct ptx_operand *a)
{
    struct ptx_operand two[2] = {a[0], a[0]};
    switch (op) {
    case OP_NEG: return emit_of(l, t, "neg.*", a, 1);
    case OP_ABS: return emit_of(l, t, "abs.*", a, 1);
    case OP_ADD: return emit_of(l, t, "add.rn.*", a, 2);
    case OP_SUB: return emit_of(l, t, "sub.rn.*", a, 2);
    case OP_MUL: return emit_of(l, t, "mul.rn.*", a, 2);
    case OP_SQUARE: return emit_of(l, t, "mul.rn.*", two, 2);
    case OP_DIV:
        if (reciprocal_of_power(a[1], &two[1]))
            return emit_of(l, t, "mul.rn.*", two, 2);
        return emit_of(l, t, "div.rn.*", a, 2);
    case OP_REM: return math_rem(l, t, a[0], a[1]);
    case OP_POW: return math_pow(l, t, a[0], a[1]);
    case OP_MIN: return emit_of(l, t, "min.*", a, 2);
    case OP_MAX: return emit_of(l, t, "max.*", a, 2);
    case OP_FMA: return emit_of(l, t, "fma.rn.*", a, 3);
    case OP_CLIP:
        two[0] = emit_of(l, t, "max.*", a, 2);
        two[1] = a[2];
        return emit_of(l, t, "min.*", two, 2);
    default: return math_emit(l, op, t, a[0]);
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
static struct ptx_operand half_constant(struct lower *l, struct half h, float value)
{
    uint32_t bits = h.t == DT_F16 ? f32_to_f16(value) : f32_to_bf16(value);
    if (h.reg == MOD_B32)
        bits |= bits << 16;
    return NEW_OF(l, h.reg, h.reg, "mov.*", ptx_int(bits));
}

/* Before sm_90 bf16 has fma as its only arithmetic: a * 1 + b, a * b + -0. */
static struct ptx_operand half_sum(struct lower *l, struct half h, enum op op,
                                   const struct ptx_operand *a)
{
    bool native = h.t == DT_F16 || lower_has(l, TARGET_BF16_ARITHMETIC);
    struct ptx_operand b = op == OP_SQUARE ? a[0] : a[1];
    if (native) {
        const char *mnemonic = op == OP_ADD ? "add.rn.*" : op == OP_SUB ? "sub.rn.*" : "mul.rn.*";
        return NEW_OF(l, h.reg, h.name, mnemonic, a[0], b);
    }
    if (op == OP_ADD)
        return NEW_OF(l, h.reg, h.name, "fma.rn.*", a[0], half_constant(l, h, 1), b);
    if (op == OP_SUB)
        return NEW_OF(l, h.reg, h.name, "fma.rn.*", b, half_constant(l, h, -1), a[0]);
    return NEW_OF(l, h.reg, h.name, "fma.rn.*", a[0], b, half_constant(l, h, -0.0f));
}

/* false: there is no instruction. */
static bool half_emit(struct lower *l, struct half h, enum op op, const struct ptx_operand *a,
                      struct ptx_operand *result)
{
    switch (op) {
    case OP_NEG: *result = NEW_OF(l, h.reg, h.name, "neg.*", a[0]); return true;
    case OP_ABS: *result = NEW_OF(l, h.reg, h.name, "abs.*", a[0]); return true;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_SQUARE: *result = half_sum(l, h, op, a); return true;
    case OP_FMA: *result = NEW_OF(l, h.reg, h.name, "fma.rn.*", a[0], a[1], a[2]); return true;
    case OP_MIN: *result = NEW_OF(l, h.reg, h.name, "min.*", a[0], a[1]); return true;
    case OP_MAX: *result = NEW_OF(l, h.reg, h.name, "max.*", a[0], a[1]); return true;
    case OP_CLIP:
        *result = NEW_OF(l, h.reg, h.name, "max.*", a[0], a[1]);
        *result = NEW_OF(l, h.reg, h.name, "min.*", *result, a[2]);
        return true;
    case OP_ROUND:
    case OP_FLOOR:
    case OP_CEIL: {
        const char *mnemonic = op == OP_ROUND   ? "cvt.rni.*.*"
                               : op == OP_FLOOR ? "cvt.rmi.*.*"
                                                : "cvt.rpi.*.*";
        if (h.reg != MOD_B16 || (h.t == DT_BF16 && !lower_has(l, TARGET_BF16_ARITHMETIC)))
            return false;
        *result = NEW_OF(l, h.reg, h.name, mnemonic, a[0]);
        return true;
    }
    default: return false;
    }
}

/* The quotient of f16 in f32: one Newton step from the approximation gives the f32 nearest to it,
 * for a quotient of 11 bits by 11 bits is never within 2^-36 of the middle between two. Where there
 * is no rest, or it is no number, the approximation has the result. */
static struct ptx_operand f16_quotient(struct lower *l, struct ptx_operand a, struct ptx_operand b)
{
    struct ptx_operand inverse = NEW(l, MOD_F32, "rcp.approx.ftz.f32", b);
    struct ptx_operand q = NEW(l, MOD_F32, "mul.rn.f32", a, inverse);
    struct ptx_operand rest = NEW(l, MOD_F32, "fma.rn.f32", NEW(l, MOD_F32, "neg.f32", q), b, a);
    struct ptx_operand more = NEW(l, MOD_PRED, "setp.ne.f32", rest, ptx_f32(0));
    ptx_when(ptx_emit(&l->b, "fma.rn.f32", q, rest, inverse, q), more);
    return q;
}

/* What has no instruction is computed in f32 and rounded, as everywhere. */
static struct ptx_operand half_single(struct lower *l, enum op op, enum dtype t,
                                      const struct ptx_operand *a, int count)
{
    struct ptx_operand result, wide[3];
    if (half_emit(l, half_of(t, false), op, a, &result))
        return result;
    assert(count <= 3);
    for (int i = 0; i < count; i++)
        wide[i] = op_cast(l, DT_F32, t, a[i]);
    if (t == DT_F16 && op == OP_DIV)
        return op_cast(l, t, DT_F32, f16_quotient(l, wide[0], wide[1]));
    if (t == DT_F16 && (op == OP_SIN || op == OP_COS))
        return op_cast(l, t, DT_F32, math_sin_f32(l, wide[0], op == OP_COS, false));
    return op_cast(l, t, DT_F32, float_emit(l, op, DT_F32, wide));
}

bool op_emit_pair(struct lower *l, enum op op, enum dtype t, const struct ptx_operand *args,
                  int count, struct ptx_operand *result)
{
    (void)count;
    if (is_half(t))
        return half_emit(l, half_of(t, true), op, args, result);
    if (!is_small(t))
        return false;
    switch (op) { /* bits are the same however many share a word */
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_INVERT: *result = integer_whole(l, op, DT_U32, args); return true;
    default: return false;
    }
}

/* --- all types --- */

static struct ptx_operand arithmetic_emit(struct lower *l, enum op op, enum dtype t,
                                          const struct ptx_operand *args, int count)
{
    if (t == DT_BOOL)
        return truth_emit(l, op, args);
    if (op_table[op].class == CLASS_COMPARE)
        return compare_emit(l, op, t, args);
    if (dtype_is_int(t))
        return integer_emit(l, op, t, args);
    return is_half(t) ? half_single(l, op, t, args, count) : float_emit(l, op, t, args);
}

struct ptx_operand op_emit(struct lower *l, enum op op, enum dtype result, enum dtype t,
                           const struct ptx_operand *args, int count)
{
    enum op_class class = op_table[op].class;
    struct ptx_operand x[3] = {{0}};
    switch (op) {
    case OP_CAST: return op_cast(l, result, t, args[0]);
    case OP_BITS: return op_bits(l, result, t, args[0]);
    case OP_WHERE:
    case OP_SELECT: return choose_emit(l, t, args);
    case OP_PHILOX: return random_emit(l, args, count);
    case OP_LOOKUP: return lookup_emit(l, args[0], args[1]);
    default: break;
    }
    enum dtype computed = is_matrix_format(t)                          ? DT_F32
                          : class == CLASS_FLOAT && !dtype_is_float(t) ? result
                          : class == CLASS_ARITH && t == DT_BOOL       ? DT_I32
                                                                       : t;
    assert(count <= 3);
    for (int i = 0; i < count; i++)
        x[i] = computed == t ? args[i] : op_cast(l, computed, t, args[i]);
    struct ptx_operand y = arithmetic_emit(l, op, computed, x, count);
    return class == CLASS_COMPARE || computed == result ? y : op_cast(l, result, computed, y);
}

struct ptx_operand op_emit1(struct lower *l, enum op op, enum dtype result, enum dtype t,
                            struct ptx_operand a)
{
    return op_emit(l, op, result, t, &a, 1);
}

struct ptx_operand op_emit2(struct lower *l, enum op op, enum dtype result, enum dtype t,
                            struct ptx_operand a, struct ptx_operand b)
{
    struct ptx_operand args[2] = {a, b};
    return op_emit(l, op, result, t, args, 2);
}

/* --- constants --- */

struct ptx_operand op_constant(struct lower *l, enum dtype t, struct literal v)
{
    double number = v.is_float ? v.f : (double)v.i;
    switch (t) {
    case DT_F64: return ptx_f64(number);
    case DT_F32: return ptx_f32(v.is_float ? (float)v.f : (float)v.i);
    case DT_F16: return NEW(l, MOD_B16, "mov.b16", ptx_int(f64_to_f16(number)));
    case DT_BF16: return NEW(l, MOD_B16, "mov.b16", ptx_int(f64_to_bf16(number)));
    case DT_TF32: return ptx_f32(f32_to_tf32((float)number));
    case DT_E4M3: return ptx_int(f32_to_e4m3((float)number));
    case DT_E5M2: return ptx_int(f32_to_e5m2((float)number));
    case DT_BOOL: {
        struct ptx_operand truth = ptx_int(v.is_float ? v.f != 0 : v.i != 0);
        return NEW(l, MOD_PRED, "setp.ne.s32", truth, ptx_int(0));
    }
    default: return ptx_int(dtype_wrap(t, v.is_float ? (int64_t)v.f : v.i));
    }
}

enum op op_of_reduction(enum op op)
{
    switch (op) {
    case OP_REDUCE_SUM: return OP_ADD;
    case OP_REDUCE_MAX: return OP_MAX;
    case OP_REDUCE_MIN: return OP_MIN;
    case OP_REDUCE_ANY: return OP_LOR;
    default: return OP_LAND;
    }
}

struct literal op_neutral(enum op op, enum dtype t)
{
    bool is_float = dtype_is_float(t), is_signed = dtype_is_signed(t);
    int bits = t == DT_BOOL ? 1 : dtype_table[t].bits;
    uint64_t ones = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    int64_t most = (int64_t)(is_signed ? ones >> 1 : ones);
    struct literal v = {.is_float = is_float};
    switch (op) {
    case OP_MUL:
        v.i = 1;
        v.f = 1;
        break;
    case OP_MIN:
        v.i = most;
        v.f = (double)INFINITY;
        break;
    case OP_MAX:
        v.i = is_signed ? -most - 1 : 0;
        v.f = -(double)INFINITY;
        break;
    case OP_AND: v.i = is_signed ? -1 : (int64_t)ones; break;
    default: break;
    }
    if (is_float)
        v.i = 0;
    else
        v.f = 0;
    return v;
}
