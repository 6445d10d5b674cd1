#include "model/caches.h"

#include "sim/sim_own.h"

#include <math.h>
#include <string.h>

/* --- least recently used --- */

void model_lru_init(struct lru *c, struct arena *a, double room, uint32_t most)
{
    *c = (struct lru){.room = room, .capacity = most, .bucket_count = 1024};
    while (c->bucket_count < most)
        c->bucket_count *= 2;
    c->entries = arena_array(a, struct lru_entry, most + 1);
    c->buckets = arena_array(a, uint32_t, c->bucket_count);
    c->used = 1;
}

static uint32_t *bucket_of(const struct lru *c, uint64_t key)
{
    return &c->buckets[key * 0x9e3779b97f4a7c15u >> 20 & (c->bucket_count - 1)];
}

static void take_out(struct lru *c, uint32_t i)
{
    struct lru_entry *e = &c->entries[i];
    c->entries[e->previous].next = e->next;
    c->entries[e->next].previous = e->previous;
}

static void put_first(struct lru *c, uint32_t i)
{
    struct lru_entry *e = &c->entries[i], *head = &c->entries[0];
    e->previous = 0;
    e->next = head->next;
    c->entries[head->next].previous = i;
    head->next = i;
}

static void evict(struct lru *c)
{
    uint32_t i = c->entries[0].previous;
    struct lru_entry *e = &c->entries[i];
    uint32_t *at = bucket_of(c, e->key);
    while (*at != i)
        at = &c->entries[*at].chain;
    *at = e->chain;
    take_out(c, i);
    c->held -= e->weight;
    e->chain = c->free;
    c->free = i;
}

struct lru_entry *model_lru_touch(struct lru *c, uint64_t key, double weight, bool *found)
{
    uint32_t *bucket = bucket_of(c, key), i = *bucket;
    while (i && c->entries[i].key != key)
        i = c->entries[i].chain;
    *found = i != 0;
    if (i) {
        take_out(c, i);
        put_first(c, i);
        return &c->entries[i];
    }
    while (c->entries[0].previous &&
           (c->held + weight > c->room || (!c->free && c->used > c->capacity)))
        evict(c);
    i = c->free ? c->free : c->used++;
    if (c->free)
        c->free = c->entries[i].chain;
    struct lru_entry *e = &c->entries[i];
    bucket = bucket_of(c, key);
    *e = (struct lru_entry){.key = key, .chain = *bucket, .weight = weight};
    *bucket = i;
    c->held += weight;
    put_first(c, i);
    return e;
}

double model_lru_marked(const struct lru *c)
{
    double sum = 0;
    for (uint32_t i = c->entries[0].next; i; i = c->entries[i].next)
        sum += c->entries[i].mark;
    return sum;
}

/* --- L1 --- */

struct replay {
    struct lru l1;
    const struct l1_share *share;
    struct l1_result *out;
    const struct stream_block *block;
    size_t *at;      /* next entry of each warp */
    struct lru seen; /* sectors of a slice, never evicted: those counted as touched */
};

unsigned model_l2_array_of(uint64_t address)
{
    return (unsigned)(address >> SIM_OFFSET_BITS) % MOST_ARRAYS;
}

static unsigned array_of(uint64_t line)
{
    return model_l2_array_of(line * GPU_LINE_BYTES);
}

/* Returns the sectors of the line that are in the cache, and puts all of the entry's sectors
 * there. */
static unsigned touch_line(struct replay *r, const struct stream_entry *e)
{
    bool found, common = r->share->common >> array_of(e->line) & 1;
    double weight = common ? (double)GPU_LINE_BYTES / r->share->resident : GPU_LINE_BYTES;
    struct lru_entry *line = model_lru_touch(&r->l1, e->line, weight, &found);
    unsigned there = line->mark;
    line->mark |= e->sectors;
    return there;
}

static void touch_slice(struct replay *r, const struct stream_entry *e, unsigned sectors, int slice)
{
    uint64_t sector = e->line * 4;
    struct touched *t = &r->out->touched[slice][array_of(e->line)];
    bool found;
    struct lru_entry *line =
        model_lru_touch(&r->seen, e->line * TIME_SLICES + (uint64_t)slice, 1, &found);
    bool store = e->kind == STREAM_STORE || e->kind == STREAM_UPDATE;
    unsigned new = sectors & ~line->mark >> (store ? 4 : 0) & 15;
    line->mark |= sectors << (store ? 4 : 0);
    *(store ? &t->stored : &t->loaded) += __builtin_popcount(new) * (double)GPU_SECTOR_BYTES;
    sector += (uint64_t)__builtin_ctz(sectors | 16);
    if (sector < t->base || !t->base)
        t->base = sector;
}

static void replay_entry(struct replay *r, const struct stream_entry *e, int slice)
{
    struct l1_result *o = r->out;
    unsigned sectors = e->sectors, through = sectors;
    int count = __builtin_popcount(sectors);
    if (e->kind == STREAM_LOAD) {
        through &= ~touch_line(r, e);
        o->load_sectors += count;
        o->missed += __builtin_popcount(through);
    } else if (e->kind == STREAM_PAST_L1) {
        o->past += count;
    } else if (e->kind == STREAM_STORE) {
        o->stores += count;
    } else {
        o->updates += count;
    }
    if (!through)
        return;
    o->tags++;
    touch_slice(r, e, through, slice);
}

/* Replays one request of a warp, or its arrival at a barrier. Returns false if it has no request
 * left or waits. */
static bool replay_turn(struct replay *r, int warp)
{
    const struct stream *s = &r->block->warp[warp];
    size_t i = r->at[warp];
    if (i >= s->entries.count || s->entries.data[i].kind == STREAM_BARRIER)
        return false;
    int slice = (int)(i * TIME_SLICES / s->entries.count);
    replay_entry(r, &s->entries.data[i], slice);
    r->at[warp] = i + 1;
    return true;
}

static size_t lines_of(const struct stream_block *b)
{
    size_t sum = 0;
    for (int w = 0; w < b->warps; w++)
        sum += b->warp[w].entries.count;
    return sum;
}

/* Loads the lines that earlier blocks have left for all blocks. */
static void load_common(struct replay *r)
{
    for (int w = 0; w < r->block->warps; w++) {
        const struct stream *s = &r->block->warp[w];
        for (size_t i = 0; i < s->entries.count; i++)
            if (s->entries.data[i].kind == STREAM_LOAD &&
                r->share->common >> array_of(s->entries.data[i].line) & 1) {
                unsigned new = s->entries.data[i].sectors & ~touch_line(r, &s->entries.data[i]);
                r->out->common += __builtin_popcount(new);
            }
    }
}

void model_l1_replay(struct arena *a, const struct stream_block *b, const struct l1_share *share,
                     struct l1_result *out)
{
    struct replay r = {
        .share = share, .out = out, .block = b, .at = arena_array(a, size_t, b->warps)};
    double room = share->room > GPU_LINE_BYTES ? share->room : GPU_LINE_BYTES;
    *out = (struct l1_result){0};
    model_lru_init(
        &r.l1, a, room,
        (uint32_t)(room / GPU_LINE_BYTES) * (share->common ? (uint32_t)share->resident : 1) + 2);
    if (share->common)
        load_common(&r);
    size_t lines = lines_of(b);
    model_lru_init(&r.seen, a, 1e18, (uint32_t)(lines < 1u << 18 ? lines + 1 : 1u << 18));
    for (bool waiting = true; waiting;) {
        bool any = true;
        while (any) {
            any = false;
            for (int w = 0; w < b->warps; w++)
                any = replay_turn(&r, w) || any;
        }
        waiting = false; /* all remaining warps are at barriers */
        for (int w = 0; w < b->warps; w++)
            if (r.at[w] < b->warp[w].entries.count) {
                r.at[w]++;
                waiting = true;
            }
    }
}

/* The lines that a block loads of each array. */
struct loaded {
    uint64_t first, last;
    size_t count;
    bool stored;
};

static void find_loaded(const struct stream_block *b, struct loaded *of)
{
    for (int w = 0; w < b->warps; w++)
        for (size_t i = 0; i < b->warp[w].entries.count; i++) {
            const struct stream_entry *e = &b->warp[w].entries.data[i];
            struct loaded *x = &of[array_of(e->line)];
            x->stored |= e->kind == STREAM_STORE || e->kind == STREAM_UPDATE;
            if (e->kind != STREAM_LOAD)
                continue;
            x->first = x->count == 0 || e->line < x->first ? e->line : x->first;
            x->last = e->line > x->last ? e->line : x->last;
            x->count++;
        }
}

uint32_t model_l1_common(const struct stream_block *x, const struct stream_block *y)
{
    struct loaded of[2][MOST_ARRAYS] = {0};
    uint32_t common = 0;
    find_loaded(x, of[0]);
    find_loaded(y, of[1]);
    for (int i = 0; i < MOST_ARRAYS; i++) {
        const struct loaded *a = &of[0][i], *b = &of[1][i];
        if (a->count > 0 && a->count == b->count && a->first == b->first && a->last == b->last &&
            !a->stored && !b->stored)
            common |= 1u << i;
    }
    return common;
}

/* --- L2 --- */

struct running {
    int64_t block;
    int slice;
    double left; /* rest of the slice: 0 to 1 */
};

/* A multiprocessor with its blocks, the oldest first. */
struct multiprocessor {
    double from, time; /* the present time, and the time when the next of its blocks finishes a
                        * slice */
    int count;
    struct running *blocks;
};

struct l2_run {
    const struct l2_grid *g;
    struct lru cache;
    struct multiprocessor *heap;
    int count;
    int64_t next, all;          /* blocks that are replayed */
    int64_t steady;             /* blocks from here on represent the grid's other blocks */
    struct l2_result represent; /* their part of the result */
    double asked, awaited;      /* bytes */
    struct l2_result *out;
};

static void sift(struct l2_run *r, int i)
{
    struct multiprocessor moved = r->heap[i];
    for (int child = 2 * i + 1; child < r->count; child = 2 * i + 1) {
        if (child + 1 < r->count && r->heap[child + 1].time < r->heap[child].time)
            child++;
        if (r->heap[child].time >= moved.time)
            break;
        r->heap[i] = r->heap[child];
        i = child;
    }
    r->heap[i] = moved;
}

/* Counts the traffic of one piece; `dirtied` are bytes that have become dirty, and that are
 * written sooner or later. */
static void count_piece(struct l2_run *r, int64_t block, double read, double dirtied, double stored)
{
    struct l2_result *to[] = {r->out, &r->represent};
    for (int i = 0; i < (block >= r->steady ? 2 : 1); i++) {
        to[i]->read += read;
        to[i]->written += dirtied;
        to[i]->stored += stored;
    }
}

/* Touches the piece of a block whose lowest sector is `key`. */
static void touch_piece(struct l2_run *r, int64_t block, const struct l2_piece *x, uint64_t key,
                        double now)
{
    int copies = r->g->copies;
    double weight = x->loaded * copies > x->stored ? x->loaded * copies : x->stored;
    if (weight == 0)
        return;
    bool found;
    struct lru_entry *e = model_lru_touch(&r->cache, key, weight, &found);
    if (!found)
        e->since = now;
    r->asked += x->loaded;
    r->awaited += now - e->since < 1 ? x->loaded : 0;
    uint32_t stored = (uint32_t)x->stored, dirtied = stored > e->mark ? stored - e->mark : 0;
    e->mark += dirtied;
    count_piece(r, block, found ? 0 : x->loaded, dirtied, x->stored);
}

static void touch_pieces(struct l2_run *r, const struct running *b, double now)
{
    const struct l2_grid *g = r->g;
    int64_t at[3] = {b->block % g->extent[0], b->block / g->extent[0] % g->extent[1],
                     b->block / g->extent[0] / g->extent[1]};
    int set = (int)(at[2] < g->sets ? at[2] : g->sets - 1);
    at[2] -= set;
    for (int i = 0; i < MOST_ARRAYS; i++) {
        const struct l2_piece *x = &g->pieces[set][b->slice][i];
        uint64_t key = x->base;
        for (int axis = 0; axis < 3; axis++)
            key += (uint64_t)(x->step[axis] * at[axis]);
        if (!g->own || !(g->own_arrays >> i & 1))
            touch_piece(r, b->block, x, key, now);
    }
    const struct l2_own *own = g->own ? &g->own[b->block][b->slice] : NULL;
    for (size_t i = 0; own && i < own->list.count; i++)
        touch_piece(r, b->block, &own->list.data[i], own->list.data[i].base, now);
}

static double rate_of(const struct l2_run *r, int age)
{
    double left = 1 - age * r->g->share;
    return left < r->g->share ? (left > 1e-3 ? left : 1e-3) : r->g->share;
}

static void plan(const struct l2_run *r, struct multiprocessor *m, double now)
{
    m->from = now;
    m->time = 1e300;
    for (int i = 0; i < m->count; i++) {
        double end = now + m->blocks[i].left / rate_of(r, i);
        m->time = end < m->time ? end : m->time;
    }
}

/* Starts a new block, the youngest. */
static void begin(struct l2_run *r, struct multiprocessor *m, double now)
{
    struct running *b = &m->blocks[m->count++];
    *b = (struct running){.block = r->next++, .left = 1};
    touch_pieces(r, b, now);
}

/* Advances to the multiprocessor's time: slices end, blocks end, and new blocks take their
 * places. */
static void step(struct l2_run *r, struct multiprocessor *m)
{
    double now = m->time;
    int kept = 0, gone = 0;
    for (int i = 0; i < m->count; i++) {
        struct running b = m->blocks[i];
        b.left -= (now - m->from) * rate_of(r, i);
        if (b.left < 1e-6) {
            b.left = 1;
            if (++b.slice == TIME_SLICES) {
                gone++;
                continue;
            }
            touch_pieces(r, &b, now);
        }
        m->blocks[kept++] = b;
    }
    m->count = kept;
    for (; gone > 0 && r->next < r->all; gone--)
        begin(r, m, now);
    plan(r, m, now);
}

/* Starts blocks round after round, one on each multiprocessor. */
static void begin_all(struct l2_run *r, struct arena *a)
{
    r->count = (int)(r->all < r->g->multiprocessors ? r->all : r->g->multiprocessors);
    r->heap = arena_array(a, struct multiprocessor, r->count + 1);
    for (int i = 0; i < r->count; i++)
        r->heap[i].blocks = arena_array(a, struct running, r->g->resident + 1);
    for (int round = 0; round < r->g->resident; round++)
        for (int i = 0; i < r->count && r->next < r->all; i++)
            begin(r, &r->heap[i], 0);
    for (int i = r->count - 1; i >= 0; i--)
        plan(r, &r->heap[i], 0);
    for (int i = r->count - 1; i >= 0; i--)
        sift(r, i);
}

/* Chooses the blocks of a large grid to replay: the first ones. Their second half, in whole rows
 * if rows are short, represents the rest of the grid. */
static void choose_blocks(struct l2_run *r, int64_t blocks)
{
    enum { MOST_BLOCKS = 1 << 15 };
    int64_t row = r->g->extent[0], half = MOST_BLOCKS / 2;
    r->all = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    r->steady = blocks <= r->all ? -1 : r->all - (row < half ? half / row * row : half);
}

/* Returns the dirty bytes in L2 after the grid's last block. The blocks that are replayed may be
 * too few to fill L2; the others then fill it with the same share of dirty lines. */
static double left_dirty(const struct l2_run *r, bool others)
{
    double marked = model_lru_marked(&r->cache), room = r->g->room;
    if (others && r->cache.held > 0 && r->cache.held < room)
        marked *= room / r->cache.held;
    return fmin(marked, r->out->written);
}

void model_l2_replay(struct arena *a, const struct l2_grid *g, struct l2_result *out)
{
    struct l2_run r = {.g = g, .out = out};
    int64_t blocks = g->extent[0] * g->extent[1] * g->extent[2];
    choose_blocks(&r, blocks);
    *out = (struct l2_result){0};
    model_lru_init(&r.cache, a, g->room, 1u << 17);
    begin_all(&r, a);
    while (r.count > 0) {
        step(&r, &r.heap[0]);
        if (r.heap[0].count == 0)
            r.heap[0] = r.heap[--r.count];
        sift(&r, 0);
    }
    out->awaited = r.asked > 0 ? r.awaited / r.asked : 0;
    double times = (double)(blocks - r.all) / (double)(r.all - r.steady);
    out->read += r.represent.read * times;
    out->written += r.represent.written * times;
    out->stored += r.represent.stored * times;
    /* Each byte that becomes dirty is written: during the grid if L2 evicts it, or afterwards. */
    out->left = left_dirty(&r, blocks > r.all);
    out->written -= out->left;
}
