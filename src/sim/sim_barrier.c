/* Barriers of the block and of the warp; fences.
 *
 * As on sm_70 and later, each thread arrives for itself: the lanes of a warp may reach a barrier
 * on different paths. A barrier without a count is complete when all threads that have not
 * exited have arrived. A barrier with a count is complete when that number of threads has
 * arrived; a full warp counts as 32. */
#include "sim/sim_machine.h"

#include <assert.h>

enum action { BAR_SYNC, BAR_ARRIVE, BAR_RED };

static bool tell_barrier(struct sim_warp *w, const struct sim_op *op, enum sim_sync kind,
                         uint32_t mask, int id, int expected)
{
    if (!w->observed)
        return true;
    struct sim_sync_event event = {
        .kind = kind,
        .mask = mask,
        .id = id,
        .expected = expected,
        .generation = id >= 0 && id < 16 ? w->block->barriers[id].generation : 0,
        .aligned = op->ins->op == PTX_BAR || ptx_has(op->ins, MOD_ALIGNED),
        .reduces = op->small == BAR_RED,
        .waits = op->small != BAR_ARRIVE};
    sim_place_of(w, op, &event.at);
    if (kind == SIM_BARRIER_ARRIVE && event.aligned && w->alive & ~mask)
        event.skipping = sim_skipping(w, op, &event.skipping_at) & ~mask;
    return sim_notify_sync(w, &event);
}

/* Gives the result of bar.red to the lanes that wait at it. */
static void give(struct sim_warp *w, const struct sim_path *p, const struct sim_barrier *b)
{
    const struct sim_op *op = p->pc;
    uint8_t *file = p->frame->file;
    (void)w;
    if (op->small != BAR_RED)
        return;
    if (op->small2 == MOD_POPC) {
        uint32_t *d = sim_u32(file, op->slot[0]);
        for (uint32_t rest = p->mask; rest; rest &= rest - 1)
            d[__builtin_ctz(rest)] = b->sum;
    } else {
        uint32_t *d = sim_u32(file, op->slot[0]);
        bool is = op->small2 == MOD_AND ? b->all : b->any;
        *d = (*d & ~p->mask) | (is ? p->mask : 0);
    }
}

static void release(struct sim_block *block, int id)
{
    assert(id >= 0 && id < 16);
    struct sim_barrier *b = &block->barriers[id];
    for (int i = 0; i < block->warp_count; i++) {
        struct sim_warp *w = &block->warps[i];
        struct sim_frame *frame = w->frame;
        b->arrived[i] = 0;
        for (int k = 0; k < w->path_count; k++) {
            struct sim_path *p = &w->paths[k];
            if (p->wait != SIM_WAIT_BARRIER || p->barrier != id)
                continue;
            give(w, p, b);
            w->frame = p->frame; /* the event names a function of this frame */
            tell_barrier(w, p->pc, SIM_BARRIER_LEAVE, p->mask, id, b->expected);
            w->frame = frame;
            p->wait = SIM_WAIT_NOTHING;
            p->pc++;
        }
        w->sim->changes++;
    }
    b->generation++;
    b->expected = 0;
    b->count = 0;
    b->op = NULL;
}

static bool is_complete(const struct sim_block *block, const struct sim_barrier *b)
{
    if (b->expected > 0)
        return b->count >= b->expected;
    for (int i = 0; i < block->warp_count; i++)
        if (block->warps[i].alive & ~b->arrived[i])
            return false;
    return b->expected != 0;
}

/* Counts arriving lanes; a warp whose lanes have all arrived counts as 32 threads. */
static void count_lanes(const struct sim_warp *w, struct sim_barrier *b, uint32_t lanes)
{
    assert(w->number < w->block->warp_count);
    uint32_t *arrived = &b->arrived[w->number];
    int before = __builtin_popcount(*arrived);
    *arrived |= lanes;
    if (b->expected == -1 || !*arrived)
        return;
    b->count -= before;
    if (w->alive & ~*arrived) {
        b->count += __builtin_popcount(*arrived);
    } else {
        b->count += SIM_LANES;
        *arrived = 0;
    }
}

/* Completes barriers after lanes exit: the remaining lanes of a warp may all be waiting. */
void sim_barriers_after_exit(struct sim_warp *w)
{
    for (int id = 0; id < 16; id++) {
        struct sim_barrier *b = &w->block->barriers[id];
        count_lanes(w, b, 0);
        if (b->expected && !w->sim->over && is_complete(w->block, b))
            release(w->block, id);
    }
}

static void reduce_lanes(struct sim_warp *w, const struct sim_op *op, struct sim_barrier *b,
                         uint32_t lanes)
{
    uint32_t p = *sim_u32(w->file, op->slot[3]) ^ (op->imm ? SIM_ALL : 0);
    b->sum += (uint32_t)__builtin_popcount(p & lanes);
    b->all = b->all && !(lanes & ~p);
    b->any = b->any || (lanes & p);
}

static bool begin(struct sim_warp *w, const struct sim_op *op, struct sim_barrier *b, int expected)
{
    if (!expected || (expected > 0 && expected % SIM_LANES))
        return sim_stop(w, op, "a barrier waits for a multiple of 32 threads, at most 1024");
    if (!b->expected) {
        b->op = op;
        b->expected = expected;
        b->count = 0;
        b->sum = 0;
        b->all = true;
        b->any = false;
        b->reduces = op->small == BAR_RED ? op->small2 : 0;
        return true;
    }
    if (b->expected != expected)
        return sim_stop(w, op, "the barrier waits for %d threads already, not for %d (-1: all)",
                        b->expected, expected);
    if (b->reduces != (op->small == BAR_RED ? op->small2 : 0) && op->small != BAR_ARRIVE)
        return sim_stop(w, op, "other threads are at the barrier with another instruction");
    return true;
}

/* Returns the lanes that have the same number as the first one. */
static uint32_t lanes_alike(const uint32_t *numbers, uint32_t mask)
{
    uint32_t lanes = 0, number = numbers[__builtin_ctz(mask)];
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        if (numbers[__builtin_ctz(rest)] == number)
            lanes |= rest & -rest;
    return lanes;
}

/* op->bytes: 1 if the number and the count are constants, which all lanes share. */
static bool bar(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *ids = sim_u32(w->file, op->slot[1]);
    const uint32_t *counts = op->slot[2] != SIM_NO_SLOT ? sim_u32(w->file, op->slot[2]) : NULL;
    int first = __builtin_ctz(mask);
    uint32_t id = ids[first], count = counts ? counts[first] : 0, lanes = mask;
    if (!op->bytes)
        lanes &= lanes_alike(ids, mask) & (counts ? lanes_alike(counts, mask) : SIM_ALL);
    int expected = !counts ? -1 : count > 1024 ? 0 : (int)count;
    if (!tell_barrier(w, op, SIM_BARRIER_ARRIVE, lanes, (int)id, expected))
        return false;
    if (id > 15)
        return sim_stop(w, op, "there is no barrier %u: 0 to 15", id);
    struct sim_barrier *b = &w->block->barriers[id];
    if (!begin(w, op, b, expected))
        return false;
    if (op->small == BAR_RED)
        reduce_lanes(w, op, b, lanes);
    count_lanes(w, b, lanes);
    w->sim->changes++;
    const struct sim_op *rest = lanes == mask ? op + 1 : op; /* the other lanes come again */
    sim_split_to(w, rest, lanes, op->small == BAR_ARRIVE ? op + 1 : op);
    if (op->small != BAR_ARRIVE) {
        w->paths[w->path].wait = SIM_WAIT_BARRIER;
        w->paths[w->path].barrier = (uint8_t)id;
    }
    if (is_complete(w->block, b))
        release(w->block, (int)id);
    return false;
}

/* --- of the warp; fences --- */

static bool bar_warp(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return sim_proceed(w, op, mask, sim_gather(w, op, mask, sim_u32(w->file, op->slot[0])));
}

static bool fence(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (!w->observed)
        return true;
    struct sim_sync_event event = {
        .kind = (enum sim_sync)op->small, .mask = mask, .order = op->order, .scope = op->scope};
    sim_place_of(w, op, &event.at);
    return sim_notify_sync(w, &event);
}

static bool choose_bar(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    int at = 0;
    op->small = ptx_has(ins, MOD_RED) ? BAR_RED : ptx_has(ins, MOD_ARRIVE) ? BAR_ARRIVE : BAR_SYNC;
    op->run = bar;
    if (op->small == BAR_RED) {
        op->small2 = (uint16_t)ptx_find(ins, PTX_CLASS_OPERATION, 0);
        op->slot[0] = sim_slot_destination(d, &ins->operands[at++], ptx_type(ins, 0));
        const struct ptx_operand *p = &ins->operands[ins->operand_count - 1];
        op->slot[3] = sim_slot_of(d, p, MOD_PRED);
        op->imm = p->negated;
        if (op->slot[3] == SIM_NO_SLOT)
            return false;
    }
    op->bytes = ins->operands[at].kind == PTX_IMMEDIATE;
    op->slot[1] = sim_slot_of(d, &ins->operands[at++], MOD_U32);
    if (at + (op->small == BAR_RED) < ins->operand_count) {
        op->bytes = op->bytes && ins->operands[at].kind == PTX_IMMEDIATE;
        op->slot[2] = sim_slot_of(d, &ins->operands[at], MOD_U32);
    }
    return op->slot[1] != SIM_NO_SLOT;
}

static bool choose_fence(const struct ptx_instruction *ins, struct sim_op *op)
{
    sim_decode_order(ins, op);
    op->run = fence;
    op->small = SIM_FENCE;
    if (ins->op == PTX_MEMBAR)
        op->order = SIM_SC;
    else if (ptx_has(ins, MOD_MBARRIER_INIT))
        op->small = SIM_INIT_FENCE;
    else if (ins->op == PTX_FENCE && op->order == SIM_WEAK)
        op->order = SIM_ACQ_REL;
    else if (ins->op == PTX_FENCE_PROXY || ins->op == PTX_MEMBAR_PROXY)
        op->small = SIM_PROXY_FENCE;
    return true;
}

bool sim_choose_barrier(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch (ins->op) {
    case PTX_BAR:
    case PTX_BARRIER: return choose_bar(d, ins, op);
    case PTX_BAR_WARP_SYNC:
        op->slot[0] = sim_slot_of(d, &ins->operands[0], MOD_B32);
        op->run = bar_warp;
        return op->slot[0] != SIM_NO_SLOT;
    case PTX_MEMBAR:
    case PTX_MEMBAR_PROXY:
    case PTX_FENCE:
    case PTX_FENCE_PROXY: return choose_fence(ins, op);
    default: return false;
    }
}
