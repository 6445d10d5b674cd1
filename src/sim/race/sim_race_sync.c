/* Barriers, bar.warp.sync, mbarriers, asynchronous copies: operations that order. sim_race_value.c has
 * those that order by values in memory. */
#include "sim/race/sim_race_own.h"

/* --- barriers --- */

/* Warps may pass a barrier at different instructions. */
static void pass(struct race_warp *w)
{
    w->passed++;
    w->barrier = w->waits_at;
}

/* Completes a barrier at which all remaining threads of the block wait. Afterwards all these
 * threads know the same, so one time represents the knowledge of each about the block. */
static void complete_block(struct sim_races *r, struct race_block *b,
                           const struct race_barrier *bar)
{
    struct race_vc *known = NULL, *previous = NULL;
    for (int w = 0; w < b->warps; w++)
        for (int l = 0; l < SIM_LANES && !b->warp[w].view.plain; l++)
            if (bar->waiting[w] >> l & 1 && b->warp[w].view.vc[l] != previous) {
                previous = b->warp[w].view.vc[l];
                race_vc_add(r, &known, previous);
            }
    struct race_vc *rest = race_vc_without(r, known, b->of.number);
    race_vc_drop(r, known);
    race_time now = race_tick(r);
    for (int w = 0; w < b->warps; w++) {
        struct race_warp *warp = &b->warp[w];
        for (int l = 0; l < SIM_LANES; l++)
            warp->view.block_base[l] = now;
        for (int l = 0; l < SIM_LANES && (rest || !warp->view.plain); l++) {
            race_vc_drop(r, warp->view.vc[l]);
            warp->view.vc[l] = race_vc_keep(rest);
        }
        warp->view.plain = !rest;
        warp->epoch = warp->block_min = now;
        if (bar->waiting[w])
            pass(warp);
    }
    race_vc_drop(r, rest);
}

/* Completes a barrier of some threads: they learn about each other, and about those that arrived
 * and went on. */
static void complete_some(struct sim_races *r, struct race_block *b, struct race_barrier *bar)
{
    race_time now = race_tick(r);
    struct race_vc *known = bar->clock;
    bar->clock = NULL;
    for (int w = 0; w < b->warps; w++) {
        if (!bar->waiting[w])
            continue;
        const struct race_view *v = &b->warp[w].view;
        race_vc_take(r, &known,
                     race_knowledge(r, race_id(b->of.number, w), v, bar->waiting[w], now));
    }
    for (int w = 0; w < b->warps; w++) {
        if (!bar->waiting[w])
            continue;
        race_learn(r, &b->warp[w], bar->waiting[w], known);
        b->warp[w].epoch = now;
        pass(&b->warp[w]);
    }
    race_vc_drop(r, known);
}

static void complete(struct sim_races *r, struct race_block *b, struct race_barrier *bar)
{
    /* Exited threads count as arrived at a barrier of all threads, but not at a barrier of some. */
    bool all = !bar->partial && (bar->expected < 0 || b->live == b->threads);
    for (int w = 0; w < b->warps && all; w++)
        all = (b->warp[w].live & ~bar->waiting[w]) == 0;
    if (all)
        complete_block(r, b, bar);
    else
        complete_some(r, b, bar);
    memset(bar->arrived, 0, (size_t)b->warps * sizeof *bar->arrived);
    memset(bar->waiting, 0, (size_t)b->warps * sizeof *bar->waiting);
    race_vc_drop(r, bar->clock);
    bar->clock = NULL;
    bar->count = 0;
    bar->partial = false;
}

static void complete_if_all(struct sim_races *r, struct race_block *b, struct race_barrier *bar)
{
    if (bar->count > 0 && bar->count >= (bar->expected > 0 ? bar->expected : b->live))
        complete(r, b, bar);
}

static void arrive(struct sim_races *r, struct race_block *b, const struct sim_sync_event *e)
{
    struct race_barrier *bar = &b->barrier[e->id];
    struct race_warp *w = &b->warp[e->at.warp];
    if (!bar->arrived) {
        size_t size = (size_t)b->warps * sizeof *bar->arrived;
        bar->arrived = race_resize(r, NULL, 0, size);
        bar->waiting = race_resize(r, NULL, 0, size);
    }
    if (e->waits)
        w->waits_at = race_site_of(r, &e->at);
    bar->expected = e->expected;
    bar->arrived[e->at.warp] |= e->mask;
    bar->count += __builtin_popcount(e->mask);
    if (e->waits) {
        bar->waiting[e->at.warp] |= e->mask;
    } else {
        bar->partial = true;
        w->epoch = race_tick(r);
        race_vc_take(
            r, &bar->clock,
            race_knowledge(r, race_id(b->of.number, e->at.warp), &w->view, e->mask, w->epoch));
    }
    complete_if_all(r, b, bar);
}

/* Completes the barrier for lanes that leave it, whatever the count says: it waited for them. */
static void leave(struct sim_races *r, struct race_block *b, const struct sim_sync_event *e)
{
    struct race_barrier *bar = &b->barrier[e->id];
    if (bar->waiting && bar->waiting[e->at.warp] & e->mask)
        complete(r, b, bar);
}

static void warp_sync(struct sim_races *r, struct race_warp *w, const struct sim_sync_event *e)
{
    uint32_t mask = e->members & w->live; /* e->mask may be just the lanes that came last */
    race_time now = race_tick(r), block = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        race_time base = w->view.block_base[__builtin_ctz(m)];
        block = base > block ? base : block;
    }
    bool all = mask == w->live;
    if (!all || !w->view.plain) {
        struct race_vc *known =
            race_knowledge(r, race_id(e->at.block, e->at.warp), &w->view, mask, now);
        race_learn(r, w, mask, known);
        race_vc_drop(r, known);
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        w->view.block_base[l] = block;
        if (all)
            w->view.warp_base[l] = now;
    }
    w->epoch = now;
    race_update_minima(w);
}

/* --- mbarriers --- */

static struct race_mbarrier *mbarrier_of(struct sim_races *r, struct race_block *b,
                                         uint64_t address)
{
    struct race_mbarrier *m = b->mbarriers;
    while (m && m->address != address)
        m = m->next;
    if (m)
        return m;
    m = race_resize(r, NULL, 0, sizeof *m);
    *m = (struct race_mbarrier){.next = b->mbarriers, .address = address};
    return b->mbarriers = m;
}

/* Records a memory access to an mbarrier, for races with ordinary accesses: init and inval write
 * its 8 bytes, and its other operations update them atomically. */
static void touch_mbarrier(struct sim_races *r, const struct sim_sync_event *e)
{
    bool plain = e->kind == SIM_MBARRIER_INIT || e->kind == SIM_MBARRIER_INVAL;
    struct sim_access a = {.at = e->at,
                           .space = SIM_SHARED,
                           .kind = plain ? SIM_WRITE : SIM_UPDATE,
                           .order = plain ? SIM_WEAK : SIM_RELAXED,
                           .scope = SIM_GPU,
                           .mask = e->mask,
                           .group = e->group,
                           .away = e->away,
                           .bytes = 8};
    memcpy(a.address, e->address, sizeof a.address);
    race_access(r, &a);
}

static void mbarrier_init(struct sim_races *r, struct race_block *b, const struct sim_sync_event *e)
{
    for (uint32_t m = e->mask; m; m &= m - 1) {
        struct race_mbarrier *bar = mbarrier_of(r, b, e->address[__builtin_ctz(m)]);
        race_vc_drop(r, bar->clock);
        race_vc_drop(r, bar->done);
        bar->clock = bar->done = NULL;
    }
}

/* Returns a reference to the knowledge that lanes pass on by arriving. A relaxed arrival orders none of their accesses, but
 * the copies and products that they have waited for have ended. */
static struct race_vc *arrival(struct sim_races *r, struct race_warp *w, uint64_t id, uint32_t mask,
                               bool relaxed)
{
    struct race_vc *out = NULL;
    if (!relaxed) {
        w->epoch = race_tick(r);
        return race_knowledge(r, id, &w->view, mask, w->epoch);
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        race_vc_take(r, &out, race_vc_without(r, w->view.vc[__builtin_ctz(m)], RACE_ENDED));
        for (int s = 0; s < 2; s++)
            race_vc_take(r, &out, race_known_at_fence(r, w, id, __builtin_ctz(m), s));
    }
    return out;
}

static struct race_vc *copies_arrive(struct sim_races *r, struct race_block *b, struct race_warp *w,
                                     uint64_t id, uint32_t mask);

/* Handles an arrival; all lanes are at the same mbarrier. */
static void mbarrier_arrive(struct sim_races *r, struct race_block *b, struct race_block *home,
                            const struct sim_sync_event *e)
{
    struct race_warp *w = &b->warp[e->at.warp];
    struct race_mbarrier *bar = mbarrier_of(r, home, e->address[__builtin_ctz(e->mask)]);
    uint64_t id = race_id(b->of.number, e->at.warp);
    bool copies = e->at.ins && e->at.ins->op == PTX_CP_ASYNC_MBARRIER_ARRIVE;
    bool relaxed = e->order == SIM_RELAXED || (home != b && e->scope < SIM_CLUSTER);
    race_vc_take(r, &bar->clock,
                 copies ? copies_arrive(r, b, w, id, e->mask)
                        : arrival(r, w, id, e->mask, relaxed));
}

/* Handles bytes that arrive with a bulk copy of block `from`. */
static void mbarrier_bytes(struct sim_races *r, struct race_block *from, struct race_block *b,
                           const struct sim_sync_event *e)
{
    struct race_agent *a = e->group ? race_agent_of(from, e->group) : NULL;
    if (a)
        race_agent_completes(r, a, &mbarrier_of(r, b, e->address[__builtin_ctz(e->mask)])->clock);
}

/* Handles a completed phase. */
static void mbarrier_phase(struct sim_races *r, struct race_block *b,
                           const struct sim_sync_event *e)
{
    struct race_mbarrier *bar = mbarrier_of(r, b, e->address[__builtin_ctz(e->mask)]);
    race_vc_take(r, &bar->done, bar->clock);
    bar->clock = NULL;
}

static void mbarrier_wait(struct sim_races *r, struct race_block *b, const struct sim_sync_event *e)
{
    struct race_warp *w = &b->warp[e->at.warp];
    const struct race_mbarrier *bar = mbarrier_of(r, b, e->address[__builtin_ctz(e->mask)]);
    if (e->order != SIM_RELAXED)
        race_learn(r, w, e->mask, bar->done);
    for (uint32_t m = e->mask; m && e->order == SIM_RELAXED; m &= m - 1)
        race_vc_add(r, &race_fences_of(r, w)->seen[0][__builtin_ctz(m)], bar->done);
}

void race_block_sync_free(struct sim_races *r, struct race_block *b)
{
    for (int i = 0; i < RACE_BARRIERS; i++) {
        size_t size = (size_t)b->warps * sizeof(uint32_t);
        race_resize(r, b->barrier[i].arrived, b->barrier[i].arrived ? size : 0, 0);
        race_resize(r, b->barrier[i].waiting, b->barrier[i].waiting ? size : 0, 0);
        race_vc_drop(r, b->barrier[i].clock);
    }
    for (struct race_mbarrier *m = b->mbarriers, *next; m; m = next) {
        next = m->next;
        race_vc_drop(r, m->clock);
        race_vc_drop(r, m->done);
        race_resize(r, m, sizeof *m, 0);
    }
    race_locations_free(r, &b->locations);
}

static void leave_for_good(struct sim_races *r, struct race_block *b, struct race_warp *w,
                           uint32_t mask)
{
    b->live -= __builtin_popcount(w->live & mask);
    w->live &= ~mask;
    race_update_minima(w);
    for (int i = 0; i < RACE_BARRIERS; i++)
        if (b->barrier[i].expected < 0)
            complete_if_all(r, b, &b->barrier[i]);
}

bool race_sync(void *user, const struct sim_sync_event *e)
{
    struct sim_races *r = user;
    struct race_block *b = sim_blocks_find(&r->blocks, e->at.block);
    if (r->over || !b || e->at.warp >= b->warps)
        return true;
    struct race_warp *w = &b->warp[e->at.warp];
    struct race_block *home = e->away ? sim_blocks_find(&r->blocks, e->away - 1) : b;
    bool named = e->id >= 0 && e->id < RACE_BARRIERS;
    if (!home) /* the block whose mbarrier it is has ended */
        return true;
    switch (e->kind) {
    case SIM_BARRIER_ARRIVE:
        if (named)
            arrive(r, b, e);
        break;
    case SIM_BARRIER_LEAVE:
        if (named)
            leave(r, b, e);
        break;
    case SIM_WARP_SYNC:
        if (e->orders)
            warp_sync(r, w, e);
        break;
    case SIM_FENCE: race_fence(r, w, e); break;
    case SIM_INIT_FENCE:
        race_fence(r, w, e);
        race_proxy_fence(r, w, e);
        break;
    case SIM_PROXY_FENCE: race_proxy_fence(r, w, e); break;
    case SIM_MBARRIER_INIT:
        touch_mbarrier(r, e);
        mbarrier_init(r, b, e);
        break;
    case SIM_MBARRIER_INVAL: touch_mbarrier(r, e); break;
    case SIM_MBARRIER_BYTES:
        touch_mbarrier(r, e);
        mbarrier_bytes(r, b, home, e);
        break;
    case SIM_MBARRIER_ARRIVE:
        touch_mbarrier(r, e);
        mbarrier_arrive(r, b, home, e);
        break;
    case SIM_MBARRIER_WAIT:
        touch_mbarrier(r, e);
        mbarrier_wait(r, b, e);
        break;
    case SIM_MBARRIER_PHASE: mbarrier_phase(r, home, e); break;
    case SIM_CLUSTER_ARRIVE: {
        struct race_vc *known =
            arrival(r, w, race_id(b->of.number, e->at.warp), e->mask, e->order == SIM_RELAXED);
        race_cluster_told(r, b, e, known);
        race_vc_drop(r, known);
        break;
    }
    case SIM_CLUSTER_LEAVE: race_cluster_told(r, b, e, NULL); break;
    case SIM_EXIT: leave_for_good(r, b, w, e->mask); break;
    case SIM_MBARRIER_FAILED:
    case SIM_MBARRIER_NONE:
    case SIM_MBARRIER_BROKEN:
    case SIM_PRODUCT_BROKEN: break;
    }
    return true;
}

/* --- asynchronous copies --- */

/* Drops the view's references and keeps the struct for reuse. */
void race_copy_free(struct sim_races *r, struct race_copy *c)
{
    for (int l = 0; l < SIM_LANES && !c->view.plain; l++)
        race_vc_drop(r, c->view.vc[l]);
    c->next = r->free_copies;
    r->free_copies = c;
}

/* Makes the accesses of the lanes' parts of a copy count as done by their threads now. If the
 * copy arrives at an mbarrier, its accesses belong to no thread yet. Lanes that waited for a
 * copy which also arrives for other lanes are left out: that may miss a race, but reports no
 * false one. */
static void finish(struct sim_races *r, struct race_block *b, struct race_warp *w,
                   struct race_copy *c, uint32_t done, bool arrives)
{
    for (int i = 0; i < c->records; i++) {
        struct race_pool *p = c->in_global[i] ? &r->pool : &b->pool;
        struct race_record *record = &p->records[c->record[i]];
        uint32_t lanes = record->pending & done;
        if (!lanes)
            continue;
        if (arrives && !(record->id & RACE_COPIES)) {
            record->id |= RACE_COPIES;
            record->mask &= record->pending;
        }
        for (uint32_t m = lanes; m && record->id & RACE_COPIES; m &= m - 1)
            w->arrived[__builtin_ctz(m)] = w->epoch + 1;
        record->pending &= ~lanes;
        record->epoch = w->epoch;
        if (lanes != record->mask)
            race_record_landed(r, p, c->record[i], lanes, w->epoch);
    }
    c->mask &= ~done;
}

/* Removes copies without lanes from the list. */
static void tidy_copies(struct sim_races *r, struct race_warp *w)
{
    for (struct race_copy **p = &w->copies; *p;) {
        struct race_copy *c = *p;
        if (c->mask) {
            p = &c->next;
            continue;
        }
        *p = c->next;
        w->copy_count--;
        race_copy_free(r, c);
    }
}

/* The most copies under way. If there are more, all are treated as waited for. */
enum { MOST_COPIES = 4096 };

static void drop_copies(struct sim_races *r, struct race_block *b, struct race_warp *w)
{
    for (struct race_copy *c = w->copies; c; c = c->next)
        finish(r, b, w, c, c->mask, false);
    tidy_copies(r, w);
}

static void issue(struct sim_races *r, struct race_block *b, struct race_warp *w,
                  const struct sim_async_event *e)
{
    if (w->copy_count == MOST_COPIES)
        drop_copies(r, b, w);
    struct race_copy *c = r->free_copies;
    if (c)
        r->free_copies = c->next;
    else
        c = race_resize(r, NULL, 0, sizeof *c);
    w->epoch = race_tick(r); /* the copy is not ordered after the thread's later accesses */
    c->view = w->view;
    c->view.own = w->epoch;
    for (int l = 0; l < SIM_LANES && !c->view.plain; l++)
        race_vc_keep(c->view.vc[l]);
    c->group = e->group;
    c->mask = e->mask;
    c->records = 0;
    c->passed = w->passed;
    c->barrier = w->barrier;
    memcpy(c->index, w->commits, sizeof c->index);
    c->next = w->copies;
    w->copies = c;
    w->copy_count++;
}

/* Returns the lanes of `mask` that have the same time as its lowest lane. */
static uint32_t lanes_alike(const race_time *times, uint32_t mask)
{
    uint32_t lanes = 0;
    for (uint32_t m = mask; m; m &= m - 1)
        if (times[__builtin_ctz(m)] == times[__builtin_ctz(mask)])
            lanes |= m & -m;
    return lanes;
}

/* Returns a reference to knowledge of the copies of lanes that arrived, all at one time. */
static struct race_vc *landed(struct sim_races *r, const struct race_warp *w, uint64_t id,
                              uint32_t lanes)
{
    struct race_entry all = {RACE_COPIES | id, lanes, w->arrived[__builtin_ctz(lanes)]};
    return race_vc_of(r, &all, all.bound != 0);
}

/* Handles cp.async.mbarrier.arrive. Returns a reference to the knowledge that it passes on: the
 * lanes' copies, also those that were waited for, and everything that is ordered before them.
 * The other accesses of their threads are not part of it (PTX ISA, asynchronous operations). */
static struct race_vc *copies_arrive(struct sim_races *r, struct race_block *b, struct race_warp *w,
                                     uint64_t id, uint32_t mask)
{
    struct race_vc *out = NULL;
    for (struct race_copy *c = w->copies; c; c = c->next) {
        uint32_t lanes = c->mask & mask;
        if (!c->records || !lanes)
            continue;
        race_vc_take(r, &out, race_knowledge(r, id, &c->view, lanes, c->view.own));
        finish(r, b, w, c, lanes, true);
    }
    tidy_copies(r, w);
    w->epoch = race_tick(r);
    for (uint32_t m = mask, lanes; m; m &= ~lanes) {
        lanes = lanes_alike(w->arrived, m);
        race_vc_take(r, &out, landed(r, w, id, lanes));
    }
    for (uint32_t m = mask, lanes; m; m &= ~lanes) {
        lanes = lanes_alike(w->waited, m);
        race_time bound = w->waited[__builtin_ctz(lanes)];
        if (!bound)
            continue;
        race_vc_take(r, &out, race_knowledge(r, id, &w->view, lanes, bound));
    }
    return out;
}

/* Adds knowledge of the copies that arrived at an mbarrier: a thread that waits for a group of
 * its copies may wait for those too. */
static void know_arrived(struct sim_races *r, struct race_warp *w, uint64_t id, uint32_t mask)
{
    for (uint32_t m = mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        struct race_vc *k = landed(r, w, id, m & -m);
        if (!k)
            continue;
        race_learn(r, w, m & -m, k);
        race_vc_drop(r, k);
        w->arrived[l] = 0;
        w->waited[l] = w->epoch + 1;
    }
}

static void wait_for(struct sim_races *r, struct race_block *b, struct race_warp *w,
                     const struct sim_async_event *e)
{
    for (struct race_copy *c = w->copies; c; c = c->next) {
        uint32_t done = 0;
        for (uint32_t m = c->mask & e->mask; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            if (!e->all && (int64_t)c->index[l] + e->pending >= (int64_t)w->commits[l])
                continue;
            done |= m & -m;
            w->waited[l] = w->epoch + 1;
        }
        if (done)
            finish(r, b, w, c, done, false);
    }
    tidy_copies(r, w);
    know_arrived(r, w, race_id(e->at.block, e->at.warp), e->mask);
}

bool race_async(void *user, const struct sim_async_event *e)
{
    struct sim_races *r = user;
    struct race_block *b = sim_blocks_find(&r->blocks, e->at.block);
    if (r->over || !b || e->at.warp >= b->warps)
        return true;
    struct race_warp *w = &b->warp[e->at.warp];
    switch (e->kind) {
    case SIM_ASYNC_ISSUE: issue(r, b, w, e); break;
    case SIM_ASYNC_COMMIT:
        for (uint32_t m = e->mask; m; m &= m - 1)
            w->commits[__builtin_ctz(m)]++;
        break;
    case SIM_ASYNC_WAIT: wait_for(r, b, w, e); break;
    default: race_agent_told(r, b, e); break;
    }
    return true;
}
