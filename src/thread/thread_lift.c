/* Computes integers of short branches before them. The backend predicates such a branch, so that this costs nothing,
 * and thread_number then finds values that are computed elsewhere, too. Loads and floats stay. */
#include "thread/thread.h"

enum { MOST_OPERATIONS = 12, MOST_INTEGERS = 12 };

struct lifting {
    struct arena *arena;
    bool *inside; /* by number of a value: it is defined in the branch and stays there */
};

/* Returns whether a branch is short: its first arm has few operations besides those on integers, and its second arm, if any,
 * only yields values. */
static bool is_short(const struct thread_operation *op)
{
    size_t count = 0;
    if (op->op != THREAD_IF)
        return false;
    for (size_t i = 0; i < op->regions.data[0]->operations.count; i++) {
        const struct thread_operation *inner = op->regions.data[0]->operations.data[i];
        count += !thread_is_integer(inner);
        if (inner->regions.count || count > MOST_OPERATIONS || i >= MOST_OPERATIONS + MOST_INTEGERS)
            return false;
    }
    return op->regions.count < 2 || (op->regions.data[1]->operations.count == 1 &&
                                     op->regions.data[1]->operations.data[0]->op == THREAD_YIELD);
}

/* Returns whether the operation may be computed before the branch: it is on integers, has a result for all operands, and uses no
 * value that stays in the branch. */
static bool can_move(const struct lifting *g, const struct thread_operation *op)
{
    if (!thread_is_integer(op))
        return false;
    const bool divides = op->op == THREAD_DIV || op->op == THREAD_REM || op->op == THREAD_CDIV;
    if (divides && op->operands.data[1].kind != THREAD_INTEGER)
        return false;
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_value *v = op->operands.data[i].value;
        if (v && (g->inside[v->number] || dtype_is_float(v->type.dtype)))
            return false;
    }
    return true;
}

static void lift_region(struct lifting *g, struct thread_region *r)
{
    struct thread_region kept = {0};
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->regions.count; j++)
            lift_region(g, op->regions.data[j]);
        struct thread_region *arm = is_short(op) ? op->regions.data[0] : NULL;
        size_t left = 0;
        for (size_t j = 0; arm && j < arm->operations.count; j++) {
            struct thread_operation *inner = arm->operations.data[j];
            if (can_move(g, inner)) {
                vec_push(g->arena, &kept.operations, inner);
                continue;
            }
            arm->operations.data[left++] = inner;
            for (size_t k = 0; k < inner->results.count; k++)
                g->inside[inner->results.data[k]->number] = true;
        }
        if (arm)
            arm->operations.count = left;
        vec_push(g->arena, &kept.operations, op);
    }
    r->operations.data = kept.operations.data;
    r->operations.count = kept.operations.count;
    r->operations.capacity = kept.operations.capacity;
}

void thread_lift(struct arena *a, struct thread_function *f)
{
    struct lifting g = {.arena = a, .inside = arena_array(a, bool, f->values + 1)};
    lift_region(&g, f->body);
}
