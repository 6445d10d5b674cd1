/* Products of a kernel, and which belong together.
 *
 * Sums of products that meet in one variable should be held in one way; so they form a family,
 * and the heaviest product chooses how the warps divide the sum. A product is chained where its
 * left factor comes from another's sum (attention): then a warp should have whole rows of both,
 * and the sum is the factor as it is in the registers. The same where rows of the sum are
 * reduced.
 */
#include "plan/plan_product.h"

#include "base/number_map.h"

enum { DOTS_MOST = 64 };

bool plan_is_elementwise(enum op op)
{
    return op_keeps_place(op) || op == OP_SELECT;
}

static void collect(struct arena *a, const struct stmt *first, int weight, struct plan_stmts *out)
{
    for (const struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_ENSURES)
            continue;
        bool loop = s->kind == STMT_FOR || s->kind == STMT_WHILE;
        int inner = loop && weight < PLAN_WEIGHT_MOST ? weight * PLAN_WEIGHT_LOOP : weight;
        vec_push(a, &out->list, ((struct plan_stmt){s, loop ? inner : weight}));
        collect(a, s->init, weight, out);
        collect(a, s->body, inner, out);
        collect(a, s->otherwise, inner, out);
        collect(a, s->step, inner, out);
    }
}

struct plan_stmts plan_statements(struct arena *a, const struct kernel *k)
{
    struct plan_stmts out = {0};
    collect(a, k->body, 1, &out);
    return out;
}

/* --- finding them --- */

struct finder {
    struct arena *arena;
    struct plan_dot_uses dots;
    struct number_map index; /* dot -> its index + 1 */
    struct number_map flows; /* ST_REG -> the products that it is computed from, a bit for each */
    int weight;
};

static void find_dot(void *user, struct expr **at)
{
    struct finder *f = user;
    bool added;
    if ((*at)->op != OP_DOT || (*at)->type.varying)
        return;
    int index = (int)f->dots.list.count;
    vec_push(f->arena, &f->dots.list, ((struct plan_dot_use){*at, f->weight, index, false}));
    number_map_entry(f->arena, &f->index, (uintptr_t)*at, &added)->value = (uint64_t)index + 1;
}

static void walk_expressions(const struct stmt *s, void (*visit)(void *user, struct expr **at),
                             void *user)
{
    struct expr *roots[3] = {s->condition, s->value, s->target};
    for (int i = 0; i < 3; i++)
        expr_walk(&roots[i], visit, user);
}

/* --- what flows where --- */

static int dot_index(const struct finder *f, const struct expr *e)
{
    const struct number_entry *found = number_map_find(&f->index, (uintptr_t)e);
    return found ? (int)found->value - 1 : -1;
}

static bool has_flows(const struct sym *s)
{
    return s && s->storage == ST_REG && s->type.rank > 0 && !s->type.varying;
}

static uint64_t flows_of(const struct finder *f, const struct sym *s)
{
    const struct number_entry *found = number_map_find(&f->flows, (uintptr_t)s);
    return found ? found->value : 0;
}

/* The products whose sums e is computed from element by element, a bit for each. */
static uint64_t flows_in(const struct finder *f, const struct expr *e)
{
    uint64_t all = 0;
    if (e->op == OP_REF)
        return flows_of(f, e->sym);
    if (e->op == OP_DOT) {
        int i = dot_index(f, e);
        all = i >= 0 && i < DOTS_MOST ? (uint64_t)1 << i : 0;
        return e->count == 3 ? all | flows_in(f, e->args[2]) : all;
    }
    for (int i = 0; plan_is_elementwise(e->op) && i < e->count; i++)
        if (type_same_shape(&e->args[i]->type, &e->type))
            all |= flows_in(f, e->args[i]);
    return all;
}

static bool follow_flow(struct finder *f, const struct stmt *s)
{
    bool added;
    const struct sym *to = s->kind == STMT_DECL                                ? s->sym
                           : s->kind == STMT_ASSIGN && s->target->op == OP_REF ? s->target->sym
                                                                               : NULL;
    if (!has_flows(to) || !s->value || !type_same_shape(&s->value->type, &to->type))
        return false;
    uint64_t before = flows_of(f, to), flows = before | flows_in(f, s->value);
    if (flows == before)
        return false;
    number_map_entry(f->arena, &f->flows, (uintptr_t)to, &added)->value = flows;
    return true;
}

static void chain_bits(struct finder *f, uint64_t flows)
{
    for (size_t i = 0; i < f->dots.list.count && i < DOTS_MOST; i++)
        f->dots.list.data[i].chained |= flows >> i & 1;
}

static void find_chain(void *user, struct expr **at)
{
    struct finder *f = user;
    const struct expr *e = *at;
    if (e->op == OP_DOT && dot_index(f, e) >= 0) {
        uint64_t flows = flows_in(f, e->args[0]);
        f->dots.list.data[dot_index(f, e)].chained |= flows != 0;
        chain_bits(f, flows);
    }
    if (op_is_reduction(e->op) && e->axis == 1 && e->args[0]->type.rank == 2)
        chain_bits(f, flows_in(f, e->args[0]));
}

/* --- families --- */

static bool may_meet(const struct plan_dot_use *a, const struct plan_dot_use *b)
{
    return type_same_shape(&a->e->type, &b->e->type) && a->e->type.dtype == b->e->type.dtype;
}

static void join_families(struct finder *f, uint64_t flows)
{
    struct plan_dot_use *dots = f->dots.list.data;
    int count = (int)f->dots.list.count;
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

/* A family is chained as a whole. */
static void chain_families(struct finder *f)
{
    struct plan_dot_use *dots = f->dots.list.data;
    size_t count = f->dots.list.count;
    bool *chained = arena_array(f->arena, bool, count + 1);
    for (size_t i = 0; i < count; i++)
        chained[dots[i].family] = chained[dots[i].family] || dots[i].chained;
    for (size_t i = 0; i < count; i++)
        dots[i].chained = chained[dots[i].family];
}

static void find_families(struct finder *f, const struct kernel *k, const struct plan_stmts *stmts)
{
    for (size_t i = 0; i < stmts->list.count; i++)
        walk_expressions(stmts->list.data[i].s, join_in_expression, f);
    for (const struct sym *s = k->symbols; s; s = s->next)
        join_families(f, flows_of(f, s));
}

struct plan_dot_uses plan_find_dots(struct arena *a, const struct kernel *k,
                                    const struct plan_stmts *stmts)
{
    struct finder f = {.arena = a};
    const struct plan_stmt *list = stmts->list.data;
    for (size_t i = 0; i < stmts->list.count; i++) {
        f.weight = list[i].weight;
        walk_expressions(list[i].s, find_dot, &f);
    }
    bool changed = f.dots.list.count > 0;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < stmts->list.count; i++)
            changed |= follow_flow(&f, list[i].s);
    }
    for (size_t i = 0; f.dots.list.count > 0 && i < stmts->list.count; i++)
        walk_expressions(list[i].s, find_chain, &f);
    if (f.dots.list.count > 1)
        find_families(&f, k, stmts);
    chain_families(&f);
    return f.dots;
}
