/* Finds whether a kernel's results depend on the order in which its blocks run. */
#include "tile/tile.h"

enum { MOST_TICKETS = 64 };

/* The search: scalars whose values depend on the order, as the number that a block draws from a
 * counter does. */
struct order_search {
    const struct sym *tickets[MOST_TICKETS];
    int count;
    bool found, grew;
};

static bool is_ticket(const struct order_search *o, const struct sym *s)
{
    bool known = false;
    for (int i = 0; i < o->count && !known; i++)
        known = o->tickets[i] == s;
    return known;
}

/* Returns true if the value of e depends on the order. */
static bool depends(const struct order_search *o, const struct expr *e)
{
    bool does = e && expr_has_atomic(e);
    for (int i = 0; i < o->count && e && !does; i++)
        does = expr_mentions(e, o->tickets[i]) > 0;
    return does;
}

static void find_float_atomic(void *user, struct expr **at)
{
    struct order_search *o = user;
    const struct expr *e = *at;
    bool ordered = e->op == OP_ATOMIC_ADD || e->op == OP_ATOMIC_EXCHANGE || e->op == OP_ATOMIC_CAS;
    o->found |= ordered && dtype_is_float(e->args[0]->type.dtype);
}

static void find_in_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, find_float_atomic, user);
}

static void add_ticket(struct order_search *o, const struct sym *s)
{
    if (is_ticket(o, s))
        return;
    if (o->count < MOST_TICKETS)
        o->tickets[o->count++] = s;
    else
        o->found = true; /* too many to follow */
    o->grew = true;
}

/* Follows the numbers that blocks draw. It matters if one decides a block's turn, the place of a
 * store, or what is stored. A block that leaves because it is not the last does not matter. */
static void follow_tickets(void *user, struct stmt *s)
{
    struct order_search *o = user;
    if (s->kind == STMT_EFFECT && (s->value->op == OP_LOCK || s->value->op == OP_UNLOCK))
        for (int i = 0; i < s->value->count; i++)
            o->found |= depends(o, s->value->args[i]);
    if (s->kind == STMT_DECL && depends(o, s->value))
        add_ticket(o, s->sym);
    if (s->kind != STMT_ASSIGN || !(depends(o, s->value) || depends(o, s->target)))
        return;
    if (s->target->sym->storage == ST_VIEW)
        o->found = true;
    else
        add_ticket(o, s->target->sym);
}

static void find_in_stmt(void *user, struct stmt *s)
{
    stmt_expressions(s, find_in_root, user);
}

bool kernel_order_matters(const struct kernel *k)
{
    struct order_search o = {.count = 0};
    stmt_walk(k->body, find_in_stmt, &o);
    do {
        o.grew = false;
        stmt_walk(k->body, follow_tickets, &o);
    } while (o.grew && !o.found);
    return o.found;
}
