/* All lanes of a warp that have not exited must execute an aligned barrier at the same
 * instruction. The machine may run them to it one after the other. They are apart if lanes of
 * the warp reach another instruction meanwhile, or if the barrier opens without them. */
#include "sim/sim_barrier_check.h"

#include "sim/sim_blocks.h"
#include "sim/sim_heap.h"
#include "sim/sim_mbarrier_check.h"

#include <string.h>

enum { BARRIERS = 16, MOST_THREADS = 1024 };

/* A warp at an aligned barrier. */
struct gathering {
    uint32_t mask; /* 0: no lane */
    int id;
    struct sim_place at;
    uint32_t skipping; /* lanes that went past the barrier, and below the place of some of them */
    struct sim_place skipping_at;
};

struct used_barrier {
    struct sim_place at;   /* place of the first arrival since it last opened */
    struct sim_place wait; /* place of the first lane that waits */
    int expected, arrived;
    bool in_use, reduces;
    uint32_t *waiting; /* by warp */
};

struct watched_block {
    struct sim_watched of;
    int warps, threads;
    uint32_t *live; /* by warp: lanes */
    struct gathering *gathering;
    struct used_barrier barrier[BARRIERS];
    struct sim_mbarrier_check mbarriers;
};

struct sim_barrier_check {
    struct sim_blocks blocks;
    struct arena *arena;
    struct sim_report *report;
    struct sim_observer observer;
    bool exits;
};

/* --- findings --- */

#if defined(__GNUC__)
__attribute__((format(printf, 7, 8)))
#endif
static void
found(struct sim_barrier_check *c, enum sim_found kind, const struct sim_place *a, uint32_t a_mask,
      const struct sim_place *b, uint32_t b_mask, const char *format, ...)
{
    struct sim_finding *known = sim_report_again(c->report, kind, a, b);
    int threads = __builtin_popcount(a_mask | b_mask);
    if (known) {
        known->threads += threads;
        return;
    }
    va_list args;
    va_start(args, format);
    struct sim_finding f = {
        .kind = kind, .message = arena_vprintf(c->arena, format, args), .access_count = b ? 2 : 1};
    va_end(args);
    const char *does = kind == SIM_FOUND_WARP_SYNC ? "synchronisation of lanes"
                       : kind == SIM_FOUND_PRODUCT ? "access to registers"
                                                   : "barrier";
    f.access[0] = (struct sim_finding_access){
        .at = *a, .lane = a_mask ? __builtin_ctz(a_mask) : -1, .does = does};
    if (b)
        f.access[1] = (struct sim_finding_access){
            .at = *b, .lane = b_mask ? __builtin_ctz(b_mask) : -1, .does = does};
    for (int i = 0; i < f.access_count; i++)
        if (f.access[i].at.ins && f.access[i].at.ins->op == PTX_WGMMA_MMA_ASYNC)
            f.access[i].does = "product";
    f.threads = threads;
    sim_report_add(c->report, &f);
}

static void lanes_apart(struct sim_barrier_check *c, const struct watched_block *b,
                        struct gathering *g, const struct sim_place *other, uint32_t other_mask)
{
    uint32_t away = b->live[g->at.warp] & ~g->mask;
    found(c, SIM_FOUND_DIVERGENT, &g->at, g->mask, other, other_mask,
          "aligned barrier %d by lanes 0x%08x of a warp, without its lanes 0x%08x", g->id, g->mask,
          away);
    g->mask = 0;
}

/* --- arrivals --- */

static void gather(struct sim_barrier_check *c, struct watched_block *b,
                   const struct sim_sync_event *e)
{
    struct gathering *g = &b->gathering[e->at.warp];
    bool same = g->mask && g->id == e->id && g->at.ins == e->at.ins &&
                g->at.where.offset == e->at.where.offset;
    if (g->mask && (!same || g->mask & e->mask))
        lanes_apart(c, b, g, &e->at, e->mask);
    if (!e->aligned)
        return;
    if (!g->mask) {
        g->at = e->at;
        g->id = e->id;
        g->skipping = 0;
    }
    if (e->skipping & ~g->skipping)
        g->skipping_at = e->skipping_at;
    g->mask |= e->mask;
    g->skipping = (g->skipping | e->skipping) & ~g->mask;
    if ((b->live[e->at.warp] & ~g->mask) == 0)
        g->mask = 0;
}

static void check_count(struct sim_barrier_check *c, const struct watched_block *b,
                        struct used_barrier *bar, const struct sim_sync_event *e)
{
    int expected = e->expected;
    if (expected != -1 && (expected <= 0 || expected % SIM_LANES || expected > MOST_THREADS))
        found(c, SIM_FOUND_BARRIER_COUNT, &e->at, e->mask, NULL, 0,
              "barrier %d for %d threads: not a multiple of 32 up to %d", e->id, expected,
              MOST_THREADS);
    else if (expected > b->warps * SIM_LANES)
        found(c, SIM_FOUND_BARRIER_COUNT, &e->at, e->mask, NULL, 0,
              "barrier %d for %d threads in a block of %d", e->id, expected, b->threads);
    if (bar->in_use && bar->expected != expected)
        found(c, SIM_FOUND_BARRIER_COUNT, &bar->at, 0, &e->at, e->mask,
              "barrier %d for %d threads and for %d at once (-1: all)", e->id, bar->expected,
              expected);
    if (bar->in_use && bar->reduces != e->reduces)
        found(c, SIM_FOUND_MIXED, &bar->at, 0, &e->at, e->mask,
              "barrier %d with .red and without at once", e->id);
}

/* Returns true if the instructions are of one barrier of the source, which the compiler may have
 * copied. */
static bool is_same_barrier(const struct sim_report *r, const struct sim_place *a,
                            const struct sim_place *b)
{
    const char *call_a = sim_call_text(r, a->ins), *call_b = sim_call_text(r, b->ins);
    return strcmp(sim_place_text(r, a->ins, a->where), sim_place_text(r, b->ins, b->where)) == 0 &&
           !call_a == !call_b && (!call_a || strcmp(call_a, call_b) == 0);
}

/* Warns of warps that meet at different __syncthreads() of CUDA C. PTX orders them (PTX ISA, bar:
 * the barrier is its number); the CUDA C++ Programming Guide, "Synchronization Functions", allows
 * __syncthreads() in a branch only if the whole block takes it. */
static void warn_of_warps_apart(struct sim_barrier_check *c, const struct used_barrier *bar,
                                const struct sim_sync_event *e)
{
    struct sim_finding f = {.kind = SIM_FOUND_WARPS_APART, .access_count = 2};
    bool plain = c->report->plain && e->id == 0 && e->expected == -1 && e->waits &&
                 bar->expected == -1 && bar->at.ins != e->at.ins && bar->at.ins->line &&
                 e->at.ins->line && bar->at.warp != e->at.warp;
    if (!plain || is_same_barrier(c->report, &bar->at, &e->at) ||
        sim_report_again(c->report, f.kind, &bar->at, &e->at))
        return;
    f.access[0] = (struct sim_finding_access){.at = bar->at, .lane = -1, .does = "barrier"};
    f.access[1] = (struct sim_finding_access){.at = e->at, .lane = -1, .does = "barrier"};
    f.message = arena_printf(c->arena,
                             "warps meet at different barriers, %s and %s: allowed by PTX, "
                             "undefined in CUDA C++",
                             sim_place_text(c->report, bar->at.ins, bar->at.where),
                             sim_place_text(c->report, e->at.ins, e->at.where));
    f.steps[f.step_count++] =
        "__syncthreads() may be in a branch or loop only if all threads of the "
        "block take it alike: move it out of there";
    sim_report_add(c->report, &f);
}

static int live_threads(const struct watched_block *b)
{
    int count = 0;
    for (int w = 0; w < b->warps; w++)
        count += __builtin_popcount(b->live[w]);
    return count;
}

static void wait_at(struct watched_block *b, struct used_barrier *bar,
                    const struct sim_sync_event *e)
{
    bool first = true;
    for (int w = 0; w < b->warps && first; w++)
        first = !bar->waiting[w];
    if (first)
        bar->wait = e->at;
    bar->waiting[e->at.warp] |= e->mask;
    sim_mbarrier_check_leave(&b->mbarriers, e->at.warp, e->mask);
}

static void arrive(struct sim_barrier_check *c, struct watched_block *b,
                   const struct sim_sync_event *e)
{
    if (e->id < 0 || e->id >= BARRIERS) {
        found(c, SIM_FOUND_BARRIER_ID, &e->at, e->mask, NULL, 0, "there is no barrier %d: 0 to 15",
              e->id);
        return;
    }
    struct used_barrier *bar = &b->barrier[e->id];
    check_count(c, b, bar, e);
    gather(c, b, e);
    if (!bar->waiting)
        bar->waiting = sim_heap_new(c->arena, (size_t)b->warps * sizeof *bar->waiting);
    if (bar->in_use)
        warn_of_warps_apart(c, bar, e);
    if (!bar->in_use) {
        bar->at = e->at;
        bar->expected = e->expected;
        bar->reduces = e->reduces;
        bar->arrived = 0;
        bar->in_use = true;
    }
    bar->arrived += __builtin_popcount(e->mask);
    if (e->waits)
        wait_at(b, bar, e);
    else if (bar->expected > 0 && bar->arrived >= bar->expected)
        bar->in_use = false; /* it may open without any waiting lane that leaves it */
}

/* Handles an opening barrier: no lane may still be on the way to it. */
static void leave(struct sim_barrier_check *c, struct watched_block *b,
                  const struct sim_sync_event *e)
{
    if (e->id < 0 || e->id >= BARRIERS || !b->barrier[e->id].waiting)
        return;
    struct used_barrier *bar = &b->barrier[e->id];
    for (int w = 0; w < b->warps; w++) {
        struct gathering *g = &b->gathering[w];
        if (g->mask && g->id == e->id && bar->waiting[w] & g->mask) {
            if (b->live[w] & ~g->mask)
                lanes_apart(c, b, g, NULL, 0);
            g->mask = 0;
        }
    }
    bar->waiting[e->at.warp] &= ~e->mask;
    bar->in_use = false;
    int away = b->threads - live_threads(b);
    if (c->exits && e->expected == -1 && away > 0)
        found(c, SIM_FOUND_EXITED, &e->at, e->mask, NULL, 0,
              "the barrier opens without %d of the %d threads of the block, which have left the "
              "kernel",
              away, b->threads);
}

/* Reports lanes that go on past a barrier at which other lanes of their warp wait. */
static void lanes_skipped(struct sim_barrier_check *c, struct gathering *g, uint32_t skipped)
{
    struct sim_finding f = {.kind = SIM_FOUND_DIVERGENT, .access_count = 2};
    uint32_t here = g->mask;
    g->mask = 0;
    f.threads = __builtin_popcount(here | skipped);
    struct sim_finding *known = sim_report_again(c->report, f.kind, &g->at, &g->skipping_at);
    if (known) {
        known->threads += f.threads;
        return;
    }
    f.message = arena_printf(c->arena,
                             "aligned barrier %d by lanes 0x%08x of a warp, while its lanes 0x%08x "
                             "go past it and leave the kernel later",
                             g->id, here, skipped);
    f.access[0] =
        (struct sim_finding_access){.at = g->at, .lane = __builtin_ctz(here), .does = "barrier"};
    f.access[1] = (struct sim_finding_access){.at = g->skipping_at,
                                              .lane = __builtin_ctz(skipped),
                                              .does = "goes on without the barrier"};
    f.steps[f.step_count++] =
        "an aligned barrier (__syncthreads() is one) must be executed by all lanes of a warp that "
        "have not left the kernel: PTX ISA, barrier. Lanes may return before it, but not go on";
    sim_report_add(c->report, &f);
}

/* Reports an instruction such as mma that only some lanes of a warp execute. */
static void lanes_missing(struct sim_barrier_check *c, const struct watched_block *b,
                          const struct sim_sync_event *e)
{
    int first = e->at.warp * SIM_LANES, threads = b->threads - first;
    if (threads < SIM_LANES && e->mask == (UINT32_C(1) << threads) - 1)
        found(c, SIM_FOUND_WARP_SYNC, &e->at, e->mask, NULL, 0,
              "all 32 lanes of a warp must execute %s, and the block has only %d threads in this "
              "warp; round the block up to a multiple of 32",
              ptx_ops[e->at.ins->op].name, threads);
    else
        found(c, SIM_FOUND_WARP_SYNC, &e->at, e->mask, NULL, 0,
              "all 32 lanes of a warp must execute %s, and only lanes 0x%08x do: the others go "
              "on without it, or have left the kernel",
              ptx_ops[e->at.ins->op].name, e->mask);
}

static void exits(struct sim_barrier_check *c, struct watched_block *b,
                  const struct sim_sync_event *e)
{
    struct gathering *g = &b->gathering[e->at.warp];
    uint32_t skipped = g->skipping & e->mask;
    if (g->mask && skipped)
        lanes_skipped(c, g, skipped);
    b->live[e->at.warp] &= ~e->mask;
    sim_mbarrier_check_leave(&b->mbarriers, e->at.warp, e->mask);
    if (g->mask && (b->live[e->at.warp] & ~g->mask) == 0)
        g->mask = 0;
}

static bool sync_told(void *user, const struct sim_sync_event *e)
{
    struct sim_barrier_check *c = user;
    struct watched_block *b = sim_blocks_find(&c->blocks, e->at.block);
    if (!b)
        return true;
    switch (e->kind) {
    case SIM_BARRIER_ARRIVE: arrive(c, b, e); break;
    case SIM_BARRIER_LEAVE: leave(c, b, e); break;
    case SIM_EXIT: exits(c, b, e); break;
    case SIM_WARP_SYNC:
        if (e->reported)
            *e->reported = true;
        if (e->aligned)
            lanes_missing(c, b, e);
        else if (e->mask & ~e->members)
            found(c, SIM_FOUND_WARP_SYNC, &e->at, e->mask & ~e->members, NULL, 0,
                  "lanes 0x%08x are not in the mask 0x%08x that they give", e->mask & ~e->members,
                  e->members);
        break;
    case SIM_CLUSTER_ARRIVE:
    case SIM_CLUSTER_LEAVE:
    case SIM_FENCE:
    case SIM_PROXY_FENCE:
    case SIM_INIT_FENCE: break;
    case SIM_MBARRIER_INIT:
    case SIM_MBARRIER_ARRIVE:
    case SIM_MBARRIER_BYTES:
    case SIM_MBARRIER_PHASE:
    case SIM_MBARRIER_WAIT:
    case SIM_MBARRIER_FAILED:
    case SIM_MBARRIER_INVAL:
    case SIM_MBARRIER_NONE:
    case SIM_MBARRIER_BROKEN:
        if (e->away)
            b = sim_blocks_find(&c->blocks, e->away - 1);
        if (b) /* otherwise the block whose mbarrier it is has ended */
            sim_mbarrier_check_told(&b->mbarriers, e);
        break;
    case SIM_PRODUCT_BROKEN:
        found(c, SIM_FOUND_PRODUCT, &e->at, 0, e->other, 0, "%s", e->why);
        break;
    }
    return true;
}

/* --- deadlock --- */

static const char *missing_text(struct sim_barrier_check *c, const struct watched_block *b,
                                const struct used_barrier *bar)
{
    struct text t;
    text_init(&t, c->arena);
    int named = 0;
    for (int w = 0; w < b->warps && named < 4; w++) {
        uint32_t away = b->live[w] & ~bar->waiting[w];
        if (!away)
            continue;
        text_printf(&t, "%swarp %d (lanes 0x%08x)", named++ ? ", " : "not there: ", w, away);
        for (int id = 0; id < BARRIERS; id++)
            if (b->barrier[id].waiting && b->barrier[id].waiting[w] & away)
                text_printf(&t, " waits at barrier %d", id);
    }
    return named ? t.data : "all threads that have not left are there";
}

/* Returns true if a thread that is missing at the barrier waits for memory, or for lanes of its
 * warp: that explains the barrier's wait. */
static bool is_late_elsewhere(const struct watched_block *b, const struct used_barrier *bar,
                              const struct sim_standstill *still)
{
    for (size_t i = 0; still && i < still->wait_count; i++) {
        const struct sim_wait *w = &still->waits[i];
        if ((w->what == SIM_FOR_MEMORY || w->what == SIM_FOR_LANES) &&
            w->at.block == b->of.number && w->mask & ~bar->waiting[w->at.warp])
            return true;
    }
    return false;
}

static bool explain(struct sim_barrier_check *c, struct watched_block *b, int id,
                    const struct sim_standstill *still)
{
    struct used_barrier *bar = &b->barrier[id];
    int waiting = 0, first = -1;
    for (int w = 0; bar->waiting && w < b->warps; w++) {
        waiting += __builtin_popcount(bar->waiting[w]);
        if (bar->waiting[w] && first < 0)
            first = w;
    }
    if (!waiting)
        return false;
    if (is_late_elsewhere(b, bar, still))
        return true;
    for (int w = 0; w < b->warps; w++)
        if (b->gathering[w].mask && b->gathering[w].id == id)
            lanes_apart(c, b, &b->gathering[w], NULL, 0);
    int expected = bar->expected > 0 ? bar->expected : live_threads(b);
    bool left = bar->expected > 0 && live_threads(b) < bar->expected;
    enum sim_found kind = left ? SIM_FOUND_EXITED : SIM_FOUND_DEADLOCK;
    struct sim_place at = bar->wait;
    at.warp = first;
    if (sim_report_again(c->report, kind, &at, NULL))
        return true;
    struct sim_finding f = {.kind = kind, .access_count = 1};
    f.access[0] = (struct sim_finding_access){
        .at = at, .lane = __builtin_ctz(bar->waiting[first]), .does = "wait"};
    f.message =
        arena_printf(c->arena, "barrier %d waits for %d threads, %d arrived%s", id, expected,
                     bar->arrived, left ? "; the block has fewer threads left" : "");
    f.steps[f.step_count++] = missing_text(c, b, bar);
    sim_report_add(c->report, &f);
    return true;
}

void sim_barrier_check_deadlock(struct sim_barrier_check *c, const struct sim_standstill *still)
{
    bool explained = still && sim_report_polls(c->report, still);
    explained |= still && sim_report_lanes(c->report, still);
    for (struct watched_block *b = NULL;
         (b = sim_blocks_next(&c->blocks, b ? b->of.number : -1));) {
        for (int id = 0; id < BARRIERS; id++)
            explained |= explain(c, b, id, still);
        explained |= sim_mbarrier_check_deadlock(&b->mbarriers);
    }
    if (explained)
        return;
    static const struct sim_standstill unknown = {.why = "no thread can go on"};
    sim_report_standstill(c->report, still ? still : &unknown);
}

/* --- launches --- */

static void forget_block(void *user, void *block)
{
    struct sim_barrier_check *c = user;
    struct watched_block *b = block;
    size_t warps = (size_t)b->warps;
    for (int id = 0; id < BARRIERS; id++)
        sim_heap_free(c->arena, b->barrier[id].waiting,
                      b->barrier[id].waiting ? warps * sizeof(uint32_t) : 0);
    sim_mbarrier_check_free(&b->mbarriers);
    sim_heap_free(c->arena, b->live, warps * sizeof *b->live);
    sim_heap_free(c->arena, b->gathering, warps * sizeof *b->gathering);
    sim_heap_free(c->arena, b, sizeof *b);
}

static bool block_begins(void *user, const struct sim_block_event *e)
{
    struct sim_barrier_check *c = user;
    struct watched_block *b = sim_heap_new(c->arena, sizeof *b);
    size_t warps = (size_t)e->warps;
    *b = (struct watched_block){.warps = e->warps,
                                .threads = e->threads,
                                .mbarriers = {c->arena, c->report, e->warps, NULL}};
    b->live = sim_heap_new(c->arena, warps * sizeof *b->live);
    b->gathering = sim_heap_new(c->arena, warps * sizeof *b->gathering);
    for (int w = 0; w < e->warps; w++) {
        int lanes = e->threads - w * SIM_LANES;
        b->live[w] = lanes >= SIM_LANES ? UINT32_MAX : ((uint32_t)1 << lanes) - 1;
    }
    sim_blocks_add(&c->blocks, &b->of, e->block);
    return true;
}

static bool block_ends(void *user, const struct sim_block_event *e)
{
    struct sim_barrier_check *c = user;
    struct watched_block *b = sim_blocks_find(&c->blocks, e->block);
    if (b)
        sim_mbarrier_check_ends(&b->mbarriers);
    return sim_blocks_ended(user, e);
}

struct sim_barrier_check *sim_barrier_check_new(struct arena *arena, struct sim_report *report)
{
    struct sim_barrier_check *c = arena_new(arena, struct sim_barrier_check);
    c->arena = arena;
    c->report = report;
    c->blocks = (struct sim_blocks){.forget = forget_block, .report = report};
    c->observer = (struct sim_observer){.user = c,
                                        .launch = sim_blocks_launch,
                                        .block_begins = block_begins,
                                        .block_ends = block_ends,
                                        .sync = sync_told};
    return c;
}

void sim_barrier_check_free(struct sim_barrier_check *c)
{
    sim_blocks_forget_all(&c->blocks);
}

void sim_barrier_check_exits(struct sim_barrier_check *c, bool exits)
{
    c->exits = exits;
}

struct sim_observer *sim_barrier_check_observer(struct sim_barrier_check *c)
{
    return &c->observer;
}
