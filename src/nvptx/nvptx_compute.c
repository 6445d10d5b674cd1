/* Operations that compute values: each element of a group as a scalar, or those that share a word at once. */
#include "nvptx/nvptx_own.h"

enum { MOST_OPERANDS = 3 };

/* Returns the type of operand i of an elementwise operation. */
static enum dtype operand_dtype(const struct thread_operation *op, size_t i)
{
    switch (thread_op_table[op->op].operands[i]) {
    case 'k': return DT_U32;
    case 'c': return DT_BOOL;
    case 'g': return op->types[1];
    default: return op->types[0];
    }
}

static struct ptx_operand approximated(struct nvptx *n, const char *mnemonic, struct ptx_operand x)
{
    return nvptx_new(&n->scalars, MOD_F32, mnemonic, NULL, &x, 1);
}

/* Returns the opcode and the second operand of a shift or a mask that computes what `op` does with a power of two. ptxas 13.0
 * chooses the number of registers before it replaces divisions, and takes more for them. */
static enum thread_opcode by_power(const struct thread_operation *op, struct ptx_operand *by)
{
    const enum dtype t = op->types[0];
    const uint64_t power = by->bits;
    int64_t places = 0;
    if (by->kind != PTX_IMMEDIATE || !power || power & (power - 1) || !dtype_is_int(t) ||
        dtype_size(t) < 4 || (op->op != THREAD_MUL && dtype_is_signed(t)))
        return op->op;
    while (power >> places > 1)
        places++;
    *by = ptx_int(op->op == THREAD_REM ? (int64_t)power - 1 : places);
    return op->op == THREAD_REM ? THREAD_AND : op->op == THREAD_DIV ? THREAD_SHR : THREAD_SHL;
}

static struct ptx_operand one_element(struct nvptx *n, const struct thread_operation *op,
                                      const struct ptx_operand *args)
{
    const int count = (int)op->operands.count;
    switch (op->op) {
    case THREAD_RECIPROCAL_APPROX: return approximated(n, "rcp.approx.ftz.f32", args[0]);
    case THREAD_PHILOX: return nvptx_random(&n->scalars, op->types[1], args, count);
    case THREAD_MUL:
    case THREAD_DIV:
    case THREAD_REM: {
        struct ptx_operand a[] = {args[0], args[1]};
        const enum thread_opcode by = by_power(op, &a[1]);
        return nvptx_op(&n->scalars, by, op->types[0], a, count);
    }
    default: return nvptx_op(&n->scalars, op->op, op->types[0], args, count);
    }
}

/* Returns word w of an operand in a register. */
static struct ptx_operand word_register(struct nvptx *n, const struct thread_operand *o,
                                        enum dtype t, uint16_t w)
{
    const struct ptx_operand word = nvptx_word(n, o, t, w);
    if (word.kind == PTX_REGISTER)
        return word;
    return nvptx_new(&n->scalars, MOD_B32, "mov.b32", NULL, &word, 1);
}

/* Computes the elements of whole words. Returns false if they have to be taken apart. */
static bool compute_words(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_value *v = op->results.data[0];
    const struct thread_operand *o = op->operands.data;
    const enum dtype t = op->types[0];
    const bool chosen = op->op == THREAD_SELECT && o[0].value->type.count == 1;
    if (v->type.count == 1 || nvptx_per_word(t) == 1 || v->type.dtype != t ||
        (op->op == THREAD_SELECT && !chosen) || op->op == THREAD_SHL || op->op == THREAD_SHR)
        return false;
    const struct nvptx_registers *to = nvptx_registers_of(n, v);
    struct ptx_operand args[MOST_OPERANDS], r;
    for (uint16_t w = 0; w < to->words; w++) {
        for (size_t i = 0; i < op->operands.count; i++) {
            const bool is_group = o[i].kind == THREAD_VALUE && o[i].value->type.count > 1;
            if (w == 0 || is_group)
                args[i] = i == 0 && chosen ? nvptx_scalar(n, &o[i], DT_BOOL)
                                           : word_register(n, &o[i], t, w);
        }
        if (chosen)
            r = nvptx_op(&n->scalars, THREAD_SELECT, DT_U32, args, MOST_OPERANDS);
        else if (!nvptx_op_pair(&n->scalars, op->op, t, args, &r))
            return false;
        nvptx_set_result(n, MOD_B32, to->word[w], r);
    }
    return true;
}

static void compute_elements(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_value *v = op->results.data[0];
    struct ptx_operand *e[MOST_OPERANDS] = {0},
                       *r = arena_array(n->arena, struct ptx_operand, v->type.count);
    for (size_t i = 0; i < op->operands.count; i++)
        e[i] = nvptx_elements(n, &op->operands.data[i], operand_dtype(op, i), v->type.count);
    for (uint16_t i = 0; i < v->type.count; i++) {
        struct ptx_operand args[MOST_OPERANDS];
        for (size_t j = 0; j < op->operands.count; j++)
            args[j] = e[j][i];
        r[i] = one_element(n, op, args);
        nvptx_put_result(n, v, r, i);
    }
}

static void elementwise(struct nvptx *n, const struct thread_operation *op)
{
    if (op->operands.count > MOST_OPERANDS || !nvptx_is_defined(op->op, op->types[0])) {
        nvptx_fail(n, op);
        return;
    }
    nvptx_registers_of(n,
                       op->results.data[0]); /* made before those that nvptx_set_result releases */
    if (!compute_words(n, op))
        compute_elements(n, op);
    if (n->scalars.without_code)
        nvptx_fail(n, op);
}

/* --- conversions --- */

/* Returns the elements of a group of e4m3 or e5m2 as f16, which is exact, two in a word. */
static struct ptx_operand *halves_of_bytes(struct nvptx *n, const struct thread_operand *o,
                                           enum dtype from)
{
    const uint16_t words = nvptx_words(o->value->type);
    struct ptx_operand *half = arena_array(n->arena, struct ptx_operand, 2 * words);
    for (uint16_t w = 0; w < words; w++)
        nvptx_halves(&n->scalars, from, nvptx_word(n, o, from, w), half + 2 * w);
    return half;
}

/* Returns elements as scalars of type *from. A group of e4m3 or e5m2 becomes f16, as *from then is. */
static struct ptx_operand *source(struct nvptx *n, const struct thread_operand *o, enum dtype *from,
                                  uint16_t count)
{
    if (!dtype_is_byte_float(*from) || o->value->type.count == 1)
        return nvptx_elements(n, o, *from, count);
    const struct ptx_operand *half = halves_of_bytes(n, o, *from);
    struct ptx_operand *e = arena_array(n->arena, struct ptx_operand, count + 2);
    for (uint16_t i = 0; i < count; i += 2)
        nvptx_unpack(&n->scalars, DT_F16, half[i / 2], e + i);
    *from = DT_F16;
    return e;
}

/* Converts f32 to a group of halves or of bytes, which share words. */
static void convert_to_words(struct nvptx *n, const struct thread_operation *op,
                             const struct ptx_operand *e)
{
    const struct thread_value *v = op->results.data[0];
    const struct nvptx_registers *to = nvptx_registers_of(n, v);
    const enum dtype t = v->type.dtype;
    const uint16_t each = nvptx_per_word(t);
    for (uint16_t w = 0; w < to->words; w++) {
        struct ptx_operand part[4];
        for (int i = 0; i < each; i++)
            part[i] = e[w * each + i < v->type.count ? w * each + i : v->type.count - 1];
        nvptx_set_result(n, MOD_B32, to->word[w],
                         each == 2 ? nvptx_cast_pair(&n->scalars, t, part[0], part[1])
                                   : nvptx_cast_four(&n->scalars, t, part));
    }
}

static void convert(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const struct thread_value *v = op->results.data[0];
    const enum dtype to = op->types[0];
    enum dtype from = op->types[1];
    const uint16_t count = v->type.count;
    if (n->same[v->number])
        return;
    if (count > 1 && dtype_is_byte_float(from) && to == DT_F16) {
        const struct nvptx_registers *r = nvptx_registers_of(n, v);
        for (uint16_t w = 0; w < r->words; w += 2)
            nvptx_halves_into(&n->scalars, from, nvptx_word(n, o, from, w / 2), r->word + w,
                              r->words - w > 1 ? 2 : 1);
        return;
    }
    nvptx_registers_of(n, v); /* made before those that nvptx_set_result releases */
    struct ptx_operand *e = source(n, o, &from, count);
    if (count > 1 && dtype_is_byte_float(to)) /* through f32 */
        for (uint16_t i = 0; i < count && from != DT_F32; i++)
            e[i] = nvptx_cast(&n->scalars, DT_F32, from, e[i]);
    if (count > 1 && (dtype_is_byte_float(to) || (dtype_is_half(to) && from == DT_F32))) {
        convert_to_words(n, op, e);
        return;
    }
    for (uint16_t i = 0; i < count; i++) {
        e[i] = nvptx_cast(&n->scalars, to, from, e[i]);
        nvptx_put_result(n, v, e, i);
    }
}

static void multiply_wide(struct nvptx *n, const struct thread_operation *op)
{
    static const char *const mnemonic[2][2] = {{"mul.wide.u32", "mul.wide.s32"},
                                               {"mad.wide.u32", "mad.wide.s32"}};
    struct ptx_operand all[4] = {nvptx_registers_of(n, op->results.data[0])->word[0]};
    const size_t count = op->operands.count;
    for (size_t i = 0; i < count; i++)
        all[i + 1] = nvptx_scalar(n, &op->operands.data[i], op->types[i < 2]);
    ptx_emit_list(&n->build, mnemonic[count - 2][op->types[1] == DT_I32], NULL, all, count + 1);
}

/* Words keep their bits, however many elements they have. */
static void bits(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const struct thread_value *v = op->results.data[0];
    const enum dtype to = op->types[0], from = op->types[1];
    const struct nvptx_registers *r = nvptx_registers_of(n, v);
    const bool words = v->type.count > 1 && nvptx_per_word(to) > 1 && nvptx_per_word(from) > 1;
    struct ptx_operand *e = words ? NULL : nvptx_elements(n, o, from, v->type.count);
    for (uint16_t w = 0; w < r->words && words; w++)
        nvptx_set(n, MOD_B32, r->word[w], nvptx_word(n, o, from, w));
    for (uint16_t i = 0; i < v->type.count && !words; i++) {
        e[i] = nvptx_bits(&n->scalars, to, from, e[i]);
        nvptx_put_result(n, v, e, i);
    }
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
        [THREAD_TID_X] = PTX_SREG_TID_X,
        [THREAD_TID_Y] = PTX_SREG_TID_Y,
        [THREAD_TID_Z] = PTX_SREG_TID_Z,
        [THREAD_CTAID_X] = PTX_SREG_CTAID_X,
        [THREAD_CTAID_Y] = PTX_SREG_CTAID_Y,
        [THREAD_CTAID_Z] = PTX_SREG_CTAID_Z,
        [THREAD_NCTAID_X] = PTX_SREG_NCTAID_X,
        [THREAD_NCTAID_Y] = PTX_SREG_NCTAID_Y,
        [THREAD_NCTAID_Z] = PTX_SREG_NCTAID_Z,
        [THREAD_LANE] = PTX_SREG_LANEID,
        [THREAD_CLUSTERID_X] = PTX_SREG_CLUSTERID_X,
        [THREAD_CLUSTERID_Y] = PTX_SREG_CLUSTERID_Y,
        [THREAD_CLUSTERID_Z] = PTX_SREG_CLUSTERID_Z,
        [THREAD_CLUSTER_RANK] = PTX_SREG_CLUSTER_CTARANK,
    };
    ptx_emit(&n->build, "mov.u32", nvptx_registers_of(n, op->results.data[0])->word[0],
             ptx_special(special[op->op]));
}

static void shuffle(struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_registers *to = nvptx_registers_of(n, op->results.data[0]);
    const struct thread_operand *o = op->operands.data;
    const bool up = op->op == THREAD_SHUFFLE_UP;
    if (o->kind != THREAD_VALUE || (up && o->value->type.count > 1)) {
        nvptx_fail(n, op);
        return;
    }
    struct nvptx_lane lane = {.how = op->op, .lane = nvptx_scalar(n, &o[1], DT_U32)};
    const struct nvptx_registers *from = nvptx_registers_of(n, o->value);
    const bool words = o->value->type.count > 1;
    if (up) {
        lane.width = o[2].integer;
        lane.there = nvptx_registers_of(n, op->results.data[1])->word[0];
    }
    for (uint16_t w = 0; w < to->words; w++)
        nvptx_set_result(n, nvptx_register_type(o->value->type), to->word[w],
                         nvptx_shuffle(&n->scalars, op->types[0], words, from->word[w], &lane));
}

/* Bits have no sign. */
static void reduce_lanes(struct nvptx *n, const struct thread_operation *op)
{
    static const char *const name[][2] = {{"redux.sync.add.u32", "redux.sync.add.s32"},
                                          {"redux.sync.min.u32", "redux.sync.min.s32"},
                                          {"redux.sync.max.u32", "redux.sync.max.s32"},
                                          {"redux.sync.and.b32", "redux.sync.and.b32"},
                                          {"redux.sync.or.b32", "redux.sync.or.b32"}};
    const struct thread_operand *o = op->operands.data;
    const enum dtype t = op->types[0];
    if ((t != DT_U32 && t != DT_I32) || o->kind != THREAD_VALUE || o->value->type.count > 1) {
        nvptx_fail(n, op);
        return;
    }
    ptx_emit(&n->build, name[op->op - THREAD_WARP_ADD][t == DT_I32],
             nvptx_registers_of(n, op->results.data[0])->word[0], nvptx_scalar(n, o, t),
             ptx_int(-1));
}

void nvptx_compute(struct nvptx *n, const struct thread_operation *op)
{
    switch (op->op) {
    case THREAD_WARP_ADD:
    case THREAD_WARP_MIN:
    case THREAD_WARP_MAX:
    case THREAD_WARP_AND:
    case THREAD_WARP_OR: reduce_lanes(n, op); break;
    case THREAD_WARP: nvptx_warp(n, nvptx_registers_of(n, op->results.data[0])->word[0]); break;
    case THREAD_UNDEFINED: nvptx_registers_of(n, op->results.data[0]); break;
    case THREAD_TABLE: nvptx_table(n, op); break;
    case THREAD_LOCAL: nvptx_local(n, op); break;
    case THREAD_PART: nvptx_part(n, op); break;
    case THREAD_JOIN:
    case THREAD_WEAVE: nvptx_join(n, op); break;
    case THREAD_REDUCE_MAX:
    case THREAD_REDUCE_MIN:
    case THREAD_REDUCE_ADD:
    case THREAD_REDUCE_AND:
    case THREAD_REDUCE_OR: nvptx_reduce(n, op); break;
    case THREAD_INDEX:
    case THREAD_CONVERT: convert(n, op); break;
    case THREAD_MUL_WIDE:
    case THREAD_MAD_WIDE: multiply_wide(n, op); break;
    case THREAD_BITS: bits(n, op); break;
    case THREAD_SHUFFLE:
    case THREAD_SHUFFLE_XOR:
    case THREAD_SHUFFLE_UP: shuffle(n, op); break;
    default:
        if (op->op <= THREAD_LANE)
            place(n, op);
        else
            elementwise(n, op);
        break;
    }
}
