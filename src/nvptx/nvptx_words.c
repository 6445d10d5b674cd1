/* The registers of values: elements and the words in which they lie.
 *
 * A scalar has a register of its own: f16 and bf16 a .b16, smaller integers and bytes a .b32, extended. Elements of
 * a group that are smaller than 32 bits share words: 2 of 16 bits, 4 of 8 bits, the first one in the lowest bits. If
 * they do not fill the last word, its other elements have any value. */
#include "nvptx/nvptx_own.h"

uint16_t nvptx_per_word(enum dtype t)
{
    return (uint16_t)(t == DT_NONE || t == DT_BOOL || dtype_size(t) >= 4 ? 1 : 4 / dtype_size(t));
}

enum ptx_mod nvptx_register_type(struct thread_type t)
{
    return t.count == 1 && dtype_is_half(t.dtype) ? MOD_B16 : nvptx_word_type(t.dtype);
}

uint16_t nvptx_words(struct thread_type type)
{
    const uint16_t each = nvptx_per_word(type.dtype);
    return (uint16_t)((type.count + each - 1) / each);
}

enum ptx_mod nvptx_word_type(enum dtype t)
{
    switch (t) {
    case DT_NONE: return MOD_U64;
    case DT_BOOL: return MOD_PRED;
    case DT_U32: return MOD_U32;
    case DT_I32: return MOD_S32;
    case DT_U64: return MOD_U64;
    case DT_I64: return MOD_S64;
    case DT_F32: return MOD_F32;
    case DT_F64: return MOD_F64;
    default: return MOD_B32;
    }
}

/* --- operands --- */

/* Returns a constant as a scalar. */
static struct ptx_operand constant(struct nvptx *n, const struct thread_operand *o, enum dtype t)
{
    if (t == DT_NONE || t == DT_BOOL)
        return ptx_int(o->integer);
    return o->kind == THREAD_FLOAT ? nvptx_real(&n->scalars, t, o->real)
                                   : nvptx_integer(&n->scalars, t, o->integer);
}

uint32_t nvptx_bits_of_constant(const struct thread_operand *o, enum dtype t)
{
    const double real = o->kind == THREAD_FLOAT ? o->real : (double)o->integer;
    switch (t) {
    case DT_F16: return f64_to_f16(real);
    case DT_BF16: return f64_to_bf16(real);
    case DT_E4M3: return f32_to_e4m3((float)real);
    case DT_E5M2: return f32_to_e5m2((float)real);
    default: return (uint32_t)o->integer;
    }
}

/* Returns a constant as a word, which its elements fill. */
static struct ptx_operand constant_word(struct nvptx *n, const struct thread_operand *o,
                                        enum dtype t)
{
    switch (nvptx_per_word(t)) {
    case 2: return ptx_int((int64_t)(nvptx_bits_of_constant(o, t) & 0xffff) * 0x10001);
    case 4: return ptx_int((int64_t)(nvptx_bits_of_constant(o, t) & 0xff) * 0x1010101);
    default: return constant(n, o, t);
    }
}

struct ptx_operand nvptx_scalar(struct nvptx *n, const struct thread_operand *o, enum dtype t)
{
    if (o->kind != THREAD_VALUE)
        return constant(n, o, t);
    return nvptx_registers_of(n, o->value)->word[0];
}

struct ptx_operand nvptx_word(struct nvptx *n, const struct thread_operand *o, enum dtype t,
                              uint16_t i)
{
    if (o->kind != THREAD_VALUE)
        return constant_word(n, o, t);
    const struct nvptx_registers *r = nvptx_registers_of(n, o->value);
    if (o->value->type.count > 1)
        return r->word[i];
    const struct ptx_operand one = r->word[0], all[4] = {one, one, one, one};
    return nvptx_per_word(t) > 1 ? nvptx_pack(&n->scalars, t, all) : one;
}

/* Returns the registers of a value that has the words of its operands. */
static const struct nvptx_registers *registers_of_same(struct nvptx *n,
                                                       const struct thread_value *v)
{
    const struct thread_operation *op = n->same[v->number];
    const struct thread_operand *o = op->operands.data;
    struct nvptx_registers *own = &n->registers[v->number];
    if (op->op == THREAD_CONVERT)
        return nvptx_registers_of(n, o[0].value);
    if (own->word)
        return own;
    own->words = nvptx_words(v->type);
    if (op->op == THREAD_PART) {
        own->word =
            nvptx_registers_of(n, o[0].value)->word + o[1].integer / nvptx_per_word(v->type.dtype);
        return own;
    }
    own->word = arena_array(n->arena, struct ptx_operand, own->words);
    uint16_t at = 0;
    for (size_t i = 0; i < op->operands.count; i++) {
        const uint16_t words = o[i].kind == THREAD_VALUE ? nvptx_words(o[i].value->type) : 1;
        for (uint16_t w = 0; w < words; w++)
            own->word[at++] = nvptx_word(n, &o[i], v->type.dtype, w);
    }
    return own;
}

const struct nvptx_registers *nvptx_registers_of(struct nvptx *n, const struct thread_value *v)
{
    if (n->same[v->number])
        return registers_of_same(n, v);
    struct nvptx_registers *r = &n->registers[n->shares[v->number]];
    if (!r->word) {
        r->words = nvptx_words(v->type);
        r->word = arena_array(n->arena, struct ptx_operand, r->words);
        for (uint16_t i = 0; i < r->words; i++)
            r->word[i] = ptx_reg(&n->build, nvptx_register_type(v->type));
    }
    return r;
}

struct ptx_operand *nvptx_elements(struct nvptx *n, const struct thread_operand *o, enum dtype t,
                                   uint16_t count)
{
    const uint16_t each = nvptx_per_word(t);
    const bool is_group = o->kind == THREAD_VALUE && o->value->type.count > 1;
    struct ptx_operand *e = arena_array(n->arena, struct ptx_operand, count + 4),
                       one = is_group ? ptx_sink() : nvptx_scalar(n, o, t);
    for (size_t i = 0; i < count; i += is_group ? each : 1)
        if (!is_group)
            e[i] = one;
        else if (each > 1)
            nvptx_unpack(&n->scalars, t, nvptx_word(n, o, t, (uint16_t)(i / each)), e + i);
        else
            e[i] = nvptx_word(n, o, t, (uint16_t)i);
    return e;
}

/* --- results --- */

void nvptx_fail(struct nvptx *n, const struct thread_operation *op)
{
    if (!n->failed)
        diag_error(n->diag, op->where, "no instruction of sm_%d%.1s does `%s` with these types",
                   n->function->target.number, &n->function->target.suffix,
                   thread_op_table[op->op].text);
    n->failed = true;
}

void nvptx_guarded(struct nvptx *n, struct ptx_instruction *ins)
{
    if (n->guard.kind == PTX_REGISTER)
        ptx_when(ins, n->guard);
}

void nvptx_set(struct nvptx *n, enum ptx_mod type, struct ptx_operand to, struct ptx_operand from)
{
    if (type == MOD_PRED && from.kind == PTX_IMMEDIATE)
        nvptx_guarded(
            n, ptx_emit(&n->build, "setp.ne.u32", to, ptx_int((int64_t)from.bits), ptx_int(0)));
    else
        nvptx_guarded(n, ptx_emit_for(&n->build, PTX_TYPES((uint16_t)type), "mov.*", to, from));
}

struct ptx_instruction *nvptx_latest(struct nvptx *n)
{
    const struct ptx_function *f = n->build.function;
    size_t count = f->body.count;
    while (count > 0 && f->body.data[count - 1].kind == PTX_AT_MARK)
        count--;
    const struct ptx_statement *last = count ? &f->body.data[count - 1] : NULL;
    return last && last->kind == PTX_AT_INSTRUCTION && !last->instruction->guarded
               ? last->instruction
               : NULL;
}

/* Returns where the latest instruction names that register, if it always writes it: alone, as one of the elements of a word
 * that it takes apart, or as the result of a call. NULL: it does not. */
static struct ptx_operand *written_as(struct nvptx *n, struct ptx_operand r)
{
    struct ptx_instruction *ins = nvptx_latest(n);
    if (!ins || ins->operand_count == 0 || ins->op == PTX_ST || r.kind != PTX_REGISTER || r.negated)
        return NULL;
    struct ptx_operand *to = &ins->operands[0];
    const bool several = (ins->op == PTX_MOV && to->kind == PTX_VECTOR) || to->kind == PTX_LIST;
    const size_t count = several ? to->count : 1;
    to = several ? to->elements : to;
    for (size_t i = 0; i < count; i++)
        if (to[i].kind == PTX_REGISTER && to[i].reg == r.reg)
            return &to[i];
    return NULL;
}

void nvptx_set_result(struct nvptx *n, enum ptx_mod type, struct ptx_operand to,
                      struct ptx_operand result)
{
    struct ptx_operand *written = written_as(n, result);
    if (!written) {
        nvptx_set(n, type, to, result);
        return;
    }
    *written = to;
    ptx_release(&n->build, result);
}

void nvptx_give(struct nvptx *n, enum ptx_mod type, struct ptx_operand to, struct ptx_operand from,
                bool made)
{
    if (made && from.kind == PTX_REGISTER && n->guard.kind == PTX_NOTHING)
        nvptx_set_result(n, type, to, from);
    else
        nvptx_set(n, type, to, from);
}

struct ptx_operand nvptx_packed(struct nvptx *n, struct thread_type t,
                                const struct ptx_operand *elements, uint16_t w)
{
    const uint16_t each = nvptx_per_word(t.dtype);
    struct ptx_operand part[4];
    if (each == 1)
        return elements[w];
    for (uint16_t i = 0; i < each; i++) {
        const int at = w * each + i;
        part[i] = elements[at < t.count ? at : t.count - 1];
        if (part[i].kind != PTX_REGISTER) {
            struct ptx_operand r = nvptx_new_register(&n->scalars, t.dtype);
            nvptx_move(&n->scalars, t.dtype, r, part[i]);
            part[i] = r;
        }
    }
    return nvptx_pack(&n->scalars, t.dtype, part);
}

void nvptx_put(struct nvptx *n, const struct thread_value *v, const struct ptx_operand *elements)
{
    const struct nvptx_registers *to = nvptx_registers_of(n, v);
    const enum ptx_mod type = nvptx_register_type(v->type);
    const bool packed = v->type.count > 1 && nvptx_per_word(v->type.dtype) > 1;
    for (uint16_t w = 0; w < to->words; w++)
        if (packed)
            nvptx_set_result(n, type, to->word[w], nvptx_packed(n, v->type, elements, w));
        else
            nvptx_set(n, type, to->word[w], elements[w]);
}

void nvptx_put_result(struct nvptx *n, const struct thread_value *v,
                      const struct ptx_operand *elements, uint16_t i)
{
    const struct nvptx_registers *to = nvptx_registers_of(n, v);
    const uint16_t each = v->type.count > 1 ? nvptx_per_word(v->type.dtype) : 1;
    const enum ptx_mod type = nvptx_register_type(v->type);
    if (each == 1)
        nvptx_set_result(n, type, to->word[i], elements[i]);
    else if (i % each == each - 1 || i + 1 == v->type.count)
        nvptx_set_result(n, type, to->word[i / each], nvptx_packed(n, v->type, elements, i / each));
}
