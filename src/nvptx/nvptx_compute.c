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
    return kind == 'i' ? DT_U32 : kind == 'c' || kind == 'q' ? DT_BOOL : op->types[0];
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

/* Returns the instruction that converts a scalar; NULL: there is none. */
static const char *conversion(enum dtype to, enum dtype from)
{
    if (nvptx_is_half(from))
        return to != DT_F32 ? NULL : from == DT_F16 ? "cvt.f32.f16" : "cvt.f32.bf16";
    if (nvptx_is_half(to))
        return from != DT_F32 ? NULL : to == DT_F16 ? "cvt.rn.f16.f32" : "cvt.rn.bf16.f32";
    if (!class_of(to) || !class_of(from) || class_of(to) == BOOL || class_of(from) == BOOL)
        return NULL;
    return to == DT_F32 && from != DT_F32   ? "cvt.rn.*.*"
           : from == DT_F32 && to != DT_F32 ? "cvt.rzi.*.*"
                                            : "cvt.*.*";
}

static void convert(struct nvptx *n, const struct thread_operation *op)
{
    const enum dtype to = op->types[0], from = op->types[1];
    const struct thread_value *v = op->results.data[0];
    if (nvptx_is_half(to) && from == DT_F32 && v->type.count % 2 == 0) {
        convert_to_halves(n, op);
        return;
    }
    const char *mnemonic = conversion(to, from);
    if (!mnemonic) {
        nvptx_fail(n, op);
        return;
    }
    const struct thread_type one = {.dtype = to, .count = 1};
    const uint16_t types[] = {(uint16_t)nvptx_word_type(to), (uint16_t)nvptx_word_type(from)};
    struct ptx_operand *e = nvptx_elements(n, &op->operands.data[0], from, v->type.count);
    for (uint16_t i = 0; i < v->type.count; i++) {
        struct ptx_operand r = ptx_reg(&n->build, nvptx_register_type(one));
        ptx_emit_for(&n->build, strchr(mnemonic, '*') ? types : NULL, mnemonic, r, e[i]);
        e[i] = r;
    }
    nvptx_put(n, v, e);
}

/* --- groups --- */

static bool is_group(const struct thread_operand *o)
{
    return o->kind == THREAD_VALUE && o->value->type.count > 1;
}

/* Moves whole words. */
static void part_of_words(struct nvptx *n, const struct thread_operation *op, int64_t first,
                          int64_t step)
{
    const struct nvptx_registers *to = result(n, op);
    for (uint16_t w = 0; w < to->words; w++)
        nvptx_move(
            n, nvptx_word_type(op->types[0]), to->word[w],
            nvptx_word(n, &op->operands.data[0], op->types[0], (uint16_t)(first + w * step)));
}

static void part(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const struct thread_value *v = op->results.data[0];
    const int64_t first = o[1].integer, step = o[3].integer, each = nvptx_per_word(op->types[0]);
    if (each == 1 || (first % each == 0 && step == 1 && v->type.count > 1)) {
        part_of_words(n, op, first / each, step);
        return;
    }
    const uint16_t all = o[0].kind == THREAD_VALUE ? o[0].value->type.count : 1;
    const struct ptx_operand *e = nvptx_elements(n, &o[0], op->types[0], all);
    struct ptx_operand *some = arena_array(n->arena, struct ptx_operand, v->type.count);
    for (uint16_t i = 0; i < v->type.count; i++)
        some[i] = e[all > 1 ? first + i * step : 0];
    nvptx_put(n, v, some);
}

/* Returns whether all values but the last have whole words, so that the result has the same ones. */
static bool has_whole_words(const struct thread_operation *op)
{
    const uint16_t each = nvptx_per_word(op->types[0]);
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        if (each > 1 &&
            (!is_group(o) || (i + 1 < op->operands.count && o->value->type.count % each != 0)))
            return false;
    }
    return true;
}

static void join(struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_registers *to = result(n, op);
    const struct thread_value *v = op->results.data[0];
    const bool whole = has_whole_words(op);
    struct ptx_operand *all = arena_array(n->arena, struct ptx_operand, v->type.count + 1);
    uint16_t at = 0;
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        const uint16_t count = is_group(o) ? o->value->type.count : 1,
                       words = is_group(o) ? nvptx_words(o->value->type) : 1;
        struct ptx_operand *e = whole ? NULL : nvptx_elements(n, o, op->types[0], count);
        for (uint16_t w = 0; whole && w < words; w++)
            nvptx_move(n, nvptx_word_type(op->types[0]), to->word[at++],
                       nvptx_word(n, o, op->types[0], w));
        for (uint16_t j = 0; !whole && j < count; j++)
            all[at++] = e[j];
    }
    if (!whole)
        nvptx_put(n, v, all);
}

static void weave(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_value *v = op->results.data[0];
    const size_t values = op->operands.count;
    struct ptx_operand *all = arena_array(n->arena, struct ptx_operand, v->type.count);
    for (size_t i = 0; i < values; i++) {
        const uint16_t count = (uint16_t)(v->type.count / values);
        const struct ptx_operand *e = nvptx_elements(n, &op->operands.data[i], op->types[0], count);
        for (uint16_t j = 0; j < count; j++)
            all[j * values + i] = e[j];
    }
    nvptx_put(n, v, all);
}

static enum thread_opcode reduced_by(enum thread_opcode op)
{
    return op == THREAD_REDUCE_MAX ? THREAD_MAX : op == THREAD_REDUCE_MIN ? THREAD_MIN : THREAD_ADD;
}

/* Pairs, pairs of pairs, and so on: short chains. */
static void reduce(struct nvptx *n, const struct thread_operation *op)
{
    const char *mnemonic = find(reduced_by(op->op), op->types[0]);
    const struct thread_operand *o = op->operands.data;
    if (!mnemonic || o->kind != THREAD_VALUE) {
        nvptx_fail(n, op);
        return;
    }
    const uint16_t type = (uint16_t)nvptx_word_type(op->types[0]);
    uint16_t left = o->value->type.count;
    struct ptx_operand *x = nvptx_elements(n, o, op->types[0], left);
    while (left > 1) {
        uint16_t half = (uint16_t)((left + 1) / 2);
        for (uint16_t i = 0; i + half < left; i++) {
            struct ptx_operand r = ptx_reg(&n->build, nvptx_word_type(op->types[0]));
            ptx_emit_for(&n->build, &type, mnemonic, r, x[i], x[i + half]);
            x[i] = r;
        }
        left = half;
    }
    nvptx_put(n, op->results.data[0], x);
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

/* --- other lanes --- */

/* Emits a shuffle of 32 bits; lane: the operation's second operand. */
static void shuffle_word(struct nvptx *n, const struct thread_operation *op, struct ptx_operand to,
                         struct ptx_operand from)
{
    const char *mnemonic =
        op->op == THREAD_SHUFFLE_XOR ? "shfl.sync.bfly.b32" : "shfl.sync.idx.b32";
    ptx_emit(&n->build, mnemonic, to, from, nvptx_scalar(n, &op->operands.data[1], DT_U32),
             ptx_int(31), ptx_int(-1));
}

/* A value of 64 bits goes in two halves. */
static void shuffle_long(struct nvptx *n, const struct thread_operation *op, struct ptx_operand to,
                         struct ptx_operand from)
{
    struct ptx_operand half[2], moved[2];
    for (int i = 0; i < 2; i++) {
        half[i] = ptx_reg(&n->build, MOD_B32);
        moved[i] = ptx_reg(&n->build, MOD_B32);
    }
    ptx_emit(&n->build, "mov.b64", ptx_vector(&n->build, half, 2), from);
    for (int i = 0; i < 2; i++)
        shuffle_word(n, op, moved[i], half[i]);
    ptx_emit(&n->build, "mov.b64", to, ptx_vector(&n->build, moved, 2));
}

/* A predicate, or a scalar of 16 bits, goes in a register of 32 bits. */
static void shuffle_part(struct nvptx *n, const struct thread_operation *op, struct ptx_operand to,
                         struct ptx_operand from)
{
    const bool is_bool = op->types[0] == DT_BOOL;
    struct ptx_operand word = ptx_reg(&n->build, MOD_B32), moved = ptx_reg(&n->build, MOD_B32);
    if (is_bool)
        ptx_emit(&n->build, "selp.b32", word, ptx_int(1), ptx_int(0), from);
    else
        ptx_emit(&n->build, "cvt.u32.u16", word, from);
    shuffle_word(n, op, moved, word);
    if (is_bool)
        ptx_emit(&n->build, "setp.ne.b32", to, moved, ptx_int(0));
    else
        ptx_emit(&n->build, "cvt.u16.u32", to, moved);
}

static void shuffle(struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_registers *to = result(n, op);
    const struct thread_operand *o = op->operands.data;
    const enum dtype t = op->types[0];
    if (o->kind != THREAD_VALUE) {
        nvptx_fail(n, op);
        return;
    }
    const struct nvptx_registers *from = nvptx_registers_of(n, o->value);
    for (uint16_t w = 0; w < to->words; w++)
        if (t == DT_BOOL || nvptx_register_type(o->value->type) == MOD_B16)
            shuffle_part(n, op, to->word[w], from->word[w]);
        else if (dtype_size(t) == 8)
            shuffle_long(n, op, to->word[w], from->word[w]);
        else
            shuffle_word(n, op, to->word[w], from->word[w]);
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
    case THREAD_REDUCE_MIN:
    case THREAD_REDUCE_ADD: reduce(n, op); break;
    case THREAD_CONVERT: convert(n, op); break;
    case THREAD_SHUFFLE:
    case THREAD_SHUFFLE_XOR: shuffle(n, op); break;
    default:
        if (op->op <= THREAD_LANE)
            place(n, op);
        else
            elementwise(n, op);
        break;
    }
}
