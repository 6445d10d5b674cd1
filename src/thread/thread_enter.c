/* Computes what only a loop needs after the test with which its first iteration begins, so that a run without iterations does not
 * compute it:
 *
 *     %a = …                                     %none = ge 0, %n
 *     loop (%i = 0) {                            %any = not %none
 *         %p = ge %i, %n                         if %any {
 *         break_if %p                                %a = …
 *         …                                →         loop (%i = 0) {
 *         continue %j                                    …
 *     }                                                  %q = ge %j, %n
 *                                                        break_if %q
 *                                                        continue %j
 *                                                    }
 *                                                } */
#include "thread/thread_build.h"

#include <string.h>

enum { MOST_TEST = 4, LEAST_MOVED = 4 };

struct entering {
    struct thread_builder build;
    uint32_t *uses; /* by number of a value */
};

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

/* --- the test --- */

/* Returns the place of the exit with which the loop begins, after a few operations on integers; 0: there is none. */
static size_t find_exit(const struct thread_operation *loop)
{
    const struct thread_region *r = loop->regions.data[0];
    if (!thread_only_continue(loop) || loop->results.count > 0)
        return 0;
    for (size_t i = 0; i < MOST_TEST && i + 1 < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        if (op->op == THREAD_BREAK_IF)
            return op->operands.data[0].kind == THREAD_VALUE ? i : 0;
        if (!thread_is_integer(op) && !thread_is_comparison(op->op))
            return 0;
    }
    return 0;
}

/* Marks the operations before the exit that it needs. Returns whether nothing else needs their values. */
static bool mark_needed(const struct entering *g, const struct thread_region *r, size_t exit,
                        bool *needed)
{
    bool own = true;
    for (size_t i = exit; i-- > 0;) {
        const uint32_t number = r->operations.data[i]->results.data[0]->number;
        uint32_t uses = 0;
        for (size_t j = i + 1; j <= exit; j++)
            for (size_t k = 0; k < r->operations.data[j]->operands.count; k++) {
                const struct thread_value *v = r->operations.data[j]->operands.data[k].value;
                uses += (j == exit || needed[j]) && v && v->number == number;
            }
        needed[i] = uses > 0;
        own &= !needed[i] || uses == g->uses[number];
    }
    return own;
}

/* Lets the loop begin with its test alone. Returns the number of the test's operations; 0: there is none, or something else needs
 * their values. */
static size_t find_test(const struct entering *g, const struct thread_operation *loop)
{
    struct thread_region *r = loop->regions.data[0];
    const size_t exit = find_exit(loop);
    struct thread_operation *rest[MOST_TEST];
    bool needed[MOST_TEST] = {false};
    size_t test = 0, others = 0;
    if (exit == 0 || !mark_needed(g, r, exit, needed))
        return 0;
    for (size_t i = 0; i <= exit; i++)
        if (i == exit || needed[i])
            r->operations.data[test++] = r->operations.data[i];
        else
            rest[others++] = r->operations.data[i];
    for (size_t i = 0; i < others; i++)
        r->operations.data[test + i] = rest[i];
    return test;
}

/* Returns an operand of the test where the loop's arguments are these. */
static struct thread_operand operand_of(const struct thread_operation *loop,
                                        const struct thread_operand *arguments,
                                        struct thread_value *const *copies, size_t count,
                                        const struct thread_operand *o)
{
    const struct thread_region *r = loop->regions.data[0];
    struct thread_operand found = *o;
    for (size_t i = 0; o->value && i < r->arguments.count; i++)
        if (r->arguments.data[i] == o->value)
            found = arguments[i];
    for (size_t i = 0; o->value && i < count; i++)
        if (r->operations.data[i]->results.data[0] == o->value)
            found = thread_use(copies[i]);
    return found;
}

/* Adds the operations of the test for these arguments. Returns the predicate. */
static struct thread_operand add_test(struct entering *g, struct thread_region *to,
                                      const struct thread_operation *loop, size_t test,
                                      const struct thread_operand *arguments)
{
    enum { MOST_OPERANDS = 4 }; /* of a part */
    const struct thread_region *r = loop->regions.data[0];
    struct thread_value *copies[MOST_TEST];
    g->build.region = to;
    for (size_t i = 0; i + 1 < test; i++) {
        const struct thread_operation *op = r->operations.data[i];
        struct thread_operand o[MOST_OPERANDS];
        for (size_t j = 0; j < op->operands.count; j++)
            o[j] = operand_of(loop, arguments, copies, i, &op->operands.data[j]);
        g->build.where = op->where;
        copies[i] = thread_add_typed(&g->build, op->op, op->types, 0, o, op->operands.count);
    }
    return operand_of(loop, arguments, copies, test - 1,
                      &r->operations.data[test - 1]->operands.data[0]);
}

/* Returns the opposite of the predicate of the test, which add_test has added. The operation that computes it is turned round
 * if it was added, too; one of the program's own may have other uses. */
static struct thread_operand opposite(struct entering *g, size_t test, struct thread_operand p)
{
    static const enum thread_opcode other[] = {THREAD_NE, THREAD_EQ, THREAD_GE,
                                               THREAD_GT, THREAD_LE, THREAD_LT};
    const struct thread_region *r = g->build.region;
    struct thread_operation *op = test > 1 ? r->operations.data[r->operations.count - 1] : NULL;
    if (!op || op->results.data[0] != p.value || !thread_is_comparison(op->op) ||
        dtype_is_float(op->types[0]))
        return thread_use(THREAD_ADD_OP(&g->build, THREAD_NOT, DT_BOOL, DT_NONE, p));
    op->op = other[op->op - THREAD_EQ];
    return p;
}

/* --- what only the loop needs --- */

/* Adds the values that the first test needs to those that are used elsewhere. */
static void note_test(const struct thread_operation *loop, size_t test, uint32_t *elsewhere)
{
    const struct thread_region *r = loop->regions.data[0];
    for (size_t i = 0; i < test; i++)
        for (size_t j = 0; j < r->operations.data[i]->operands.count; j++) {
            const struct thread_operand *o = &r->operations.data[i]->operands.data[j];
            const struct thread_operand first = operand_of(loop, loop->operands.data, NULL, 0, o);
            if (first.value)
                elsewhere[first.value->number]++;
        }
}

/* Marks the operations before place `at`, that of the loop, whose results only the loop needs. Returns their number. */
static size_t mark_own(struct entering *g, const struct thread_region *r, size_t at, size_t test,
                       bool *own)
{
    const struct thread_operation *loop = r->operations.data[at];
    uint32_t *inside = arena_array(g->build.arena, uint32_t, g->build.function->values + 1);
    uint32_t *elsewhere = arena_array(g->build.arena, uint32_t, g->build.function->values + 1);
    struct thread_region only = {0};
    size_t count = 0;
    vec_push(g->build.arena, &only.operations, r->operations.data[at]);
    count_uses(&only, inside);
    note_test(loop, test, elsewhere);
    for (size_t i = at; i-- > 0;) {
        const struct thread_operation *op = r->operations.data[i];
        const struct thread_value *v = op->results.count == 1 ? op->results.data[0] : NULL;
        own[i] = v && thread_op_table[op->op].effects == THREAD_PURE && v->type.count == 1 &&
                 op->op != THREAD_UNDEFINED && !elsewhere[v->number] &&
                 inside[v->number] == g->uses[v->number];
        for (size_t j = 0; own[i] && j < op->operands.count; j++)
            if (op->operands.data[j].value)
                inside[op->operands.data[j].value->number]++;
        count += own[i];
    }
    return count;
}

/* Lets each iteration of the loop end with the test. */
static void rotate(struct entering *g, struct thread_operation *loop, size_t test)
{
    struct thread_region *r = loop->regions.data[0], to = {0};
    struct thread_operation *again = r->operations.data[r->operations.count - 1],
                            *leaves = r->operations.data[test - 1];
    for (size_t i = test; i + 1 < r->operations.count; i++)
        vec_push(g->build.arena, &to.operations, r->operations.data[i]);
    leaves->operands.data[0] = add_test(g, &to, loop, test, again->operands.data);
    vec_push(g->build.arena, &to.operations, leaves);
    vec_push(g->build.arena, &to.operations, again);
    r->operations.data = to.operations.data;
    r->operations.count = to.operations.count;
    r->operations.capacity = to.operations.capacity;
}

/* Puts the loop at place `at` into an `if`, with its own operations. */
static void enter(struct entering *g, struct thread_region *r, size_t at, size_t test,
                  const bool *own)
{
    struct thread_region to = {0}, *body = arena_new(g->build.arena, struct thread_region);
    struct thread_operation *loop = r->operations.data[at];
    for (size_t i = 0; i < at; i++)
        vec_push(g->build.arena, own[i] ? &body->operations : &to.operations,
                 r->operations.data[i]);
    const struct thread_operand any =
        opposite(g, test, add_test(g, &to, loop, test, loop->operands.data));
    g->build.where = loop->where;
    struct thread_operation *branch = thread_add_control(&g->build, THREAD_IF);
    vec_push(g->build.arena, &branch->operands, any);
    vec_push(g->build.arena, &branch->regions, body);
    rotate(g, loop, test);
    vec_push(g->build.arena, &body->operations, loop);
    for (size_t i = at + 1; i < r->operations.count; i++)
        vec_push(g->build.arena, &to.operations, r->operations.data[i]);
    r->operations.data = to.operations.data;
    r->operations.count = to.operations.count;
    r->operations.capacity = to.operations.capacity;
}

static void count_all(struct entering *g)
{
    g->uses = arena_array(g->build.arena, uint32_t, g->build.function->values + 1);
    count_uses(g->build.function->body, g->uses);
}

static void enter_region(struct entering *g, struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->regions.count; j++)
            enter_region(g, op->regions.data[j]);
        const size_t test = op->op == THREAD_LOOP ? find_test(g, op) : 0;
        bool *own = test ? arena_array(g->build.arena, bool, i + 1) : NULL;
        if (!test || mark_own(g, r, i, test, own) < LEAST_MOVED)
            continue;
        const size_t after = r->operations.count - i;
        enter(g, r, i, test, own);
        i = r->operations.count - after;
        count_all(g);
    }
}

void thread_enter(struct arena *a, struct thread_function *f)
{
    struct entering g = {.build = {.arena = a, .function = f, .where = f->where}};
    count_all(&g);
    enter_region(&g, f->body);
}
