/* Inputs that make a path happen: values of parameters, block indices and loaded elements under
 * which every condition of the path goes as the path went. Bounds of single unknowns nearly always
 * decide; else likely values are tried.
 */
#include "tile/synccheck_core.h"

#include <string.h>

enum { MAX_UNKNOWNS = 10, MAX_CANDIDATES = 40, MAX_TRIES = 20000 };

struct unknown {
    int atom;
    int64_t low, high, value;
};

struct solver {
    struct sync_check *k;
    struct fact constraint[MAX_FACTS + 3 * MAX_RANK + 3];
    int constraints;
    struct unknown unknown[MAX_UNKNOWNS];
    int unknowns;
    int opaque;      /* unknowns that stand for something computed */
    int fillings[4]; /* of tiles, of which elements are unknown: numbers */
    int filled;
    bool too_many;
    int64_t hint[16]; /* numbers that occur in ops */
    int hints;
    int tries;
};

/* --- what is unknown --- */

static bool computes_on_floats(const struct sync_check *k, const struct atom *a)
{
    if (a->kind != ATOM_OP || dtype_is_float((enum dtype)a->dtype))
        return true;
    for (int i = 0; i < a->count; i++)
        if (value_at(k, a->arg[i])->kind != VALUE_SUM)
            return true;
    return false;
}

/* An element of a shared tile that is the first one to be asked of this filling. One filling with
 * elements of a view may have any; one that was computed may not: each element counts. */
static bool is_new_filling(struct solver *v, const struct atom *a)
{
    if (a->kind != ATOM_LOAD || a->sym->storage != ST_SHARED)
        return false;
    const struct value *filling = value_at(v->k, a->arg[0]);
    for (int i = 0; i < v->filled; i++)
        if (v->fillings[i] == a->arg[0])
            return false;
    if (filling->terms && atom_at(v->k, filling->atom[0])->axis && v->filled < 4)
        v->fillings[v->filled++] = a->arg[0];
    return true;
}

static void add_unknown(struct solver *v, int atom)
{
    const struct atom *a = atom_at(v->k, atom);
    for (int i = 0; i < v->unknowns; i++)
        if (v->unknown[i].atom == atom)
            return;
    if (v->unknowns == MAX_UNKNOWNS) {
        v->too_many = true;
        return;
    }
    bool opaque = a->kind == ATOM_FRESH || a->kind == ATOM_OP || is_new_filling(v, a);
    for (int i = 0; i < v->unknowns && a->kind == ATOM_FRESH; i++) {
        const struct atom *other = atom_at(v->k, v->unknown[i].atom);
        if (other->kind == ATOM_FRESH && other->site == a->site)
            opaque = false; /* the same expression another time */
    }
    v->opaque += opaque;
    v->unknown[v->unknowns++] = (struct unknown){.atom = atom, .low = a->low, .high = a->high};
}

static void find_unknowns(struct solver *v, int value)
{
    const struct value *x = value_at(v->k, value);
    if (!x->terms && v->hints < 16)
        v->hint[v->hints++] = x->c;
    for (int i = 0; i < x->terms; i++) {
        const struct atom *a = atom_at(v->k, x->atom[i]);
        if (a->kind == ATOM_OP && !computes_on_floats(v->k, a))
            for (int j = 0; j < a->count; j++)
                find_unknowns(v, a->arg[j]);
        else
            add_unknown(v, x->atom[i]);
    }
}

/* --- evaluating --- */

static bool value_under(const struct solver *v, int value, int64_t *out);

static bool atom_under(const struct solver *v, int atom, int64_t *out)
{
    for (int i = 0; i < v->unknowns; i++)
        if (v->unknown[i].atom == atom) {
            *out = v->unknown[i].value;
            return true;
        }
    const struct atom *a = atom_at(v->k, atom);
    struct literal args[3] = {0}, result;
    if (a->kind != ATOM_OP || a->count > 3)
        return false;
    for (int i = 0; i < a->count; i++)
        if (!value_under(v, a->arg[i], &args[i].i))
            return false;
    if (!eval_op((enum op)a->op, (enum dtype)a->dtype, args, a->count, &result) || result.is_float)
        return false;
    *out = result.i;
    return true;
}

static bool value_under(const struct solver *v, int value, int64_t *out)
{
    const struct value *x = value_at(v->k, value);
    int64_t sum = x->c, one, product;
    for (int i = 0; i < x->terms; i++)
        if (!atom_under(v, x->atom[i], &one) ||
            __builtin_mul_overflow(one, x->factor[i], &product) ||
            __builtin_add_overflow(sum, product, &sum))
            return false;
    *out = sum;
    return true;
}

static bool all_hold(const struct solver *v)
{
    for (int i = 0; i < v->constraints; i++) {
        int64_t x;
        const struct fact *f = &v->constraint[i];
        if (!value_under(v, f->form, &x) || x < f->low || x > f->high)
            return false;
    }
    return true;
}

/* --- searching --- */

static int find(const struct solver *v, int atom)
{
    for (int i = 0; i < v->unknowns; i++)
        if (v->unknown[i].atom == atom)
            return i;
    return -1;
}

/* The bounds that constraint f puts on unknown `which` when those before it have values and it is
 * the only other one. */
static bool bounds_from(const struct solver *v, const struct fact *f, int which, int64_t *low,
                        int64_t *high)
{
    const struct value *x = value_at(v->k, f->form);
    int64_t rest = 0, factor = 0, product;
    for (int i = 0; i < x->terms; i++) {
        int u = find(v, x->atom[i]);
        if (u == which)
            factor = x->factor[i];
        else if (u < 0 || u > which)
            return false;
        else if (__builtin_mul_overflow(x->factor[i], v->unknown[u].value, &product) ||
                 __builtin_add_overflow(rest, product, &rest))
            return false;
    }
    if (factor == 0)
        return false;
    if (rest == INT64_MIN)
        return false;
    int64_t a = add_saturated(f->low, -rest), b = add_saturated(f->high, -rest);
    if (factor < 0) {
        int64_t swap = a;
        a = b == FACT_MANY ? FACT_NONE : sub_saturated(0, b);
        b = swap == FACT_NONE ? FACT_MANY : sub_saturated(0, swap);
        factor = -factor;
    }
    *low = a == FACT_NONE ? a : a / factor + (a > 0 && a % factor ? 1 : 0);
    *high = b == FACT_MANY ? b : b / factor - (b < 0 && b % factor ? 1 : 0);
    return true;
}

static void candidate(int64_t *list, int *count, int64_t x, int64_t low, int64_t high)
{
    if (x < low || x > high || *count == MAX_CANDIDATES)
        return;
    for (int i = 0; i < *count; i++)
        if (list[i] == x)
            return;
    list[(*count)++] = x;
}

static int candidates(const struct solver *v, int which, int64_t *list)
{
    static const int64_t likely[] = {0,  1,  2,  3,  4,  5,  6,   7,    8,
                                     16, 17, 31, 32, 33, 64, 100, 1000, -1};
    int64_t low = v->unknown[which].low, high = v->unknown[which].high;
    int count = 0;
    for (int i = 0; i < v->constraints; i++) {
        int64_t a, b;
        if (!bounds_from(v, &v->constraint[i], which, &a, &b))
            continue;
        low = a > low ? a : low;
        high = b < high ? b : high;
    }
    if (low != FACT_NONE)
        candidate(list, &count, low, low, high);
    if (high != FACT_MANY)
        candidate(list, &count, high, low, high);
    for (size_t i = 0; i < sizeof likely / sizeof *likely; i++)
        candidate(list, &count, likely[i], low, high);
    for (int i = 0; i < v->hints; i++)
        for (int64_t d = -1; d <= 1; d++)
            candidate(list, &count, add_saturated(v->hint[i], d), low, high);
    if (low != FACT_NONE)
        for (int64_t d = 1; d < 4; d++)
            candidate(list, &count, add_saturated(low, d), low, high);
    return count;
}

static bool search(struct solver *v, int which)
{
    if (which == v->unknowns)
        return all_hold(v);
    int64_t list[MAX_CANDIDATES];
    int count = candidates(v, which, list);
    for (int i = 0; i < count; i++) {
        if (v->tries++ > MAX_TRIES)
            return false;
        v->unknown[which].value = list[i];
        if (search(v, which + 1))
            return true;
    }
    return false;
}

static void add_constraint(struct solver *v, const struct fact *f)
{
    v->constraint[v->constraints++] = *f;
    find_unknowns(v, f->form);
}

/* A block's index is below the grid's extent, which the sizes may decide. */
static void bound_blocks(struct solver *v)
{
    for (int i = 0; i < v->unknowns; i++) {
        const struct atom *a = atom_at(v->k, v->unknown[i].atom);
        const struct expr *grid = a->kind == ATOM_BLOCK ? v->k->kernel->grid[a->axis] : NULL;
        if (!grid)
            continue;
        struct state none = {0};
        int extent = eval_value(v->k, &none, grid);
        struct atom self = *a;
        int difference = sync_value_add(v->k, extent, value_atom(v->k, &self), -1);
        struct value d = *value_at(v->k, difference);
        if (d.kind != VALUE_SUM || !d.terms)
            continue;
        struct fact f = {.residue = -1, .low = 1 - d.c, .high = FACT_MANY};
        d.c = 0;
        f.form = intern(&v->k->values, &d, sizeof d, NULL);
        add_constraint(v, &f);
    }
}

void fact_key(const struct sync_check *k, const struct fact *f, uint64_t key[2])
{
    key[0] = value_leaves(k, f->form);
    key[1] = value_at(k, f->form)->sites;
}

/* Moves to the front what has to do with the first of the facts; how many. */
static int connected(const struct sync_check *k, struct fact *facts, int count)
{
    uint64_t reached[2], key[2];
    int front = 1;
    fact_key(k, &facts[0], reached);
    for (int i = 1; i < count; i++) {
        fact_key(k, &facts[i], key);
        if (!(key[0] & reached[0]) && !(key[1] & reached[1]))
            continue;
        struct fact joins = facts[i];
        facts[i] = facts[front];
        facts[front++] = joins;
        reached[0] |= key[0];
        reached[1] |= key[1];
        i = front - 1; /* those before may join now */
    }
    return front;
}

/* Groups of facts that have nothing to do with each other are solved one by one. */
static bool solve_groups(struct sync_check *k, struct fact *facts, int count, int *opaque)
{
    while (count > 0) {
        struct solver v = {.k = k};
        int group = connected(k, facts, count);
        for (int i = 0; i < group; i++)
            add_constraint(&v, &facts[i]);
        bound_blocks(&v);
        *opaque += v.opaque;
        /* Two results of computations may depend on each other in ways that nobody sees. */
        if (v.too_many || *opaque > 1 || !search(&v, 0))
            return false;
        facts += group;
        count -= group;
    }
    return true;
}

enum { MAX_CONSTRAINTS = MAX_FACTS + 3 * MAX_RANK };

bool sync_solve(struct sync_check *k, const struct state *s, const struct fact *more, int count)
{
    struct fact all[MAX_CONSTRAINTS];
    int opaque = 0;
    memcpy(all, s->fact, sizeof all[0] * (size_t)s->facts);
    if (count)
        memcpy(all + s->facts, more, sizeof all[0] * (size_t)count);
    return solve_groups(k, all, s->facts + count, &opaque);
}

bool facts_solve(struct sync_check *k, const struct fact *facts, int count)
{
    struct fact all[MAX_FACTS];
    int opaque = 0;
    memcpy(all, facts, sizeof all[0] * (size_t)count);
    return solve_groups(k, all, count, &opaque) && !opaque;
}
