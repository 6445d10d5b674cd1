/* The race check of bulk copies, products of a warpgroup and proxy fences, compared with a plain
 * one, which has a vector clock for each thread, copy and product, and keeps every access of every
 * byte. Random programs of a block of four warps, mostly steered around races, run until the first
 * race or missing fence: both checks must see it at the same event. */
#include "sim/race/sim_race.h"
#include "sim_feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WARPS = 4,
    THREADS = WARPS * 32,
    WORKS = 64, /* most copies and products of a program */
    AGENTS = THREADS + 2 * WORKS,
    SHARED = 64, /* bytes of data; mbarriers follow */
    GLOBAL = 64,
    BYTES = SHARED + GLOBAL,
    MBARRIERS = 2,
    MOST_FENCES = 300,
    EVENTS = 300
};

struct clock {
    uint32_t at[AGENTS];
};
struct past {
    struct past *next;
    int agent;
    uint32_t time;
    bool writes, generic;
};
enum work_kind { IN, OUT, PRODUCT };
/* A copy or product. Its agent is THREADS + 2 * its index; a copy's writes to global memory belong
 * to the next one. */
struct work {
    enum work_kind kind;
    int thread, index; /* copies out: index of their group */
    int mbarrier;
    int issued; /* products: warps that have reached it, as bits */
    bool landed;
    uint32_t group;
    struct clock known[WARPS]; /* when it was issued; products: of each warp */
};
struct mbarrier {
    struct clock clock, done;
};
struct fence {
    uint32_t time;
    bool init;
};

static struct model {
    struct clock now[THREADS];
    struct past *past[BYTES];
    struct work work[WORKS];
    int works;
    struct mbarrier mbarrier[MBARRIERS];
    int commits[THREADS];
    struct fence fence[THREADS][MOST_FENCES];
    int fences[THREADS];
    uint32_t init_time; /* of the mbarriers, by thread 0 */
    int product[WARPS]; /* number of products that the warp has reached */
} * m;
static struct arena arena;
static jmp_buf failed;
static uint64_t random_state;

static uint32_t random_next(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)(random_state * 0x2545f4914f6cdd1dULL >> 32);
}
static int below(int n)
{
    return (int)(random_next() % (uint32_t)n);
}
static void join(struct clock *a, const struct clock *b)
{
    for (int i = 0; i < AGENTS; i++)
        a->at[i] = b->at[i] > a->at[i] ? b->at[i] : a->at[i];
}
static void step(int thread)
{
    m->now[thread].at[thread]++;
}
static int agent_of(int work)
{
    return THREADS + 2 * work;
}

/* --- accesses --- */

/* Bytes [address, address + bytes) of each lane, by a thread or an agent. */
struct request {
    int warp, bytes, agent[SIM_LANES];
    uint32_t mask, group;
    bool writes;
    uint64_t address[SIM_LANES];
};

static int byte_of(uint64_t address)
{
    return address >= FEED_BASE ? SHARED + (int)(address - FEED_BASE) : (int)address;
}

static bool fenced(const struct clock *known, int thread, uint32_t time, bool init)
{
    for (int i = 0; i < m->fences[thread]; i++) {
        const struct fence *f = &m->fence[thread][i];
        if (f->time >= time && (init || !f->init) && f->time <= known->at[thread])
            return true;
    }
    return false;
}

/* Returns true if a byte's accesses race with this one, or the last write lacks a fence. */
static bool byte_is_wrong(const struct past *p, int agent, bool writes, const struct clock *known)
{
    bool async = agent >= THREADS, last = true;
    for (; p; p = p->next) {
        bool own = p->agent == agent && agent < THREADS;
        if ((p->writes || writes) && !own && p->time > known->at[p->agent])
            return true;
        if (p->writes && last && async && p->generic && !fenced(known, p->agent, p->time, false))
            return true;
        last = last && !p->writes;
    }
    return false;
}

static bool is_wrong(const struct request *q, const struct clock *known)
{
    for (uint32_t rest = q->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), agent = q->agent[lane];
        const struct clock *k = known ? known : &m->now[agent];
        for (int b = 0; b < q->bytes; b++)
            if (byte_is_wrong(m->past[byte_of(q->address[lane]) + b], agent, q->writes, k))
                return true;
    }
    return false;
}

static void keep(const struct request *q)
{
    for (uint32_t rest = q->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), agent = q->agent[lane];
        for (int b = 0; b < q->bytes; b++) {
            struct past **at = &m->past[byte_of(q->address[lane]) + b];
            struct past *p = arena_new(&arena, struct past);
            *p = (struct past){.next = *at,
                               .agent = agent,
                               .time = agent < THREADS ? m->now[agent].at[agent] : 1,
                               .writes = q->writes,
                               .generic = agent < THREADS};
            *at = p;
        }
    }
}

static void feed_request(struct feed *f, const struct request *q)
{
    static int value; /* each write has another one */
    feed_full(f, 0, q->warp, q->mask, q->writes ? SIM_WRITE : SIM_READ, q->address, q->bytes,
              ++value, SIM_WEAK, SIM_CTA, q->group);
}

static bool access(struct feed *f, bool avoid)
{
    struct request q = {.warp = below(WARPS), .bytes = 4, .writes = below(2)};
    uint64_t base = below(3) ? 0 : FEED_BASE;
    int first = below(16);
    q.mask = below(3) ? 1u << below(32) : 0xffffu << 16 * below(2);
    for (int l = 0; l < SIM_LANES; l++) {
        q.address[l] = base + (uint64_t)((first + l) % 16 * 4);
        q.agent[l] = q.warp * 32 + l;
    }
    bool wrong = is_wrong(&q, NULL);
    if (wrong && avoid)
        return false;
    keep(&q);
    feed_request(f, &q);
    return wrong;
}

/* --- synchronisation --- */

static void whole_barrier(struct feed *f)
{
    struct clock all = {{0}};
    for (int i = 0; i < THREADS; i++)
        join(&all, &m->now[i]);
    for (int i = 0; i < THREADS; i++) {
        m->now[i] = all;
        step(i);
    }
    feed_barrier(f, 0);
}

/* One warp arrives and goes on, or waits; another one waits. */
static void barrier_of_two(struct feed *f)
{
    int first = below(WARPS), other = (first + 1 + below(WARPS - 1)) % WARPS;
    bool waits = below(2);
    struct clock all = {{0}};
    for (int l = 0; l < 32; l++) {
        join(&all, &m->now[first * 32 + l]);
        join(&all, &m->now[other * 32 + l]);
    }
    for (int l = 0; l < 32; l++) {
        if (waits)
            join(&m->now[first * 32 + l], &all);
        join(&m->now[other * 32 + l], &all);
        step(first * 32 + l);
        step(other * 32 + l);
    }
    feed_arrive(f, 0, first, UINT32_MAX, 1, 64, waits);
    feed_arrive(f, 0, other, UINT32_MAX, 1, 64, true);
    feed_leave(f, 0, other, UINT32_MAX, 1, 64);
    if (waits)
        feed_leave(f, 0, first, UINT32_MAX, 1, 64);
}

static void proxy_fence(struct feed *f, int warp, uint32_t mask, bool init)
{
    static struct ptx_instruction async = {.op = PTX_FENCE_PROXY, .mod_count = 1},
                                  of_init = {.op = PTX_FENCE, .mod_count = 1};
    async.mods[0] = MOD_PROXY_ASYNC;
    of_init.mods[0] = MOD_MBARRIER_INIT;
    struct sim_sync_event e = {.at = feed_place(f, 0, warp),
                               .kind = init ? SIM_INIT_FENCE : SIM_PROXY_FENCE,
                               .mask = mask,
                               .order = SIM_RELEASE,
                               .scope = SIM_CLUSTER};
    e.at.ins = init ? &of_init : &async;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int t = warp * 32 + __builtin_ctz(rest);
        if (m->fences[t] < MOST_FENCES)
            m->fence[t][m->fences[t]++] = (struct fence){m->now[t].at[t], init};
        step(t);
    }
    f->line++;
    f->observer->sync(f->observer->user, &e);
}

static void mbarrier(struct feed *f)
{
    static const enum sim_sync kinds[] = {SIM_MBARRIER_ARRIVE, SIM_MBARRIER_PHASE,
                                          SIM_MBARRIER_WAIT};
    int i = below(MBARRIERS), warp = below(WARPS), kind = below(3);
    struct mbarrier *bar = &m->mbarrier[i];
    uint32_t mask = below(2) ? UINT32_MAX : 1u << below(32);
    struct sim_sync_event e = {.at = feed_place(f, 0, warp),
                               .kind = kinds[kind],
                               .mask = mask,
                               .order = kind == 2 ? SIM_ACQUIRE : SIM_RELEASE};
    for (int l = 0; l < SIM_LANES; l++)
        e.address[l] = SHARED + 8 * (uint64_t)i;
    for (uint32_t rest = mask; rest && kind != 1; rest &= rest - 1) {
        int t = warp * 32 + __builtin_ctz(rest);
        join(kind ? &m->now[t] : &bar->clock, kind ? &bar->done : &m->now[t]);
        if (!kind)
            step(t);
    }
    if (kind == 1) {
        join(&bar->done, &bar->clock);
        memset(&bar->clock, 0, sizeof bar->clock);
    }
    f->line++;
    f->observer->sync(f->observer->user, &e);
}

/* --- copies, products --- */

static void tell_work(struct feed *f, const struct work *w, int warp, enum sim_async kind)
{
    static const enum sim_agent agents[] = {SIM_COPY_IN, SIM_COPY_OUT, SIM_PRODUCT};
    struct sim_async_event e = {.at = feed_place(f, 0, warp),
                                .kind = kind,
                                .mask = w->kind == PRODUCT ? UINT32_MAX : 1u << w->thread % 32,
                                .group = w->group,
                                .agent = agents[w->kind],
                                .mbarrier = SHARED + 8 * (uint64_t)w->mbarrier};
    f->line++;
    f->observer->async(f->observer->user, &e);
}

static void issue_copy(struct feed *f)
{
    if (m->works == WORKS)
        return;
    struct work *w = &m->work[m->works++];
    *w = (struct work){.kind = below(2) ? IN : OUT,
                       .thread = below(4) ? 32 * below(WARPS) : below(THREADS),
                       .mbarrier = below(MBARRIERS),
                       .group = (uint32_t)m->works};
    w->index = m->commits[w->thread];
    w->known[0] = m->now[w->thread];
    step(w->thread);
    tell_work(f, w, w->thread / 32, SIM_BULK_ISSUE);
}

/* Lets a warp reach its next product. */
static void issue_product(struct feed *f)
{
    int warp = below(WARPS), number = 0, i = 0;
    while (i < m->works && (m->work[i].kind != PRODUCT || number++ < m->product[warp]))
        i++;
    if (i == WORKS)
        return;
    struct work *w = &m->work[i];
    if (i == m->works)
        *w = (struct work){.kind = PRODUCT, .group = (uint32_t)++m->works};
    w->issued |= 1 << warp;
    m->product[warp]++;
    for (int l = 0; l < 32; l++) {
        join(&w->known[warp], &m->now[warp * 32 + l]);
        step(warp * 32 + l);
    }
    tell_work(f, w, warp, SIM_PRODUCT_ISSUE);
}

static void choose_pieces(struct request *q, bool global, int agent)
{
    int first = below(4);
    q->mask = (1u << (1 + below(4 - first))) - 1;
    for (int l = 0; l < 4; l++) {
        q->address[l] = (global ? FEED_BASE : 0) + (uint64_t)((first + l) % 4 * 16);
        q->agent[l] = agent;
    }
}

/* Makes an access of a copy or product; lanes are pieces of 16 bytes. Mostly avoids what is wrong,
 * and then may make none. */
static bool piece(struct feed *f, const struct work *w, bool writes, bool global)
{
    struct request q = {.warp = w->kind == PRODUCT ? below(WARPS) : w->thread / 32,
                        .bytes = 16,
                        .writes = writes,
                        .group = w->group};
    int agent = agent_of((int)(w - m->work)) + (global && w->kind == OUT), tries = 6;
    bool wrong = true, avoid = below(30) > 0;
    while (wrong && tries--) {
        wrong = false;
        choose_pieces(&q, global, agent);
        for (int i = 0; i < (w->kind == PRODUCT ? WARPS : 1); i++)
            wrong |= is_wrong(&q, &w->known[i]);
        tries = avoid ? tries : 0;
    }
    if (wrong && avoid)
        return false;
    keep(&q);
    feed_request(f, &q);
    return wrong;
}

static bool land(struct feed *f, struct work *w)
{
    bool wrong = false;
    w->landed = true;
    if (w->kind == PRODUCT)
        return piece(f, w, false, false);
    if (w->kind == OUT) {
        wrong = piece(f, w, false, false);
        if (!wrong)
            wrong = piece(f, w, true, true);
        tell_work(f, w, w->thread / 32, SIM_BULK_LAND);
        return wrong;
    }
    wrong = piece(f, w, true, false);
    struct mbarrier *bar = &m->mbarrier[w->mbarrier];
    struct clock own = w->known[0];
    wrong |= !fenced(&w->known[0], 0, m->init_time, true);
    own.at[agent_of((int)(w - m->work))] = 1;
    join(&bar->clock, &own);
    struct sim_sync_event e = {.at = feed_place(f, 0, w->thread / 32),
                               .kind = SIM_MBARRIER_BYTES,
                               .mask = 1u << w->thread % 32,
                               .group = w->group,
                               .count = -16};
    for (int l = 0; l < SIM_LANES; l++)
        e.address[l] = SHARED + 8 * (uint64_t)w->mbarrier;
    f->line++;
    f->observer->sync(f->observer->user, &e);
    tell_work(f, w, w->thread / 32, SIM_BULK_LAND);
    return wrong;
}

static bool can_land(const struct work *w)
{
    return !w->landed && (w->kind != PRODUCT || w->issued == (1 << WARPS) - 1);
}

/* Lands a copy or product; products of the warpgroup in order. */
static bool land_one(struct feed *f)
{
    int count = 0, first = m->works ? below(m->works) : 0;
    for (int i = 0; i < m->works; i++, count++) {
        struct work *w = &m->work[(first + i) % m->works];
        bool early = false;
        for (int k = 0; k < w - m->work; k++)
            early |= w->kind == PRODUCT && m->work[k].kind == PRODUCT && !m->work[k].landed;
        if (can_land(w) && !early)
            return land(f, w);
    }
    return false;
}

static bool wait_for_product(struct feed *f)
{
    int warp = below(WARPS), last = below(m->works + 1) - 1;
    bool wrong = false;
    while (last >= 0 && (m->work[last].kind != PRODUCT || m->work[last].issued != 15))
        last--;
    if (last < 0)
        return false;
    for (int i = 0; i <= last && !wrong; i++)
        if (m->work[i].kind == PRODUCT && !m->work[i].landed)
            wrong = land(f, &m->work[i]);
    if (wrong)
        return true;
    for (int i = 0; i <= last; i++)
        for (int l = 0; l < 32 && m->work[i].kind == PRODUCT; l++)
            m->now[warp * 32 + l].at[agent_of(i)] = 1;
    tell_work(f, &m->work[last], warp, SIM_PRODUCT_WAIT);
    return false;
}

static bool commit_or_wait(struct feed *f)
{
    int warp = below(WARPS), kind = below(3), pending = below(2);
    uint32_t mask = below(2) ? UINT32_MAX : 1u << below(32);
    struct sim_async_event e = {.at = feed_place(f, 0, warp),
                                .kind = kind ? SIM_BULK_WAIT : SIM_BULK_COMMIT,
                                .mask = mask,
                                .agent = SIM_COPY_OUT,
                                .pending = pending,
                                .reads = kind == 1};
    for (int i = 0; i < m->works; i++) {
        struct work *w = &m->work[i];
        int t = w->thread;
        if (!kind || w->kind != OUT || t / 32 != warp || !(mask >> t % 32 & 1) ||
            w->index + pending >= m->commits[t])
            continue;
        if (!w->landed && land(f, w))
            return true;
        m->now[t].at[agent_of(i)] = 1;
        if (kind == 2)
            m->now[t].at[agent_of(i) + 1] = 1;
    }
    for (uint32_t rest = kind ? 0 : mask; rest; rest &= rest - 1)
        m->commits[warp * 32 + __builtin_ctz(rest)]++;
    f->line++;
    f->observer->async(f->observer->user, &e);
    return false;
}

/* --- programs --- */

static bool random_event(struct feed *f)
{
    int kind = below(100);
    if (kind < 5)
        whole_barrier(f);
    else if (kind < 12)
        barrier_of_two(f);
    else if (kind < 22)
        proxy_fence(f, below(WARPS), below(2) ? UINT32_MAX : 1u << below(32), below(8) == 0);
    else if (kind < 34)
        mbarrier(f);
    else if (kind < 38)
        issue_copy(f);
    else if (kind < 50)
        issue_product(f);
    else if (kind < 54)
        return land_one(f);
    else if (kind < 64)
        return wait_for_product(f);
    else if (kind < 70)
        return commit_or_wait(f);
    else
        return access(f, below(40) > 0);
    return false;
}

/* Thread 0 makes the mbarriers; then all threads meet. */
static void begin(struct feed *f)
{
    static const struct ptx_instruction makes = {.op = PTX_MBARRIER_INIT};
    for (int i = 0; i < THREADS; i++)
        step(i);
    m->init_time = m->now[0].at[0];
    for (int i = 0; i < MBARRIERS; i++) {
        struct sim_sync_event e = {
            .at = feed_place(f, 0, 0), .kind = SIM_MBARRIER_INIT, .mask = 1, .count = 1};
        e.at.ins = &makes;
        e.address[0] = SHARED + 8 * (uint64_t)i;
        f->line++;
        f->observer->sync(f->observer->user, &e);
    }
    if (below(20))
        proxy_fence(f, 0, 1, below(2));
    whole_barrier(f);
}

static void one_program(uint64_t seed, int64_t *events, int *raced)
{
    static struct feed f;
    struct sim_report report;
    bool found = false;
    arena_init(&arena, &allocator_libc, &failed);
    sim_report_init(&report, &arena, NULL);
    struct sim_races *races = sim_races_new(&arena, &report);
    random_state = seed * 0x9e3779b97f4a7c15ULL + 1;
    m = arena_new(&arena, struct model);
    feed_start(&f, sim_races_observer(races), &report, 1, THREADS);
    begin(&f);
    for (int i = 0; i < EVENTS && !found; i++) {
        bool expected = random_event(&f);
        found = report.first != NULL;
        if (expected != found) {
            struct text t;
            text_init(&t, &arena);
            sim_report_text(&t, &report, false);
            fputs(t.data ? t.data : "", stderr); /* too long for a message of the tests */
            fail_msg("seed %llu event %d line %u: %s", (unsigned long long)seed, i,
                     (unsigned)f.line, found ? "there is no race" : "a race is missed");
        }
        ++*events;
    }
    *raced += found;
    feed_end(&f);
    sim_races_free(races);
    arena_free(&arena);
}

static void programs(void **state)
{
    (void)state;
    const char *only = getenv("TW_SEED");
    int64_t events = 0;
    int raced = 0, count = getenv("TW_TEST_LONG") ? 40000 : 1500;
    for (int i = 1; i <= count && !only; i++)
        one_program((uint64_t)i, &events, &raced);
    if (only)
        one_program(strtoull(only, NULL, 10), &events, &raced);
    print_message("%lld events, %d races\n", (long long)events, raced);
    assert_true(only || raced > count / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
