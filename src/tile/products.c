/* Finds loops of thread-level code that only sum products.
 *
 *   loop       for (i32 i = start; i < bound; i += step) with list, in it
 *   list       of loops, blocks, loads and sums
 *   load       v = ACCESS, or for (i32 j = 0; j < extent; j++) v[j] = ACCESS: v a variable of each
 *              thread's own that only sums of this turn read
 *   sum        x = fma(factor, factor, x), or x = x + factor * factor of integers: x a variable of
 *              each thread's own or elements of one
 *   factor     an ACCESS, a variable that was loaded, v[i] with a counter i that takes all of it,
 *              or an expression that does not change in the loops
 *
 * The statements stay as they are, because an executor needs them: if some element that the loops
 * read is outside, they run as written, up to the fault. No factor reads an x, so an executor may
 * take all turns of one sum before the next sum; each element still gets its products in order. */
#include "tile/products.h"
#include "tile/passes.h"

#include <string.h>

/* Limit of the coefficients of counters: with it, the reach of an index never overflows 64 bits. */
#define MOST_COEFFICIENT ((int64_t)1 << 28)

struct lazy { /* a variable that each turn loads once */
    const struct sym *sym;
    const struct expr *value;  /* NULL: not loaded yet */
    const struct sym *counter; /* counter of the loop that loads its elements; NULL: one load */
    bool declared;             /* declared in the loops: no code after them can name it */
    int depth, path[PRODUCT_LOOPS], uses;
};

struct nest {
    struct kernel *kernel;
    struct product_counter loop[MOST_PRODUCT_LOOPS];
    struct product_sum sum[MOST_PRODUCTS];
    struct lazy lazy[MOST_PRODUCTS];
    int loops, sums, lazies;
    int depth, path[PRODUCT_LOOPS]; /* the loops that are open */
};

/* --- loops --- */

static bool read_list(struct nest *n, const struct stmt *first);

static bool is_counter_type(const struct expr *e)
{
    return e && e->type.rank == 0 && e->type.dtype == DT_I32;
}

/* Returns true if e reads no memory, has no effect and cannot fault. */
static bool is_harmless(const struct expr *e)
{
    int64_t divisor;
    if (!(op_table[e->op].flags & OP_PURE) ||
        (op_divides(e->op) && !dtype_is_float(e->type.dtype) &&
         !(eval_int(e->args[1], NULL, &divisor) && divisor != 0)) ||
        (e->op == OP_REF && (e->sym->storage == ST_SHARED || e->sym->storage == ST_VIEW)))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!is_harmless(e->args[i]))
            return false;
    return true;
}

/* Reads i < bound or i <= bound, or either with its sides exchanged. */
static bool read_condition(struct product_counter *l, const struct expr *e)
{
    bool less = e->op == OP_LT || e->op == OP_LE, greater = e->op == OP_GT || e->op == OP_GE;
    if (!less && !greater)
        return false;
    const struct expr *counter = e->args[less ? 0 : 1];
    l->bound = e->args[less ? 1 : 0];
    l->inclusive = e->op == OP_LE || e->op == OP_GE;
    return counter->op == OP_REF && counter->sym == l->sym;
}

static bool read_counter(struct product_counter *l, const struct stmt *s)
{
    const struct stmt *init = s->init, *step = s->step;
    if (!init || init->next || init->kind != STMT_DECL || init->sym->storage != ST_SCALAR ||
        init->sym->type.dtype != DT_I32 || init->sym->type.varying || !init->value || !step ||
        step->next || step->kind != STMT_ASSIGN || !s->condition)
        return false;
    *l = (struct product_counter){.sym = init->sym, .start = init->value};
    const struct expr *next = step->value;
    if (step->target->op != OP_REF || step->target->sym != l->sym || next->op != OP_ADD ||
        next->args[0]->op != OP_REF || next->args[0]->sym != l->sym ||
        !eval_int(next->args[1], NULL, &l->step) || l->step <= 0 || l->step > MOST_COEFFICIENT)
        return false;
    return read_condition(l, s->condition) && is_counter_type(l->start) &&
           is_counter_type(l->bound) && is_harmless(l->start) && is_harmless(l->bound);
}

/* Returns the number of turns of a loop; -1: not known at compile time, or the counter would
 * wrap. */
static int64_t constant_turns(const struct product_counter *l)
{
    int64_t start, bound;
    if (!eval_int(l->start, NULL, &start) || !eval_int(l->bound, NULL, &bound))
        return -1;
    return counted_turns(start, bound, l->step, l->inclusive);
}

/* Returns true if e is v[i] and the counter i takes the indices of all elements of v. */
static bool is_counted(const struct product_counter *l, const struct expr *e)
{
    const struct sym *v = e->sym;
    int64_t start;
    return e->indices == 1 && v->type.rank == 1 && e->index[0].kind == IX_ELEMENT &&
           e->index[0].value->op == OP_REF && e->index[0].value->sym == l->sym && l->step == 1 &&
           eval_int(l->start, NULL, &start) && start == 0 && constant_turns(l) == v->type.extent[0];
}

static bool read_loop(struct nest *n, const struct stmt *s)
{
    if (n->loops == MOST_PRODUCT_LOOPS || n->depth == PRODUCT_LOOPS ||
        !read_counter(&n->loop[n->loops], s))
        return false;
    n->path[n->depth++] = n->loops++;
    bool fits = read_list(n, s->body);
    n->depth--;
    return fits;
}

/* --- variables that are loaded --- */

static struct lazy *lazy_of(struct nest *n, const struct sym *s)
{
    for (int i = 0; i < n->lazies; i++)
        if (n->lazy[i].sym == s)
            return &n->lazy[i];
    return NULL;
}

static bool is_own(const struct sym *s)
{
    return s->storage == ST_SCALAR || s->storage == ST_ARRAY;
}

/* Reads sym = value, a load. */
static bool read_load(struct nest *n, const struct sym *sym, const struct expr *value,
                      const struct sym *counter)
{
    struct lazy *lazy = lazy_of(n, sym);
    if ((lazy && lazy->value) || (!lazy && n->lazies == MOST_PRODUCTS) || value->op != OP_ACCESS ||
        value->otherwise || !is_own(sym) || value->type.dtype != sym->type.dtype)
        return false;
    if (!lazy) {
        lazy = &n->lazy[n->lazies++];
        *lazy = (struct lazy){.sym = sym};
    }
    lazy->value = value;
    lazy->counter = counter;
    lazy->depth = n->depth;
    memcpy(lazy->path, n->path, sizeof lazy->path);
    return true;
}

static bool read_decl(struct nest *n, const struct stmt *s)
{
    if (n->lazies == MOST_PRODUCTS || !is_own(s->sym) || lazy_of(n, s->sym))
        return false;
    n->lazy[n->lazies++] = (struct lazy){.sym = s->sym, .declared = true};
    return !s->value || (type_same_shape(&s->value->type, &s->sym->type) &&
                         read_load(n, s->sym, s->value, NULL));
}

/* Reads for (i32 j = 0; j < extent; j++) v[j] = ACCESS. */
static bool read_fill(struct nest *n, const struct stmt *s)
{
    const struct stmt *body = s->body;
    struct product_counter l;
    return body && !body->next && body->kind == STMT_ASSIGN && body->target->op == OP_ACCESS &&
           read_counter(&l, s) && is_counted(&l, body->target) &&
           read_load(n, body->target->sym, body->value, l.sym);
}

struct replacement {
    const struct sym *counter;
    struct expr *by;
};

static void replace_counter(void *user, struct expr **at)
{
    const struct replacement *r = user;
    if ((*at)->op == OP_REF && (*at)->sym == r->counter)
        *at = r->by;
}

/* Returns true if the variable was loaded in this turn: the load is in loops that are still open,
 * and each loop opened after it is known to turn at least once. */
static bool is_loaded(const struct nest *n, const struct lazy *lazy)
{
    if (!lazy->value || lazy->depth > n->depth)
        return false;
    for (int i = 0; i < n->depth; i++)
        if (i < lazy->depth ? lazy->path[i] != n->path[i]
                            : constant_turns(&n->loop[n->path[i]]) <= 0)
            return false;
    return true;
}

/* --- sums --- */

/* Returns a factor; a loaded variable is replaced by its load. */
static const struct expr *read_factor(struct nest *n, const struct expr *e)
{
    if (e->op == OP_CAST) {
        const struct expr *arg = read_factor(n, e->args[0]);
        if (arg == e->args[0])
            return e;
        struct expr *copy = expr_copy(n->kernel, e);
        copy->args[0] = expr_copy(n->kernel, arg);
        return copy;
    }
    struct lazy *lazy = e->op == OP_REF || e->op == OP_ACCESS ? lazy_of(n, e->sym) : NULL;
    if (!lazy || !is_loaded(n, lazy))
        return e;
    if (e->op == OP_REF && !lazy->counter) {
        lazy->uses++;
        return lazy->value;
    }
    for (int i = lazy->depth; i < n->depth && e->op == OP_ACCESS && lazy->counter; i++)
        if (is_counted(&n->loop[n->path[i]], e)) {
            struct replacement r = {lazy->counter, e->index[0].value};
            struct expr *load = expr_copy(n->kernel, lazy->value);
            expr_walk(&load, replace_counter, &r);
            lazy->uses++;
            return load;
        }
    return e;
}

static bool read_sum(struct nest *n, const struct stmt *s)
{
    const struct expr *e = s->value, *product = e;
    if (n->sums == MOST_PRODUCTS)
        return false;
    if (e->op == OP_ADD && !dtype_is_float(e->type.dtype)) {
        bool first = expr_same(e->args[0], s->target);
        product = e->args[first ? 1 : 0];
        if (product->op != OP_MUL || !expr_same(e->args[first ? 0 : 1], s->target))
            return false;
    } else if (e->op != OP_FMA || !expr_same(e->args[2], s->target)) {
        return false;
    }
    struct product_sum *sum = &n->sum[n->sums++];
    *sum = (struct product_sum){.target = s->target, .loops = n->depth};
    for (int i = 0; i < 2; i++)
        sum->factor[i].value = read_factor(n, product->args[i]);
    memcpy(sum->loop, n->path, sizeof sum->loop);
    return true;
}

static bool read_assign(struct nest *n, const struct stmt *s)
{
    bool loads = s->target->op == OP_REF && s->value->op == OP_ACCESS &&
                 type_same_shape(&s->value->type, &s->target->type);
    return loads ? read_load(n, s->target->sym, s->value, NULL) : read_sum(n, s);
}

static bool read_list(struct nest *n, const struct stmt *first)
{
    bool fits = true;
    for (const struct stmt *s = first; s && fits; s = s->next)
        switch (s->kind) {
        case STMT_FOR: fits = read_fill(n, s) || read_loop(n, s); break;
        case STMT_BLOCK: fits = read_list(n, s->body); break;
        case STMT_DECL: fits = read_decl(n, s); break;
        case STMT_ASSIGN: fits = read_assign(n, s); break;
        default: fits = false; break;
        }
    return fits;
}

/* --- checks, when all loops were read --- */

/* Returns true if e names a variable that the loops assign, except for their counters. */
static bool is_assigned(const struct nest *n, const struct expr *e)
{
    bool found = false;
    for (int i = 0; i < n->lazies; i++)
        found |= expr_mentions(e, n->lazy[i].sym) > 0;
    for (int i = 0; i < n->sums; i++)
        found |= expr_mentions(e, n->sum[i].target->sym) > 0;
    return found;
}

static bool changes(const struct nest *n, const struct expr *e)
{
    bool found = is_assigned(n, e);
    for (int i = 0; i < n->loops; i++)
        found |= expr_mentions(e, n->loop[i].sym) > 0;
    return found;
}

/* Computes the coefficient of the counter in e: the growth of e when the counter grows by 1.
 * false: e is not affine in it. */
static bool coefficient(const struct expr *e, const struct sym *counter, int64_t *by)
{
    int64_t x, y;
    *by = 0;
    if (expr_mentions(e, counter) == 0)
        return true;
    switch (e->op) {
    case OP_REF: *by = 1; return true;
    case OP_NEG:
        if (!coefficient(e->args[0], counter, &x))
            return false;
        *by = -x;
        return true;
    case OP_ADD:
    case OP_SUB:
        if (!coefficient(e->args[0], counter, &x) || !coefficient(e->args[1], counter, &y))
            return false;
        *by = e->op == OP_ADD ? x + y : x - y;
        break;
    case OP_MUL: {
        int64_t factor;
        int factor_at = expr_mentions(e->args[0], counter) > 0 ? 1 : 0;
        if (!eval_int(e->args[factor_at], NULL, &factor) || factor > MOST_COEFFICIENT ||
            factor < -MOST_COEFFICIENT || !coefficient(e->args[1 - factor_at], counter, &x))
            return false;
        *by = factor * x;
        break;
    }
    default: return false;
    }
    return *by <= MOST_COEFFICIENT && *by >= -MOST_COEFFICIENT;
}

/* Computes how much an index grows for a turn of each loop of the sum. false: it is not affine in
 * all counters. */
static bool index_steps(const struct nest *n, const struct product_sum *s, const struct expr *e,
                        int64_t *step)
{
    if (!is_counter_type(e) || !is_harmless(e) || is_assigned(n, e))
        return false;
    for (int i = 0; i < s->loops; i++) {
        const struct product_counter *l = &n->loop[s->loop[i]];
        if (!coefficient(e, l->sym, &step[i]))
            return false;
        step[i] *= l->step;
        if (step[i] > MOST_COEFFICIENT || step[i] < -MOST_COEFFICIENT)
            return false;
    }
    return true;
}

static bool access_steps(const struct nest *n, const struct product_sum *s, const struct expr *e,
                         struct product_steps *steps)
{
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind == IX_GATHER ||
            (e->index[i].value && !index_steps(n, s, e->index[i].value, steps->of[i])))
            return false;
    return true;
}

/* Returns true if an operand broadcasts: along leading axes, and along axes where its extent is
 * 1. */
static bool broadcasts(const struct type *from, const struct type *to)
{
    if (from->rank > to->rank)
        return false;
    for (int i = 0; i < from->rank; i++) {
        int64_t extent = to->extent[to->rank - from->rank + i];
        if (from->extent[i] != extent && from->extent[i] != 1)
            return false;
    }
    return true;
}

static bool settle_factor(const struct nest *n, const struct product_sum *s,
                          struct unconverted_factor *f)
{
    const struct expr *e = f->value, *x = e->op == OP_CAST ? e->args[0] : e;
    if (!broadcasts(&e->type, &s->target->type) || e->type.dtype != s->target->type.dtype)
        return false;
    if (x->op != OP_ACCESS || x->type.dtype != x->sym->type.dtype)
        return is_harmless(e) && !changes(n, e);
    f->load = x;
    for (int i = 0; i < n->lazies; i++)
        if (n->lazy[i].sym == x->sym)
            return false;
    for (int i = 0; i < n->sums; i++)
        if (n->sum[i].target->sym == x->sym)
            return false;
    return !x->otherwise && access_steps(n, s, x, &f->steps);
}

static bool settle_sum(struct nest *n, struct product_sum *s)
{
    const struct expr *e = s->target;
    bool whole = e->op == OP_REF && e->sym->storage == ST_SCALAR;
    bool elements = (e->op == OP_REF || e->op == OP_ACCESS) && e->sym->storage == ST_ARRAY;
    if ((!whole && !elements) || lazy_of(n, e->sym))
        return false;
    for (int i = 0; i < n->sums; i++)
        if (&n->sum[i] != s && n->sum[i].target->sym == e->sym)
            return false;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind != IX_ELEMENT)
            return false;
    return access_steps(n, s, e, &s->steps) && settle_factor(n, s, &s->factor[0]) &&
           settle_factor(n, s, &s->factor[1]);
}

/* Returns true if no statement outside of the loops reads the variable. */
static bool is_private(const struct nest *n, const struct lazy *lazy, const struct stmt *s)
{
    struct stmt alone = *s;
    alone.next = NULL;
    return lazy->declared ||
           stmt_mentions(&alone, lazy->sym) == stmt_mentions(n->kernel->body, lazy->sym);
}

static bool settle(struct nest *n, const struct stmt *s)
{
    bool fits = n->sums > 0;
    for (int i = 0; i < n->loops; i++)
        fits = fits && !changes(n, n->loop[i].start) && !changes(n, n->loop[i].bound);
    for (int i = 0; i < n->lazies; i++)
        fits = fits && n->lazy[i].uses > 0 && is_private(n, &n->lazy[i], s);
    for (int i = 0; i < n->sums; i++)
        fits = fits && settle_sum(n, &n->sum[i]);
    return fits;
}

static void mark_loop(void *user, struct stmt *s)
{
    struct nest n; /* large, but most of it is never touched */
    if (s->kind != STMT_FOR)
        return;
    n.kernel = user;
    n.loops = n.sums = n.lazies = n.depth = 0;
    memset(n.path, 0, sizeof n.path);
    if (!read_loop(&n, s) || !settle(&n, s))
        return;
    struct products *p = arena_new(n.kernel->arena, struct products);
    p->loops = n.loops;
    p->sums = n.sums;
    p->loop = arena_copy(n.kernel->arena, n.loop, (size_t)n.loops * sizeof *n.loop);
    p->sum = arena_copy(n.kernel->arena, n.sum, (size_t)n.sums * sizeof *n.sum);
    s->products = p;
}

void pass_products(struct pass_context *c)
{
    if (!kernel_thread_level(c->kernel))
        return;
    stmt_walk(c->kernel->body, mark_loop, c->kernel);
    for (int i = 0; i < c->joined_count; i++)
        stmt_walk(c->joined[i].kernel->body, mark_loop, c->joined[i].kernel);
}
