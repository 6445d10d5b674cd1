/* Products: which belong together, and how each is done.
 *
 * Sums of products that meet in one variable should be held in one way; so they form a family,
 * and the heaviest product chooses how the warps divide the sum. A product is chained where its
 * left factor comes from another's sum (attention): then a warp should have whole rows of both,
 * and the sum is the factor as it stands in the registers. The same where rows of the sum are
 * reduced.
 */
#include "lower/lower_limits.h"
#include "lower/lower_plan_own.h"

enum { DOTS_MOST = 64 };

struct planned_dot *planned_dot_of(struct lower *l, const struct expr *e)
{
    return map_get(&l->plan->dot_of, e);
}

/* --- Finding them --- */

struct finder {
    struct lower *l;
    int weight;
};

static void find_dot(void *user, struct expr **at)
{
    struct finder *f = user;
    struct planned_dot dot = {.e = *at, .weight = f->weight, .family = (int)f->l->plan->dots.count};
    if ((*at)->op == OP_DOT && !(*at)->type.varying)
        vec_push(f->l->arena, &f->l->plan->dots, dot);
}

static void walk_expressions(const struct planned_stmt *s,
                             void (*visit)(void *user, struct expr **at), void *user)
{
    struct expr *roots[3] = {s->s->condition, s->s->value, s->s->target};
    for (int i = 0; i < 3; i++)
        expr_walk(&roots[i], visit, user);
}

static void find_dots(struct lower *l)
{
    struct plan *p = l->plan;
    for (size_t i = 0; i < p->stmts.count; i++) {
        struct finder f = {l, p->stmts.data[i].weight};
        walk_expressions(&p->stmts.data[i], find_dot, &f);
    }
    for (size_t i = 0; i < p->dots.count; i++)
        map_put(l->arena, &p->dot_of, p->dots.data[i].e, &p->dots.data[i]);
}

/* --- What flows where --- */

static int dot_index(struct lower *l, const struct expr *e)
{
    const struct planned_dot *d = planned_dot_of(l, e);
    return d ? (int)(d - l->plan->dots.data) : -1;
}

/* The products whose sums e is computed from element by element, a bit for each. */
static uint64_t flows_in(struct lower *l, const struct expr *e)
{
    uint64_t all = 0;
    if (e->op == OP_REF) {
        const struct planned_symbol *s = planned_symbol_of(l, e->sym);
        return s ? s->flows : 0;
    }
    if (e->op == OP_DOT) {
        int i = dot_index(l, e);
        all = i >= 0 && i < DOTS_MOST ? (uint64_t)1 << i : 0;
        return e->count == 3 ? all | flows_in(l, e->args[2]) : all;
    }
    for (int i = 0; plan_is_elementwise(e->op) && i < e->count; i++)
        if (type_same_shape(&e->args[i]->type, &e->type))
            all |= flows_in(l, e->args[i]);
    return all;
}

static void follow_flows(struct lower *l)
{
    struct plan *p = l->plan;
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < p->stmts.count; i++) {
            const struct stmt *s = p->stmts.data[i].s;
            const struct sym *to = s->kind == STMT_DECL ? s->sym
                                   : s->kind == STMT_ASSIGN && s->target->op == OP_REF
                                       ? s->target->sym
                                       : NULL;
            struct planned_symbol *symbol = to && s->value ? planned_symbol_of(l, to) : NULL;
            if (!symbol || !type_same_shape(&s->value->type, &to->type))
                continue;
            uint64_t flows = symbol->flows | flows_in(l, s->value);
            changed |= flows != symbol->flows;
            symbol->flows = flows;
        }
    }
}

static void chain_bits(struct lower *l, uint64_t flows)
{
    for (size_t i = 0; i < l->plan->dots.count && i < DOTS_MOST; i++)
        l->plan->dots.data[i].chained |= flows >> i & 1;
}

static void find_chain(void *user, struct expr **at)
{
    struct lower *l = user;
    struct expr *e = *at;
    if (e->op == OP_DOT && planned_dot_of(l, e)) {
        uint64_t flows = flows_in(l, e->args[0]);
        if (flows)
            planned_dot_of(l, e)->chained = true;
        chain_bits(l, flows);
    }
    if (op_table[e->op].class == CLASS_REDUCE && e->axis == 1 && e->args[0]->type.rank == 2)
        chain_bits(l, flows_in(l, e->args[0]));
}

static bool may_meet(const struct planned_dot *a, const struct planned_dot *b)
{
    return type_same_shape(&a->e->type, &b->e->type) && a->e->type.dtype == b->e->type.dtype;
}

static void join_families(struct lower *l, uint64_t flows)
{
    struct planned_dot *dots = l->plan->dots.data;
    int count = (int)l->plan->dots.count;
    for (int i = 0; i < count && i < DOTS_MOST; i++)
        for (int j = i + 1; flows >> i & 1 && j < count && j < DOTS_MOST; j++) {
            int from = dots[j].family, to = dots[i].family;
            if (!(flows >> j & 1) || from == to || !may_meet(&dots[i], &dots[j]))
                continue;
            for (int k = 0; k < count; k++)
                if (dots[k].family == from)
                    dots[k].family = to;
        }
}

static void join_in_expression(void *user, struct expr **at)
{
    join_families(user, flows_in(user, *at));
}

/* --- Choosing --- */

/* The warps that the division leaves over do the same as others. */
static const struct layout *for_all_warps(struct lower *l, struct layout *layout, int used)
{
    if (used < l->warps) {
        layout_add_free(layout, AXIS_WARP, l->warps / used);
        layout_normalise(layout);
    }
    return layout_keep(l, layout);
}

/* The tiling of `leader` for another product of its family; as it was where that does not give the
 * same sum. */
static void agree(struct lower *l, struct dot_plan *d, const struct dot_plan *leader)
{
    struct dot_plan trial = *d;
    struct layout a, b, c;
    int32_t of_a[2] = {d->m, d->k}, of_b[2] = {d->k, d->n}, of_c[2] = {d->m, d->n};
    bool good = false;
    if (d->kind != leader->kind || d->a_staged || d->b_staged || d->fragment_a != d->a ||
        d->fragment_b != d->b)
        return;
    if (d->kind == DOT_MMA) {
        trial.mma.warps_m = leader->mma.warps_m;
        trial.mma.warps_n = leader->mma.warps_n;
        trial.mma.scattered = leader->mma.scattered;
        good = layout_mma_tile(&trial.mma, MATRIX_A, of_a, &a) &&
               layout_mma_tile(&trial.mma, MATRIX_B, of_b, &b) &&
               layout_mma_tile(&trial.mma, MATRIX_C, of_c, &c);
    } else {
        trial.fma = leader->fma;
        good = layout_fma_tile(&trial.fma, MATRIX_A, of_a, &a) &&
               layout_fma_tile(&trial.fma, MATRIX_B, of_b, &b) &&
               layout_fma_tile(&trial.fma, MATRIX_C, of_c, &c);
    }
    int used = d->kind == DOT_MMA ? trial.mma.warps_m * trial.mma.warps_n
                                  : trial.fma.warps_m * trial.fma.warps_n;
    if (!good || for_all_warps(l, &c, used) != leader->c)
        return;
    trial.a = trial.fragment_a = for_all_warps(l, &a, used);
    trial.b = trial.fragment_b = for_all_warps(l, &b, used);
    trial.c = leader->c;
    dot_choose_chunk(l, &trial);
    *d = trial;
}

static int64_t work(const struct planned_dot *d)
{
    return d->weight * d->e->args[0]->type.extent[1];
}

static bool choose(struct lower *l, struct planned_dot *d)
{
    if (!dot_choose_for(l, d->e, d->chained, &d->plan)) {
        if (!l->failed)
            limits_ragged(l, d->e->loc, "`dot`");
        return false;
    }
    d->plan.e = d->e;
    return true;
}

static void choose_families(struct lower *l)
{
    struct planned_dot *dots = l->plan->dots.data;
    int count = (int)l->plan->dots.count;
    for (int i = 0; i < count; i++)
        if (!choose(l, &dots[i]))
            return;
    struct planned_dot **leaders = arena_array(l->arena, struct planned_dot *, count + 1);
    for (int i = 0; i < count; i++) {
        struct planned_dot **leader = &leaders[dots[i].family];
        if (!*leader || work(&dots[i]) > work(*leader))
            *leader = &dots[i];
    }
    for (int i = 0; i < count; i++) {
        const struct planned_dot *leader = leaders[dots[i].family];
        if (work(leader) > work(&dots[i]) && leader->plan.c != dots[i].plan.c)
            agree(l, &dots[i].plan, &leader->plan);
    }
}

/* A family is chained as a whole. */
static void chain_families(struct lower *l)
{
    struct planned_dot *dots = l->plan->dots.data;
    size_t count = l->plan->dots.count;
    bool *chained = arena_array(l->arena, bool, count + 1);
    for (size_t i = 0; i < count; i++)
        chained[dots[i].family] = chained[dots[i].family] || dots[i].chained;
    for (size_t i = 0; i < count; i++)
        dots[i].chained = chained[dots[i].family];
}

void plan_dots(struct lower *l)
{
    struct plan *p = l->plan;
    find_dots(l);
    if (p->dots.count == 0)
        return;
    follow_flows(l);
    for (size_t i = 0; i < p->stmts.count; i++)
        walk_expressions(&p->stmts.data[i], find_chain, l);
    for (size_t i = 0; p->dots.count > 1 && i < p->stmts.count; i++)
        walk_expressions(&p->stmts.data[i], join_in_expression, l);
    for (size_t i = 0; p->dots.count > 1 && i < p->symbols.count; i++)
        join_families(l, p->symbols.data[i]->flows);
    chain_families(l);
    choose_families(l);
}
