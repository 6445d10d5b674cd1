/* Contraction: a product that feeds a sum becomes one op with it, which rounds once. This pass
 * alone decides it, so that all executors agree (Meaning 12); no executor contracts by itself.
 *
 *   acc + dot(a, b), dot(a, b) + acc   ->  dot(a, b, acc)   acc of the dot's type and shape
 *   a * b + c, c + a * b               ->  fma(a, b, c)     floats only
 *   a * b - c                          ->  fma(a, b, -c)
 *   c - a * b                          ->  fma(-a, b, c)
 *
 * A dot is preferred to a product. If there are two dots or two products, the left one is
 * contracted: a * b + c * d is fma(a, b, c * d). The product must be an operand of the sum itself:
 * a cast between them rounds, and so does a variable. Inner sums come first. `ensures` is left as
 * written.
 *
 * Contraction comes before folding, and constants are evaluated as they would be contracted
 * (eval.c), so that no bit of a result depends on which values are known at compile time. */
#include "tile/passes.h"

struct contraction {
    struct kernel *kernel;
    VEC(bool) effects; /* of the visited expressions whose parents are not visited yet */
};

/* Returns true if e has an effect: reordering operands must not reorder effects. The walk visits
 * operands before their parent, so the last entries of `effects` are those of e's operands. */
static bool has_effect(struct contraction *c, const struct expr *e)
{
    bool effect = !(op_table[e->op].flags & OP_PURE) && e->op != OP_ACCESS;
    int below = e->count + (e->otherwise != NULL);
    for (int i = 0; i < e->indices; i++)
        below += e->index[i].value != NULL;
    for (; below > 0; below--)
        effect |= c->effects.data[--c->effects.count];
    vec_push(c->kernel->arena, &c->effects, effect);
    return effect;
}

static bool same_type(const struct expr *a, const struct expr *b)
{
    return a->type.dtype == b->type.dtype && type_same_shape(&a->type, &b->type);
}

static struct expr *three(struct kernel *k, enum op op, const struct expr *like, struct expr *a,
                          struct expr *b, struct expr *c)
{
    struct expr *e = expr_new(k, op, like->type, like->loc, 3);
    e->args[0] = a;
    e->args[1] = b;
    e->args[2] = c;
    return e;
}

static struct expr *negated(struct kernel *k, struct expr *x)
{
    if (x->op == OP_NEG)
        return x->args[0];
    if (x->op == OP_LITERAL && x->literal.is_float)
        return expr_float(k, x->type.dtype, -x->literal.f, x->loc);
    return expr_unary(k, OP_NEG, x->type, x->loc, x);
}

static struct expr *contract_dot(struct kernel *k, const struct expr *e)
{
    for (int i = 0; e->op == OP_ADD && i < 2; i++) {
        struct expr *dot = e->args[i], *acc = e->args[1 - i];
        if (dot->op == OP_DOT && dot->count == 2 && same_type(dot, acc) && same_type(dot, e)) {
            struct expr *sum = three(k, OP_DOT, e, dot->args[0], dot->args[1], acc);
            sum->by = dot->by;
            return sum;
        }
    }
    return NULL;
}

static struct expr *contract_product(struct kernel *k, const struct expr *e)
{
    int at = expr_contracted(e);
    if (at < 0)
        return NULL;
    const struct expr *product = e->args[at];
    struct expr *x = product->args[0], *c = e->args[1 - at];
    if (e->op == OP_SUB && at == 0)
        c = negated(k, c);
    else if (e->op == OP_SUB)
        x = negated(k, x);
    return three(k, OP_FMA, e, x, product->args[1], c);
}

static void contract(void *user, struct expr **at)
{
    struct contraction *c = user;
    struct kernel *k = c->kernel;
    const struct expr *e = *at;
    bool effect = has_effect(c, e);
    if ((e->op != OP_ADD && e->op != OP_SUB) || effect)
        return;
    struct expr *contracted = contract_dot(k, e);
    if (!contracted)
        contracted = contract_product(k, e);
    if (contracted)
        *at = contracted;
}

static void contract_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    struct contraction *c = user;
    c->effects.count = 0;
    expr_walk(root, contract, c);
}

static void contract_statement(void *user, struct stmt *s)
{
    if (s->kind != STMT_ENSURES)
        stmt_expressions(s, contract_root, user);
}

void pass_contract(struct pass_context *c)
{
    struct contraction contraction = {.kernel = c->kernel};
    stmt_walk(c->kernel->body, contract_statement, &contraction);
    c->kernel->contracted = true;
}
