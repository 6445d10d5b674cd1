#include "plan/divisors.h"

enum { ROUNDS = 8, LARGEST = 1 << 20 };

int64_t divisor_common(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

int64_t divisor_product(int64_t a, int64_t b)
{
    if (a > LARGEST || b > LARGEST) { /* powers of two are what counts */
        a = divisor_common(a, LARGEST);
        b = divisor_common(b, LARGEST);
    }
    return a * b;
}

static int64_t divisor_of_symbol(const struct divisors *d, const struct sym *s)
{
    const struct number_entry *known = number_map_find(&d->of, (uint64_t)(uintptr_t)s);
    if (s->has_value && !s->value.is_float)
        return s->value.i < 0 ? -s->value.i : s->value.i;
    return known && s->type.rank == 0 ? (int64_t)known->value : 1;
}

static int64_t divisor_of_quotient(int64_t a, const struct expr *by)
{
    int64_t n;
    if (a == 0)
        return 0;
    return eval_int(by, NULL, &n) && n > 0 && a % n == 0 ? a / n : 1;
}

/* Returns the divisor that survives in the quotient or remainder of a value that may have wrapped:
 * its power of two. */
static int64_t divisor_kept(const struct divisors *d, const struct expr *e)
{
    int64_t n = divisor_of(d, e);
    bool certain = e->op == OP_LITERAL || (e->op == OP_REF && e->sym->storage == ST_PARAM);
    return certain ? n : n & -n;
}

static int64_t divisor_of_bits(const struct expr *e)
{
    int64_t n;
    for (int i = 0; i < 2; i++)
        if (eval_int(e->args[i], NULL, &n) && n > 0)
            return n & -n;
    return 1;
}

int64_t divisor_of(const struct divisors *d, const struct expr *e)
{
    int64_t n;
    if (e->type.rank > 0 || dtype_is_float(e->type.dtype))
        return 1;
    switch (e->op) {
    case OP_LITERAL: return e->literal.i < 0 ? -e->literal.i : e->literal.i;
    case OP_REF: return divisor_of_symbol(d, e->sym);
    case OP_NEG: return divisor_of(d, e->args[0]);
    case OP_CAST:
        if (!dtype_is_int(e->args[0]->type.dtype))
            return 1;
        n = divisor_of(d, e->args[0]);
        return dtype_holds(e->type.dtype, e->args[0]->type.dtype) ? n : n & -n;
    case OP_REM: return divisor_common(divisor_kept(d, e->args[0]), divisor_kept(d, e->args[1]));
    case OP_MIN:
    case OP_MAX:
    case OP_ADD:
    case OP_SUB: return divisor_common(divisor_of(d, e->args[0]), divisor_of(d, e->args[1]));
    case OP_SELECT: return divisor_common(divisor_of(d, e->args[1]), divisor_of(d, e->args[2]));
    case OP_MUL: return divisor_product(divisor_of(d, e->args[0]), divisor_of(d, e->args[1]));
    case OP_SHL:
        if (!eval_int(e->args[1], NULL, &n) || n < 0 || n > 20)
            return 1;
        return divisor_product(divisor_of(d, e->args[0]), (int64_t)1 << n);
    case OP_DIV: return divisor_of_quotient(divisor_kept(d, e->args[0]), e->args[1]);
    case OP_AND: return divisor_of_bits(e);
    default: return 1;
    }
}

/* Returns the entry of a scalar; a new one has the divisor `first`. */
static struct number_entry *entry_of(struct divisors *d, const struct sym *s, int64_t first)
{
    bool added;
    struct number_entry *e = number_map_entry(d->arena, &d->of, (uint64_t)(uintptr_t)s, &added);
    if (added)
        e->value = (uint64_t)first;
    return e;
}

/* Learns assume(x % 16 == 0), alone or with others. */
static void learn(struct divisors *d, const struct expr *e)
{
    int64_t by, zero;
    if (e->op == OP_LAND)
        for (int i = 0; i < 2; i++)
            learn(d, e->args[i]);
    if (e->op != OP_EQ || e->args[0]->op != OP_REM || !eval_int(e->args[1], NULL, &zero) || zero)
        return;
    const struct expr *x = e->args[0]->args[0];
    if (x->op == OP_CAST && dtype_holds(x->type.dtype, x->args[0]->type.dtype))
        x = x->args[0];
    if (x->op == OP_REF && x->sym->storage == ST_PARAM &&
        eval_int(e->args[0]->args[1], NULL, &by) && by > 0)
        entry_of(d, x->sym, 1)->value = (uint64_t)by;
}

static const struct sym *scalar_assigned(const struct stmt *s)
{
    const struct sym *sym = s->kind == STMT_DECL                                ? s->sym
                            : s->kind == STMT_ASSIGN && s->target->op == OP_REF ? s->target->sym
                                                                                : NULL;
    return sym && sym->storage == ST_SCALAR && dtype_is_int(sym->type.dtype) ? sym : NULL;
}

static void begin(void *user, struct stmt *s)
{
    struct divisors *d = user;
    if (s->kind == STMT_EFFECT && s->value->op == OP_ASSUME && !s->claim)
        learn(d, s->value->args[0]);
    if (scalar_assigned(s))
        entry_of(d, scalar_assigned(s), 0);
}

static void assign(void *user, struct stmt *s)
{
    struct divisors *d = user;
    const struct sym *sym = scalar_assigned(s);
    if (!sym)
        return;
    struct number_entry *e = entry_of(d, sym, 0);
    int64_t by = s->value ? divisor_common((int64_t)e->value, divisor_of(d, s->value)) : 1;
    by = d->round < ROUNDS ? by : 1;
    d->changed |= by != (int64_t)e->value;
    e->value = (uint64_t)by;
}

/* All variables begin as divided by everything; each assignment takes away until nothing changes. */
void divisors_find(struct divisors *d, struct arena *a, const struct kernel *k)
{
    *d = (struct divisors){.arena = a, .changed = true};
    stmt_walk(k->body, begin, d);
    for (; d->changed; d->round++) {
        d->changed = false;
        stmt_walk(k->body, assign, d);
    }
}
