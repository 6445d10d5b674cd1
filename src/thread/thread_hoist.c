/* Moves operations out of loops, and drops operations whose results nothing uses. */
#include "thread/thread.h"

#include <string.h>

/* --- hoisting --- */

struct hoisting {
    struct arena *arena;
    uint32_t *depth; /* by number of a value: loops around its definition */
};

static void define_arguments(struct hoisting *h, const struct thread_region *r, uint32_t depth)
{
    for (size_t i = 0; i < r->arguments.count; i++)
        h->depth[r->arguments.data[i]->number] = depth;
}

/* Scalars only: a group that is live during a loop takes registers from it. */
static bool can_move(const struct thread_operation *op)
{
    return thread_op_table[op->op].effects == THREAD_PURE && op->results.count == 1 &&
           op->results.data[0]->type.count == 1 && op->op != THREAD_UNDEFINED;
}

/* Returns the number of loops around the innermost operand. */
static uint32_t depth_of_operands(const struct hoisting *h, const struct thread_operation *op)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_value *v = op->operands.data[i].value;
        if (v && h->depth[v->number] > depth)
            depth = h->depth[v->number];
    }
    return depth;
}

/* A loop: the place before it. `outer`: the loop whose region it is in, if that is no region of an `if`. */
struct loop_place {
    struct thread_region *before;
    uint32_t depth; /* loops around its region, with it */
    const struct loop_place *outer;
};

/* Returns the outermost place where the operands are known; NULL: the operation stays. */
static struct thread_region *place_of(const struct hoisting *h, const struct thread_operation *op,
                                      const struct loop_place *loop, uint32_t *depth)
{
    uint32_t least = depth_of_operands(h, op);
    if (!loop || !can_move(op) || least >= loop->depth)
        return NULL;
    while (loop->outer && least < loop->outer->depth)
        loop = loop->outer;
    *depth = loop->depth - 1;
    return loop->before;
}

/* An `if` in a loop keeps its operations, since the loop may rarely execute it. */
static void hoist_region(struct hoisting *h, struct thread_region *r, uint32_t depth,
                         const struct loop_place *loop)
{
    struct thread_region kept = {0};
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        const struct loop_place inner = {&kept, depth + 1, loop};
        const bool loops = op->op == THREAD_LOOP;
        for (size_t j = 0; j < op->regions.count; j++) {
            define_arguments(h, op->regions.data[j], depth + loops);
            hoist_region(h, op->regions.data[j], depth + loops, loops ? &inner : NULL);
        }
        uint32_t defined = depth;
        struct thread_region *to = place_of(h, op, loop, &defined);
        for (size_t j = 0; j < op->results.count; j++)
            h->depth[op->results.data[j]->number] = defined;
        vec_push(h->arena, to ? &to->operations : &kept.operations, op);
    }
    r->operations.data = kept.operations.data;
    r->operations.count = kept.operations.count;
    r->operations.capacity = kept.operations.capacity;
}

void thread_hoist(struct arena *a, struct thread_function *f)
{
    struct hoisting h = {.arena = a, .depth = arena_array(a, uint32_t, f->values + 1)};
    hoist_region(&h, f->body, 0, NULL);
}

/* --- dropping --- */

static void count_uses(const struct thread_region *r, uint32_t *uses)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++)
            if (op->operands.data[j].value)
                uses[op->operands.data[j].value->number]++;
        for (size_t j = 0; j < op->regions.count; j++)
            count_uses(op->regions.data[j], uses);
    }
}

static bool is_unused(const struct thread_operation *op, const uint32_t *uses)
{
    return thread_op_table[op->op].effects == THREAD_PURE && op->results.count == 1 &&
           uses[op->results.data[0]->number] == 0;
}

static void drop_operand(struct thread_operation *op, size_t i, uint32_t *uses)
{
    const struct thread_operand *o = op->operands.data;
    if (o[i].value)
        uses[o[i].value->number]--;
    memmove(&op->operands.data[i], &o[i + 1], (op->operands.count - i - 1) * sizeof *o);
    op->operands.count--;
}

/* Drops what the `continue`s of a loop pass to its argument i. */
static void drop_passed(struct thread_region *r, size_t i, uint32_t *uses)
{
    for (size_t j = 0; j < r->operations.count; j++) {
        struct thread_operation *op = r->operations.data[j];
        if (op->op == THREAD_CONTINUE)
            drop_operand(op, i, uses);
        for (size_t k = 0; op->op != THREAD_LOOP && k < op->regions.count; k++)
            drop_passed(op->regions.data[k], i, uses);
    }
}

static void drop_arguments(struct thread_operation *loop, uint32_t *uses)
{
    struct thread_region *r = loop->regions.data[0];
    for (size_t i = r->arguments.count; i-- > 0;) {
        if (uses[r->arguments.data[i]->number] || r->arguments.data[i]->type.in_flight)
            continue;
        drop_operand(loop, i, uses);
        drop_passed(r, i, uses);
        memmove(&r->arguments.data[i], &r->arguments.data[i + 1],
                (r->arguments.count - i - 1) * sizeof r->arguments.data[0]);
        r->arguments.count--;
    }
}

/* From the end, so that the operands of what is dropped are dropped, too. */
static void drop_region(struct thread_region *r, uint32_t *uses)
{
    for (size_t i = r->operations.count; i-- > 0;) {
        struct thread_operation *op = r->operations.data[i];
        if (op->op == THREAD_LOOP)
            drop_arguments(op, uses);
        for (size_t j = op->regions.count; j-- > 0;)
            drop_region(op->regions.data[j], uses);
        if (!is_unused(op, uses))
            continue;
        for (size_t j = 0; j < op->operands.count; j++)
            if (op->operands.data[j].value)
                uses[op->operands.data[j].value->number]--;
        r->operations.data[i] = NULL;
    }
    size_t left = 0;
    for (size_t i = 0; i < r->operations.count; i++)
        if (r->operations.data[i])
            r->operations.data[left++] = r->operations.data[i];
    r->operations.count = left;
}

void thread_drop_unused(struct arena *a, struct thread_function *f)
{
    uint32_t *uses = arena_array(a, uint32_t, f->values + 1);
    count_uses(f->body, uses);
    drop_region(f->body, uses);
}
