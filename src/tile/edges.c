/* Finds the reduction that counts the zeros past an edge and whose result flows into a wrong
 * output. A slice that reaches past the edge of its view reads zeros there. They do not change a
 * sum; but a maximum of negative values becomes 0, and exp(0 - m) is not 0.
 *
 * A walk in program order follows, for each tile, the slice whose zeros it has:
 *
 *   zeros      still zeros: after casts, products, shapes, sums and differences of such tiles
 *   changed    something else: after exp, or a sum with a tile that has no such zeros
 *
 * and the first reduction that counted zeros and that the tile's values come from. The second walk
 * adds the values that loops carry from one iteration to the next.
 *
 * The result is a guess for a note on wrong values, not a proof: `where` counts as a mask that
 * clears the zeros, and values are not followed through conditions. A slice counts unless the launch's
 * sizes show that it lies inside: its start is known, or is computed from the block's index. */
#include "tile/passes.h"

#include <string.h>

struct past {
    const struct expr *slice; /* NULL: the tile has no zeros of an edge */
    bool changed;
    bool powers; /* exp or exp2 changed them; -inf instead of 0 in the slice would give 0 */
};

/* Least and greatest value of an integer scalar. */
struct span {
    bool known;
    int64_t low, high;
};

struct edges {
    struct arena *arena;
    const struct kernel *kernel;
    const struct scalar_env *env; /* the launch's parameters */
    struct span *spans;           /* by symbol: of scalars that only their declaration assigns */
    bool *assigned;               /* by symbol: a statement other than the declaration assigns it */
    struct past *of;              /* by symbol */
    const struct edge_zeros **counted; /* by symbol: the reduction that its values come from */
    const struct sym *wrong;           /* the output; NULL: any */
    const struct edge_zeros *found;
    bool again; /* the second walk */
};

static const struct past none = {NULL, false, false};

static struct past past_of(struct edges *g, const struct expr *e);

static struct span span_of(const struct edges *g, const struct expr *e);

/* Returns the span of a sum, a difference or a product. */
static struct span span_binary(const struct edges *g, const struct expr *e)
{
    struct span x = span_of(g, e->args[0]), y = span_of(g, e->args[1]), s = {.known = false};
    int64_t ends[2][2] = {{x.low, x.high}, {y.low, y.high}};
    for (int i = 0; i < 4 && x.known && y.known; i++) {
        int64_t v, p = ends[0][i & 1], q = ends[1][i >> 1];
        bool over = e->op == OP_MUL   ? __builtin_mul_overflow(p, q, &v)
                    : e->op == OP_ADD ? __builtin_add_overflow(p, q, &v)
                                      : __builtin_sub_overflow(p, q, &v);
        if (over)
            return (struct span){.known = false};
        s = (struct span){true, s.known && s.low < v ? s.low : v,
                          s.known && s.high > v ? s.high : v};
    }
    return s;
}

static struct span span_of(const struct edges *g, const struct expr *e)
{
    int64_t v = 1;
    if (e->type.rank > 0 || dtype_is_float(e->type.dtype))
        return (struct span){.known = false};
    if (eval_int(e, g->env, &v))
        return (struct span){true, v, v};
    switch (e->op) {
    case OP_BLOCK: {
        const struct expr *blocks = g->kernel->grid[e->axis];
        bool known = !blocks || eval_int(blocks, g->env, &v);
        return (struct span){known, 0, v - 1};
    }
    case OP_REF:
        return e->sym->storage == ST_SCALAR && !g->assigned[e->sym->index]
                   ? g->spans[e->sym->index]
                   : (struct span){.known = false};
    case OP_CAST: return span_of(g, e->args[0]);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return span_binary(g, e);
    default: return (struct span){.known = false};
    }
}

/* Returns true if the launch's sizes show that the slice lies inside its axis. */
static bool lies_inside(const struct edges *g, const struct expr *e, int axis)
{
    const struct index *x = &e->index[axis];
    int64_t extent;
    if (x->inside || x->kind == IX_ELEMENT || x->kind == IX_ALL)
        return true;
    if (x->kind != IX_SLICE || !e->sym->dims[axis] ||
        !eval_int(e->sym->dims[axis], g->env, &extent))
        return false;
    struct span start = span_of(g, x->value);
    return start.known && start.low >= 0 && start.high <= extent - x->extent;
}

static bool may_pass_edge(const struct edges *g, const struct expr *e)
{
    bool inside = true;
    for (int i = 0; i < e->indices && e->sym->storage == ST_VIEW; i++)
        inside = inside && lies_inside(g, e, i);
    return !inside && !e->otherwise;
}

/* Joins the zeros of the operands: those that something changed, else the first ones. If `shifts`,
 * an operand without such zeros changes those of the others. */
static struct past join(struct edges *g, const struct expr *e, bool shifts)
{
    struct past joined = none;
    bool all = true;
    for (int i = 0; i < e->count; i++) {
        struct past p = past_of(g, e->args[i]);
        all = all && p.slice;
        if (p.slice && (!joined.slice || (p.changed && !joined.changed)))
            joined = p;
    }
    joined.changed = joined.slice && (joined.changed || (shifts && !all));
    return joined;
}

/* Returns the zeros of a product: it is 0 wherever one factor is still 0. */
static struct past product(struct edges *g, const struct expr *e)
{
    for (int i = 0; i < e->count; i++) {
        struct past p = past_of(g, e->args[i]);
        if (p.slice && !p.changed)
            return p;
    }
    return join(g, e, false);
}

static struct past past_of(struct edges *g, const struct expr *e)
{
    struct past p;
    switch (e->op) {
    case OP_ACCESS: return may_pass_edge(g, e) ? (struct past){.slice = e} : g->of[e->sym->index];
    case OP_REF: return g->of[e->sym->index];
    case OP_MUL: return product(g, e);
    case OP_DIV: return past_of(g, e->args[0]);
    case OP_ADD:
    case OP_SUB:
    case OP_FMA: return join(g, e, true);
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_SUM:
    case OP_DOT:
    case OP_WHERE: return none;
    case OP_EXP:
    case OP_EXP2:
    case OP_EXP2_APPROX:
        p = past_of(g, e->args[0]);
        p.changed = p.powers = p.slice;
        return p;
    case OP_LOG:
    case OP_LOG2:
    case OP_COS:
        p = past_of(g, e->args[0]);
        p.changed = p.slice;
        return p;
    default: return join(g, e, false);
    }
}

/* Returns the zeros that the reduction counts, or NULL: those that something changed, and if it is
 * a maximum or a minimum, also unchanged ones. */
static const struct edge_zeros *counted_by(struct edges *g, const struct expr *e)
{
    bool extreme = e->op == OP_REDUCE_MAX || e->op == OP_REDUCE_MIN;
    if (!extreme && e->op != OP_REDUCE_SUM && e->op != OP_DOT)
        return NULL;
    struct past p = e->op == OP_DOT ? product(g, e) : join(g, e, false);
    if (!p.slice || (!extreme && !p.changed))
        return NULL;
    struct edge_zeros *z = arena_new(g->arena, struct edge_zeros);
    *z = (struct edge_zeros){.slice = p.slice, .use = e, .changed = p.changed, .powers = p.powers};
    return z;
}

/* Returns the first reduction that counts zeros and that e comes from; NULL: none. */
static const struct edge_zeros *counted_in(struct edges *g, const struct expr *e)
{
    const struct edge_zeros *z = NULL;
    for (int i = 0; i < e->count && !z; i++)
        z = counted_in(g, e->args[i]);
    if (!z && (e->op == OP_REF || e->op == OP_ACCESS) && e->sym->storage != ST_VIEW)
        z = g->counted[e->sym->index];
    return z ? z : counted_by(g, e);
}

/* Returns true if a write to the view changes the wrong output. */
static bool is_wrong(const struct edges *g, const struct sym *view)
{
    return !g->wrong || view == g->wrong || (view->base && view->base == g->wrong->base);
}

/* Returns true if e, an atomic operation, changes the wrong output. */
static bool updates_wrong(const struct edges *g, const struct expr *e)
{
    bool updates = e->op == OP_ACCESS && e->sym->storage == ST_VIEW && is_wrong(g, e->sym);
    for (int i = 0; i < e->count && !updates; i++)
        updates = updates_wrong(g, e->args[i]);
    return updates;
}

static void assign(struct edges *g, const struct expr *target, const struct sym *to, struct past p,
                   const struct edge_zeros *z)
{
    bool part = target && target->op == OP_ACCESS;
    g->of[to->index] = p;
    if (z || (!part && !g->again)) /* the second walk keeps what a loop carries */
        g->counted[to->index] = z;
}

static void note_assigned(void *user, struct stmt *s)
{
    const struct edges *g = user;
    if (s->kind != STMT_DECL && s->target && s->target->sym && s->target->sym->storage == ST_SCALAR)
        g->assigned[s->target->sym->index] = true;
}

static void follow(void *user, struct stmt *s)
{
    struct edges *g = user;
    if (s->kind == STMT_ENSURES || !s->value)
        return;
    if (s->kind == STMT_DECL && s->sym->storage == ST_SCALAR)
        g->spans[s->sym->index] = span_of(g, s->value);
    struct past p = past_of(g, s->value);
    const struct edge_zeros *z = counted_in(g, s->value);
    const struct sym *to = s->kind == STMT_DECL ? s->sym : s->target ? s->target->sym : NULL;
    bool ends =
        to ? to->storage == ST_VIEW && is_wrong(g, to)
           : s->kind == STMT_EFFECT && expr_has_atomic(s->value) && updates_wrong(g, s->value);
    if (ends && !g->found)
        g->found = z;
    if (to && to->storage != ST_VIEW)
        assign(g, s->target, to, p, z);
}

bool edges_zeros_find(struct arena *a, struct kernel *k, const struct scalar_env *env,
                      const char *view, struct edge_zeros *out)
{
    struct edges g = {.arena = a,
                      .kernel = k,
                      .env = env,
                      .spans = arena_array(a, struct span, k->symbol_count + 1),
                      .assigned = arena_array(a, bool, k->symbol_count + 1),
                      .of = arena_array(a, struct past, k->symbol_count + 1),
                      .counted = arena_array(a, const struct edge_zeros *, k->symbol_count + 1)};
    for (const struct sym *s = k->symbols; s && view && !g.wrong; s = s->next)
        if (s->storage == ST_VIEW && strcmp(s->name, view) == 0)
            g.wrong = s;
    stmt_walk(k->body, note_assigned, &g);
    stmt_walk(k->body, follow, &g);
    g.again = true;
    if (!g.found)
        stmt_walk(k->body, follow, &g);
    if (g.found)
        *out = *g.found;
    return g.found != NULL;
}
