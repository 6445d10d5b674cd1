/* Names the operands of products: a part of a read-only view that `dot` reads directly becomes a
 * register tile, declared before the statement. The CPU engine packs tiles that have a name.
 *
 *     acc = dot(t, W[p +: K][j +: N], acc);  =>  reg f32 w[K][N] = W[p +: K][j +: N];
 *                                               acc = dot(t, w, acc);
 *
 * A right operand that consists of weights (weights.h) gets a name, too, and its declaration gets
 * the values of the tiles that only it reads, so that it reads nothing but views:
 *
 *     reg u8 b[K / 2][N] = W[p / 2 +: K / 2][j +: N];
 *     reg i32 q[K][N] = (i32) repeat_interleave(b, 2, 1) >> shift & 15;
 *     acc = dot(t, (f16) q, acc);
 *  => reg f16 w[K][N] = (f16) ((i32) repeat_interleave(W[…][…], 2, 1) >> (iota(K, 1) & 1) * 4 & 15);
 *     acc = dot(t, w, acc); */
#include "tile/passes.h"
#include "tile/weights.h"

enum { MOST_FORWARDED = 16 };

struct naming {
    struct kernel *kernel;
    struct stmt **first, **at; /* the links to the list's first statement, and to the statement */
    int count;
    int forwarded;
    struct sym *sym[MOST_FORWARDED]; /* tiles whose readers got their values */
};

/* Returns whether e is a part of two axes, read with zeros beyond its edges. */
static bool is_part(const struct expr *e)
{
    return e->op == OP_ACCESS && e->sym->storage == ST_VIEW && e->sym->is_const && e->sym->base &&
           !e->otherwise && e->type.rank == 2;
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

/* Declares a name for the operand, a part of the array, before the statement. */
static void declare_operand(struct naming *n, struct expr **operand, const struct sym *array)
{
    struct kernel *k = n->kernel;
    struct expr *e = *operand;
    const char *name = kernel_unused_name(k, arena_printf(k->arena, "operand%d", n->count++));
    struct stmt *s = stmt_new(k, STMT_DECL, e->loc);
    s->sym = sym_new(k, name, ST_REG, e->type, e->loc);
    s->sym->written = array->written;
    s->value = e;
    s->added = true;
    s->next = *n->at;
    *n->at = s;
    n->at = &s->next;
    *operand = expr_ref(k, s->sym, e->loc);
}

/* --- weights --- */

struct search {
    const struct sym *sym;
    struct stmt *found; /* the declaration */
    bool assigned;
};

static void find_atomic(void *user, struct expr **at)
{
    struct search *search = user;
    const struct expr *e = *at;
    bool changes = !(op_table[e->op].flags & OP_PURE) && e->count > 0 &&
                   (e->args[0]->op == OP_ACCESS || e->args[0]->op == OP_REF);
    search->assigned |= changes && e->args[0]->sym == search->sym;
}

static void find_in_expression(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, find_atomic, user);
}

static void find_in(void *user, struct stmt *s)
{
    struct search *search = user;
    stmt_expressions(s, find_in_expression, search);
    if (s->kind == STMT_DECL && s->sym == search->sym)
        search->found = s;
    search->assigned |= s->target && s->target->sym == search->sym;
}

/* Returns the tile's declaration if it precedes the statement in its list, with nothing between
 * them that changes memory or variables; else NULL. */
static struct stmt *find_before(const struct naming *n, const struct sym *sym)
{
    struct stmt *found = NULL;
    for (struct stmt *s = *n->first; s && s != *n->at; s = s->next) {
        bool waits =
            s->kind == STMT_EFFECT && (s->value->op == OP_SYNC || s->value->op == OP_ASYNC_WAIT);
        if (s->kind == STMT_DECL && s->sym == sym)
            found = s;
        else if (s->kind != STMT_DECL && !waits)
            found = NULL;
    }
    return found;
}

/* Returns the declaration of a tile whose value may replace the tile where it is read: nothing else
 * reads it, or it is constant. NULL: none. */
static struct stmt *declaration(const struct naming *n, const struct sym *sym)
{
    struct search all = {.sym = sym};
    if (sym->storage != ST_REG && sym->storage != ST_SHARED)
        return NULL;
    struct stmt *s = find_before(n, sym);
    if (!s || stmt_mentions(n->kernel->body, sym) != 1) {
        stmt_walk(n->kernel->body, find_in, &all);
        s = all.found;
        if (!s || !s->value || !weights_constant(s->value) || all.assigned)
            return NULL;
    }
    bool same = s->value && type_same_shape(&s->value->type, &sym->type) &&
                s->value->type.dtype == sym->type.dtype && !is_lazy(s->value);
    return same ? s : NULL;
}

/* Returns whether e reads all of a tile. */
static bool reads_tile(const struct expr *e)
{
    return e->type.rank > 0 &&
           (e->op == OP_REF || (e->op == OP_ACCESS && e->indices == 0 && !e->otherwise));
}

/* Replaces the tiles that e reads by their values, where that is possible. */
static struct expr *forward(struct naming *n, struct expr *e)
{
    struct stmt *s = reads_tile(e) ? declaration(n, e->sym) : NULL;
    if (s && n->forwarded < MOST_FORWARDED) {
        n->sym[n->forwarded++] = e->sym;
        return forward(n, expr_copy(n->kernel, s->value));
    }
    for (int i = 0; i < e->count; i++)
        e->args[i] = forward(n, e->args[i]);
    return e;
}

/* Gives weights a name and a value that reads nothing but views. turned: the product transposes
 * them. */
static void name_weights(struct naming *n, struct expr **operand, bool turned)
{
    struct weights w;
    struct expr *e = *operand;
    struct stmt *own = e->op == OP_REF ? find_before(n, e->sym) : NULL;
    if (e->op == OP_REF && (!own || !own->value || e->sym->storage != ST_REG ||
                            stmt_mentions(n->kernel->body, e->sym) != 1))
        return;
    const int forwarded = n->forwarded;
    struct expr *value = forward(n, expr_copy(n->kernel, own ? own->value : e));
    bool same =
        !own || (type_same_shape(&value->type, &e->type) && value->type.dtype == e->type.dtype);
    if (is_lazy(value) || !same || !weights_read(value, &w) || (turned && !weights_are_codes(&w))) {
        n->forwarded = forwarded;
        return;
    }
    if (own) {
        own->value = value;
        return;
    }
    *operand = value;
    declare_operand(n, operand, w.codes->sym);
}

/* Returns whether e is a part that becomes f32, perhaps transposed. The engine converts it while it
 * packs the part, if the conversion keeps all values. */
static bool is_widened_part(const struct expr *e)
{
    const struct expr *from = e->op == OP_CAST ? e->args[0] : e;
    return e->op == OP_CAST && e->type.dtype == DT_F32 && dtype_is_float(from->type.dtype) &&
           dtype_size(from->type.dtype) < dtype_size(DT_F32) &&
           is_part(from->op == OP_TRANS ? from->args[0] : from);
}

static void name_operand(struct naming *n, struct expr **operand, bool right, bool turned)
{
    struct expr *e = *operand;
    if (e->op == OP_TRANS && !turned)
        name_operand(n, &e->args[0], right, true);
    else if (is_widened_part(e))
        name_operand(n, &e->args[0], false, turned);
    else if (is_part(e))
        declare_operand(n, operand, e->sym);
    else if (right)
        name_weights(n, operand, turned);
}

static void name_operands(void *user, struct expr **at)
{
    struct expr *e = *at;
    if (e->op != OP_DOT || e->type.rank != 2)
        return;
    name_operand(user, &e->args[0], false, false);
    name_operand(user, &e->args[1], true, false);
}

/* Removes the declarations of tiles that nothing reads any more, the last one first. */
static void remove_forwarded(struct naming *n, struct stmt **at)
{
    if (!*at)
        return;
    remove_forwarded(n, &(*at)->next);
    bool unread = false;
    for (int i = 0; i < n->forwarded && (*at)->kind == STMT_DECL; i++)
        unread |= (*at)->sym == n->sym[i] && stmt_mentions(n->kernel->body, n->sym[i]) == 0;
    if (!unread)
        return;
    (*at)->sym->storage = ST_REG; /* it takes no shared memory */
    *at = (*at)->next;
}

static void visit_list(struct naming *n, struct stmt **first)
{
    for (struct stmt **at = first; *at; at = &(*at)->next) {
        struct stmt *s = *at;
        visit_list(n, &s->body);
        visit_list(n, &s->otherwise);
        if (s->kind != STMT_DECL && s->kind != STMT_ASSIGN)
            continue;
        n->first = first;
        n->at = at;
        if (s->value && !is_lazy(s->value))
            expr_walk(&s->value, name_operands, n);
        at = n->at;
    }
    if (n->forwarded > 0)
        remove_forwarded(n, first);
}

void pass_operands(struct pass_context *c)
{
    struct naming n = {.kernel = c->kernel};
    if (c->sm == 0 && !kernel_thread_level(c->kernel))
        visit_list(&n, &c->kernel->body);
}
