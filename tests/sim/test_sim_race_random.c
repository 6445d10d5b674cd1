/* The race check compared with a plain one, which has a vector clock for each thread and copy,
 * and keeps every access of every byte. Random programs, mostly steered around races, run until
 * the first race: both checks must see it at the same event. Unordered writes of one value are
 * not a race, but later accesses may race with any of them. */
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
    BLOCKS = 3,
    WARPS = 2,
    THREADS = 40, /* of a block: its second warp has 8 lanes */
    SLOTS = BLOCKS * WARPS * 32,
    COPIES = 64, /* most lanes' copies in one program */
    AGENTS = SLOTS + COPIES,
    SHARED = 64,
    GLOBAL = 1088, /* around the end of a page of the shadow memory */
    BYTES = BLOCKS * SHARED + GLOBAL,
    MBARRIER = SHARED - 8, /* offset of a block's mbarrier */
    EVENTS = 300
};
#define GLOBAL_BASE (FEED_BASE + 4096 - GLOBAL / 2)

struct clock {
    uint32_t at[AGENTS];
};
struct past {
    struct past *next;
    int agent, order, scope, element, value;
    uint32_t time;
    enum sim_kind kind;
    bool covered;       /* a later write is ordered after it and replaces it */
    struct past *after; /* the weak write after an update that has observed this one; NULL: none */
    bool perhaps;       /* a store between the updates may end that order */
};
struct value {
    struct clock wide, local;
    int block;        /* of local */
    int writer;       /* the thread of the last write */
    int bytes, write; /* what it wrote */
};
struct mbarrier {
    struct clock clock, done;
    bool there;
};

static struct model {
    struct clock now[AGENTS];
    struct clock fence[2][SLOTS], seen[2][SLOTS];
    bool fenced[2][SLOTS];
    struct past *past[BYTES];
    struct value value[BYTES];
    int write[BYTES], writes; /* by byte: number of its last write */
    struct mbarrier mbarrier[BLOCKS];
    int copies;                         /* agents used */
    uint64_t others;                    /* uses of other pages */
    int copy_of[COPIES], index[COPIES]; /* thread, commit group; -1: waited for */
    uint32_t group[COPIES];
    bool arrived[COPIES]; /* at an mbarrier */
    bool waited[SLOTS];   /* for any */
    int commits[SLOTS];
} * m;
static struct arena arena;
static jmp_buf failed;
static uint64_t random_state;
/* Programs differ in kind, so that each shortcut of the check is taken by some of them. */
static struct style {
    bool copies; /* asynchronous copies, mbarriers */
    bool ends;   /* blocks end early */
    bool few;    /* few instructions, so most accesses are by the same ones */
    bool rows;   /* accesses of global memory are rows of whole warps */
    bool weak;   /* no strong accesses, no fences */
    bool reads;  /* mostly reads and barriers of blocks */
    bool near;   /* few lanes; accesses of global memory are near each other */
    bool series; /* the blocks access rows in turn, at the same instructions, and end */
    bool closes; /* pages of global memory are closed now and then */
    bool worn;   /* they have been closed until they stay open */
    bool counts; /* threads update two counters, and reset them */
} style;
static bool ended[BLOCKS];

/* Rows that the warps of all blocks access, one after the other: at one of a few instructions, a
 * warp's row is `apart` bytes after that of the warp before, and a block's is `along` bytes after
 * that of the block before. */
enum { SERIES = 4 };
static struct series {
    int next; /* block, instruction and warp of the next access */
    struct {
        int first, apart, along, bytes;
        uint32_t mask;
        enum sim_kind kind;
        bool halves, listed;
    } row[SERIES];
} series;

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

static int live_block(void)
{
    int block = below(BLOCKS);
    while (ended[block])
        block = (block + 1) % BLOCKS;
    return block;
}

static int slot(int block, int warp, int lane)
{
    return (block * WARPS + warp) * 32 + lane;
}
static uint32_t lanes_of(int warp)
{
    return warp == 0 ? UINT32_MAX : 0xff;
}
static void join(struct clock *a, const struct clock *b)
{
    for (int i = 0; i < AGENTS; i++)
        a->at[i] = b->at[i] > a->at[i] ? b->at[i] : a->at[i];
}
static void step(int agent)
{
    m->now[agent].at[agent]++;
}

/* --- accesses --- */

struct request {
    int block, warp, bytes, order, scope, value;
    uint32_t mask;
    enum sim_kind kind;
    uint64_t address[SIM_LANES];
    int agent[SIM_LANES];
};

static int byte_of(const struct request *q, int lane)
{
    uint64_t a = q->address[lane];
    return a >= FEED_BASE ? BLOCKS * SHARED + (int)(a - GLOBAL_BASE) : q->block * SHARED + (int)a;
}

static int block_of_agent(int agent)
{
    return (agent < SLOTS ? agent : m->copy_of[agent - SLOTS]) / (WARPS * 32);
}

static bool is_wide(int order, int scope)
{
    return order == SIM_VOLATILE || scope >= SIM_GPU;
}

/* Returns true if both accesses are strong, of the same bytes, and each one's scope has the other's agent
 * (PTX ISA, "Morally strong operations"). */
static bool morally_strong(const struct past *a, const struct past *b)
{
    if (a->order == SIM_WEAK || b->order == SIM_WEAK || a->element != b->element)
        return false;
    return block_of_agent(a->agent) == block_of_agent(b->agent) ||
           (is_wide(a->order, a->scope) && is_wide(b->order, b->scope));
}

static struct past past_of(const struct request *q, int agent)
{
    return (struct past){.agent = agent,
                         .order = q->order,
                         .scope = q->scope,
                         .element = q->bytes,
                         .value = q->value,
                         .time = m->now[agent].at[agent],
                         .kind = q->kind};
}

/* Returns the value that the place carries, if its last write was of the whole place; else NULL. */
static const struct value *carried(const struct request *q, int lane)
{
    const struct value *v = &m->value[byte_of(q, lane)];
    for (int b = 0; b < q->bytes; b++)
        if (v->bytes != q->bytes || m->write[byte_of(q, lane) + b] != v->write)
            return NULL;
    return v;
}

/* Gives the events known to the agent at the access, with those that an acquiring access
 * acquires. */
static void known_at(const struct request *q, int lane, struct clock *known)
{
    const struct value *v = carried(q, lane);
    *known = m->now[q->agent[lane]];
    if (!v || !(q->kind & SIM_READ) || (q->order != SIM_ACQUIRE && q->order != SIM_ACQ_REL))
        return;
    if (v->block == q->block)
        join(known, &v->local);
    if (is_wide(q->order, q->scope))
        join(known, &v->wide);
}

static bool under_way(int agent)
{
    return agent >= SLOTS && (m->index[agent - SLOTS] >= 0 || m->arrived[agent - SLOTS]);
}

/* The check may forget events before one of two writes of a value, or before an observed update, so it
 * may or may not find such races: PERHAPS. */
enum verdict { NO_RACE, PERHAPS, RACE };

static enum verdict worse(enum verdict a, enum verdict b)
{
    return a > b ? a : b;
}

static bool knows(const struct clock *known, int agent, const struct past *p)
{
    return p->agent == agent || p->time <= known->at[p->agent];
}

/* Returns RACE if no order puts `p` before an access of the agent. */
static enum verdict unordered(const struct clock *known, int agent, const struct past *p)
{
    enum verdict verdict = NO_RACE;
    for (; !knows(known, agent, p); p = p->after) {
        if (!p->after)
            return RACE;
        verdict = worse(verdict, p->perhaps ? PERHAPS : NO_RACE);
    }
    return verdict;
}

static bool is_update(const struct past *p)
{
    return p->kind == SIM_UPDATE && p->order != SIM_WEAK;
}

/* Returns true if the last write of the byte is an update that has observed the update `p`, and that comes
 * before this weak access. Then `p` comes before the access, too (PTX ISA, "Causality order"). A store
 * between the two updates ends the chain, which the check does not see: `broken`. `newest`: the accesses of
 * the byte. */
static bool is_observed(const struct past *self, const struct clock *known,
                        const struct past *newest, const struct past *p, bool *broken)
{
    const struct past *last = newest;
    if (self->order != SIM_WEAK || !is_update(p))
        return false;
    while (!(last->kind & SIM_WRITE))
        last = last->next;
    if (!is_update(last) || !morally_strong(p, last) || !knows(known, self->agent, last))
        return false;
    *broken = false;
    for (const struct past *w = last; w != p; w = w->next)
        *broken |= w->kind == SIM_WRITE || (w->kind == SIM_UPDATE && !morally_strong(w, p));
    return true;
}

/* Judges the accesses of a byte, newest first. `stands`: no thread has written another value
 * since. */
static enum verdict byte_races(const struct past *self, const struct clock *known,
                               const struct past *newest)
{
    bool stands = true, passed = false, broken;
    enum verdict verdict = NO_RACE;
    for (const struct past *p = newest; p; p = p->next) {
        bool writes = p->kind & SIM_WRITE, both = p->kind == SIM_WRITE && self->kind == SIM_WRITE;
        bool same = both && stands && p->value == self->value && !under_way(p->agent) &&
                    self->agent < SLOTS && (p->order == SIM_WEAK || self->order == SIM_WEAK);
        enum verdict found = (writes || (self->kind & SIM_WRITE)) && !morally_strong(self, p)
                                 ? unordered(known, self->agent, p)
                                 : NO_RACE;
        if (found == RACE && is_observed(self, known, newest, p, &broken)) {
            found = broken ? PERHAPS : NO_RACE;
            passed = true;
        }
        if (found && !same)
            verdict = worse(verdict, passed && p->covered ? PERHAPS : found);
        passed |= found && same;
        stands = stands && (!writes || (p->kind == SIM_WRITE && p->value == self->value));
    }
    return verdict;
}

/* Marks accesses that the check need not keep, because a later write is ordered after them. */
static void cover(struct past *self, const struct clock *known)
{
    for (struct past *p = self->next; p; p = p->next) {
        bool more = p->order == SIM_WEAK || p->element != self->element ||
                    block_of_agent(p->agent) != block_of_agent(self->agent) ||
                    (!is_wide(p->order, p->scope) && is_wide(self->order, self->scope));
        bool ordered = unordered(known, self->agent, p) < RACE;
        if (!ordered && is_observed(self, known, self->next, p, &p->perhaps)) {
            p->after = self;
            ordered = true;
        }
        p->covered |= ordered && (self->order == SIM_WEAK || !more);
    }
}

/* Lanes of one instruction that write one value do not race with each other. */
static enum verdict access_races(const struct request *q, bool keep)
{
    enum verdict races = NO_RACE;
    for (uint32_t rest = q->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), agent = q->agent[lane];
        struct clock known;
        known_at(q, lane, &known);
        const struct past self = past_of(q, agent);
        for (int b = 0; b < q->bytes; b++)
            races = worse(races, byte_races(&self, &known, m->past[byte_of(q, lane) + b]));
    }
    for (uint32_t rest = q->mask; rest && keep; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), agent = q->agent[lane];
        struct clock known;
        known_at(q, lane, &known);
        for (int b = 0; b < q->bytes; b++) {
            struct past **at = &m->past[byte_of(q, lane) + b], *p = arena_new(&arena, struct past);
            *p = past_of(q, agent);
            p->next = *at;
            if (q->kind & SIM_WRITE)
                cover(p, &known);
            *at = p;
        }
    }
    return races;
}

static void read_value(const struct request *q, int lane)
{
    int s = slot(q->block, q->warp, lane), wide = is_wide(q->order, q->scope);
    const struct value *v = carried(q, lane);
    if (!v)
        return;
    bool acquires = q->order == SIM_ACQUIRE || q->order == SIM_ACQ_REL;
    struct clock *near = acquires ? &m->now[s] : &m->seen[0][s];
    struct clock *far = acquires ? &m->now[s] : &m->seen[1][s];
    if (v->block == q->block)
        join(near, &v->local);
    if (wide)
        join(far, &v->wide);
}

static void write_value(const struct request *q, int lane)
{
    int s = slot(q->block, q->warp, lane), wide = is_wide(q->order, q->scope);
    struct value *v = &m->value[byte_of(q, lane)];
    bool releases = q->order == SIM_RELEASE || q->order == SIM_ACQ_REL;
    bool goes_on = carried(q, lane) && (q->kind == SIM_UPDATE || v->writer == s);
    for (int b = 0; b < q->bytes; b++)
        m->write[byte_of(q, lane) + b] = m->writes;
    if (q->order == SIM_WEAK)
        return;
    if (!goes_on)
        *v = (struct value){.block = q->block};
    v->writer = s;
    v->bytes = q->bytes;
    v->write = m->writes;
    if (v->block != q->block) {
        memset(&v->local, 0, sizeof v->local);
        v->block = q->block;
    }
    if (releases) {
        join(&v->local, &m->now[s]);
        if (wide)
            join(&v->wide, &m->now[s]);
    } else {
        for (int f = 0; f < 2; f++) {
            if (m->fenced[f][s])
                join(&v->local, &m->fence[f][s]);
            if (m->fenced[f][s] && f && wide)
                join(&v->wide, &m->fence[f][s]);
        }
    }
}

static void pass_values(const struct request *q)
{
    m->writes++;
    for (uint32_t rest = q->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (q->order != SIM_WEAK && q->kind & SIM_READ)
            read_value(q, lane);
        if (q->kind & SIM_WRITE)
            write_value(q, lane);
    }
    for (uint32_t rest = q->mask; rest; rest &= rest - 1)
        if (q->order == SIM_RELEASE || q->order == SIM_ACQ_REL)
            step(slot(q->block, q->warp, __builtin_ctz(rest)));
}

static void random_request(struct request *q)
{
    static const int sizes[] = {1, 2, 4, 4, 4, 8, 16};
    int bytes = sizes[below(7)], global = below(3) < 1 + style.near,
        room = !global      ? SHARED
               : style.near ? GLOBAL / 17
                            : GLOBAL;
    int pattern = below(6), first = below(room / bytes);
    *q = (struct request){.block = live_block(), .warp = below(WARPS), .bytes = bytes};
    q->mask = below(3)   ? 1u << below(style.near ? 2 : 32)
              : below(2) ? UINT32_MAX
                         : random_next() & random_next();
    q->mask &= lanes_of(q->warp);
    q->kind = below(style.reads ? 6 : 2) ? SIM_READ : SIM_WRITE;
    q->value = below(3) + 1;
    if (!style.weak && below(4) == 0) {
        static const enum sim_order orders[] = {SIM_RELAXED, SIM_ACQUIRE, SIM_RELEASE, SIM_ACQ_REL,
                                                SIM_VOLATILE};
        static const int strong_sizes[] = {4, 4, 4, 2, 8};
        q->bytes = bytes = strong_sizes[below(5)];
        first = below(4);
        q->order = orders[below(5)];
        q->kind = q->order == SIM_ACQUIRE                                            ? SIM_READ
                  : q->order == SIM_RELEASE                                          ? SIM_WRITE
                  : q->order == SIM_ACQ_REL || (q->order == SIM_RELAXED && below(2)) ? SIM_UPDATE
                                                                                     : q->kind;
        q->scope = below(4) && global ? SIM_GPU : SIM_CTA;
        pattern = 0;
    }
    if (style.rows && global && q->order == SIM_WEAK) {
        static const int wide[] = {4, 8, 16};
        q->bytes = bytes = wide[below(3)];
        q->warp = 0;
        q->mask = below(30) ? UINT32_MAX : q->mask;
        pattern = below(4) ? 2 : 6;
        first = below(room / 16) * 16 / bytes;
    } else if (style.rows && global) {
        first = below(room / bytes);
    }
    for (int l = 0; l < SIM_LANES; l++) {
        int at = pattern == 0   ? first
                 : pattern == 1 ? l
                 : pattern == 2 ? first + l
                 : pattern == 3 ? l / 16 * 3 + first
                 : pattern == 6 ? l % 16 + l / 16 * 32 + first
                                : l ^ first;
        q->address[l] = (global ? GLOBAL_BASE : 0) + (uint64_t)(at * bytes % room);
        q->agent[l] = slot(q->block, q->warp, l);
    }
}

static void random_series(void)
{
    series.next = 0;
    for (int i = 0; i < SERIES; i++) {
        static const uint32_t masks[] = {0xff, 0xff, 0x7e, UINT32_MAX};
        const int lanes = 1 << (3 + below(3)), bytes = 1 << below(3), row = lanes * bytes;
        const bool nested = below(2);
        series.row[i].bytes = bytes;
        series.row[i].first = GLOBAL / 4 + below(2) * (below(9) - 4) * bytes;
        series.row[i].apart = (nested ? 1 : BLOCKS) * row + 4 * below(2);
        series.row[i].along = (nested ? WARPS : 1) * row + 4 * below(2);
        series.row[i].mask = masks[below(4)];
        series.row[i].kind = below(3) ? SIM_READ : SIM_WRITE;
        series.row[i].halves = below(2);
        series.row[i].listed = below(3) == 0;
    }
}

/* Makes the request the next access of the series. Returns false after the last access of a block. */
static bool next_of_series(struct request *q)
{
    const int block = series.next / (SERIES * WARPS), at = series.next++ % (SERIES * WARPS),
              i = at % SERIES, bytes = series.row[i].bytes;
    const int first =
        series.row[i].first + block * series.row[i].along + at / SERIES * series.row[i].apart;
    *q = (struct request){.block = block,
                          .warp = at / SERIES,
                          .bytes = bytes,
                          .kind = series.row[i].kind,
                          .value = 4 + series.next % 200}; /* no two writes of one value */
    q->mask = series.row[i].mask & lanes_of(q->warp);
    for (int l = 0; l < SIM_LANES; l++) {
        const int at_lane = series.row[i].listed ? l ^ 5 : l;
        const int half = series.row[i].halves && l >= 16 ? GLOBAL / 4 : 0;
        q->address[l] = GLOBAL_BASE + (uint64_t)((first + at_lane * bytes + half) % (GLOBAL - 16));
        q->agent[l] = slot(q->block, q->warp, l);
    }
    return at < SERIES * WARPS - 1;
}

/* --- synchronisation --- */

static void feed_request(struct feed *f, const struct request *q, uint32_t group)
{
    feed_full(f, q->block, q->warp, q->mask, q->kind, q->address, q->bytes, q->value,
              (enum sim_order)q->order, (enum sim_scope)q->scope, group);
}

static void whole_barrier(struct feed *f, int block)
{
    struct clock all = {{0}};
    for (int i = 0; i < WARPS * 32; i++)
        join(&all, &m->now[slot(block, 0, i)]);
    for (int i = 0; i < WARPS * 32; i++) {
        m->now[slot(block, 0, i)] = all;
        step(slot(block, 0, i));
    }
    feed_barrier(f, block);
}

/* One warp arrives and goes on, or waits; the other waits. The barrier has 64 threads; the
 * second warp counts as many as it has. */
static void warp_barrier(struct feed *f, int block)
{
    bool waits = below(2);
    int first = below(WARPS);
    struct clock all = {{0}};
    for (int w = 0; w < WARPS; w++)
        for (uint32_t rest = lanes_of(w); rest; rest &= rest - 1)
            join(&all, &m->now[slot(block, w, __builtin_ctz(rest))]);
    for (int w = 0; w < WARPS; w++)
        for (uint32_t rest = lanes_of(w); rest; rest &= rest - 1) {
            int s = slot(block, w, __builtin_ctz(rest));
            if (w != first || waits)
                join(&m->now[s], &all);
            step(s);
        }
    feed_arrive(f, block, first, lanes_of(first), 1, 64, waits);
    feed_arrive(f, block, 1 - first, lanes_of(1 - first), 1, 64, true);
    feed_leave(f, block, 1 - first, lanes_of(1 - first), 1, 64);
    if (waits)
        feed_leave(f, block, first, lanes_of(first), 1, 64);
}

static void warp_sync(struct feed *f, int block, int warp)
{
    uint32_t mask = lanes_of(warp) & (below(2) ? UINT32_MAX : random_next());
    struct clock all = {{0}};
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        join(&all, &m->now[slot(block, warp, __builtin_ctz(rest))]);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        m->now[slot(block, warp, __builtin_ctz(rest))] = all;
        step(slot(block, warp, __builtin_ctz(rest)));
    }
    if (mask)
        feed_sync(f, block, warp, mask, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
}

static void fence(struct feed *f, int block, int warp)
{
    uint32_t mask = lanes_of(warp) & (below(2) ? UINT32_MAX : 1u << below(8));
    int wide = below(3) > 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int s = slot(block, warp, __builtin_ctz(rest));
        join(&m->now[s], &m->seen[0][s]);
        if (wide)
            join(&m->now[s], &m->seen[1][s]);
        m->fence[wide][s] = m->now[s];
        m->fenced[wide][s] = true;
        step(s);
    }
    feed_sync(f, block, warp, mask, SIM_FENCE, SIM_ACQ_REL, wide ? SIM_GPU : SIM_CTA);
}

static bool no_more_copies(const struct request *q)
{
    return q->order != SIM_WEAK || !q->mask || m->copies + __builtin_popcount(q->mask) > COPIES;
}

/* Makes a copy of some lanes: its read or its write. */
static void copy(struct feed *f, bool avoid, enum verdict *races)
{
    struct request q;
    static uint32_t group;
    random_request(&q);
    q.mask &= below(2) ? q.mask & -q.mask : 3u << below(4) * 8;
    if (no_more_copies(&q))
        return;
    int agents = m->copies;
    for (uint32_t rest = q.mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), s = slot(q.block, q.warp, lane), agent = SLOTS + agents;
        q.agent[lane] = agent;
        m->copy_of[agents] = s;
        m->index[agents] = m->commits[s];
        m->group[agents++] = group + 1;
        m->now[agent] = m->now[s];
        m->now[agent].at[agent] = 1;
    }
    if (avoid && access_races(&q, false))
        return;
    m->copies = agents;
    group++;
    for (uint32_t rest = q.mask; rest; rest &= rest - 1)
        step(slot(q.block, q.warp, __builtin_ctz(rest)));
    *races = access_races(&q, true);
    pass_values(&q);
    feed_async(f, q.block, q.warp, q.mask, SIM_ASYNC_ISSUE, group, 0);
    feed_request(f, &q, group);
}

/* Returns true if the copy is waited for. Copies that arrived at an mbarrier are known at any
 * wait. */
static bool is_waited_for(int copy, int slot_of, int pending)
{
    if (m->copy_of[copy] != slot_of)
        return false;
    if (m->arrived[copy])
        return true;
    return m->index[copy] >= 0 && (pending < 0 || m->index[copy] + pending < m->commits[slot_of]);
}

/* --- mbarriers --- */

static void tell_mbarrier(struct feed *f, int block, int warp, uint32_t mask, enum sim_sync kind,
                          bool copies)
{
    static const struct ptx_instruction of_copies = {.op = PTX_CP_ASYNC_MBARRIER_ARRIVE};
    struct sim_sync_event e = {
        .at = feed_place(f, block, warp), .kind = kind, .mask = mask, .order = SIM_RELEASE};
    e.at.ins = copies ? &of_copies : NULL;
    for (int l = 0; l < SIM_LANES; l++)
        e.address[l] = MBARRIER;
    f->line++;
    f->observer->sync(f->observer->user, &e);
}

/* Returns lanes whose copies may arrive: no lane of their instruction has waited for its part,
 * and they have waited for none. */
static uint32_t lanes_that_copy(int block, int warp)
{
    uint32_t lanes = 0;
    for (int c = 0; c < m->copies; c++) {
        bool fine = m->copy_of[c] / 32 == block * WARPS + warp && !m->waited[m->copy_of[c]];
        for (int other = 0; other < m->copies && fine; other++)
            fine = m->group[other] != m->group[c] || m->index[other] >= 0 || m->arrived[other];
        lanes |= fine ? 1u << m->copy_of[c] % 32 : 0;
    }
    for (int c = 0; c < m->copies; c++) /* all copies of a lane */
        if (m->index[c] < 0 && !m->arrived[c] && m->copy_of[c] / 32 == block * WARPS + warp)
            lanes &= ~(1u << m->copy_of[c] % 32);
    return lanes;
}

static void arrive(struct mbarrier *bar, int s, bool copies)
{
    if (!copies) {
        join(&bar->clock, &m->now[s]);
        step(s);
        return;
    }
    for (int c = 0; c < m->copies; c++)
        if (m->copy_of[c] == s) {
            join(&bar->clock, &m->now[SLOTS + c]);
            m->arrived[c] = true;
            m->index[c] = -1;
        }
    step(s);
}

/* Makes an init, an arrival, a phase's end or a wait; each but the init is also an atomic update
 * of the 8 bytes. */
static bool mbarrier(struct feed *f, int block, int warp, bool avoid, enum verdict *races)
{
    struct mbarrier *bar = &m->mbarrier[block];
    enum sim_sync kinds[] = {SIM_MBARRIER_ARRIVE, SIM_MBARRIER_PHASE, SIM_MBARRIER_WAIT};
    enum sim_sync kind = bar->there ? kinds[below(3)] : SIM_MBARRIER_INIT;
    bool copies = kind == SIM_MBARRIER_ARRIVE && below(2);
    struct request q = {.block = block, .warp = warp, .bytes = 8, .value = 99};
    q.mask = lanes_of(warp) & (kind == SIM_MBARRIER_INIT ? 1
                               : below(2)                ? UINT32_MAX
                                                         : 1u << below(8));
    q.mask &= copies ? lanes_that_copy(block, warp) : UINT32_MAX;
    q.kind = kind == SIM_MBARRIER_INIT ? SIM_WRITE : SIM_UPDATE;
    q.order = kind == SIM_MBARRIER_INIT ? SIM_WEAK : SIM_RELAXED;
    for (int l = 0; l < SIM_LANES; l++) {
        q.address[l] = MBARRIER;
        q.agent[l] = slot(block, warp, l);
    }
    if (!q.mask || (kind != SIM_MBARRIER_PHASE && avoid && access_races(&q, false)))
        return false;
    if (kind != SIM_MBARRIER_PHASE) {
        *races = access_races(&q, true);
        pass_values(&q);
    }
    bar->there = true;
    if (kind == SIM_MBARRIER_PHASE) {
        join(&bar->done, &bar->clock);
        memset(&bar->clock, 0, sizeof bar->clock);
    }
    for (uint32_t rest = q.mask; rest; rest &= rest - 1) {
        int s = slot(block, warp, __builtin_ctz(rest));
        if (kind == SIM_MBARRIER_ARRIVE)
            arrive(bar, s, copies);
        else if (kind == SIM_MBARRIER_WAIT)
            join(&m->now[s], &bar->done);
    }
    tell_mbarrier(f, block, warp, q.mask, kind, copies);
    if (kind == SIM_MBARRIER_INIT)
        memset(f->shared[block] + MBARRIER, q.value, 8);
    return true;
}

static void commit_or_wait(struct feed *f, int block, int warp)
{
    uint32_t mask = lanes_of(warp) & (below(2) ? UINT32_MAX : 1u << below(8));
    int kind = below(3), pending = kind == 0 ? -1 : below(2);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int s = slot(block, warp, __builtin_ctz(rest));
        m->commits[s] += kind == 2;
        for (int c = 0; c < m->copies && kind < 2; c++)
            if (is_waited_for(c, s, pending)) {
                join(&m->now[s], &m->now[SLOTS + c]);
                m->waited[s] = true;
                m->index[c] = -1;
            }
    }
    if (kind == 2)
        feed_async(f, block, warp, mask, SIM_ASYNC_COMMIT, 0, 0);
    else
        feed_async(f, block, warp, mask, SIM_ASYNC_WAIT, 0, pending);
}

/* Ends a block, unless it is the last one. */
static void end_block(struct feed *f, int block)
{
    int live = 0;
    for (int b = 0; b < BLOCKS; b++)
        live += !ended[b];
    if (live == 1)
        return;
    ended[block] = true;
    feed_end_block(f, block);
}

/* Makes an access, unless it would race and such accesses are avoided. Returns true if it made it. */
static bool make_access(struct feed *f, const struct request *q, bool avoid, enum verdict *races)
{
    if (!q->mask || (avoid && access_races(q, false)))
        return false;
    *races = worse(*races, access_races(q, true));
    pass_values(q);
    feed_request(f, q, 0);
    return true;
}

/* Makes the access that is next in the series. Before a block's first one, all blocks before it end.
 * An access that would race is left out. */
static enum verdict event_of_series(struct feed *f, bool avoid)
{
    struct request q;
    const int at = series.next % (SERIES * WARPS);
    const bool more = next_of_series(&q);
    for (int b = 0; b < q.block && !at; b++)
        if (!ended[b])
            end_block(f, b);
    if (!more && q.block == BLOCKS - 1)
        random_series(); /* the last block goes on alone */
    f->line = 200 + (uint32_t)(at % SERIES);
    enum verdict races = NO_RACE;
    if (!ended[q.block])
        make_access(f, &q, avoid, &races);
    return races;
}

/* Uses other memory, so that the pages of this one are closed. */
static void use_other_pages(struct feed *f, int block)
{
    feed_pages(f, block, 0, FEED_BASE + (++m->others << 20));
}

/* Writes bytes of both pages and closes them, until they stay open. */
static void wear_pages(struct feed *f)
{
    enum { TURNS = 4 };
    for (int i = 0; i < 2 * TURNS; i++) {
        const int at = below(GLOBAL / 2 - 16) + i % 2 * GLOBAL / 2;
        struct request q = {.mask = 1, .bytes = 1, .kind = SIM_WRITE, .value = 210 + i};
        q.address[0] = GLOBAL_BASE + (uint64_t)at;
        access_races(&q, true);
        pass_values(&q);
        feed_request(f, &q, 0);
        if (i % 2)
            use_other_pages(f, 0);
    }
}

/* Updates a counter. At times a read or a store follows: by the thread of the last update, or by another. */
static enum verdict count(struct feed *f, bool avoid)
{
    struct request q = {.block = live_block(), .warp = below(WARPS), .bytes = 4, .value = 1};
    enum verdict races = NO_RACE;
    q.mask = lanes_of(q.warp) & (below(2) ? UINT32_MAX : random_next());
    q.kind = SIM_UPDATE;
    q.order = SIM_RELAXED;
    q.scope = below(10) ? SIM_GPU : SIM_CTA;
    uint64_t address = GLOBAL_BASE + 4 * (uint64_t)below(2);
    for (int l = 0; l < SIM_LANES; l++) {
        q.address[l] = address;
        q.agent[l] = slot(q.block, q.warp, l);
    }
    if (!make_access(f, &q, avoid, &races) || races || below(2))
        return races;
    q.kind = below(2) ? SIM_READ : SIM_WRITE;
    q.order = below(4) ? SIM_WEAK : SIM_RELAXED;
    q.mask = below(4) ? UINT32_C(1) << (31 - __builtin_clz(q.mask)) : q.mask & -q.mask;
    make_access(f, &q, avoid, &races);
    return races;
}

static enum verdict random_event(struct feed *f)
{
    int kind = below(100), block = live_block(), warp = below(WARPS);
    enum verdict races = NO_RACE;
    bool avoid = below(20) > 0;
    if (style.few)
        f->line = 100 + (uint32_t)below(4);
    if (style.closes && below(50) == 0)
        use_other_pages(f, block);
    if (style.series && below(4))
        return event_of_series(f, avoid);
    if (style.counts && below(4) == 0)
        return count(f, avoid);
    if (style.ends && below(60) == 0)
        end_block(f, block);
    else if (kind < (style.reads ? 12 : 4)) {
        whole_barrier(f, block);
    } else if (kind < 7) {
        warp_barrier(f, block);
    } else if (kind < 12) {
        warp_sync(f, block, warp);
    } else if (kind < 17 && !style.weak) {
        fence(f, block, warp);
    } else if (kind < 22 && style.copies) {
        commit_or_wait(f, block, warp);
    } else if (kind < 30 && style.copies) {
        copy(f, avoid, &races);
    } else if (kind < 38 && style.copies) {
        mbarrier(f, block, warp, avoid, &races);
    } else {
        struct request q;
        random_request(&q);
        make_access(f, &q, avoid, &races);
    }
    return races;
}

/* Returns true for races by the model's rules. Volatile accesses are strong, so they make none;
 * findings of their own kinds are about the order that they leave open. */
static bool found_race(const struct sim_report *r)
{
    for (const struct sim_finding *f = r->first; f; f = f->next)
        if (f->kind != SIM_FOUND_VOLATILE_RACE && sim_report_fails(r, f->kind))
            return true;
    return false;
}

static void one_program(uint64_t seed, int64_t *events, int *raced)
{
    static struct feed f;
    struct sim_report report;
    arena_init(&arena, &allocator_libc, &failed);
    sim_report_init(&report, &arena, NULL);
    struct sim_races *races = sim_races_new(&arena, &report);
    random_state = seed * 0x9e3779b97f4a7c15ULL + 1;
    m = arena_new(&arena, struct model);
    memset(ended, 0, sizeof ended);
    style = (struct style){below(2),       below(2),      below(2),     below(2),
                           below(2),       below(2),      below(2),     seed % 3 == 0,
                           seed % 10 == 0, seed % 8 == 0, seed % 5 == 0};
    if (style.series)
        random_series();
    for (int i = 0; i < SLOTS; i++)
        step(i);
    feed_start(&f, sim_races_observer(races), &report, BLOCKS, THREADS);
    if (style.worn)
        wear_pages(&f);
    for (int i = 0; i < EVENTS; i++) {
        enum verdict expected = random_event(&f);
        bool found = found_race(&report);
        if (expected != PERHAPS && (expected == RACE) != found) {
            struct text t;
            text_init(&t, &arena);
            sim_report_text(&t, &report, false);
            fputs(t.data, stderr); /* too long for a message of the tests */
            fail_msg("seed %llu event %d line %u: %s", (unsigned long long)seed, i,
                     (unsigned)f.line, found ? "there is no race" : "a race is missed");
        }
        ++*events;
        *raced += found;
        if (found)
            break;
    }
    feed_end(&f);
    sim_races_free(races);
    arena_free(&arena);
}

static void programs(void **state)
{
    (void)state;
    const char *only = getenv("TW_SEED");
    int64_t events = 0;
    int raced = 0, count = getenv("TW_TEST_LONG") ? 20000 : 600;
    for (int i = 1; i <= count && !only; i++)
        one_program((uint64_t)i, &events, &raced);
    if (only)
        one_program(strtoull(only, NULL, 10), &events, &raced);
    print_message("%lld events, %d races\n", (long long)events, raced);
    assert_true(only || (raced > count / 3 && raced < count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
