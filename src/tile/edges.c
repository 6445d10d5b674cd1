/* Finds reductions that count the zeros past an edge. A slice that reaches past the edge of its
 * view reads zeros there. They do not change a sum; but a maximum of negative values becomes 0, and
 * exp(0 - m) is not 0.
 *
 * One walk in program order follows, for each tile, the slice whose zeros it has:
 *
 *   zeros      still zeros: after casts, products, shapes, sums and differences of such tiles
 *   changed    something else: after exp, or a sum with a tile that has no such zeros
 *
 * The result is a guess for a note on wrong values, not a proof: `where` counts as a mask that
 * clears the zeros, and the launch decides whether the slice reaches past the edge. */
#include "tile/passes.h"

struct past {
    const struct expr *slice; /* NULL: the tile has no zeros of an edge */
    bool changed;
    bool powers; /* exp or exp2 changed them; -inf instead of 0 in the slice would give 0 */
};

struct edges {
    struct past *of; /* by symbol */
    struct edge_zeros found;
};

static const struct past none = {NULL, false, false};

static struct past past_of(struct edges *g, const struct expr *e);

static bool may_pass_edge(const struct expr *e)
{
    bool slice = false;
    for (int i = 0; i < e->indices; i++)
        slice = slice || (e->index[i].kind != IX_ELEMENT && e->index[i].kind != IX_ALL &&
                          !e->index[i].inside);
    return slice && !e->otherwise && e->sym->storage == ST_VIEW;
}

/* Joins the zeros of the operands. If `shifts`, an operand without such zeros changes those of
 * the others. */
static struct past join(struct edges *g, const struct expr *e, bool shifts)
{
    struct past joined = none;
    bool all = true;
    for (int i = 0; i < e->count; i++) {
        struct past p = past_of(g, e->args[i]);
        all = all && p.slice;
        if (p.slice && !joined.slice)
            joined.slice = p.slice;
        joined.changed = joined.changed || p.changed;
        joined.powers = joined.powers || p.powers;
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

/* Checks a reduction. It counts zeros that something changed, and if `counts`, also unchanged
 * ones. Its result has no zeros of an edge. */
static struct past reduced(struct edges *g, const struct expr *e, bool counts)
{
    struct past p = e->op == OP_DOT ? product(g, e) : join(g, e, false);
    if (p.slice && (counts || p.changed) && !g->found.slice)
        g->found = (struct edge_zeros){
            .slice = p.slice, .use = e, .changed = p.changed, .powers = p.powers};
    return none;
}

static struct past past_of(struct edges *g, const struct expr *e)
{
    struct past p;
    switch (e->op) {
    case OP_ACCESS: return may_pass_edge(e) ? (struct past){.slice = e} : g->of[e->sym->index];
    case OP_REF: return g->of[e->sym->index];
    case OP_MUL: return product(g, e);
    case OP_DIV: past_of(g, e->args[1]); return past_of(g, e->args[0]);
    case OP_ADD:
    case OP_SUB:
    case OP_FMA: return join(g, e, true);
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN: return reduced(g, e, true);
    case OP_REDUCE_SUM: return reduced(g, e, false);
    case OP_DOT: return reduced(g, e, false);
    case OP_WHERE:
        for (int i = 0; i < e->count; i++)
            past_of(g, e->args[i]);
        return none;
    case OP_EXP:
    case OP_EXP2:
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

static void follow(void *user, struct stmt *s)
{
    struct edges *g = user;
    if (s->kind == STMT_ENSURES || !s->value)
        return;
    struct past p = past_of(g, s->value);
    const struct sym *to = s->kind == STMT_DECL ? s->sym : s->target ? s->target->sym : NULL;
    if (to && to->storage != ST_VIEW)
        g->of[to->index] = p;
}

bool edge_zeros_find(struct arena *a, struct kernel *k, struct edge_zeros *out)
{
    struct edges g = {.of = arena_array(a, struct past, k->symbol_count + 1)};
    stmt_walk(k->body, follow, &g);
    *out = g.found;
    return out->slice != NULL;
}
