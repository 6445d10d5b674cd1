/* Drops a load of an element that an earlier load of the same region has loaded, if nothing between them may write the element
 * or waits for other threads. */
#include "thread/thread.h"

struct reusing {
    struct arena *arena;
    struct thread_value **instead; /* by number; NULL: the value itself */
    VEC(const struct thread_operation *)
    seen; /* loads whose elements have not been written since */
};

enum space { SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_OTHER };

/* Returns the memory of an unconditional load or store. */
static enum space space_of(enum thread_opcode op)
{
    if (op == THREAD_LOAD_LOCAL || op == THREAD_STORE_LOCAL)
        return SPACE_LOCAL;
    return thread_is_shared_access(op)               ? SPACE_SHARED
           : op == THREAD_LOAD || op == THREAD_STORE ? SPACE_GLOBAL
                                                     : SPACE_OTHER;
}

/* Forgets the loads of elements that the operation may write. */
static void forget(struct reusing *g, const struct thread_operation *op)
{
    const enum space space = space_of(op->op);
    const struct thread_operand *to = op->operands.data;
    size_t left = 0;
    if (thread_op_table[op->op].effects <= THREAD_READS)
        return;
    for (size_t i = 0; i < g->seen.count; i++) {
        const struct thread_operation *load = g->seen.data[i];
        const bool other = space_of(load->op) != space ||
                           (space == SPACE_SHARED &&
                            !thread_objects_overlap(load->operands.data[0].object, to[0].object));
        if (space != SPACE_OTHER && other)
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
        const bool loads = space_of(op->op) != SPACE_OTHER && op->results.count == 1 &&
                           op->results.data[0]->type.count == 1;
        for (size_t j = 0; loads && j < g->seen.count; j++)
            known = thread_same_operation(g->seen.data[j], op) ? g->seen.data[j] : known;
        if (known) {
            g->instead[op->results.data[0]->number] = known->results.data[0];
            continue;
        }
        r->operations.data[left++] = op;
        if (loads)
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
