/* Idle masks: marks slices that provably lie inside their axis as `inside`, so that no executor
 * checks them at run time.
 *
 * For an integer expression this pass knows up to three facts: a number that divides it, a least
 * value, and a greatest value `bound + c`, where `bound` is an expression that never changes (a
 * size) or absent. That suffices for common kernels:
 *
 *   for (p = 0; p < k; p += 16)   p <= k - 1, and with 16 | k, since 16 | p as well: p <= k - 16
 *   block.x * 128, grid(cdiv(m, 128))   <= m - 1, and with 128 | m: <= m - 128
 *
 * A fact holds for the value as it is computed, so an op that could wrap has none. A slice that
 * is not certain to lie inside keeps its mask. */
#include "base/number_map.h"
#include "base/arithmetic.h"
#include "tile/numbering.h"
#include "tile/passes.h"

struct fact {
    int64_t divisor;          /* at least 1; 0: the value is 0, which every number divides */
    int64_t least;            /* INT64_MIN: not known */
    bool bounded;             /* value <= bound + c is known */
    const struct expr *bound; /* NULL: the bound is the number c alone */
    int64_t c;
};

struct saved_fact {
    int number;
    struct fact fact;
};

struct masks {
    struct kernel *kernel;
    struct numbering numbers;
    int *assigned;            /* by symbol: number of statements that assign it */
    struct number_map *never; /* by expression, kept after `assigned` is known: the expression
                               * never changes */
    struct fact *facts;       /* by symbol: facts of those never assigned, and of a loop's counter
                         * inside the loop */
    VEC(struct saved_fact) undo; /* facts that assume() changed */
};

static const struct fact nothing = {.divisor = 1, .least = INT64_MIN};

static struct fact fact_of(const struct masks *m, const struct expr *e);

/* --- numbers --- */

/* Returns the greatest multiple of d (> 0) that is at most v. */
static int64_t multiple_below(int64_t v, int64_t d)
{
    int64_t rest = v % d;
    return v - (rest < 0 ? rest + d : rest);
}

/* Returns true if v is far from overflow. Facts have only such numbers; larger ones count as not
 * known. */
static bool is_small(int64_t v)
{
    return v > -((int64_t)1 << 40) && v < (int64_t)1 << 40;
}

static int64_t least_of(enum dtype t)
{
    return t == DT_I64 ? INT64_MIN : INT32_MIN;
}

static int64_t greatest_of(enum dtype t)
{
    return t == DT_I64 ? INT64_MAX : INT32_MAX;
}

static bool is_counted(enum dtype t)
{
    return t == DT_I32 || t == DT_I64;
}

static bool int_literal(const struct expr *e, int64_t *v)
{
    return expr_is_integer(e, v) && is_small(*v);
}

/* Returns e without casts that keep the value. */
static const struct expr *plain(const struct expr *e)
{
    while (e->op == OP_CAST && is_counted(e->type.dtype) && is_counted(e->args[0]->type.dtype) &&
           dtype_holds(e->type.dtype, e->args[0]->type.dtype))
        e = e->args[0];
    return e;
}

/* --- facts --- */

static bool never_changes(const struct masks *m, const struct expr *e)
{
    if (!(op_table[e->op].flags & OP_PURE) || e->op == OP_THREAD || e->op == OP_BLOCK)
        return false;
    if (e->op == OP_REF) {
        int number = numbering_of(&m->numbers, e->sym);
        return e->sym->storage == ST_CONST ||
               (e->sym->storage == ST_PARAM && number >= 0 && m->assigned[number] == 0);
    }
    bool added, never = true;
    struct number_entry *known = number_map_entry(m->kernel->arena, m->never, (uintptr_t)e, &added);
    if (!added)
        return known->value;
    for (int i = 0; i < e->count && never; i++)
        never = never_changes(m, e->args[i]);
    number_map_find(m->never, (uintptr_t)e)->value = never;
    return never;
}

/* Returns the fact that the value of e is at most e. */
static struct fact bounded_by_itself(const struct expr *e)
{
    return (struct fact){
        .divisor = 1, .least = least_of(e->type.dtype), .bounded = true, .bound = e};
}

static struct fact exactly(int64_t v)
{
    return (struct fact){
        .divisor = v < 0 ? -v : v, .least = v, .bounded = true, .bound = NULL, .c = v};
}

/* Returns true if a value that f describes, computed in t, certainly does not wrap. */
static bool stays_in(const struct fact *f, enum dtype t)
{
    if (!f->bounded || f->least == INT64_MIN || f->least < least_of(t))
        return false;
    if (!f->bound)
        return f->c <= greatest_of(t);
    return f->c <= 0 && dtype_size(f->bound->type.dtype) <= dtype_size(t);
}

/* Lowers the greatest value to a multiple of the divisor. */
static struct fact tightened(const struct masks *m, struct fact f)
{
    if (!f.bounded || f.divisor == 0)
        return f;
    int64_t step =
        f.bound ? greatest_common_divisor(f.divisor, fact_of(m, f.bound).divisor) : f.divisor;
    f.c = step > 0 ? multiple_below(f.c, step) : f.c;
    return f;
}

static struct fact add(struct fact a, struct fact b)
{
    struct fact sum = nothing;
    if (a.bound && b.bound)
        return nothing;
    sum.divisor = greatest_common_divisor(a.divisor, b.divisor);
    if (is_small(a.least) && is_small(b.least))
        sum.least = a.least + b.least;
    sum.bounded = a.bounded && b.bounded && is_small(a.c) && is_small(b.c);
    sum.bound = a.bound ? a.bound : b.bound;
    sum.c = sum.bounded ? a.c + b.c : 0;
    return sum;
}

/* Returns the fact of a times n, n > 0. */
static struct fact times(const struct masks *m, struct fact a, int64_t n)
{
    struct fact product = nothing;
    enum { MOST = 1 << 20 };
    if (n <= 0 || n > MOST || !is_small(a.divisor * n))
        return nothing;
    product.divisor = a.divisor * n;
    if (is_small(a.least) && is_small(a.least * n))
        product.least = a.least * n;
    int64_t unit;
    if (a.bounded && !a.bound && is_small(a.c)) {
        product.bounded = is_small(a.c * n);
        product.c = a.c * n;
    } else if (a.bounded && a.bound && a.c == -1 && a.bound->op == OP_CDIV &&
               int_literal(a.bound->args[1], &unit) && unit == n) {
        /* x < cdiv(e, n), so x * n < e */
        product.bounded = true;
        product.bound = plain(a.bound->args[0]);
        product.c = -1;
    }
    return tightened(m, product);
}

static struct fact of_block(const struct masks *m, const struct expr *e)
{
    const struct expr *blocks = m->kernel->grid[e->axis];
    struct fact f = blocks ? fact_of(m, blocks) : exactly(1);
    struct fact index = {.divisor = 1, .least = 0};
    if (f.bounded && is_small(f.c)) {
        index.bounded = true;
        index.bound = f.bound;
        index.c = f.c - 1;
    }
    return index;
}

static struct fact of_quotient(struct fact a, int64_t n, bool is_rest)
{
    if (n <= 0 || a.least < 0)
        return nothing;
    struct fact f = {.divisor = 1, .least = 0, .bounded = true};
    if (is_rest)
        f.c = n - 1;
    else if (a.bounded && !a.bound)
        f.c = a.c / n;
    else
        return nothing;
    return f;
}

static struct fact of_least(struct fact a, struct fact b)
{
    struct fact f = a.bounded ? a : b;
    f.divisor = greatest_common_divisor(a.divisor, b.divisor);
    f.least = a.least < b.least ? a.least : b.least;
    return f;
}

static struct fact of_arithmetic(const struct masks *m, const struct expr *e)
{
    struct fact a = fact_of(m, e->args[0]);
    int64_t n;
    bool by_number = int_literal(e->args[1], &n);
    switch (e->op) {
    case OP_ADD: return tightened(m, add(a, fact_of(m, e->args[1])));
    case OP_SUB: return by_number ? tightened(m, add(a, exactly(-n))) : nothing;
    case OP_MUL:
        if (by_number)
            return times(m, a, n);
        return int_literal(e->args[0], &n) ? times(m, fact_of(m, e->args[1]), n) : nothing;
    case OP_SHL: return by_number && n >= 0 && n < 20 ? times(m, a, (int64_t)1 << n) : nothing;
    case OP_DIV: return by_number ? of_quotient(a, n, false) : nothing;
    case OP_REM: return by_number ? of_quotient(a, n, true) : nothing;
    case OP_MIN: return of_least(a, fact_of(m, e->args[1]));
    default: return nothing;
    }
}

static struct fact of_symbol(const struct masks *m, const struct expr *e)
{
    int number = numbering_of(&m->numbers, e->sym);
    if (number < 0)
        return nothing;
    struct fact f = m->facts[number];
    if (e->sym->storage == ST_PARAM && m->assigned[number] == 0) {
        f.bounded = true;
        f.bound = e;
        f.c = 0;
        f.least = f.least < least_of(e->type.dtype) ? least_of(e->type.dtype) : f.least;
    }
    return f;
}

static struct fact fact_of(const struct masks *m, const struct expr *e)
{
    e = plain(e);
    int64_t v;
    if (!is_counted(e->type.dtype) || e->type.rank > 0)
        return nothing;
    if (int_literal(e, &v))
        return exactly(v);
    switch (e->op) {
    case OP_REF: return of_symbol(m, e);
    case OP_BLOCK: return of_block(m, e);
    case OP_THREAD: {
        int threads = m->kernel->threads[e->axis];
        return (struct fact){.divisor = 1, .bounded = true, .c = threads > 1 ? threads - 1 : 0};
    }
    default: break;
    }
    if (e->count == 2) {
        struct fact f = of_arithmetic(m, e);
        if (stays_in(&f, e->type.dtype))
            return f;
    }
    return never_changes(m, e) ? bounded_by_itself(e) : nothing;
}

/* --- sources of facts --- */

static void learn(struct masks *m, int number, struct fact f)
{
    struct saved_fact before = {number, m->facts[number]};
    vec_push(m->kernel->arena, &m->undo, before);
    m->facts[number] = f;
}

/* Restores the facts as they were when `undo` had `known` entries. */
static void forget(struct masks *m, size_t known)
{
    while (m->undo.count > known) {
        const struct saved_fact *last = &m->undo.data[--m->undo.count];
        m->facts[last->number] = last->fact;
    }
}

/* Returns the number of a symbol that keeps its value; -1: e is not one. */
static int unassigned(const struct masks *m, const struct expr *e)
{
    e = plain(e);
    if (e->op != OP_REF || e->type.rank > 0)
        return -1;
    int number = numbering_of(&m->numbers, e->sym);
    bool scalar = e->sym->storage == ST_PARAM || e->sym->storage == ST_SCALAR;
    return scalar && number >= 0 && m->assigned[number] == 0 ? number : -1;
}

/* Learns from x % n == 0. */
static void learn_divisor(struct masks *m, const struct expr *e)
{
    int64_t n, zero;
    if (e->args[0]->op != OP_REM || !int_literal(e->args[1], &zero) || zero != 0 ||
        !int_literal(e->args[0]->args[1], &n) || n <= 0)
        return;
    int number = unassigned(m, e->args[0]->args[0]);
    if (number < 0 || m->facts[number].divisor == 0)
        return;
    struct fact f = m->facts[number];
    int64_t multiple = n / greatest_common_divisor(n, f.divisor);
    f.divisor = is_small(multiple) && is_small(f.divisor) && is_small(multiple * f.divisor)
                    ? multiple * f.divisor
                    : n;
    learn(m, number, f);
}

/* Learns from x >= n and x > n. */
static void learn_least(struct masks *m, const struct expr *e)
{
    int64_t n;
    int number = unassigned(m, e->args[0]);
    if (number < 0 || !int_literal(e->args[1], &n))
        return;
    struct fact f = m->facts[number];
    int64_t least = e->op == OP_GT ? n + 1 : n;
    if (least <= f.least)
        return;
    f.least = least;
    learn(m, number, f);
}

static void learn_assumption(struct masks *m, const struct expr *e)
{
    if (e->op == OP_LAND) {
        learn_assumption(m, e->args[0]);
        learn_assumption(m, e->args[1]);
    } else if (e->op == OP_EQ) {
        learn_divisor(m, e);
    } else if (e->op == OP_GE || e->op == OP_GT) {
        learn_least(m, e);
    }
}

/* Returns n if `s = s + n` with n > 0, the step of the loop, is the only assignment to s; else
 * 0. */
static int64_t counted_step(const struct masks *m, const struct stmt *loop, const struct sym *s)
{
    int number = numbering_of(&m->numbers, s);
    if (number < 0 || m->assigned[number] != 1)
        return 0;
    for (const struct stmt *step = loop->step; step; step = step->next) {
        int64_t n;
        const struct expr *v = step->value;
        if (step->target->op == OP_REF && step->target->sym == s && v->op == OP_ADD &&
            v->args[0]->op == OP_REF && v->args[0]->sym == s && int_literal(v->args[1], &n))
            return n > 0 ? n : 0;
    }
    return 0;
}

static bool names(const struct expr *e, const struct sym *s)
{
    e = plain(e);
    return e->op == OP_REF && e->sym == s;
}

/* Returns the bound on s that a condition contains: `s < e`, `s <= e`, or these turned around. */
static struct fact bound_in(const struct masks *m, const struct expr *condition,
                            const struct sym *s)
{
    enum op op = condition ? condition->op : OP_LITERAL;
    if (op == OP_LAND) {
        struct fact f = bound_in(m, condition->args[0], s);
        return f.bounded ? f : bound_in(m, condition->args[1], s);
    }
    bool less = op == OP_LT || op == OP_LE, greater = op == OP_GT || op == OP_GE;
    if ((!less && !greater) || !names(condition->args[less ? 0 : 1], s))
        return nothing;
    struct fact limit = fact_of(m, condition->args[less ? 1 : 0]);
    struct fact f = nothing;
    f.bounded = limit.bounded && is_small(limit.c);
    f.bound = limit.bound;
    f.c = f.bounded ? limit.c - (op == OP_LT || op == OP_GT) : 0;
    return f;
}

/* Learns about the counter of for (s = start; s < limit; s += step); the facts hold inside the
 * body. */
static void learn_counter(struct masks *m, const struct stmt *loop, const struct stmt *init)
{
    int64_t step = counted_step(m, loop, init->sym);
    if (step == 0 || !init->value || init->sym->storage != ST_SCALAR ||
        !is_counted(init->sym->type.dtype))
        return;
    struct fact start = fact_of(m, init->value), known = bound_in(m, loop->condition, init->sym);
    struct fact f = known;
    f.divisor = greatest_common_divisor(start.divisor, step);
    f.least = start.least;
    f = tightened(m, f);
    /* If the next value could wrap, only the condition is certain. */
    struct fact next = f;
    next.c = f.bounded && is_small(f.c) ? f.c + step : INT64_MAX;
    learn(m, numbering_of(&m->numbers, init->sym),
          stays_in(&next, init->sym->type.dtype) ? f : known);
}

static void count_assignment(void *user, struct stmt *s)
{
    struct masks *m = user;
    if (s->kind != STMT_ASSIGN || s->target->op != OP_REF)
        return;
    int number = numbering_of(&m->numbers, s->target->sym);
    if (number >= 0)
        m->assigned[number]++;
}

/* --- slices --- */

static bool lies_inside(const struct masks *m, const struct sym *s, int axis,
                        const struct index *index)
{
    struct fact start = fact_of(m, index->value);
    if (start.least < 0 || !start.bounded || !is_small(start.c) || !is_small(index->extent))
        return false;
    int64_t end = start.c + index->extent, extent = s->type.extent[axis];
    if (s->storage == ST_VIEW) {
        const struct expr *dim = plain(s->dims[axis]);
        if (start.bound)
            return end <= 0 && expr_same(start.bound, dim);
        if (!int_literal(dim, &extent))
            return false;
    }
    return !start.bound && end <= extent;
}

static void mark_access(void *user, struct expr **at)
{
    const struct masks *m = user;
    const struct expr *e = *at;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind == IX_SLICE && lies_inside(m, e->sym, i, &e->index[i]))
            e->index[i].inside = true;
}

static void mark_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, mark_access, user);
}

static void mark_list(struct masks *m, struct stmt *first);

/* Marks a statement. Facts about a counter hold only in the body, because the condition is
 * evaluated once more after the last iteration. */
static void mark_statement(struct masks *m, struct stmt *s)
{
    size_t known = m->undo.count;
    mark_list(m, s->init);
    stmt_expressions(s, mark_root, m);
    for (const struct stmt *init = s->init; init; init = init->next)
        if (init->kind == STMT_DECL)
            learn_counter(m, s, init);
    mark_list(m, s->body);
    mark_list(m, s->otherwise);
    forget(m, known);
    mark_list(m, s->step);
}

/* Learns from a scalar that keeps the value of its declaration: facts about that value stay
 * true. */
static void learn_declared(struct masks *m, const struct stmt *s)
{
    int number = numbering_of(&m->numbers, s->sym);
    if (s->value && s->sym->storage == ST_SCALAR && number >= 0 && m->assigned[number] == 0)
        m->facts[number] = fact_of(m, s->value);
}

static void mark_list(struct masks *m, struct stmt *first)
{
    size_t known = m->undo.count;
    for (struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_ENSURES)
            continue;
        mark_statement(m, s);
        if (s->kind == STMT_DECL)
            learn_declared(m, s);
        else if (s->kind == STMT_EFFECT && s->value->op == OP_ASSUME)
            learn_assumption(m, s->value->args[0]);
    }
    forget(m, known);
}

void pass_masks(struct pass_context *c)
{
    struct kernel *k = c->kernel;
    struct masks m = {.kernel = k};
    numbering_init(&m.numbers, k->arena, k);
    m.assigned = arena_array(k->arena, int, m.numbers.count + 1);
    m.never = arena_new(k->arena, struct number_map);
    m.facts = arena_array(k->arena, struct fact, m.numbers.count + 1);
    for (int i = 0; i < m.numbers.count; i++)
        m.facts[i] = nothing;
    stmt_walk(k->body, count_assignment, &m);
    mark_list(&m, k->body);
}
