/* The parts of the shadow memory: records, lists, split words. Cells name records by
 * number. Numbers that no cell names any more are found by marking, when twice as many are in
 * use as were left the last time. */
#include "sim/race/sim_race_own.h"

enum { FIRST_LIMIT = 4096 };

/* --- arrays with a free list --- */

/* Returns a list of `width` rows, which are not set. The array has a row after each list. */
static uint32_t list_new(struct sim_races *r, struct race_pool *p, uint32_t width)
{
    uint32_t list = p->list_free[width];
    if (list) {
        memcpy(&p->list_free[width], p->lists[list], sizeof list);
        return list;
    }
    p->list_count += !p->list_count; /* 0 means none */
    if (p->list_count + width >= p->list_room)
        RACE_GROW(r, p->lists, p->list_room, 32);
    list = p->list_count;
    p->list_count += width;
    return list;
}

static void list_drop(struct race_pool *p, uint32_t list, uint32_t width)
{
    if (!list)
        return;
    memcpy(p->lists[list], &p->list_free[width], sizeof list);
    p->list_free[width] = list;
}

/* Numbers are little-endian, with a sign. */
static void list_set(struct race_pool *p, uint32_t list, uint32_t width, int lane, uint64_t number)
{
    memcpy((uint8_t *)p->lists[list] + width * (uint32_t)lane, &number, width);
}

static uint64_t list_get(const struct race_pool *p, uint32_t list, uint32_t width, int lane)
{
    uint64_t number;
    memcpy(&number, (uint8_t *)p->lists[list] + width * (uint32_t)lane, sizeof number);
    return (uint64_t)((int64_t)(number << (64 - 8 * width)) >> (64 - 8 * width));
}

uint64_t race_listed_address(const struct race_pool *p, const struct race_record *record,
                             const uint64_t *addresses, int lane)
{
    return addresses ? addresses[lane]
                     : record->address + list_get(p, record->list, record->width, lane);
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
    if (from->pattern != RACE_LISTED)
        return record;
    uint64_t all = 1;
    for (uint32_t m = from->mask; m; m &= m - 1)
        all |= 2 * (addresses[__builtin_ctz(m)] - from->address);
    uint32_t width = (71 - (uint32_t)__builtin_clzll(all)) / 8, list = list_new(r, p, width);
    p->records[record].list = list;
    p->records[record].width = (uint8_t)width;
    for (int l = 0; l < SIM_LANES; l++)
        list_set(p, list, width, l, addresses[l] - from->address);
    return record;
}

bool race_record_lists(struct sim_races *r, struct race_pool *p, uint32_t record,
                       const uint64_t *addresses)
{
    const struct race_record *all = &p->records[record];
    const uint32_t width = all->width, unused = 64 - 8 * width;
    for (uint32_t m = all->mask; m; m &= m - 1) {
        uint64_t from = addresses[__builtin_ctz(m)] - all->address;
        if ((uint64_t)((int64_t)(from << unused) >> unused) != from)
            return false;
    }
    uint32_t list = list_new(r, p, width);
    for (int l = 0; l < SIM_LANES; l++)
        list_set(p, list, width, l, addresses[l] - all->address);
    if (list != all->list + (all->more + 1) * width)
        list_drop(p, list, width);
    return list == all->list + (all->more + 1) * width;
}

enum { EPOCH = sizeof(race_time) };

void race_record_landed(struct sim_races *r, struct race_pool *p, uint32_t record, uint32_t lanes,
                        race_time epoch)
{
    uint32_t list = p->records[record].landed;
    if (!list) {
        list = list_new(r, p, EPOCH);
        p->records[record].landed = list;
        memset(p->lists[list], 0, EPOCH * sizeof *p->lists);
    }
    for (uint32_t m = lanes; m; m &= m - 1)
        list_set(p, list, EPOCH, __builtin_ctz(m), epoch);
}

race_time race_landed_at(const struct race_pool *p, const struct race_record *record, int lane)
{
    return (race_time)list_get(p, record->landed, EPOCH, lane);
}

static bool is_list(const struct race_pool *p, uint32_t list, const struct race_node *like)
{
    const struct race_node *n = list && list < p->node_count ? &p->nodes[list] : NULL;
    return n && n->depth && n->record == like->record && n->next == like->next &&
           n->stands == like->stands && n->one_block == like->one_block;
}

/* Returns the block whose access of the current cell a record has. */
static uint64_t block_of(struct race_try *t, uint32_t record)
{
    struct race_record part;
    return race_part(t, record, &part)->id >> 6;
}

/* Returns the head of a list of a record and the rest. */
static struct race_node node_of(struct race_try *t, uint32_t record, uint32_t next, bool stands)
{
    const struct race_record *own = &t->pool->records[record];
    struct race_node n = {.record = record,
                          .next = next,
                          .newest = own->pending ? RACE_NEVER : own->epoch,
                          .depth = 1,
                          .has_writes = (own->kind & SIM_WRITE) != 0,
                          .one_block = true,
                          .odd = own->odd,
                          .stands = stands};
    if (next) {
        const struct race_node *tail = &t->pool->nodes[next];
        n.newest = tail->newest > n.newest ? tail->newest : n.newest;
        n.depth = (uint16_t)(tail->depth + 1);
        n.has_writes |= tail->has_writes;
        n.one_block = tail->one_block && block_of(t, tail->record) == block_of(t, record);
        n.odd |= tail->odd;
    }
    return n;
}

/* Returns the list with this head: the latest such list, if it is of `shared` records. */
static uint32_t list_of(struct race_try *t, const struct race_node *head, bool shared)
{
    struct race_pool *p = t->pool;
    uint32_t *latest =
        p == &t->r->pool ? &t->r->lists[(head->record + 7 * head->next) % RACE_LISTS] : NULL;
    if (latest && shared && is_list(p, *latest, head)) {
        struct race_node *same = &p->nodes[*latest];
        same->newest = head->newest > same->newest ? head->newest : same->newest;
        return *latest;
    }
    uint32_t node = p->node_free;
    if (node) {
        p->node_free = p->nodes[node].next;
    } else {
        p->node_count += !p->node_count;
        if (p->node_count >= p->node_room)
            RACE_GROW(t->r, p->nodes, p->node_room, 64);
        node = p->node_count++;
    }
    p->node_used++;
    if (latest)
        *latest = node;
    p->nodes[node] = *head;
    return node;
}

uint32_t race_node_new(struct race_try *t, uint32_t record, uint32_t next, bool stands)
{
    const struct race_node head = node_of(t, record, next, stands);
    return list_of(t, &head, t->pool->records[record].many);
}

uint32_t race_list_sorted(struct race_try *t, uint32_t list)
{
    enum { MOST = 16 };
    const struct race_pool *p = t->pool;
    struct race_node sorted[MOST];
    struct race_record part;
    int count = 0;
    if (t->r->passed_on || t->r->clustered || p->nodes[list].has_writes ||
        p->nodes[list].depth > MOST)
        return list;
    for (uint32_t n = list; n; n = p->nodes[n].next) {
        const struct race_record *read = race_part(t, p->nodes[n].record, &part);
        if (read->kind != SIM_READ || read->order != SIM_WEAK || read->async ||
            sim_blocks_find(&t->r->blocks, (int64_t)(read->id >> 6)))
            return list;
        int at = count++;
        for (; at && sorted[at - 1].record > p->nodes[n].record; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = p->nodes[n];
    }
    for (int i = 0; i < count; i++) {
        struct race_node head = node_of(t, sorted[i].record, i ? list : 0, sorted[i].stands);
        head.one_block = false; /* the same for all, as it does not matter any more */
        list = list_of(t, &head, true);
    }
    return list;
}

static uint32_t split_new(struct sim_races *r, struct race_pool *p, uint32_t all)
{
    uint32_t split = p->split_free;
    if (split) {
        p->split_free = p->splits[split][0];
    } else {
        p->split_count += !p->split_count;
        if (p->split_count >= p->split_room)
            RACE_GROW(r, p->splits, p->split_room, 16);
        split = p->split_count++;
    }
    for (int i = 0; i < 4; i++)
        p->splits[split][i] = all;
    return RACE_SPLIT | split;
}

static uint32_t number_of(const struct race_pool *p, uint32_t word, int byte)
{
    return word & RACE_SPLIT ? p->splits[word & ~RACE_SPLIT][byte] : word;
}

struct race_cell race_byte_of(const struct race_pool *p, struct race_cell word, int byte)
{
    return (struct race_cell){number_of(p, word.write, byte), number_of(p, word.others, byte)};
}

static void set_number(struct sim_races *r, struct race_pool *p, uint32_t *word, int byte,
                       uint32_t number)
{
    if (*word == number)
        return;
    if (!(*word & RACE_SPLIT))
        *word = split_new(r, p, *word);
    p->splits[*word & ~RACE_SPLIT][byte] = number;
}

void race_byte_set(struct sim_races *r, struct race_pool *p, struct race_cell *word, int byte,
                   struct race_cell history)
{
    set_number(r, p, &word->write, byte, history.write);
    set_number(r, p, &word->others, byte, history.others);
}

static void join(struct race_pool *p, uint32_t *word)
{
    if (!(*word & RACE_SPLIT))
        return;
    uint32_t split = *word & ~RACE_SPLIT, *byte = p->splits[split];
    if (byte[0] != byte[1] || byte[0] != byte[2] || byte[0] != byte[3])
        return;
    *word = byte[0];
    byte[0] = p->split_free;
    p->split_free = split;
}

void race_word_join(struct race_pool *p, struct race_cell *word)
{
    join(p, &word->write);
    join(p, &word->others);
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
    p->split_count = p->split_free = p->list_count = 0;
    memset(p->list_free, 0, sizeof p->list_free);
}

/* --- numbers that no cell names --- */

static void mark_cell(struct race_pool *p, struct race_cell cell)
{
    if (race_is_split(cell)) {
        for (int i = 0; i < 4; i++)
            mark_cell(p, race_byte_of(p, cell, i));
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
    for (size_t i = 0; page->writes && i < RACE_PAGE_WORDS; i++)
        mark_cell(p, (struct race_cell){page->writes[i], 0});
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
            for (uint32_t w = 0;
                 record->list && record->pattern == RACE_LISTED && w <= record->more; w++)
                list_drop(p, record->list + w * record->width, record->width);
            list_drop(p, record->many ? 0 : record->landed, EPOCH);
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
    for (int l = 0; l < SIM_LANES; l++)
        if (byte - race_listed_address(p, record, addresses, l) < record->bytes)
            lanes |= (uint32_t)1 << l;
    lanes &= record->mask;
    return record->whole_warp && lanes ? UINT32_MAX : lanes;
}
