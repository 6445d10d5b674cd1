/* The registers of values.
 *
 * A product adds to the registers of its sums, so its result has to have the same ones; and each turn of a
 * loop should begin with its sums where the last turn left them. So groups that follow each other share
 * registers, if no two of them are live at the same time. Operations are counted in the order of the text; a value
 * is live from its definition to its last use, or to the end of a loop if it comes from outside of it. */
#include "nvptx/nvptx_own.h"

struct range {
    uint32_t from, to;
};

struct liveness {
    struct nvptx *n;
    struct range *ranges; /* by number */
    uint32_t *next;       /* by number: the next value that shares the registers; a ring */
    uint32_t at;
};

uint16_t nvptx_words(struct thread_type type)
{
    if (type.dtype == DT_NONE || type.dtype == DT_BOOL || dtype_size(type.dtype) >= 4)
        return type.count;
    return (uint16_t)((type.count * dtype_size(type.dtype) + 3) / 4);
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

const struct nvptx_registers *nvptx_registers_of(struct nvptx *n, const struct thread_value *v)
{
    struct nvptx_registers *r = &n->registers[n->shares[v->number]];
    if (!r->word) {
        r->words = nvptx_words(v->type);
        r->word = arena_array(n->arena, struct ptx_operand, r->words);
        for (uint16_t i = 0; i < r->words; i++)
            r->word[i] = ptx_reg(&n->build, nvptx_word_type(v->type.dtype));
    }
    return r;
}

/* --- ranges --- */

static void define(struct liveness *l, const struct thread_value *v)
{
    l->ranges[v->number] = (struct range){l->at, l->at};
}

static void use_all(struct liveness *l, const struct thread_operation *op)
{
    for (size_t i = 0; i < op->operands.count; i++)
        if (op->operands.data[i].value)
            l->ranges[op->operands.data[i].value->number].to = l->at;
}

static void extend(struct liveness *l, const struct thread_region *r, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++) {
            const struct thread_value *v = op->operands.data[j].value;
            if (v && l->ranges[v->number].from < from)
                l->ranges[v->number].to = to;
        }
        for (size_t j = 0; j < op->regions.count; j++)
            extend(l, op->regions.data[j], from, to);
    }
}

static void walk(struct liveness *l, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        uint32_t from = ++l->at;
        use_all(l, op);
        for (size_t j = 0; j < op->regions.count; j++) {
            const struct thread_region *inner = op->regions.data[j];
            for (size_t k = 0; k < inner->arguments.count; k++)
                define(l, inner->arguments.data[k]);
            walk(l, inner);
            if (op->op == THREAD_LOOP)
                extend(l, inner, from, l->at + 1);
        }
        l->at += op->regions.count > 0;
        for (size_t j = 0; j < op->results.count; j++)
            define(l, op->results.data[j]);
    }
}

/* --- sharing --- */

static bool live_together(const struct range *a, const struct range *b)
{
    uint32_t from = a->from > b->from ? a->from : b->from, to = a->to < b->to ? a->to : b->to;
    return from < to;
}

/* Returns whether the registers of a and of b can be the same. */
static bool apart(const struct liveness *l, uint32_t a, uint32_t b)
{
    uint32_t x = a;
    do {
        uint32_t y = b;
        do {
            if (live_together(&l->ranges[x], &l->ranges[y]))
                return false;
            y = l->next[y];
        } while (y != b);
        x = l->next[x];
    } while (x != a);
    return true;
}

static void share(struct liveness *l, const struct thread_operand *from,
                  const struct thread_value *to)
{
    if (from->kind != THREAD_VALUE || to->type.count == 1 ||
        from->value->type.count != to->type.count)
        return;
    uint32_t *shares = l->n->shares, a = shares[from->value->number], b = shares[to->number];
    if (a == b || !apart(l, a, b))
        return;
    uint32_t x = b;
    do {
        shares[x] = a;
        x = l->next[x];
    } while (x != b);
    uint32_t after = l->next[a];
    l->next[a] = l->next[b];
    l->next[b] = after;
}

/* Returns the operand whose registers the result has to have, or should have, since it is added to; -1: none. */
static int added_to(enum thread_opcode op)
{
    switch (op) {
    case THREAD_PRODUCT:
    case THREAD_PRODUCT_FROM:
    case THREAD_PRODUCT_COMMIT:
    case THREAD_PRODUCT_WAIT:
    case THREAD_MMA: return 0;
    case THREAD_FMA: return 2;
    default: return -1;
    }
}

/* Shares what products must, or what is passed to arguments and results. */
static void share_region(struct liveness *l, const struct thread_region *r, bool products,
                         const struct thread_operation *loop, const struct thread_operation *branch)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        const struct thread_operand *o = op->operands.data;
        if (products && added_to(op->op) >= 0)
            share(l, &o[added_to(op->op)], op->results.data[0]);
        for (size_t j = 0; !products && j < op->operands.count; j++) {
            if (op->op == THREAD_LOOP)
                share(l, &o[j], op->regions.data[0]->arguments.data[j]);
            else if (op->op == THREAD_CONTINUE)
                share(l, &o[j], loop->regions.data[0]->arguments.data[j]);
            else if (op->op == THREAD_BREAK || (op->op == THREAD_BREAK_IF && j > 0))
                share(l, &o[j], loop->results.data[j - (op->op == THREAD_BREAK_IF)]);
            else if (op->op == THREAD_YIELD)
                share(l, &o[j], branch->results.data[j]);
        }
        for (size_t j = 0; j < op->regions.count; j++)
            share_region(l, op->regions.data[j], products, op->op == THREAD_LOOP ? op : loop,
                         op->op == THREAD_IF ? op : branch);
    }
}

void nvptx_share(struct nvptx *n)
{
    const uint32_t count = n->function->values + 1;
    struct liveness l = {.n = n,
                         .ranges = arena_array(n->arena, struct range, count),
                         .next = arena_array(n->arena, uint32_t, count)};
    for (uint32_t i = 0; i < count; i++)
        n->shares[i] = l.next[i] = i;
    for (size_t i = 0; i < n->function->parameters.count; i++)
        define(&l, n->function->parameters.data[i]);
    walk(&l, n->function->body);
    share_region(&l, n->function->body, true, NULL, NULL);
    share_region(&l, n->function->body, false, NULL, NULL);
}
