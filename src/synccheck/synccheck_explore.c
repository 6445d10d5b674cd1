/* Steps through the skeleton, from every state that is reached. */
#include "synccheck/synccheck_core.h"

#include <string.h>

/* --- findings --- */

struct finding_key {
    int kind, early, late, tile;
};

/* Records a finding. Widened, it is a suspicion; exact, it is a fact if inputs are found that
 * lead to it. */
static void note(struct sync_check *k, const struct sync_state *s, struct sync_finding f,
                 const struct meeting_at *where, enum meeting met)
{
    struct finding_key key = {(int)f.kind, f.early, f.late, f.tile};
    bool is_new;
    int number = sync_intern(&k->finding_keys, &key, sizeof key, &is_new);
    if (is_new) {
        f.thread[0] = f.thread[1] = -1;
        vec_push(k->arena, &k->findings, f);
    }
    struct sync_finding *found = &k->findings.data[number];
    if (!k->exact || found->confirmed)
        return;
    k->doubts = true;
    if (s->unsure || met != MEET_SURE)
        return;
    if (!sync_solve(k, s, where ? where->constraint : NULL, where ? where->constraints : 0))
        return;
    *found = f;
    found->confirmed = true;
    found->thread[0] = found->thread[1] = -1;
    if (where) {
        memcpy(found->thread, where->thread, sizeof found->thread);
        memcpy(found->at, where->at, sizeof found->at);
    }
    k->confirmed++;
}

static void note_end(struct sync_check *k, const struct sync_state *s, enum finding_kind kind,
                     int tile, int late)
{
    for (int i = 0; i < s->flights; i++) {
        const struct sync_access *a = access_at(k, s->flight[i].access);
        if (tile < 0 || a->tile == tile)
            note(k, s,
                 (struct sync_finding){.kind = kind,
                                       .early = a->site,
                                       .late = late,
                                       .tile = a->tile,
                                       .age = s->flight[i].age,
                                       .left = s->flight[i].left},
                 NULL, MEET_SURE);
    }
}

/* --- accesses --- */

static bool conflicts(int early, int late)
{
    return (early != TOUCH_READ || late != TOUCH_READ) &&
           !(early == TOUCH_ATOMIC && late == TOUCH_ATOMIC);
}

static void check_done(struct sync_check *k, const struct sync_state *s, int late)
{
    const struct sync_access *b = access_at(k, late);
    for (int i = 0; i < s->done; i++) {
        const struct sync_access *a = access_at(k, s->access[i]);
        if (a->tile != b->tile || !conflicts(a->kind, b->kind) ||
            (a->stored >= 0 && a->stored == b->stored))
            continue;
        struct meeting_at where;
        enum meeting met = sync_access_meet(k, s, s->access[i], late, false, &where);
        if (met != MEET_NEVER)
            note(k, s,
                 (struct sync_finding){.kind = FIND_RACE,
                                       .early = a->site,
                                       .late = b->site,
                                       .tile = a->tile,
                                       .waited = a->waited},
                 &where, met);
    }
}

static void check_flights(struct sync_check *k, const struct sync_state *s, int late)
{
    const struct sync_access *b = access_at(k, late);
    for (int i = 0; i < s->flights; i++) {
        const struct sync_access *a = access_at(k, s->flight[i].access);
        if (a->tile != b->tile)
            continue;
        struct meeting_at where;
        enum meeting met = sync_access_meet(k, s, s->flight[i].access, late, true, &where);
        if (met != MEET_NEVER)
            note(k, s,
                 (struct sync_finding){.kind = FIND_FLIGHT,
                                       .early = a->site,
                                       .late = b->site,
                                       .tile = a->tile,
                                       .age = s->flight[i].age,
                                       .left = s->flight[i].left},
                 &where, met);
    }
}

/* Returns true if the compiler itself orders the two accesses: a tile operation reads all of its
 * tiles before it writes any, but each thread reads an element when it gets there. */
static bool ordered_within(const struct touch *a, const struct touch *b)
{
    return (a->collective || b->collective) && !a->element && !b->element;
}

/* Checks the threads of one statement: the writes of each against the reads and writes of the
 * others in that statement. */
static void check_statement(struct sync_check *k, const struct sync_state *s, const int *access,
                            int count)
{
    for (int j = 0; j < count; j++)
        for (int i = 0; i <= j; i++) {
            const struct sync_access *a = access_at(k, access[i]), *b = access_at(k, access[j]);
            const struct touch *early = &k->code.touches.data[a->site];
            const struct touch *late = &k->code.touches.data[b->site];
            if (a->tile != b->tile || !conflicts(a->kind, b->kind) || ordered_within(early, late) ||
                (i == j && late->stored))
                continue;
            struct meeting_at where;
            enum meeting met = sync_access_meet(k, s, access[i], access[j], false, &where);
            if (met != MEET_NEVER)
                note(k, s,
                     (struct sync_finding){
                         .kind = FIND_SAME, .early = a->site, .late = b->site, .tile = a->tile},
                     &where, met);
        }
}

enum { MAX_TOUCHES = 512 };

static void step_touch(struct sync_check *k, struct sync_state *s, const struct sync_instr *in)
{
    int access[MAX_TOUCHES], count = 0;
    for (int i = 0; i < in->count; i++) {
        int site = in->first + i;
        int a = sync_access_make(k, s, site);
        if (a < 0)
            continue;
        if (count == MAX_TOUCHES) {
            k->gave_up = "a statement with very many accesses";
            return;
        }
        access[count++] = a;
    }
    for (int i = 0; i < count; i++) {
        check_done(k, s, access[i]);
        check_flights(k, s, access[i]);
    }
    if (count)
        check_statement(k, s, access, count);
    for (int i = 0; i < count; i++) {
        if (access_at(k, access[i])->kind == TOUCH_COPY)
            sync_state_launch(k, s, access[i]);
        else
            sync_state_touch(k, s, access[i]);
    }
}

/* --- scalars and masks --- */

static void step_set(struct sync_check *k, struct sync_state *s, const struct sync_instr *in)
{
    const struct sym *sym = k->code.slots.data[in->slot].sym;
    int v = sym->storage == ST_REG ? sync_eval_rows_set(k, s, in->expr)
                                   : sync_eval_value(k, s, in->expr);
    int mask = s->slot[in->mask], old = s->slot[in->slot];
    bool uniform = !sym->type.varying; /* all threads that get here have the same value */
    if (in->negate || mask == k->one || old == v || uniform) {
        s->slot[in->slot] = v;
        return;
    }
    if (mask == k->zero)
        return;
    if (old < 0)
        old = k->top;
    int args[3] = {mask, v, old};
    bool plain = !sync_value_at(k, v)->terms && !sync_value_at(k, old)->terms;
    s->slot[in->slot] = plain && sync_value_at(k, mask)->kind == VALUE_LANES
                            ? sync_value_op(k, OP_SELECT, DT_I64, args, 3)
                            : k->top;
}

/* Exact: splits the path at a condition that an unknown decides. The condition is true in every
 * thread on one path, and false in every thread on the other. Returns true if a path was found. */
static bool fork_mask(struct sync_check *k, struct sync_state *s, const struct sync_instr *in)
{
    bool forked = false;
    int outer = s->slot[in->mask];
    for (int truth = 1; truth >= 0; truth--) {
        struct sync_state copy;
        sync_state_copy(k, &copy, s);
        if (!sync_force_condition(k, &copy, in->expr, in->negate == (truth == 1)))
            continue;
        copy.slot[in->slot] = truth ? outer : k->zero;
        sync_state_park(k, &copy, s->pc + 1);
        forked = true;
        k->doubts = true; /* the case of true in some threads and false in others is left out */
    }
    return forked;
}

static bool any_lane(const struct sync_check *k, int v, int64_t wanted)
{
    const struct sync_value *x = sync_value_at(k, v);
    const int64_t *lanes = sync_value_lanes_at(k, x);
    if (!lanes)
        return x->kind == VALUE_TOP ? wanted == LANE_UNKNOWN : x->c == wanted;
    for (int t = 0; t < k->threads; t++)
        if (lanes[t] == wanted)
            return true;
    return false;
}

/* Computes a mask. Returns true if the path continues with the next instruction. */
static bool step_mask(struct sync_check *k, struct sync_state *s, const struct sync_instr *in)
{
    int fresh = s->fresh;
    int mask = sync_eval_mask(k, s, s->slot[in->mask], in->expr, in->negate);
    if (k->exact && in->expr && any_lane(k, mask, LANE_UNKNOWN)) {
        s->fresh = fresh;
        if (fork_mask(k, s, in))
            return false;
        mask = sync_eval_mask(k, s, s->slot[in->mask], in->expr, in->negate);
    }
    s->slot[in->slot] = mask;
    return true;
}

static bool step_skip(struct sync_check *k, struct sync_state *s, const struct sync_instr *in)
{
    int mask = s->slot[in->mask];
    if (any_lane(k, mask, 1))
        return true;
    if (any_lane(k, mask, LANE_UNKNOWN)) /* some thread may get here, or none */
        sync_state_park(k, s, s->pc + 1);
    sync_state_park(k, s, in->target);
    return false;
}

/* --- branches --- */

static bool step_branch(struct sync_check *k, struct sync_state *s, const struct sync_instr *in)
{
    struct sync_split split;
    sync_eval_condition(k, s, in->expr, &split);
    if (split.decided) {
        s->pc = split.truth ? s->pc : in->target - 1;
        return true;
    }
    if (split.form < 0) {
        s->unsure = k->exact;
        sync_state_park(k, s, s->pc + 1);
        sync_state_park(k, s, in->target);
        return false;
    }
    for (int i = 0; i < split.true_parts + split.false_parts; i++) {
        struct sync_state copy;
        sync_state_copy(k, &copy, s);
        bool truth = i < split.true_parts;
        int j = truth ? i : i - split.true_parts;
        if (sync_fact_add(k, &copy, split.form, truth ? split.true_low[j] : split.false_low[j],
                          truth ? split.true_high[j] : split.false_high[j]))
            sync_state_park(k, &copy, truth ? s->pc + 1 : in->target);
    }
    return false;
}

/* Runs one instruction. Returns true if the path continues with the next one. */
static bool step(struct sync_check *k, struct sync_state *s)
{
    const struct sync_instr *in = &k->code.code.data[s->pc];
    int64_t n = 0;
    bool possible = true;
    k->at = s->pc;
    switch (in->kind) {
    case I_TOUCH: step_touch(k, s, in); return true;
    case I_SYNC: s->done = 0; return true;
    case I_COMMIT: sync_state_commit(k, s); return true;
    case I_WAIT:
        eval_int(in->expr, NULL, &n);
        sync_state_wait(k, s, n);
        return true;
    case I_SET: step_set(k, s, in); return true;
    case I_FORGET: s->slot[in->slot] = -1; return true;
    case I_FILL:
        s->slot[in->slot] = k->exact ? sync_eval_filling(k, s, in->negate) : -1;
        return true;
    case I_BRANCH: return step_branch(k, s, in);
    case I_JUMP: s->pc = in->target - 1; return true;
    case I_ASSUME: sync_eval_assume(k, s, in->expr, &possible); return possible;
    case I_ENTER: s->visits[in->loop] = 0; return true;
    case I_HEAD:
        if (!sync_state_head(
                k, s, in->loop,
                sync_eval_ends_by_numbers(k, s, k->code.loops.data[in->loop].condition)))
            return true;
        sync_state_park(k, s, s->pc + 1);
        return false;
    case I_JOIN: sync_state_park(k, s, s->pc + 1); return false;
    case I_MASK: return step_mask(k, s, in);
    case I_MURKY: s->slot[in->slot] = s->slot[in->slot] == k->zero ? k->zero : k->top; return true;
    case I_SKIP: return step_skip(k, s, in);
    case I_DEAD:
    case I_FREE:
        note_end(k, s, in->kind == I_DEAD ? FIND_SCOPE : FIND_FREE, in->tile, in->first);
        sync_state_land(k, s, in->tile);
        return true;
    case I_END: note_end(k, s, FIND_END, -1, s->pc); return false;
    }
    return false;
}

void sync_explore(struct sync_check *k)
{
    struct sync_state *s = arena_new(k->arena, struct sync_state);
    sync_interner_init(&k->states, k->arena);
    sync_interner_init(&k->heads, k->arena);
    size_t words = sizeof *s / sizeof(int32_t);
    if (!k->blob)
        k->blob = arena_array(k->arena, int32_t, words);
    k->steps = 0;
    k->stored = 0;
    sync_state_begin(k, s);
    sync_eval_grid_facts(k, s);
    sync_state_park(k, s, 0);
    for (size_t i = 0; i < k->states.item.count; i++) {
        sync_state_load(k, (int)i, s);
        do {
            if (++k->steps > k->step_limit)
                k->gave_up = "too many steps";
            arena_poll(k->arena);
            if (k->gave_up)
                return;
        } while (step(k, s) && ++s->pc);
        if (k->confirmed && k->confirmed == (int)k->findings.count)
            return;
    }
}
