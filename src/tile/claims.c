/* Adds statements that check the claims of a program:
 *
 *     assume(n % 4 == 0);              assume(n % 4 == 0) with a claim
 *                                ->    assume(n % 4 == 0);
 *     C[i +: 32 inside] = x;           assume(i >= 0 && i <= m - 32) with a claim
 *                                ->    C[i +: 32 inside] = x;
 *     y = T[x];                        assume(all(x >= 0) && all(x < 16)) with a claim
 *                                ->    y = T[x];
 *
 * A slice that is evaluated only under a condition (`c ? A[i +: 4 inside] : 0`) is checked only
 * under that condition. The condition of a loop is checked each time:
 *
 *     for (init; T[i] < 4; step)       for (init; ; step) {
 *         body                   ->        assume(i >= 0 && i < 16) with a claim
 *                                          if (!(T[i] < 4)) break;
 *                                          body
 *                                      }
 *
 * That of `do … while` and the steps of a loop are checked at the end of the body and before each
 * `continue`. */
#include "tile/claims.h"

#include "base/text.h"
#include "tile/lookup.h"

struct adder {
    struct kernel *kernel;
    struct stmt **link;       /* the place of the next statement: before the present one */
    const struct stmt *stmt;  /* the present statement */
    const struct expr *guard; /* the condition under which the visited expression is evaluated;
                               * NULL: always */
    bool guard_is;            /* the value that the guard must have */
    bool only_asks, found;    /* claims_any */
};

/* --- texts --- */

/* Adds the text of e, escaped for a format. */
static void add_escaped(struct text *t, const struct expr *e)
{
    struct text plain;
    text_init(&plain, t->arena);
    expr_print(&plain, e);
    for (const char *s = plain.data; *s; s++) {
        if (*s == '%')
            text_add_char(t, '%');
        text_add_char(t, *s);
    }
}

static void add_value(struct claim *c, struct text *t, struct kernel *k, const struct expr *e)
{
    for (int i = 0; i < c->count; i++)
        if (expr_same(c->values[i], e))
            return;
    if (c->count == CLAIM_VALUES)
        return;
    text_add(t, c->count ? ", " : ": ");
    add_escaped(t, e);
    text_add(t, dtype_is_float(e->type.dtype) ? " = %g" : " = %d");
    c->values[c->count++] = expr_copy(k, e);
}

/* Adds the values of the names in a condition. */
static void add_values(struct claim *c, struct text *t, struct kernel *k, const struct expr *e)
{
    bool named = e->op == OP_REF && e->sym->storage != ST_CONST && !e->sym->is_pointer;
    if ((named || e->op == OP_BLOCK || e->op == OP_THREAD || e->op == OP_GRID) && e->type.rank == 0)
        add_value(c, t, k, e);
    for (int i = 0; i < e->count; i++)
        add_values(c, t, k, e->args[i]);
}

/* --- statements --- */

static struct expr *binary(struct adder *a, enum op op, struct expr *x, struct expr *y)
{
    struct type type = type_scalar(DT_BOOL);
    type.varying = x->type.varying || y->type.varying;
    return expr_binary(a->kernel, op, type, x->loc, x, y);
}

/* Returns the value if the guard allows computing it, else 0, because the value may read memory. */
static struct expr *guarded(struct adder *a, struct expr *value)
{
    struct kernel *k = a->kernel;
    struct expr *e = expr_new(k, OP_SELECT, value->type, value->loc, 3);
    struct expr *zero = expr_cast(k, expr_int(k, DT_I64, 0, value->loc), value->type.dtype);
    e->args[0] = expr_copy(k, a->guard);
    e->args[1] = a->guard_is ? value : zero;
    e->args[2] = a->guard_is ? zero : value;
    e->type.varying = value->type.varying || a->guard->type.varying;
    return e;
}

static void add_claim(struct adder *a, struct expr *condition, struct claim *claim, struct loc loc)
{
    for (int i = 0; i < claim->count && a->guard; i++)
        claim->values[i] = guarded(a, claim->values[i]);
    if (a->guard && a->guard_is) /* !guard || condition */
        condition = binary(
            a, OP_LOR,
            expr_unary(a->kernel, OP_NOT, a->guard->type, loc, expr_copy(a->kernel, a->guard)),
            condition);
    else if (a->guard)
        condition = binary(a, OP_LOR, expr_copy(a->kernel, a->guard), condition);
    struct stmt *s = stmt_effect(a->kernel, OP_ASSUME, loc, condition);
    s->claim = claim;
    s->inlined = a->stmt->inlined;
    s->next = *a->link;
    *a->link = s;
    a->link = &s->next;
}

static void add_assume(struct adder *a, const struct expr *condition)
{
    struct text t;
    struct claim *c = arena_new(a->kernel->arena, struct claim);
    text_init(&t, a->kernel->arena);
    text_add(&t, "assume(");
    add_escaped(&t, condition);
    text_add(&t, ") does not hold");
    add_values(c, &t, a->kernel, condition);
    c->text = t.data;
    add_claim(a, expr_copy(a->kernel, condition), c, a->stmt->loc);
}

/* Returns the extent of an axis, as i64. */
static struct expr *extent_of(struct adder *a, const struct sym *s, int axis, struct loc loc)
{
    if (s->storage == ST_VIEW)
        return expr_cast(a->kernel, expr_copy(a->kernel, s->dims[axis]), DT_I64);
    return expr_int(a->kernel, DT_I64, s->type.extent[axis], loc);
}

static void add_inside(struct adder *a, const struct expr *access, int axis)
{
    const struct index *index = &access->index[axis];
    struct kernel *k = a->kernel;
    struct loc loc = access->loc;
    struct expr *start = expr_cast(k, expr_copy(k, index->value), DT_I64);
    struct expr *extent = extent_of(a, access->sym, axis, loc);
    struct expr *last =
        expr_binary(k, OP_SUB, extent->type, loc, extent, expr_int(k, DT_I64, index->extent, loc));
    struct expr *low = binary(a, OP_GE, start, expr_int(k, DT_I64, 0, loc));
    struct expr *high = binary(a, OP_LE, expr_copy(k, start), last);
    struct claim *c = arena_new(k->arena, struct claim);
    c->is_inside = true;
    c->text = arena_printf(k->arena,
                           "the slice %%d +: %lld is marked `inside` but reaches outside axis %d "
                           "of %s (extent %%d)",
                           (long long)index->extent, axis, access->sym->name);
    c->values[c->count++] = expr_copy(k, start);
    c->values[c->count++] = expr_copy(k, extent);
    add_claim(a, binary(a, OP_LAND, low, high), c, loc);
}

/* Returns all(condition), or the condition itself if it is a scalar. For T[x] of a tile x: all(x
 * >= 0) && all(x < 16). */
static struct expr *all_of(struct adder *a, struct expr *condition)
{
    if (condition->type.rank == 0)
        return condition;
    struct type type = type_scalar(DT_BOOL);
    type.varying = condition->type.varying;
    struct expr *e = expr_unary(a->kernel, OP_REDUCE_ALL, type, condition->loc, condition);
    e->axis = -1;
    return e;
}

static struct expr *compared(struct adder *a, enum op op, const struct expr *x, int64_t v)
{
    struct expr *limit = expr_int(a->kernel, x->type.dtype, v, x->loc);
    struct expr *e = binary(a, op, expr_copy(a->kernel, x), limit);
    struct type type = x->type;
    type.dtype = DT_BOOL;
    type.varying = e->type.varying;
    e->type = type;
    return all_of(a, e);
}

/* Adds the check of one index of the table. */
static void add_lookup_index(struct adder *a, const struct expr *e, const struct lookup_index *x)
{
    struct arena *arena = a->kernel->arena;
    struct claim *c = arena_new(arena, struct claim);
    const char *index = x->value->type.rank == 0 ? "index %d" : "an index";
    c->is_inside = true;
    c->text = arena_printf(arena, "%s is outside %s", index, lookup_place(arena, e, x));
    if (x->value->type.rank == 0)
        c->values[c->count++] = expr_copy(a->kernel, x->value);
    struct expr *inside = compared(a, OP_LT, x->value, x->extent);
    if (dtype_is_signed(x->value->type.dtype))
        inside = binary(a, OP_LAND, compared(a, OP_GE, x->value, 0), inside);
    add_claim(a, inside, c, e->loc);
}

static void add_lookup(struct adder *a, const struct expr *e)
{
    struct lookup_index list[MAX_RANK];
    int count = lookup_indices(e, list);
    for (int i = 0; i < count; i++)
        add_lookup_index(a, e, &list[i]);
}

/* --- the walk --- */

/* Returns true if e may skip operands: && and || of scalars, and ?: also of tiles, since its
 * condition is a scalar. */
static bool is_lazy(const struct expr *e)
{
    return e->op == OP_SELECT || (e->type.rank == 0 && (e->op == OP_LAND || e->op == OP_LOR));
}

static void visit(struct adder *a, const struct expr *e);

/* Visits operands that are evaluated only under a condition. Operands nested in them that have a
 * further condition are not checked. */
static void visit_lazy(struct adder *a, const struct expr *e)
{
    visit(a, e->args[0]);
    if (a->guard || e->args[0]->type.rank > 0 || expr_has_atomic(e->args[0]))
        return;
    a->guard = e->args[0];
    for (int i = 1; i < e->count; i++) {
        a->guard_is = e->op == OP_SELECT ? i == 1 : e->op == OP_LAND;
        visit(a, e->args[i]);
    }
    a->guard = NULL;
}

static void visit(struct adder *a, const struct expr *e)
{
    if (!e)
        return;
    for (int i = 0; i < e->indices; i++) {
        const struct index *index = &e->index[i];
        visit(a, index->value);
        if (index->kind != IX_SLICE || !index->promised || expr_has_atomic(index->value))
            continue;
        a->found = true;
        if (!a->only_asks)
            add_inside(a, e, i);
    }
    visit(a, e->otherwise);
    if (e->op == OP_LOOKUP && !expr_has_atomic(e->args[1]) && !(a->guard && e->type.rank > 0)) {
        a->found = true;
        if (!a->only_asks)
            add_lookup(a, e);
    }
    if (is_lazy(e)) {
        visit_lazy(a, e);
        return;
    }
    for (int i = 0; i < e->count; i++)
        visit(a, e->args[i]);
}

static void visit_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    visit(user, *root);
}

/* --- loops --- */

static void visit_list(struct adder *a, struct stmt **first);

static bool has_claims(const struct adder *a, const struct expr *e)
{
    struct adder asks = {.kernel = a->kernel, .only_asks = true};
    visit(&asks, e);
    return asks.found;
}

/* Returns true if e has a symbol that one of the statements from `from` up to `to` assigns. */
static bool follows_from(const struct expr *e, const struct stmt *from, const struct stmt *to)
{
    for (const struct stmt *s = from; s != to; s = s->next)
        if (expr_mentions(e, s->kind == STMT_DECL ? s->sym : s->target->sym))
            return true;
    return false;
}

/* Visits the values of a loop's init or step, all of which are evaluated after `a->link`. A value
 * that follows from an earlier one of them is not checked. */
static void visit_values(struct adder *a, const struct stmt *first)
{
    for (const struct stmt *s = first; s; s = s->next)
        if (s->value && !follows_from(s->value, first, s))
            visit(a, s->value);
}

/* Visits what the loop evaluates at the end of a trip. */
static void visit_end(struct adder *a, const struct stmt *loop, struct stmt **link)
{
    a->link = link;
    a->stmt = loop;
    visit_values(a, loop->step);
    if (loop->is_do)
        visit(a, loop->condition);
}

/* Visits it before each `continue` of the loop. */
static void visit_continues(struct adder *a, const struct stmt *loop, struct stmt **first)
{
    for (struct stmt **link = first; *link;) {
        struct stmt *s = *link;
        if (s->kind == STMT_CONTINUE)
            visit_end(a, loop, link);
        if (s->kind == STMT_IF || s->kind == STMT_BLOCK) {
            visit_continues(a, loop, &s->body);
            visit_continues(a, loop, &s->otherwise);
        }
        link = &s->next;
    }
}

/* Moves the condition of a loop to the start of its body: if (!condition) break; */
static void move_condition(struct adder *a, struct stmt *loop)
{
    struct kernel *k = a->kernel;
    struct expr *e = loop->condition;
    struct stmt *ends = stmt_new(k, STMT_IF, e->loc);
    ends->condition = expr_unary(k, OP_NOT, e->type, e->loc, e);
    ends->body = stmt_new(k, STMT_BREAK, e->loc);
    ends->added = ends->body->added = true;
    ends->inlined = ends->body->inlined = loop->inlined;
    ends->next = loop->body;
    loop->kind = STMT_FOR;
    loop->condition = NULL;
    loop->body = ends;
    loop->unroll = UNROLL_NONE;
}

static void visit_loop(struct adder *a, struct stmt *loop)
{
    visit_values(a, loop->init);
    bool moves = loop->condition && !loop->is_do && has_claims(a, loop->condition);
    if (moves && a->only_asks)
        a->found = true;
    else if (moves)
        move_condition(a, loop);
    visit_list(a, &loop->body);
    struct stmt **end = &loop->body;
    visit_continues(a, loop, end);
    while (*end)
        end = &(*end)->next;
    visit_end(a, loop, end);
}

static void visit_list(struct adder *a, struct stmt **first)
{
    for (struct stmt **link = first; *link;) {
        struct stmt *s = *link;
        a->link = link;
        a->stmt = s;
        if (s->kind == STMT_FOR || s->kind == STMT_WHILE) {
            visit_loop(a, s);
            link = &s->next;
            continue;
        }
        if (s->kind != STMT_ENSURES)
            stmt_expressions(s, visit_root, a);
        if (s->kind == STMT_EFFECT && s->value->op == OP_ASSUME && !s->added && !s->claim) {
            a->found = true;
            if (!a->only_asks && !expr_has_atomic(s->value->args[0]))
                add_assume(a, s->value->args[0]);
        }
        visit_list(a, &s->body);
        visit_list(a, &s->otherwise);
        link = &s->next;
    }
}

bool claims_any(const struct kernel *k)
{
    struct stmt *body = k->body;
    struct adder a = {.only_asks = true};
    visit_list(&a, &body);
    return a.found;
}

void claims_add(struct kernel *k)
{
    struct adder a = {.kernel = k};
    visit_list(&a, &k->body);
    k->has_claims = true;
}
