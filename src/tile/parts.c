#include "tile/parts.h"

struct part_scalar {
    const struct expr *means; /* the value of its declaration */
    int changes;              /* declarations and assignments … */
    int steps;                /* … those in the step of the loop whose init declares it */
};

/* --- scalars --- */

static bool declares(const struct stmt *init, const struct sym *s)
{
    while (init && (init->kind != STMT_DECL || init->sym != s))
        init = init->next;
    return init != NULL;
}

static void note_statement(void *user, struct stmt *s)
{
    struct parts *p = user;
    bool assigns = s->kind == STMT_ASSIGN && s->target->op == OP_REF;
    const struct sym *sym = s->kind == STMT_DECL ? s->sym : assigns ? s->target->sym : NULL;
    int number = sym ? numbering_of(&p->numbers, sym) : -1;
    if (number >= 0)
        p->scalars[number].changes++;
    if (number >= 0 && s->kind == STMT_DECL)
        p->scalars[number].means = s->value;
    for (const struct stmt *step = s->step; step; step = step->next) {
        bool counts = step->kind == STMT_ASSIGN && step->target->op == OP_REF &&
                      declares(s->init, step->target->sym);
        number = counts ? numbering_of(&p->numbers, step->target->sym) : -1;
        if (number >= 0)
            p->scalars[number].steps++;
    }
}

void parts_init(struct parts *p, struct arena *a, const struct kernel *k)
{
    *p = (struct parts){0};
    numbering_init(&p->numbers, a, k);
    p->scalars = arena_array(a, struct part_scalar, p->numbers.count + 1);
    stmt_walk(k->body, note_statement, p);
}

static const struct part_scalar *scalar_of(const struct parts *p, const struct sym *s)
{
    static const struct part_scalar unknown = {.changes = 2};
    int number = numbering_of(&p->numbers, s);
    return number < 0 || s->storage != ST_SCALAR ? &unknown : &p->scalars[number];
}

/* Returns true if the value of e stays the same in an iteration of the loops around it. */
static bool is_steady(const struct parts *p, const struct expr *e)
{
    bool steady = true;
    if (e->op == OP_REF) {
        const struct part_scalar *s = scalar_of(p, e->sym);
        bool given = e->sym->storage == ST_PARAM || e->sym->storage == ST_CONST;
        return given || s->changes - s->steps == 1;
    }
    if (e->type.rank > 0 || e->indices > 0 || !(op_table[e->op].flags & OP_PURE))
        return false;
    for (int i = 0; i < e->count && steady; i++)
        steady = is_steady(p, e->args[i]);
    return steady;
}

/* --- sums --- */

enum { MOST_TERMS = 12, MOST_FACTOR = 1 << 28 };

/* The sum of factor[i] * value[i], plus a constant. */
struct sum {
    const struct parts *parts;
    const struct expr *value[MOST_TERMS];
    int64_t factor[MOST_TERMS], constant;
    int terms;
    bool unknown;
};

static bool is_small(int64_t n)
{
    return n >= -MOST_FACTOR && n <= MOST_FACTOR;
}

static void add_term(struct sum *s, const struct expr *e, int64_t factor)
{
    int i = 0;
    while (i < s->terms && !expr_same(s->value[i], e))
        i++;
    if (i == MOST_TERMS || !is_steady(s->parts, e)) {
        s->unknown = true;
        return;
    }
    if (i == s->terms) {
        s->value[s->terms] = e;
        s->factor[s->terms++] = 0;
    }
    s->factor[i] += factor;
}

/* Returns the value of a scalar that is declared once and never changed, in place of the scalar. */
static const struct expr *meaning(const struct parts *p, const struct expr *e)
{
    const struct part_scalar *s = e->op == OP_REF ? scalar_of(p, e->sym) : NULL;
    bool known = s && s->changes == 1 && s->means && is_steady(p, s->means);
    return known ? s->means : e;
}

/* Adds factor * e. Integers of 32 bits may wrap: then the difference of two sums is off by 2^32, and
 * that is more than any length. */
static void add(struct sum *s, const struct expr *e, int64_t factor)
{
    int64_t n;
    e = meaning(s->parts, e);
    if (!is_small(factor) || !dtype_is_int(e->type.dtype)) {
        s->unknown = true;
    } else if (eval_int(e, NULL, &n)) {
        s->constant += is_small(n) ? factor * n : 0;
        s->unknown |= !is_small(n);
    } else if (dtype_size(e->type.dtype) < 4) {
        add_term(s, e, factor);
    } else if (e->op == OP_ADD || e->op == OP_SUB) {
        add(s, e->args[0], factor);
        add(s, e->args[1], e->op == OP_ADD ? factor : -factor);
    } else if (e->op == OP_MUL && eval_int(e->args[1], NULL, &n) && is_small(n)) {
        add(s, e->args[0], factor * n);
    } else if (e->op == OP_MUL && eval_int(e->args[0], NULL, &n) && is_small(n)) {
        add(s, e->args[1], factor * n);
    } else if (e->op == OP_CAST && dtype_is_int(e->args[0]->type.dtype) &&
               dtype_size(e->args[0]->type.dtype) >= 4) {
        add(s, e->args[0], factor);
    } else if (e->op == OP_REF && meaning(s->parts, e) != e) {
        add(s, meaning(s->parts, e), factor);
    } else {
        add_term(s, e, factor);
    }
}

/* Returns true if b - a is the same number everywhere, *d. */
static bool distance(const struct parts *p, const struct expr *a, const struct expr *b, int64_t *d)
{
    struct sum s = {.parts = p};
    int64_t from, to;
    if (eval_int(a, NULL, &from) && eval_int(b, NULL, &to)) {
        bool fits = (from < 0) == (to < 0) || (is_small(from) && is_small(to));
        *d = fits ? to - from : to > from ? MOST_FACTOR : -MOST_FACTOR; /* or more */
        return true;
    }
    add(&s, b, 1);
    add(&s, a, -1);
    for (int i = 0; i < s.terms; i++)
        s.unknown |= s.factor[i] != 0;
    *d = s.constant;
    return !s.unknown && is_small(*d);
}

/* --- accesses --- */

/* Elements along the axis; 0: not known. */
static int64_t length_of(const struct index *x)
{
    return x->kind == IX_ELEMENT ? 1 : x->kind == IX_SLICE ? x->extent : 0;
}

/* With strides of its own, different indices of a view may be one element. */
static bool overlaps_itself(const struct sym *view)
{
    bool given = false;
    for (int i = 0; i < view->type.rank; i++)
        given |= view->strides[i] != NULL;
    return given;
}

bool parts_disjoint(const struct parts *p, const struct expr *a, const struct expr *b)
{
    int64_t d;
    if (a->sym != b->sym || overlaps_itself(a->sym))
        return false;
    for (int i = 0; i < a->indices && i < b->indices; i++) {
        int64_t first = length_of(&a->index[i]), second = length_of(&b->index[i]);
        if (first && second && distance(p, a->index[i].value, b->index[i].value, &d) &&
            (d >= first || d <= -second))
            return true;
    }
    return false;
}

bool parts_same(const struct parts *p, const struct expr *a, const struct expr *b)
{
    int64_t d;
    bool same = a->sym == b->sym && a->indices == b->indices && !overlaps_itself(a->sym);
    for (int i = 0; same && i < a->indices; i++) {
        const struct index *x = &a->index[i], *y = &b->index[i];
        same = x->kind == y->kind && x->extent == y->extent && x->kind != IX_GATHER;
        same = same && (x->kind == IX_ALL || (distance(p, x->value, y->value, &d) && d == 0));
    }
    return same;
}

/* --- loops --- */

/* Returns true if e, indices aside, has a scalar that the loop's body declares or changes. */
static bool changes_in(const struct expr *e, const struct stmt *body)
{
    bool found = false;
    for (const struct stmt *s = body; e->op == OP_REF && s && !found; s = s->next) {
        bool assigns = s->kind == STMT_ASSIGN && s->target->op == OP_REF;
        found = (s->kind == STMT_DECL && s->sym == e->sym) ||
                (assigns && s->target->sym == e->sym) || changes_in(e, s->init) ||
                changes_in(e, s->step) || changes_in(e, s->body) || changes_in(e, s->otherwise);
    }
    for (int i = 0; i < e->count && !found; i++)
        found = changes_in(e->args[i], body);
    return found;
}

/* Returns the loop's counter and its constant step; NULL: none. */
static const struct sym *counter_of(const struct parts *p, const struct stmt *loop, int64_t *step)
{
    for (const struct stmt *s = loop->step; s; s = s->next) {
        if (s->kind != STMT_ASSIGN || s->target->op != OP_REF || s->value->op != OP_ADD)
            continue;
        const struct expr *from = s->value->args[0], *by = s->value->args[1];
        const struct part_scalar *scalar = scalar_of(p, s->target->sym);
        if (from->op == OP_REF && from->sym == s->target->sym && scalar->steps == 1 &&
            scalar->changes == 2 && eval_int(by, NULL, step) && *step != 0)
            return from->sym;
    }
    return NULL;
}

bool parts_advance(const struct parts *p, const struct expr *access, const struct stmt *loop)
{
    int64_t step;
    const struct sym *counter = counter_of(p, loop, &step);
    for (int i = 0; counter && i < access->indices; i++) {
        struct sum s = {.parts = p};
        int64_t length = length_of(&access->index[i]), factor = 0;
        if (length == 0)
            continue;
        add(&s, access->index[i].value, 1);
        for (int t = 0; t < s.terms; t++) {
            bool counts = s.value[t]->op == OP_REF && s.value[t]->sym == counter;
            factor = counts ? s.factor[t] : factor;
            s.unknown |= !counts &&
                         (changes_in(s.value[t], loop->body) || changes_in(s.value[t], loop->step));
        }
        int64_t moved = is_small(step) && !s.unknown ? factor * step : 0;
        if (moved >= length || -moved >= length)
            return true;
    }
    return false;
}
