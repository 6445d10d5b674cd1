/* Finds maps over one row whose result is summed, so that one pass can compute the row and its sum,
 * and quotients of such rows. Softmax and norms consist of these.
 *
 *   mark          statement          the sum, in a statement after it
 *   powers        v = exp(x - one)   sum(v)
 *   difference    v = x - one        sum(v * v)
 *   quotients     Y[…] = v / one     (v are powers)
 *
 * A sum of a register tile can be computed as soon as the tile has its value: it has no effect and
 * cannot fault. So the mark only requires that nothing assigns v in between. For this, only
 * declarations and assignments of the same list may lie between the two. */
#include "tile/rows.h"
#include "tile/passes.h"

static bool is_f32(const struct expr *e, int rank)
{
    return e->type.dtype == DT_F32 && e->type.rank == rank;
}

static bool is_tile(const struct expr *e, const struct sym *v)
{
    return e->op == OP_REF && e->sym == v;
}

static bool is_difference(const struct expr *e)
{
    return e->op == OP_SUB && is_f32(e->args[0], 1) && is_f32(e->args[1], 0) &&
           type_same_shape(&e->args[0]->type, &e->type);
}

static bool is_power(const struct expr *e)
{
    return e->op == OP_EXP && is_difference(e->args[0]);
}

static bool is_itself(const struct expr *e, const struct sym *v)
{
    return is_tile(e, v);
}

static bool is_square(const struct expr *e, const struct sym *v)
{
    return e->op == OP_MUL && is_tile(e->args[0], v) && is_tile(e->args[1], v);
}

static const struct rule {
    enum row_rule rule;
    bool (*is_map)(const struct expr *value);
    bool (*is_summed)(const struct expr *e, const struct sym *v);
} rules[] = {{ROW_POWERS, is_power, is_itself}, {ROW_DIFFERENCE, is_difference, is_square}};

/* Returns the sum by the rule in e; NULL: there is none. */
static const struct expr *find_sum(const struct expr *e, const struct rule *rule,
                                   const struct sym *v)
{
    if (e->op == OP_REDUCE_SUM && is_f32(e, 0) && rule->is_summed(e->args[0], v))
        return e;
    const struct expr *found = NULL;
    for (int i = 0; i < e->count && !found; i++)
        found = find_sum(e->args[i], rule, v);
    return found;
}

/* Returns the tile of one row that the statement gives a value; NULL: none. */
static const struct sym *tile_of(const struct stmt *s)
{
    bool assigns = s->kind == STMT_ASSIGN && s->target->op == OP_REF;
    const struct sym *v = s->kind == STMT_DECL ? s->sym : assigns ? s->target->sym : NULL;
    bool row = v && v->storage == ST_REG && v->type.rank == 1 && v->type.dtype == DT_F32;
    return row && s->value && type_same_shape(&s->value->type, &v->type) && is_f32(s->value, 1)
               ? v
               : NULL;
}

static bool is_quotient(const struct stmt *s, const struct sym *v)
{
    return s->kind == STMT_ASSIGN && s->target->sym->storage == ST_VIEW && s->value->op == OP_DIV &&
           is_f32(s->value, 1) && is_tile(s->value->args[0], v) && is_f32(s->value->args[1], 0);
}

static const struct row_mark *new_mark(struct kernel *k, enum row_rule rule, const struct expr *sum)
{
    struct row_mark *m = arena_new(k->arena, struct row_mark);
    *m = (struct row_mark){rule, sum};
    return m;
}

/* Marks s, which the rule maps, and the quotients of the row. */
static void mark(struct kernel *k, struct stmt *s, const struct rule *rule, const struct sym *v)
{
    for (struct stmt *t = s->next; t && (t->kind == STMT_DECL || t->kind == STMT_ASSIGN);
         t = t->next) {
        const struct expr *sum = t->value && !s->row ? find_sum(t->value, rule, v) : NULL;
        if (sum)
            s->row = new_mark(k, rule->rule, sum);
        if (s->row && rule->rule == ROW_POWERS && is_quotient(t, v))
            t->row = new_mark(k, ROW_QUOTIENTS, NULL);
        if ((t->kind == STMT_ASSIGN && t->target->sym == v) || (tile_of(t) && is_power(t->value)))
            return;
    }
}

static void mark_statement(void *user, struct stmt *s)
{
    const struct sym *v = tile_of(s);
    for (size_t i = 0; v && i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_map(s->value))
            mark(user, s, &rules[i], v);
}

void pass_rows(struct pass_context *c)
{
    if (kernel_thread_level(c->kernel))
        return;
    stmt_walk(c->kernel->body, mark_statement, c->kernel);
    for (int i = 0; i < c->joined_count; i++)
        stmt_walk(c->joined[i].kernel->body, mark_statement, c->joined[i].kernel);
}
