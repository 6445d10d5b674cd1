/* Counts useful operations: those of the products in `ensures`, on the arrays as they are,
 * without the padding of tiles at edges and without work that several blocks repeat. */
#include "api/explain.h"

/* Gives rows and columns of a factor: a view, whole except for leading indices, its transpose,
 * or anything reshaped to a matrix. */
static bool shape_of(const tw_launch *l, const struct expr *e, int64_t shape[2])
{
    struct scalar_env env = launch_env(l);
    if (e->op == OP_RESHAPE && e->type.rank == 2) {
        for (int i = 0; i < 2; i++) {
            shape[i] = e->type.extent[i];
            if (e->count > 1 && !eval_int(e->args[1 + i], &env, &shape[i]))
                return false;
        }
        return true;
    }
    if (e->op == OP_CAST && e->count == 1)
        return shape_of(l, e->args[0], shape);
    if (e->op == OP_TRANS && e->count == 1) {
        int64_t turned[2];
        if (!shape_of(l, e->args[0], turned))
            return false;
        shape[0] = turned[1];
        shape[1] = turned[0];
        return true;
    }
    if ((e->op != OP_ACCESS && e->op != OP_REF) || !e->sym || e->sym->storage != ST_VIEW ||
        e->sym->type.rank - e->indices != 2)
        return false;
    for (int i = 0; i < 2; i++)
        if (!eval_int(e->sym->dims[e->indices + i], &env, &shape[i]))
            return false;
    return true;
}

/* The products of an expression. A function of a product, such as gelu, may name it several
 * times. */
struct products {
    const tw_launch *launch;
    VEC(const struct expr *) seen;
    double flops;
};

static bool seen_before(const struct products *p, const struct expr *e)
{
    for (size_t i = 0; i < p->seen.count; i++)
        if (expr_same(p->seen.data[i], e))
            return true;
    return false;
}

/* Returns false if the size of a product cannot be found. */
static bool add_products(struct products *p, const struct expr *e)
{
    int64_t a[2], b[2];
    if (e->op == OP_DOT) {
        if (seen_before(p, e))
            return true;
        vec_push(&p->launch->ctx->scratch, &p->seen, e);
        if (!shape_of(p->launch, e->args[0], a) || !shape_of(p->launch, e->args[1], b))
            return false;
        p->flops += 2 * (double)a[0] * (double)a[1] * (double)b[1];
    }
    for (int i = 0; i < e->count; i++)
        if (!add_products(p, e->args[i]))
            return false;
    return true;
}

double explain_flops(const tw_launch *l)
{
    struct scalar_env env = launch_env(l);
    double flops = 0;
    for (const struct stmt *s = l->variant->ir->body; s; s = s->next) {
        double times = 1;
        int64_t bound;
        if (s->kind != STMT_ENSURES)
            continue;
        for (int i = 0; i < s->overs; i++) {
            if (!eval_int(s->bound[i], &env, &bound))
                return 0;
            times *= (double)bound;
        }
        struct products p = {.launch = l};
        if (!add_products(&p, s->value))
            return 0;
        flops += times * p.flops;
    }
    return flops;
}
