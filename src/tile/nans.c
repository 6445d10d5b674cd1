/* Finds expressions that may give NaN, as causes for a note on wrong values.
 *
 *   unset     a read of a variable that was declared without a value, on a path that does not assign
 *             one. A branch or a loop is left out if the values of the launch decide its condition.
 *   shifted   exp(v - m) with a maximum m: it is NaN if both are -inf
 *   undefined a quotient, or a function outside of the numbers for which it is defined
 *
 * One walk in program order follows, for each variable, whether it has a value, whether that is a
 * maximum, and whether it is a difference from one. A part that is assigned counts as the whole. */
#include "tile/passes.h"

#include <string.h>

struct known {
    bool has;     /* a value */
    bool maximum; /* that is a maximum, or a multiple of one */
    bool shifted; /* that is a difference from one */
};

struct nans {
    const struct scalar_env *env;
    struct known *of; /* by sym->index of local variables */
    size_t bytes;     /* of `of` */
    struct arena *arena;
    struct nan_causes found;
};

static bool is_local(const struct sym *s)
{
    return s->storage == ST_SCALAR || s->storage == ST_REG || s->storage == ST_ARRAY ||
           s->storage == ST_SHARED;
}

/* --- expressions --- */

static bool is_maximum(const struct nans *g, const struct expr *e)
{
    switch (e->op) {
    case OP_REDUCE_MAX: return true;
    case OP_REF:
    case OP_ACCESS: return is_local(e->sym) && g->of[e->sym->index].maximum;
    case OP_MAX:
    case OP_MUL:
    case OP_NEG:
    case OP_CAST:
    case OP_BROADCAST:
    case OP_RESHAPE:
        for (int i = 0; i < e->count; i++)
            if (is_maximum(g, e->args[i]))
                return true;
        return false;
    default: return false;
    }
}

static bool is_shifted(const struct nans *g, const struct expr *e)
{
    switch (e->op) {
    case OP_SUB: return is_maximum(g, e->args[1]);
    case OP_FMA: return is_maximum(g, e->args[2]);
    case OP_REF:
    case OP_ACCESS: return is_local(e->sym) && g->of[e->sym->index].shifted;
    case OP_MUL:
    case OP_CAST: return is_shifted(g, e->args[0]);
    default: return false;
    }
}

static bool may_be_undefined(const struct expr *e)
{
    switch (e->op) {
    case OP_DIV: return e->args[1]->op != OP_LITERAL;
    case OP_SQRT:
    case OP_RSQRT:
    case OP_LOG:
    case OP_LOG2:
    case OP_LOG1P:
    case OP_POW: return true;
    default: return false;
    }
}

static void visit(void *user, struct expr **at)
{
    struct nans *g = user;
    const struct expr *e = *at;
    if (!dtype_is_float(e->type.dtype))
        return;
    bool read = (e->op == OP_REF || e->op == OP_ACCESS) && is_local(e->sym);
    if (read && !g->of[e->sym->index].has && !g->found.unset)
        g->found.unset = e;
    bool power = e->op == OP_EXP || e->op == OP_EXP2 || e->op == OP_EXP2_APPROX;
    if (power && is_shifted(g, e->args[0]) && !g->found.shifted)
        g->found.shifted = e;
    if (may_be_undefined(e) && !g->found.undefined)
        g->found.undefined = e;
}

static void visit_root(void *user, struct expr **root, bool is_target)
{
    struct expr *e = *root;
    if (!is_target) {
        expr_walk(root, visit, user);
        return;
    }
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value)
            expr_walk(&e->index[i].value, visit, user);
}

/* --- statements --- */

static void walk(struct nans *g, struct stmt *first);

/* Evaluates e as it is when the loop begins: with the initial value of the counter. */
static bool at_first(const struct nans *g, const struct stmt *loop, const struct expr *e,
                     struct literal *out)
{
    const struct stmt *init = loop->init;
    bool counter = init && init->kind == STMT_DECL && e->op == OP_REF && e->sym == init->sym;
    return eval_scalar(counter ? init->value : e, g->env, out);
}

/* Returns whether the body is known to run: a constant of `if`, or the first turn of a loop. */
static bool decides(const struct nans *g, const struct stmt *s, bool *runs)
{
    const struct expr *e = s->condition;
    struct literal side[2], holds;
    if (!e || s->is_do) {
        *runs = true;
        return true;
    }
    bool known = eval_scalar(e, g->env, &holds);
    if (!known && e->count == 2 && op_table[e->op].class == CLASS_COMPARE)
        known = at_first(g, s, e->args[0], &side[0]) && at_first(g, s, e->args[1], &side[1]) &&
                eval_op(e->op, e->args[0]->type.dtype, side, 2, &holds);
    *runs = known && holds.i != 0;
    return known;
}

/* Walks two alternatives; afterwards a variable has a value if it has one after both. */
static void walk_either(struct nans *g, struct stmt *one, struct stmt *other)
{
    struct known *before = arena_copy(g->arena, g->of, g->bytes);
    walk(g, one);
    struct known *after = g->of;
    g->of = before;
    walk(g, other);
    for (size_t i = 0; i < g->bytes / sizeof *after; i++) {
        g->of[i].has = g->of[i].has && after[i].has;
        g->of[i].maximum = g->of[i].maximum || after[i].maximum;
        g->of[i].shifted = g->of[i].shifted || after[i].shifted;
    }
}

/* Walks an `if` or a loop after its init. */
static void walk_nested(struct nans *g, struct stmt *s)
{
    bool runs;
    if (!decides(g, s, &runs)) {
        walk_either(g, s->body, s->otherwise);
        return;
    }
    walk(g, runs ? s->body : s->otherwise);
}

static void assign(struct nans *g, const struct sym *s, const struct expr *value)
{
    if (!is_local(s))
        return;
    struct known k = {.has = value != NULL};
    if (value) {
        k.maximum = is_maximum(g, value);
        k.shifted = is_shifted(g, value);
    }
    g->of[s->index] = k;
}

static void walk(struct nans *g, struct stmt *first)
{
    for (struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_ENSURES)
            continue;
        if (s->kind == STMT_FOR)
            walk(g, s->init);
        stmt_expressions(s, visit_root, g);
        switch (s->kind) {
        case STMT_DECL: assign(g, s->sym, s->value); break;
        case STMT_ASSIGN:
        case STMT_ASYNC_COPY: assign(g, s->target->sym, s->value); break;
        case STMT_BLOCK:
        case STMT_ROLE:
        case STMT_ONE_THREAD: walk(g, s->body); break;
        case STMT_IF:
        case STMT_FOR:
        case STMT_WHILE: walk_nested(g, s); break;
        default: break;
        }
    }
}

void nans_causes_find(struct arena *a, struct kernel *k, const struct scalar_env *env,
                      struct nan_causes *out)
{
    size_t count = (size_t)k->symbol_count + 1;
    struct nans g = {.env = env, .arena = a, .bytes = count * sizeof(struct known)};
    g.of = arena_array(a, struct known, count);
    walk(&g, k->body);
    *out = g.found;
}
