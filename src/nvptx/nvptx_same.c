/* Values without registers of their own: conversions that keep the bits, parts of groups, and groups of several values have
 * the words of their operands. Values that loops and branches pass, and those to which a product adds, have their own, because
 * these words are written again. */
#include "nvptx/nvptx_own.h"

struct uses {
    struct nvptx *n;
    bool *written;    /* by number: the words of the value may be written again */
    bool *not_stored; /* by number: an operation other than a store uses the value */
};

/* Returns whether the words of operand i of the operation may be written again: it is passed, or a group that is added to. */
static bool writes_again(const struct thread_operation *op, size_t i)
{
    const bool tests = (op->op == THREAD_IF || op->op == THREAD_BREAK_IF) && i == 0;
    if (thread_op_table[op->op].effects == THREAD_CONTROL)
        return !tests;
    return nvptx_added_to(op->op) == (int)i && op->operands.data[i].value->type.count > 1;
}

static void note_uses(struct uses *u, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        const bool stores =
            op->op == THREAD_STORE || op->op == THREAD_STORE_SHARED || op->op == THREAD_STORE_LOCAL;
        for (size_t j = 0; j < op->operands.count; j++) {
            const struct thread_value *v = op->operands.data[j].value;
            if (!v)
                continue;
            u->written[v->number] |= writes_again(op, j);
            u->not_stored[v->number] |= !stores;
        }
        for (size_t j = 0; j < op->results.count; j++)
            u->written[op->results.data[j]->number] |= op->op == THREAD_PRODUCT_WAIT;
        for (size_t j = 0; j < op->regions.count; j++)
            note_uses(u, op->regions.data[j]);
    }
}

static bool is_word(enum dtype t)
{
    return t == DT_I32 || t == DT_U32;
}

/* Returns whether a register has the same bits after the conversion: integers smaller than a word are extended in it. */
static bool keeps_word(enum dtype to, enum dtype from)
{
    if (!dtype_is_int(to) || !dtype_is_int(from) || dtype_size(to) > 4 || dtype_size(from) > 4)
        return false;
    return is_word(to) ||
           (dtype_size(to) > dtype_size(from) && (dtype_is_signed(to) || !dtype_is_signed(from)));
}

static bool is_long(enum dtype t)
{
    return t == DT_I64 || t == DT_U64;
}

/* Returns whether the elements fill whole words of a group. */
static bool fills_words(struct thread_type t)
{
    return t.count % nvptx_per_word(t.dtype) == 0;
}

static bool part_has_words(const struct uses *u, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const struct thread_type t = op->results.data[0]->type;
    return o[0].kind == THREAD_VALUE && o[0].value->type.count > 1 &&
           !u->written[o[0].value->number] && (t.count == 1 || o[3].integer == 1) &&
           fills_words(t) && o[1].integer % nvptx_per_word(t.dtype) == 0;
}

static bool join_has_words(const struct uses *u, const struct thread_operation *op)
{
    const bool stored = !u->not_stored[op->results.data[0]->number];
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        if (o->kind == THREAD_VALUE &&
            (u->written[o->value->number] || !fills_words(o->value->type)))
            return false;
        if (o->kind != THREAD_VALUE && (!stored || nvptx_per_word(op->types[0]) > 1))
            return false;
    }
    return op->results.data[0]->type.dtype != DT_BOOL;
}

static bool has_same_words(const struct uses *u, const struct thread_operation *op)
{
    const enum dtype to = op->types[0], from = op->types[1];
    if (op->results.count != 1 || u->written[op->results.data[0]->number])
        return false;
    switch (op->op) {
    case THREAD_CONVERT:
        return op->operands.data[0].kind == THREAD_VALUE && op->results.data[0]->type.count == 1 &&
               (keeps_word(to, from) || (is_long(to) && is_long(from)));
    case THREAD_PART: return part_has_words(u, op);
    case THREAD_JOIN: return join_has_words(u, op);
    default: return false;
    }
}

static void find(const struct uses *u, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        if (has_same_words(u, op))
            u->n->same[op->results.data[0]->number] = op;
        for (size_t j = 0; j < op->regions.count; j++)
            find(u, op->regions.data[j]);
    }
}

void nvptx_find_same(struct nvptx *n)
{
    const uint32_t count = n->function->values + 1;
    struct uses u = {n, arena_array(n->arena, bool, count), arena_array(n->arena, bool, count)};
    note_uses(&u, n->function->body);
    find(&u, n->function->body);
}
