/* Values of thread IR as sums of products. */
#include "thread/thread_value_sum.h"

void thread_value_note(struct value_sums *g, struct thread_value *v,
                       const struct thread_operation *op, uint32_t depth, uint32_t level)
{
    while (g->info.count <= v->number)
        vec_push(g->arena, &g->info, ((struct value_info){.definition = NULL}));
    g->info.data[v->number] = (struct value_info){op, v, depth, level, NULL, false};
}

void thread_value_note_region(struct value_sums *g, const struct thread_region *r, uint32_t depth,
                              uint32_t level)
{
    for (size_t i = 0; i < r->arguments.count; i++)
        thread_value_note(g, r->arguments.data[i], NULL, depth, level);
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->results.count; j++)
            thread_value_note(g, op->results.data[j], op, depth, level);
        for (size_t j = 0; j < op->regions.count; j++)
            thread_value_note_region(g, op->regions.data[j], depth + (op->op == THREAD_LOOP),
                                     level + 1);
    }
}

uint32_t thread_value_depth(const struct value_sums *g, const struct term *t)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (g->info.data[t->leaf[i]].depth > depth)
            depth = g->info.data[t->leaf[i]].depth;
    return depth;
}

uint32_t thread_value_level(const struct value_sums *g, const struct term *t)
{
    uint32_t level = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (g->info.data[t->leaf[i]].level > level)
            level = g->info.data[t->leaf[i]].level;
    return level;
}

static struct sum *new_sum(struct value_sums *g, bool narrow)
{
    struct sum *s = arena_room(g->arena, sizeof *s);
    thread_sum_clear(s, narrow);
    return s;
}

static struct sum *leaf_sum(struct value_sums *g, const struct thread_value *v, bool narrow)
{
    struct sum *s = new_sum(g, narrow);
    thread_sum_add_leaf(s, v, 1);
    return s;
}

/* Returns a factor. A sum that no loop changes stays one value, so that its terms are not multiplied one by one; a constant in it
 * is a term of its own. */
static const struct sum *factor_of(struct value_sums *g, const struct thread_operand *o,
                                   bool narrow, bool words, int level)
{
    const struct sum *s = thread_value_sum(g, o, narrow, words, level);
    const bool constant = s->count > 0 && s->term[0].count == 0;
    if (o->kind != THREAD_VALUE || s->count < 2)
        return s;
    for (int i = 0; i < s->count; i++)
        if (thread_value_depth(g, &s->term[i]) > 0)
            return s;
    /* the value below conversions, whose bits it has */
    struct thread_value *v = o->value;
    const struct thread_operation *op = g->info.data[v->number].definition;
    while (op && (op->op == THREAD_INDEX || (op->op == THREAD_CONVERT && (narrow || !words))) &&
           op->operands.data[0].kind == THREAD_VALUE) {
        words |= op->op == THREAD_INDEX;
        v = op->operands.data[0].value;
        op = g->info.data[v->number].definition;
    }
    if (!constant)
        return leaf_sum(g, v, narrow);
    if (!op || op->op != THREAD_ADD || op->operands.data[1].kind != THREAD_INTEGER ||
        !(words ? thread_is_word(op->types[0]) : thread_is_long(op->types[0])))
        return s;
    struct sum *more = new_sum(g, narrow);
    thread_sum_add_scaled(more, factor_of(g, &op->operands.data[0], narrow, words, level + 1), 1);
    thread_sum_add_constant(more, op->operands.data[1].integer);
    return more;
}

/* Returns the sum of an operation's result; NULL: the result is a leaf. */
static const struct sum *sum_of_operation(struct value_sums *g, const struct thread_operation *op,
                                          bool narrow, bool words, int level)
{
    const struct thread_operand *o = op->operands.data;
    const enum dtype t = op->types[0];
    const bool same = words ? thread_is_word(t) : thread_is_long(t);
    if (op->op == THREAD_INDEX && !narrow && !words && thread_is_word(op->types[1]))
        return thread_value_sum(g, &o[0], narrow, true, level);
    if (op->op == THREAD_CONVERT && narrow && thread_is_word(t) && thread_is_word(op->types[1]))
        return thread_value_sum(g, &o[0], narrow, true, level);
    if (op->op == THREAD_CONVERT && !words && !narrow && thread_is_long(t) &&
        thread_is_word(op->types[1]) &&
        o[0].kind == THREAD_VALUE) { /* it may have wrapped before the conversion, a counter in the
                                        iterations before */
        const struct value_info *from = &g->info.data[o[0].value->number];
        return !from->definition && from->depth > 0 ? NULL : leaf_sum(g, o[0].value, false);
    }
    if (op->op == THREAD_CONVERT && !words && thread_is_long(t) && thread_is_long(op->types[1]))
        return thread_value_sum(g, &o[0], narrow, false, level);
    if (!same)
        return NULL;
    struct sum *s = new_sum(g, narrow);
    switch (op->op) {
    case THREAD_ADD:
    case THREAD_SUB:
        thread_sum_add_scaled(s, thread_value_sum(g, &o[0], narrow, words, level), 1);
        thread_sum_add_scaled(s, thread_value_sum(g, &o[1], narrow, words, level),
                              op->op == THREAD_ADD ? 1 : -1);
        return s;
    case THREAD_NEG:
        thread_sum_add_scaled(s, thread_value_sum(g, &o[0], narrow, words, level), -1);
        return s;
    case THREAD_MUL:
        thread_sum_add_product(s, factor_of(g, &o[0], narrow, words, level),
                               factor_of(g, &o[1], narrow, words, level));
        return s;
    case THREAD_SHL:
        if (o[1].kind != THREAD_INTEGER || o[1].integer < 0 || o[1].integer > 30)
            return NULL;
        thread_sum_add_scaled(s, thread_value_sum(g, &o[0], narrow, words, level),
                              (int64_t)1 << o[1].integer);
        return s;
    default: return NULL;
    }
}

const struct sum *thread_value_sum(struct value_sums *g, const struct thread_operand *o,
                                   bool narrow, bool words, int level)
{
    enum { MOST_LEVEL = 24 };
    if (o->kind == THREAD_INTEGER) {
        struct sum *s = new_sum(g, narrow);
        thread_sum_add_constant(s, o->integer);
        return s;
    }
    struct value_info *info = &g->info.data[o->value->number];
    if (info->sum && info->sum->narrow == narrow && info->words == words)
        return info->sum;
    const bool opens = info->definition && (narrow || !words || !o->value->wraps);
    const struct sum *s = opens && level < MOST_LEVEL
                              ? sum_of_operation(g, info->definition, narrow, words, level + 1)
                              : NULL;
    if (!s || s->failed)
        s = leaf_sum(g, o->value, narrow);
    if (level >= MOST_LEVEL)
        return s;
    info->sum = s;
    info->words = words;
    return s;
}
