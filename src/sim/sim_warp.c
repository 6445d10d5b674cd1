/* A warp: its lanes in paths.
 *
 * Lanes at the same place are one path. A branch on which they do not agree splits it. Among the
 * paths that can go on, those deepest in calls run first, and among these the one at the lowest
 * place in the program: so lanes that leave a loop early wait after it for the others, and paths
 * that meet join. A path that only waits in a loop would then starve the others. So when nothing
 * else in the machine goes on, the path that ran longest ago is next (w->rotates), and keeps its
 * turn until it also waits. */
#include "sim/sim_wgmma.h"

#include <string.h>

/* --- frames --- */

/* PTX ISA, %total_smem_size: the unit of sm_80 and up. */
enum { SHARED_UNIT = 128 };

static uint32_t own_shared(const struct sim *sim)
{
    return (uint32_t)(sim->shared_bytes - sim->program->reserved_shared);
}

static uint32_t special_value(const struct sim_warp *w, unsigned special, int lane)
{
    const struct sim *sim = w->sim;
    const struct sim_launch *l = sim->launch;
    uint32_t bit = UINT32_C(1) << lane;
    switch (special) {
    case PTX_SREG_TID_X: return w->tid[0][lane];
    case PTX_SREG_TID_Y: return w->tid[1][lane];
    case PTX_SREG_TID_Z: return w->tid[2][lane];
    case PTX_SREG_NTID_X: return l->block[0];
    case PTX_SREG_NTID_Y: return l->block[1];
    case PTX_SREG_NTID_Z: return l->block[2];
    case PTX_SREG_CTAID_X: return w->block->id[0];
    case PTX_SREG_CTAID_Y: return w->block->id[1];
    case PTX_SREG_CTAID_Z: return w->block->id[2];
    case PTX_SREG_NCTAID_X: return l->grid[0];
    case PTX_SREG_NCTAID_Y: return l->grid[1];
    case PTX_SREG_NCTAID_Z: return l->grid[2];
    case PTX_SREG_CLUSTERID_X:
    case PTX_SREG_CLUSTERID_Y:
    case PTX_SREG_CLUSTERID_Z:
    case PTX_SREG_NCLUSTERID_X:
    case PTX_SREG_NCLUSTERID_Y:
    case PTX_SREG_NCLUSTERID_Z:
    case PTX_SREG_CLUSTER_CTAID_X:
    case PTX_SREG_CLUSTER_CTAID_Y:
    case PTX_SREG_CLUSTER_CTAID_Z:
    case PTX_SREG_CLUSTER_NCTAID_X:
    case PTX_SREG_CLUSTER_NCTAID_Y:
    case PTX_SREG_CLUSTER_NCTAID_Z:
    case PTX_SREG_CLUSTER_CTARANK:
    case PTX_SREG_CLUSTER_NCTARANK:
    case PTX_SREG_IS_EXPLICIT_CLUSTER: return sim_cluster_special(w, special);
    case PTX_SREG_LANEID: return (uint32_t)lane;
    case PTX_SREG_WARPID: return (uint32_t)w->number;
    case PTX_SREG_NWARPID: return 64;
    case PTX_SREG_SMID: return (uint32_t)(w->block->number % 132);
    case PTX_SREG_NSMID: return 132;
    case PTX_SREG_LANEMASK_EQ: return bit;
    case PTX_SREG_LANEMASK_LT: return bit - 1;
    case PTX_SREG_LANEMASK_LE: return bit | (bit - 1);
    case PTX_SREG_LANEMASK_GE: return ~(bit - 1);
    case PTX_SREG_LANEMASK_GT: return ~(bit | (bit - 1));
    case PTX_SREG_TOTAL_SMEM_SIZE:
        return (own_shared(sim) + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    case PTX_SREG_AGGR_SMEM_SIZE: return own_shared(sim) + SIM_RESERVED_BYTES;
    case PTX_SREG_RESERVED_SMEM_END: return SIM_RESERVED_END;
    case PTX_SREG_RESERVED_SMEM_CAP: return SIM_RESERVED_BYTES;
    case PTX_SREG_DYNAMIC_SMEM_SIZE: return (uint32_t)l->dynamic_shared;
    case PTX_SREG_ENVREG1: return (uint32_t)(l->workspace >> 32);
    case PTX_SREG_ENVREG2: return (uint32_t)l->workspace;
    default: return 0; /* registers of the driver, starts */
    }
}

static void fill(const struct sim_warp *w, const struct sim_frame *frame, const struct sim_fill *f)
{
    for (int lane = 0; lane < SIM_LANES; lane++) {
        uint64_t value = f->special == SIM_FILL_LOCAL ? frame->local_base + f->offset
                                                      : special_value(w, f->special, lane);
        if (f->bytes)
            memcpy(frame->file + f->slot + lane * f->bytes, &value, f->bytes < 8 ? f->bytes : 8);
        else if (lane == 0)
            *sim_u32(frame->file, f->slot) = value ? SIM_ALL : 0;
    }
}

uint32_t sim_stack_top(const struct sim_frame *frame)
{
    uint32_t most = frame->local_base + frame->code->local_bytes;
    for (int lane = 0; frame->stacked && lane < SIM_LANES; lane++)
        most = frame->top[lane] > most ? frame->top[lane] : most;
    return (most + 15) / 16 * 16;
}

/* Makes room for `bytes` bytes of local memory in each lane. The lanes' memories follow one
 * another, so this moves them farther apart. */
void sim_local_room(struct sim_warp *w, size_t bytes)
{
    if (bytes <= w->local_stride)
        return;
    size_t stride = w->local_stride ? w->local_stride : 256;
    while (stride < bytes)
        stride *= 2;
    uint8_t *local = arena_alloc(w->sim->arena, stride * SIM_LANES);
    w->sim->stack_bytes += w->local_stride ? stride * SIM_LANES : 0;
    for (size_t lane = 0; w->local_stride && lane < SIM_LANES; lane++)
        memcpy(local + lane * stride, w->local + lane * w->local_stride, w->local_stride);
    w->local = local;
    w->local_stride = stride;
}

struct sim_frame *sim_frame_new(struct sim_warp *w, struct sim_code *code, struct sim_frame *parent,
                                const struct sim_op *call)
{
    struct sim_frame *frame = code->unused;
    if (w->sim->counted && !code->executed)
        code->executed = arena_array(w->sim->arena, struct sim_executed, code->count + 2);
    if (frame) {
        code->unused = frame->next;
    } else {
        frame = arena_new(w->sim->arena, struct sim_frame);
        uint8_t *file = arena_alloc(w->sim->arena, (size_t)code->file_bytes + 64);
        w->sim->stack_bytes += parent ? code->file_bytes : 0;
        frame->file = file + (64 - (uintptr_t)file % 64) % 64;
    }
    frame->code = code;
    frame->parent = parent;
    frame->call = call;
    frame->lanes = 0;
    frame->next = NULL;
    frame->depth = parent ? parent->depth + 1 : 0;
    frame->local_base = parent ? sim_stack_top(parent) : 0;
    frame->stacked = false;
    sim_local_room(w, (size_t)frame->local_base + code->local_bytes);
    memset(frame->file, 0, code->zeros);
    memcpy(frame->file + code->zeros, code->constants, code->file_bytes - code->zeros);
    for (size_t i = 0; i < code->fill_count; i++)
        fill(w, frame, &code->fills[i]);
    return frame;
}

void sim_frame_release(struct sim_warp *w, struct sim_frame *frame)
{
    if (frame->shadow)
        sim_undefined_forget(w, frame);
    frame->next = frame->code->unused;
    frame->code->unused = frame;
}

/* --- paths --- */

static void remove_path(struct sim_warp *w, int i)
{
    w->paths[i] = w->paths[--w->path_count];
}

static bool joins(const struct sim_path *p, const struct sim_path *q)
{
    return q->frame == p->frame && q->pc == p->pc && q->wait != SIM_WAIT_BARRIER;
}

static void join_others(struct sim_warp *w)
{
    for (int i = w->path_count - 1; i >= 0; i--) {
        struct sim_path *p = &w->paths[w->path];
        if (i == w->path || !joins(p, &w->paths[i]))
            continue;
        p->mask |= w->paths[i].mask;
        if (w->path == w->path_count - 1)
            w->path = i;
        remove_path(w, i);
        w->paths[w->path].wait = SIM_WAIT_NOTHING;
    }
}

static bool goes_before(const struct sim_path *p, const struct sim_path *q, bool rotates)
{
    if (rotates)
        return p->turn < q->turn;
    if (p->frame->depth != q->frame->depth)
        return p->frame->depth > q->frame->depth;
    return (uintptr_t)p->pc < (uintptr_t)q->pc;
}

bool sim_warp_can_run(const struct sim_warp *w)
{
    for (int i = 0; i < w->path_count; i++)
        if (w->paths[i].wait == SIM_WAIT_NOTHING)
            return true;
    return false;
}

static bool choose_path(struct sim_warp *w)
{
    int best = -1;
    if (w->favours && !w->rotates && w->paths[w->path].wait == SIM_WAIT_NOTHING) {
        if (w->path_count > 1)
            join_others(w);
        return true;
    }
    w->favours = w->rotates && w->path_count > 1;
    for (int i = 0; i < w->path_count; i++)
        if (w->paths[i].wait == SIM_WAIT_NOTHING &&
            (best < 0 || goes_before(&w->paths[i], &w->paths[best], w->rotates)))
            best = i;
    w->rotates = false;
    if (best < 0)
        return false;
    w->path = best;
    if (w->path_count > 1)
        join_others(w);
    w->paths[w->path].turn = ++w->sim->turns;
    return true;
}

/* Returns the place where the current path meets the next one; NULL: none. */
static const struct sim_op *next_meeting(const struct sim_warp *w, const struct sim_op *op)
{
    const struct sim_op *limit = NULL;
    const struct sim_path *here = &w->paths[w->path];
    for (int i = 0; i < w->path_count; i++) {
        const struct sim_path *p = &w->paths[i];
        if (i != w->path && p->frame == here->frame && p->wait != SIM_WAIT_BARRIER && p->pc > op &&
            (!limit || p->pc < limit))
            limit = p->pc;
    }
    return limit;
}

/* --- running --- */

static inline uint32_t guarded(const uint8_t *file, const struct sim_op *op, uint32_t mask)
{
    uint32_t guard;
    memcpy(&guard, file + op->guard, sizeof guard);
    return mask & (guard ^ op->guard_flip);
}

/* Returns whether the warp goes on after a backward branch. */
static enum sim_pause after_turn(struct sim_warp *w)
{
    if (w->polled) {
        w->polled = w->favours = false;
        w->idle_since = w->sim->changes;
        return SIM_PAUSE_POLLS;
    }
    return w->sim->steps >= w->sim->slice_end ? SIM_PAUSE_SLICE : SIM_PAUSE_NONE;
}

static bool is_counted(const struct sim_warp *w)
{
    return w->sim->counted && !w->block->unchosen;
}

/* Counts a path with these lanes at the ops from `from` to before `to`. */
static inline void count_ops(struct sim_code *code, const struct sim_op *from,
                             const struct sim_op *to, uint32_t lanes)
{
    int64_t n = __builtin_popcount(lanes);
    struct sim_executed *first = &code->executed[from - code->ops];
    struct sim_executed *behind = &code->executed[to - code->ops];
    first->warps++;
    first->lanes += n;
    behind->warps--;
    behind->lanes -= n;
}

/* Subtracts the lanes that the guard of an op keeps out. */
static inline void count_without(struct sim_code *code, const struct sim_op *op, uint32_t lanes)
{
    int64_t n = __builtin_popcount(lanes);
    struct sim_executed *at = &code->executed[op - code->ops];
    at[0].lanes -= n;
    at[1].lanes += n;
}

/* Returns the op at which the slice ends, if it is before `limit`; otherwise `limit`. With a seed
 * or an order a slice may end after any op. */
static const struct sim_op *end_of_turn(const struct sim *sim, const struct sim_code *code,
                                        const struct sim_op *op, const struct sim_op *limit)
{
    int64_t left = sim->slice_end - sim->steps;
    if (left > 0 && left < (limit ? limit - op : code->ops + code->count - op))
        return op + left;
    return limit;
}

static inline enum sim_pause run_ops(struct sim_warp *w, const bool counted)
{
    struct sim *sim = w->sim;
    struct sim_path *path = &w->paths[w->path];
    const struct sim_op *op = path->pc, *start = op;
    const struct sim_op *limit = w->path_count > 1 ? next_meeting(w, op) : NULL;
    const uint32_t all = path->mask;
    const uint8_t *file = path->frame->file;
    struct sim_code *code = path->frame->code;
    const bool ordered = sim->launch->options.seed || sim->launch->options.order_count;
    if (ordered)
        limit = end_of_turn(sim, code, op, limit);
    if (sim->land_after)
        limit = op + 1;
    w->frame = path->frame;
    w->file = path->frame->file;
    w->path_mask = all;
    for (;;) {
        uint32_t mask = guarded(file, op, all);
        if (counted && mask != all)
            count_without(code, op, all & ~mask);
        if (!mask || op->run(w, op, mask)) {
            if (++op != limit)
                continue;
            sim->steps += op - start;
            if (counted)
                count_ops(code, start, op, all);
            path->pc = op;
            return SIM_PAUSE_NONE;
        }
        sim->steps += op - start + 1;
        if (counted)
            count_ops(code, start, op + 1, all);
        if (w->state != SIM_JUMPS)
            return SIM_PAUSE_NONE;
        const struct sim_op *to = w->next;
        enum sim_pause pause = to <= op ? after_turn(w) : SIM_PAUSE_NONE;
        if (pause || limit || ordered || w->path_count > 1) {
            w->paths[w->path].pc = to;
            return pause;
        }
        op = start = to;
    }
}

static enum sim_pause run_path(struct sim_warp *w)
{
    return is_counted(w) ? run_ops(w, true) : run_ops(w, false);
}

static bool hears_steps(const struct sim_observer *o, const struct sim_warp *w)
{
    return o->step && sim_hears(o, w);
}

static bool tell_step(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_step step = {.lanes = w->path_mask, .mask = mask, .warp = w};
    sim_place_of(w, op, &step.at);
    for (struct sim_observer *o = w->sim->observers; o; o = o->next)
        if (hears_steps(o, w) && !o->step(o->user, &step)) {
            sim_over(w->sim, SIM_ASKED, "an observer asked to stop");
            return false;
        }
    return true;
}

/* Runs one instruction at a time and tells observers of each. */
static enum sim_pause step_path(struct sim_warp *w)
{
    struct sim *sim = w->sim;
    struct sim_path *path = &w->paths[w->path];
    const struct sim_op *op = path->pc;
    w->frame = path->frame;
    w->file = path->frame->file;
    w->path_mask = path->mask;
    uint32_t mask = guarded(w->file, op, w->path_mask);
    sim->steps++;
    if (is_counted(w))
        count_ops(w->frame->code, op, op + 1, mask);
    if (w->stepped && op->ins && !tell_step(w, op, mask))
        return SIM_PAUSE_NONE;
    if (w->undefined && !sim_undefined_before(w, op, mask))
        return SIM_PAUSE_NONE;
    bool on = !mask || op->run(w, op, mask);
    sim->stored.any = false;
    w->switches = false;
    if (on) {
        w->paths[w->path].pc = op + 1;
    } else if (w->state == SIM_JUMPS) {
        w->paths[w->path].pc = w->next;
        if (w->next <= op && after_turn(w) == SIM_PAUSE_POLLS)
            return SIM_PAUSE_POLLS;
    }
    return sim->steps >= sim->slice_end ? SIM_PAUSE_SLICE : SIM_PAUSE_NONE;
}

enum sim_pause sim_warp_run(struct sim_warp *w)
{
    struct sim *sim = w->sim;
    enum sim_pause pause = SIM_PAUSE_NONE;
    while (!pause && !sim->over && w->alive) {
        if (!choose_path(w)) {
            pause = SIM_PAUSE_BLOCKED;
            break;
        }
        if (sim->land_after && (!sim_copies_land_due(w) || !sim_bulks_land_due(w->block)))
            break;
        const int64_t before = sim->steps;
        pause = w->stepped || w->undefined ? step_path(w) : run_path(w);
        if (!pause && sim->steps >= sim->slice_end)
            pause = SIM_PAUSE_SLICE;
        w->steps += sim->steps - before;
    }
    if (pause == SIM_PAUSE_BLOCKED)
        return pause;
    return sim->over || !w->alive ? SIM_PAUSE_DONE : pause;
}

void sim_notify_executed(struct sim *sim)
{
    for (struct sim_code *c = sim->program->codes; c && sim->counted; c = c->next) {
        struct sim_executed sum = {0, 0};
        for (uint32_t i = 0; c->executed && i < c->count; i++) {
            const struct sim_op *op = &c->ops[i];
            struct sim_place at = {.ins = op->ins, .function = c->function, .where = op->where};
            sum.warps += c->executed[i].warps;
            sum.lanes += c->executed[i].lanes;
            if (!sum.warps || !op->ins)
                continue;
            for (struct sim_observer *o = sim->observers; o; o = o->next)
                if (o->executed)
                    o->executed(o->user, &at, sum.warps, sum.lanes);
        }
        if (c->executed)
            memset(c->executed, 0, (c->count + 2) * sizeof *c->executed);
    }
}

static bool any_hears(const struct sim_warp *w, const struct sim_listeners *list)
{
    bool any = false;
    for (size_t i = 0; i < list->later.count; i++)
        any = any || sim_hears(list->later.data[i], w);
    for (size_t i = 0; i < list->now.count; i++)
        any = any || sim_hears(list->now.data[i], w);
    return any;
}

void sim_warp_begin(struct sim_warp *w, struct sim_code *code)
{
    w->alive = w->lanes;
    w->watched = any_hears(w, &w->sim->on_access);
    w->observed = w->watched || any_hears(w, &w->sim->on_sync) || any_hears(w, &w->sim->on_async);
    w->stepped = false;
    for (const struct sim_observer *o = w->sim->told ? w->sim->observers : NULL; o; o = o->next)
        w->stepped = w->stepped || hears_steps(o, w);
    w->polled = w->rotates = w->favours = false;
    w->idle_since = UINT64_MAX;
    w->steps = 0;
    w->undefined = 0;
    w->switches = false;
    w->origins = NULL;
    sim_copies_forget(w);
    sim_held_forget(w);
    w->path_count = 1;
    w->path = 0;
    struct sim_frame *frame = sim_frame_new(w, code, NULL, NULL);
    frame->lanes = w->lanes;
    w->frame = frame;
    w->file = frame->file;
    w->paths[0] = (struct sim_path){.frame = frame, .pc = code->ops, .mask = w->lanes};
}

/* --- leaving --- */

static void leave_frames(struct sim_warp *w, struct sim_frame *frame, uint32_t mask)
{
    while (frame) {
        struct sim_frame *parent = frame->parent;
        frame->lanes &= ~mask;
        if (!frame->lanes)
            sim_frame_release(w, frame);
        frame = parent;
    }
}

bool sim_leave(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_sync_event event = {.kind = SIM_EXIT, .mask = mask};
    w->state = SIM_CHOOSES;
    if (!sim_copies_leave(w, mask))
        return false;
    if (w->observed) {
        sim_place_of(w, op, &event.at);
        if (!sim_notify_sync(w, &event))
            return false;
    }
    struct sim_path *path = &w->paths[w->path];
    struct sim_frame *frame = path->frame;
    path->mask &= ~mask;
    path->pc = op + 1;
    if (!path->mask) {
        remove_path(w, w->path);
        w->favours = false;
    }
    w->alive &= ~mask;
    w->sim->changes++;
    for (int i = 0; i < w->path_count; i++) /* they may have waited for these lanes */
        if (w->paths[i].wait == SIM_WAIT_LANES)
            w->paths[i].wait = SIM_WAIT_NOTHING;
    leave_frames(w, frame, mask);
    if (!w->alive && !sim_products_leave(w, op))
        return false;
    if (!w->alive)
        w->block->alive--;
    sim_barriers_after_exit(w);
    sim_cluster_after_exit(w);
    return false;
}

void sim_warp_end(struct sim_warp *w)
{
    for (int i = 0; i < w->path_count; i++)
        leave_frames(w, w->paths[i].frame, w->paths[i].mask);
    w->path_count = 0;
    w->alive = 0;
}
