#include "model/caches.h"

#include "sim/sim_own.h"

#include <string.h>

/* --- least recently used --- */

void lru_init(struct lru *c, struct arena *a, double room, uint32_t most)
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
    c->evicted_marked += e->mark ? e->weight : 0;
    e->chain = c->free;
    c->free = i;
}

struct lru_entry *lru_touch(struct lru *c, uint64_t key, double weight, bool *found)
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

/* --- L1 --- */

struct replay {
    struct lru l1;
    struct l1_result *out;
    const struct stream_block *block;
    size_t *at;      /* by warp: its next entry */
    struct lru seen; /* sectors of a slice, never evicted: what was counted as touched */
};

static void touch_slice(struct replay *r, const struct stream_entry *e, unsigned sectors, int slice)
{
    uint64_t sector = e->line * 4;
    uint64_t array = e->line * LINE_BYTES >> SIM_OFFSET_BITS;
    struct touched *t = &r->out->touched[slice][array % MOST_ARRAYS];
    bool found;
    struct lru_entry *line =
        lru_touch(&r->seen, e->line * TIME_SLICES + (uint64_t)slice, 1, &found);
    bool store = e->kind == STREAM_STORE || e->kind == STREAM_UPDATE;
    unsigned new = sectors & ~line->mark >> (store ? 4 : 0) & 15;
    line->mark |= sectors << (store ? 4 : 0);
    *(store ? &t->stored : &t->loaded) += __builtin_popcount(new) * (double)SECTOR_BYTES;
    sector += (uint64_t)__builtin_ctz(sectors | 16);
    if (sector < t->base || !t->base)
        t->base = sector;
}

static void replay_entry(struct replay *r, const struct stream_entry *e, int slice)
{
    struct l1_result *o = r->out;
    unsigned sectors = e->sectors, through = sectors;
    int count = __builtin_popcount(sectors);
    bool found;
    if (e->kind == STREAM_LOAD) {
        struct lru_entry *line = lru_touch(&r->l1, e->line, LINE_BYTES, &found);
        through &= ~line->mark;
        line->mark |= sectors;
        o->load_sectors += count;
        o->load_lines++;
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

/* One request of a warp, or as far as a barrier. false: it has none left, or waits. */
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

void l1_replay(struct arena *a, const struct stream_block *b, double room, struct l1_result *out)
{
    struct replay r = {.out = out, .block = b, .at = arena_array(a, size_t, b->warps)};
    *out = (struct l1_result){0};
    lru_init(&r.l1, a, room > LINE_BYTES ? room : LINE_BYTES, (uint32_t)(room / LINE_BYTES) + 2);
    size_t lines = lines_of(b);
    lru_init(&r.seen, a, 1e18, (uint32_t)(lines < 1u << 18 ? lines + 1 : 1u << 18));
    for (bool waiting = true; waiting;) {
        bool any = true;
        while (any) {
            any = false;
            for (int w = 0; w < b->warps; w++)
                any = replay_turn(&r, w) || any;
        }
        waiting = false; /* all that are left are at barriers */
        for (int w = 0; w < b->warps; w++)
            if (r.at[w] < b->warp[w].entries.count) {
                r.at[w]++;
                waiting = true;
            }
    }
}

/* --- L2 --- */

/* A place for a block on a multiprocessor. */
struct place {
    double time; /* when it goes on */
    double pace; /* of a slice */
    int64_t block;
    int slice;
};

struct l2_run {
    const struct l2_grid *g;
    struct lru cache;
    struct place *heap;
    int count;
    int64_t next, blocks;
    uint32_t random;
    struct l2_result *out;
};

static void sift(struct l2_run *r)
{
    struct place moved = r->heap[0];
    int i = 0;
    for (int child = 1; child < r->count; child = 2 * i + 1) {
        if (child + 1 < r->count && r->heap[child + 1].time < r->heap[child].time)
            child++;
        if (r->heap[child].time >= moved.time)
            break;
        r->heap[i] = r->heap[child];
        i = child;
    }
    r->heap[i] = moved;
}

static void touch_pieces(struct l2_run *r, const struct place *p)
{
    const struct l2_grid *g = r->g;
    int64_t at[3] = {p->block % g->extent[0], p->block / g->extent[0] % g->extent[1],
                     p->block / g->extent[0] / g->extent[1]};
    for (int i = 0; i < MOST_ARRAYS; i++) {
        const struct l2_piece *x = &g->pieces[p->slice][i];
        double weight = x->loaded > x->stored ? x->loaded : x->stored;
        if (weight == 0)
            continue;
        uint64_t key = x->base;
        for (int axis = 0; axis < 3; axis++)
            key += (uint64_t)(x->step[axis] * at[axis]);
        bool found;
        struct lru_entry *e = lru_touch(&r->cache, key, weight, &found);
        if (!found)
            r->out->read += x->loaded;
        if (x->stored > 0)
            e->mark = 1;
    }
}

/* 0 to 1 */
static double some(struct l2_run *r)
{
    r->random = r->random * 1664525u + 1013904223u; /* Numerical Recipes, "Quick and Dirty" */
    return (r->random >> 8) / (double)(1 << 24);
}

static void begin(struct l2_run *r, struct place *p)
{
    p->block = r->next++;
    p->slice = 0;
    p->pace = 1 + r->g->spread * (2 * some(r) - 1);
}

void l2_replay(struct arena *a, const struct l2_grid *g, struct l2_result *out)
{
    struct l2_run r = {.g = g, .out = out, .random = 1};
    r.blocks = g->extent[0] * g->extent[1] * g->extent[2];
    *out = (struct l2_result){0};
    lru_init(&r.cache, a, g->room, 1u << 17);
    r.count = (int)(r.blocks < g->places ? r.blocks : g->places);
    r.heap = arena_array(a, struct place, r.count + 1);
    for (int i = 0; i < r.count; i++)
        begin(&r, &r.heap[i]);
    while (r.count > 0) {
        struct place *first = &r.heap[0];
        touch_pieces(&r, first);
        first->time += first->pace;
        if (++first->slice == TIME_SLICES) {
            if (r.next < r.blocks)
                begin(&r, first);
            else
                *first = r.heap[--r.count];
        }
        sift(&r);
    }
    out->written = r.cache.evicted_marked;
}
