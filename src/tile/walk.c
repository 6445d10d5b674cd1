#include "tile/tile.h"

void expr_walk(struct expr **root, void (*visit)(void *user, struct expr **at), void *user)
{
    struct expr *e = *root;
    if (!e)
        return;
    for (int i = 0; i < e->count; i++)
        expr_walk(&e->args[i], visit, user);
    for (int i = 0; i < e->indices; i++)
        expr_walk(&e->index[i].value, visit, user);
    expr_walk(&e->otherwise, visit, user);
    visit(user, root);
}

int expr_mentions(const struct expr *e, const struct sym *s)
{
    if (!e)
        return 0;
    int count = e->sym == s;
    for (int i = 0; i < expr_children(e); i++)
        count += expr_mentions(expr_child(e, i), s);
    return count;
}

bool expr_has_atomic(const struct expr *e)
{
    if (!e)
        return false;
    bool found = op_is_atomic(e->op);
    for (int i = 0; i < expr_children(e) && !found; i++)
        found = expr_has_atomic(expr_child(e, i));
    return found;
}

bool stmt_arrives(const struct stmt *s)
{
    return (s->kind == STMT_EFFECT || s->kind == STMT_DECL) && s->value &&
           s->value->op == OP_ARRIVE;
}

bool stmt_may_be_uncredited(enum op op)
{
    return op == OP_SYNC || op == OP_ASYNC_COMMIT || op == OP_ASYNC_WAIT || op == OP_FENCE_ASYNC;
}

static bool has_array(const struct expr *e)
{
    bool leaf = e->op == OP_REF || e->op == OP_ACCESS;
    bool found = leaf && e->type.rank > 0 && e->sym->storage == ST_ARRAY;
    for (int i = 0; i < e->count && !found; i++)
        found = has_array(e->args[i]);
    return found;
}

bool expr_has_register_tile(const struct expr *e)
{
    if (e->type.rank == 0)
        return false;
    bool leaf = e->op == OP_REF || e->op == OP_ACCESS;
    bool found = leaf && e->sym->storage == ST_REG;
    for (int i = 0; i < e->count && !found; i++)
        found = expr_has_register_tile(e->args[i]);
    return found;
}

bool expr_is_per_thread(const struct expr *e)
{
    return e->type.varying || (has_array(e) && !expr_has_register_tile(e));
}

bool expr_is_varying(const struct kernel *k, const struct expr *e)
{
    if (!e || !kernel_thread_level(k))
        return false;
    if (e->op == OP_THREAD || op_is_atomic_of_thread(e->op))
        return true;
    if (e->sym && (e->op == OP_REF || e->op == OP_ACCESS) && e->sym->type.varying &&
        (e->sym->storage == ST_SCALAR || e->sym->storage == ST_ARRAY))
        return true;
    for (int i = 0; i < expr_children(e); i++)
        if (expr_is_varying(k, expr_child(e, i)))
            return true;
    return false;
}

bool expr_is_own(const struct kernel *k, const struct expr *e)
{
    if ((e->op == OP_REF || e->op == OP_ACCESS) && e->sym->storage == ST_ARRAY)
        return true;
    if (expr_is_varying(k, e))
        return true;
    for (int i = 0; i < e->count; i++)
        if (expr_is_own(k, e->args[i]))
            return true;
    return false;
}

void stmt_walk(struct stmt *first, void (*visit)(void *user, struct stmt *s), void *user)
{
    for (struct stmt *s = first; s; s = s->next) {
        visit(user, s);
        stmt_walk(s->init, visit, user);
        stmt_walk(s->body, visit, user);
        stmt_walk(s->otherwise, visit, user);
        stmt_walk(s->step, visit, user);
    }
}

/* Visits reads before writes, in the order in which they happen. */
void stmt_expressions(struct stmt *s, void (*visit)(void *user, struct expr **root, bool is_target),
                      void *user)
{
    for (int i = 0; i < s->overs; i++)
        if (s->bound[i])
            visit(user, &s->bound[i], false);
    if (s->condition)
        visit(user, &s->condition, false);
    if (s->barrier)
        visit(user, &s->barrier, false);
    if (s->multicast)
        visit(user, &s->multicast, false);
    if (s->value)
        visit(user, &s->value, false);
    if (s->target) /* the memory that `ensures` names was written before it */
        visit(user, &s->target, s->kind != STMT_ENSURES);
}

struct mentions {
    const struct sym *sym;
    bool in_ensures; /* count uses in `ensures` too */
    int count;
};

static void count_mentions(void *user, struct expr **root, bool is_target)
{
    struct mentions *m = user;
    (void)is_target;
    m->count += expr_mentions(*root, m->sym);
}

static void count_mentions_in(void *user, struct stmt *s)
{
    const struct mentions *m = user;
    if (m->in_ensures || s->kind != STMT_ENSURES)
        stmt_expressions(s, count_mentions, user);
}

int stmt_mentions(struct stmt *first, const struct sym *s)
{
    struct mentions m = {.sym = s, .in_ensures = true};
    stmt_walk(first, count_mentions_in, &m);
    return m.count;
}

bool kernel_uses(const struct kernel *k, const struct sym *view)
{
    struct mentions m = {.sym = view};
    stmt_walk(k->body, count_mentions_in, &m);
    return m.count > 0;
}

const struct expr *expr_unconverted_factor(const struct expr *factor)
{
    bool converts = factor->op == OP_CAST && dtype_table[factor->args[0]->type.dtype].bits == 8;
    return converts ? factor->args[0] : factor;
}

bool expr_product_is_small(const struct stmt *s)
{
    return dtype_is_byte_float(expr_unconverted_factor(s->value->args[0])->type.dtype) &&
           dtype_is_byte_float(expr_unconverted_factor(s->value->args[1])->type.dtype);
}

static void note_unit_terms(void *user, struct stmt *s)
{
    int64_t *most = user;
    if (!s->in_background || !expr_product_is_small(s))
        return;
    int64_t k = s->promoted == SUM_IN_UNIT ? INT64_MAX : s->promoted ? s->promoted : SUM_PROMOTED;
    *most = k > *most ? k : *most;
}

int64_t kernel_unit_terms(const struct kernel *k)
{
    int64_t most = 0;
    stmt_walk(k->body, note_unit_terms, &most);
    return most;
}

static void note_hopper(void *user, struct stmt *s)
{
    bool *found = user;
    *found |= s->kind == STMT_ROLE || s->kind == STMT_ONE_THREAD || s->in_background ||
              s->barrier || (s->kind == STMT_DECL && s->sym->storage == ST_MBARRIER) ||
              (s->kind == STMT_ASYNC_COPY && s->target->sym->storage == ST_VIEW);
}

bool kernel_uses_roles(const struct kernel *k)
{
    bool found = k->cluster[0] > 0;
    stmt_walk(k->body, note_hopper, &found);
    return found;
}

int kernel_cluster_blocks(const struct kernel *k)
{
    return k->cluster[0] > 0 ? k->cluster[0] * k->cluster[1] * k->cluster[2] : 1;
}

struct walk {
    void (*visit)(void *user, struct expr **at);
    void *user;
};

static void walk_root(void *user, struct expr **root, bool is_target)
{
    struct walk *w = user;
    (void)is_target;
    expr_walk(root, w->visit, w->user);
}

void stmt_own_expressions(struct stmt *s, void (*visit)(void *user, struct expr **at), void *user)
{
    struct walk w = {visit, user};
    stmt_expressions(s, walk_root, &w);
}
