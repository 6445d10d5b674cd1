/* The parts of the shadow memory: records, lists, split words. Cells name records by
 * number. Numbers that no cell names any more are found by marking, when twice as many are in
 * use as were left the last time. */
#include "sim/sim_race_own.h"

enum { FIRST_LIMIT = 4096 };

/* --- arrays with a free list --- */

static uint32_t list_new(struct sim_races *r, struct race_pool *p, const uint64_t *addresses)
{
    uint32_t list = p->list_free;
    if (list) {
        p->list_free = (uint32_t)p->lists[list][0];
    } else {
        p->list_count += !p->list_count; /* 0 means none */
        if (p->list_count >= p->list_room)
            RACE_GROW(r, p->lists, p->list_room, 16);
        list = p->list_count++;
    }
    memcpy(p->lists[list], addresses, sizeof p->lists[list]);
    return list;
}

static void list_drop(struct race_pool *p, uint32_t list)
{
    if (!list)
        return;
    p->lists[list][0] = p->list_free;
    p->list_free = list;
}

uint32_t race_record_new(struct sim_races *r, struct race_pool *p, const struct race_record *from,
                         const uint64_t *addresses)
{
    uint32_t record = p->record_free;
    if (record) {
        p->record_free = p->records[record].epoch;
    } else {
        p->record_count += !p->record_count;
        if (p->record_count >= p->record_room)
            RACE_GROW(r, p->records, p->record_room, 64);
        record = p->record_count++;
    }
    p->record_used++;
    p->records[record] = *from;
    if (from->pattern == RACE_LISTED)
        p->records[record].list = list_new(r, p, addresses);
    return record;
}

void race_record_landed(struct sim_races *r, struct race_pool *p, uint32_t record, uint32_t lanes,
                        race_time epoch)
{
    static const uint64_t never[SIM_LANES];
    if (!p->records[record].landed) {
        uint32_t list = list_new(r, p, never);
        p->records[record].landed = list;
    }
    for (uint32_t m = lanes; m; m &= m - 1)
        p->lists[p->records[record].landed][__builtin_ctz(m)] = epoch;
}

static bool is_list(const struct race_pool *p, uint32_t list, uint32_t record, uint32_t next,
                    bool stands)
{
    const struct race_node *n = list && list < p->node_count ? &p->nodes[list] : NULL;
    return n && n->depth && n->record == record && n->next == next && n->stands == stands;
}

uint32_t race_node_new(struct sim_races *r, struct race_pool *p, uint32_t record, uint32_t next,
                       bool stands)
{
    const struct race_record *own = &p->records[record];
    uint32_t *made = p == &r->pool ? &r->lists[(record + 7 * next) % RACE_LISTS] : NULL;
    if (made && own->more && is_list(p, *made, record, next, stands))
        return *made;
    uint32_t node = p->node_free;
    if (node) {
        p->node_free = p->nodes[node].next;
    } else {
        p->node_count += !p->node_count;
        if (p->node_count >= p->node_room)
            RACE_GROW(r, p->nodes, p->node_room, 64);
        node = p->node_count++;
    }
    p->node_used++;
    if (made)
        *made = node;
    struct race_node *n = &p->nodes[node];
    *n = (struct race_node){.record = record,
                            .next = next,
                            .newest = own->pending ? RACE_NEVER : own->epoch,
                            .depth = 1,
                            .has_writes = (own->kind & SIM_WRITE) != 0,
                            .one_block = true,
                            .stands = stands};
    if (next) {
        const struct race_node *tail = &p->nodes[next];
        n->newest = tail->newest > n->newest ? tail->newest : n->newest;
        n->depth = (uint16_t)(tail->depth + 1);
        n->has_writes |= tail->has_writes;
        n->one_block = tail->one_block && p->records[tail->record].id >> 6 == own->id >> 6;
    }
    return node;
}

uint32_t race_split_new(struct sim_races *r, struct race_pool *p, struct race_cell all)
{
    uint32_t split = p->split_free;
    if (split) {
        p->split_free = p->splits[split][0].write;
    } else {
        p->split_count += !p->split_count;
        if (p->split_count >= p->split_room)
            RACE_GROW(r, p->splits, p->split_room, 16);
        split = p->split_count++;
    }
    for (int i = 0; i < 4; i++)
        p->splits[split][i] = all;
    return split;
}

void race_split_free(struct race_pool *p, uint32_t split)
{
    p->splits[split][0].write = p->split_free;
    p->split_free = split;
}

void race_pool_free(struct sim_races *r, struct race_pool *p)
{
    race_resize(r, p->records, p->record_room * sizeof *p->records, 0);
    race_resize(r, p->nodes, p->node_room * sizeof *p->nodes, 0);
    race_resize(r, p->splits, p->split_room * sizeof *p->splits, 0);
    race_resize(r, p->lists, p->list_room * sizeof *p->lists, 0);
    *p = (struct race_pool){0};
}

struct race_pool race_pool_take(struct sim_races *r)
{
    struct race_pool p = r->spare;
    r->spare = (struct race_pool){0};
    return p;
}

void race_pool_leave(struct sim_races *r, struct race_pool *p)
{
    race_pool_free(r, &r->spare);
    r->spare = *p;
    *p = (struct race_pool){0};
    p = &r->spare;
    p->record_count = p->record_free = p->record_used = p->record_limit = 0;
    p->node_count = p->node_free = p->node_used = p->node_limit = 0;
    p->split_count = p->split_free = p->list_count = p->list_free = 0;
}

/* --- numbers that no cell names --- */

static void mark_cell(struct race_pool *p, struct race_cell cell)
{
    if (cell.write & RACE_SPLIT) {
        for (int i = 0; i < 4; i++)
            mark_cell(p, p->splits[cell.write & ~RACE_SPLIT][i]);
        return;
    }
    if (cell.write)
        p->records[cell.write].mark = true;
    for (uint32_t n = cell.others; n && !p->nodes[n].mark; n = p->nodes[n].next) {
        p->nodes[n].mark = true;
        p->records[p->nodes[n].record].mark = true;
    }
}

static void mark_cells(struct race_pool *p, const struct race_cell *cells, size_t count)
{
    struct race_cell last = {0, 0};
    for (size_t i = 0; i < count; i++)
        if (cells[i].write != last.write || cells[i].others != last.others) {
            last = cells[i];
            mark_cell(p, last);
        }
}

static void mark_page(struct race_pool *p, const struct race_page *page)
{
    if (page->cell)
        mark_cells(p, page->cell, race_page_cells(page));
    for (size_t i = 0; page->cell_runs && i < page->cell_runs->count; i++) {
        struct race_cell cell;
        memcpy(&cell, &page->cell_runs->value[i], sizeof cell);
        mark_cell(p, cell);
    }
}

/* Frees unmarked records and nodes. Free records have kind 0, free nodes depth 0. */
static void sweep(struct race_pool *p)
{
    for (uint32_t i = 1; i < p->record_count; i++) {
        struct race_record *record = &p->records[i];
        if (!record->mark && record->kind) {
            list_drop(p, record->list);
            list_drop(p, record->landed);
            *record = (struct race_record){.epoch = p->record_free};
            p->record_free = i;
            p->record_used--;
        }
        record->mark = false;
    }
    for (uint32_t i = 1; i < p->node_count; i++) {
        struct race_node *node = &p->nodes[i];
        if (!node->mark && node->depth) {
            *node = (struct race_node){.next = p->node_free};
            p->node_free = i;
            p->node_used--;
        }
        node->mark = false;
    }
}

static void mark_copies(const struct race_block *b, struct race_pool *p, bool global)
{
    for (int w = 0; w < b->warps; w++)
        for (const struct race_copy *c = b->warp[w].copies; c; c = c->next)
            for (int i = 0; i < c->records; i++)
                if (c->in_global[i] == global)
                    p->records[c->record[i]].mark = true;
}

void race_collect(struct sim_races *r, struct race_block *block)
{
    struct race_pool *p = block ? &block->pool : &r->pool;
    if (p->record_limit) {
        if (block) {
            mark_cells(p, block->cells, block->cells ? block->words : 0);
            mark_copies(block, p, false);
        } else {
            for (size_t i = 0; i < r->page_capacity; i++)
                if (r->pages[i])
                    mark_page(p, r->pages[i]);
            for (size_t i = 0; i < SIM_BLOCK_BUCKETS; i++)
                for (const struct sim_watched *b = r->blocks.bucket[i]; b; b = b->next)
                    mark_copies((const struct race_block *)b, p, true);
        }
        sweep(p);
    }
    p->record_limit = 2 * p->record_used + FIRST_LIMIT;
    p->node_limit = 2 * p->node_used + FIRST_LIMIT;
}

/* --- the lanes of a byte --- */

uint32_t race_lanes_at(const struct race_pool *p, const struct race_record *record, uint64_t byte,
                       const uint64_t *addresses)
{
    if (record->pattern == RACE_UNIFORM)
        return byte - record->address < record->bytes ? record->mask : 0;
    if (record->pattern == RACE_LINEAR) {
        uint64_t distance = byte - record->address, lane = distance / record->stride;
        if (lane >= SIM_LANES || distance % record->stride >= record->bytes)
            return 0;
        return record->mask & (uint32_t)1 << lane;
    }
    uint32_t lanes = 0;
    if (record->pattern == RACE_HALVES) {
        for (uint32_t half = 0; half < SIM_LANES; half += RACE_HALF) {
            uint64_t distance = byte - record->address - (half ? (uint64_t)record->apart : 0);
            if (record->stride ? distance < RACE_HALF * record->stride : distance < record->bytes)
                lanes |= record->stride ? (uint32_t)1 << (distance / record->stride + half)
                                        : (uint32_t)0xffff << half;
        }
        return lanes & record->mask;
    }
    if (!addresses)
        addresses = p->lists[record->list];
    for (int l = 0; l < SIM_LANES; l++)
        if (record->mask >> l & 1 && byte - addresses[l] < record->bytes)
            lanes |= (uint32_t)1 << l;
    return record->whole_warp && lanes ? UINT32_MAX : lanes;
}
