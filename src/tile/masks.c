/* Idle masks: marks slices that provably lie inside their axis as `inside`, so that no executor
 * checks them at run time. A slice that is not certain to lie inside keeps its mask. */
#include "tile/passes.h"
#include "tile/tile_facts.h"

static bool lies_inside(struct tile_facts *t, const struct sym *s, int axis,
                        const struct index *index)
{
    struct tile_fact start = tile_fact_of(t, index->value);
    struct facts extent = facts_exactly(s->type.extent[axis]);
    int64_t end;
    if (start.is.least < 0 || index->value->type.dtype == DT_U64)
        return false;
    if (s->storage == ST_VIEW) {
        const struct expr *dim = tile_facts_plain(s->dims[axis]);
        if (start.limit.bound && start.limit.more + index->extent <= 0 &&
            expr_same(start.limit.bound, dim))
            return true;
        extent = tile_facts_of(t, dim);
    }
    return !__builtin_add_overflow(start.is.greatest, index->extent, &end) && end <= extent.least;
}

static void mark_access(void *user, struct expr **at)
{
    const struct expr *e = *at;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind == IX_SLICE && lies_inside(user, e->sym, i, &e->index[i]))
            e->index[i].inside = true;
}

static void mark_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, mark_access, user);
}

static void mark_list(struct tile_facts *t, struct stmt *first);

/* Marks a statement. Facts about a counter hold only in the body, because the condition is
 * evaluated once more after the last iteration. */
static void mark_statement(struct tile_facts *t, struct stmt *s)
{
    size_t known = t->undo.count;
    mark_list(t, s->init);
    stmt_expressions(s, mark_root, t);
    if (s->kind == STMT_FOR)
        tile_facts_enter(t, s);
    mark_list(t, s->body);
    mark_list(t, s->otherwise);
    tile_facts_forget(t, known);
    mark_list(t, s->step);
}

static void mark_list(struct tile_facts *t, struct stmt *first)
{
    size_t known = t->undo.count;
    for (struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_ENSURES)
            continue;
        mark_statement(t, s);
        if (s->kind == STMT_EFFECT && s->value->op == OP_ASSUME && !s->claim)
            tile_facts_learn(t, s->value->args[0], -1);
    }
    tile_facts_forget(t, known);
}

void pass_masks(struct pass_context *c)
{
    struct tile_facts facts;
    tile_facts_find(&facts, c->kernel->arena, c->kernel);
    mark_list(&facts, c->kernel->body);
}
