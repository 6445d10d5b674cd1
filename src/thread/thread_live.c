/* Drops what nothing needs. A value is live if an operation with effects takes it, or one whose result is live. A loop
 * needs what it passes to an argument only if the argument is live, and what leaves it only if that result is. */
#include "thread/thread.h"

#include <string.h>

/* An operand that is passed to an argument of a loop, or to a result of a loop or a branch. */
struct passed {
    const struct thread_value *value;
    const struct passed *next; /* to the same value */
};

/* The origin of a value: an operation, or the operands that are passed to it. */
struct giver {
    const struct thread_operation *operation; /* NULL: it is a parameter, or passed */
    const struct passed *passed;
};

struct liveness {
    struct arena *arena;
    bool *live;                         /* by the number of a value */
    struct giver *givers;               /* likewise */
    const struct thread_value **marked; /* live ones whose givers are not looked at yet */
    size_t count;
};

static void mark(struct liveness *l, const struct thread_value *v)
{
    if (!v || l->live[v->number])
        return;
    l->live[v->number] = true;
    l->marked[l->count++] = v;
}

static void mark_operands(struct liveness *l, const struct thread_operation *op)
{
    for (size_t i = 0; i < op->operands.count; i++)
        mark(l, op->operands.data[i].value);
}

static bool is_live(const struct liveness *l, const struct thread_value *v)
{
    return l->live[v->number];
}

static bool any_live(const struct liveness *l, const struct thread_operation *op)
{
    bool any = false;
    for (size_t i = 0; i < op->results.count; i++)
        any |= is_live(l, op->results.data[i]);
    return any;
}

/* Notes the operation that gives the values. A group in flight is live. */
static void note_values(struct liveness *l, struct thread_value *const *values, size_t count,
                        const struct thread_operation *op)
{
    for (size_t i = 0; i < count; i++) {
        l->givers[values[i]->number] = (struct giver){op, NULL};
        if (values[i]->type.in_flight)
            mark(l, values[i]);
    }
}

/* Notes the operands from `from` on that are passed to these values. */
static void note_passed(struct liveness *l, const struct thread_operation *op, size_t from,
                        struct thread_value *const *to)
{
    struct passed *all = arena_room(l->arena, (op->operands.count + 1) * sizeof *all);
    for (size_t i = from; i < op->operands.count; i++) {
        struct giver *g = &l->givers[to[i - from]->number];
        all[i] = (struct passed){op->operands.data[i].value, g->passed};
        g->passed = &all[i];
    }
}

static void note_region(struct liveness *l, const struct thread_region *r,
                        const struct thread_operation *loop, const struct thread_operation *branch);

/* Notes what the operation gives, and marks what it needs in any case. */
static void note_operation(struct liveness *l, const struct thread_operation *op,
                           const struct thread_operation *loop,
                           const struct thread_operation *branch)
{
    const bool control = thread_op_table[op->op].effects == THREAD_CONTROL;
    note_values(l, op->results.data, op->results.count, control ? NULL : op);
    switch (op->op) {
    case THREAD_LOOP: {
        const struct thread_region *r = op->regions.data[0];
        note_values(l, r->arguments.data, r->arguments.count, NULL);
        note_passed(l, op, 0, r->arguments.data);
        note_region(l, r, op, NULL);
        return;
    }
    case THREAD_BREAK_IF: mark(l, op->operands.data[0].value); /* fall through */
    case THREAD_BREAK: note_passed(l, op, op->op == THREAD_BREAK_IF, loop->results.data); return;
    case THREAD_CONTINUE: note_passed(l, op, 0, loop->regions.data[0]->arguments.data); return;
    case THREAD_YIELD: note_passed(l, op, 0, branch->results.data); return;
    default: break;
    }
    for (size_t i = 0; i < op->regions.count; i++)
        note_region(l, op->regions.data[i], loop, op);
    if (thread_op_table[op->op].effects > THREAD_READS)
        mark_operands(l, op);
}

static void note_region(struct liveness *l, const struct thread_region *r,
                        const struct thread_operation *loop, const struct thread_operation *branch)
{
    for (size_t i = 0; i < r->operations.count; i++)
        note_operation(l, r->operations.data[i], loop, branch);
}

/* Marks what live values need. */
static void mark_needed(struct liveness *l)
{
    while (l->count > 0) {
        const struct giver *g = &l->givers[l->marked[--l->count]->number];
        if (g->operation)
            mark_operands(l, g->operation);
        for (const struct passed *p = g->passed; p; p = p->next)
            mark(l, p->value);
    }
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
    const size_t values = f->values + 1;
    struct liveness l = {.arena = a, .live = arena_array(a, bool, values)};
    l.givers = arena_room(a, values * sizeof *l.givers);
    l.marked = arena_room(a, values * sizeof *l.marked);
    note_values(&l, f->parameters.data, f->parameters.count, NULL);
    note_region(&l, f->body, NULL, NULL);
    mark_needed(&l);
    drop_region(&l, f->body, NULL, NULL);
}
