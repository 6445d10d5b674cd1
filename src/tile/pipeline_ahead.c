/* Values of expressions in later turns (iterations) of a loop.
 *
 * If the loop's step adds a number to a counter, the counter in turn n is n times the number
 * further on; for any other step, the formula is repeated for each turn. The values are those
 * that the loop itself will compute, in the same order. So if the turn runs at all, a promise
 * such as `inside` that holds in the loop also holds for these values. */
#include "tile/pipeline.h"
#include "tile/tile_facts.h"

enum { MOST_DEPTH = 32, MOST_NODES = 400 };

/* --- making expressions --- */

struct expr *pipeline_plus_number(struct kernel *k, struct expr *e, int64_t n)
{
    enum dtype t = e->type.dtype;
    int64_t known;
    if (n == 0)
        return e;
    if (expr_is_integer(e, &known))
        return expr_int(k, t, dtype_wrap(t, known + n), e->loc);
    if ((e->op == OP_ADD || e->op == OP_SUB) && expr_is_integer(e->args[1], &known))
        return pipeline_plus_number(k, e->args[0], (e->op == OP_ADD ? known : -known) + n);
    enum op op = n < 0 ? OP_SUB : OP_ADD;
    return expr_binary(k, op, e->type, e->loc, e, expr_int(k, t, n < 0 ? -n : n, e->loc));
}

static struct expr *times_number(struct kernel *k, struct expr *e, int64_t n)
{
    enum dtype t = e->type.dtype;
    int64_t known;
    if (n == 1)
        return e;
    if (expr_is_integer(e, &known))
        return expr_int(k, t, dtype_wrap(t, known * n), e->loc);
    return expr_binary(k, OP_MUL, e->type, e->loc, e, expr_int(k, t, n, e->loc));
}

struct expr *pipeline_both_hold(struct kernel *k, struct expr *a, struct expr *b)
{
    return a ? expr_binary(k, OP_LAND, type_scalar(DT_BOOL), b->loc, a, b) : b;
}

/* --- steps --- */

/* Returns true for s = s + n and s = s - n, and sets *n to the signed number. */
static bool steps_by(const struct stmt *step, int64_t *n)
{
    const struct expr *v = step->value;
    if (step->kind != STMT_ASSIGN || step->target->op != OP_REF ||
        (v->op != OP_ADD && v->op != OP_SUB) || v->args[0]->op != OP_REF ||
        v->args[0]->sym != step->target->sym || v->type.dtype != step->target->type.dtype ||
        !expr_is_integer(v->args[1], n))
        return false;
    *n = v->op == OP_ADD ? *n : -*n;
    return true;
}

static const struct stmt *step_of(const struct stmt *loop, const struct sym *s)
{
    const struct stmt *found = NULL;
    for (const struct stmt *step = loop->step; step; step = step->next)
        if (step->target->sym == s)
            found = found ? NULL : step;
    return found;
}

/* --- statements of the body --- */

struct search {
    const struct sym *sym;
    const struct stmt *assigns, *declares;
};

static void look(void *user, struct stmt *s)
{
    struct search *search = user;
    if (s->kind == STMT_ASSIGN && s->target->sym == search->sym)
        search->assigns = s;
    if (s->kind == STMT_DECL && s->sym == search->sym)
        search->declares = s;
}

static struct search in_body(const struct stmt *loop, const struct sym *s)
{
    struct search search = {.sym = s};
    stmt_walk(loop->body, look, &search);
    return search;
}

/* --- values --- */

struct copying {
    struct turns *turns;
    int depth, nodes;
};

static struct expr *not_known(struct copying *c, const struct expr *e)
{
    if (!c->turns->unknown)
        c->turns->why = e;
    c->turns->unknown = true;
    return expr_copy(c->turns->kernel, e);
}

static struct expr *copy(struct copying *c, const struct expr *e);

static struct expr *copy_scalar(struct copying *c, const struct expr *e)
{
    struct turns *t = c->turns;
    for (size_t i = 0; i < t->counters.count; i++)
        if (t->counters.data[i].sym == e->sym)
            return t->counters.data[i].value ? expr_copy(t->kernel, t->counters.data[i].value)
                                             : not_known(c, e);
    if (e->sym->storage == ST_PARAM || e->sym->storage == ST_CONST)
        return expr_copy(t->kernel, e);
    struct search found = in_body(t->loop, e->sym);
    if (found.assigns)
        return not_known(c, e);
    if (!found.declares)
        return expr_copy(t->kernel, e);
    if (!found.declares->value || c->depth >= MOST_DEPTH)
        return not_known(c, e);
    c->depth++;
    struct expr *value = copy(c, found.declares->value);
    c->depth--;
    return expr_cast(t->kernel, value, e->type.dtype);
}

/* Returns true if e reads memory that is not written meanwhile. */
static bool may_read(struct copying *c, const struct expr *e)
{
    if (e->sym->storage == ST_VIEW)
        return e->sym->is_const;
    struct search found = in_body(c->turns->loop, e->sym);
    return e->sym->storage == ST_ARRAY && !found.assigns && !found.declares;
}

static struct expr *copy(struct copying *c, const struct expr *e)
{
    bool access = e->op == OP_ACCESS;
    if (++c->nodes > MOST_NODES || (!access && !(op_table[e->op].flags & OP_PURE)) ||
        (access && !may_read(c, e)) || (e->type.rank > 0 && (!access || c->depth > 0)))
        return not_known(c, e);
    if (e->op == OP_REF)
        return copy_scalar(c, e);
    struct expr *x = arena_copy(c->turns->kernel->arena, e, sizeof *e);
    c->depth++;
    if (e->count > 0)
        x->args = arena_array(c->turns->kernel->arena, struct expr *, e->count);
    for (int i = 0; i < e->count; i++)
        x->args[i] = copy(c, e->args[i]);
    if (e->indices > 0)
        x->index = arena_array(c->turns->kernel->arena, struct index, e->indices);
    for (int i = 0; i < e->indices; i++) {
        x->index[i] = e->index[i];
        x->index[i].value = e->index[i].value ? copy(c, e->index[i].value) : NULL;
    }
    x->otherwise = e->otherwise ? copy(c, e->otherwise) : NULL;
    c->depth--;
    return x;
}

struct expr *pipeline_turns_value(struct turns *t, const struct expr *e)
{
    struct copying c = {.turns = t};
    return copy(&c, e);
}

/* --- turns --- */

static void set_counter(struct turns *t, struct sym *s, struct expr *value)
{
    for (size_t i = 0; i < t->counters.count; i++)
        if (t->counters.data[i].sym == s) {
            t->counters.data[i].value = value;
            return;
        }
    struct binding b = {s, value};
    vec_push(t->kernel->arena, &t->counters, b);
}

/* Returns the value of e if it is known, else NULL, without setting t->unknown. */
static struct expr *known_value(struct turns *t, const struct expr *e)
{
    struct turns trial = *t;
    trial.unknown = false;
    struct expr *value = pipeline_turns_value(&trial, e);
    return trial.unknown ? NULL : value;
}

void pipeline_turns_now(struct turns *t, struct kernel *k, const struct stmt *loop, bool first)
{
    *t = (struct turns){.kernel = k, .loop = loop};
    for (const struct stmt *step = loop->step; step; step = step->next) {
        struct sym *s = step->target->sym;
        if (s->storage == ST_SCALAR)
            set_counter(t, s, in_body(loop, s).assigns ? NULL : expr_ref(k, s, step->loc));
    }
    for (const struct stmt *init = first ? loop->init : NULL; init; init = init->next) {
        struct sym *s = init->kind == STMT_DECL ? init->sym : init->target->sym;
        if (init->value && s->storage == ST_SCALAR && !in_body(loop, s).assigns)
            set_counter(t, s, expr_cast(k, expr_copy(k, init->value), s->type.dtype));
    }
}

void pipeline_turns_advance(struct turns *t)
{
    for (const struct stmt *step = t->loop->step; step; step = step->next) {
        struct sym *s = step->target->sym;
        int64_t n;
        if (s->storage != ST_SCALAR)
            continue;
        struct expr *now = known_value(t, step->target);
        if (now && steps_by(step, &n))
            set_counter(t, s, pipeline_plus_number(t->kernel, now, n));
        else
            set_counter(t, s, now ? known_value(t, step->value) : NULL);
    }
}

bool pipeline_turns_are_even(const struct turns *t)
{
    int64_t n;
    for (size_t i = 0; i < t->counters.count; i++) {
        const struct stmt *step = step_of(t->loop, t->counters.data[i].sym);
        if (t->counters.data[i].value && (!step || !steps_by(step, &n)))
            return false;
    }
    return true;
}

void pipeline_turns_at(struct turns *t, struct kernel *k, const struct stmt *loop,
                       struct sym *index)
{
    pipeline_turns_now(t, k, loop, true);
    for (size_t i = 0; i < t->counters.count; i++) {
        struct binding *b = &t->counters.data[i];
        const struct stmt *step = step_of(loop, b->sym);
        int64_t n = 0, start;
        if (!b->value || !step || !steps_by(step, &n))
            continue;
        struct expr *further = expr_cast(k, expr_ref(k, index, step->loc), b->sym->type.dtype);
        further = times_number(k, further, n);
        b->value = expr_is_integer(b->value, &start)
                       ? pipeline_plus_number(k, further, start)
                       : expr_binary(k, OP_ADD, b->value->type, step->loc, b->value, further);
    }
}

/* --- conditions --- */

static bool mentions_counter(const struct stmt *loop, const struct expr *e)
{
    if (e->op == OP_REF)
        for (const struct stmt *step = loop->step; step; step = step->next)
            if (step->target->sym == e->sym)
                return true;
    for (int i = 0; i < expr_children(e); i++)
        if (expr_child(e, i) && mentions_counter(loop, expr_child(e, i)))
            return true;
    return false;
}

/* Returns true for a comparison of a counter with a value that does not change. Sets *side to
 * the counter's side, and *by to the number by which it grows. */
static bool is_limit(const struct stmt *loop, const struct expr *e, int *side, int64_t *by)
{
    for (*side = 0; *side < 2; ++*side) {
        const struct expr *v = tile_facts_plain(e->args[*side]);
        const struct stmt *step = v->op == OP_REF ? step_of(loop, v->sym) : NULL;
        if (step && steps_by(step, by) && !mentions_counter(loop, e->args[1 - *side]))
            return true;
    }
    return false;
}

static bool is_final(const struct stmt *loop, const struct expr *e)
{
    int side;
    int64_t by;
    if (e->op == OP_LAND)
        return is_final(loop, e->args[0]) && is_final(loop, e->args[1]);
    if (!mentions_counter(loop, e))
        return true;
    if ((e->op != OP_LT && e->op != OP_LE && e->op != OP_GT && e->op != OP_GE) ||
        !is_limit(loop, e, &side, &by))
        return false;
    bool from_below = (e->op == OP_LT || e->op == OP_LE) == (side == 0);
    return from_below ? by > 0 : by < 0;
}

bool pipeline_condition_is_final(struct kernel *k, const struct stmt *loop)
{
    (void)k;
    return loop->condition && is_final(loop, loop->condition);
}

/* Returns the condition that the turn comes, for a final condition. It moves the limit rather
 * than the counter, because the counter could pass the end of its type. */
static struct expr *comes_before_limit(struct turns *t, const struct expr *e, int ahead)
{
    struct kernel *k = t->kernel;
    const struct stmt *loop = t->loop;
    int side;
    int64_t by;
    if (e->op == OP_LAND) {
        struct expr *a = comes_before_limit(t, e->args[0], ahead);
        struct expr *b = comes_before_limit(t, e->args[1], ahead);
        return a && b ? pipeline_both_hold(k, a, b) : a ? a : b;
    }
    if (!mentions_counter(loop, e))
        return NULL; /* it holds in this turn, so it holds in the next ones */
    is_limit(loop, e, &side, &by);
    enum dtype t0 = e->args[1 - side]->type.dtype;
    struct turns now, then;
    pipeline_turns_now(&now, k, loop, false);
    struct expr *limit = pipeline_turns_value(&now, e->args[1 - side]);
    struct expr *counter = pipeline_turns_value(&now, e->args[side]);
    if (t0 == DT_I32 || t0 == DT_I64) {
        limit = pipeline_plus_number(k, limit, -by * ahead);
    } else {
        pipeline_turns_now(&then, k, loop, false);
        for (int i = 0; i < ahead; i++)
            pipeline_turns_advance(&then);
        counter = pipeline_turns_value(&then, e->args[side]);
    }
    t->unknown |= now.unknown;
    t->why = t->why ? t->why : now.why;
    struct expr *a = side == 0 ? counter : limit, *b = side == 0 ? limit : counter;
    return expr_binary(k, e->op, type_scalar(DT_BOOL), e->loc, a, b);
}

struct expr *pipeline_turn_comes(struct turns *t, int ahead)
{
    struct expr *comes = NULL;
    if (pipeline_condition_is_final(t->kernel, t->loop))
        return comes_before_limit(t, t->loop->condition, ahead);
    struct turns then;
    pipeline_turns_now(&then, t->kernel, t->loop, false);
    for (int i = 0; i < ahead; i++) {
        pipeline_turns_advance(&then);
        comes =
            pipeline_both_hold(t->kernel, comes, pipeline_turns_value(&then, t->loop->condition));
    }
    t->unknown |= then.unknown;
    t->why = t->why ? t->why : then.why;
    return comes;
}
