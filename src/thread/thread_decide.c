/* Uses facts: a condition that always holds, or never, is decided here, and so are the branches and exits that it guards. A
 * remainder of a sum loses the multiples of its divisor, one that changes nothing goes, and one of a number below two
 * divisors, as a stage is, becomes a minimum. A random word takes numbers of 32 bits. */
#include "thread/thread_build.h"
#include "thread/thread_facts.h"

struct deciding {
    struct thread_builder build;
    struct thread_value *
        *instead; /* by number: of a result of a branch that is gone; NULL: itself */
    const struct thread_operation **definitions; /* by number */
    signed char *decided; /* by number of a condition: 1 it holds, -1 it does not, 0 not known */
    bool *narrow;         /* by number of a random word: its seed and its offset have 32 bits */
    bool *turns;          /* by number of a remainder: its dividend is below two divisors */
    bool any;             /* one of these three */
};

/* Returns whether the operation computes a condition from integers or conditions. */
static bool is_condition(const struct thread_operation *op)
{
    const bool joins = op->op == THREAD_AND || op->op == THREAD_OR || op->op == THREAD_NOT;
    return thread_is_comparison(op->op) ? dtype_is_int(op->types[0])
                                        : joins && op->types[0] == DT_BOOL;
}

static bool is_remainder(const struct thread_operation *op)
{
    return op->op == THREAD_REM && dtype_is_int(op->types[0]) &&
           op->operands.data[1].kind == THREAD_INTEGER && op->operands.data[1].integer > 0;
}

static bool is_of_interest(const struct thread_operation *op)
{
    return is_condition(op) || is_remainder(op) || op->op == THREAD_PHILOX;
}

static struct thread_operand number(int64_t v)
{
    return (struct thread_operand){.kind = THREAD_INTEGER, .integer = v};
}

/* Makes an operation a comparison of constants, which thread_number computes. */
static void set_condition(struct deciding *g, struct thread_operation *op, bool holds)
{
    g->decided[op->results.data[0]->number] = holds ? 1 : -1;
    g->any = true;
    op->op = holds ? THREAD_EQ : THREAD_NE;
    op->types[0] = DT_U32;
    op->operands.count = 0;
    for (int i = 0; i < 2; i++)
        vec_push(g->build.arena, &op->operands, number(0));
}

/* Drops the part of a dividend, a sum of numbers that are not negative, that the divisor divides. */
static void reduce_dividend(const struct deciding *g, struct thread_operation *op,
                            const struct facts *facts)
{
    const enum dtype t = op->types[0];
    struct thread_operand *o = op->operands.data;
    for (;;) {
        const struct thread_operation *sum =
            o[0].kind == THREAD_VALUE ? g->definitions[o[0].value->number] : NULL;
        if (!sum || sum->op != THREAD_ADD || sum->types[0] != t)
            return;
        const struct facts a = thread_facts_of(facts, &sum->operands.data[0], t),
                           b = thread_facts_of(facts, &sum->operands.data[1], t),
                           all = facts_sum(&a, &b);
        bool exact;
        facts_wrap(&all, facts_type_of(t), &exact);
        if (a.least < 0 || b.least < 0 || !exact)
            return;
        if (facts_divisor(&b) % o[1].integer == 0)
            o[0] = sum->operands.data[0];
        else if (facts_divisor(&a) % o[1].integer == 0)
            o[0] = sum->operands.data[1];
        else
            return;
    }
}

/* Returns the value of 32 bits that an operand of 64 bits converts, if it is not negative; NULL: there is none. */
static const struct thread_operand *
narrowed(const struct deciding *g, const struct thread_operand *o, const struct facts *facts)
{
    const struct thread_operation *op = o->value ? g->definitions[o->value->number] : NULL;
    const struct thread_operand *from = op && op->op == THREAD_CONVERT ? op->operands.data : NULL;
    if (!from || from->kind != THREAD_VALUE || (op->types[1] != DT_I32 && op->types[1] != DT_U32))
        return NULL;
    return !facts || facts[from->value->number].least >= 0 ? from : NULL;
}

static void look(void *user, const struct thread_operation *at, const struct facts *facts)
{
    struct deciding *g = user;
    struct thread_operation *op = (struct thread_operation *)at;
    const struct thread_value *v = op->results.count == 1 ? op->results.data[0] : NULL;
    int64_t known;
    if (!v || v->type.count > 1)
        return;
    g->definitions[v->number] = op;
    if (op->op == THREAD_PHILOX)
        g->narrow[v->number] = op->types[1] == DT_U64 &&
                               narrowed(g, &op->operands.data[0], facts) &&
                               narrowed(g, &op->operands.data[1], facts);
    g->any |= g->narrow[v->number];
    if (is_condition(op) && facts_known(&facts[v->number], &known)) {
        set_condition(g, op, known != 0);
    } else if (is_remainder(op)) {
        reduce_dividend(g, op, facts);
        const struct facts f = thread_facts_of(facts, &op->operands.data[0], op->types[0]);
        const int64_t by = op->operands.data[1].integer;
        const bool power = (by & (by - 1)) == 0;
        const bool is_known = facts_known(&f, &known) && known >= 0;
        if (is_known)
            op->operands.data[0] = number(known % by);
        if (is_known || (f.least >= 0 && f.greatest < by)) {
            op->op = THREAD_ADD;
            op->operands.data[1] = number(0);
        } else if (f.least >= 0 && power && op->types[0] == DT_I32) {
            op->op = THREAD_AND;
            op->operands.data[1] = number(by - 1);
        } else if (f.least >= 0 && !power && f.greatest < 2 * by && dtype_size(op->types[0]) == 4) {
            g->turns[v->number] = g->any = true;
        }
    }
}

/* --- branches and exits --- */

static int decision(const struct deciding *g, const struct thread_operation *op, size_t i)
{
    const struct thread_value *v = i < op->operands.count ? op->operands.data[i].value : NULL;
    return v ? g->decided[v->number] : 0;
}

/* Returns the operand that an operation gives because a condition is decided; NULL: there is none. */
static struct thread_value *given(const struct deciding *g, const struct thread_operation *op)
{
    const bool joins = (op->op == THREAD_AND || op->op == THREAD_OR) && op->types[0] == DT_BOOL;
    const int neutral = op->op == THREAD_AND ? 1 : -1;
    if (op->op == THREAD_SELECT && decision(g, op, 0))
        return op->operands.data[decision(g, op, 0) > 0 ? 1 : 2].value;
    for (size_t i = 0; joins && i < 2; i++)
        if (decision(g, op, i) == neutral)
            return op->operands.data[1 - i].value;
    return NULL;
}

/* Returns whether the operations of an arm can take the place of its `if`. */
static bool can_replace(const struct thread_operation *op, const struct thread_region *arm)
{
    const struct thread_operation *last =
        arm->operations.count ? arm->operations.data[arm->operations.count - 1] : NULL;
    if (!last || last->op != THREAD_YIELD)
        return op->results.count == 0 &&
               (!last || (last->op != THREAD_BREAK && last->op != THREAD_CONTINUE &&
                          last->op != THREAD_RETURN));
    for (size_t i = 0; i < last->operands.count; i++)
        if (last->operands.data[i].kind != THREAD_VALUE)
            return false;
    return true;
}

/* Adds the operations of the arm that is executed. Returns false if the `if` stays: an arm that was decided to leave a loop does. */
static bool replace(struct deciding *g, const struct thread_operation *op, struct thread_region *to)
{
    const int decided = op->op == THREAD_IF ? decision(g, op, 0) : 0;
    const size_t arm = decided < 0;
    if (!decided)
        return false;
    if (arm >= op->regions.count)
        return op->results.count == 0;
    struct thread_region *r = op->regions.data[arm];
    if (!can_replace(op, r))
        return false;
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *inner = r->operations.data[i];
        if (inner->op != THREAD_YIELD)
            vec_push(g->build.arena, &to->operations, r->operations.data[i]);
        for (size_t j = 0; inner->op == THREAD_YIELD && j < inner->operands.count; j++)
            g->instead[op->results.data[j]->number] = inner->operands.data[j].value;
    }
    return true;
}

/* Lets a random word take its seed and its offset as values of 32 bits. */
static void narrow(struct deciding *g, struct thread_operation *op, struct thread_region *to)
{
    g->build.region = to;
    g->build.where = op->where;
    op->types[1] = DT_U32;
    for (int i = 0; i < 2; i++) {
        const struct thread_operand from = *narrowed(g, &op->operands.data[i], NULL);
        op->operands.data[i] =
            from.value->type.dtype == DT_U32
                ? from
                : thread_use(THREAD_ADD_OP(&g->build, THREAD_CONVERT, DT_U32, DT_I32, from));
    }
}

/* Computes a % n of 0 <= a < 2 n: a - n wraps if a is less than n, and a is then the lesser of the two. */
static void turn(struct deciding *g, struct thread_operation *op, struct thread_region *to)
{
    const bool is_signed = op->types[0] == DT_I32;
    struct thread_operand *o = op->operands.data, a = o[0];
    g->build.region = to;
    g->build.where = op->where;
    if (is_signed)
        a = thread_use(THREAD_ADD_OP(&g->build, THREAD_CONVERT, DT_U32, DT_I32, a));
    o[0] = thread_use(THREAD_ADD_OP(&g->build, THREAD_SUB, DT_U32, DT_NONE, a, o[1]));
    o[1] = a;
    op->op = THREAD_MIN;
    op->types[0] = DT_U32;
    if (!is_signed)
        return;
    o[0] = thread_use(THREAD_ADD_OP(&g->build, THREAD_MIN, DT_U32, DT_NONE, o[0], a));
    op->op = THREAD_CONVERT;
    op->types[0] = DT_I32;
    op->types[1] = DT_U32;
    op->operands.count = 1;
}

/* Lets an exit that is always taken leave the loop. Nothing after it in its region is reached. The test at the end of an
 * iteration stays, so that a loop with one iteration keeps its form. */
static void leave(struct thread_operation *op)
{
    op->op = THREAD_BREAK;
    for (size_t i = 1; i < op->operands.count; i++)
        op->operands.data[i - 1] = op->operands.data[i];
    op->operands.count--;
}

static void decide_region(struct deciding *g, struct thread_region *r)
{
    struct thread_region to = {0};
    bool leaves = false;
    for (size_t i = 0; i < r->operations.count && !leaves; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++) {
            struct thread_value **v = &op->operands.data[j].value;
            if (*v && g->instead[(*v)->number])
                *v = g->instead[(*v)->number];
        }
        if (op->op == THREAD_PHILOX && g->narrow[op->results.data[0]->number])
            narrow(g, op, &to);
        if (op->op == THREAD_REM && g->turns[op->results.data[0]->number])
            turn(g, op, &to);
        struct thread_value *v = given(g, op);
        if (v && v->type.count == op->results.data[0]->type.count)
            g->instead[op->results.data[0]->number] = v;
        for (size_t j = 0; j < op->regions.count; j++)
            decide_region(g, op->regions.data[j]);
        if ((op->op == THREAD_BREAK_IF && decision(g, op, 0) < 0) || replace(g, op, &to))
            continue;
        const bool is_last =
            i + 2 == r->operations.count && r->operations.data[i + 1]->op == THREAD_CONTINUE;
        leaves = op->op == THREAD_BREAK_IF && decision(g, op, 0) > 0 && !is_last;
        if (leaves)
            leave(op);
        vec_push(g->build.arena, &to.operations, op);
    }
    r->operations.data = to.operations.data;
    r->operations.count = to.operations.count;
    r->operations.capacity = to.operations.capacity;
}

void thread_decide(struct arena *a, struct thread_function *f)
{
    struct deciding g = {.build = {.arena = a, .function = f, .where = f->where}};
    g.narrow = arena_array(a, bool, f->values + 1);
    g.turns = arena_array(a, bool, f->values + 1);
    g.instead = arena_array(a, struct thread_value *, f->values + 1);
    g.definitions = arena_array(a, const struct thread_operation *, f->values + 1);
    g.decided = arena_array(a, signed char, f->values + 1);
    thread_facts_walk(a, f, is_of_interest, look, &g);
    if (g.any)
        decide_region(&g, f->body);
}
