/* Drops what nothing needs. A value is live if an operation with effects takes it, or one whose result is live. A loop
 * needs what it passes to an argument only if the argument is live, and what leaves it only if that result is. */
#include "thread/thread.h"

#include <string.h>

struct liveness {
    bool *live; /* by the number of a value */
    bool changed;
};

static void mark(struct liveness *l, const struct thread_operand *o)
{
    if (!o->value || l->live[o->value->number])
        return;
    l->live[o->value->number] = l->changed = true;
}

static bool is_live(const struct liveness *l, const struct thread_value *v)
{
    return v->type.in_flight || l->live[v->number];
}

static bool any_live(const struct liveness *l, const struct thread_operation *op)
{
    bool any = false;
    for (size_t i = 0; i < op->results.count; i++)
        any |= is_live(l, op->results.data[i]);
    return any;
}

/* Marks the operands from `from` on that go to live values. */
static void mark_passed(struct liveness *l, const struct thread_operation *op, size_t from,
                        struct thread_value *const *to)
{
    for (size_t i = from; i < op->operands.count; i++)
        if (is_live(l, to[i - from]))
            mark(l, &op->operands.data[i]);
}

static void mark_region(struct liveness *l, const struct thread_region *r,
                        const struct thread_operation *loop, const struct thread_operation *branch);

static void mark_operation(struct liveness *l, const struct thread_operation *op,
                           const struct thread_operation *loop,
                           const struct thread_operation *branch)
{
    switch (op->op) {
    case THREAD_LOOP:
        mark_region(l, op->regions.data[0], op, NULL);
        mark_passed(l, op, 0, op->regions.data[0]->arguments.data);
        return;
    case THREAD_BREAK_IF: mark(l, &op->operands.data[0]); /* fall through */
    case THREAD_BREAK: mark_passed(l, op, op->op == THREAD_BREAK_IF, loop->results.data); return;
    case THREAD_CONTINUE: mark_passed(l, op, 0, loop->regions.data[0]->arguments.data); return;
    case THREAD_YIELD: mark_passed(l, op, 0, branch->results.data); return;
    case THREAD_IF:
    case THREAD_ROLES:
        for (size_t i = op->regions.count; i-- > 0;)
            mark_region(l, op->regions.data[i], loop, op);
        break;
    default:
        if (thread_op_table[op->op].effects <= THREAD_READS && !any_live(l, op))
            return;
        break;
    }
    for (size_t i = 0; i < op->operands.count; i++)
        mark(l, &op->operands.data[i]);
}

static void mark_region(struct liveness *l, const struct thread_region *r,
                        const struct thread_operation *loop, const struct thread_operation *branch)
{
    for (size_t i = r->operations.count; i-- > 0;)
        mark_operation(l, r->operations.data[i], loop, branch);
}

/* --- dropping --- */

/* Drops the operands from `from` on that go to values which are not live. */
static void drop_passed(const struct liveness *l, struct thread_operation *op, size_t from,
                        struct thread_value *const *to)
{
    size_t left = from;
    for (size_t i = from; i < op->operands.count; i++)
        if (is_live(l, to[i - from]))
            op->operands.data[left++] = op->operands.data[i];
    op->operands.count = left;
}

#define DROP_VALUES(l, list)                                                                       \
    do {                                                                                           \
        size_t left = 0;                                                                           \
        for (size_t i = 0; i < (list)->count; i++)                                                 \
            if (is_live((l), (list)->data[i]))                                                     \
                (list)->data[left++] = (list)->data[i];                                            \
        (list)->count = left;                                                                      \
    } while (0)

static void drop_region(const struct liveness *l, struct thread_region *r,
                        struct thread_operation *loop, struct thread_operation *branch);

/* An `if` that gives nothing needs no `yield`, and no arm that does nothing. */
static void drop_arms(struct thread_operation *op)
{
    for (size_t i = 0; i < op->regions.count; i++) {
        struct thread_region *r = op->regions.data[i];
        size_t count = r->operations.count;
        if (count && r->operations.data[count - 1]->op == THREAD_YIELD)
            r->operations.count--;
    }
    if (op->regions.count == 2 && op->regions.data[1]->operations.count == 0)
        op->regions.count = 1;
}

/* Returns whether the operation stays. */
static bool keep(const struct liveness *l, struct thread_operation *op,
                 struct thread_operation *loop, struct thread_operation *branch)
{
    switch (op->op) {
    case THREAD_LOOP:
        drop_region(l, op->regions.data[0], op, NULL);
        drop_passed(l, op, 0, op->regions.data[0]->arguments.data);
        DROP_VALUES(l, &op->regions.data[0]->arguments);
        DROP_VALUES(l, &op->results);
        return true;
    case THREAD_BREAK_IF:
    case THREAD_BREAK:
        drop_passed(l, op, op->op == THREAD_BREAK_IF, loop->results.data);
        return true;
    case THREAD_CONTINUE: drop_passed(l, op, 0, loop->regions.data[0]->arguments.data); return true;
    case THREAD_YIELD: drop_passed(l, op, 0, branch->results.data); return true;
    case THREAD_IF:
    case THREAD_ROLES:
        for (size_t i = 0; i < op->regions.count; i++)
            drop_region(l, op->regions.data[i], loop, op);
        DROP_VALUES(l, &op->results);
        if (op->op == THREAD_IF && op->results.count == 0)
            drop_arms(op);
        return true;
    default: return thread_op_table[op->op].effects > THREAD_READS || any_live(l, op);
    }
}

static void drop_region(const struct liveness *l, struct thread_region *r,
                        struct thread_operation *loop, struct thread_operation *branch)
{
    size_t left = 0;
    for (size_t i = 0; i < r->operations.count; i++)
        if (keep(l, r->operations.data[i], loop, branch))
            r->operations.data[left++] = r->operations.data[i];
    r->operations.count = left;
}

void thread_drop_unused(struct arena *a, struct thread_function *f)
{
    struct liveness l = {.live = arena_array(a, bool, f->values + 1), .changed = true};
    while (l.changed) {
        l.changed = false;
        mark_region(&l, f->body, NULL, NULL);
    }
    drop_region(&l, f->body, NULL, NULL);
}
