/* Work of the async proxy: bulk copies and products of warpgroups, as agents of their own.
 *
 * A copy knows what its thread knew when it issued it. A product starts for each of its four warps
 * when that warp reaches it, so all four have to know what it must not race with. Its accesses belong to an agent, which others know by bounds as they know
 * warps:
 *   a copy to shared memory   the agent of its mbarrier, in the epoch in which it lands; the
 *                             mbarrier's clock passes it on to the threads that wait there,
 *   a copy to global memory   the agents of its thread's reads and of its writes, in the epoch of
 *                             its issue; the thread knows them from its wait on,
 *   a product                 the agent of its warpgroup, in the epoch in which its last warp
 *                             reached it; each warp knows it from its own wait on.
 * Each agent's work is done in the order of these epochs, so a bound is exact.
 *
 * The async proxy sees a generic write only if its thread executed fence.proxy.async after it and
 * before the synchronisation that puts it before the copy or product (PTX ISA, proxy-preserved
 * base causality order). So a warp keeps the times of its fences: the first one after the write has
 * to be known, too. Writes that follow reads need none. */
#include "sim/race/sim_race_own.h"

#include "ptx/ptx.h"

enum { WARPGROUP = RACE_ISSUERS };
#define LAST_BLOCK ((UINT64_C(1) << 34) - 1)

static uint64_t agent_id(int64_t block, uint64_t number)
{
    return RACE_AGENT | number << RACE_NUMBER_AT | ((uint64_t)block & LAST_BLOCK) << 6 | 1;
}

static uint64_t id_of(const struct sim_async_event *e, bool writes)
{
    uint64_t thread = (uint64_t)e->at.warp * SIM_LANES + (uint64_t)__builtin_ctz(e->mask);
    switch (e->agent) {
    case SIM_COPY_IN: return agent_id(e->mbarrier_block, 1 + e->mbarrier / 8);
    case SIM_COPY_OUT: return agent_id(e->at.block, RACE_OF_THREADS + 2 * thread + writes);
    default: return agent_id(e->at.block, RACE_OF_WARPGROUPS + (uint64_t)(e->at.warp / WARPGROUP));
    }
}

struct race_agent *race_agent_of(const struct race_block *b, uint32_t group)
{
    struct race_agent *a = b->agents;
    while (a && a->group != group)
        a = a->next;
    return a;
}

static void drop(struct sim_races *r, struct race_block *b, struct race_agent *a)
{
    struct race_agent **at = &b->agents;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    for (int i = 0; i < RACE_ISSUERS; i++)
        race_vc_drop(r, a->known[i]);
    race_resize(r, a, sizeof *a, 0);
}

void race_agents_free(struct sim_races *r, struct race_block *b)
{
    while (b->agents)
        drop(r, b, b->agents);
    for (int w = 0; w < b->warps; w++)
        race_resize(r, b->warp[w].proxies, b->warp[w].proxies ? sizeof *b->warp[w].proxies : 0, 0);
}

/* --- issuing --- */

/* Lets the agent know, once, what the lanes of a warp know, and their accesses so far. */
static void inform(struct sim_races *r, struct race_block *b, struct race_agent *a,
                   const struct sim_async_event *e)
{
    struct race_warp *w = &b->warp[e->at.warp];
    w->epoch = race_tick(r); /* it is not ordered after the threads' later accesses */
    struct race_vc *known =
        race_knowledge(r, race_id(b->of.number, e->at.warp), &w->view, e->mask, w->epoch);
    int i = a->kind == SIM_PRODUCT ? e->at.warp % WARPGROUP : 0;
    a->known[i] = known;
    for (int l = 0; l < SIM_LANES; l++)
        a->view[i].vc[l] = known;
    a->epoch = w->epoch;
    a->met = (w->met & e->mask) != 0;
}

static void issue(struct sim_races *r, struct race_block *b, const struct sim_async_event *e)
{
    struct race_agent *a = e->agent == SIM_PRODUCT ? race_agent_of(b, e->group) : NULL;
    if (!a) {
        a = race_resize(r, NULL, 0, sizeof *a);
        a->next = b->agents;
        b->agents = a;
        a->group = e->group;
        a->kind = e->agent;
        a->id[0] = id_of(e, false);
        a->id[1] = id_of(e, true);
        a->by = race_id(b->of.number, e->at.warp);
        a->lane = (int8_t)(e->agent == SIM_PRODUCT ? -1 : __builtin_ctz(e->mask));
        a->index = e->agent == SIM_COPY_OUT ? b->warp[e->at.warp].bulk_commits[a->lane] : 0;
    }
    inform(r, b, a, e);
}

/* --- landing, waiting --- */

void race_agent_begins(struct sim_races *r, struct race_agent *a)
{
    if (a->kind != SIM_COPY_IN || a->lands)
        return;
    a->lands = true;
    a->epoch = race_tick(r);
}

void race_agent_completes(struct sim_races *r, struct race_agent *a, struct race_vc **clock)
{
    race_agent_begins(r, a);
    struct race_entry own = {a->id[0], UINT32_MAX, a->epoch + 1};
    struct race_vc *known = race_vc_of(r, &own, 1);
    race_tick(r);
    race_vc_add(r, clock, known);
    race_vc_add(r, clock, a->known[0]);
    race_vc_drop(r, known);
}

/* Lets lanes know the accesses of an agent up to an epoch. */
static void learn(struct sim_races *r, struct race_warp *w, uint32_t lanes, uint64_t id,
                  race_time epoch)
{
    struct race_entry entry = {id, UINT32_MAX, epoch + 1};
    struct race_vc *known = race_vc_of(r, &entry, 1);
    race_learn(r, w, lanes, known);
    race_vc_drop(r, known);
}

/* Lets each lane know its copies to global memory that it has waited for. They are dropped when
 * their writes are, too. */
static void wait_for_copies(struct sim_races *r, struct race_block *b,
                            const struct sim_async_event *e)
{
    struct race_warp *w = &b->warp[e->at.warp];
    uint64_t id = race_id(b->of.number, e->at.warp);
    for (struct race_agent *a = b->agents, *next; a; a = next) {
        next = a->next;
        if (a->kind != SIM_COPY_OUT || a->by != id || !(e->mask >> a->lane & 1) ||
            (int64_t)a->index + e->pending >= (int64_t)w->bulk_commits[a->lane])
            continue;
        learn(r, w, UINT32_C(1) << a->lane, a->id[0], a->epoch);
        if (e->reads)
            continue;
        learn(r, w, UINT32_C(1) << a->lane, a->id[1], a->epoch);
        if (a->landed)
            drop(r, b, a);
    }
}

/* Lets a warp know the products up to one. Drops those that all four warps know. */
static void wait_for_products(struct sim_races *r, struct race_block *b,
                              const struct sim_async_event *e)
{
    struct race_agent *last = race_agent_of(b, e->group);
    if (!last)
        return;
    race_time epoch = last->epoch;
    uint64_t id = last->id[0];
    learn(r, &b->warp[e->at.warp], e->mask, id, epoch);
    for (struct race_agent *a = b->agents, *next; a; a = next) {
        next = a->next;
        if (a->id[0] != id || a->group > e->group)
            continue;
        a->waited |= (uint8_t)(1u << e->at.warp % WARPGROUP);
        if (a->waited == (1u << WARPGROUP) - 1)
            drop(r, b, a);
    }
}

void race_agent_told(struct sim_races *r, struct race_block *b, const struct sim_async_event *e)
{
    struct race_agent *a;
    switch (e->kind) {
    case SIM_BULK_ISSUE:
    case SIM_PRODUCT_ISSUE: issue(r, b, e); break;
    case SIM_BULK_COMMIT:
        for (uint32_t m = e->mask; m; m &= m - 1)
            b->warp[e->at.warp].bulk_commits[__builtin_ctz(m)]++;
        break;
    case SIM_BULK_WAIT: wait_for_copies(r, b, e); break;
    case SIM_PRODUCT_WAIT: wait_for_products(r, b, e); break;
    case SIM_BULK_LAND:
        a = race_agent_of(b, e->group);
        if (a && a->kind == SIM_COPY_IN)
            drop(r, b, a);
        else if (a)
            a->landed = true;
        break;
    default: break;
    }
}

/* --- proxies --- */

void race_proxy_fence(struct sim_races *r, struct race_warp *w, const struct sim_sync_event *e)
{
    bool init = e->kind == SIM_INIT_FENCE;
    enum ptx_mod space = init ? MOD_NONE : ptx_find(e->at.ins, PTX_CLASS_SPACE, 0);
    if (!init && !ptx_has(e->at.ins, MOD_PROXY_ASYNC))
        return;
    if (!w->proxies)
        w->proxies = race_resize(r, NULL, 0, sizeof *w->proxies);
    struct race_proxies *p = w->proxies;
    if (p->count == RACE_PROXIES) { /* forget the older half */
        p->count /= 2;
        p->forgotten = p->fence[p->count - 1].time;
        memmove(p->fence, p->fence + p->count, (size_t)p->count * sizeof *p->fence);
    }
    w->epoch = race_tick(r);
    p->fence[p->count++] = (struct race_proxy){.time = w->epoch,
                                               .mask = e->mask,
                                               .init = init,
                                               .own = space == MOD_SHARED_CTA,
                                               .global = !init && space != MOD_SHARED_CTA &&
                                                         space != MOD_SHARED_CLUSTER,
                                               .shared = !init && space != MOD_GLOBAL};
}

/* Returns true if a fence makes such a write visible. */
static bool serves(const struct race_try *t, const struct race_proxy *f,
                   const struct race_record *old)
{
    if (f->init)
        return old->site->ins && old->site->ins->op == PTX_MBARRIER_INIT;
    if (t->a->space != SIM_SHARED)
        return f->global;
    return f->shared && !(f->own && (int64_t)(old->id >> 6) != t->home->of.number);
}

bool race_is_fenced(const struct race_try *t, const struct race_record *old, uint32_t lanes)
{
    const struct race_block *b = sim_blocks_find(&t->r->blocks, (int64_t)(old->id >> 6));
    int warp = (int)(old->id & 63) - 1;
    if (!b || warp < 0 || warp >= b->warps)
        return true; /* its block has ended: its fences are not known */
    const struct race_proxies *p = b->warp[warp].proxies;
    if (p && old->epoch < p->forgotten)
        return true;
    uint32_t left = lanes;
    for (int i = 0; p && i < p->count && left; i++) {
        const struct race_proxy *f = &p->fence[i];
        if (f->time <= old->epoch || !serves(t, f, old))
            continue;
        uint32_t by = left & f->mask;
        if (by && !race_vc_covers(t->view->vc[0], old->id, by, f->time))
            return false;
        left &= ~by;
    }
    return !left;
}
