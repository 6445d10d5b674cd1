/* Lanes that go past an aligned barrier while other lanes of their warp wait at it. PTX ISA,
 * barrier: with .aligned, all threads of the warp that have not exited must execute the same
 * barrier. Lanes that only exit the kernel from their place may do so. Lanes have skipped the
 * barrier if, before they exit, they will execute code that the waiting lanes execute after it.
 *
 * Such a place is on all paths to the end, both from the lanes' place and from the barrier: it
 * is a common post-dominator of both. The tree of immediate post-dominators is made when it is
 * first needed for a function (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm",
 * 2001). */
#include "sim/sim_machine.h"

#define NOWHERE UINT32_MAX

/* The nodes are the function's ops, one more after the last, and `end`, which is the function's
 * exit. */
struct search {
    const struct sim_code *code;
    uint32_t end;
    uint32_t *first, *to;       /* the nodes that may come before a node */
    uint32_t *order, *number;   /* nodes in postorder from the end; position of each */
    uint32_t count, *immediate; /* by node */
};

/* --- paths through a function --- */

static bool is_guarded(const struct sim_op *op)
{
    return op->ins && op->ins->guarded;
}

static bool ends(const struct sim_op *op)
{
    return !op->ins || op->ins->op == PTX_RET || op->ins->op == PTX_EXIT || op->ins->op == PTX_TRAP;
}

/* Returns the n-th node that may follow a node; NOWHERE: there are fewer. */
static uint32_t follower(const struct search *s, uint32_t node, uint32_t n)
{
    const struct sim_op *op = &s->code->ops[node];
    uint32_t jumps = 0;
    if (node == s->end)
        return NOWHERE;
    if (ends(op)) {
        jumps = 1;
        if (n == 0)
            return s->end;
    } else if (op->ins->op == PTX_BRA) {
        jumps = 1;
        if (n == 0)
            return op->target;
    } else if (op->ins->op == PTX_BRX_IDX) {
        jumps = op->more_count;
        if (n < jumps)
            return op->more[n];
    }
    return n == jumps && op->ins && (!jumps || is_guarded(op)) ? node + 1 : NOWHERE;
}

static void turn_round(struct search *s, struct arena *a)
{
    uint32_t nodes = s->end + 1, next;
    s->first = arena_array(a, uint32_t, nodes + 2);
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t n = 0; (next = follower(s, i, n)) != NOWHERE; n++)
            s->first[next + 2]++;
    for (uint32_t i = 0; i < nodes; i++)
        s->first[i + 2] += s->first[i + 1];
    s->to = arena_array(a, uint32_t, s->first[nodes + 1] + 1);
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t n = 0; (next = follower(s, i, n)) != NOWHERE; n++)
            s->to[s->first[next + 1]++] = i;
}

static void put_in_order(struct search *s, struct arena *a)
{
    uint32_t nodes = s->end + 1, depth = 0;
    uint32_t *stack = arena_array(a, uint32_t, nodes + 1), *edge = arena_array(a, uint32_t, nodes);
    s->order = arena_array(a, uint32_t, nodes);
    s->number = arena_array(a, uint32_t, nodes);
    for (uint32_t i = 0; i < nodes; i++) {
        edge[i] = s->first[i];
        s->number[i] = NOWHERE;
    }
    stack[depth++] = s->end;
    s->number[s->end] = 0;
    while (depth) {
        uint32_t node = stack[depth - 1];
        if (edge[node] == s->first[node + 1]) {
            s->number[node] = s->count;
            s->order[s->count++] = node;
            depth--;
            continue;
        }
        uint32_t before = s->to[edge[node]++];
        if (s->number[before] != NOWHERE)
            continue;
        s->number[before] = 0;
        stack[depth++] = before;
    }
}

static uint32_t common(const struct search *s, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (s->number[a] < s->number[b])
            a = s->immediate[a];
        while (s->number[b] < s->number[a])
            b = s->immediate[b];
    }
    return a;
}

static void find_immediate(struct search *s, struct arena *a)
{
    uint32_t nodes = s->end + 1, next;
    s->immediate = arena_array(a, uint32_t, nodes);
    for (uint32_t i = 0; i < nodes; i++)
        s->immediate[i] = NOWHERE;
    s->immediate[s->end] = s->end;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = s->count - 1; i-- > 0;) {
            uint32_t node = s->order[i], found = NOWHERE;
            for (uint32_t n = 0; (next = follower(s, node, n)) != NOWHERE; n++)
                if (s->number[next] != NOWHERE && s->immediate[next] != NOWHERE)
                    found = found == NOWHERE ? next : common(s, found, next);
            changed |= s->immediate[node] != found;
            s->immediate[node] = found;
        }
    }
}

static const struct search *search_of(struct sim *sim, struct sim_code *code)
{
    if (code->ways)
        return code->ways;
    struct search *s = arena_new(sim->arena, struct search);
    *s = (struct search){.code = code, .end = code->count + 1};
    turn_round(s, sim->arena);
    put_in_order(s, sim->arena);
    find_immediate(s, sim->arena);
    code->ways = s;
    return s;
}

/* --- lanes --- */

/* Returns true if from here on lanes only exit the kernel. */
static bool only_leaves(const struct sim_frame *frame, const struct sim_op *op)
{
    for (uint32_t steps = 0; steps <= frame->code->count; steps++) {
        if (!op->ins || is_guarded(op))
            return false;
        if (op->ins->op == PTX_BRA) {
            op = frame->code->ops + op->target;
        } else if (op->ins->op == PTX_RET && frame->parent) {
            op = frame->call + 1;
            frame = frame->parent;
            steps = 0;
        } else {
            return op->ins->op == PTX_RET || op->ins->op == PTX_EXIT;
        }
    }
    return false;
}

static bool meets_after(struct sim *sim, const struct sim_frame *frame,
                        const struct sim_op *barrier, const struct sim_op *op)
{
    const struct search *s = search_of(sim, frame->code);
    uint32_t from = (uint32_t)(barrier - frame->code->ops), at = (uint32_t)(op - frame->code->ops);
    if (from == at || s->number[from] == NOWHERE || s->number[at] == NOWHERE)
        return false;
    uint32_t meeting = common(s, from, at);
    if (meeting == s->end)
        return frame->parent && !only_leaves(frame->parent, frame->call + 1);
    return meeting != from && !only_leaves(frame, &frame->code->ops[meeting]);
}

static bool skips(const struct sim_warp *w, const struct sim_op *barrier, const struct sim_path *p)
{
    const struct sim_frame *a = w->frame, *b = p->frame;
    const struct sim_op *op = p->pc;
    while (a != b) {
        if (a->depth >= b->depth) {
            barrier = a->call;
            a = a->parent;
        } else {
            op = b->call;
            b = b->parent;
        }
        if (!a || !b)
            return false;
    }
    return meets_after(w->sim, a, barrier, op);
}

uint32_t sim_skipping(const struct sim_warp *w, const struct sim_op *barrier,
                      struct sim_place *where)
{
    uint32_t lanes = 0;
    for (int i = 0; i < w->path_count; i++) {
        const struct sim_path *p = &w->paths[i];
        if (i == w->path || p->wait == SIM_WAIT_BARRIER || !skips(w, barrier, p))
            continue;
        sim_place_of(w, p->pc, where);
        where->function = p->frame->code->function;
        lanes |= p->mask;
    }
    return lanes;
}
