/* The operations that order: barriers, bar.warp.sync, fences, values passed through strong
 * operations, mbarriers, asynchronous copies.
 *
 * Release and acquire (PTX ISA 8.8): a strong write that releases carries all that its thread
 * knew at the write; other strong writes carry what it knew at its last releasing fence. Atomic
 * updates add to the knowledge in the value that they overwrite (observation order). A strong
 * read that acquires takes the knowledge at once, other strong reads at the next acquiring
 * fence. Knowledge that is released at the block's scope stays within the block. fence.sc is
 * treated as .acq_rel: the order of two such fences is an accident of the run, and relying on it
 * would hide races. */
#include "sim/sim_race_own.h"

static bool acquires(enum sim_order order)
{
    return order == SIM_ACQUIRE || order == SIM_ACQ_REL || order == SIM_SC;
}

static bool releases(enum sim_order order)
{
    return order == SIM_RELEASE || order == SIM_ACQ_REL || order == SIM_SC;
}

/* Returns true if the scope has other blocks. A cluster's is treated as the device's: threads of
 * other clusters have no access to what such operations are about. */
static bool is_wide(const struct sim_races *r, enum sim_order order, enum sim_scope scope)
{
    return order == SIM_VOLATILE || scope >= (r->clustered ? SIM_CLUSTER : SIM_GPU);
}

/* --- locations --- */

static struct race_location *slot_of(struct race_location *table, size_t capacity, uint64_t key)
{
    size_t i = sim_hash(key) & (capacity - 1);
    while (table[i].key && table[i].key != key)
        i = (i + 1) & (capacity - 1);
    return &table[i];
}

static struct race_location *location(struct sim_races *r, struct race_locations *l,
                                      uint64_t address, bool make)
{
    uint64_t key = address + 1;
    if (!l->count && !make)
        return NULL;
    if (make && 2 * l->count >= l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 16;
        struct race_location *table = race_resize(r, NULL, 0, capacity * sizeof *table);
        for (size_t i = 0; i < l->capacity; i++)
            if (l->table[i].key)
                *slot_of(table, capacity, l->table[i].key) = l->table[i];
        race_resize(r, l->table, l->capacity * sizeof *table, 0);
        l->table = table;
        l->capacity = capacity;
    }
    struct race_location *slot = slot_of(l->table, l->capacity, key);
    if (!slot->key && !make)
        return NULL;
    l->count += !slot->key;
    slot->key = key;
    return slot;
}

static void forget(struct sim_races *r, struct race_location *l)
{
    race_vc_drop(r, l->wide);
    race_vc_drop(r, l->local);
    l->wide = l->local = NULL;
    l->writer = 0;
}

void race_locations_free(struct sim_races *r, struct race_locations *l)
{
    for (size_t i = 0; i < l->capacity; i++)
        if (l->table[i].key)
            forget(r, &l->table[i]);
    race_resize(r, l->table, l->capacity * sizeof *l->table, 0);
    *l = (struct race_locations){0};
}

static struct race_locations *locations_of(struct race_try *t)
{
    return t->a->space == SIM_SHARED ? &t->home->locations : &t->r->locations;
}

/* Returns the location of an address, if its last write is the one that the location is about.
 * An access of another width takes no knowledge from it (PTX ISA 8.7: not morally strong), and
 * after such a write the location is forgotten. */
static struct race_location *valid_location(struct race_try *t, uint64_t address)
{
    struct race_location *l = location(t->r, locations_of(t), address, false);
    if (!l)
        return NULL;
    bool valid = race_wrote_last(t, address, l->record, l->epoch);
    bool other = valid && t->pool->records[l->record].element != t->self.element;
    if (!valid || (other && t->a->kind & SIM_WRITE))
        forget(t->r, l);
    return other ? NULL : l;
}

/* --- fences --- */

static struct race_fences *fences_of(struct sim_races *r, struct race_warp *w)
{
    if (!w->fences)
        w->fences = race_resize(r, NULL, 0, sizeof *w->fences);
    return w->fences;
}

void race_fences_free(struct sim_races *r, struct race_warp *w)
{
    if (!w->fences)
        return;
    for (int s = 0; s < 2; s++)
        for (int l = 0; l < SIM_LANES; l++) {
            race_vc_drop(r, w->fences->vc[s][l]);
            race_vc_drop(r, w->fences->seen[s][l]);
        }
    race_resize(r, w->fences, sizeof *w->fences, 0);
    w->fences = NULL;
}

static void fence(struct sim_races *r, struct race_warp *w, const struct sim_sync_event *e)
{
    bool both = !acquires(e->order) && !releases(e->order);
    int wide = is_wide(r, e->order, e->scope);
    struct race_fences *f = fences_of(r, w);
    if (both || acquires(e->order))
        for (uint32_t m = e->mask; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            race_learn(r, w, m & -m, f->seen[0][l]);
            if (wide)
                race_learn(r, w, m & -m, f->seen[1][l]);
        }
    if (!both && !releases(e->order))
        return;
    w->epoch = race_tick(r);
    r->passed_on = true;
    for (uint32_t m = e->mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        f->bound[wide][l] = w->epoch;
        f->block_base[wide][l] = w->view.block_base[l];
        f->warp_base[wide][l] = w->view.warp_base[l];
        race_vc_drop(r, f->vc[wide][l]);
        f->vc[wide][l] = race_vc_keep(w->view.vc[l]);
    }
}

/* --- values --- */

/* Gives a lane the knowledge of a location that it reads. */
static void take(struct race_try *t, int lane, const struct race_location *l)
{
    bool wide = is_wide(t->r, t->a->order, t->a->scope), near = l->block == t->a->at.block;
    uint32_t mask = (uint32_t)1 << lane;
    if (acquires(t->a->order)) {
        if (near)
            race_learn(t->r, t->warp, mask, l->local);
        if (wide)
            race_learn(t->r, t->warp, mask, l->wide);
        return;
    }
    if (!(near && l->local) && !(wide && l->wide))
        return;
    struct race_fences *f = fences_of(t->r, t->warp);
    if (near)
        race_vc_add(t->r, &f->seen[0][lane], l->local);
    if (wide)
        race_vc_add(t->r, &f->seen[1][lane], l->wide);
}

void race_acquire(struct race_try *t)
{
    if (!locations_of(t)->count)
        return;
    for (uint32_t m = t->a->mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        const struct race_location *at = valid_location(t, t->a->address[l]);
        if (at && (t->a->kind & SIM_READ) && (at->wide || at->local))
            take(t, l, at);
    }
}

/* Returns a reference to the knowledge of a lane at its last releasing fence of that width;
 * NULL: there was none. */
static struct race_vc *known_at_fence(struct sim_races *r, const struct race_warp *w, uint64_t id,
                                      int lane, int wide)
{
    const struct race_fences *f = w->fences;
    if (!f || !f->bound[wide][lane])
        return NULL;
    return race_knowledge(r, id, f->block_base[wide], f->warp_base[wide], f->vc[wide],
                          (uint32_t)1 << lane, f->bound[wide][lane]);
}

/* Gives references to the knowledge that a lane's write carries: [0] within the block, [1] on
 * the device. */
static void let_out(struct race_try *t, int lane, struct race_vc *out[2])
{
    const struct race_view *v = &t->warp->view;
    uint32_t mask = (uint32_t)1 << lane;
    bool wide = is_wide(t->r, t->a->order, t->a->scope);
    out[0] = out[1] = NULL;
    if (releases(t->a->order)) {
        out[0] = race_knowledge(t->r, t->self.id, v->block_base, v->warp_base, v->vc, mask,
                                t->warp->epoch);
        out[1] = wide ? race_vc_keep(out[0]) : NULL;
        return;
    }
    for (int s = 0; s < 2; s++) {
        struct race_vc *k = known_at_fence(t->r, t->warp, t->self.id, lane, s);
        race_vc_add(t->r, &out[0], k);
        if (s && wide)
            race_vc_add(t->r, &out[1], k);
        race_vc_drop(t->r, k);
    }
}

static void write_location(struct race_try *t, int lane)
{
    struct sim_races *r = t->r;
    struct race_vc *out[2];
    let_out(t, lane, out);
    struct race_location *l = location(r, locations_of(t), t->a->address[lane], out[0] || out[1]);
    if (!l)
        return;
    uint64_t writer = t->self.id << 5 | (uint64_t)lane;
    if (t->a->kind == SIM_UPDATE)
        take(t, lane, l);
    else if (l->writer != writer) /* the thread's own later strong write keeps the pattern */
        forget(r, l);
    if (l->block != t->a->at.block) {
        race_vc_drop(r, l->local);
        l->local = NULL;
        l->block = t->a->at.block;
    }
    race_vc_add(r, &l->local, out[0]);
    race_vc_add(r, &l->wide, out[1]);
    race_vc_drop(r, out[0]);
    race_vc_drop(r, out[1]);
    l->writer = writer;
    l->record = t->record;
    l->epoch = t->self.epoch;
}

void race_release(struct race_try *t)
{
    if (!releases(t->a->order) && !t->warp->fences && !locations_of(t)->count)
        return;
    if (releases(t->a->order)) {
        t->warp->epoch = race_tick(t->r); /* later accesses are not released */
        t->r->passed_on = true;
    }
    for (uint32_t m = t->a->mask; m; m &= m - 1)
        write_location(t, __builtin_ctz(m));
}

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
        struct race_vc *own = race_knowledge(r, race_id(b->of.number, w), v->block_base,
                                             v->warp_base, v->vc, bar->waiting[w], now);
        race_vc_add(r, &known, own);
        race_vc_drop(r, own);
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
        struct race_vc *own =
            race_knowledge(r, race_id(b->of.number, e->at.warp), w->view.block_base,
                           w->view.warp_base, w->view.vc, e->mask, w->epoch);
        race_vc_add(r, &bar->clock, own);
        race_vc_drop(r, own);
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
            race_knowledge(r, race_id(e->at.block, e->at.warp), w->view.block_base,
                           w->view.warp_base, w->view.vc, mask, now);
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

/* Returns a reference to the knowledge that lanes pass on by arriving. */
static struct race_vc *arrival(struct sim_races *r, struct race_warp *w, uint64_t id, uint32_t mask,
                               bool relaxed)
{
    struct race_vc *out = NULL;
    if (!relaxed) {
        w->epoch = race_tick(r);
        return race_knowledge(r, id, w->view.block_base, w->view.warp_base, w->view.vc, mask,
                              w->epoch);
    }
    for (uint32_t m = mask; m; m &= m - 1)
        for (int s = 0; s < 2; s++) {
            struct race_vc *k = known_at_fence(r, w, id, __builtin_ctz(m), s);
            race_vc_add(r, &out, k);
            race_vc_drop(r, k);
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
    struct race_vc *out = copies ? copies_arrive(r, b, w, id, e->mask)
                                 : arrival(r, w, id, e->mask, e->order == SIM_RELAXED);
    race_vc_add(r, &bar->clock, out);
    race_vc_drop(r, out);
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
    race_vc_add(r, &bar->done, bar->clock);
    race_vc_drop(r, bar->clock);
    bar->clock = NULL;
}

static void mbarrier_wait(struct sim_races *r, struct race_block *b, const struct sim_sync_event *e)
{
    struct race_warp *w = &b->warp[e->at.warp];
    const struct race_mbarrier *bar = mbarrier_of(r, b, e->address[__builtin_ctz(e->mask)]);
    if (e->order != SIM_RELAXED)
        race_learn(r, w, e->mask, bar->done);
    for (uint32_t m = e->mask; m && e->order == SIM_RELAXED; m &= m - 1)
        race_vc_add(r, &fences_of(r, w)->seen[0][__builtin_ctz(m)], bar->done);
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
    case SIM_FENCE: fence(r, w, e); break;
    case SIM_INIT_FENCE:
        fence(r, w, e);
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

struct race_copy *race_copy_of(struct race_warp *w, uint32_t group)
{
    struct race_copy *c = w->copies;
    while (c && c->group != group)
        c = c->next;
    return c;
}

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
        struct race_vc *k = race_knowledge(r, id, c->view.block_base, c->view.warp_base, c->view.vc,
                                           lanes, c->view.own);
        race_vc_add(r, &out, k);
        race_vc_drop(r, k);
        finish(r, b, w, c, lanes, true);
    }
    tidy_copies(r, w);
    w->epoch = race_tick(r);
    for (uint32_t m = mask, lanes; m; m &= ~lanes) {
        lanes = lanes_alike(w->arrived, m);
        struct race_vc *k = landed(r, w, id, lanes);
        race_vc_add(r, &out, k);
        race_vc_drop(r, k);
    }
    for (uint32_t m = mask, lanes; m; m &= ~lanes) {
        lanes = lanes_alike(w->waited, m);
        race_time bound = w->waited[__builtin_ctz(lanes)];
        if (!bound)
            continue;
        struct race_vc *k =
            race_knowledge(r, id, w->view.block_base, w->view.warp_base, w->view.vc, lanes, bound);
        race_vc_add(r, &out, k);
        race_vc_drop(r, k);
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
