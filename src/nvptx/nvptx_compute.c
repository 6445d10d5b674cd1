/* Operations that compute values. */
#include "nvptx/nvptx_own.h"

#include <string.h>

enum { U = 1, S = 2, F32 = 4, BOOL = 8 };

static const struct select_row {
    enum thread_opcode op;
    unsigned types;
    const char *mnemonic;
} rows[] = {
#define SELECT(op, types, mnemonic) {THREAD_##op, types, mnemonic},
#include "nvptx/nvptx_select.def"
#undef SELECT
};

static unsigned class_of(enum dtype t)
{
    switch (t) {
    case DT_U32:
    case DT_U64: return U;
    case DT_I32:
    case DT_I64: return S;
    case DT_F32: return F32;
    case DT_BOOL: return BOOL;
    default: return 0;
    }
}

static const char *find(enum thread_opcode op, enum dtype t)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op && (rows[i].types & class_of(t)))
            return rows[i].mnemonic;
    return NULL;
}

/* Returns the mnemonic with the size of the type for its `?`. */
static const char *sized(struct nvptx *n, const char *mnemonic, enum dtype t)
{
    const char *at = strchr(mnemonic, '?');
    if (!at)
        return mnemonic;
    return arena_printf(n->arena, "%.*s%d", (int)(at - mnemonic), mnemonic, dtype_table[t].bits);
}

static const struct nvptx_registers *result(struct nvptx *n, const struct thread_operation *op)
{
    return nvptx_registers_of(n, op->results.data[0]);
}

/* The type of operand i, of those whose type is not T. */
static enum dtype operand_dtype(const struct thread_operation *op, size_t i)
{
    char kind = thread_op_table[op->op].operands[i];
    return kind == 'i' ? DT_U32 : kind == 'p' || kind == 'q' ? DT_BOOL : op->types[0];
}

static void elementwise(struct nvptx *n, const struct thread_operation *op)
{
    const char *mnemonic = find(op->op, op->types[0]);
    if (!mnemonic || op->operands.count > 3) {
        nvptx_fail(n, op);
        return;
    }
    mnemonic = sized(n, mnemonic, op->types[0]);
    const struct nvptx_registers *to = result(n, op);
    const uint16_t type = (uint16_t)nvptx_word_type(op->types[0]);
    for (uint16_t w = 0; w < to->words; w++) {
        struct ptx_operand o[4] = {to->word[w]};
        for (size_t i = 0; i < op->operands.count; i++)
            o[i + 1] = nvptx_word(n, &op->operands.data[i], operand_dtype(op, i), w);
        if (op->op == THREAD_SELECT) { /* its predicate comes last in PTX */
            struct ptx_operand p = o[1];
            o[1] = o[2];
            o[2] = o[3];
            o[3] = p;
        }
        ptx_emit_list(&n->build, mnemonic, strchr(mnemonic, '*') ? &type : NULL, o,
                      op->operands.count + 1);
    }
}

/* Pairs of f32 become words of two halves, the earlier element in the lower half. */
static void convert_to_halves(struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_registers *to = result(n, op);
    const char *mnemonic = op->types[0] == DT_F16 ? "cvt.rn.f16x2.f32" : "cvt.rn.bf16x2.f32";
    for (uint16_t w = 0; w < to->words; w++)
        ptx_emit(&n->build, mnemonic, to->word[w],
                 nvptx_word(n, &op->operands.data[0], DT_F32, (uint16_t)(2 * w + 1)),
                 nvptx_word(n, &op->operands.data[0], DT_F32, (uint16_t)(2 * w)));
}

static void convert(struct nvptx *n, const struct thread_operation *op)
{
    const enum dtype to = op->types[0], from = op->types[1];
    const uint16_t count = op->results.data[0]->type.count;
    if (nvptx_is_half(to) && from == DT_F32 && count % 2 == 0) {
        convert_to_halves(n, op);
        return;
    }
    if (!class_of(to) || !class_of(from) || class_of(to) == BOOL || class_of(from) == BOOL) {
        nvptx_fail(n, op);
        return;
    }
    const char *mnemonic = to == DT_F32 && from != DT_F32   ? "cvt.rn.*.*"
                           : from == DT_F32 && to != DT_F32 ? "cvt.rzi.*.*"
                                                            : "cvt.*.*";
    const uint16_t types[] = {(uint16_t)nvptx_word_type(to), (uint16_t)nvptx_word_type(from)};
    const struct nvptx_registers *r = result(n, op);
    for (uint16_t w = 0; w < r->words; w++)
        ptx_emit_for(&n->build, types, mnemonic, r->word[w],
                     nvptx_word(n, &op->operands.data[0], from, w));
}

/* --- groups --- */

static void move(struct nvptx *n, enum dtype t, struct ptx_operand to, struct ptx_operand from)
{
    ptx_emit_for(&n->build, PTX_TYPES((uint16_t)nvptx_word_type(t)), "mov.*", to, from);
}

/* Returns the number of elements in a word. */
static int64_t per_word(enum dtype t)
{
    return t == DT_BOOL || dtype_size(t) >= 4 ? 1 : 4 / (int64_t)dtype_size(t);
}

/* A part of elements that share words has whole words. */
static void part(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const struct nvptx_registers *to = result(n, op);
    const int64_t first = o[1].integer, step = o[3].integer, each = per_word(op->types[0]);
    if (first % each != 0 || o[2].integer % each != 0 || (each > 1 && step != 1)) {
        nvptx_fail(n, op);
        return;
    }
    for (uint16_t w = 0; w < to->words; w++)
        move(n, op->types[0], to->word[w],
             nvptx_word(n, &o[0], op->types[0], (uint16_t)(first / each + w * step)));
}

static void join(struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_registers *to = result(n, op);
    uint16_t at = 0;
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        const uint16_t count = o->kind == THREAD_VALUE ? o->value->type.count : 1,
                       words = o->kind == THREAD_VALUE ? nvptx_words(o->value->type) : 1;
        if (count % per_word(op->types[0]) != 0) {
            nvptx_fail(n, op);
            return;
        }
        for (uint16_t w = 0; w < words && at < to->words; w++)
            move(n, op->types[0], to->word[at++], nvptx_word(n, o, op->types[0], w));
    }
}

static void weave(struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_registers *to = result(n, op);
    if (per_word(op->types[0]) > 1) {
        nvptx_fail(n, op);
        return;
    }
    for (uint16_t w = 0; w < to->words; w++)
        move(n, op->types[0], to->word[w],
             nvptx_word(n, &op->operands.data[w % op->operands.count], op->types[0],
                        (uint16_t)(w / op->operands.count)));
}

/* Pairs, pairs of pairs, and so on: short chains. */
static void reduce(struct nvptx *n, const struct thread_operation *op)
{
    const char *mnemonic =
        find(op->op == THREAD_REDUCE_MAX ? THREAD_MAX : THREAD_ADD, op->types[0]);
    const struct thread_operand *o = op->operands.data;
    if (!mnemonic || o->kind != THREAD_VALUE) {
        nvptx_fail(n, op);
        return;
    }
    const uint16_t type = (uint16_t)nvptx_word_type(op->types[0]);
    uint16_t left = o->value->type.count;
    struct ptx_operand *x = arena_array(n->arena, struct ptx_operand, left);
    for (uint16_t i = 0; i < left; i++)
        x[i] = nvptx_word(n, o, op->types[0], i);
    while (left > 1) {
        uint16_t half = (uint16_t)((left + 1) / 2);
        for (uint16_t i = 0; i + half < left; i++) {
            struct ptx_operand r = ptx_reg(&n->build, nvptx_word_type(op->types[0]));
            ptx_emit_for(&n->build, &type, mnemonic, r, x[i], x[i + half]);
            x[i] = r;
        }
        left = half;
    }
    move(n, op->types[0], result(n, op)->word[0], x[0]);
}

/* --- where the thread is --- */

/* The shuffle's result is the same in all lanes, and the assembler knows that. */
void nvptx_warp(struct nvptx *n, struct ptx_operand to)
{
    ptx_emit(&n->build, "mov.u32", to, ptx_special(PTX_SREG_TID_X));
    ptx_emit(&n->build, "shr.u32", to, to, ptx_int(5));
    ptx_emit(&n->build, "shfl.sync.idx.b32", to, to, ptx_int(0), ptx_int(31), ptx_int(-1));
}

static void place(struct nvptx *n, const struct thread_operation *op)
{
    static const uint16_t special[] = {
        [THREAD_TID_X] = PTX_SREG_TID_X,       [THREAD_TID_Y] = PTX_SREG_TID_Y,
        [THREAD_TID_Z] = PTX_SREG_TID_Z,       [THREAD_CTAID_X] = PTX_SREG_CTAID_X,
        [THREAD_CTAID_Y] = PTX_SREG_CTAID_Y,   [THREAD_CTAID_Z] = PTX_SREG_CTAID_Z,
        [THREAD_NCTAID_X] = PTX_SREG_NCTAID_X, [THREAD_NCTAID_Y] = PTX_SREG_NCTAID_Y,
        [THREAD_NCTAID_Z] = PTX_SREG_NCTAID_Z, [THREAD_LANE] = PTX_SREG_LANEID,
    };
    ptx_emit(&n->build, "mov.u32", result(n, op)->word[0], ptx_special(special[op->op]));
}

static void shuffle(struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_registers *to = result(n, op);
    if (dtype_size(op->types[0]) != 4 || op->operands.data[0].kind != THREAD_VALUE) {
        nvptx_fail(n, op);
        return;
    }
    for (uint16_t w = 0; w < to->words; w++)
        ptx_emit(&n->build, "shfl.sync.bfly.b32", to->word[w],
                 nvptx_word(n, &op->operands.data[0], op->types[0], w),
                 ptx_int(op->operands.data[1].integer), ptx_int(31), ptx_int(-1));
}

void nvptx_compute(struct nvptx *n, const struct thread_operation *op)
{
    switch (op->op) {
    case THREAD_WARP: nvptx_warp(n, result(n, op)->word[0]); break;
    case THREAD_UNDEFINED: result(n, op); break;
    case THREAD_PART: part(n, op); break;
    case THREAD_JOIN: join(n, op); break;
    case THREAD_WEAVE: weave(n, op); break;
    case THREAD_REDUCE_MAX:
    case THREAD_REDUCE_ADD: reduce(n, op); break;
    case THREAD_CONVERT: convert(n, op); break;
    case THREAD_SHUFFLE_XOR: shuffle(n, op); break;
    default:
        if (op->op <= THREAD_LANE)
            place(n, op);
        else
            elementwise(n, op);
        break;
    }
}
