/* Elements and the words in which they lie.
 *
 * A scalar has a register of its own: f16 and bf16 a .b16, smaller integers and bytes a .b32, extended. Elements of
 * a group that are smaller than 32 bits share words: 2 of 16 bits, 4 of 8 bits, the first one in the lowest bits. If
 * they do not fill the last word, its other elements have any value. */
#include "nvptx/nvptx_own.h"

uint16_t nvptx_per_word(enum dtype t)
{
    return t == DT_NONE || t == DT_BOOL || dtype_size(t) >= 4 ? 1 : (uint16_t)(4 / dtype_size(t));
}

enum ptx_mod nvptx_register_type(struct thread_type t)
{
    return t.count == 1 && nvptx_is_half(t.dtype) ? MOD_B16 : nvptx_word_type(t.dtype);
}

static struct ptx_operand moved(struct nvptx *n, enum ptx_mod type, struct ptx_operand from)
{
    struct ptx_operand r = ptx_reg(&n->build, type);
    ptx_emit_for(&n->build, PTX_TYPES((uint16_t)type), "mov.*", r, from);
    return r;
}

/* Returns a constant as a scalar. */
static struct ptx_operand constant(struct nvptx *n, const struct thread_operand *o, enum dtype t)
{
    const double real = o->kind == THREAD_FLOAT ? o->real : (double)o->integer;
    switch (t) {
    case DT_F32: return ptx_f32((float)real);
    case DT_F64: return ptx_f64(real);
    case DT_F16: return moved(n, MOD_B16, ptx_int(f64_to_f16(real)));
    case DT_BF16: return moved(n, MOD_B16, ptx_int(f64_to_bf16(real)));
    case DT_NONE: return ptx_int(o->integer);
    default: return ptx_int(dtype_wrap(t, o->integer));
    }
}

/* Returns a constant as a word, which its elements fill. */
static struct ptx_operand constant_word(struct nvptx *n, const struct thread_operand *o,
                                        enum dtype t)
{
    const double real = o->kind == THREAD_FLOAT ? o->real : (double)o->integer;
    switch (t) {
    case DT_F16: return ptx_int((int64_t)f64_to_f16(real) * 0x10001);
    case DT_BF16: return ptx_int((int64_t)f64_to_bf16(real) * 0x10001);
    case DT_I16:
    case DT_U16: return ptx_int((o->integer & 0xffff) * 0x10001);
    case DT_I8:
    case DT_U8: return ptx_int((o->integer & 0xff) * 0x1010101);
    default: return constant(n, o, t);
    }
}

/* --- between words and elements --- */

void nvptx_unpack(struct nvptx *n, enum dtype t, struct ptx_operand word,
                  struct ptx_operand *elements)
{
    const int bits = dtype_table[t].bits;
    const uint16_t type = dtype_table[t].kind == DK_SINT ? MOD_S32 : MOD_U32;
    for (int i = 0; i < 32 / bits; i++)
        elements[i] = ptx_reg(&n->build, nvptx_is_half(t) ? MOD_B16 : MOD_B32);
    if (nvptx_is_half(t)) {
        ptx_emit(&n->build, "mov.b32", ptx_vector(&n->build, elements, 2), word);
        return;
    }
    for (int i = 0; i < 32 / bits; i++)
        ptx_emit_for(&n->build, &type, "bfe.*", elements[i], word, ptx_int(i * bits),
                     ptx_int(bits));
}

/* Puts bytes or halves of two registers together (PTX ISA, prmt: a digit for each byte of the result). */
static struct ptx_operand permuted(struct nvptx *n, struct ptx_operand a, struct ptx_operand b,
                                   int64_t bytes)
{
    struct ptx_operand r = ptx_reg(&n->build, MOD_B32);
    ptx_emit(&n->build, "prmt.b32", r, a, b, ptx_int(bytes));
    return r;
}

static struct ptx_operand pack(struct nvptx *n, enum dtype t, const struct ptx_operand *elements)
{
    enum { LOW_BYTES = 0x0040, LOW_HALVES = 0x5410 };
    if (nvptx_is_half(t))
        return moved(n, MOD_B32, ptx_vector(&n->build, elements, 2));
    if (nvptx_per_word(t) == 2)
        return permuted(n, elements[0], elements[1], LOW_HALVES);
    return permuted(n, permuted(n, elements[0], elements[1], LOW_BYTES),
                    permuted(n, elements[2], elements[3], LOW_BYTES), LOW_HALVES);
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
    return nvptx_per_word(t) > 1 ? pack(n, t, all) : one;
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
            nvptx_unpack(n, t, nvptx_word(n, o, t, (uint16_t)(i / each)), e + i);
        else
            e[i] = nvptx_word(n, o, t, (uint16_t)i);
    return e;
}

/* Emits a move. A constant predicate needs a comparison. */
void nvptx_move(struct nvptx *n, enum ptx_mod type, struct ptx_operand to, struct ptx_operand from)
{
    if (type == MOD_PRED && from.kind == PTX_IMMEDIATE)
        ptx_emit(&n->build, "setp.ne.u32", to, ptx_int((int64_t)from.bits), ptx_int(0));
    else
        ptx_emit_for(&n->build, PTX_TYPES((uint16_t)type), "mov.*", to, from);
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
        if (part[i].kind != PTX_REGISTER)
            part[i] = moved(n, nvptx_is_half(t.dtype) ? MOD_B16 : MOD_B32, part[i]);
    }
    return pack(n, t.dtype, part);
}

void nvptx_put(struct nvptx *n, const struct thread_value *v, const struct ptx_operand *elements)
{
    const struct nvptx_registers *to = nvptx_registers_of(n, v);
    for (uint16_t w = 0; w < to->words; w++)
        nvptx_move(n, nvptx_register_type(v->type), to->word[w],
                   v->type.count > 1 ? nvptx_packed(n, v->type, elements, w) : elements[w]);
}
