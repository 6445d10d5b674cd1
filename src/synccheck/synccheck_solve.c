/* Searches inputs that make a path happen: values of parameters, block indices and loaded
 * elements under which every condition of the path has the result that it had on the path.
 * Bounds of single unknowns nearly always decide; otherwise the search tries likely values, one
 * unknown after the other. The values that occur in conditions are nodes; each is computed once
 * for every choice of the unknowns that it depends on. A condition drops a choice as soon as its
 * last unknown has a value. */
#include "synccheck/synccheck_core.h"

#include <string.h>

enum { MAX_UNKNOWNS = 10, MAX_CANDIDATES = 40, MAX_TRIES = 20000 };

struct unknown {
    int atom;
    int64_t low, high, value;
};

struct solver {
    struct sync_check *k;
    struct fact constraint[MAX_FACTS + 3 * MAX_RANK + 3];
    int node[MAX_FACTS + 3 * MAX_RANK + 3]; /* of the constraint's form */
    int constraints;
    struct unknown unknown[MAX_UNKNOWNS];
    int unknowns;
    int opaque;      /* number of unknowns that are results of computations */
    int fillings[4]; /* numbers of the fillings of tiles with unknown elements */
    int filled;
    bool too_many;
    int64_t hint[16]; /* numbers that occur in ops */
    int hints;
    int tries;
};

/* --- unknowns --- */

static bool computes_on_floats(const struct sync_check *k, const struct atom *a)
{
    if (a->kind != ATOM_OP || dtype_is_float((enum dtype)a->dtype))
        return true;
    for (int i = 0; i < a->count; i++)
        if (sync_value_at(k, a->arg[i])->kind != VALUE_SUM)
            return true;
    return false;
}

/* Returns true for an element of a shared tile whose filling is new here. A filling with
 * elements of a view may have any values, so only its first element counts; of a computed
 * filling each element counts. */
static bool is_new_filling(struct solver *v, const struct atom *a)
{
    if (a->kind != ATOM_LOAD || a->sym->storage != ST_SHARED)
        return false;
    const struct sync_value *filling = sync_value_at(v->k, a->arg[0]);
    for (int i = 0; i < v->filled; i++)
        if (v->fillings[i] == a->arg[0])
            return false;
    if (filling->terms && sync_atom_at(v->k, filling->atom[0])->axis && v->filled < 4)
        v->fillings[v->filled++] = a->arg[0];
    return true;
}

/* Returns the number of the unknown; the last number if there are too many. */
static int add_unknown(struct solver *v, int atom)
{
    const struct atom *a = sync_atom_at(v->k, atom);
    for (int i = 0; i < v->unknowns; i++)
        if (v->unknown[i].atom == atom)
            return i;
    if (v->unknowns == MAX_UNKNOWNS) {
        v->too_many = true;
        return MAX_UNKNOWNS - 1;
    }
    bool opaque = a->kind == ATOM_FRESH || a->kind == ATOM_OP || is_new_filling(v, a);
    for (int i = 0; i < v->unknowns && a->kind == ATOM_FRESH; i++) {
        const struct atom *other = sync_atom_at(v->k, v->unknown[i].atom);
        if (other->kind == ATOM_FRESH && other->site == a->site)
            opaque = false; /* another evaluation of the same expression */
    }
    v->opaque += opaque;
    v->unknown[v->unknowns] = (struct unknown){.atom = atom, .low = a->low, .high = a->high};
    return v->unknowns++;
}

/* Returns the node of the value; -1: it has none yet. */
static int find_node(const struct sync_check *k, int value)
{
    int n = (size_t)value < k->node_of.count ? k->node_of.data[value] : -1;
    return n >= 0 && (size_t)n < k->nodes.count && k->nodes.data[n].value == value ? n : -1;
}

/* Adds the node of a value, after the nodes below it. */
static int add_node(struct solver *v, int value)
{
    struct sync_check *k = v->k;
    const struct sync_value *x = sync_value_at(k, value);
    int known = find_node(k, value), last = -1;
    if (known >= 0)
        return known;
    if (!x->terms && v->hints < 16)
        v->hint[v->hints++] = x->c;
    for (int i = 0; i < x->terms; i++) {
        const struct atom *a = sync_atom_at(k, x->atom[i]);
        bool computed = a->kind == ATOM_OP && !computes_on_floats(k, a);
        for (int j = 0; computed && j < a->count; j++) {
            int below = add_node(v, a->arg[j]);
            last = k->nodes.data[below].last > last ? k->nodes.data[below].last : last;
        }
        int unknown = computed ? -1 : add_unknown(v, x->atom[i]);
        last = unknown > last ? unknown : last;
    }
    while (k->node_of.count <= (size_t)value)
        vec_push(k->arena, &k->node_of, -1);
    k->node_of.data[value] = (int)k->nodes.count;
    vec_push(k->arena, &k->nodes, ((struct solve_node){.value = value, .last = last}));
    return (int)k->nodes.count - 1;
}

/* --- evaluating --- */

static int find(const struct solver *v, int atom)
{
    for (int i = 0; i < v->unknowns; i++)
        if (v->unknown[i].atom == atom)
            return i;
    return -1;
}

/* Evaluates the atom from the unknowns below `end`. Returns false if it needs more of them. */
static bool atom_under(const struct solver *v, int atom, int end, int64_t *out)
{
    const struct atom *a = sync_atom_at(v->k, atom);
    struct literal args[3] = {0}, result;
    int unknown = find(v, atom);
    if (unknown >= 0) {
        *out = v->unknown[unknown].value;
        return unknown < end;
    }
    if (a->kind != ATOM_OP || a->count > 3)
        return false;
    for (int i = 0; i < a->count; i++) {
        const struct solve_node *n = &v->k->nodes.data[find_node(v->k, a->arg[i])];
        if (n->last >= end || !n->has_value)
            return false;
        args[i].i = n->now;
    }
    if (!eval_op((enum op)a->op, (enum dtype)a->dtype, args, a->count, &result) || result.is_float)
        return false;
    *out = result.i;
    return true;
}

static void compute(const struct solver *v, struct solve_node *n)
{
    const struct sync_value *x = sync_value_at(v->k, n->value);
    int64_t one, product;
    n->now = x->c;
    n->has_value = true;
    for (int i = 0; i < x->terms && n->has_value; i++)
        n->has_value = atom_under(v, x->atom[i], MAX_UNKNOWNS, &one) &&
                       !__builtin_mul_overflow(one, x->factor[i], &product) &&
                       !__builtin_add_overflow(n->now, product, &n->now);
}

/* Computes the nodes that the latest unknown with a value, `which`, decides. Returns false if a
 * constraint does not hold. */
static bool decide_from(const struct solver *v, int which)
{
    struct sync_check *k = v->k;
    for (size_t i = 0; i < k->nodes.count; i++)
        if (k->nodes.data[i].last == which)
            compute(v, &k->nodes.data[i]);
    for (int i = 0; i < v->constraints; i++) {
        const struct fact *f = &v->constraint[i];
        const struct solve_node *n = &k->nodes.data[v->node[i]];
        if (n->last == which && (!n->has_value || n->now < f->low || n->now > f->high))
            return false;
    }
    return true;
}

/* --- searching --- */

/* Computes the bounds that constraint f puts on unknown `which`, if the unknowns before it have
 * values and decide all other parts of f. */
static bool bounds_from(const struct solver *v, const struct fact *f, int which, int64_t *low,
                        int64_t *high)
{
    const struct sync_value *x = sync_value_at(v->k, f->form);
    int64_t rest = 0, factor = 0, product;
    for (int i = 0; i < x->terms; i++) {
        int64_t one;
        if (find(v, x->atom[i]) == which)
            factor = x->factor[i];
        else if (!atom_under(v, x->atom[i], which, &one) ||
                 __builtin_mul_overflow(x->factor[i], one, &product) ||
                 __builtin_add_overflow(rest, product, &rest))
            return false;
    }
    if (factor == 0)
        return false;
    if (rest == INT64_MIN)
        return false;
    int64_t a = sync_add_saturated(f->low, -rest), b = sync_add_saturated(f->high, -rest);
    if (factor < 0) {
        int64_t swap = a;
        a = b == FACT_MANY ? FACT_NONE : sync_sub_saturated(0, b);
        b = swap == FACT_NONE ? FACT_MANY : sync_sub_saturated(0, swap);
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

static int64_t modulo(int64_t a, int64_t d)
{
    return (a % d + d) % d;
}

/* Adds values with the remainder that constraint f asks for, such as n % 16 = 0: the first ones from
 * `low` on, and the last one up to `high`. */
static void with_remainder(const struct solver *v, const struct fact *f, int which, int64_t low,
                           int64_t high, int64_t *list, int *count)
{
    enum { FEW = 3, FAR = 1 << 30 };
    const struct sync_value *x = sync_value_at(v->k, f->form);
    const struct atom *a = sync_atom_at(v->k, x->atom[0]);
    int64_t d;
    if (x->terms != 1 || x->factor[0] != 1 || a->kind != ATOM_OP || a->op != OP_REM ||
        !sync_value_number(v->k, a->arg[1], &d) || d < 1 || d > FAR)
        return;
    const struct sync_value *of = sync_value_at(v->k, a->arg[0]);
    if (of->kind != VALUE_SUM || of->terms != 1 || of->factor[0] != 1 ||
        of->atom[0] != v->unknown[which].atom || of->c < -FAR || of->c > FAR)
        return;
    int64_t wanted = (f->low == FACT_NONE ? 0 : modulo(f->low, d)) - of->c;
    int64_t from = low < -FAR || low > FAR ? 0 : low, to = high < -FAR || high > FAR ? from : high;
    for (int i = 0; i < FEW; i++)
        candidate(list, count, from + modulo(wanted - from, d) + i * d, low, high);
    candidate(list, count, to - modulo(to - wanted, d), low, high);
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
    for (int i = 0; i < v->constraints; i++)
        with_remainder(v, &v->constraint[i], which, low, high, list, &count);
    for (size_t i = 0; i < sizeof likely / sizeof *likely; i++)
        candidate(list, &count, likely[i], low, high);
    for (int i = 0; i < v->hints; i++)
        for (int64_t d = -1; d <= 1; d++)
            candidate(list, &count, sync_add_saturated(v->hint[i], d), low, high);
    if (low != FACT_NONE)
        for (int64_t d = 1; d < 4; d++)
            candidate(list, &count, sync_add_saturated(low, d), low, high);
    return count;
}

static bool search(struct solver *v, int which)
{
    if (which == v->unknowns)
        return true;
    int64_t list[MAX_CANDIDATES];
    int count = candidates(v, which, list);
    for (int i = 0; i < count; i++) {
        if (v->tries++ > MAX_TRIES || v->tries > v->k->tries_left)
            return false;
        arena_poll(v->k->arena);
        v->unknown[which].value = list[i];
        if (decide_from(v, which) && search(v, which + 1))
            return true;
    }
    return false;
}

static void add_constraint(struct solver *v, const struct fact *f)
{
    v->node[v->constraints] = add_node(v, f->form);
    v->constraint[v->constraints++] = *f;
}

/* Bounds the index of a block: it is below the grid's extent, which may depend on sizes. */
static void bound_blocks(struct solver *v)
{
    for (int i = 0; i < v->unknowns; i++) {
        const struct atom *a = sync_atom_at(v->k, v->unknown[i].atom);
        const struct expr *grid = a->kind == ATOM_BLOCK ? v->k->kernel->grid[a->axis] : NULL;
        if (!grid)
            continue;
        struct sync_state none = {0};
        int extent = v->k->eval(v->k, &none, grid);
        struct atom self = *a;
        const int *cluster = v->k->kernel->cluster;
        int along = cluster[0] > 0 ? cluster[a->axis] : 1;
        int difference = sync_value_add(v->k, extent, sync_value_atom(v->k, &self), -along);
        struct sync_value d = *sync_value_at(v->k, difference);
        if (d.kind != VALUE_SUM || !d.terms)
            continue;
        struct fact f = {.residue = -1, .low = along - d.c, .high = FACT_MANY};
        d.c = 0;
        f.form = sync_intern(&v->k->values, &d, sizeof d, NULL);
        add_constraint(v, &f);
    }
}

void sync_fact_key(const struct sync_check *k, const struct fact *f, uint64_t key[2])
{
    key[0] = sync_value_leaves(k, f->form);
    key[1] = sync_value_at(k, f->form)->sites;
}

/* Moves the facts that are connected with the first one to the front. Returns their number. */
static int connected(const struct sync_check *k, struct fact *facts, int count)
{
    uint64_t reached[2], key[2];
    int front = 1;
    sync_fact_key(k, &facts[0], reached);
    for (int i = 1; i < count; i++) {
        sync_fact_key(k, &facts[i], key);
        if (!(key[0] & reached[0]) && !(key[1] & reached[1]))
            continue;
        struct fact joins = facts[i];
        facts[i] = facts[front];
        facts[front++] = joins;
        reached[0] |= key[0];
        reached[1] |= key[1];
        i = front - 1; /* facts passed before may be connected now */
    }
    return front;
}

/* Searches inputs for a group of facts. Two results of computations may depend on each other in
 * ways that the check does not see, so all groups together may have at most one opaque unknown.
 * The same group occurs in many states, so its result is kept: 0: none yet, 1: no inputs were
 * found, else 2 + the number of its opaque unknowns. */
static bool solve_group(struct sync_check *k, const struct fact *facts, int count, int *opaque)
{
    bool is_new;
    int number = sync_intern(&k->solved, facts, sizeof facts[0] * (size_t)count, &is_new);
    if (is_new)
        vec_push(k->arena, &k->solve_results, 0);
    int *result = &k->solve_results.data[number];
    if (*result) {
        *opaque += *result - 2;
        return *result != 1 && *opaque <= 1;
    }
    struct solver v = {.k = k};
    k->nodes.count = 0;
    for (int i = 0; i < count; i++)
        add_constraint(&v, &facts[i]);
    bound_blocks(&v);
    *opaque += v.opaque;
    if (v.too_many || v.opaque > 1)
        *result = 1;
    if (*result || *opaque > 1)
        return false;
    bool found = decide_from(&v, -1) && search(&v, 0);
    k->tries_left -= v.tries;
    *result = found ? v.opaque + 2 : 1;
    return found;
}

/* Splits the facts into groups that are not connected, and solves one after the other. */
static bool solve_groups(struct sync_check *k, struct fact *facts, int count, int *opaque)
{
    while (count > 0) {
        int group = connected(k, facts, count);
        if (!solve_group(k, facts, group, opaque))
            return false;
        facts += group;
        count -= group;
    }
    return true;
}

enum { MAX_CONSTRAINTS = MAX_FACTS + 3 * MAX_RANK };

bool sync_solve(struct sync_check *k, const struct sync_state *s, const struct fact *more,
                int count)
{
    struct fact all[MAX_CONSTRAINTS];
    int opaque = 0;
    memcpy(all, s->fact, sizeof all[0] * (size_t)s->facts);
    if (count)
        memcpy(all + s->facts, more, sizeof all[0] * (size_t)count);
    return solve_groups(k, all, s->facts + count, &opaque);
}

bool sync_facts_solve(struct sync_check *k, const struct fact *facts, int count)
{
    struct fact all[MAX_FACTS];
    int opaque = 0;
    memcpy(all, facts, sizeof all[0] * (size_t)count);
    return solve_groups(k, all, count, &opaque) && !opaque;
}
