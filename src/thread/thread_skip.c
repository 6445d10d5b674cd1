/* Skips choices that all take their first operand, as those of a mask do in a tile that lies inside: one branch then, in place of
 * a choice for each element.
 *
 *     %p = lt %i, %n                                       %all = lt %k, %n
 *     %q = lt %j, %n       (j = i + 1)                     %x, %y = if %all {
 *     …                    (k = i + 31)                        yield %a, %b
 *     %x = select %p, %a, 0                          →     } else {
 *     %y = select %q, %b, 0                                    %p = lt %i, %n
 *     …                                                        …
 *                                                              yield %x, %y
 *                                                          }
 *
 * The conditions are comparisons joined by `and`. Those of the same two numbers, with constants added to them, all hold if that
 * of the extremes does and no sum wraps: the sum with the greatest constant is then the greatest. */
#include "thread/thread_build.h"

#include <string.h>

enum { LEAST_CHOICES = 16, MOST_TESTS = 4 };

/* One side of comparisons: a number with constants added to it. */
struct side {
    struct thread_operand base, least, greatest; /* these sums */
    int64_t from, to;                            /* the constants of these */
};

/* Comparisons that hold if that of the extremes does; or another condition. */
struct test {
    const struct thread_operation *like; /* NULL: a condition, a.base */
    struct side a, b;
};

struct skipping {
    struct thread_builder build;
    struct thread_operation **definitions; /* by number of a value */
    uint32_t *uses;                        /* by number */
    uint32_t values;                       /* that the function had */
    struct test tests[MOST_TESTS];
    int count;
    struct thread_operand ordered[2]; /* least and greatest sum of the latest side that is tested */
};

/* Returns the operation that gives the operand; NULL: it is an argument, a constant, a result of control, or new. */
static const struct thread_operation *definition(const struct skipping *g,
                                                 const struct thread_operand *o)
{
    const bool known = o->kind == THREAD_VALUE && o->value->number < g->values;
    return known ? g->definitions[o->value->number] : NULL;
}

static struct side side_of(const struct skipping *g, const struct thread_operand *o, enum dtype t)
{
    const struct thread_operation *sum = definition(g, o);
    if (sum && sum->op == THREAD_ADD && sum->types[0] == t &&
        sum->operands.data[1].kind == THREAD_INTEGER) {
        const int64_t more = dtype_wrap(t, sum->operands.data[1].integer);
        return (struct side){sum->operands.data[0], *o, *o, more, more};
    }
    return (struct side){.base = *o, .least = *o, .greatest = *o};
}

static void widen(struct side *s, const struct side *more)
{
    if (more->from < s->from) {
        s->from = more->from;
        s->least = more->least;
    }
    if (more->to > s->to) {
        s->to = more->to;
        s->greatest = more->greatest;
    }
}

static bool is_order(const struct thread_operation *op)
{
    return op->op >= THREAD_LT && op->op <= THREAD_GE && dtype_is_int(op->types[0]);
}

/* Adds what the condition needs to the tests. Returns false if those are too many. */
static bool add_condition(struct skipping *g, const struct thread_operand *o)
{
    const struct thread_operation *op = definition(g, o);
    if (op && op->op == THREAD_AND && op->types[0] == DT_BOOL)
        return add_condition(g, &op->operands.data[0]) && add_condition(g, &op->operands.data[1]);
    struct test t = {.a.base = *o};
    if (op && is_order(op))
        t = (struct test){op, side_of(g, &op->operands.data[0], op->types[0]),
                          side_of(g, &op->operands.data[1], op->types[0])};
    for (int i = 0; i < g->count; i++) {
        struct test *known = &g->tests[i];
        const bool alike = t.like ? known->like && known->like->op == t.like->op &&
                                        known->like->types[0] == t.like->types[0]
                                  : !known->like;
        if (alike && thread_same_operand(&known->a.base, &t.a.base) &&
            (!t.like || thread_same_operand(&known->b.base, &t.b.base))) {
            widen(&known->a, &t.a);
            widen(&known->b, &t.b);
            return true;
        }
    }
    if (g->count == MOST_TESTS)
        return false;
    g->tests[g->count++] = t;
    return true;
}

/* --- the branch --- */

static struct thread_operand both(struct skipping *g, struct thread_operand x,
                                  struct thread_operand y)
{
    return x.value ? thread_use(THREAD_ADD_OP(&g->build, THREAD_AND, DT_BOOL, DT_NONE, x, y)) : y;
}

/* Adds to `all` that no sum of a side wraps, unless the side before it had the same sums. */
static struct thread_operand add_order(struct skipping *g, struct thread_operand all,
                                       const struct side *s, enum dtype t)
{
    const bool known = thread_same_operand(&g->ordered[0], &s->least) &&
                       thread_same_operand(&g->ordered[1], &s->greatest);
    if (s->from == s->to || known)
        return all;
    g->ordered[0] = s->least;
    g->ordered[1] = s->greatest;
    struct thread_value *rises =
        THREAD_ADD_OP(&g->build, THREAD_GE, t, DT_NONE, s->greatest, s->least);
    return both(g, all, thread_use(rises));
}

/* Makes the condition that all conditions hold. */
static struct thread_operand add_tests(struct skipping *g)
{
    struct thread_operand all = {0};
    memset(g->ordered, 0, sizeof g->ordered);
    for (int i = 0; i < g->count; i++) {
        const struct test *t = &g->tests[i];
        if (!t->like) {
            all = both(g, all, t->a.base);
            continue;
        }
        const bool below = t->like->op == THREAD_LT || t->like->op == THREAD_LE;
        const enum dtype type = t->like->types[0];
        struct thread_value *holds =
            THREAD_ADD_OP(&g->build, t->like->op, type, DT_NONE, below ? t->a.greatest : t->a.least,
                          below ? t->b.least : t->b.greatest);
        all = both(g, all, thread_use(holds));
        all = add_order(g, all, &t->a, type);
        all = add_order(g, all, &t->b, type);
    }
    return all;
}

/* Makes the condition that it holds for the warp: a branch of whole warps needs no place where threads meet again. */
static struct thread_operand add_vote(struct skipping *g, struct thread_operand holds)
{
    struct thread_builder *b = &g->build;
    struct thread_value *word = THREAD_ADD_OP(b, THREAD_SELECT, DT_U32, DT_NONE, holds,
                                              thread_integer(1), thread_integer(0));
    word = THREAD_ADD_OP(b, THREAD_WARP_AND, DT_U32, DT_NONE, thread_use(word));
    return thread_use(
        THREAD_ADD_OP(b, THREAD_NE, DT_U32, DT_NONE, thread_use(word), thread_integer(0)));
}

static void use(struct skipping *g, const struct thread_operand *o)
{
    if (o->value)
        g->uses[o->value->number]++;
}

/* Counts the tests as uses of what they take. */
static void use_in_tests(struct skipping *g)
{
    for (int i = 0; i < g->count; i++) {
        const struct test *t = &g->tests[i];
        use(g, &t->a.base);
        use(g, &t->a.least);
        use(g, &t->a.greatest);
        use(g, &t->b.least);
        use(g, &t->b.greatest);
    }
}

/* Marks the operations before place `at` that only the choices need, except for what they choose if their conditions hold, and
 * the choices themselves. */
static void mark_own(const struct skipping *g, const struct thread_region *r, size_t at, size_t end,
                     bool *own)
{
    uint32_t *inside = arena_array(g->build.arena, uint32_t, g->build.function->values + 1);
    for (size_t i = end; i-- > 0;) {
        const struct thread_operation *op = r->operations.data[i];
        const struct thread_value *v = op->results.count == 1 ? op->results.data[0] : NULL;
        own[i] = i >= at ||
                 (v && thread_op_table[op->op].effects == THREAD_PURE && v->number < g->values &&
                  inside[v->number] > 0 && inside[v->number] == g->uses[v->number]);
        for (size_t j = 0; own[i] && j < op->operands.count; j++)
            if (op->operands.data[j].value && (i < at || j != 1))
                inside[op->operands.data[j].value->number]++;
    }
}

/* Puts the choices from place `at` on, before `end`, into a branch, with their own operations. Returns the place after it. */
static size_t skip(struct skipping *g, struct thread_region *r, size_t at, size_t end)
{
    struct arena *a = g->build.arena;
    struct thread_region to = {0}, *inside = arena_new(a, struct thread_region),
                         *outside = arena_new(a, struct thread_region);
    bool *own = arena_array(a, bool, end);
    const struct thread_operation *first = r->operations.data[at];
    g->build.where = first->where;
    g->build.turn = first->turn;
    use_in_tests(g);
    mark_own(g, r, at, end, own);
    for (size_t i = 0; i < at; i++)
        vec_push(a, own[i] ? &outside->operations : &to.operations, r->operations.data[i]);
    g->build.region = &to;
    const struct thread_operand all = add_vote(g, add_tests(g));
    struct thread_operation *branch = thread_add_control(&g->build, THREAD_IF);
    vec_push(a, &branch->operands, all);
    vec_push(a, &branch->regions, inside);
    vec_push(a, &branch->regions, outside);
    g->build.region = inside;
    struct thread_operation *kept = thread_add_control(&g->build, THREAD_YIELD);
    for (size_t i = at; i < end; i++) {
        struct thread_operation *choice = r->operations.data[i];
        vec_push(a, &branch->results, choice->results.data[0]);
        vec_push(a, &kept->operands, choice->operands.data[1]);
        choice->results.data[0] = thread_new_value(&g->build, choice->results.data[0]->type);
        vec_push(a, &outside->operations, choice);
    }
    g->build.region = outside;
    struct thread_operation *chosen = thread_add_control(&g->build, THREAD_YIELD);
    for (size_t i = at; i < end; i++)
        vec_push(a, &chosen->operands, thread_use(r->operations.data[i]->results.data[0]));
    const size_t after = to.operations.count;
    for (size_t i = end; i < r->operations.count; i++)
        vec_push(a, &to.operations, r->operations.data[i]);
    r->operations.data = to.operations.data;
    r->operations.count = to.operations.count;
    r->operations.capacity = to.operations.capacity;
    return after;
}

static bool is_choice(const struct thread_operation *op)
{
    return op->op == THREAD_SELECT && op->results.data[0]->type.count == 1 &&
           dtype_size(op->types[0]) >= 4 && op->operands.data[0].kind == THREAD_VALUE;
}

/* Returns whether an operand is the result of an operation of the region from place `at` on. */
static bool takes_from(const struct thread_region *r, size_t at, const struct thread_operation *op)
{
    const size_t count = r->operations.count;
    for (size_t i = at; i < count && r->operations.data[i] != op; i++)
        for (size_t j = 0; j < op->operands.count; j++)
            if (op->operands.data[j].value == r->operations.data[i]->results.data[0])
                return true;
    return false;
}

/* Returns the place after the choices that begin at place `at`, none of which takes another. */
static size_t end_of_choices(const struct thread_region *r, size_t at)
{
    size_t end = at;
    while (end < r->operations.count && is_choice(r->operations.data[end]) &&
           !takes_from(r, at, r->operations.data[end]))
        end++;
    return end;
}

static bool has_choices(const struct thread_region *r)
{
    for (size_t i = 0, run = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        run = is_choice(op) ? run + 1 : 0;
        for (size_t j = 0; j < op->regions.count; j++)
            if (has_choices(op->regions.data[j]))
                return true;
        if (run >= LEAST_CHOICES)
            return true;
    }
    return false;
}

static void count_region(struct skipping *g, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++)
            use(g, &op->operands.data[j]);
        if (op->results.count == 1 && op->regions.count == 0)
            g->definitions[op->results.data[0]->number] = op;
        for (size_t j = 0; j < op->regions.count; j++)
            count_region(g, op->regions.data[j]);
    }
}

/* Returns whether the tests are those of a mask: a number goes through a range. A choice by the lane alone is none. */
static bool is_mask(const struct skipping *g)
{
    bool ranges = false;
    for (int i = 0; i < g->count; i++) {
        const struct test *t = &g->tests[i];
        ranges |= t->like && (t->a.from < t->a.to || t->b.from < t->b.to);
    }
    return ranges;
}

/* Returns whether all threads of a warp run the region together: it has an operation of a warp or of the block. */
static bool runs_by_warps(const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const enum thread_opcode op = r->operations.data[i]->op;
        if (op == THREAD_MMA || op == THREAD_BARRIER ||
            (op >= THREAD_SHUFFLE && op <= THREAD_WARP_OR))
            return true;
    }
    return false;
}

static void skip_region(struct skipping *g, struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->regions.count; j++)
            skip_region(g, op->regions.data[j]);
        const size_t end = is_choice(op) ? end_of_choices(r, i) : i;
        bool few = end - i >= LEAST_CHOICES && runs_by_warps(r);
        g->count = 0;
        for (size_t j = i; few && j < end; j++)
            few = add_condition(g, &r->operations.data[j]->operands.data[0]);
        if (few && is_mask(g))
            i = skip(g, r, i, end) - 1;
        else if (end > i)
            i = end - 1;
    }
}

void thread_skip(struct arena *a, struct thread_function *f)
{
    if (!has_choices(f->body))
        return;
    struct skipping g = {.build = {.arena = a, .function = f}, .values = f->values};
    g.definitions = arena_array(a, struct thread_operation *, f->values + 1);
    g.uses = arena_array(a, uint32_t, f->values + 1);
    count_region(&g, f->body);
    skip_region(&g, f->body);
}
