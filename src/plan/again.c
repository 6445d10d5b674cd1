/* A factor that is read again rather than kept.
 *
 * If a register tile is a slice of a view that no thread writes, and only a product in a loop uses it,
 * through shared memory, its registers would be alive all the time without need. Loading it again for
 * each product costs an access to the caches for every `n` multiply-adds and frees the registers
 * (Briggs, Cooper, Torczon, "Rematerialization", 1992).
 */
#include "plan/plan_product.h"

struct search {
    const struct sym *sym;
    const struct expr *dot;
    const struct expr *value; /* of its declaration, outside of loops */
    bool in_loop;             /* the dot is in one */
    int loops;                /* around */
    int uses, writes;
};

static void look_at(void *user, struct expr **at)
{
    struct search *s = user;
    s->uses += (*at)->sym == s->sym && (*at)->op != OP_FREE;
    s->in_loop |= *at == s->dot && s->loops > 0;
}

static void look_at_root(void *user, struct expr **root, bool is_target)
{
    struct search *s = user;
    s->writes += is_target && (*root)->sym == s->sym;
    expr_walk(root, look_at, user);
}

static void search_list(struct search *s, struct stmt *first)
{
    for (struct stmt *x = first; x; x = x->next) {
        bool loop = x->kind == STMT_FOR || x->kind == STMT_WHILE;
        if (x->kind == STMT_ENSURES)
            continue;
        if (x->kind == STMT_DECL && x->sym == s->sym && s->loops == 0)
            s->value = x->value;
        search_list(s, x->init);
        s->loops += loop;
        stmt_expressions(x, look_at_root, s);
        search_list(s, x->body);
        search_list(s, x->otherwise);
        search_list(s, x->step);
        s->loops -= loop;
    }
}

struct constancy {
    const struct kernel *kernel;
    bool constant;
};

/* Notes whether every scalar of the expression is the same for the whole kernel. */
static void check_constant(void *user, struct expr **at)
{
    struct constancy *c = user;
    const struct expr *e = *at;
    if (e->op == OP_REF && e->sym->storage == ST_SCALAR) {
        struct search s = {.sym = e->sym};
        search_list(&s, c->kernel->body);
        c->constant &= s.writes == 0;
    } else if (e->op == OP_ACCESS) {
        c->constant &= e->sym->storage == ST_VIEW && e->sym->is_const;
    } else {
        c->constant &= (op_table[e->op].flags & OP_PURE) && e->type.rank == 0;
    }
}

const struct expr *plan_read_again(const struct kernel *k, const struct expr *dot,
                                   const struct expr *factor)
{
    struct search s = {.sym = factor->sym, .dot = dot};
    struct constancy c = {k, true};
    if (factor->op != OP_REF || factor->sym->storage != ST_REG)
        return NULL;
    search_list(&s, k->body);
    if (!s.value || !s.in_loop || s.uses != 1 || s.writes || s.value->op != OP_ACCESS ||
        s.value->type.dtype != factor->type.dtype ||
        !type_same_shape(&s.value->type, &factor->type))
        return NULL;
    struct expr *value = (struct expr *)s.value;
    expr_walk(&value, check_constant, &c);
    return c.constant ? value : NULL;
}
