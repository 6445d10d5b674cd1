/* Names the operands of products: a part of a read-only view that `dot` reads directly becomes a
 * register tile, declared before the statement. The CPU engine packs tiles that have a name.
 *
 *     acc = dot(t, W[p +: K][j +: N], acc);  =>  reg f32 w[K][N] = W[p +: K][j +: N];
 *                                               acc = dot(t, w, acc); */
#include "tile/passes.h"

struct naming {
    struct kernel *kernel;
    struct stmt **at; /* the link to the statement */
    int count;
};

/* Returns whether e is a part of two axes, read with zeros beyond its edges. */
static bool is_part(const struct expr *e)
{
    return e->op == OP_ACCESS && e->sym->storage == ST_VIEW && e->sym->is_const && e->sym->base &&
           !e->otherwise && e->type.rank == 2;
}

static void name_operand(struct naming *n, struct expr **operand)
{
    struct kernel *k = n->kernel;
    struct expr *e = *operand;
    if (e->op == OP_TRANS) {
        name_operand(n, &e->args[0]);
        return;
    }
    if (!is_part(e))
        return;
    const char *name = kernel_unused_name(k, arena_printf(k->arena, "operand%d", n->count++));
    struct stmt *s = stmt_new(k, STMT_DECL, e->loc);
    s->sym = sym_new(k, name, ST_REG, e->type, e->loc);
    s->sym->written = e->sym->written;
    s->value = e;
    s->added = true;
    s->next = *n->at;
    *n->at = s;
    n->at = &s->next;
    *operand = expr_ref(k, s->sym, e->loc);
}

static void name_operands(void *user, struct expr **at)
{
    struct expr *e = *at;
    if (e->op != OP_DOT || e->type.rank != 2)
        return;
    name_operand(user, &e->args[0]);
    name_operand(user, &e->args[1]);
}

/* `c ? a : b`, && and || do not evaluate all operands, so no access of one that is left out may be
 * moved before them. */
static bool is_lazy(const struct expr *e)
{
    bool lazy = e->op == OP_SELECT || op_table[e->op].flags & OP_LAZY;
    for (int i = 0; i < e->count && !lazy; i++)
        lazy = is_lazy(e->args[i]);
    return lazy;
}

static void visit_list(struct naming *n, struct stmt **first)
{
    for (struct stmt **at = first; *at; at = &(*at)->next) {
        struct stmt *s = *at;
        visit_list(n, &s->body);
        visit_list(n, &s->otherwise);
        if (s->kind != STMT_DECL && s->kind != STMT_ASSIGN)
            continue;
        n->at = at;
        if (s->value && !is_lazy(s->value))
            expr_walk(&s->value, name_operands, n);
        at = n->at;
    }
}

void pass_operands(struct pass_context *c)
{
    struct naming n = {.kernel = c->kernel};
    if (c->sm == 0 && !kernel_thread_level(c->kernel))
        visit_list(&n, &c->kernel->body);
}
