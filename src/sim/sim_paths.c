/* Paths of a warp that split, wait, and act together (sim_warp.c says what a path is). */
#include "sim/sim_machine.h"

static struct sim_path *add_path(struct sim_warp *w, const struct sim_path *like, uint32_t mask,
                                 const struct sim_op *pc)
{
    struct sim_path *p = &w->paths[w->path_count++];
    *p = (struct sim_path){.frame = like->frame, .pc = pc, .mask = mask, .turn = like->turn};
    return p;
}

void sim_split_to(struct sim_warp *w, const struct sim_op *rest, uint32_t mask,
                  const struct sim_op *to)
{
    struct sim_path *here = &w->paths[w->path];
    w->state = SIM_CHOOSES;
    if (here->mask & ~mask)
        add_path(w, here, here->mask & ~mask, rest);
    here->mask = mask;
    here->pc = to;
}

/* Splits a path: `mask` stays at op, the other lanes go on after it. */
static struct sim_path *split(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    sim_split_to(w, op + 1, mask, op);
    return &w->paths[w->path];
}

bool sim_wait_here(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                   enum sim_pending what)
{
    split(w, op, mask)->wait = (uint8_t)what;
    return false;
}

/* --- lanes that act together --- */

/* Returns the lanes of other paths at a bar.warp.sync. That instruction meets any other
 * bar.warp.sync; other instructions meet only themselves, with lanes that have already arrived. */
static uint32_t also_at_barrier(const struct sim_warp *w)
{
    uint32_t lanes = 0;
    for (int i = 0; i < w->path_count; i++) {
        const struct sim_path *p = &w->paths[i];
        if (i != w->path && p->wait == SIM_WAIT_LANES && p->pc->ins &&
            p->pc->ins->op == PTX_BAR_WARP_SYNC)
            lanes |= p->mask;
    }
    return lanes;
}

/* Lets lanes at another bar.warp.sync go on after it. */
static void release_elsewhere(struct sim_warp *w, uint32_t lanes)
{
    int count = w->path_count;
    for (int i = 0; i < count; i++) {
        struct sim_path *p = &w->paths[i];
        uint32_t free = p->mask & lanes;
        if (i == w->path || p->wait != SIM_WAIT_LANES || !free)
            continue;
        if (p->mask & ~free) {
            p->mask &= ~free;
            add_path(w, p, free, p->pc + 1);
        } else {
            p->pc++;
            p->wait = SIM_WAIT_NOTHING;
        }
    }
}

static bool tell_in_step(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                         const uint32_t members[SIM_LANES], bool *reported)
{
    struct sim_sync_event event = {.kind = SIM_WARP_SYNC,
                                   .orders = op->ins->op == PTX_BAR_WARP_SYNC && !reported,
                                   .reported = reported};
    sim_place_of(w, op, &event.at);
    while (mask) {
        event.members = members[__builtin_ctz(mask)];
        event.mask = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            if (members[__builtin_ctz(rest)] == event.members)
                event.mask |= rest & -rest;
        mask &= ~event.mask;
        if (!sim_notify_sync(w, &event))
            return false;
    }
    return true;
}

/* Handles lanes that are not in their own mask. PTX ISA leaves their behaviour open; they go on
 * if an observer reports that. */
static bool go_on_without_mask(struct sim_warp *w, const struct sim_op *op, uint32_t lanes,
                               const uint32_t members[SIM_LANES])
{
    bool reported = false;
    int first = __builtin_ctz(lanes);
    if (w->observed && !tell_in_step(w, op, lanes, members, &reported))
        return false;
    return reported || sim_stop(w, op, "lane %d is not in its mask 0x%08x", first, members[first]);
}

uint32_t sim_gather(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                    const uint32_t members[SIM_LANES])
{
    uint32_t ready = 0, here = mask, elsewhere = 0, outside = 0;
    w->paths[w->path].members = 0;
    if (w->path_count > 1 && op->ins->op == PTX_BAR_WARP_SYNC)
        here |= also_at_barrier(w);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t bit = rest & -rest, need = members[__builtin_ctz(rest)];
        outside |= bit & ~need;
        w->paths[w->path].members |= need;
        if (!(need & w->alive & ~here)) {
            ready |= bit;
            elsewhere |= need & ~mask;
        }
    }
    if (outside && !go_on_without_mask(w, op, outside, members))
        return 0;
    if (w->observed && ready & ~outside && !tell_in_step(w, op, ready & ~outside, members, NULL))
        return 0;
    if (elsewhere && here != mask)
        release_elsewhere(w, elsewhere);
    return ready;
}

bool sim_proceed(struct sim_warp *w, const struct sim_op *op, uint32_t mask, uint32_t done)
{
    if (done == mask && w->path_count == 1 && !w->sim->over)
        return true;
    w->state = SIM_CHOOSES;
    if (w->sim->over)
        return false;
    if (done == mask) {
        w->paths[w->path].pc = op + 1;
        return false;
    }
    struct sim_path *p = split(w, op, mask & ~done);
    p->wait = SIM_WAIT_LANES;
    p->members &= ~p->mask;
    return false;
}

/* Tells observers that lanes of the warp will never execute an instruction that all 32 must execute:
 * they have exited, or the block has no threads for them. */
static bool tell_missing(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_sync_event event = {
        .kind = SIM_WARP_SYNC, .mask = mask, .members = UINT32_MAX, .aligned = true};
    sim_place_of(w, op, &event.at);
    return sim_notify_sync(w, &event);
}

bool sim_gather_all(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (!(w->alive & ~mask))
        return mask == UINT32_MAX || !w->observed || tell_missing(w, op, mask);
    struct sim_path *p = split(w, op, mask);
    p->wait = SIM_WAIT_LANES;
    p->members = w->alive & ~mask;
    return false;
}
