/* Places product_fence. */
#include "thread/thread.h"

static bool is_product(enum thread_opcode op)
{
    return op == THREAD_PRODUCT || op == THREAD_PRODUCT_FROM;
}

/* Returns whether the operation may write registers that a product reads: all but integers and predicates, which are
 * never among its sums or factors. */
static bool writes_factors(const struct thread_operation *op)
{
    if (op->regions.count > 0)
        return true;
    for (size_t i = 0; i < op->results.count; i++) {
        struct thread_type t = op->results.data[i]->type;
        if (t.count > 1 || (t.dtype != DT_BOOL && !dtype_is_int(t.dtype)))
            return true;
    }
    return false;
}

static void fence_region(struct arena *a, struct thread_region *r)
{
    bool fenced = false;
    size_t count = r->operations.count;
    struct thread_operation **from = r->operations.data;
    r->operations.data = NULL;
    r->operations.count = r->operations.capacity = 0;
    for (size_t i = 0; i < count; i++) {
        struct thread_operation *op = from[i];
        for (size_t j = 0; j < op->regions.count; j++)
            fence_region(a, op->regions.data[j]);
        if (is_product(op->op) && !fenced) {
            struct thread_operation *fence = arena_new(a, struct thread_operation);
            fence->op = THREAD_PRODUCT_FENCE;
            fence->where = op->where;
            vec_push(a, &r->operations, fence);
        }
        if (is_product(op->op) || op->op == THREAD_PRODUCT_FENCE || op->op == THREAD_PRODUCT_COMMIT)
            fenced = true;
        else if (writes_factors(op))
            fenced = false;
        vec_push(a, &r->operations, op);
    }
}

void thread_add_fences(struct arena *a, struct thread_function *f)
{
    fence_region(a, f->body);
}
