/* The number of copies that the body of a loop has in a kernel without roles. Small innermost loops of thread-level kernels get
 * several copies even if the program does not ask for them: the counter's step and the test then serve several iterations, and
 * the accesses of the copies are neighbours. */
#include "emit/emit_own.h"
#include "plan/plan_layouts.h"

#include <assert.h>

enum { OWN_BODY = 64, OWN_ITERATIONS = 32, OWN_WHOLE = 512 };
enum { MOST_ITERATIONS = 1024, MOST_WHOLE = 1 << 16 };
enum { MOST_COPIES = 1 << 14 }; /* of bodies, in a kernel: loops inside each other multiply */

/* --- what the body does --- */

struct found {
    const struct sym *sym;
    int assignments; /* of sym */
    int continues;
    bool copies; /* in the background */
    bool loops, collective, escapes;
    int64_t cost;
};

static void count_expr(void *user, struct expr **at)
{
    struct found *f = user;
    f->cost += (*at)->op != OP_LITERAL && (*at)->op != OP_REF;
}

static void count(struct found *f, const struct expr *e)
{
    struct expr *root = (struct expr *)e;
    if (e)
        expr_walk(&root, count_expr, f);
}

static void look(void *user, struct stmt *s)
{
    struct found *f = user;
    f->loops |= s->kind == STMT_FOR || s->kind == STMT_WHILE;
    f->escapes |= s->kind == STMT_RETURN || s->kind == STMT_BREAK;
    f->continues += s->kind == STMT_CONTINUE;
    f->copies |= s->kind == STMT_ASYNC_COPY;
    f->collective |= s->kind == STMT_EFFECT || s->kind == STMT_ASYNC_COPY;
    f->assignments += s->kind == STMT_ASSIGN && s->target->sym == f->sym;
    f->cost++;
    count(f, s->value);
    count(f, s->target);
    count(f, s->condition);
}

static struct found look_at(const struct stmt *body, const struct sym *sym)
{
    struct found f = {.sym = sym};
    stmt_walk((struct stmt *)body, look, &f);
    f.escapes |= f.continues > emit_count_skips(body);
    return f;
}

/* --- counters --- */

struct mentioned {
    const struct stmt *loop;
    bool changes;
};

static void note_mentioned(void *user, struct expr **at)
{
    struct mentioned *n = user;
    const struct expr *e = *at;
    n->changes |= !(op_table[e->op].flags & OP_PURE);
    if (e->op == OP_REF && e->sym)
        n->changes |= look_at(n->loop->body, e->sym).assignments > 0 ||
                      look_at(n->loop->step, e->sym).assignments > 0;
}

static bool is_invariant(const struct stmt *s, const struct expr *e)
{
    struct mentioned n = {.loop = s};
    struct expr *root = (struct expr *)e;
    expr_walk(&root, note_mentioned, &n);
    return !n.changes;
}

static const struct stmt *only_step(const struct stmt *s, const struct sym *sym)
{
    const struct stmt *found = NULL;
    for (const struct stmt *step = s->step; step; step = step->next) {
        if (step->kind != STMT_ASSIGN || step->target->op != OP_REF)
            return NULL;
        if (step->target->sym == sym)
            found = found ? NULL : step;
    }
    return found;
}

/* Finds v, b and c in a loop with the condition `v < b`, or another comparison, and the step `v = v + c`. */
static bool is_counted(const struct stmt *s, struct unrolling *t)
{
    const struct expr *c = s->condition;
    if (s->kind != STMT_FOR || !c || c->op < OP_LT || c->op > OP_NE || c->args[0]->op != OP_REF)
        return false;
    t->counter = c->args[0]->sym;
    t->bound = c->args[1];
    const struct stmt *step = only_step(s, t->counter);
    const struct expr *value = step ? step->value : NULL;
    if (!step || (value->op != OP_ADD && value->op != OP_SUB) || value->args[0]->op != OP_REF ||
        value->args[0]->sym != t->counter || !eval_int(value->args[1], NULL, &t->step))
        return false;
    t->step = value->op == OP_SUB ? -t->step : t->step;
    return t->step != 0 && t->step < INT32_MAX / 64 && t->step > -(INT32_MAX / 64) &&
           t->counter->type.dtype == DT_I32 && t->bound->type.dtype == DT_I32 &&
           is_invariant(s, t->bound) && look_at(s->body, t->counter).assignments == 0;
}

static bool holds(enum op op, int64_t a, int64_t b)
{
    switch (op) {
    case OP_LT: return a < b;
    case OP_GT: return a > b;
    case OP_LE: return a <= b;
    case OP_GE: return a >= b;
    case OP_EQ: return a == b;
    default: return a != b;
    }
}

/* Returns the iterations of a loop whose counter begins with a constant; -1: they are not known. */
static int64_t count_iterations(const struct stmt *s, const struct unrolling *t, int64_t start)
{
    enum { MOST = 1 << 20 };
    int64_t bound, iterations = 0;
    if (!eval_int(t->bound, NULL, &bound))
        return -1;
    for (int64_t v = start; holds(s->condition->op, v, bound); v += t->step)
        if (++iterations > MOST || v + t->step > INT32_MAX || v + t->step < INT32_MIN)
            return -1;
    return iterations;
}

/* --- all iterations after each other --- */

static void note_of_body(void *user, struct expr **at)
{
    struct mentioned *n = user;
    const struct expr *e = *at;
    n->changes |= !(op_table[e->op].flags & OP_PURE) || e->op == OP_ACCESS ||
                  (e->op == OP_REF && e->sym && look_at(n->loop->body, e->sym).assignments > 0);
}

/* Returns whether the body cannot change the value of e. */
static bool is_apart(const struct stmt *s, const struct expr *e)
{
    struct mentioned n = {.loop = s};
    struct expr *root = (struct expr *)e;
    expr_walk(&root, note_of_body, &n);
    return !n.changes;
}

/* Returns whether the steps only assign scalars, and compute them from scalars that the body does not assign. */
static bool has_plain_steps(struct emit *m, const struct stmt *s)
{
    for (const struct stmt *step = s->step; step; step = step->next)
        if (step->kind != STMT_ASSIGN || step->target->op != OP_REF || !is_apart(s, step->value) ||
            !is_apart(s, step->target) || !emit_variable(m, step->target->sym) ||
            step->target->sym->storage != ST_SCALAR)
            return false;
    return true;
}

/* Returns the iterations of a loop whose steps and conditions are constants; -1: they are not, or there are too many. */
static int64_t iterations_of_constants(struct emit *m, const struct stmt *s)
{
    int64_t iterations = 0;
    int count = 0;
    if (s->kind != STMT_FOR || !s->condition || !is_apart(s, s->condition) ||
        !has_plain_steps(m, s))
        return -1;
    for (const struct stmt *step = s->step; step; step = step->next)
        count++;
    struct slot *before = arena_array(m->arena, struct slot, count + 1), *b = before;
    for (const struct stmt *step = s->step; step; step = step->next)
        *b++ = emit_variable(m, step->target->sym)->slots[0];
    for (; iterations >= 0; iterations++) {
        const struct scalar c = emit_as(m, emit_scalar(m, s->condition), DT_BOOL);
        const bool known = c.o.kind != THREAD_VALUE && iterations <= MOST_ITERATIONS;
        if (known && !c.o.integer)
            break;
        iterations = known ? iterations : -2;
        for (const struct stmt *step = s->step; step && iterations >= 0; step = step->next) {
            const struct sym *sym = step->target->sym;
            const struct scalar v = emit_as(m, emit_scalar(m, step->value), sym->type.dtype);
            emit_variable(m, sym)->slots[0].o = v.o;
            iterations = v.o.kind != THREAD_VALUE ? iterations : -2;
        }
    }
    b = before;
    for (const struct stmt *step = s->step; step; step = step->next)
        emit_variable(m, step->target->sym)->slots[0] = *b++;
    return iterations;
}

/* Returns whether the list leaves or continues the loop that it is in. */
static bool has_jump(const struct stmt *first)
{
    bool found = false;
    for (const struct stmt *s = first; s && !found; s = s->next) {
        const bool loops = s->kind == STMT_FOR || s->kind == STMT_WHILE;
        found = s->kind == STMT_BREAK || s->kind == STMT_CONTINUE ||
                (!loops && (has_jump(s->body) || has_jump(s->otherwise)));
    }
    return found;
}

/* Lists the variables that only the steps assign: they are constants in each copy of the body. */
static void find_counters(struct emit *m, const struct stmt *s, struct unrolling *t)
{
    for (const struct stmt *d = s->init; d; d = d->next)
        if (d->kind == STMT_DECL && only_step(s, d->sym))
            vec_push(m->arena, &t->cycles, d->sym);
}

/* Returns whether all iterations of the loop are to be emitted, as `unroll` says. */
static bool is_whole(struct emit *m, const struct stmt *s, const struct found *f,
                     struct unrolling *t)
{
    const int64_t iterations = s->unroll == UNROLL_FULL ? iterations_of_constants(m, s) : -1;
    if (iterations < 0 || iterations * f->cost > MOST_WHOLE)
        return false;
    t->jumps = has_jump(s->body);
    if (t->jumps && f->continues > emit_count_skips(s->body))
        return false;
    if (t->jumps)
        find_counters(m, s, t);
    t->period = t->jumps ? (int)iterations + 1 : 1;
    m->copies += iterations;
    if (m->copies > MOST_COPIES)
        emit_error(
            m, s->loc,
            "`unroll` makes more than %d copies of loop bodies in this kernel: loops inside "
            "each other multiply; leave `unroll` out of the outer ones, or write `unroll(2)`",
            MOST_COPIES);
    return true;
}

/* --- variables that go round --- */

enum { MOST_PERIOD = 8, MOST_REPEATED = 2048 };

static void note_other(void *user, struct expr **at)
{
    const struct sym **own = user;
    const struct expr *e = *at;
    bool leaf = e->op == OP_LITERAL || (e->op == OP_REF && (e->sym == *own || e->sym->has_value));
    if ((e->count == 0 && !leaf) || !(op_table[e->op].flags & OP_PURE))
        *own = NULL;
}

/* Returns after how many steps the variable has its first value again; 0: never. */
static int period_of(struct emit *m, const struct stmt *s, const struct sym *sym)
{
    const struct stmt *step = only_step(s, sym);
    struct variable *v = emit_variable(m, sym);
    const struct sym *own = sym;
    if (!step || !v || v->count != 1 || v->slots[0].o.kind != THREAD_INTEGER ||
        look_at(s->body, sym).assignments > 0)
        return 0;
    struct expr *value = step->value;
    expr_walk(&value, note_other, &own);
    if (!own)
        return 0;
    const int64_t start = v->slots[0].o.integer;
    int period = 0;
    for (int i = 1; i <= MOST_PERIOD && period == 0; i++) {
        struct scalar next = emit_as(m, emit_scalar(m, step->value), sym->type.dtype);
        if (next.o.kind != THREAD_INTEGER)
            break;
        v->slots[0].o = next.o;
        if (next.o.integer == start)
            period = i;
    }
    v->slots[0].o = thread_integer(start);
    return period;
}

static void find_cycles(struct emit *m, const struct stmt *s, struct unrolling *t, struct found f)
{
    const int64_t cost = f.cost + (m->fragments ? plan_instructions_in(m->layouts, s->body) : 0);
    int period = 1;
    for (const struct stmt *d = s->init; d; d = d->next) {
        int own =
            d->kind == STMT_DECL && d->sym->storage == ST_SCALAR && dtype_is_int(d->sym->type.dtype)
                ? period_of(m, s, d->sym)
                : 0;
        if (own <= 1)
            continue;
        int common = period;
        while (common % own != 0)
            common += period;
        if (common > MOST_PERIOD || common * cost > MOST_REPEATED)
            continue;
        period = common;
        vec_push(m->arena, &t->cycles, d->sym);
    }
    t->period = period;
}

/* Returns a lower bound of the counter's first value; INT64_MIN: `init` does not declare it. */
static int64_t least_start(struct emit *m, const struct stmt *s, const struct sym *counter)
{
    for (const struct stmt *d = s->init; d; d = d->next)
        if (d->kind == STMT_DECL && d->sym == counter && d->value)
            return emit_facts_of(m, d->value).least;
    return INT64_MIN;
}

/* Returns whether the loop's counter rises until it meets the bound. */
static bool find_rising(struct emit *m, const struct stmt *s, struct rising *out)
{
    const struct expr *c = s->condition;
    if (s->kind != STMT_FOR || !c || (c->op != OP_LT && c->op != OP_LE) ||
        c->args[0]->op != OP_REF || c->args[0]->type.dtype != DT_I32)
        return false;
    const struct sym *counter = c->args[0]->sym;
    const struct stmt *step = only_step(s, counter);
    const struct found f = look_at(s->body, counter);
    *out = (struct rising){.counter = counter, .from_0 = least_start(m, s, counter) >= 0};
    return step && step->value->op == OP_ADD && step->value->args[0]->op == OP_REF &&
           step->value->args[0]->sym == counter &&
           eval_int(step->value->args[1], NULL, &out->step) && out->step > 0 && !f.escapes &&
           f.assignments == 0;
}

static struct unrolling find_unrolling(struct emit *m, const struct stmt *s)
{
    struct unrolling t = {.copies = 1, .period = 1};
    const bool counted = is_counted(s, &t);
    t.counter = counted ? t.counter : NULL;
    struct found f = look_at(s->body, NULL);
    t.whole = is_whole(m, s, &f, &t);
    if (!t.whole && s->unroll == UNROLL_NONE && s->kind == STMT_FOR && !f.escapes)
        find_cycles(m, s, &t, f);
    if (t.whole || !counted || t.period > 1)
        return t;
    const struct variable *v = emit_variable(m, t.counter);
    bool known = v && v->slots[0].o.kind == THREAD_INTEGER;
    const int64_t start = known ? v->slots[0].o.integer : -1;
    const int64_t iterations = known ? count_iterations(s, &t, start) : -1;
    bool small = kernel_thread_level(m->kernel) && !f.loops && !f.collective && !f.escapes;
    if (s->unroll == UNROLL_NONE && small && !f.continues && iterations >= 0 &&
        iterations <= OWN_ITERATIONS && iterations * f.cost <= OWN_WHOLE) {
        t.whole = true;
        return t;
    }
    const int64_t least = known ? start : least_start(m, s, t.counter);
    int64_t bound;
    if (least < 0 || t.step < 0 || s->condition->op != OP_LT)
        return t;
    if (s->unroll > 1 && f.continues > emit_count_skips(s->body))
        return t;
    if (s->unroll > 1)
        t.copies = s->unroll;
    else if (small && f.cost <= OWN_BODY)
        t.copies = f.cost <= OWN_BODY / 8 ? 16 : f.cost <= OWN_BODY / 4 ? 8 : 4;
    while (s->unroll <= 1 && t.copies > 4 && iterations > 0 && iterations % t.copies != 0)
        t.copies /= 2;
    if (iterations < 0 &&
        eval_int(t.bound, NULL, &bound)) /* else no iteration would fill the copies */
        while (t.copies > 1 && least + (t.copies - 1) * t.step >= bound)
            t.copies /= 2;
    if (iterations >= 0 && iterations < t.copies)
        t.copies = 1;
    t.even = iterations > 0 && iterations % t.copies == 0;
    return t;
}

/* --- loops --- */

/* For a loop whose variables go round among constants: returns how many iterations run in rounds of `period`, with one test a
 * round; the other iterations follow after the rounds. 0: each iteration has its own test. If the loop fills stages ahead, at
 * least as many iterations as stages follow, so that no round copies past the end. */
static int64_t iterations_of_rounds(struct emit *m, const struct stmt *s, const struct unrolling *t)
{
    enum { LEAST_ROUNDS = 2 };
    const struct variable *v = t->counter ? emit_variable(m, t->counter) : NULL;
    if (!v || t->period < 2 || !m->layouts || v->slots[0].o.kind != THREAD_INTEGER || t->step < 0)
        return 0;
    const struct found f = look_at(s->body, NULL);
    const int64_t iterations = count_iterations(s, t, v->slots[0].o.integer),
                  last = f.copies ? t->period - 1 : 0,
                  rest = (iterations - last) % t->period + last,
                  dots = plan_instructions_in(m->layouts, s->body);
    if (!f.loops && !f.continues && iterations >= LEAST_ROUNDS * t->period + last &&
        (t->period + rest) * dots <= MOST_REPEATED)
        return iterations - rest;
    return iterations % t->period == 0 ? iterations : 0;
}

/* Emits the iterations of a loop one after the other; its conditions are constants. copy: the number of the first one, for
 * emit_turn. */
static void unroll(struct emit *m, const struct stmt *s, const struct thread_source_loop *in,
                   int copy)
{
    for (; !m->failed && !m->ended; copy++) {
        struct scalar c = s->condition ? emit_as(m, emit_scalar(m, s->condition), DT_BOOL)
                                       : emit_constant(DT_BOOL, 1);
        assert(c.o.kind != THREAD_VALUE);
        if (!c.o.integer)
            return;
        emit_turn(m, in, copy);
        emit_list(m, s->body);
        emit_list(m, s->step);
    }
}

/* Emits a loop whose first `iterations` iterations run in rounds, and the iterations after them. */
static void emit_rounds(struct emit *m, const struct stmt *s, const struct unrolling *t,
                        int64_t iterations)
{
    struct variable *v = emit_variable(m, t->counter);
    const int64_t start = v->slots[0].o.integer, end = start + iterations * t->step;
    emit_loop_of_copies(m, s, t, t->period, emit_constant(DT_I32, end - t->period * t->step + 1));
    v->slots[0].o = thread_integer(end);
    unroll(m, s, t->in, t->period);
}

/* A counter that wrapped would never meet the bound, so the loop would not end. */
const struct rising *emit_rises(const struct emit *m, const struct expr *e)
{
    int64_t more = 0;
    if (e->op == OP_ADD && eval_int(e->args[1], NULL, &more))
        e = e->args[0];
    for (size_t i = 0; i < m->rising.count && e->op == OP_REF; i++) {
        const struct rising *r = &m->rising.data[i];
        if (r->counter == e->sym)
            return more >= 0 && more <= r->step ? r : NULL;
    }
    return NULL;
}

bool emit_rises_from_0(const struct emit *m, const struct expr *e)
{
    const struct rising *r = emit_rises(m, e);
    return r && r->from_0;
}

/* Emits a loop with several copies of the body in each iteration, and then a loop with one copy for the iterations that are
 * left. */
static void loop_of_threads(struct emit *m, const struct stmt *s,
                            const struct thread_source_loop *in)
{
    struct unrolling t = find_unrolling(m, s);
    t.in = in;
    if (m->failed)
        return;
    if (t.whole && t.jumps) /* the last test leaves the loop, which has one iteration */
        emit_loop_of_copies(m, s, &t, 1, emit_constant(DT_I32, 0));
    else if (t.whole)
        unroll(m, s, in, 0);
    if (t.whole)
        return;
    const int64_t rounds = iterations_of_rounds(m, s, &t);
    if (rounds > 0) {
        emit_rounds(m, s, &t, rounds);
        return;
    }
    if (t.copies > 1) {
        enum dtype type = t.counter->type.dtype;
        struct scalar ahead = emit_constant(type, (t.copies - 1) * t.step);
        struct scalar bound = emit_as(m, emit_scalar(m, t.bound), type);
        struct scalar limit =
            emit_op2(m, THREAD_SUB, type, emit_op2(m, THREAD_MAX, type, bound, ahead), ahead);
        emit_loop_of_copies(m, s, &t, t.copies, limit);
    }
    if (t.copies == 1 || !t.even)
        emit_loop_of_copies(m, s, &t, 1, emit_constant(DT_I32, 0));
}

void emit_loop(struct emit *m, const struct stmt *s)
{
    struct thread_source_loop *in = arena_new(m->arena, struct thread_source_loop);
    *in = (struct thread_source_loop){.loop = s, .outer = m->b.turn};
    const struct unrolling one = {.in = in, .copies = 1, .period = 1};
    emit_list(m, s->init);
    const size_t outer = m->rising.count;
    struct rising rising;
    if (find_rising(m, s, &rising))
        vec_push(m->arena, &m->rising, rising);
    if (m->roles)
        emit_loop_of_copies(m, s, &one, 1, emit_constant(DT_I32, 0));
    else
        loop_of_threads(m, s, in);
    m->rising.count = outer;
    m->b.turn = in->outer;
}
