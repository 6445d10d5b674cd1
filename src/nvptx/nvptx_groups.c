/* Groups: parts, groups of several values, and groups reduced to one element. */
#include "nvptx/nvptx_own.h"

static bool is_group(const struct thread_operand *o)
{
    return o->kind == THREAD_VALUE && o->value->type.count > 1;
}

/* Moves whole words. */
static void part_of_words(struct nvptx *n, const struct thread_operation *op, int64_t first,
                          int64_t step)
{
    const struct nvptx_registers *to = nvptx_registers_of(n, op->results.data[0]);
    for (uint16_t w = 0; w < to->words; w++)
        nvptx_set(n, nvptx_word_type(op->types[0]), to->word[w],
                  nvptx_word(n, &op->operands.data[0], op->types[0], (uint16_t)(first + w * step)));
}

void nvptx_part(struct nvptx *n, const struct thread_operation *op)
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

void nvptx_join(struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_registers *to = nvptx_registers_of(n, op->results.data[0]);
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
            nvptx_set(n, nvptx_word_type(op->types[0]), to->word[at++],
                      nvptx_word(n, o, op->types[0], w));
        for (uint16_t j = 0; !whole && j < count; j++)
            all[at++] = e[j];
    }
    if (!whole)
        nvptx_put(n, v, all);
}

void nvptx_weave(struct nvptx *n, const struct thread_operation *op)
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
void nvptx_reduce(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const struct thread_value *v = op->results.data[0];
    const enum dtype t = op->types[0];
    if (t == DT_BOOL || o->kind != THREAD_VALUE) {
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
    nvptx_set_result(n, nvptx_register_type(v->type), nvptx_registers_of(n, v)->word[0], x[0]);
}
