/* Sums that meet global memory.
 *
 * The sum of a product lies as the matrix units have it, a few bytes of a row in each thread. Where
 * a kernel goes on to add what memory holds and to store it (blocks that add to a workspace in
 * turn), each of these accesses would turn the tile over. Such a sum is settled: behind its last
 * product a copy takes its place, which is laid out as the accesses want it, and turned over once.
 */
#include "lower/lower_plan_own.h"

/* What the statements of a list do with a tile. */
struct meeting {
    const struct sym *sym;
    const struct expr *read; /* of global memory, into the tile: the first */
    int accesses;            /* of global memory, from the tile or into it */
    bool other;              /* anything but these, element by element */
    bool multiplies;         /* there is a product */
    int mentions;            /* in the statement at hand */
};

/* How often e names s where it is computed element by element. */
static int element_mentions(const struct expr *e, const struct sym *s)
{
    int sum = e->op == OP_REF && e->sym == s;
    for (int i = 0; plan_is_elementwise(e->op) && i < e->count; i++)
        sum += element_mentions(e->args[i], s);
    return sum;
}

static const struct expr *global_read(const struct expr *e, const struct type *shape)
{
    const struct expr *found = NULL;
    if (e->op == OP_ACCESS && e->sym->storage == ST_VIEW && type_same_shape(&e->type, shape))
        return e;
    for (int i = 0; plan_is_elementwise(e->op) && i < e->count && !found; i++)
        found = global_read(e->args[i], shape);
    return found;
}

static void take_expression(void *user, struct expr **at)
{
    struct meeting *m = user;
    m->mentions += (*at)->sym == m->sym;
    m->multiplies |= (*at)->op == OP_DOT;
}

static void take_assignment(struct meeting *m, const struct stmt *s)
{
    const struct expr *target = s->target;
    int named = element_mentions(s->value, m->sym);
    if (target->op == OP_REF && target->sym == m->sym) {
        const struct expr *read = global_read(s->value, &m->sym->type);
        m->mentions -= named + 1;
        m->accesses += read != NULL;
        m->read = m->read ? m->read : read;
    } else if (target->op == OP_ACCESS && target->sym->storage == ST_VIEW &&
               type_same_shape(&target->type, &m->sym->type)) {
        m->mentions -= named;
        m->accesses += named > 0;
    }
}

static void take_statement(void *user, struct stmt *s)
{
    struct meeting *m = user;
    if (s->kind == STMT_ENSURES)
        return;
    m->mentions = 0;
    statement_expressions(s, take_expression, m);
    if (s->kind == STMT_ASSIGN)
        take_assignment(m, s);
    m->other |= m->mentions != 0;
}

static struct meeting meeting_of(const struct sym *sym, struct stmt *first)
{
    struct meeting m = {.sym = sym};
    stmt_walk(first, take_statement, &m);
    return m;
}

static bool is_settled(const struct meeting *m)
{
    return m->read && m->accesses > 1 && !m->other;
}

const struct expr *plan_settled(struct lower *l, const struct sym *sym)
{
    struct meeting m = meeting_of(sym, l->kernel->body);
    return is_settled(&m) ? m.read : NULL;
}

/* --- The copy --- */

struct renaming {
    struct sym *from, *to;
};

static void rename_symbol(void *user, struct expr **at)
{
    struct renaming *r = user;
    if ((*at)->sym == r->from)
        (*at)->sym = r->to;
}

static void rename_in(void *user, struct stmt *s)
{
    if (s->kind != STMT_ENSURES)
        statement_expressions(s, rename_symbol, user);
}

/* The last statement of the kernel's own list that holds a product and names the tile. */
static struct stmt *last_product(struct lower *l, const struct sym *sym)
{
    struct stmt *last = NULL;
    for (struct stmt *s = l->kernel->body; s; s = s->next) {
        struct stmt *next = s->next;
        s->next = NULL;
        struct meeting m = meeting_of(sym, s);
        s->next = next;
        if (m.multiplies && m.other)
            last = s;
    }
    return last;
}

static void settle(struct lower *l, struct sym *sym)
{
    struct kernel *k = l->kernel;
    struct stmt *last = last_product(l, sym);
    struct meeting m = meeting_of(sym, last ? last->next : NULL);
    if (!last || !is_settled(&m))
        return;
    struct renaming r = {sym, sym_new(k, sym->name, ST_REG, sym->type, sym->loc)};
    struct stmt *copy = stmt_new(k, STMT_DECL, last->loc);
    copy->sym = r.to;
    copy->value = expr_ref(k, sym, last->loc);
    stmt_walk(last->next, rename_in, &r);
    copy->next = last->next;
    last->next = copy;
}

void plan_settle_sums(struct lower *l)
{
    for (struct stmt *s = l->kernel->body; s; s = s->next)
        if (s->kind == STMT_DECL && s->sym->storage == ST_REG && plan_is_tile(&s->sym->type))
            settle(l, s->sym);
}
