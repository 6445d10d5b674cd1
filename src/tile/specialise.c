/* Specialisation: puts the values that are known of this variant into the program.
 *
 * Named constants, tuned values and static parameters become literals everywhere, also in the
 * grid and the extents of views. A launch's facts about its run-time integers (they are
 * multiples of 16) become an assume() before the body, so later passes need only one form of a
 * fact. */
#include "tile/passes.h"

static struct expr *known_literal(struct kernel *k, const struct expr *e, struct literal value)
{
    enum dtype t = e->type.dtype;
    if (dtype_is_float(t))
        return expr_float(k, t, value.is_float ? value.f : (double)value.i, e->loc);
    return expr_int(k, t, dtype_wrap(t, value.i), e->loc);
}

/* Returns true for operations on integer literals and for casts of literals: the checker
 * computes these at once when they are written. */
static bool computed_at_once(const struct expr *e)
{
    if (!(op_table[e->op].flags & OP_PURE) || e->count == 0)
        return false;
    for (int i = 0; i < e->count; i++)
        if (e->args[i]->op != OP_LITERAL ||
            (e->op != OP_CAST && dtype_is_float(e->args[i]->type.dtype)))
            return false;
    return e->op == OP_CAST || (!dtype_is_float(e->type.dtype) && e->op != OP_BITS);
}

static void specialise_expr(void *user, struct expr **at)
{
    struct kernel *k = user;
    const struct expr *e = *at;
    const struct sym *s = e->op == OP_REF ? e->sym : NULL;
    struct literal value;
    if (s && (s->storage == ST_CONST || (s->storage == ST_PARAM && s->is_static && s->has_value)))
        *at = known_literal(k, e, s->value);
    else if (computed_at_once(e) && eval_scalar(e, NULL, &value))
        *at = known_literal(k, e, value);
}

static void specialise_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, specialise_expr, user);
}

static void specialise_statement(void *user, struct stmt *s)
{
    stmt_expressions(s, specialise_root, user);
}

static void specialise_views(struct kernel *k)
{
    for (struct sym *s = k->symbols; s; s = s->next) {
        if (s->storage != ST_VIEW)
            continue;
        for (int i = 0; i < s->type.rank; i++) {
            expr_walk(&s->dims[i], specialise_expr, k);
            expr_walk(&s->strides[i], specialise_expr, k);
        }
        expr_walk(&s->base_offset, specialise_expr, k);
    }
}

/* Binds static parameters that have no value yet to the values of the launch. */
static void bind_statics(struct kernel *k, const struct launch_facts *facts)
{
    for (struct param *p = k->params; p; p = p->next) {
        struct sym *s = p->sym;
        if (!s->is_static || s->has_value || !facts->known[s->index])
            continue;
        s->value = facts->values[s->index];
        s->has_value = true;
    }
}

/* Makes assume(s % divisor == 0). */
static struct stmt *divisor_fact(struct kernel *k, struct sym *s, int divisor)
{
    enum dtype t = s->type.dtype;
    struct expr *rest = expr_binary(k, OP_REM, type_scalar(t), LOC_NONE, expr_ref(k, s, LOC_NONE),
                                    expr_int(k, t, divisor, LOC_NONE));
    struct expr *fact =
        expr_binary(k, OP_EQ, type_scalar(DT_BOOL), LOC_NONE, rest, expr_int(k, t, 0, LOC_NONE));
    struct stmt *assume = stmt_effect(k, OP_ASSUME, LOC_NONE, fact);
    assume->added = true;
    return assume;
}

static void add_divisor_facts(struct kernel *k, const int *divisor)
{
    struct stmt **at = &k->body;
    for (const struct param *p = k->params; p; p = p->next) {
        struct sym *s = p->sym;
        enum dtype t = s->type.dtype;
        bool in_range = dtype_is_int(t) && divisor[s->index] > 1 &&
                        dtype_wrap(t, divisor[s->index]) == divisor[s->index];
        if (s->is_pointer || s->has_value || !in_range)
            continue;
        struct stmt *fact = divisor_fact(k, s, divisor[s->index]);
        fact->next = *at;
        *at = fact;
        at = &fact->next;
    }
}

void pass_specialise(struct pass_context *c)
{
    struct kernel *k = c->kernel;
    if (c->facts && c->facts->known && c->facts->values)
        bind_statics(k, c->facts);
    for (int axis = 0; axis < 3; axis++)
        expr_walk(&k->grid[axis], specialise_expr, k);
    specialise_views(k);
    stmt_walk(k->body, specialise_statement, k);
    if (c->facts && c->facts->divisor)
        add_divisor_facts(k, c->facts->divisor);
}
