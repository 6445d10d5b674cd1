/* Branches that are done in line, under predicates: short ones, whose instructions the assembler then schedules with their
 * neighbours. */
#include "nvptx/nvptx_own.h"

enum {
    MOST_GUARDED = 24,
    MOST_GUARDED_OF_THREADS = 12,
    MOST_GUARDED_OF_BOTH = 16,
    MOST_MOVES = 2 /* of each arm, to the results */
};

bool nvptx_is_long(enum thread_opcode op)
{
    return (op >= THREAD_EXP && op <= THREAD_SIGMOID) || op == THREAD_POW || op == THREAD_PHILOX;
}

bool nvptx_can_guard(const struct nvptx *n, const struct thread_operation *op)
{
    const size_t most = n->function->shape[0] ? MOST_GUARDED_OF_THREADS : MOST_GUARDED;
    if (op->regions.count != 1 || op->results.count != 0 ||
        op->regions.data[0]->operations.count > most)
        return false;
    for (size_t i = 0; i < op->regions.data[0]->operations.count; i++)
        switch (op->regions.data[0]->operations.data[i]->op) {
        case THREAD_MBARRIER_ARRIVE:
        case THREAD_MBARRIER_ARRIVE_PEER:
        case THREAD_MBARRIER_RELEASE_PEER:
        case THREAD_COPY_OUT_WAIT:
        case THREAD_COPY_OUT_WAIT_READ:
        case THREAD_COPY_OUT_COMMIT:
        case THREAD_COPY_ASYNC:
        case THREAD_STORE:
        case THREAD_STORE_SHARED:
        case THREAD_UNLOCK:
        case THREAD_LOAD:
        case THREAD_LOAD_CONST:
        case THREAD_LOAD_LOCAL:
        case THREAD_STORE_LOCAL:
        case THREAD_LOAD_SHARED:
        case THREAD_RETURN: break;
        case THREAD_MMA: return false; /* all lanes of a warp do it together */
        default: {
            const struct thread_operation *of_region = op->regions.data[0]->operations.data[i];
            const enum thread_opcode inner = of_region->op;
            if (nvptx_atomic_loops(&n->scalars, inner, of_region->types[0]) ||
                (thread_op_table[inner].effects != THREAD_PURE && !thread_is_atomic(inner)) ||
                nvptx_is_long(inner))
                return false;
        }
        }
    return true;
}

const struct thread_operation *nvptx_only_yield(const struct thread_region *r)
{
    size_t i = 0;
    while (i < r->operations.count && r->operations.data[i]->op == THREAD_UNDEFINED)
        i++;
    return i + 1 == r->operations.count && r->operations.data[i]->op == THREAD_YIELD
               ? r->operations.data[i]
               : NULL;
}

static bool is_given(const struct thread_operation *yield, const struct thread_operation *op)
{
    bool given = false;
    for (size_t i = 0; i < yield->operands.count; i++)
        given |= op->results.count > 0 && yield->operands.data[i].value == op->results.data[0];
    return given;
}

/* Returns whether the arm only loads and computes. last: the other arm is done before it, so no result is computed in place. */
static bool can_guard_arm(const struct thread_region *r, bool last)
{
    const size_t end = r->operations.count - 1;
    if (r->operations.count == 0 || r->operations.data[end]->op != THREAD_YIELD)
        return false;
    for (size_t i = 0; i < end; i++) {
        const struct thread_operation *inner = r->operations.data[i];
        const bool in_place = last && is_given(r->operations.data[end], inner);
        const bool loads = nvptx_is_load(inner->op) && inner->types[0] != DT_BOOL;
        const bool computes = thread_op_table[inner->op].effects == THREAD_PURE &&
                              !nvptx_is_load(inner->op) && !nvptx_is_long(inner->op) && !in_place;
        if (inner->op == THREAD_IF || (!loads && !computes))
            return false;
    }
    return true;
}

/* Returns whether the first arm gives what it loads, and the other one does nothing. */
static bool loads_only(const struct thread_operation *op)
{
    return op->regions.count == 2 && op->results.count > 0 &&
           nvptx_only_yield(op->regions.data[1]) &&
           op->regions.data[0]->operations.count <= MOST_GUARDED &&
           can_guard_arm(op->regions.data[0], true);
}

int nvptx_last_arm(const struct thread_function *f, const struct thread_operation *op)
{
    if (op->op != THREAD_IF || op->regions.count != 2 || op->results.count == 0)
        return -1;
    const struct thread_region *first = op->regions.data[0], *second = op->regions.data[1];
    if (loads_only(op))
        return 0;
    uint32_t moves = 0;
    for (size_t i = 0; i < op->results.count; i++)
        moves += op->results.data[i]->type.count;
    if (!f->shape[0] || nvptx_only_yield(first) || moves > MOST_MOVES ||
        first->operations.count + second->operations.count > MOST_GUARDED_OF_BOTH)
        return -1;
    if (can_guard_arm(first, true) && can_guard_arm(second, false))
        return 0;
    return can_guard_arm(first, false) && can_guard_arm(second, true) ? 1 : -1;
}
