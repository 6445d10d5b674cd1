/* Drops a load of an element that an earlier load of the same region has loaded, if nothing between them may write the element
 * or waits for other threads. */
#include "thread/thread.h"

struct reusing {
    struct arena *arena;
    struct thread_value **instead; /* by number; NULL: the value itself */
    VEC(const struct thread_operation *)
    seen; /* loads whose elements have not been written since */
};

static bool is_shared(enum thread_opcode op)
{
    return op == THREAD_LOAD_SHARED || op == THREAD_STORE_SHARED;
}

static bool same_place(const struct thread_operation *a, const struct thread_operation *b)
{
    const struct thread_operand *o = a->operands.data, *p = b->operands.data;
    if (a->op != b->op || a->types[0] != b->types[0] ||
        a->results.data[0]->type.count != b->results.data[0]->type.count)
        return false;
    for (size_t i = 0; i < a->operands.count; i++)
        if (o[i].kind != p[i].kind || o[i].value != p[i].value || o[i].integer != p[i].integer ||
            o[i].object != p[i].object)
            return false;
    return true;
}

/* Forgets the loads of elements that the operation may write. */
static void forget(struct reusing *g, const struct thread_operation *op)
{
    const bool shared = is_shared(op->op), stores = shared || op->op == THREAD_STORE;
    const struct thread_operand *to = op->operands.data;
    size_t left = 0;
    if (thread_op_table[op->op].effects <= THREAD_READS)
        return;
    for (size_t i = 0; i < g->seen.count; i++) {
        const struct thread_operation *load = g->seen.data[i];
        const bool other = is_shared(load->op) != shared ||
                           (shared && load->operands.data[0].object != to[0].object);
        if (stores && other)
            g->seen.data[left++] = load;
    }
    g->seen.count = left;
}

static void reuse_region(struct reusing *g, struct thread_region *r)
{
    size_t left = 0;
    g->seen.count = 0;
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++) {
            const struct thread_value *v = op->operands.data[j].value;
            if (v && g->instead[v->number])
                op->operands.data[j].value = g->instead[v->number];
        }
        for (size_t j = 0; j < op->regions.count; j++)
            reuse_region(g, op->regions.data[j]);
        forget(g, op);
        const struct thread_operation *known = NULL;
        const bool loads = op->op == THREAD_LOAD_SHARED || op->op == THREAD_LOAD;
        for (size_t j = 0; loads && j < g->seen.count; j++)
            known = same_place(g->seen.data[j], op) ? g->seen.data[j] : known;
        if (known) {
            g->instead[op->results.data[0]->number] = known->results.data[0];
            continue;
        }
        r->operations.data[left++] = op;
        if (loads && op->results.data[0]->type.count == 1)
            vec_push(g->arena, &g->seen, op);
    }
    r->operations.count = left;
}

void thread_reuse(struct arena *a, struct thread_function *f)
{
    struct reusing g = {.arena = a};
    g.instead = arena_array(a, struct thread_value *, f->values + 1);
    reuse_region(&g, f->body);
}
