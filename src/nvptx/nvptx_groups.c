/* Groups: parts, groups of several values, and groups reduced to one element. */
#include "nvptx/nvptx_own.h"

static bool is_group(const struct thread_operand *o)
{
    return o->kind == THREAD_VALUE && o->value->type.count > 1;
}

/* Words of several values, whose elements are counted from the first one's. */
struct words {
    struct ptx_operand *word;
    uint16_t count;
};

static void add_words(struct nvptx *n, struct words *words, const struct thread_operand *o,
                      enum dtype t)
{
    const uint16_t count = is_group(o) ? nvptx_words(o->value->type) : 1;
    for (uint16_t w = 0; w < count; w++)
        words->word[words->count++] = nvptx_word(n, o, t, w);
}

/* Makes the value of elements of words, by number. */
static void put_gathered(struct nvptx *n, const struct thread_value *v, const struct words *words,
                         const int32_t *element)
{
    const struct nvptx_registers *to = nvptx_registers_of(n, v);
    const enum dtype t = v->type.dtype;
    const uint16_t each = nvptx_per_word(t);
    for (uint16_t w = 0; w < to->words; w++) {
        const int first = w * each, left = v->type.count - first, some = left < each ? left : each;
        const struct ptx_operand r =
            nvptx_gather(&n->scalars, t, words->word, element + first, some);
        bool is_source = false;
        for (uint16_t i = 0; i < words->count; i++)
            is_source |= words->word[i].kind != PTX_REGISTER || words->word[i].reg == r.reg;
        if (is_source)
            nvptx_set(n, nvptx_word_type(t), to->word[w], r);
        else
            nvptx_set_result(n, nvptx_word_type(t), to->word[w], r);
    }
}

/* Gives a value one half of a word. The two halves of a word, one after the other, are taken apart together. */
static void put_half(struct nvptx *n, const struct thread_value *v, struct ptx_operand word,
                     unsigned half)
{
    const struct ptx_operand to = nvptx_registers_of(n, v)->word[0];
    struct ptx_operand e[4];
    const struct ptx_instruction *latest = nvptx_latest(n);
    if (latest && latest == n->apart && latest->operands[1].reg == word.reg &&
        !(n->used_apart >> half & 1)) {
        e[half] = latest->operands[0].elements[half];
    } else {
        nvptx_unpack(&n->scalars, v->type.dtype, word, e);
        n->apart = nvptx_latest(n);
        n->used_apart = 0;
    }
    n->used_apart |= 1u << half;
    nvptx_set_result(n, MOD_B16, to, e[half]);
}

void nvptx_part(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const struct thread_value *v = op->results.data[0];
    const enum dtype t = op->types[0];
    const int64_t first = o[1].integer, step = o[3].integer;
    const uint16_t each = nvptx_per_word(t);
    if (n->same[v->number])
        return;
    if (v->type.count == 1 && is_group(&o[0]) && each > 1) {
        const struct ptx_operand word = nvptx_word(n, &o[0], t, (uint16_t)(first / each)),
                                 to = nvptx_registers_of(n, v)->word[0];
        if (dtype_is_half(t))
            put_half(n, v, word, (unsigned)(first % each));
        else
            nvptx_set_result(n, nvptx_register_type(v->type), to,
                             nvptx_unpack_one(&n->scalars, t, word, (int)(first % each)));
    } else if (!is_group(&o[0])) {
        nvptx_put(n, v, nvptx_elements(n, &o[0], t, v->type.count));
    } else {
        struct words words = {
            arena_array(n->arena, struct ptx_operand, nvptx_words(o->value->type)), 0};
        int32_t *element = arena_array(n->arena, int32_t, v->type.count);
        add_words(n, &words, &o[0], t);
        for (uint16_t i = 0; i < v->type.count; i++)
            element[i] = (int32_t)(first + i * step);
        put_gathered(n, v, &words, element);
    }
}

static uint16_t elements_of(const struct thread_operand *o)
{
    return o->kind == THREAD_VALUE ? o->value->type.count : 1;
}

/* Returns whether all operands are the same constant. */
static bool is_constant(const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    bool same = o[0].kind == THREAD_INTEGER || o[0].kind == THREAD_FLOAT;
    for (size_t i = 1; i < op->operands.count; i++)
        same &= o[i].kind == o[0].kind && o[i].integer == o[0].integer;
    return same;
}

/* Joins scalars, or scalars and groups. */
static void join_elements(struct nvptx *n, const struct thread_operation *op)
{
    if (is_constant(op) && nvptx_per_word(op->types[0]) > 1) {
        const struct nvptx_registers *to = nvptx_registers_of(n, op->results.data[0]);
        for (uint16_t w = 0; w < to->words; w++)
            nvptx_set(n, MOD_B32, to->word[w],
                      nvptx_word(n, &op->operands.data[0], op->types[0], w));
        return;
    }
    const struct thread_value *v = op->results.data[0];
    struct ptx_operand *all = arena_array(n->arena, struct ptx_operand, v->type.count);
    uint16_t at = 0;
    for (size_t i = 0; i < op->operands.count; i++) {
        const uint16_t count = elements_of(&op->operands.data[i]);
        const struct ptx_operand *e = nvptx_elements(n, &op->operands.data[i], op->types[0], count);
        for (uint16_t j = 0; j < count; j++)
            all[at++] = e[j];
    }
    nvptx_put(n, v, all);
}

/* The elements of one value after those of another, or one of each in turn. */
void nvptx_join(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_value *v = op->results.data[0];
    const enum dtype t = op->types[0];
    const size_t values = op->operands.count;
    struct words words = {arena_array(n->arena, struct ptx_operand, v->type.count + values), 0};
    int32_t *element = arena_array(n->arena, int32_t, v->type.count);
    bool groups = v->type.count > 1;
    uint16_t at = 0;
    if (n->same[v->number])
        return;
    for (size_t i = 0; i < values; i++)
        groups &= nvptx_per_word(t) == 1 || is_group(&op->operands.data[i]);
    if (!groups && op->op == THREAD_JOIN) {
        join_elements(n, op);
        return;
    }
    for (size_t i = 0; i < values; i++) {
        const int32_t base = words.count * nvptx_per_word(t);
        const uint16_t count = elements_of(&op->operands.data[i]);
        add_words(n, &words, &op->operands.data[i], t);
        for (uint16_t j = 0; j < count; j++)
            element[op->op == THREAD_JOIN ? at++ : j * values + i] = base + j;
    }
    put_gathered(n, v, &words, element);
}

static enum thread_opcode reduced_by(enum thread_opcode op)
{
    switch (op) {
    case THREAD_REDUCE_MAX: return THREAD_MAX;
    case THREAD_REDUCE_MIN: return THREAD_MIN;
    case THREAD_REDUCE_AND: return THREAD_AND;
    case THREAD_REDUCE_OR: return THREAD_OR;
    default: return THREAD_ADD;
    }
}

/* Pairs, pairs of pairs, and so on: short chains. */
void nvptx_reduce(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const struct thread_value *v = op->results.data[0];
    const enum dtype t = op->types[0];
    if (!nvptx_is_defined(reduced_by(op->op), t) || o->kind != THREAD_VALUE) {
        nvptx_fail(n, op);
        return;
    }
    uint16_t left = o->value->type.count;
    struct ptx_operand *x = nvptx_elements(n, o, t, left);
    while (left > 1) {
        uint16_t half = (uint16_t)((left + 1) / 2);
        for (uint16_t i = 0; i + half < left; i++)
            x[i] = nvptx_op(&n->scalars, reduced_by(op->op), t,
                            (struct ptx_operand[]){x[i], x[i + half]}, 2);
        left = half;
    }
    const struct ptx_operand to = nvptx_registers_of(n, v)->word[0];
    if (o->value->type.count > 1)
        nvptx_set_result(n, nvptx_register_type(v->type), to, x[0]);
    else
        nvptx_set(n, nvptx_register_type(v->type), to, x[0]);
}
