/* Marks of the program's loops, for traces: where each of them begins and ends, and the copies of its body. */
#include "nvptx/nvptx_own.h"

static bool is_in(const struct thread_turn *turn, const struct thread_source_loop *loop)
{
    while (turn && turn->in && turn->in != loop)
        turn = turn->in->outer;
    return turn && turn->in == loop;
}

/* Marks the ends of the loops that the next turn is not in. Returns the turn that is left. */
static const struct thread_turn *end_loops(struct nvptx *n, const struct thread_turn *now,
                                           const struct thread_turn *next)
{
    while (now && now->in && !is_in(next, now->in)) {
        ptx_mark(&n->build, PTX_LOOP_ENDS, now->in->loop, 0);
        now = now->in->outer;
    }
    return now;
}

/* Marks the beginnings of loops and copies from `now` to `next`, which is in all loops of `now`. An operation that a pass moved
 * to an earlier or to a later copy of a body belongs to that one. */
static void begin_loops(struct nvptx *n, const struct thread_turn *now,
                        const struct thread_turn *next)
{
    const bool inside = is_in(now, next->in), here = inside && now->in == next->in;
    if (!inside) {
        if (next->in->outer->in)
            begin_loops(n, now, next->in->outer);
        ptx_mark(&n->build, PTX_LOOP_BEGINS, next->in->loop, 0);
    }
    if (here ? next->copy > now->copy || (next->copy < 0 && now->copy >= 0) : next->copy >= 0)
        ptx_mark(&n->build, PTX_COPY_BEGINS, next->in->loop, next->copy);
}

void nvptx_enter(struct nvptx *n, const struct thread_turn *turn)
{
    if (!turn || turn == n->turn)
        return;
    const struct thread_turn *now = end_loops(n, n->turn, turn);
    const bool earlier =
        now && now->in && now->in == turn->in && turn->copy >= 0 && turn->copy < now->copy;
    n->turn = earlier ? now : turn;
    if (turn->in && !earlier)
        begin_loops(n, now, turn);
}

void nvptx_goes_back(struct nvptx *n, const struct thread_operation *loop)
{
    const struct thread_turn *t = loop->turn;
    if (t && t->in && t->copy < 0)
        ptx_mark(&n->build, PTX_BRANCH_NEXT, t->in->loop, 0);
}
