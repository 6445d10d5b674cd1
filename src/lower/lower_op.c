/* Elementwise ops of tiles and scalars: what src/nvptx emits, in the types that the language gives them. */
#include "lower/lower_emit.h"

#include <assert.h>
#include <math.h>

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

struct ptx_operand op_without_code(struct lower *l, enum op op, struct ptx_operand instead)
{
    lower_error(l, l->kernel->loc, "`%s` has no code for GPUs yet", op_table[op].text);
    return instead;
}

/* Returns the operation on registers; THREAD_OPS: there is none. */
static enum thread_opcode opcode_of(enum op op)
{
    switch (op) {
#define SAME(name)                                                                                 \
    case OP_##name: return THREAD_##name;
        SAME(NEG)
        SAME(MUL)
        SAME(DIV)
        SAME(REM)
        SAME(ADD)
        SAME(SUB)
        SAME(SHL)
        SAME(SHR)
        SAME(LT)
        SAME(GT)
        SAME(LE)
        SAME(GE)
        SAME(EQ)
        SAME(NE)
        SAME(AND)
        SAME(XOR)
        SAME(OR)
        SAME(NOT)
        SAME(SELECT)
        SAME(FMA)
        SAME(MIN)
        SAME(MAX)
        SAME(ABS)
        SAME(SQUARE)
        SAME(CLIP)
        SAME(EXP)
        SAME(EXP2)
        SAME(EXP2_APPROX)
        SAME(LOG)
        SAME(LOG2)
        SAME(SIN)
        SAME(COS)
        SAME(TANH)
        SAME(ERF)
        SAME(ERFC)
        SAME(EXPM1)
        SAME(LOG1P)
        SAME(SIGMOID)
        SAME(SQRT)
        SAME(RSQRT)
        SAME(ROUND)
        SAME(FLOOR)
        SAME(CEIL)
        SAME(POW)
        SAME(CDIV)
        SAME(POW2_CEIL)
#undef SAME
    case OP_INVERT: return THREAD_NOT;
    case OP_LAND: return THREAD_AND;
    case OP_LOR: return THREAD_OR;
    case OP_WHERE: return THREAD_SELECT;
    default: return THREAD_OPS;
    }
}

/* Returns a shift's amount, of type t, as 32 bits. */
static struct ptx_operand shift_amount(struct lower *l, enum dtype t, struct ptx_operand x)
{
    if (x.kind == PTX_IMMEDIATE)
        return ptx_int(x.bits < 64 ? (int64_t)x.bits : 64);
    if (!is_wide(t))
        return x;
    struct ptx_operand least = NEW(l, MOD_B64, "min.u64", x, ptx_int(64));
    return NEW(l, MOD_B32, "cvt.u32.u64", least);
}

/* Emits an op whose operands have the type in which it is computed. */
static struct ptx_operand arithmetic_emit(struct lower *l, enum op op, enum dtype t,
                                          struct ptx_operand *args, int count)
{
    struct nvptx_scalars s = lower_scalars(l);
    const enum thread_opcode opcode = opcode_of(op);
    if (opcode == THREAD_OPS)
        return op_without_code(l, op, args[0]);
    if (op == OP_SHL || op == OP_SHR)
        args[1] = shift_amount(l, t, args[1]);
    struct ptx_operand r = nvptx_op(&s, opcode, t, args, count);
    return s.without_code ? op_without_code(l, op, args[0]) : r;
}

bool op_emit_pair(struct lower *l, enum op op, enum dtype t, const struct ptx_operand *args,
                  int count, struct ptx_operand *result)
{
    (void)count;
    struct nvptx_scalars s = lower_scalars(l);
    return opcode_of(op) != THREAD_OPS && nvptx_op_pair(&s, opcode_of(op), t, args, result);
}

struct ptx_operand op_emit(struct lower *l, enum op op, enum dtype result, enum dtype t,
                           const struct ptx_operand *args, int count)
{
    struct nvptx_scalars s = lower_scalars(l);
    enum op_class class = op_table[op].class;
    struct ptx_operand x[3] = {{0}};
    switch (op) {
    case OP_CAST: return nvptx_cast(&s, result, t, args[0]);
    case OP_BITS: return nvptx_bits(&s, result, t, args[0]);
    case OP_WHERE:
    case OP_SELECT: return nvptx_op(&s, THREAD_SELECT, t, args, 3);
    case OP_PHILOX: return nvptx_random(&s, DT_U64, args, count);
    case OP_LOOKUP: return lookup_emit(l, args[0], args[1]);
    default: break;
    }
    enum dtype computed = is_matrix_format(t)                          ? DT_F32
                          : class == CLASS_FLOAT && !dtype_is_float(t) ? result
                          : class == CLASS_ARITH && t == DT_BOOL       ? DT_I32
                                                                       : t;
    assert(count <= 3);
    for (int i = 0; i < count; i++)
        x[i] = computed == t ? args[i] : nvptx_cast(&s, computed, t, args[i]);
    struct ptx_operand y = arithmetic_emit(l, op, computed, x, count);
    return class == CLASS_COMPARE || computed == result ? y : nvptx_cast(&s, result, computed, y);
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
    struct nvptx_scalars s = lower_scalars(l);
    return v.is_float ? nvptx_real(&s, t, v.f) : nvptx_integer(&s, t, v.i);
}
