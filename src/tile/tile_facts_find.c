/* Finds the facts of all scalars.
 *
 * Each assignment joins the facts of its value to those of its variable, until nothing changes; limits that still
 * move after some rounds become those of the type. Then the assignments are computed once more from the result,
 * because the condition of a loop limits its counter before the step:
 *
 *   for (i = 0; i < 100; i += 16)   i + 16 <= 115, so i is within 0 … 112 and a multiple of 16 */
#include "tile/tile_facts.h"

/* A loop around, in whose body its condition holds. */
struct scope {
    const struct stmt *loop;
    struct scope *outer;
    int reader;                           /* as in struct tile_facts, for all that is learned */
    bool entered;                         /* what is learned holds for the present facts */
    VEC(struct tile_fact_before) learned; /* from this condition and those around */
    VEC(int) assignments;                 /* of the body, inner loops apart: places in the list */
};

struct assignment {
    int number;
    enum dtype type;
    const struct expr *value; /* NULL: any */
    int replicas;             /* of a role that the variable counts; 0: it counts none */
    struct scope *scope;
    const struct expr *holds; /* true of the variable before it; NULL: not known */
    bool computed;            /* from the present facts of all that it reads: */
    bool reaches;             /* all that it reads has been reached */
    struct tile_fact fact;    /* of its value */
};

enum { ROUNDS = 4, MOST_ROUNDS = 64, NARROWINGS = 2 };

struct finding {
    struct tile_facts *facts;
    VEC(struct assignment) list;
    VEC(struct scope *) scopes;
    struct scope *scope;
    const struct expr *condition; /* of the loop whose step is walked through; NULL: none */
};

/* --- joins --- */

static struct tile_limit limit_join(const struct tile_limit *a, const struct tile_limit *b)
{
    if (!a->bound || !b->bound || !expr_same(a->bound, b->bound))
        return (struct tile_limit){NULL, 0};
    return a->more > b->more ? *a : *b;
}

static struct tile_fact fact_join(const struct tile_fact *a, const struct tile_fact *b)
{
    return (struct tile_fact){facts_join(&a->is, &b->is), limit_join(&a->limit, &b->limit)};
}

static struct tile_fact fact_widen(const struct tile_fact *before, const struct tile_fact *now,
                                   enum dtype t)
{
    struct tile_limit limit = limit_join(&before->limit, &now->limit);
    if (limit.more != before->limit.more)
        limit = (struct tile_limit){NULL, 0};
    return (struct tile_fact){facts_widen(&before->is, &now->is, facts_type_of(t)), limit};
}

static bool fact_same(const struct tile_fact *a, const struct tile_fact *b)
{
    return facts_same(&a->is, &b->is) && a->limit.bound == b->limit.bound &&
           a->limit.more == b->limit.more;
}

/* --- assignments --- */

static void count_assignment(void *user, struct stmt *s)
{
    struct tile_facts *t = user;
    if (s->kind != STMT_ASSIGN || s->target->op != OP_REF)
        return;
    int number = numbering_of(&t->numbers, s->target->sym);
    if (number >= 0)
        t->assigned[number]++;
}

static void note_assignment(struct finding *g, const struct stmt *s)
{
    const struct sym *to = s->kind == STMT_DECL                                ? s->sym
                           : s->kind == STMT_ROLE                              ? s->role->replica
                           : s->kind == STMT_ASSIGN && s->target->op == OP_REF ? s->target->sym
                                                                               : NULL;
    int number = to ? numbering_of(&g->facts->numbers, to) : -1;
    if (number < 0 || to->storage != ST_SCALAR || dtype_is_float(to->type.dtype))
        return;
    struct assignment a = {
        .number = number, .type = to->type.dtype, .value = s->value, .scope = g->scope};
    if (g->facts->assigned[number] == 1 && s->kind == STMT_ASSIGN)
        a.holds = g->condition;
    if (s->kind == STMT_ROLE)
        a.replicas = s->role->replicas;
    if (g->scope)
        vec_push(g->facts->arena, &g->scope->assignments, (int)g->list.count);
    vec_push(g->facts->arena, &g->list, a);
}

static void note_assignments(struct finding *g, const struct stmt *s)
{
    struct scope *outer = g->scope;
    for (; s; s = s->next) {
        note_assignment(g, s);
        note_assignments(g, s->init);
        if (s->kind == STMT_FOR) {
            struct scope *inner = arena_new(g->facts->arena, struct scope);
            *inner = (struct scope){.loop = s, .outer = outer, .reader = -2 - (int)g->scopes.count};
            vec_push(g->facts->arena, &g->scopes, inner);
            g->scope = inner;
        }
        note_assignments(g, s->body);
        g->scope = outer;
        note_assignments(g, s->otherwise);
        g->condition = s->kind == STMT_FOR ? s->condition : NULL;
        note_assignments(g, s->step);
        g->condition = NULL;
    }
}

static struct tile_fact any_value(enum dtype t)
{
    return (struct tile_fact){.is = facts_any(facts_type_of(dtype_is_float(t) ? DT_I64 : t))};
}

/* Learns what holds in the scope, unless that is known from before. */
static void enter(struct tile_facts *t, struct scope *scope)
{
    size_t known = t->undo.count;
    if (scope->entered) {
        for (size_t i = 0; i < scope->learned.count; i++)
            tile_facts_set(t, scope->learned.data[i].number, scope->learned.data[i].fact);
        return;
    }
    t->reader = scope->reader;
    for (const struct scope *each = scope; each; each = each->outer)
        tile_facts_enter(t, each->loop);
    scope->learned.count = 0;
    for (size_t i = known; i < t->undo.count; i++) {
        int number = t->undo.data[i].number;
        struct tile_fact_before learned = {number, t->scalars[number]};
        vec_push(t->arena, &scope->learned, learned);
    }
    scope->entered = true;
}

/* Computes what is known of the value, unless nothing that it reads has changed. */
static void compute(struct finding *g, int place)
{
    struct tile_facts *t = g->facts;
    struct assignment *a = &g->list.data[place];
    size_t known = t->undo.count;
    if (a->computed)
        return;
    if (a->scope)
        enter(t, a->scope);
    t->reader = place;
    a->fact = any_value(a->type);
    if (a->replicas)
        a->fact.is = facts_between(0, a->replicas - 1);
    t->unreached = false;
    if (a->holds)
        tile_facts_learn(t, a->holds, a->number);
    if (a->value && a->value->type.dtype == a->type)
        a->fact = tile_fact_of(t, a->value);
    tile_facts_forget(t, known);
    t->reader = NO_READER;
    a->reaches = !t->unreached;
    a->computed = true;
}

static void scope_changed(struct finding *g, struct scope *scope)
{
    for (size_t i = 0; scope->entered && i < scope->assignments.count; i++)
        g->list.data[scope->assignments.data[i]].computed = false;
    scope->entered = false;
}

/* Lets all that was found from this scalar's facts be found again. */
static void scalar_changed(struct finding *g, int number)
{
    struct tile_fact_readers *r = &g->facts->readers[number];
    for (size_t i = 0; i < r->list.count; i++) {
        int reader = r->list.data[i];
        if (reader >= 0)
            g->list.data[reader].computed = false;
        else
            scope_changed(g, g->scopes.data[-2 - reader]);
    }
    r->list.count = 0;
}

/* Joins all assignments to what was found before; from some round on, limits that move are given up. */
static bool grow(struct finding *g, int round)
{
    struct tile_facts *t = g->facts;
    bool changed = false;
    for (size_t i = 0; i < g->list.count; i++) {
        struct assignment *a = &g->list.data[i];
        struct tile_fact *f = &t->scalars[a->number], before = *f;
        compute(g, (int)i);
        if (!a->reaches)
            continue;
        if (!t->reached[a->number])
            *f = a->fact;
        else
            *f = round < ROUNDS ? fact_join(f, &a->fact) : fact_widen(f, &a->fact, a->type);
        if (t->reached[a->number] && fact_same(f, &before))
            continue;
        t->reached[a->number] = true;
        scalar_changed(g, a->number);
        changed = true;
    }
    return changed;
}

static void give_up(struct finding *g)
{
    for (size_t i = 0; i < g->list.count; i++) {
        const struct assignment *a = &g->list.data[i];
        g->facts->scalars[a->number] = any_value(a->type);
        g->facts->reached[a->number] = true;
        scalar_changed(g, a->number);
    }
}

/* Computes all assignments once more from facts that hold. */
static void narrow(struct finding *g)
{
    struct tile_facts *t = g->facts;
    struct tile_fact *next = arena_array(t->arena, struct tile_fact, t->numbers.count + 1);
    bool *any = arena_array(t->arena, bool, t->numbers.count + 1);
    for (size_t i = 0; i < g->list.count; i++) {
        struct assignment *a = &g->list.data[i];
        compute(g, (int)i);
        next[a->number] = any[a->number] ? fact_join(&next[a->number], &a->fact) : a->fact;
        any[a->number] = true;
    }
    for (int i = 0; i < t->numbers.count; i++)
        if (any[i]) {
            struct tile_fact before = t->scalars[i];
            t->scalars[i].is = facts_meet(&before.is, &next[i].is);
            t->scalars[i].limit = next[i].limit.bound ? next[i].limit : before.limit;
            if (!fact_same(&before, &t->scalars[i]))
                scalar_changed(g, i);
        }
}

/* --- assumptions --- */

static void note_return(void *user, struct stmt *s)
{
    *(bool *)user |= s->kind == STMT_RETURN;
}

static bool may_leave(struct stmt *s)
{
    bool leaves = s->kind == STMT_RETURN;
    stmt_walk(s->body, note_return, &leaves);
    stmt_walk(s->otherwise, note_return, &leaves);
    return leaves;
}

/* Learns what every block assumes: what is assumed before a statement that may leave the kernel. An assumption that is checked holds
 * only after the check. */
static void learn_assumptions(struct tile_facts *t)
{
    if (t->kernel->has_claims)
        return;
    for (struct stmt *s = t->kernel->body; s && !may_leave(s); s = s->next)
        if (s->kind == STMT_EFFECT && s->value->op == OP_ASSUME)
            tile_facts_learn(t, s->value->args[0], -1);
}

void tile_facts_find(struct tile_facts *t, struct arena *a, const struct kernel *k)
{
    struct finding g = {.facts = t};
    int round = 0;
    *t = (struct tile_facts){.arena = a, .kernel = k};
    numbering_init(&t->numbers, a, k);
    t->reader = NO_READER;
    t->readers = arena_array(a, struct tile_fact_readers, t->numbers.count + 1);
    t->assigned = arena_array(a, int, t->numbers.count + 1);
    t->scalars = arena_array(a, struct tile_fact, t->numbers.count + 1);
    t->reached = arena_array(a, bool, t->numbers.count + 1);
    stmt_walk(k->body, count_assignment, t);
    for (const struct sym *s = k->symbols; s; s = s->next) {
        int number = numbering_of(&t->numbers, s);
        t->scalars[number] = any_value(s->type.dtype);
        t->reached[number] = true;
    }
    note_assignments(&g, k->body);
    learn_assumptions(t);
    for (size_t i = 0; i < g.list.count; i++)
        t->reached[g.list.data[i].number] = false;
    while (round < MOST_ROUNDS && grow(&g, round))
        round++;
    if (round == MOST_ROUNDS)
        give_up(&g);
    for (int i = 0; i < NARROWINGS; i++)
        narrow(&g);
    t->undo.count = 0;
    t->readers = NULL;
}
