/* Facts about expressions and conditions: the domain's rules, and limits.
 *
 * A limit is `bound + more`, where `bound` is an expression that never changes, such as a size:
 *
 *   for (p = 0; p < k; p += 16)   p <= k - 1, and with 16 | k, since 16 | p as well: p <= k - 16
 *   block.x * 128, grid(cdiv(m, 128))   <= m - 1, and with 128 | m: <= m - 128
 *
 * Facts and limits hold for the value as it is computed: of an operation that could wrap only the last bits are
 * known. A limit can show that it does not wrap. */
#include "tile/tile_facts.h"

#include "base/grid.h"

/* Returns whether the domain has a rule for the op on integers; *out is then its name there. */
static bool op_of(enum op op, enum facts_op *out)
{
    switch (op) {
#define FACTS_OP(name, operands, rule)                                                             \
    case OP_##name:                                                                                \
        *out = FACTS_##name;                                                                       \
        return true;
#include "facts/facts_ops.def"
#undef FACTS_OP
    case OP_WHERE: *out = FACTS_SELECT; return true;
    default: return false;
    }
}

/* --- limits --- */

static const struct tile_limit no_limit;
static const struct facts_type wide = {64, true};

/* Numbers far from overflow: limits have no others. */
static bool is_small(int64_t v)
{
    return v > -((int64_t)1 << 40) && v < (int64_t)1 << 40;
}

static struct tile_limit limit_by(const struct expr *bound, int64_t more)
{
    return bound && is_small(more) ? (struct tile_limit){bound, more} : no_limit;
}

/* Returns the symbol's number if it is a scalar that keeps its first value; otherwise -1. */
static int constant_of(const struct tile_facts *t, const struct sym *s)
{
    int number = numbering_of(&t->numbers, s);
    bool scalar = (s->storage == ST_PARAM || s->storage == ST_SCALAR) && s->type.rank == 0;
    return scalar && !s->is_pointer && number >= 0 && t->assigned[number] == 0 ? number : -1;
}

static bool never_changes(struct tile_facts *t, const struct expr *e)
{
    if (!(op_table[e->op].flags & OP_PURE) || e->op == OP_THREAD || e->op == OP_BLOCK ||
        e->op == OP_CLUSTER)
        return false;
    if (e->op == OP_REF)
        return e->sym->storage == ST_CONST ||
               (e->sym->storage == ST_PARAM && constant_of(t, e->sym) >= 0);
    bool added, never = true;
    struct number_entry *known = number_map_entry(t->arena, &t->never, (uintptr_t)e, &added);
    if (!added)
        return known->value;
    for (int i = 0; i < e->count && never; i++)
        never = never_changes(t, e->args[i]);
    number_map_find(&t->never, (uintptr_t)e)->value = never;
    return never;
}

const struct expr *tile_facts_plain(const struct expr *e)
{
    while (e->op == OP_CAST && dtype_is_int(e->type.dtype) &&
           dtype_is_int(e->args[0]->type.dtype) &&
           dtype_holds(e->type.dtype, e->args[0]->type.dtype))
        e = e->args[0];
    return e;
}

/* Lowers the limit to the next number that the value can have: that of value - bound has a congruence. */
static struct tile_limit tightened(struct tile_facts *t, struct tile_limit l,
                                   const struct facts *value)
{
    if (!l.bound || l.bound->type.dtype == DT_U64)
        return no_limit;
    struct facts x[2] = {*value, tile_facts_of(t, l.bound)}, most = facts_exactly(l.more);
    struct facts apart = facts_of(FACTS_SUB, wide, x);
    return limit_by(l.bound, facts_where(FACTS_LE, wide, &apart, &most).greatest);
}

/* Returns the limit of x * n: if x < cdiv(e, n), then x * n < e. */
static struct tile_limit limit_of_product(struct tile_limit x, int64_t n)
{
    int64_t unit;
    bool counts = x.bound && x.more == -1 && x.bound->op == OP_CDIV && n > 0 &&
                  eval_int(x.bound->args[1], NULL, &unit) && unit == n;
    return counts ? limit_by(tile_facts_plain(x.bound->args[0]), -1) : no_limit;
}

static struct tile_limit limit_of_sum(const struct tile_fact *x)
{
    for (int i = 0; i < 2; i++)
        if (x[i].limit.bound && is_small(x[1 - i].is.greatest))
            return limit_by(x[i].limit.bound, x[i].limit.more + x[1 - i].is.greatest);
    return no_limit;
}

static struct tile_limit limit_of_operation(enum op op, const struct tile_fact *x)
{
    const struct tile_limit first = x[0].limit;
    int64_t n;
    switch (op) {
    case OP_ADD: return limit_of_sum(x);
    case OP_SUB:
        return is_small(x[1].is.least) ? limit_by(first.bound, first.more - x[1].is.least)
                                       : no_limit;
    case OP_MUL:
        for (int i = 0; i < 2; i++)
            if (facts_known(&x[1 - i].is, &n))
                return limit_of_product(x[i].limit, n);
        return no_limit;
    case OP_SHL:
        return facts_known(&x[1].is, &n) && n >= 0 && n < 20
                   ? limit_of_product(first, (int64_t)1 << n)
                   : no_limit;
    case OP_MIN: return first.bound ? first : x[1].limit;
    default: return no_limit;
    }
}

/* --- expressions --- */

static struct tile_fact any_value(enum dtype t)
{
    return (struct tile_fact){facts_any(facts_type_of(dtype_is_float(t) ? DT_I64 : t)), no_limit};
}

/* Returns what is known of the scalar with this number. */
static struct tile_fact of_scalar(struct tile_facts *t, int number)
{
    if (t->readers && t->reader != NO_READER) {
        struct tile_fact_readers *r = &t->readers[number];
        if (r->list.count == 0 || r->list.data[r->list.count - 1] != t->reader)
            vec_push(t->arena, &r->list, t->reader);
    }
    return t->scalars[number];
}

static struct tile_fact of_symbol(struct tile_facts *t, const struct expr *e)
{
    const struct sym *s = e->sym;
    struct tile_fact f = any_value(s->type.dtype);
    bool bound = s->storage == ST_CONST || (s->storage == ST_PARAM && s->has_value);
    int number = t ? numbering_of(&t->numbers, s) : -1;
    if (bound && !s->value.is_float)
        f.is = facts_exactly(s->value.i);
    if (bound || number < 0 || (s->storage != ST_PARAM && s->storage != ST_SCALAR))
        return f;
    t->unreached |= !t->reached[number];
    f = of_scalar(t, number);
    if (s->storage == ST_PARAM && never_changes(t, e))
        f.limit = limit_by(e, 0);
    return f;
}

static struct tile_fact of_blocks(struct tile_facts *t, const struct expr *e)
{
    const struct expr *grid = t ? t->kernel->grid[e->axis] : NULL;
    struct tile_fact f = {facts_between(1, grid_limits[e->axis]), no_limit};
    if (grid) {
        struct tile_fact blocks = tile_fact_of(t, grid);
        f = (struct tile_fact){facts_meet(&f.is, &blocks.is), blocks.limit};
    } else if (t) {
        f.is = facts_exactly(1);
    }
    if (e->op == OP_GRID)
        return f;
    return (struct tile_fact){facts_between(0, f.is.greatest - 1),
                              limit_by(f.limit.bound, f.limit.more - 1)};
}

static struct tile_fact of_threads(const struct tile_facts *t, const struct expr *e)
{
    struct tile_fact f = any_value(e->type.dtype);
    if (t && kernel_thread_level(t->kernel)) {
        int threads = t->kernel->threads[e->axis];
        f.is = facts_between(0, threads > 1 ? threads - 1 : 0);
    }
    return f;
}

enum { MOST_OPERANDS = 3 };

/* Returns the fact of an operand converted to the type that the op computes in. */
static struct tile_fact of_operand(struct tile_facts *t, const struct expr *e, enum dtype computed)
{
    if (dtype_is_float(e->type.dtype))
        return any_value(computed);
    struct tile_fact f = tile_fact_of(t, e);
    if (e->type.dtype == computed)
        return f;
    bool keeps = dtype_is_int(e->type.dtype) && dtype_holds(computed, e->type.dtype);
    return (struct tile_fact){facts_cast(&f.is, facts_type_of(computed)),
                              keeps ? f.limit : no_limit};
}

/* Returns the fact of a result that has a limit if it does not wrap: it is at most the bound, or its facts show it. */
static struct tile_fact limited(struct tile_facts *t, const struct expr *e, const struct facts *x,
                                enum facts_op op, struct tile_limit limit)
{
    const enum dtype own = e->type.dtype;
    struct facts all = facts_any(facts_type_of(own)), exact = facts_of(op, wide, x);
    bool below = limit.more <= 0 && dtype_size(limit.bound->type.dtype) <= dtype_size(own);
    bool fits = exact.least != INT64_MIN && exact.least >= all.least &&
                (below || (exact.greatest != INT64_MAX && exact.greatest <= all.greatest));
    if (!fits)
        return (struct tile_fact){facts_of(op, facts_type_of(own), x), no_limit};
    struct facts f = facts_meet(&exact, &all);
    return (struct tile_fact){f, tightened(t, limit, &f)};
}

static struct tile_fact of_operation(struct tile_facts *t, const struct expr *e, enum facts_op op)
{
    struct tile_fact x[MOST_OPERANDS];
    struct facts is[MOST_OPERANDS];
    enum dtype computed = e->type.dtype;
    if (op_table[e->op].class == CLASS_COMPARE)
        computed = dtype_join(e->args[0]->type.dtype, e->args[1]->type.dtype);
    if ((int)computed < 0 || dtype_is_float(computed))
        return any_value(e->type.dtype);
    for (int i = 0; i < e->count; i++) {
        bool amount = i == 1 && (op == FACTS_SHL || op == FACTS_SHR);
        bool own = amount || (i == 0 && op == FACTS_SELECT);
        x[i] = own ? tile_fact_of(t, e->args[i]) : of_operand(t, e->args[i], computed);
        is[i] = x[i].is;
    }
    struct tile_limit limit = limit_of_operation(e->op, x);
    if (limit.bound && dtype_is_signed(computed))
        return limited(t, e, is, op, limit);
    return (struct tile_fact){facts_of(op, facts_type_of(computed), is), no_limit};
}

static struct tile_fact of_other(struct tile_facts *t, const struct expr *e)
{
    enum facts_op op;
    struct tile_fact f = any_value(e->type.dtype);
    bool has_rule = op_of(e->op, &op) && e->count == facts_operands(op) &&
                    (e->type.dtype != DT_BOOL || op_table[e->op].class != CLASS_ARITH);
    for (int i = 0; i < e->count && has_rule; i++)
        has_rule = e->args[i]->type.rank == 0;
    if (has_rule)
        f = of_operation(t, e, op);
    if (t && !f.limit.bound && never_changes(t, e))
        f.limit = limit_by(e, 0);
    return f;
}

struct tile_fact tile_fact_of(struct tile_facts *t, const struct expr *e)
{
    if (dtype_is_float(e->type.dtype) || e->type.rank > 0)
        return any_value(e->type.dtype);
    switch (e->op) {
    case OP_LITERAL: return (struct tile_fact){facts_exactly(e->literal.i), no_limit};
    case OP_REF: return of_symbol(t, e);
    case OP_BLOCK:
    case OP_GRID: return of_blocks(t, e);
    case OP_CLUSTER:
        if (e->axis < CLUSTER_RANK)
            return of_blocks(t, e);
        return (struct tile_fact){facts_between(0, t ? kernel_cluster_blocks(t->kernel) - 1 : 7),
                                  no_limit};
    case OP_THREAD: return of_threads(t, e);
    case OP_CAST: return of_operand(t, e->args[0], e->type.dtype);
    default: return of_other(t, e);
    }
}

struct facts tile_facts_of(struct tile_facts *t, const struct expr *e)
{
    return tile_fact_of(t, e).is;
}

/* --- learning --- */

void tile_facts_set(struct tile_facts *t, int number, struct tile_fact f)
{
    struct tile_fact_before before = {number, t->scalars[number]};
    vec_push(t->arena, &t->undo, before);
    t->scalars[number] = f;
}

void tile_facts_forget(struct tile_facts *t, size_t known)
{
    while (t->undo.count > known) {
        const struct tile_fact_before *last = &t->undo.data[--t->undo.count];
        t->scalars[last->number] = last->fact;
    }
}

/* Returns the number of the scalar that e is, if it keeps its first value or is the counter; otherwise -1. */
static int learner(const struct tile_facts *t, const struct expr *e, int counter)
{
    if (e->op != OP_REF || !dtype_is_int(e->type.dtype))
        return -1;
    int number = numbering_of(&t->numbers, e->sym);
    return number >= 0 && number == counter ? number : constant_of(t, e->sym);
}

/* Learns from x % n == 0. A large u64 has other remainders than the number that it is kept as. */
static void learn_divisor(struct tile_facts *t, const struct expr *e, int counter)
{
    int64_t n, zero;
    if (e->args[0]->op != OP_REM || !eval_int(e->args[1], NULL, &zero) || zero != 0 ||
        !eval_int(e->args[0]->args[1], NULL, &n) || n <= 0 || e->args[0]->type.dtype == DT_U64)
        return;
    int number = learner(t, tile_facts_plain(e->args[0]->args[0]), counter);
    if (number < 0)
        return;
    struct facts multiple = facts_multiple(n);
    struct tile_fact f = of_scalar(t, number);
    f.is = facts_meet(&f.is, &multiple);
    tile_facts_set(t, number, f);
}

/* Learns about the side `at` of a comparison. */
static void learn_side(struct tile_facts *t, const struct expr *e, int at, enum facts_op op,
                       int counter)
{
    const struct expr *x = tile_facts_plain(e->args[at]);
    enum dtype computed = dtype_join(e->args[0]->type.dtype, e->args[1]->type.dtype);
    int number = learner(t, x, counter);
    if (number < 0 || !dtype_is_int(computed) || !dtype_holds(computed, x->type.dtype))
        return;
    struct tile_fact other = of_operand(t, e->args[1 - at], computed), f = of_scalar(t, number);
    op = at == 0 ? op : facts_exchanged(op);
    f.is = facts_where(op, facts_type_of(computed), &f.is, &other.is);
    if ((op == FACTS_LT || op == FACTS_LE) && dtype_is_signed(computed)) {
        struct tile_limit l = limit_by(other.limit.bound, other.limit.more - (op == FACTS_LT));
        f.limit = f.limit.bound ? f.limit : tightened(t, l, &f.is);
    }
    tile_facts_set(t, number, f);
}

void tile_facts_learn(struct tile_facts *t, const struct expr *condition, int counter)
{
    enum facts_op op;
    if (condition->op == OP_LAND) {
        tile_facts_learn(t, condition->args[0], counter);
        tile_facts_learn(t, condition->args[1], counter);
        return;
    }
    if (op_table[condition->op].class != CLASS_COMPARE || condition->args[0]->type.rank > 0 ||
        condition->args[1]->type.rank > 0 || !op_of(condition->op, &op))
        return;
    if (op == FACTS_EQ)
        learn_divisor(t, condition, counter);
    learn_side(t, condition, 0, op, counter);
    learn_side(t, condition, 1, op, counter);
}

void tile_facts_enter(struct tile_facts *t, const struct stmt *loop)
{
    for (const struct stmt *step = loop->condition ? loop->step : NULL; step; step = step->next) {
        int number = step->target->op == OP_REF ? numbering_of(&t->numbers, step->target->sym) : -1;
        if (number >= 0 && step->target->sym->storage == ST_SCALAR && t->assigned[number] == 1)
            tile_facts_learn(t, loop->condition, number);
    }
}
