/* Finds the parts of a kernel that affect synchronisation: statements that touch shared tiles,
 * copy, wait or synchronise, the control flow around them, and the scalars that decide it or the
 * part of a tile that is touched. */
#include "base/arithmetic.h"
#include "synccheck/synccheck_core.h"

#include <stdlib.h>

bool sync_is_checked_tile(const struct sym *s)
{
    return s && s->storage == ST_SHARED && !s->staged;
}

bool sync_touches_shared(const struct expr *e)
{
    if (!e)
        return false;
    if (e->op == OP_ACCESS && sync_is_checked_tile(e->sym))
        return true;
    for (int i = 0; i < expr_children(e); i++)
        if (sync_touches_shared(expr_child(e, i)))
            return true;
    return false;
}

int sync_tracked_slot(const struct sync_check *k, const struct sym *s)
{
    const size_t count = k->code.slots.count;
    size_t *recent = &k->recent_slots[(uintptr_t)s / sizeof *s % RECENT_SLOTS];
    if (*recent < count && k->code.slots.data[*recent].sym == s)
        return (int)*recent;
    for (size_t i = 0; i < count; i++)
        if (k->code.slots.data[i].sym == s) {
            *recent = i;
            return (int)i;
        }
    return -1;
}

static bool relevant_effect(const struct stmt *s)
{
    switch (s->value->op) {
    case OP_SYNC:
    case OP_ASYNC_COMMIT:
    case OP_ASYNC_WAIT:
    case OP_LOCK:
    case OP_UNLOCK:
    case OP_ARRIVE:
    case OP_FREE:
    case OP_ASSUME: return true;
    default: return sync_touches_shared(s->value);
    }
}

static bool relevant_list(const struct sync_check *k, const struct stmt *s, bool in_loop)
{
    for (; s; s = s->next)
        if (sync_relevant_stmt(k, s, in_loop))
            return true;
    return false;
}

bool sync_relevant_stmt(const struct sync_check *k, const struct stmt *s, bool in_loop)
{
    switch (s->kind) {
    case STMT_DECL:
        return sync_is_checked_tile(s->sym) || sync_tracked_slot(k, s->sym) >= 0 ||
               sync_touches_shared(s->value) || stmt_arrives(s);
    case STMT_ASSIGN:
        return (s->target->op == OP_REF && sync_tracked_slot(k, s->target->sym) >= 0) ||
               sync_touches_shared(s->target) || sync_touches_shared(s->value);
    case STMT_ASYNC_COPY:
    case STMT_ROLE:
    case STMT_ONE_THREAD:
    case STMT_RETURN: return true;
    case STMT_EFFECT: return relevant_effect(s);
    case STMT_BREAK:
    case STMT_CONTINUE: return in_loop;
    case STMT_IF:
        return sync_touches_shared(s->condition) || relevant_list(k, s->body, in_loop) ||
               relevant_list(k, s->otherwise, in_loop);
    case STMT_FOR:
    case STMT_WHILE:
        return sync_touches_shared(s->condition) || relevant_list(k, s->init, false) ||
               relevant_list(k, s->body, false) || relevant_list(k, s->step, false);
    case STMT_BLOCK: return relevant_list(k, s->body, in_loop);
    case STMT_ENSURES: return false;
    }
    return false;
}

/* --- the scalars, to a fixpoint --- */

struct marking {
    struct sync_check *k;
    bool indexes, changed;
    int64_t divisors, remainders; /* products and least common multiples; 0: too large */
};

static void mark_sym(struct marking *m, const struct sym *s)
{
    int slot = sync_tracked_slot(m->k, s);
    if (slot < 0) {
        struct tracked fresh = {.sym = s, .indexes = m->indexes};
        vec_push(m->k->arena, &m->k->code.slots, fresh);
        m->changed = true;
    } else if (m->indexes && !m->k->code.slots.data[slot].indexes) {
        m->k->code.slots.data[slot].indexes = true;
        m->changed = true;
    }
}

static void mark(struct marking *m, const struct expr *e)
{
    if (!e)
        return;
    if (e->op == OP_REF && e->sym->storage == ST_SCALAR && e->type.rank == 0)
        mark_sym(m, e->sym);
    if (e->op == OP_ACCESS && sync_is_checked_tile(e->sym) && e->type.rank == 0)
        mark_sym(m, e->sym); /* its elements decide something */
    for (int i = 0; i < e->count; i++)
        mark(m, e->args[i]);
    for (int i = 0; i < e->indices; i++)
        mark(m, e->index[i].value);
}

static void mark_as(struct marking *m, const struct expr *e, bool indexes)
{
    m->indexes = indexes;
    mark(m, e);
}

/* Marks the subscripts of shared tiles in e. */
static void mark_subscripts(struct marking *m, const struct expr *e)
{
    if (!e)
        return;
    for (int i = 0; i < e->count; i++)
        mark_subscripts(m, e->args[i]);
    for (int i = 0; i < e->indices; i++) {
        mark_subscripts(m, e->index[i].value);
        const struct expr *at = e->index[i].value;
        if (sync_is_checked_tile(e->sym))
            mark_as(m, at, true);
        if (sync_is_checked_tile(e->sym) && e->index[i].kind == IX_GATHER && at->op == OP_REF)
            mark_sym(m, at->sym);
    }
    mark_subscripts(m, e->otherwise);
    if (e->op == OP_SELECT || e->op == OP_LAND || e->op == OP_LOR)
        if (e->type.rank == 0 &&
            sync_touches_shared(e)) /* it decides whether the tile is touched */
            mark_as(m, e->args[0], false);
}

static void mark_list(struct marking *m, const struct stmt *s, bool in_loop);

bool sync_stores_shared_value(const struct stmt *s)
{
    return s->kind == STMT_ASSIGN && s->target->op == OP_ACCESS &&
           sync_is_checked_tile(s->target->sym) && s->value->type.rank == 0 &&
           !s->value->type.varying;
}

static void mark_assigned(struct marking *m, const struct sym *s, const struct expr *value)
{
    int slot = s ? sync_tracked_slot(m->k, s) : -1;
    if (slot >= 0)
        mark_as(m, value, m->k->code.slots.data[slot].indexes);
}

static void mark_stmt(struct marking *m, const struct stmt *s, bool in_loop)
{
    bool loop = s->kind == STMT_FOR || s->kind == STMT_WHILE;
    mark_subscripts(m, s->target);
    mark_subscripts(m, s->value);
    mark_subscripts(m, s->condition);
    if (s->kind == STMT_DECL)
        mark_assigned(m, s->sym, s->value);
    if (s->kind == STMT_ASSIGN && s->target->op == OP_REF)
        mark_assigned(m, s->target->sym, s->value);
    if (kernel_thread_level(m->k->kernel) && sync_stores_shared_value(s))
        mark_as(m, s->value, false);
    if (s->kind == STMT_EFFECT && s->value->op == OP_ASYNC_WAIT)
        mark_as(m, s->value->args[0], true);
    if ((loop || s->kind == STMT_IF) && sync_relevant_stmt(m->k, s, in_loop))
        mark_as(m, s->condition, false);
    bool inner = loop ? sync_relevant_stmt(m->k, s, false) : in_loop;
    mark_list(m, s->init, inner);
    mark_list(m, s->body, inner);
    mark_list(m, s->otherwise, inner);
    mark_list(m, s->step, inner);
}

static void mark_list(struct marking *m, const struct stmt *s, bool in_loop)
{
    for (; s; s = s->next)
        if (s->kind != STMT_ENSURES)
            mark_stmt(m, s, in_loop);
}

/* --- the modulus and the reach --- */

enum { LARGEST_MODULUS = 1 << 16, LARGEST_REACH = 1 << 12 };

static void measure_divisor(struct marking *m, const struct expr *e)
{
    int64_t d;
    bool divides = e->op == OP_DIV || e->op == OP_SHR, remains = e->op == OP_REM || e->op == OP_AND;
    if ((!divides && !remains) || !eval_int(e->args[1], NULL, &d) || d < 1)
        return;
    if (e->op == OP_SHR)
        d = d < 16 ? INT64_C(1) << d : LARGEST_MODULUS + 1;
    if (e->op == OP_AND)
        d = d < LARGEST_MODULUS && (d & (d + 1)) == 0 ? d + 1 : 1;
    if (d > LARGEST_MODULUS) {
        m->divisors = m->remainders = 0;
        return;
    }
    if (divides && m->divisors % d)
        m->divisors = m->divisors * d <= LARGEST_MODULUS ? m->divisors * d : 0;
    if (remains && m->remainders) {
        int64_t both = m->remainders / greatest_common_divisor(m->remainders, d) * d;
        m->remainders = both <= LARGEST_MODULUS ? both : 0;
    }
}

static void measure(struct marking *m, const struct expr *e)
{
    int64_t c;
    if (!e || e->type.rank)
        return;
    if (!dtype_is_float(e->type.dtype) && eval_int(e, NULL, &c)) {
        if (c >= -LARGEST_REACH && c <= LARGEST_REACH && llabs(c) > m->k->code.reach)
            m->k->code.reach = llabs(c);
        return;
    }
    if (e->count == 2)
        measure_divisor(m, e);
    for (int i = 0; i < e->count; i++)
        measure(m, e->args[i]);
}

static void measure_index(struct marking *m, const struct expr *e)
{
    if (!e)
        return;
    for (int i = 0; i < e->count; i++)
        measure_index(m, e->args[i]);
    for (int i = 0; i < e->indices; i++) {
        measure_index(m, e->index[i].value);
        if (sync_is_checked_tile(e->sym) && e->index[i].kind != IX_GATHER)
            measure(m, e->index[i].value);
    }
}

static void measure_list(struct marking *m, const struct stmt *s)
{
    for (; s; s = s->next) {
        const struct sym *assigned = s->kind == STMT_DECL ? s->sym
                                     : s->kind == STMT_ASSIGN && s->target->op == OP_REF
                                         ? s->target->sym
                                         : NULL;
        measure_index(m, s->target);
        measure_index(m, s->value);
        if (assigned && sync_tracked_slot(m->k, assigned) >= 0)
            measure(m, s->value);
        measure(m, s->condition);
        measure_list(m, s->init);
        measure_list(m, s->body);
        measure_list(m, s->otherwise);
        measure_list(m, s->step);
    }
}

void sync_relevant_scalars(struct sync_check *k)
{
    struct marking m = {.k = k, .divisors = 1, .remainders = 1};
    do {
        m.changed = false;
        mark_list(&m, k->kernel->body, false);
    } while (m.changed);
    k->code.reach = 1;
    measure_list(&m, k->kernel->body);
    k->code.modulus = m.divisors * m.remainders;
    if (k->code.modulus > LARGEST_MODULUS)
        k->code.modulus = 0;
}
