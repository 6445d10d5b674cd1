/* Programmatic dependent launches: a kernel that may begin before the previous kernel has
 * ended, and then waits for it by griddepcontrol.wait (PTX ISA, "griddepcontrol"; CUDA Programming
 * Guide, "Programmatic Dependent Launch and Synchronization").
 *
 * The work of such a launch is in two pieces: what its threads do before their wait, and the rest. Both are
 * in a lane, so that the first one is not ordered after the kernel before it. A thread counts as past the
 * wait if it has executed it, or has synchronised with its block after a thread of the block did; by an
 * access that is not weak, also after a thread of another block. So nothing ordered is reported.
 *
 * A kernel is done for the wait of the next one when its own work is: what it depends on itself is
 * included only if one of its threads has waited. */
#include "driver/driver_graph.h"

#include <stdlib.h>

/* A block that runs. */
struct block {
    struct block *next;
    int64_t number;
    bool heard;     /* it is watched */
    bool waited;    /* a thread has executed the wait */
    bool triggered; /* a thread has executed launch_dependents */
    int warps;
    uint32_t past[]; /* of each warp: the lanes that are past the wait */
};

static struct {
    struct driver_work *work, *early; /* early: NULL unless the launch depends on kernels */
    struct driver_clock start;        /* what is done when it begins */
    bool tracks;                      /* its threads execute griddepcontrol */
    bool waited;                      /* a thread has executed the wait */
    bool triggers_early;              /* a block has triggered before any of its threads waited */
    struct block *blocks;
    struct number_map early_copies; /* asynchronous copies that a thread issued before its wait */
    struct sim_observer observer;
} now;

/* --- threads --- */

static struct block *block_of(int64_t number)
{
    struct block *b = now.blocks;
    while (b && b->number != number)
        b = b->next;
    return b;
}

static bool block_begins(void *user, const struct sim_block_event *e)
{
    (void)user;
    struct block *b = calloc(1, sizeof *b + (size_t)e->warps * sizeof b->past[0]);
    if (!b)
        return true;
    b->number = e->block;
    b->warps = e->warps;
    b->next = now.blocks;
    now.blocks = b;
    return true;
}

static void trigger(struct block *b)
{
    now.triggers_early = now.triggers_early || (!b->triggered && !b->waited);
    b->triggered = true;
}

/* A block that ends has triggered. */
static bool block_ends(void *user, const struct sim_block_event *e)
{
    (void)user;
    struct block **at = &now.blocks;
    while (*at && (*at)->number != e->block)
        at = &(*at)->next;
    struct block *b = *at;
    if (!b)
        return true;
    if (b->heard)
        trigger(b);
    *at = b->next;
    free(b);
    return true;
}

static bool step(void *user, const struct sim_step *s)
{
    (void)user;
    struct block *b = block_of(s->at.block);
    if (!b)
        return true;
    b->heard = true;
    if (s->at.ins->op != PTX_GRIDDEPCONTROL || !s->mask)
        return true;
    if (ptx_has(s->at.ins, MOD_WAIT)) {
        b->past[s->at.warp] |= s->mask;
        b->waited = now.waited = true;
    } else {
        trigger(b);
    }
    return true;
}

static bool synchronised(void *user, const struct sim_sync_event *e)
{
    (void)user;
    struct block *b = block_of(e->at.block);
    if (!b)
        return true;
    uint32_t *past = &b->past[e->at.warp];
    switch (e->kind) {
    case SIM_BARRIER_LEAVE: *past |= b->waited ? e->mask : 0; break;
    case SIM_WARP_SYNC: *past |= *past & e->members ? e->members : 0; break;
    case SIM_MBARRIER_WAIT:
    case SIM_CLUSTER_LEAVE: *past |= now.waited ? e->mask : 0; break;
    default: break;
    }
    return true;
}

static uint64_t copy_key(const struct sim_place *at, uint32_t group)
{
    return (uint64_t)at->block << 32 | group;
}

static bool copied(void *user, const struct sim_async_event *e)
{
    (void)user;
    const struct block *b = block_of(e->at.block);
    bool added, issues = e->kind == SIM_ASYNC_ISSUE || e->kind == SIM_BULK_ISSUE;
    if (b && issues && e->mask & ~b->past[e->at.warp])
        number_map_entry(&driver.arena, &now.early_copies, copy_key(&e->at, e->group), &added)
            ->value = (uint64_t)now.work->launch;
    return true;
}

/* Returns the lanes of an access that come after their griddepcontrol.wait. */
static uint32_t lanes_late(const struct sim_access *a)
{
    struct block *b = now.tracks ? block_of(a->at.block) : NULL;
    if (!b)
        return 0;
    if (a->group) {
        const struct number_entry *e =
            number_map_find(&now.early_copies, copy_key(&a->at, a->group));
        return e && e->value == (uint64_t)now.work->launch ? 0 : UINT32_MAX;
    }
    if (a->order != SIM_WEAK && now.waited)
        b->past[a->at.warp] |= a->mask;
    return b->past[a->at.warp];
}

struct sim_observer *driver_dependent_observer(void)
{
    return &now.observer;
}

/* Forgets blocks that did not end, because their launch did. */
static void forget_blocks(void)
{
    for (struct block *b = now.blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    now.blocks = NULL;
}

/* --- a launch --- */

/* Lets the observer hear what it needs for this launch: each instruction, which is slow, or nothing. */
static void listen(bool tracks)
{
    now.tracks = tracks;
    now.observer.step = tracks ? step : NULL;
    now.observer.sync = tracks ? synchronised : NULL;
    now.observer.async = tracks ? copied : NULL;
    now.observer.block_begins = tracks ? block_begins : NULL;
    now.observer.block_ends = tracks ? block_ends : NULL;
}

void driver_dependent_begin(const struct driver_launched *l, bool watched)
{
    struct driver_stream *s = l->stream;
    bool depends = s->awaited.count;
    forget_blocks();
    driver_order_begin(s);
    driver_clock_copy(&now.start, &s->clock);
    now.early = depends ? driver_work_begin(s, l) : NULL;
    now.work = driver_work_begin(s, l);
    if (now.early)
        now.early->early = true;
    if (now.work)
        now.work->dependent = depends;
    now.waited = !watched; /* a launch that is not watched may have waited */
    now.triggers_early = false;
    listen(depends && watched && now.work && l->kernel->controls_grids);
    driver_work_observe(now.work, now.early, lanes_late);
}

/* Gives the stream the moments of the kernel. */
static void set_moments(struct driver_stream *s)
{
    struct driver_clock *at = s->last.at;
    driver_clock_copy(&at[DRIVER_BEGUN], &now.start);
    driver_clock_copy(&at[DRIVER_TRIGGERED], &now.start);
    driver_clock_copy(&at[DRIVER_DONE], &now.start);
    driver_clock_advance(&at[DRIVER_DONE], s->slot, driver_clock_time(&s->clock, s->slot));
    if (now.waited)
        driver_clock_join(&at[DRIVER_DONE], &s->awaited);
    if (now.waited && !now.triggers_early)
        driver_clock_join(&at[DRIVER_TRIGGERED], &s->awaited);
    s->kernel_last = true;
}

void driver_dependent_end(const struct driver_launched *l)
{
    struct driver_stream *s = l->stream;
    driver_work_observe(NULL, NULL, NULL);
    driver_work_end(now.early);
    set_moments(s);
    driver_clock_join(&s->clock, &s->awaited);
    driver_work_end(now.work);
    s->awaited.count = 0;
}
