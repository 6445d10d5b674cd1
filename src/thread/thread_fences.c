/* Places product_fence. A fence orders the accesses of other operations to registers, reads too, before the
 * accesses of products (PTX ISA, wgmma.fence). */
#include "thread/thread.h"

#include <string.h>

static bool is_product(enum thread_opcode op)
{
    return op == THREAD_PRODUCT || op == THREAD_PRODUCT_FROM;
}

static bool can_be_factor(struct thread_type t)
{
    return t.count > 1 || (t.dtype != DT_NONE && dtype_is_float(t.dtype));
}

/* Returns whether the operation may read or write registers of a product: all but integers, predicates and maps,
 * which are never among its sums or factors. */
static bool accesses_factors(const struct thread_operation *op)
{
    if (op->regions.count > 0)
        return true;
    for (size_t i = 0; i < op->results.count; i++)
        if (can_be_factor(op->results.data[i]->type))
            return true;
    for (size_t i = 0; i < op->operands.count; i++)
        if (op->operands.data[i].kind == THREAD_VALUE &&
            can_be_factor(op->operands.data[i].value->type))
            return true;
    return false;
}

static void fence_region(struct arena *a, struct thread_region *r)
{
    bool fenced = false;
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->regions.count; j++)
            fence_region(a, op->regions.data[j]);
        if (is_product(op->op) && !fenced) {
            struct thread_operation *fence = arena_new(a, struct thread_operation);
            fence->op = THREAD_PRODUCT_FENCE;
            fence->where = op->where;
            vec_push(a, &r->operations, op);
            struct thread_operation **at = &r->operations.data[i++];
            memmove(at + 1, at, (r->operations.count - i) * sizeof *at);
            *at = fence;
        }
        if (is_product(op->op) || op->op == THREAD_PRODUCT_FENCE)
            fenced = true;
        else if (fenced && op->op != THREAD_PRODUCT_COMMIT && accesses_factors(op))
            fenced = false;
    }
}

void thread_add_fences(struct arena *a, struct thread_function *f)
{
    fence_region(a, f->body);
}
