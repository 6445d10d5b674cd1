/* An output may be an input too if each of its elements is read by the block, or thread, that
 * writes it, and by no other. Of two arrays, one of them written, that holds where
 *
 *     C[i +: BM][j] = f(A[i +: BM][j])      each axis of both accesses has the same index,
 *     Y[r][p +: W]  = f(X[r][q +: W])       or neither index depends on the block or thread.
 *
 * It does not hold for neighbours (A[i - 1]), transposed tiles, sums over another axis, and what
 * every block reads. Operands of `dot` are always apart: an executor may keep them in another form
 * for all blocks. The order within a block is not looked at. Views with strides or an offset are
 * left to the caller, since arrays may be interleaved that way.
 *
 * Before: a kernel. After: for each array that it writes, the arrays that must lie elsewhere.
 */
#include "tile/overlay.h"
#include "tile/numbering.h"

/* The facts about the value of a symbol or an expression. */
struct origin {
    uint64_t from; /* the arrays whose elements may be in it */
    bool moves;    /* it may differ between blocks or threads */
};

struct place {
    const struct expr *access;
    int param;
    int age; /* how often the variables of its indices had been assigned */
    bool stores, loads;
};

struct finder {
    struct arena *arena;
    struct overlay *out;
    struct numbering numbers;
    struct origin *origin;     /* by symbol */
    const struct expr **means; /* by symbol: the value of its declaration */
    int *depth;    /* by symbol: conditions around its declaration that differ between blocks */
    bool *varies;  /* by symbol: it is given another value than that */
    int *assigned; /* by symbol: how often, but for the steps of loops */
    VEC(struct place) places;
    bool changed, listing, in_step;
};

static int param_of(const struct sym *s)
{
    bool counts = s && s->storage == ST_VIEW && s->base && s->base->index < OVERLAY_PARAMS;
    return counts ? s->base->index : -1;
}

static bool is_strided(const struct sym *view)
{
    for (int i = 0; i < view->type.rank; i++)
        if (view->strides[i])
            return true;
    return view->base_offset != NULL;
}

/* --- origins --- */

static struct origin origin_of(struct finder *f, const struct expr *e)
{
    struct origin o = {0, false};
    if (!e)
        return o;
    for (int i = 0; i < e->count; i++) {
        struct origin of = origin_of(f, e->args[i]);
        o.from |= of.from;
        o.moves |= of.moves;
        if (e->op == OP_DOT && i < 2)
            f->out->multiplied |= of.from;
    }
    for (int i = 0; i < e->indices; i++)
        o.moves |= origin_of(f, e->index[i].value).moves;
    o.from |= origin_of(f, e->otherwise).from;
    int number = e->sym ? numbering_of(&f->numbers, e->sym) : -1, param = param_of(e->sym);
    if (number >= 0) {
        o.from |= f->origin[number].from;
        o.moves |= f->origin[number].moves;
    }
    if (param >= 0)
        o.from |= UINT64_C(1) << param;
    o.moves |= e->op == OP_BLOCK || e->op == OP_THREAD || op_is_atomic(e->op) ||
               (e->sym && e->sym->storage == ST_VIEW);
    return o;
}

static void assign(struct finder *f, const struct sym *s, struct origin o)
{
    int number = numbering_of(&f->numbers, s);
    if (number < 0 || s->storage == ST_VIEW)
        return;
    struct origin *known = &f->origin[number];
    f->changed |= (o.from & ~known->from) != 0 || (o.moves && !known->moves);
    known->from |= o.from;
    known->moves |= o.moves;
}

/* --- places --- */

static int age_of(const struct finder *f, const struct expr *e)
{
    if (!e)
        return 0;
    int number = e->sym ? numbering_of(&f->numbers, e->sym) : -1;
    int age = number < 0 ? 0 : f->assigned[number];
    for (int i = 0; i < e->count; i++)
        age += age_of(f, e->args[i]);
    for (int i = 0; i < e->indices; i++)
        age += age_of(f, e->index[i].value);
    return age;
}

static void list_places(struct finder *f, const struct expr *e, bool stores, bool loads)
{
    if (!e)
        return;
    bool atomic = op_is_atomic(e->op) || e->op == OP_LOCK || e->op == OP_UNLOCK;
    for (int i = 0; i < e->count; i++)
        list_places(f, e->args[i], atomic && i == 0, true);
    for (int i = 0; i < e->indices; i++)
        list_places(f, e->index[i].value, false, true);
    list_places(f, e->otherwise, false, true);
    int param = param_of(e->sym);
    if (param < 0)
        return;
    struct place p = {e, param, age_of(f, e), stores, loads};
    vec_push(f->arena, &f->places, p);
    f->out->used |= UINT64_C(1) << param;
    if (is_strided(e->sym))
        f->out->strided |= UINT64_C(1) << param;
}

/* --- the walk --- */

static void visit(struct finder *f, const struct stmt *s, int depth)
{
    struct origin o = origin_of(f, s->value);
    const struct sym *target = s->kind == STMT_DECL ? s->sym : s->target ? s->target->sym : NULL;
    int number = target ? numbering_of(&f->numbers, target) : -1;
    if (number >= 0 && s->kind == STMT_DECL)
        f->depth[number] = depth;
    if (number >= 0) {
        o.moves |= depth > f->depth[number]; /* where only some come */
        assign(f, target, o);
    }
    if (number >= 0 && s->kind == STMT_DECL)
        f->means[number] = s->value;
    else if (number >= 0)
        f->varies[number] = true;
    if (!f->listing)
        return;
    list_places(f, s->condition, false, true);
    list_places(f, s->value, false, true);
    list_places(f, s->target, true, false);
    if (number >= 0 && s->kind == STMT_ASSIGN && !f->in_step)
        f->assigned[number]++;
}

static void walk(struct finder *f, const struct stmt *first, int depth)
{
    for (const struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_ENSURES)
            continue;
        for (const struct stmt *i = s->init; i; i = i->next)
            visit(f, i, depth);
        visit(f, s, depth);
        int inner = depth + origin_of(f, s->condition).moves;
        walk(f, s->body, inner);
        walk(f, s->otherwise, inner);
        for (const struct stmt *i = s->step; i; i = i->next) {
            f->in_step = true; /* the next round has the same indices */
            visit(f, i, inner);
            f->in_step = false;
        }
    }
}

/* --- pairs --- */

/* The value of a local that is given only one. */
static const struct expr *meaning(const struct finder *f, const struct expr *e)
{
    while (e && e->op == OP_REF && e->sym->storage == ST_SCALAR) {
        int number = numbering_of(&f->numbers, e->sym);
        if (number < 0 || !f->means[number] || f->varies[number])
            break;
        e = f->means[number];
    }
    return e;
}

static bool same(const struct finder *f, const struct expr *a, const struct expr *b)
{
    a = meaning(f, a);
    b = meaning(f, b);
    if (!a || !b)
        return a == b;
    if (a->op != b->op || a->sym != b->sym || a->count != b->count || a->axis != b->axis ||
        a->type.dtype != b->type.dtype || a->indices || b->indices ||
        (a->op == OP_LITERAL && !literal_same(a->literal, b->literal)))
        return false;
    for (int i = 0; i < a->count; i++)
        if (!same(f, a->args[i], b->args[i]))
            return false;
    return true;
}

/* Tells whether element (i, j, …) has the same address in both views if both arrays begin at the same
 * one. */
static bool alike(const struct finder *f, const struct sym *x, const struct sym *y)
{
    bool is_alike =
        x->type.rank == y->type.rank && dtype_size(x->type.dtype) == dtype_size(y->type.dtype);
    for (int i = 1; i < x->type.rank && is_alike; i++)
        is_alike = same(f, x->dims[i], y->dims[i]);
    return is_alike;
}

static bool may_meet(struct finder *f, const struct place *x, const struct place *y)
{
    const struct expr *a = x->access, *b = y->access;
    if (is_strided(a->sym) || is_strided(b->sym))
        return true;
    if (!alike(f, a->sym, b->sym) || a->indices != b->indices)
        return false;
    for (int i = 0; i < a->indices; i++) {
        const struct index *at = &a->index[i], *by = &b->index[i];
        bool equal = at->kind == by->kind && at->extent == by->extent && x->age == y->age &&
                     same(f, at->value, by->value);
        if (!equal && (origin_of(f, at->value).moves || origin_of(f, by->value).moves))
            return false;
    }
    return true;
}

static void find_pairs(struct finder *f)
{
    struct overlay *out = f->out;
    for (size_t i = 0; i < f->places.count; i++)
        for (size_t j = 0; j < f->places.count; j++) {
            const struct place *w = &f->places.data[i], *r = &f->places.data[j];
            uint64_t other = UINT64_C(1) << r->param;
            if (!w->stores || w->param == r->param || (out->apart[w->param] & other))
                continue;
            if ((r->loads && (out->multiplied & other)) || !may_meet(f, w, r))
                out->apart[w->param] |= other;
        }
}

void overlay_find(struct arena *a, const struct kernel *k, struct overlay *out)
{
    struct finder f = {.arena = a, .out = out};
    *out = (struct overlay){0};
    numbering_init(&f.numbers, a, k);
    f.origin = arena_array(a, struct origin, f.numbers.count);
    f.means = arena_array(a, const struct expr *, f.numbers.count);
    f.depth = arena_array(a, int, f.numbers.count);
    f.varies = arena_array(a, bool, f.numbers.count);
    f.assigned = arena_array(a, int, f.numbers.count);
    do {
        f.changed = false;
        walk(&f, k->body, 0);
    } while (f.changed);
    f.listing = true;
    walk(&f, k->body, 0);
    find_pairs(&f);
}
