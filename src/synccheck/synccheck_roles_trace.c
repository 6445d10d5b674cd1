/* The trace of each role for one choice: its loops and conditions are followed. */
#include "synccheck/synccheck_roles.h"

#include <string.h>

/* Limit on the statements of all runs; each takes about a microsecond. */
enum { MOST_STEPS = 500000 };

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_END };

/* A loop that is being followed. */
struct rounds {
    const struct stmt *loop;
    int round; /* number of rounds before this one */
    int trips; /* number of rounds, if the facts leave it open; -1: not chosen */
};

static enum flow walk_list(struct tracer *t, const struct stmt *s);

/* --- conditions --- */

/* Returns true if the value depends on an unknown that a role made, so no other role has it. */
static bool is_own(const struct sync_check *k, int v, int fresh)
{
    const struct sync_value *x = sync_value_at(k, v);
    if (x->kind != VALUE_SUM)
        return true;
    for (int i = 0; i < x->terms; i++) {
        const struct atom *a = sync_atom_at(k, x->atom[i]);
        if (a->kind == ATOM_FRESH && a->count >= fresh)
            return true;
        for (int j = 0; atom_is_made(a) && j < a->count; j++)
            if (is_own(k, a->arg[j], fresh))
                return true;
    }
    return false;
}

/* Returns true in a round beyond those that any choice of trips makes. */
static bool is_endless(const struct tracer *t, int round)
{
    return round > 2 * t->r->trips.data[1];
}

/* Returns the truth that this run prefers. A guard of later rounds, such as `p + 64 < k`, keeps its
 * loop going while it holds: after many rounds it is chosen the other way, so the loop ends. */
static bool truth_of(struct tracer *t, const struct expr *e, struct rounds *rounds, bool negated)
{
    if (!rounds)
        return sync_choose_truth(t->r, e) != is_endless(t, t->longest);
    if (rounds->trips < 0)
        rounds->trips = sync_choose_trips(t->r, rounds->loop);
    return (rounds->round < rounds->trips) != negated;
}

/* Adds the fact of one part of a condition's truth. solved: only if inputs are found for all facts of the
 * run. Returns false without a new fact if there is none. */
static bool learn_part(struct roles_check *r, const struct sync_split *split, bool truth, int part,
                       bool solved)
{
    struct sync_state *s = r->state;
    int count = s->facts;
    struct fact before[MAX_FACTS];
    memcpy(before, s->fact, sizeof before[0] * (size_t)count);
    if (!sync_fact_add(r->k, s, split->form, truth ? split->true_low[part] : split->false_low[part],
                       truth ? split->true_high[part] : split->false_high[part]))
        return false;
    if (!solved || sync_solve(r->k, s, NULL, 0))
        return true;
    memcpy(s->fact, before, sizeof before[0] * (size_t)count);
    s->facts = count;
    return false;
}

/* Adds facts under which the condition has this truth. A condition that is true below and above a number
 * has two parts, and a run follows each of them. also: the condition; NULL: a loop's, of which only the first part counts. */
static bool learn(struct roles_check *r, const struct sync_split *split, bool truth, bool solved,
                  const struct expr *also)
{
    int parts = truth ? split->true_parts : split->false_parts;
    bool second = parts == 2 && also && sync_choose_other(r, also->args);
    return (second && learn_part(r, split, truth, 1, solved)) ||
           (parts > 0 && learn_part(r, split, truth, 0, solved)) ||
           (parts == 2 && !second && learn_part(r, split, truth, 1, solved));
}

enum { KEPT_FALSE = 1, KEPT_TRUE };

/* Returns whether a single condition holds. */
static bool holds_alone(struct tracer *t, const struct expr *e, struct rounds *rounds, bool negated)
{
    struct roles_check *r = t->r;
    struct sync_split split;
    int *kept = sync_role_result(r, e, NULL, MEMO_TRUTH);
    if (kept && *kept)
        return *kept == KEPT_TRUE;
    sync_eval_condition(r->k, r->state, e, &split);
    if (split.decided && kept)
        *kept = split.truth ? KEPT_TRUE : KEPT_FALSE;
    if (split.decided)
        return split.truth;
    bool truth = truth_of(t, e, rounds, negated);
    if (split.form < 0) {
        r->unrelated = true;
        return truth;
    }
    if (is_own(r->k, split.form, t->common ? INT32_MAX : r->fresh_before))
        r->unrelated = true;
    const struct expr *also = rounds ? NULL : e;
    if (learn(r, &split, truth, true, also))
        return truth;
    /* The search may have missed inputs, so some runs go on. */
    if (also && sync_choose_other(r, &also->args) && learn(r, &split, truth, false, NULL))
        return truth;
    bool endless = rounds && is_endless(t, rounds->round); /* the search finds no end */
    if (!endless && learn(r, &split, !truth, true, also))
        return !truth;
    if (learn(r, &split, truth, false, NULL))
        return truth;
    r->impossible = true;
    return truth;
}

static bool holds(struct tracer *t, const struct stmt *s, const struct expr *e,
                  struct rounds *rounds, bool negated)
{
    if (e->op == OP_NOT)
        return !holds(t, s, e->args[0], rounds, !negated);
    if (e->op == OP_LAND || e->op == OP_LOR) {
        bool left = holds(t, s, e->args[0], rounds, negated);
        return left == (e->op == OP_LOR) ? left : holds(t, s, e->args[1], rounds, negated);
    }
    sync_emit_role_reads(t, s, e);
    return holds_alone(t, e, rounds, negated);
}

/* --- statements that have no steps --- */

/* Forgets the scalars that statements assign. */
static void forget_assigned(struct tracer *t, const struct stmt *s)
{
    for (; s; s = s->next) {
        const struct sym *sym = s->kind == STMT_DECL                                ? s->sym
                                : s->kind == STMT_ASSIGN && s->target->op == OP_REF ? s->target->sym
                                                                                    : NULL;
        int slot = sym && sym->storage == ST_SCALAR ? sync_tracked_slot(t->r->k, sym) : -1;
        if (slot >= 0)
            t->r->state->slot[slot] = -1;
        forget_assigned(t, s->init);
        forget_assigned(t, s->body);
        forget_assigned(t, s->otherwise);
        forget_assigned(t, s->step);
    }
}

static bool jumps(const struct stmt *s)
{
    for (; s; s = s->next)
        if (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE || s->kind == STMT_RETURN ||
            jumps(s->body) || jumps(s->otherwise))
            return true;
    return false;
}

/* --- control flow --- */

static enum flow walk_scope(struct tracer *t, const struct stmt *first)
{
    enum flow flow = walk_list(t, first);
    for (const struct stmt *s = first; s && flow != FLOW_END; s = s->next)
        sync_emit_role_scope_end(t, s);
    return flow;
}

static enum flow walk_if(struct tracer *t, const struct stmt *s)
{
    bool matters = sync_role_list_matters(t->r, s->body) ||
                   sync_role_list_matters(t->r, s->otherwise) || jumps(s->body) ||
                   jumps(s->otherwise);
    if (!matters) {
        sync_emit_role_reads(t, s, s->condition);
        forget_assigned(t, s->body);
        forget_assigned(t, s->otherwise);
        return FLOW_ON;
    }
    /* `if (…) break;` ends the loop after as many rounds as its condition would. */
    bool leaves = t->rounds && s->body && s->body->kind == STMT_BREAK && !s->otherwise;
    bool truth = holds(t, s, s->condition, leaves ? t->rounds : NULL, leaves);
    return walk_scope(t, truth ? s->body : s->otherwise);
}

static enum flow walk_round(struct tracer *t, const struct stmt *s)
{
    enum flow flow = walk_scope(t, s->body);
    if (flow == FLOW_BREAK || flow == FLOW_END)
        return flow;
    walk_list(t, s->step);
    if (++t->r->steps > MOST_STEPS)
        sync_give_up(t->r, "the roles take too many steps");
    return t->r->k->gave_up ? FLOW_END : FLOW_ON;
}

static enum flow walk_rounds(struct tracer *t, const struct stmt *s)
{
    struct rounds rounds = {.loop = s, .trips = -1}, *around = t->rounds;
    int longest = t->longest;
    enum flow flow = FLOW_ON;
    for (; flow == FLOW_ON; rounds.round++) {
        bool asks = s->condition && (!s->is_do || rounds.round > 0);
        t->rounds = around;
        if (asks && !holds(t, s, s->condition, &rounds, false))
            return FLOW_ON;
        t->rounds = &rounds;
        t->longest = rounds.round > longest ? rounds.round : longest;
        flow = walk_round(t, s);
        t->longest = longest;
    }
    t->rounds = around;
    return flow == FLOW_END ? FLOW_END : FLOW_ON;
}

static enum flow walk_loop(struct tracer *t, const struct stmt *s)
{
    if (s->stages > 0) {
        sync_give_up(t->r, "a pipeline in a kernel with roles");
        return FLOW_END;
    }
    bool matters = sync_role_list_matters(t->r, s->body) || jumps(s->body);
    if (!matters) {
        sync_emit_role_reads(t, s, s->condition);
        forget_assigned(t, s->init);
        forget_assigned(t, s->body);
        forget_assigned(t, s->step);
        return FLOW_ON;
    }
    walk_list(t, s->init);
    return walk_rounds(t, s);
}

static enum flow walk_one_thread(struct tracer *t, const struct stmt *s)
{
    t->thread = true;
    enum flow flow = walk_scope(t, s->body);
    t->thread = false;
    return flow;
}

static enum flow walk_stmt(struct tracer *t, const struct stmt *s)
{
    switch (s->kind) {
    case STMT_IF: return walk_if(t, s);
    case STMT_FOR:
    case STMT_WHILE: return walk_loop(t, s);
    case STMT_BLOCK: return walk_scope(t, s->body);
    case STMT_ONE_THREAD: return walk_one_thread(t, s);
    case STMT_BREAK: return FLOW_BREAK;
    case STMT_CONTINUE: return FLOW_CONTINUE;
    case STMT_RETURN: return FLOW_END;
    case STMT_ROLE: /* sync_make_traces walks their bodies */
    case STMT_ENSURES: return FLOW_ON;
    case STMT_DECL:
    case STMT_ASSIGN:
    case STMT_ASYNC_COPY:
    case STMT_EFFECT: sync_emit_role_statement(t, s); return FLOW_ON;
    }
    return FLOW_ON;
}

static enum flow walk_list(struct tracer *t, const struct stmt *s)
{
    for (; s && s->kind != STMT_ROLE; s = s->next) {
        enum flow flow = walk_stmt(t, s);
        if (++t->r->steps > MOST_STEPS)
            sync_give_up(t->r, "the roles take too many steps");
        arena_poll(t->r->k->arena);
        if (t->r->k->gave_up)
            return FLOW_END;
        if (flow != FLOW_ON)
            return flow;
    }
    return FLOW_ON;
}

/* --- roles --- */

enum { WARPGROUP = 4 };

/* Returns true if the roles divide warpgroups, so that a part of one does not arrive for it. */
static bool divides_groups(const struct stmt *s)
{
    for (; s; s = s->next)
        if (s->kind == STMT_ROLE && (s->role->first % WARPGROUP || s->role->warps % WARPGROUP))
            return true;
    return false;
}

static int groups_of(int warps)
{
    return warps < WARPGROUP ? 1 : warps / WARPGROUP;
}

/* Adds a trace that begins as `before` does. */
static struct role_trace *add_trace(struct roles_check *r, const struct role_trace *before,
                                    const struct stmt *role, int warps)
{
    struct role_trace fresh = {
        .role = role, .block = r->block, .groups = groups_of(warps), .dots = before->dots};
    if (r->spare.count) {
        fresh.steps = r->spare.data[--r->spare.count].steps;
        fresh.steps.count = 0;
    }
    for (size_t i = 0; i < before->steps.count; i++)
        vec_push(r->k->arena, &fresh.steps, before->steps.data[i]);
    vec_push(r->k->arena, &r->traces, fresh);
    return &r->traces.data[r->traces.count - 1];
}

/* Walks the role for one replica, from the scalars after the statements before the roles. */
static void trace_role(struct roles_check *r, const struct tracer *before, const struct stmt *role,
                       int replica)
{
    struct tracer t = *before;
    t.number = (int)r->traces.count;
    t.trace = add_trace(r, before->trace, role, role->role->warps);
    t.common = false;
    size_t size = sizeof *t.uses * r->products.count;
    t.uses = arena_copy(r->k->arena, before->uses, size ? size : 1);
    t.trace->has_first = role->role->first == 0 && replica == 0;
    if (role->role->replica) {
        int slot = sync_tracked_slot(r->k, role->role->replica);
        if (slot >= 0)
            r->state->slot[slot] = sync_value_int(r->k, replica);
    }
    walk_list(&t, role->body);
    sync_note_products_left(&t);
}

/* Returns true if there are roles. */
static bool trace_roles(struct roles_check *r, const struct tracer *before)
{
    struct sync_state *s = r->state;
    int *slots = arena_copy(r->k->arena, s->slot, sizeof s->slot), warps = 0;
    bool first = false;
    for (const struct stmt *role = r->k->kernel->body; role; role = role->next)
        for (int i = 0; role->kind == STMT_ROLE && i < role->role->replicas; i++) {
            memcpy(s->slot, slots, sizeof s->slot);
            trace_role(r, before, role, i);
            warps += role->role->warps;
            first |= role->role->first == 0;
            if (r->k->gave_up)
                return true;
        }
    if (warps < r->k->kernel->warps)
        add_trace(r, before->trace, NULL, r->k->kernel->warps - warps)->has_first = !first;
    return warps > 0;
}

/* Adds the barriers of the cluster after the roles to the traces from `first` on. */
static void add_closing(struct roles_check *r, size_t first)
{
    const struct stmt *s = r->k->kernel->body;
    while (s && s->kind != STMT_ROLE)
        s = s->next;
    for (; s; s = s->next)
        for (size_t i = first; i < r->traces.count && s->kind == STMT_EFFECT; i++) {
            struct role_step step = {.kind = STEP_CLUSTER_SYNC,
                                     .block = r->block,
                                     .barrier = -1,
                                     .access = -1,
                                     .stmt = s};
            vec_push(r->k->arena, &r->traces.data[i].steps, step);
        }
}

/* Makes the traces of one block. */
static void trace_block(struct roles_check *r)
{
    struct role_trace block = {0};
    size_t first = r->traces.count;
    struct tracer t = {.r = r, .trace = &block, .common = true, .block = r->block};
    t.uses = arena_array(r->k->arena, struct product_use, r->products.count + 1);
    int fresh = r->state->fresh;
    if (r->blocks > 1) {
        struct role_step begins = {.kind = STEP_BEGIN,
                                   .thread = true,
                                   .common = true,
                                   .block = r->block,
                                   .barrier = -1,
                                   .access = -1,
                                   .stmt = r->k->kernel->body};
        vec_push(r->k->arena, &block.steps, begins);
    }
    enum flow flow = walk_list(&t, r->k->kernel->body);
    /* An unknown of one block is not known to be that of another. */
    r->fresh_before = r->blocks > 1 ? fresh : r->state->fresh;
    for (size_t i = 0; i < block.steps.count && divides_groups(r->k->kernel->body); i++)
        if (block.steps.data[i].kind == STEP_ARRIVE && !block.steps.data[i].thread)
            sync_give_up(r, "all warps arrive before roles that divide a warpgroup");
    if (r->k->gave_up)
        return;
    if (flow == FLOW_END)
        add_trace(r, &block, NULL, r->k->kernel->warps)->has_first = true;
    if (flow == FLOW_END || !trace_roles(r, &t))
        sync_note_products_left(&t);
    add_closing(r, first);
}

void sync_make_traces(struct roles_check *r)
{
    struct sync_state *s = r->state;
    int *slots = arena_copy(r->k->arena, s->slot, sizeof s->slot);
    for (size_t i = 0; i < r->traces.count; i++)
        vec_push(r->k->arena, &r->spare, r->traces.data[i]);
    r->traces.count = 0;
    for (int i = 0; i < r->blocks && !r->k->gave_up; i++) {
        memcpy(s->slot, slots, sizeof s->slot);
        r->block = r->k->rank = i;
        trace_block(r);
    }
}
