/* Large assignments of a thread to its own arrays, or from them, become loops over elements.
 *
 *     x[i +: 1000] = y * a[3];      f32 t = a[3];
 *                                   for (i32 e = 0; e < 1000; e++) x[(i64) i + e] = y[e] * t;
 *
 * Values that are the same for all elements are computed once, before the loops. An assignment whose elements may depend on
 * others that are written before them stays as it is; a target may refuse it as too long.
 */
#include "tile/own_arrays.h"

struct roll {
    struct kernel *kernel;
    struct stmt **end;             /* where the next statement ahead of the loops goes */
    struct sym *counter[MAX_RANK]; /* of the target's axes; NULL: of extent 1 */
    struct expr *at[MAX_RANK];     /* the element's coordinates */
};

/* --- which --- */

static bool spreads(enum op op)
{
    return op_keeps_place(op) || op == OP_BROADCAST || op == OP_IOTA || op == OP_TRANS;
}

/* Returns whether each element of e has a form of its own. */
static bool has_elements(const struct expr *e)
{
    if (!e || e->type.rank == 0)
        return true;
    if (e->op == OP_REF)
        return e->sym->storage == ST_ARRAY;
    if (e->op == OP_ACCESS) {
        bool good = e->sym->storage != ST_REG && has_elements(e->otherwise);
        for (int i = 0; i < e->indices; i++)
            good = good && has_elements(e->index[i].value);
        return good;
    }
    bool good = spreads(e->op);
    for (int i = 0; i < e->count; i++)
        good = good && has_elements(e->args[i]);
    return good;
}

/* The elements that a statement writes, through s; target NULL: a declaration. */
struct written {
    const struct sym *s;
    const struct expr *target;
};

/* Returns whether e reads, for each element, the one that is written. */
static bool in_place(const struct written *w, const struct expr *e)
{
    bool whole = !w->target || w->target->op == OP_REF;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind == IX_GATHER) /* one element may be written twice */
            return false;
    for (int i = 0; i < e->sym->type.rank; i++)
        if (e->sym->strides[i]) /* the same */
            return false;
    return e->op == OP_REF ? whole : w->target && expr_same(e, w->target);
}

/* Returns whether e may read, element by element, another element that is written. */
static bool may_read(const struct written *w, const struct expr *e)
{
    if (!e || e->type.rank == 0) /* computed ahead of the loops */
        return false;
    bool leaf = e->op == OP_REF || e->op == OP_ACCESS, mixes = op_table[e->op].class == CLASS_SHAPE;
    bool memory = w->s->storage == ST_VIEW || w->s->storage == ST_SHARED;
    if (leaf && e->sym->storage == w->s->storage && !e->sym->is_const && (e->sym == w->s || memory))
        return !in_place(w, e);
    bool found = may_read(w, e->otherwise);
    for (int i = 0; i < e->count && !found; i++)
        found = may_read(w, e->args[i]) || (mixes && expr_mentions(e->args[i], w->s));
    for (int i = 0; i < e->indices && !found; i++)
        found = may_read(w, e->index[i].value);
    return found;
}

static bool to_be_rolled(const struct kernel *k, const struct stmt *s, const struct sym *sym,
                         const struct type *to)
{
    const struct written w = {sym, s->kind == STMT_DECL ? NULL : s->target};
    bool own = sym->storage == ST_ARRAY;
    if (s->kind == STMT_ASSIGN && (sym->storage == ST_VIEW || sym->storage == ST_SHARED))
        own = expr_is_own(k, s->target) || (kernel_thread_level(k) && expr_is_own(k, s->value));
    /* An array of more elements is not in registers. */
    return own && to->rank > 0 && type_elements(to) > ARRAY_MOST_REGISTERS &&
           has_elements(s->value) && has_elements(s->target) && !expr_has_atomic(s->target) &&
           !may_read(&w, s->value);
}

/* --- elements --- */

static void put(struct roll *r, struct stmt *s)
{
    *r->end = s;
    r->end = &s->next;
}

/* One value for all elements. */
static struct expr *once(struct roll *r, struct expr *e)
{
    struct kernel *k = r->kernel;
    if (e->op == OP_LITERAL || e->op == OP_REF)
        return e;
    struct type type = type_scalar(e->type.dtype);
    type.varying = expr_is_varying(k, e);
    struct stmt *s = stmt_new(k, STMT_DECL, e->loc);
    s->sym = sym_new(k, "$once", ST_SCALAR, type, e->loc);
    s->value = e;
    put(r, s);
    return expr_ref(k, s->sym, e->loc);
}

/* The coordinates of what is broadcast to a shape of that rank. */
static void aligned(struct roll *r, const struct type *from, struct expr *const *at, int rank,
                    struct expr **out)
{
    for (int i = 0; i < from->rank; i++)
        out[i] = from->extent[i] == 1 ? expr_int(r->kernel, DT_I32, 0, LOC_NONE)
                                      : at[rank - from->rank + i];
}

static struct expr *element(struct roll *r, struct expr *e, struct expr *const *at, int rank);

static struct index index_of(struct roll *r, const struct index *x, struct expr *at)
{
    struct kernel *k = r->kernel;
    struct index out = {.kind = IX_ELEMENT};
    if (x->kind == IX_GATHER)
        out.value = element(r, x->value, &at, 1);
    else if (x->kind == IX_ELEMENT)
        out.value = once(r, x->value);
    else if (x->kind == IX_ALL)
        out.value = expr_copy(k, at);
    else
        out.value = expr_binary(k, OP_ADD, type_scalar(DT_I64), x->value->loc,
                                expr_cast(k, once(r, x->value), DT_I64),
                                expr_cast(k, expr_copy(k, at), DT_I64));
    return out;
}

/* Slices may reach past the edge; elements only with an `else`. */
static struct expr *element_of_access(struct roll *r, struct expr *e, struct expr *const *at)
{
    static const struct index all = {.kind = IX_ALL};
    struct kernel *k = r->kernel;
    int rank = e->sym->type.rank, next = 0;
    struct expr *one = expr_access(k, e->sym, rank, e->loc);
    bool edge = e->otherwise != NULL;
    for (int i = 0; i < rank; i++) {
        const struct index *x = i < e->indices ? &e->index[i] : &all;
        edge |= x->kind == IX_GATHER || (x->kind == IX_SLICE && !x->inside);
        one->index[i] = index_of(r, x, x->kind == IX_ELEMENT ? NULL : at[next]);
        next += x->kind != IX_ELEMENT;
    }
    one->type = type_scalar(e->type.dtype);
    one->type.varying = e->type.varying;
    if (e->otherwise)
        one->otherwise = element(r, e->otherwise, at, e->type.rank);
    else if (edge)
        one->otherwise = expr_cast(k, expr_int(k, DT_I32, 0, e->loc), e->type.dtype);
    return one;
}

static struct expr *element_of_array(struct roll *r, struct expr *e, struct expr *const *at)
{
    struct expr *one = expr_access(r->kernel, e->sym, e->type.rank, e->loc);
    for (int i = 0; i < e->type.rank; i++)
        one->index[i] = (struct index){.kind = IX_ELEMENT, .value = expr_copy(r->kernel, at[i])};
    one->type = type_scalar(e->type.dtype);
    one->type.varying = e->type.varying;
    return one;
}

/* One extent of iota's is more than 1. */
static struct expr *element_of_iota(struct roll *r, const struct expr *e, struct expr *const *at)
{
    int axis = 0;
    for (int i = 1; i < e->type.rank; i++)
        axis = e->type.extent[i] > 1 ? i : axis;
    return expr_copy(r->kernel, at[axis]);
}

/* Returns e's element at these coordinates of a shape of that rank. */
static struct expr *element(struct roll *r, struct expr *e, struct expr *const *at, int rank)
{
    struct expr *own[MAX_RANK];
    if (e->type.rank == 0)
        return once(r, e);
    aligned(r, &e->type, at, rank, own);
    switch (e->op) {
    case OP_REF: return element_of_array(r, e, own);
    case OP_ACCESS: return element_of_access(r, e, own);
    case OP_IOTA: return element_of_iota(r, e, own);
    case OP_BROADCAST: return element(r, e->args[0], own, e->type.rank);
    case OP_TRANS: {
        struct expr *last = own[e->type.rank - 1];
        own[e->type.rank - 1] = own[e->type.rank - 2];
        own[e->type.rank - 2] = last;
        return element(r, e->args[0], own, e->type.rank);
    }
    default: break;
    }
    struct type type = type_scalar(e->type.dtype);
    type.varying = e->type.varying;
    struct expr *one = expr_new(r->kernel, e->op, type, e->loc, e->count);
    for (int i = 0; i < e->count; i++)
        one->args[i] = element(r, e->args[i], own, e->type.rank);
    return one;
}

/* --- loops --- */

static struct expr *counter(struct roll *r, const struct stmt *s, const struct type *to, int axis)
{
    struct kernel *k = r->kernel;
    r->counter[axis] = NULL;
    if (to->extent[axis] == 1)
        return expr_int(k, DT_I32, 0, s->loc);
    r->counter[axis] = sym_new(k, "$e", ST_SCALAR, type_scalar(DT_I32), s->loc);
    return expr_ref(k, r->counter[axis], s->loc);
}

/* for (i32 e = 0; e < extent; e++) body */
static struct stmt *loop_over(struct roll *r, struct sym *e, int64_t extent, struct stmt *body)
{
    struct kernel *k = r->kernel;
    struct stmt *loop = stmt_new(k, STMT_FOR, body->loc);
    struct expr *one = expr_int(k, DT_I32, 1, body->loc);
    loop->init = stmt_new(k, STMT_DECL, body->loc);
    loop->init->sym = e;
    loop->init->value = expr_int(k, DT_I32, 0, body->loc);
    loop->condition =
        expr_binary(k, OP_LT, type_scalar(DT_BOOL), body->loc, expr_ref(k, e, body->loc),
                    expr_int(k, DT_I32, extent, body->loc));
    loop->step = stmt_new(k, STMT_ASSIGN, body->loc);
    loop->step->target = expr_ref(k, e, body->loc);
    loop->step->value =
        expr_binary(k, OP_ADD, type_scalar(DT_I32), body->loc, expr_ref(k, e, body->loc), one);
    loop->body = body;
    return loop;
}

/* Returns the scope that replaces target = value. */
static struct stmt *rolled(struct kernel *k, const struct stmt *s, struct expr *target,
                           const struct type *to)
{
    struct roll r = {.kernel = k};
    struct stmt *scope = stmt_new(k, STMT_BLOCK, s->loc);
    r.end = &scope->body;
    for (int i = 0; i < to->rank; i++)
        r.at[i] = counter(&r, s, to, i);
    struct stmt *body = stmt_new(k, STMT_ASSIGN, s->loc);
    body->value = element(&r, s->value, r.at, to->rank);
    body->value = expr_cast(k, body->value, to->dtype);
    body->target = target->op == OP_REF ? element_of_array(&r, target, r.at)
                                        : element_of_access(&r, target, r.at);
    for (int i = to->rank - 1; i >= 0; i--)
        if (r.counter[i])
            body = loop_over(&r, r.counter[i], to->extent[i], body);
    put(&r, body);
    return scope;
}

struct rolling {
    struct kernel *kernel;
    bool any;
};

static void roll(void *user, struct stmt *s)
{
    struct rolling *all = user;
    struct kernel *k = all->kernel;
    bool declares = s->kind == STMT_DECL;
    if ((!declares && s->kind != STMT_ASSIGN) || !s->value)
        return;
    struct sym *sym = declares ? s->sym : s->target->sym;
    const struct type *to = declares ? &sym->type : &s->target->type;
    if (!to_be_rolled(k, s, sym, to))
        return;
    struct expr *target = declares ? expr_ref(k, sym, s->loc) : s->target;
    struct stmt *scope = rolled(k, s, target, to);
    all->any = true;
    scope->next = s->next;
    if (declares) {
        s->next = scope;
        s->value = NULL;
    } else {
        *s = *scope;
    }
}

bool roll_assignments(struct kernel *k)
{
    struct rolling all = {k, false};
    stmt_walk(k->body, roll, &all);
    return all.any;
}
