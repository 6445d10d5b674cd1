/* Follows the values of one array through the kernel: first to the variables and arrays that they
 * reach, until these no longer grow in number, then to the indices.
 *
 * A comparison limits a variable to values of the other side, so `j < Length[i]` counts as a flow
 * from Length to j: if j is an index, Length must not exceed the indexed axis. */
#include "tile/array_use.h"

#include "tile/numbering.h"

/* The part of an array's values in an expression. `computed`: more than a sum with a number. */
struct flow {
    bool reaches, computed;
};

struct search {
    struct arena *arena;
    const struct kernel *kernel;
    const struct sym *array;
    const struct scalar_env *env;
    struct numbering numbers;
    struct flow *flows; /* of each symbol; of a view, that of its parameter */
    bool grew;
    struct array_use found;
    VEC(const struct expr *) read; /* last indices at which the array is read */
};

static struct flow join(struct flow a, struct flow b)
{
    return (struct flow){a.reaches || b.reaches, a.computed || b.computed};
}

/* Returns the flow of a symbol; arrays of the caller share that of their parameter. */
static struct flow *flow_of(const struct search *s, const struct sym *sym)
{
    int number = numbering_of(&s->numbers, sym->base ? sym->base : sym);
    return number < 0 ? NULL : &s->flows[number];
}

static struct flow flow_in(const struct search *s, const struct expr *e);

static struct flow flow_of_sum(const struct search *s, const struct expr *e)
{
    struct flow left = flow_in(s, e->args[0]), right = flow_in(s, e->args[1]);
    struct flow sum = join(left, right);
    sum.computed |= right.reaches && (left.reaches || e->op == OP_SUB);
    return sum;
}

static struct flow flow_in(const struct search *s, const struct expr *e)
{
    struct flow all = {0};
    if (!e)
        return all;
    switch (e->op) {
    case OP_REF:
    case OP_ACCESS: {
        const struct flow *own = flow_of(s, e->sym);
        return join(own ? *own : all, flow_in(s, e->otherwise));
    }
    case OP_ADD:
    case OP_SUB: return flow_of_sum(s, e);
    case OP_SELECT:
    case OP_WHERE: return join(flow_in(s, e->args[1]), flow_in(s, e->args[2]));
    case OP_LT:
    case OP_GT:
    case OP_LE:
    case OP_GE:
    case OP_EQ:
    case OP_NE:
    case OP_NOT:
    case OP_LAND:
    case OP_LOR:
    case OP_LOOKUP:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL:
    case OP_REDUCE_ARGMAX:
    case OP_REDUCE_ARGMIN: return all; /* other values, and few of them */
    default: break;
    }
    for (int i = 0; i < e->count; i++)
        all = join(all, flow_in(s, e->args[i]));
    bool keeps = op_table[e->op].class == CLASS_SHAPE || e->op == OP_CAST || e->op == OP_MIN ||
                 e->op == OP_MAX || e->op == OP_CLIP || e->op == OP_REDUCE_MIN ||
                 e->op == OP_REDUCE_MAX || op_is_atomic(e->op);
    all.computed |= all.reaches && !keeps;
    return all;
}

static void add_flow(struct search *s, const struct sym *to, struct flow f)
{
    struct flow *own = to ? flow_of(s, to) : NULL;
    if (!own)
        return;
    struct flow sum = join(*own, f);
    s->grew |= sum.reaches != own->reaches || sum.computed != own->computed;
    *own = sum;
}

/* Gives the flow of one side of a comparison to the variables of the other. */
static void limit_variables(struct search *s, const struct expr *e, struct flow f)
{
    if (e->op == OP_REF && e->sym->storage == ST_SCALAR && dtype_is_int(e->type.dtype))
        add_flow(s, e->sym, (struct flow){.reaches = f.reaches});
    else if (e->op == OP_ADD || e->op == OP_CAST)
        for (int i = 0; i < e->count; i++)
            limit_variables(s, e->args[i], f);
}

static void follow(void *user, struct expr **at)
{
    struct search *s = user;
    const struct expr *e = *at;
    if (op_is_atomic(e->op))
        for (int i = 1; i < e->count; i++)
            add_flow(s, e->args[0]->sym, flow_in(s, e->args[i]));
    if (e->op == OP_LT || e->op == OP_LE || e->op == OP_GT || e->op == OP_GE)
        for (int i = 0; i < 2; i++)
            limit_variables(s, e->args[i], flow_in(s, e->args[1 - i]));
}

static void follow_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, follow, user);
}

static void follow_statement(void *user, struct stmt *st)
{
    struct search *s = user;
    stmt_expressions(st, follow_root, s);
    if (st->kind == STMT_DECL && st->value)
        add_flow(s, st->sym, flow_in(s, st->value));
    else if (st->kind == STMT_ASSIGN || st->kind == STMT_ASYNC_COPY)
        add_flow(s, st->target->sym, flow_in(s, st->value));
    for (int i = 0; i < st->overs; i++)
        if (st->bound[i])
            add_flow(s, st->over[i], flow_in(s, st->bound[i]));
}

/* --- the indices --- */

static void take_extent(struct search *s, int64_t extent)
{
    if (extent > 0 && (s->found.extent == 0 || extent < s->found.extent))
        s->found.extent = extent;
}

static void take_index(struct search *s, const struct expr *value, const struct expr *dim,
                       int64_t extent)
{
    struct flow f = flow_in(s, value);
    if (!f.reaches)
        return;
    bool known = !dim || eval_int(dim, s->env, &extent);
    s->found.is_index = true;
    s->found.is_computed |= f.computed || !known;
    if (known && !f.computed)
        take_extent(s, extent);
}

static const struct expr *without_casts(const struct expr *e)
{
    while (e->op == OP_CAST)
        e = e->args[0];
    return e;
}

/* Returns x of `x + 1`; NULL: the expression is another one. */
static const struct expr *before_it(const struct expr *e)
{
    int64_t one;
    e = without_casts(e);
    bool is_next = e->op == OP_ADD && eval_int(e->args[1], NULL, &one) && one == 1;
    return is_next ? without_casts(e->args[0]) : NULL;
}

static bool reads_next(const struct search *s, const struct expr *next)
{
    const struct expr *x = before_it(next);
    for (size_t i = 0; x && i < s->read.count; i++)
        if (expr_same(without_casts(s->read.data[i]), x))
            return true;
    return false;
}

static void take_access(struct search *s, const struct expr *e)
{
    const struct sym *to = e->sym;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value)
            take_index(s, e->index[i].value, to->storage == ST_VIEW ? to->dims[i] : NULL,
                       to->type.extent[i]);
    if (to->base == s->array && e->indices > 0 && e->index[e->indices - 1].kind == IX_ELEMENT)
        vec_push(s->arena, &s->read, e->index[e->indices - 1].value);
}

static void take(void *user, struct expr **at)
{
    struct search *s = user;
    const struct expr *e = *at;
    if (e->op == OP_ACCESS)
        take_access(s, e);
    s->found.is_atomic |= op_is_atomic(e->op) && e->args[0]->sym->base == s->array;
    if (e->op == OP_LOOKUP && flow_in(s, e->args[1]).reaches) {
        s->found.is_index = true;
        s->found.is_computed |= e->axis > 0;
        take_extent(s, e->axis > 0 ? 0 : e->sym->type.extent[0]);
    }
}

static void take_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, take, user);
}

/* Returns whether the values reach any part of the condition, outside of indices. */
static bool has_flow(const struct search *s, const struct expr *e)
{
    bool found = flow_in(s, e).reaches;
    for (int i = 0; i < e->count && !found; i++)
        found = has_flow(s, e->args[i]);
    return found;
}

static void take_statement(void *user, struct stmt *st)
{
    struct search *s = user;
    stmt_expressions(st, take_root, s);
    bool loops = st->kind == STMT_FOR || st->kind == STMT_WHILE;
    if (loops && st->condition && has_flow(s, st->condition))
        s->found.is_index = true;
}

/* Returns whether the array has an element for each row and one more, or the kernel reads an element
 * and the next one. */
static bool is_starts(const struct search *s)
{
    bool found = false;
    for (const struct sym *v = s->kernel->symbols; v && !found; v = v->next)
        found = v->storage == ST_VIEW && v->base == s->array && v->type.rank > 0 &&
                before_it(v->dims[v->type.rank - 1]);
    for (size_t i = 0; i < s->read.count && !found; i++)
        found = reads_next(s, s->read.data[i]);
    return found;
}

struct array_use array_use_find(struct arena *a, const struct kernel *k, const struct sym *array,
                                const struct scalar_env *env)
{
    struct search s = {.arena = a, .kernel = k, .array = array, .env = env};
    numbering_init(&s.numbers, a, k);
    s.flows = arena_array(a, struct flow, s.numbers.count);
    add_flow(&s, array, (struct flow){.reaches = true});
    do {
        s.grew = false;
        stmt_walk(k->body, follow_statement, &s);
    } while (s.grew);
    stmt_walk(k->body, take_statement, &s);
    s.found.is_starts = s.found.is_index && is_starts(&s);
    return s.found;
}
