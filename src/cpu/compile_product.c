/* Compiles loops of thread-level code that only sum products: one step executes all turns and lanes
 * (exec_product.c).
 *
 *   loop       for (i32 i = start; i < bound; i += step) with list, in it
 *   list       of loops, blocks, loads and sums
 *   load       v = ACCESS, or for (i32 j = 0; j < extent; j++) v[j] = ACCESS: v a variable of each
 *              thread's own that only sums of this turn read
 *   sum        x = fma(factor, factor, x), or x = x + factor * factor of integers: x a per-thread
 *              variable or elements of one
 *   factor     an ACCESS, a variable that was loaded, v[i] with a counter i that takes all of it,
 *              or an expression that does not change in the loops
 *
 * The indices of accesses are affine in counters and in the thread's index, and the elements of
 * x that a turn adds to are known at compile time. The step tests at run time that all elements
 * it reads are inside. If some are not, the loops run as written, up to the fault. No factor
 * reads an x, so the step may execute all turns of one sum before the next sum; each element
 * still gets its products in order. */
#include "cpu/compile.h"
#include "cpu/lane_product.h"

enum { MOST_NESTED = 8, MOST_SUMS = 8 };

/* Limit of the coefficients of counters: with it, reaches never overflow 64 bits. */
#define MOST_COEFFICIENT ((int64_t)1 << 28)

struct counting {
    const struct sym *counter;
    const struct expr *start, *bound;
    int64_t step;
    bool inclusive;
};

struct summing {
    const struct expr *target, *factor[2];
    int loops, loop[PRODUCT_LOOPS];
};

struct lazy { /* a variable that each turn loads once */
    const struct sym *sym;
    const struct expr *value;  /* NULL: not loaded yet */
    const struct sym *counter; /* counter of the loop that loads its elements; NULL: one load */
    bool declared;             /* declared in the loops: no code after them can name it */
    int depth, path[PRODUCT_LOOPS], uses;
};

struct nest_plan {
    struct compiler *c;
    struct counting loop[MOST_NESTED];
    struct summing sum[MOST_SUMS];
    struct lazy lazy[MOST_SUMS];
    int loops, sums, lazies;
    int depth, path[PRODUCT_LOOPS];
};

/* --- reading the loops --- */

static bool plan_list(struct nest_plan *p, const struct stmt *first);

static bool is_counter_type(const struct expr *e)
{
    return e && e->type.rank == 0 && e->type.dtype == DT_I32;
}

/* Reads i < bound or i <= bound, or either with its sides exchanged. */
static bool plan_condition(struct counting *l, const struct expr *e)
{
    bool less = e->op == OP_LT || e->op == OP_LE, greater = e->op == OP_GT || e->op == OP_GE;
    if (!less && !greater)
        return false;
    const struct expr *counter = e->args[less ? 0 : 1];
    l->bound = e->args[less ? 1 : 0];
    l->inclusive = e->op == OP_LE || e->op == OP_GE;
    return counter->op == OP_REF && counter->sym == l->counter;
}

static bool plan_counter(const struct compiler *c, struct counting *l, const struct stmt *s)
{
    const struct stmt *init = s->init, *step = s->step;
    struct literal by;
    if (!init || init->next || init->kind != STMT_DECL || init->sym->storage != ST_SCALAR ||
        init->sym->type.dtype != DT_I32 || init->sym->type.varying || !init->value || !step ||
        step->next || step->kind != STMT_ASSIGN || !s->condition)
        return false;
    l->counter = init->sym;
    l->start = init->value;
    const struct expr *next = step->value;
    if (step->target->op != OP_REF || step->target->sym != l->counter || next->op != OP_ADD ||
        next->args[0]->op != OP_REF || next->args[0]->sym != l->counter ||
        !expr_constant(c, next->args[1], &by) || by.i <= 0 || by.i > MOST_COEFFICIENT)
        return false;
    l->step = by.i;
    return plan_condition(l, s->condition) && is_counter_type(l->start) &&
           is_counter_type(l->bound) && expr_harmless(c, l->start) && expr_harmless(c, l->bound) &&
           !expr_varying(c, l->start) && !expr_varying(c, l->bound);
}

/* Returns the number of turns of a loop; -1: not known at compile time, or the counter would
 * wrap. */
static int64_t constant_turns(const struct compiler *c, const struct counting *l)
{
    struct literal start, bound;
    if (!expr_constant(c, l->start, &start) || !expr_constant(c, l->bound, &bound))
        return -1;
    return counted_turns(start.i, bound.i, l->step, l->inclusive);
}

/* Returns whether e is v[i] and the counter i takes the indices of all elements of v. */
static bool is_counter(const struct compiler *c, const struct counting *l, const struct expr *e,
                       const struct sym *v)
{
    struct literal start;
    return e->indices == 1 && v->type.rank == 1 && e->index[0].kind == IX_ELEMENT &&
           e->index[0].value->op == OP_REF && e->index[0].value->sym == l->counter &&
           l->step == 1 && expr_constant(c, l->start, &start) && start.i == 0 &&
           constant_turns(c, l) == v->type.extent[0];
}

static bool plan_loop(struct nest_plan *p, const struct stmt *s)
{
    if (p->loops == MOST_NESTED || p->depth == PRODUCT_LOOPS ||
        !plan_counter(p->c, &p->loop[p->loops], s))
        return false;
    p->path[p->depth++] = p->loops++;
    bool fits = plan_list(p, s->body);
    p->depth--;
    return fits;
}

/* --- variables that are loaded --- */

static struct lazy *lazy_of(struct nest_plan *p, const struct sym *s)
{
    for (int i = 0; i < p->lazies; i++)
        if (p->lazy[i].sym == s)
            return &p->lazy[i];
    return NULL;
}

static bool is_own(const struct sym *s)
{
    return s->storage == ST_SCALAR || s->storage == ST_ARRAY;
}

/* Reads sym = value, a load. */
static bool plan_load(struct nest_plan *p, const struct sym *sym, const struct expr *value,
                      const struct sym *counter)
{
    struct lazy *lazy = lazy_of(p, sym);
    if ((lazy && lazy->value) || (!lazy && p->lazies == MOST_SUMS) || value->op != OP_ACCESS ||
        value->otherwise || !is_own(sym) || value->type.dtype != sym->type.dtype)
        return false;
    if (!lazy) {
        lazy = &p->lazy[p->lazies++];
        *lazy = (struct lazy){.sym = sym};
    }
    lazy->value = value;
    lazy->counter = counter;
    lazy->depth = p->depth;
    memcpy(lazy->path, p->path, sizeof lazy->path);
    return true;
}

static bool plan_decl(struct nest_plan *p, const struct stmt *s)
{
    if (p->lazies == MOST_SUMS || !is_own(s->sym) || lazy_of(p, s->sym))
        return false;
    p->lazy[p->lazies++] = (struct lazy){.sym = s->sym, .declared = true};
    return !s->value || (type_same_shape(&s->value->type, &s->sym->type) &&
                         plan_load(p, s->sym, s->value, NULL));
}

/* Reads for (i32 j = 0; j < extent; j++) v[j] = ACCESS. */
static bool plan_fill(struct nest_plan *p, const struct stmt *s)
{
    const struct stmt *body = s->body;
    struct counting l;
    if (!body || body->next || body->kind != STMT_ASSIGN || body->target->op != OP_ACCESS ||
        !plan_counter(p->c, &l, s))
        return false;
    const struct expr *target = body->target;
    return target->sym->type.rank == 1 && is_counter(p->c, &l, target, target->sym) &&
           plan_load(p, target->sym, body->value, l.counter);
}

/* Returns e with `to` in place of a counter. */
static const struct expr *with_counter(struct compiler *c, const struct expr *e,
                                       const struct sym *counter, const struct expr *to)
{
    if (!e || expr_mentions(e, counter) == 0)
        return e;
    if (e->op == OP_REF)
        return to;
    struct expr *copy = arena_copy(c->arena, e, sizeof *e);
    copy->args = arena_copy(c->arena, e->args, (size_t)e->count * sizeof *e->args);
    copy->index = arena_copy(c->arena, e->index, (size_t)e->indices * sizeof *e->index);
    for (int i = 0; i < e->count; i++)
        copy->args[i] = (struct expr *)(uintptr_t)with_counter(c, e->args[i], counter, to);
    for (int i = 0; i < e->indices; i++)
        copy->index[i].value =
            (struct expr *)(uintptr_t)with_counter(c, e->index[i].value, counter, to);
    return copy;
}

/* Returns whether the variable was loaded in this turn: the load is in loops that are still
 * open, and each loop opened after it is known to turn at least once. */
static bool is_loaded(const struct nest_plan *p, const struct lazy *lazy)
{
    if (!lazy->value || lazy->depth > p->depth)
        return false;
    for (int i = 0; i < p->depth; i++)
        if (i < lazy->depth ? lazy->path[i] != p->path[i]
                            : constant_turns(p->c, &p->loop[p->path[i]]) <= 0)
            return false;
    return true;
}

/* Reads a factor; a loaded variable is replaced by its load. */
static const struct expr *plan_factor(struct nest_plan *p, const struct expr *e)
{
    if (e->op == OP_CAST) {
        struct expr *arg = (struct expr *)(uintptr_t)plan_factor(p, e->args[0]);
        struct expr *copy = arena_copy(p->c->arena, e, sizeof *e);
        copy->args = arena_copy(p->c->arena, &arg, sizeof(struct expr *));
        return arg == e->args[0] ? e : copy;
    }
    struct lazy *lazy = e->op == OP_REF || e->op == OP_ACCESS ? lazy_of(p, e->sym) : NULL;
    if (!lazy || !is_loaded(p, lazy))
        return e;
    if (e->op == OP_REF && !lazy->counter) {
        lazy->uses++;
        return lazy->value;
    }
    for (int i = lazy->depth; i < p->depth && e->op == OP_ACCESS && lazy->counter; i++)
        if (is_counter(p->c, &p->loop[p->path[i]], e, e->sym)) {
            lazy->uses++;
            return with_counter(p->c, lazy->value, lazy->counter, e->index[0].value);
        }
    return e;
}

static bool plan_sum(struct nest_plan *p, const struct stmt *s)
{
    const struct expr *e = s->value, *product = e;
    if (p->sums == MOST_SUMS)
        return false;
    if (e->op == OP_ADD && !dtype_is_float(e->type.dtype)) {
        bool first = expr_same(e->args[0], s->target);
        product = e->args[first ? 1 : 0];
        if (product->op != OP_MUL || !expr_same(e->args[first ? 0 : 1], s->target))
            return false;
    } else if (e->op != OP_FMA || !expr_same(e->args[2], s->target)) {
        return false;
    }
    struct summing *sum = &p->sum[p->sums++];
    *sum = (struct summing){.target = s->target, .loops = p->depth};
    sum->factor[0] = plan_factor(p, product->args[0]);
    sum->factor[1] = plan_factor(p, product->args[1]);
    memcpy(sum->loop, p->path, sizeof sum->loop);
    return true;
}

static bool plan_assign(struct nest_plan *p, const struct stmt *s)
{
    bool loads = s->target->op == OP_REF && s->value->op == OP_ACCESS &&
                 type_same_shape(&s->value->type, &s->target->type);
    return loads ? plan_load(p, s->target->sym, s->value, NULL) : plan_sum(p, s);
}

static bool plan_list(struct nest_plan *p, const struct stmt *first)
{
    bool fits = true;
    for (const struct stmt *s = first; s && fits; s = s->next)
        switch (s->kind) {
        case STMT_FOR: fits = plan_fill(p, s) || plan_loop(p, s); break;
        case STMT_BLOCK: fits = plan_list(p, s->body); break;
        case STMT_DECL: fits = plan_decl(p, s); break;
        case STMT_ASSIGN: fits = plan_assign(p, s); break;
        default: fits = false; break;
        }
    return fits;
}

/* --- checks --- */

/* Returns whether e names a counter of the loops, a variable declared in them, or a variable
 * that they assign. */
static bool changes(const struct nest_plan *p, const struct expr *e)
{
    bool found = false;
    for (int i = 0; i < p->loops; i++)
        found |= expr_mentions(e, p->loop[i].counter) > 0;
    for (int i = 0; i < p->lazies; i++)
        found |= expr_mentions(e, p->lazy[i].sym) > 0;
    for (int i = 0; i < p->sums; i++)
        found |= expr_mentions(e, p->sum[i].target->sym) > 0;
    return found;
}

/* Computes the coefficient of the counter in e: the growth of e when the counter grows by 1.
 * false: e is not affine in it. */
static bool coefficient(const struct compiler *c, const struct expr *e, const struct sym *counter,
                        int64_t *by)
{
    int64_t x, y;
    struct literal factor;
    *by = 0;
    if (expr_mentions(e, counter) == 0)
        return true;
    switch (e->op) {
    case OP_REF: *by = 1; return true;
    case OP_NEG:
        if (!coefficient(c, e->args[0], counter, &x))
            return false;
        *by = -x;
        return true;
    case OP_ADD:
    case OP_SUB:
        if (!coefficient(c, e->args[0], counter, &x) || !coefficient(c, e->args[1], counter, &y))
            return false;
        *by = e->op == OP_ADD ? x + y : x - y;
        break;
    case OP_MUL: {
        int factor_at = expr_mentions(e->args[0], counter) > 0 ? 1 : 0;
        if (expr_mentions(e->args[factor_at], counter) > 0 ||
            !expr_constant(c, e->args[factor_at], &factor) || factor.i > MOST_COEFFICIENT ||
            factor.i < -MOST_COEFFICIENT || !coefficient(c, e->args[1 - factor_at], counter, &x))
            return false;
        *by = factor.i * x;
        break;
    }
    default: return false;
    }
    return *by <= MOST_COEFFICIENT && *by >= -MOST_COEFFICIENT;
}

/* Computes how much an index that is affine in all counters grows for a turn of each loop of the
 * sum. */
static bool index_steps(const struct nest_plan *p, const struct summing *s, const struct expr *e,
                        int64_t *step)
{
    int64_t lanes[3];
    if (!is_counter_type(e) || !expr_harmless(p->c, e) || !expr_affine(p->c, e, lanes))
        return false;
    for (int i = 0; i < p->lazies; i++)
        if (expr_mentions(e, p->lazy[i].sym) > 0)
            return false;
    for (int i = 0; i < s->loops; i++) {
        const struct counting *l = &p->loop[s->loop[i]];
        if (!coefficient(p->c, e, l->counter, &step[i]))
            return false;
        step[i] *= l->step;
        if (step[i] > MOST_COEFFICIENT || step[i] < -MOST_COEFFICIENT)
            return false;
    }
    return true;
}

/* Returns whether an operand broadcasts: along leading axes, and along axes where its extent is
 * 1. */
static bool broadcasts(const struct type *from, const struct type *to)
{
    if (from->rank > to->rank)
        return false;
    for (int i = 0; i < from->rank; i++) {
        int64_t n = to->extent[to->rank - from->rank + i];
        if (from->extent[i] != n && from->extent[i] != 1)
            return false;
    }
    return true;
}

/* Returns the ACCESS below a cast that the step can do, otherwise e. */
static const struct expr *loaded(const struct expr *e)
{
    const struct expr *x = e->op == OP_CAST ? e->args[0] : e;
    return x->op == OP_ACCESS && x->type.dtype == x->sym->type.dtype ? x : e;
}

static bool is_factor(const struct nest_plan *p, const struct summing *s, const struct expr *e)
{
    const struct expr *x = loaded(e);
    int64_t step[PRODUCT_LOOPS];
    if (!broadcasts(&e->type, &s->target->type) || e->type.dtype != s->target->type.dtype)
        return false;
    if (x->op != OP_ACCESS)
        return expr_harmless(p->c, e) && !changes(p, e);
    if (x->otherwise)
        return false;
    for (int i = 0; i < p->lazies; i++)
        if (p->lazy[i].sym == x->sym)
            return false;
    for (int i = 0; i < p->sums; i++)
        if (expr_mentions(x, p->sum[i].target->sym) > 0)
            return false;
    for (int i = 0; i < x->indices; i++)
        if (x->index[i].kind == IX_GATHER ||
            (x->index[i].value && !index_steps(p, s, x->index[i].value, step)))
            return false;
    return true;
}

/* Returns whether the sum's target is a varying variable, or elements of one, of a type that is
 * computed as it is stored. */
static bool is_target(const struct nest_plan *p, const struct summing *s)
{
    const struct expr *e = s->target;
    enum dtype t = e->type.dtype;
    bool whole = e->op == OP_REF && e->sym->storage == ST_SCALAR;
    if ((!whole && e->sym->storage != ST_ARRAY) || (e->op != OP_REF && e->op != OP_ACCESS) ||
        slot_of(p->c, e->sym)->value.lanes != p->c->lanes || t == DT_BOOL ||
        compute_dtype(compute_of(t)) != t || !p->c->set->dot->dot[compute_of(t)])
        return false;
    for (int i = 0; i < p->sums; i++)
        if (&p->sum[i] != s && p->sum[i].target->sym == e->sym)
            return false;
    return true;
}

/* Returns whether no statement outside of the loops reads the variable. */
static bool is_private(const struct nest_plan *p, const struct lazy *lazy, const struct stmt *s)
{
    struct stmt alone = *s;
    alone.next = NULL;
    return lazy->declared ||
           stmt_mentions(&alone, lazy->sym) == stmt_mentions(p->c->kernel->body, lazy->sym);
}

static bool is_plan(const struct nest_plan *p, const struct stmt *s)
{
    bool fits = p->sums > 0;
    for (int i = 0; i < p->loops; i++)
        fits = fits && !changes(p, p->loop[i].start) && !changes(p, p->loop[i].bound);
    for (int i = 0; i < p->lazies; i++)
        fits = fits && p->lazy[i].uses > 0 && is_private(p, &p->lazy[i], s);
    for (int i = 0; i < p->sums && fits; i++) {
        const struct summing *sum = &p->sum[i];
        fits = is_target(p, sum) && !lazy_of((struct nest_plan *)(uintptr_t)p, sum->target->sym) &&
               is_factor(p, sum, sum->factor[0]) && is_factor(p, sum, sum->factor[1]);
    }
    return fits;
}

/* --- the step --- */

/* Computes where the sum of the first turn is and the steps to the others. Each counter must
 * move the sum to another element at each turn, or not move it at all. */
static bool lay_sum(const struct nest_plan *p, const struct summing *s, struct lane_product *out)
{
    const struct value *v = &slot_of(p->c, s->target->sym)->value;
    const struct expr *e = s->target;
    int64_t stride[MAX_RANK], at = 0;
    bool moved[PRODUCT_LOOPS] = {false};
    dense_strides(v->rank, v->extent, v->lanes, stride);
    for (int i = 0; i < e->indices; i++) {
        int64_t step[PRODUCT_LOOPS], last;
        struct literal first;
        int moves = 0;
        if (e->index[i].kind != IX_ELEMENT || expr_varying(p->c, e->index[i].value) ||
            !index_steps(p, s, e->index[i].value, step) ||
            !expr_constant(p->c, e->index[i].value, &first))
            return false;
        last = first.i;
        for (int l = 0; l < s->loops; l++) {
            int64_t turns = constant_turns(p->c, &p->loop[s->loop[l]]);
            if (step[l] == 0)
                continue;
            if (turns < 0 || turns > v->extent[i] || moved[l] || moves++ > 0)
                return false;
            moved[l] = true;
            last += step[l] * (turns > 0 ? turns - 1 : 0);
            out->sum_step[l] = step[l] * stride[i];
        }
        if (first.i < 0 || last < 0 || first.i >= v->extent[i] || last >= v->extent[i])
            return false;
        at += first.i * stride[i];
    }
    for (int i = e->indices; i < v->rank; i++)
        out->sum_step[s->loops + i - e->indices] = stride[i];
    out->sum = v->at + (uint32_t)((size_t)at * dtype_size(v->dtype));
    return true;
}

static void lay_value(struct compiler *c, const struct expr *e, const struct lane_product *to,
                      int loops, struct product_operand *o)
{
    struct value v = value_convert(c, compile_expr(c, e, NULL), e->type.dtype);
    int lanes = to->axes - 3, elements = lanes - loops;
    int64_t stride[MAX_RANK];
    dense_strides(v.rank, v.extent, v.lanes, stride);
    for (int i = 0; i < v.rank; i++)
        o->step[0][loops + elements - v.rank + i] = v.extent[i] > 1 ? stride[i] : 0;
    if (v.lanes > 1)
        lane_steps(c->program, &o->step[0][lanes]);
    o->at = v.at;
}

static void lay_access(struct nest_plan *p, const struct summing *s, const struct expr *e,
                       const struct lane_product *to, struct product_operand *o)
{
    struct access *a = access_new(p->c, e);
    int lanes = to->axes - 3, element = lanes - e->type.rank;
    for (int i = 0; i < a->rank; i++) {
        if (i < e->indices && e->index[i].value)
            index_steps(p, s, e->index[i].value, o->step[i]);
        if (a->axis[i].kind != IX_ELEMENT)
            o->step[i][element++] = a->axis[i].extent > 1 ? 1 : 0;
        for (int t = 0; t < 3; t++)
            o->step[i][lanes + t] = a->axis[i].step[2 - t];
    }
    o->access = a;
}

static void lay_product(struct nest_plan *p, const struct summing *s, struct lane_product *out)
{
    struct compiler *c = p->c;
    const struct type *t = &s->target->type;
    out->loops = s->loops;
    out->axes = s->loops + t->rank + 3;
    memcpy(out->loop, s->loop, sizeof out->loop);
    for (int i = 0; i < t->rank; i++)
        out->extent[s->loops + i] = t->extent[i];
    for (int i = 0; i < 3; i++)
        out->extent[out->axes - 3 + i] = c->program->threads[2 - i];
    lane_steps(c->program, &out->sum_step[out->axes - 3]);
    out->size = (uint32_t)dtype_size(t->dtype);
    out->size_index = size_index(t->dtype);
    out->dot = c->set->dot->dot[compute_of(t->dtype)];
    out->width = c->set->dot->width[compute_of(t->dtype)];
    out->fma = routine_elementwise(c->set, OP_FMA, compute_of(t->dtype));
    for (int i = 0; i < 2; i++) {
        struct product_operand *o = &out->operand[i];
        const struct expr *e = loaded(s->factor[i]);
        enum dtype own = e->type.dtype;
        if (e->op == OP_ACCESS)
            lay_access(p, s, e, out, o);
        else
            lay_value(c, e, out, s->loops, o);
        o->size = (uint32_t)dtype_size(own);
        o->size_index = size_index(own);
        o->convert = own == t->dtype ? NULL : c->set->convert->convert[t->dtype][own];
    }
}

/* Gives all counters their first value as a known constant; with known == false makes them
 * unknown again. */
static void set_counters(struct nest_plan *p, bool known)
{
    for (int i = 0; i < p->loops; i++) {
        struct slot *slot = slot_of(p->c, p->loop[i].counter);
        slot->is_known = known && expr_constant(p->c, p->loop[i].start, &slot->known);
    }
    p->c->unrolling += known ? 1 : -1;
}

static struct product_loop *lay_loops(struct nest_plan *p)
{
    struct product_loop *out = arena_array(p->c->arena, struct product_loop, p->loops);
    for (int i = 0; i < p->loops; i++) {
        const struct counting *l = &p->loop[i];
        struct value start = compile_expr(p->c, l->start, NULL);
        slot_of(p->c, l->counter)->value = start;
        out[i].start = start.at;
        out[i].bound = compile_expr(p->c, l->bound, NULL).at;
        out[i].step = l->step;
        out[i].inclusive = l->inclusive;
    }
    return out;
}

static void lay_panels(struct compiler *c, struct products_detail *d)
{
    size_t size = 0, raw = 0;
    d->room = PRODUCT_PANEL;
    for (int i = 0; i < d->count; i++) {
        int64_t n = 1;
        for (int axis = d->product[i].loops; axis < d->product[i].axes; axis++)
            n *= d->product[i].extent[axis];
        for (int l = 0; l < d->product[i].loops; l++)
            n *= d->product[i].sum_step[l] != 0 ? d->product[i].extent[l] : 1;
        d->room = n > d->room ? n : d->room;
        size = d->product[i].size > size ? d->product[i].size : size;
        for (int o = 0; o < 2; o++)
            if (d->product[i].operand[o].convert && d->product[i].operand[o].size > raw)
                raw = d->product[i].operand[o].size;
    }
    for (int i = 0; i < 4; i++)
        d->panel[i] = memory_new(c, (size_t)d->room * (i < 3 ? size : raw));
}

bool compile_products(struct compiler *c, const struct stmt *s, struct label *end)
{
    struct nest_plan p = {.c = c};
    if (c->plain || c->seldom || c->lanes == 1 || s->kind != STMT_FOR || !plan_loop(&p, s) ||
        !is_plan(&p, s))
        return false;
    struct lane_product *products = arena_array(c->arena, struct lane_product, p.sums);
    struct products_detail *d = arena_new(c->arena, struct products_detail);
    uint32_t top = c->top;
    bool fits = true;
    set_counters(&p, true);
    for (int i = 0; i < p.sums; i++) {
        for (int l = 0; l < p.sum[i].loops; l++) {
            int64_t turns = constant_turns(c, &p.loop[p.sum[i].loop[l]]);
            products[i].extent[l] = turns > 0 ? turns : 0;
        }
        fits = fits && lay_sum(&p, &p.sum[i], &products[i]);
    }
    if (fits) {
        d->loops = p.loops;
        d->loop = lay_loops(&p);
        d->product = products;
        d->count = p.sums;
        for (int i = 0; i < p.sums; i++) {
            lay_product(&p, &p.sum[i], &products[i]);
            products[i].number = (uint32_t)c->products.count;
            vec_push(c->arena, &c->products, &products[i]);
        }
        lay_panels(c, d);
        emit_jump(c, step_products, c->mask, end);
        struct instr *in = &c->code.data[c->code.count - 1];
        in->detail = d;
        in->mask = c->mask;
    }
    set_counters(&p, false);
    c->top = top;
    return fits;
}
