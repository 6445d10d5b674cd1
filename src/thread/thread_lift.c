/* Computes integers of short branches before them. The backend predicates such a branch, so that this costs nothing,
 * and thread_number then finds values that are computed elsewhere, too. Loads and floats stay. A load in two branches whose other
 * arms give the same constants has one branch, with both conditions. */
#include "thread/thread_build.h"

enum { MOST_OPERATIONS = 12, MOST_INTEGERS = 12 };

struct lifting {
    struct thread_builder build;
    bool *inside; /* by number of a value: it is defined in the branch and stays there */
};

/* Returns whether a branch is short: its first arm has few operations on other types than integers, and its second arm, if any,
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

/* --- a load in two branches --- */

/* Returns the only operation of the arm with regions, if it is a load in a branch and the others are integers before it, a group
 * of constants, and parts of its result. NULL: the arm is another. */
static struct thread_operation *load_in_branch(const struct lifting *g,
                                               const struct thread_region *arm)
{
    struct thread_operation *inner = NULL;
    for (size_t i = 0; i + 1 < arm->operations.count; i++) {
        struct thread_operation *op = arm->operations.data[i];
        const struct thread_operand *o = op->operands.data;
        const bool is_part = inner && op->op == THREAD_PART && o[0].value == inner->results.data[0];
        if (!inner && op->op == THREAD_IF && op->regions.count == 2 && op->results.count == 1 &&
            op->regions.data[0]->operations.count == 2 &&
            op->regions.data[0]->operations.data[0]->op == THREAD_LOAD_CONST &&
            op->regions.data[1]->operations.count == 1)
            inner = op;
        else if (!is_part && (inner || (op->op != THREAD_JOIN && !can_move(g, op))))
            return NULL;
    }
    return inner;
}

/* Returns the constant that is an element of an operand; NULL: it is none. */
static const struct thread_operand *element_of(const struct thread_region *arm,
                                               const struct thread_operand *o, int64_t element)
{
    for (size_t i = 0; i < arm->operations.count; i++) {
        const struct thread_operation *op = arm->operations.data[i];
        if (op->op == THREAD_JOIN && op->results.data[0] == o->value)
            o = element < (int64_t)op->operands.count ? &op->operands.data[element] : o;
    }
    return o->value ? NULL : o;
}

static bool is_zero(const struct thread_operand *o)
{
    const double real = o->kind == THREAD_FLOAT ? o->real : 1;
    return (o->kind == THREAD_INTEGER && o->integer == 0) || (real == 0 && 1 / real > 0);
}

/* Returns the part that operand i of the arm's `yield` is, if the other arm gives the zero that the part is without a load. */
static struct thread_operation *part_of(const struct thread_operation *op,
                                        const struct thread_operation *inner, size_t i)
{
    const struct thread_region *arm = op->regions.data[0];
    const struct thread_operand *yes =
        &arm->operations.data[arm->operations.count - 1]->operands.data[i];
    const struct thread_operand *no = &op->regions.data[1]->operations.data[0]->operands.data[i];
    const struct thread_operand *without =
        &inner->regions.data[1]->operations.data[0]->operands.data[0];
    for (size_t j = 0; j < arm->operations.count; j++) {
        struct thread_operation *part = arm->operations.data[j];
        if (part->op != THREAD_PART || part->results.data[0] != yes->value)
            continue;
        const struct thread_operand *zero =
            element_of(arm, without, part->operands.data[1].integer);
        return zero && is_zero(zero) && !no->value && is_zero(no) &&
                       op->results.data[i]->type.count == 1
                   ? part
                   : NULL;
    }
    return NULL;
}

/* Moves the operations of the first arm to a region, with the load under both conditions. Its parts become the results of the
 * branch, which goes. Returns false if the branch is another. */
static bool join_branches(struct lifting *g, const struct thread_operation *op,
                          struct thread_region *to)
{
    if (op->op != THREAD_IF || op->regions.count != 2 ||
        op->regions.data[1]->operations.count != 1 || !op->results.count)
        return false;
    struct thread_region *arm = op->regions.data[0];
    struct thread_operation *inner = load_in_branch(g, arm);
    for (size_t i = 0; inner && i < op->results.count; i++) {
        struct thread_operation *part = part_of(op, inner, i);
        for (size_t j = 0; part && j < i; j++)
            part = part_of(op, inner, j) == part ? NULL : part;
        inner = part ? inner : NULL;
    }
    if (!inner)
        return false;
    for (size_t i = 0; i < op->results.count; i++)
        part_of(op, inner, i)->results.data[0] = op->results.data[i];
    for (size_t i = 0; i + 1 < arm->operations.count; i++) {
        struct thread_operation *moved = arm->operations.data[i];
        if (moved == inner) {
            g->build.region = to;
            g->build.where = op->where;
            g->build.turn = op->turn;
            inner->operands.data[0] =
                thread_use(THREAD_ADD_OP(&g->build, THREAD_AND, DT_BOOL, DT_NONE,
                                         op->operands.data[0], inner->operands.data[0]));
        }
        vec_push(g->build.arena, &to->operations, moved);
    }
    return true;
}

/* --- regions --- */

static void lift_region(struct lifting *g, struct thread_region *r)
{
    struct thread_region kept = {0};
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->regions.count; j++)
            lift_region(g, op->regions.data[j]);
        if (join_branches(g, op, &kept))
            continue;
        struct thread_region *arm = is_short(op) ? op->regions.data[0] : NULL;
        size_t left = 0;
        for (size_t j = 0; arm && j < arm->operations.count; j++) {
            struct thread_operation *inner = arm->operations.data[j];
            if (can_move(g, inner)) {
                vec_push(g->build.arena, &kept.operations, inner);
                continue;
            }
            arm->operations.data[left++] = inner;
            for (size_t k = 0; k < inner->results.count; k++)
                g->inside[inner->results.data[k]->number] = true;
        }
        if (arm)
            arm->operations.count = left;
        vec_push(g->build.arena, &kept.operations, op);
    }
    r->operations.data = kept.operations.data;
    r->operations.count = kept.operations.count;
    r->operations.capacity = kept.operations.capacity;
}

void thread_lift(struct arena *a, struct thread_function *f)
{
    struct lifting g = {.build = {.arena = a, .function = f},
                        .inside = arena_array(a, bool, 2 * (size_t)f->values + 1)};
    lift_region(&g, f->body);
}
