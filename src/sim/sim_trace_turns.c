/* Loops and their turns.
 *
 * A loop of the source may be several loops in the code, or none: its body may have copies, and
 * turns may be unrolled. Marks give the places of the copies, so that each instruction has a nest:
 * the loops around it, and the copy of each body that it is in. A turn of the source ends when a
 * warp goes from one copy to the next, at the code's branch back, or when all its lanes have left
 * the loop.
 *
 * Without marks, in PTX of other compilers, each branch back ends a turn of a loop. */
#include "sim/sim_trace_own.h"

enum {
    MOST_SNAPSHOTS = 4 << 20, /* bytes */
    MOST_LOOP_SITES = 1023    /* most loops with turns that end away from their branch */
};

/* --- before the launch --- */

void sim_trace_add_loop(struct sim_trace *t, const struct sim_trace_loop *l)
{
    vec_push(t->arena, &t->loops, ((struct trace_loop){.source = true, .is = *l}));
}

void sim_trace_mark(struct sim_trace *t, const struct sim_trace_mark *m)
{
    vec_push(t->arena, &t->marks, *m);
}

/* Returns the nest of the instructions after the mark. */
static uint32_t pass_mark(struct sim_trace *t, uint32_t nest, const struct sim_trace_mark *m)
{
    struct trace_nest now = t->nests.data[nest],
                      next = {now.outer, now.begin, m->loop, m->copy, m->instruction};
    switch (m->kind) {
    case SIM_TRACE_LOOP_ENDS: return now.outer;
    case SIM_TRACE_BRANCH_NEXT: return nest;
    case SIM_TRACE_COPY_BEGINS: t->nests.data[now.begin].last = m->instruction; break;
    case SIM_TRACE_LOOP_BEGINS:
        next.outer = nest;
        next.begin = (uint32_t)t->nests.count;
        next.copy = -1;
        break;
    }
    vec_push(t->arena, &t->nests, next);
    return (uint32_t)t->nests.count - 1;
}

/* Notes a branch back that ends the turns of a loop: of the source, or (-1) of one that the
 * compiler made. */
static void find_branch(struct sim_trace *t, const struct ptx_statement *s, int loop)
{
    bool added;
    if (loop < 0) {
        vec_push(t->arena, &t->loops, ((struct trace_loop){.is = {0}}));
        loop = (int)t->loops.count - 1;
    }
    struct trace_loop *l = &t->loops.data[loop];
    if (!l->branch) {
        l->branch = s->instruction;
        l->where = s->where;
    }
    number_map_entry(t->arena, &t->loop_of, (uintptr_t)s->instruction, &added)->value =
        (uint64_t)loop + 1;
}

void sim_trace_find_loops(struct sim_trace *t)
{
    const struct ptx_function *f = t->kernel;
    uint32_t nest = 0, number = 0;
    size_t mark = 0;
    int next = -1; /* the loop that the next branch back belongs to */
    vec_push(t->arena, &t->nests, ((struct trace_nest){.loop = -1, .copy = -1}));
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        bool added;
        if (s->kind != PTX_AT_INSTRUCTION)
            continue;
        for (; mark < t->marks.count && t->marks.data[mark].instruction <= number; mark++) {
            const struct sim_trace_mark *m = &t->marks.data[mark];
            nest = pass_mark(t, nest, m);
            next = m->kind == SIM_TRACE_BRANCH_NEXT ? m->loop : -1;
        }
        if (nest)
            number_map_entry(t->arena, &t->nest_of, (uintptr_t)s->instruction, &added)->value =
                (uint64_t)number << 32 | nest;
        number++;
        if (s->instruction->op == PTX_BRA && s->instruction->operands[0].kind == PTX_LABEL &&
            s->instruction->operands[0].label->statement <= i) {
            find_branch(t, s, next);
            next = -1;
        }
    }
}

/* --- the turns of a warp --- */

static uint32_t nest_at(const struct sim_trace *t, const struct ptx_instruction *ins,
                        uint32_t *number)
{
    const struct number_entry *e = number_map_find(&t->nest_of, (uintptr_t)ins);
    *number = e ? (uint32_t)(e->value >> 32) : 0;
    return e ? (uint32_t)e->value : 0;
}

uint32_t sim_trace_nest(const struct sim_trace *t, const struct ptx_instruction *ins)
{
    uint32_t number;
    return nest_at(t, ins, &number);
}

void sim_trace_keep_registers(struct sim_trace *t, const struct sim_step *step, uint32_t event)
{
    for (size_t v = 0; v < t->variables.count; v++) {
        const struct sim_trace_variable *x = &t->variables.data[v];
        size_t start = t->snapshots.count, bytes = (size_t)(x->words * x->word_bytes) * SIM_LANES;
        if (event == TRACE_NO_EVENT || start + bytes > MOST_SNAPSHOTS)
            return;
        vec_push(t->arena, &t->snapshot_event, event);
        vec_push(t->arena, &t->snapshot_variable, (uint16_t)v);
        vec_push(t->arena, &t->snapshot_start, (uint32_t)start);
        for (int r = 0; r < x->words; r++) {
            int each;
            const uint8_t *lanes = sim_register_lanes(step, x->registers[r], &each);
            for (int i = 0; i < SIM_LANES * x->word_bytes; i++)
                vec_push(t->arena, &t->snapshots, each == x->word_bytes ? lanes[i] : 0);
        }
    }
}

/* Ends a turn of the loop; its warp is at another instruction than the loop's branch. */
static void add_turn(struct sim_trace *t, const struct sim_step *step, int loop, bool again)
{
    struct trace_turns *turns = &t->warp.data[step->at.warp].turns[loop];
    if (t->loops.data[loop].is.warp && loop < MOST_LOOP_SITES) {
        struct trace_event e = {.mask = step->lanes,
                                .base = turns->done,
                                .stride = loop,
                                .kind = TRACE_TURN,
                                .flags = again ? TRACE_AGAIN : 0};
        int site = sim_trace_site(t, &step->at, false, SIM_GLOBAL, loop + 1, 0, TRACE_TURN);
        if (site >= 0) {
            t->sites.data[site].bytes = 0;
            t->sites.data[site].turn_of = loop + 1;
        }
        sim_trace_keep_registers(t, step, sim_trace_add_event(t, step->at.warp, &e, site));
    }
    turns->done++;
}

/* Notes that the warp is in that copy of a loop's body. */
static void come_to(struct sim_trace *t, const struct sim_step *step, int loop, int copy)
{
    struct trace_turns *turns = &t->warp.data[step->at.warp].turns[loop];
    if (turns->open && copy > turns->copy && t->loops.data[loop].is.warp)
        add_turn(t, step, loop, true);
    if (!turns->open || copy > turns->copy || copy == 0)
        turns->copy = copy;
    turns->open = true;
}

/* Notes that the lanes are out of the loop. */
static void leave(struct sim_trace *t, const struct sim_step *step, int loop, uint32_t lanes)
{
    struct trace_turns *turns = &t->warp.data[step->at.warp].turns[loop];
    if (!turns->lanes || (turns->lanes &= ~lanes))
        return;
    if (turns->open)
        add_turn(t, step, loop, false);
    *turns = (struct trace_turns){0};
}

/* Handles inner loops before outer ones, so that their turns end first. */
static void go_to(struct sim_trace *t, const struct sim_step *step, uint32_t nest)
{
    struct trace_warp *w = &t->warp.data[step->at.warp];
    for (int i = (int)t->loops.count - 1; i >= 0; i--) {
        struct trace_turns *turns = &w->turns[i];
        uint32_t n = nest;
        while (n && t->nests.data[n].loop != i)
            n = t->nests.data[n].outer;
        const struct trace_nest *in = &t->nests.data[n];
        if (!n || in->begin != turns->begin)
            leave(t, step, i, n ? UINT32_MAX : step->lanes);
        if (!n)
            continue;
        turns->begin = in->begin;
        turns->lanes |= step->lanes;
        if (in->copy >= 0)
            come_to(t, step, i, in->copy);
    }
}

void sim_trace_leave_loops(struct sim_trace *t, const struct sim_step *step)
{
    for (int i = (int)t->loops.count - 1; i >= 0; i--)
        leave(t, step, i, step->mask);
}

/* Ends a turn for the lanes that go on to another turn, and for those that leave the loop of the
 * code. */
static void end_turn(struct sim_trace *t, const struct sim_step *step, int loop)
{
    const struct trace_loop *l = &t->loops.data[loop];
    struct trace_turns *turns = &t->warp.data[step->at.warp].turns[loop];
    uint32_t left = step->lanes & ~step->mask, event = TRACE_NO_EVENT, number;
    const struct trace_nest *nest = &t->nests.data[nest_at(t, step->at.ins, &number)];
    if (l->source && !l->is.warp)
        turns->done += (uint32_t)turns->copy;
    struct trace_event e = {.base = turns->done, .stride = loop, .kind = TRACE_TURN};
    int site = sim_trace_site(t, &step->at, false, SIM_GLOBAL, 0, 0, TRACE_TURN);
    if (step->mask) {
        e.mask = step->mask;
        e.flags = TRACE_AGAIN;
        event = sim_trace_add_event(t, step->at.warp, &e, site);
    }
    if (left) {
        e.mask = left;
        e.flags = l->source && number < t->nests.data[nest->begin].last ? TRACE_AGAIN : 0;
        uint32_t last = sim_trace_add_event(t, step->at.warp, &e, site);
        event = event == TRACE_NO_EVENT ? last : event;
    }
    turns->done = step->mask || l->source ? turns->done + 1 : 0;
    turns->open = false;
    sim_trace_keep_registers(t, step, event);
}

void sim_trace_turn(struct sim_trace *t, const struct sim_step *step)
{
    struct trace_warp *w = &t->warp.data[step->at.warp];
    const struct ptx_instruction *ins = step->at.ins;
    uint32_t nest = sim_trace_nest(t, ins);
    if (t->marks.count && step->at.function == t->kernel &&
        (nest != w->nest || step->lanes != w->lanes)) {
        w->nest = nest;
        w->lanes = step->lanes;
        go_to(t, step, nest);
    }
    const struct number_entry *e =
        ins->op == PTX_BRA ? number_map_find(&t->loop_of, (uintptr_t)ins) : NULL;
    if (e) {
        end_turn(t, step, (int)e->value - 1);
        w->nest = UINT32_MAX;
    }
}
