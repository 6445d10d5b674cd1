/* The shadow memory's pages, and records of several warps. Both keep it small: equal histories of many
 * bytes take the room of one.
 *
 * Most pages are used for a while, by a few blocks, and their cells have few histories. Such a page is
 * closed when others have been used since: of its cells and its old bytes, it keeps the runs of equal
 * ones. To make cells equal, lists of reads by blocks that have ended are sorted. An access opens the
 * page again.
 *
 * If the words of a page have many histories, and each is only a last write, the page keeps the writes
 * instead of cells, in half of the room. The change is made when the page is closed, or when it is opened
 * to stay open. It is undone when a word gets an access in addition to its last write. */
#include "sim/race/sim_race_own.h"

/* --- records of several warps ---
 *
 * Warps of a block that access one row of bytes after the other have one record, if the rows are
 * equally far apart and do not overlap. So have the blocks of a grid that do this one after the other,
 * each after the end of the one before. The warp of a byte is computed:
 *
 *   a block's rows, then the next block's     byte - address = block * along + row * apart + rest
 *   the first rows of all blocks, then their  byte - address = row * apart + block * along + rest
 *   second rows                               (as of a matrix whose blocks are side by side)
 *
 * The bytes of a word in which two rows meet are checked one by one.
 *
 * Warps of a block that write to listed addresses have one record, too, if their lists follow each
 * other and no byte is in two of them. The warp of a byte is then searched for. A byte that another
 * access has written since may be listed again: it belongs to the last warp that lists it. */

/* The first bytes of a row of lanes: of all, or of half of them. */
static uint64_t row_bytes(const struct race_record *r)
{
    return (uint64_t)r->bytes * (r->pattern == RACE_LINEAR ? SIM_LANES : RACE_HALF);
}

/* Returns the distance of one warp's first address to the next warp's. */
static uint64_t between(const struct race_record *r)
{
    return (uint64_t)r->apart * (r->pattern == RACE_LINEAR ? 1 : 2);
}

/* Returns the number of rows in a block. */
static uint64_t rows_of(const struct race_record *r)
{
    return (r->more + UINT64_C(1)) * (r->pattern == RACE_LINEAR ? 1 : 2);
}

/* Returns the bytes from the first row of a block to the end of its last. */
static uint64_t extent(const struct race_record *r)
{
    return (rows_of(r) - 1) * (uint64_t)r->apart + row_bytes(r);
}

/* Warps that share a record with lists, after the first: all of their lists are searched. */
enum { MOST_LISTS = 7 };
/* In a browser, the size of the code matters more than the memory of large grids. */
#ifdef __wasm__
enum { SAVES_MEMORY = false };
#else
enum { SAVES_MEMORY = true };
#endif

/* Makes `part` the record of the last warp that lists the current cell. */
static void listed_part(struct race_try *t, struct race_record *part)
{
    const uint32_t width = part->width;
    part->many = false;
    part->landed = 0;
    part->list += part->more * width;
    part->id += part->more;
    while (part->more && !race_lanes_at(t->pool, part, t->cell, NULL)) {
        part->more--;
        part->id--;
        part->list -= width;
    }
    part->more = 0;
    uint64_t end = t->cell / part->bytes * part->bytes + part->bytes;
    t->until = end < t->until ? end : t->until;
}

const struct race_record *race_part_of(struct race_try *t, const struct race_record *all,
                                       struct race_record *part)
{
    if (SAVES_MEMORY && all->pattern == RACE_LISTED) {
        *part = *all;
        listed_part(t, part);
        return part;
    }
    const uint64_t apart = (uint64_t)all->apart, distance = t->cell - all->address;
    uint64_t block = 0, row = 0;
    if (!all->blocks)
        row = apart ? distance / apart : 0;
    else if (all->along >= extent(all)) { /* a block's rows, then the next block's */
        block = distance / all->along;
        row = apart ? distance % all->along / apart : 0;
    } else { /* the first rows of all blocks, then their second */
        row = distance / apart;
        block = distance % apart / all->along;
    }
    const uint64_t warp = all->pattern == RACE_LINEAR ? row : row / 2;
    const uint64_t first = all->address + block * all->along;
    const uint64_t end = first + row * apart + row_bytes(all);
    *part = *all;
    part->id += block << 6 | warp;
    part->address = first + warp * between(all);
    part->apart = all->pattern == RACE_LINEAR ? 0 : all->apart;
    part->many = false;
    part->more = 0;
    part->list = part->landed = 0;
    t->until = end < t->until ? end : t->until;
    return part;
}

/* Returns true if both are the same access, of two warps. */
static bool is_alike(const struct race_record *a, const struct race_record *b)
{
    return a->site == b->site && a->barrier == b->barrier && a->passed == b->passed &&
           a->kind == b->kind && a->order == b->order && a->scope == b->scope &&
           a->pattern == b->pattern && a->stride == b->stride && a->bytes == b->bytes &&
           a->element == b->element && a->mask == b->mask && a->async == b->async &&
           (a->pattern == RACE_LINEAR || a->apart == b->apart);
}

/* Makes this access, by the next warp of the first block, a part of the record, if rows do not overlap. */
static bool adds_warp(struct race_record *all, const struct race_record *self)
{
    uint64_t distance = self->address - all->address;
    if (self->pattern == RACE_HALVES || all->more)
        distance = distance == (all->more + 1u) * between(all) ? between(all) : 0;
    uint64_t apart = self->pattern == RACE_HALVES ? distance / 2 : distance;
    if (apart < row_bytes(all) || apart > INT64_MAX || apart % 4)
        return false;
    all->apart = (int64_t)apart;
    all->more++;
    return true;
}

/* Makes this access, by the first warp of the next block, a part of the record, if no thread can ever
 * know what the blocks before did: then their epochs do not matter. */
static bool adds_block(struct sim_races *r, struct race_record *all, const struct race_record *self)
{
    const int64_t last = (int64_t)(all->id >> 6) + all->blocks;
    const uint64_t blocks = all->blocks + UINT64_C(1), distance = self->address - all->address;
    const uint64_t along = all->blocks ? all->along : distance;
    if (r->passed_on || r->clustered || sim_blocks_find(&r->blocks, last) || blocks > UINT16_MAX ||
        distance != blocks * along || along > UINT32_MAX || along % 4 || along < row_bytes(all))
        return false;
    if (rows_of(all) > 1 && (all->apart < 0 || (uint64_t)all->apart < row_bytes(all)))
        return false;
    if (along < extent(all) && blocks * along + row_bytes(all) > (uint64_t)all->apart)
        return false;
    all->along = (uint32_t)along;
    all->blocks++;
    all->epoch = self->epoch;
    all->latest = 0;
    return true;
}

/* Makes this access, by the next warp, a part of the record. Returns false if it cannot be one. (A row
 * that begins inside 16 bytes gives its pages a cell for each word.) */
static bool goes_on(struct sim_races *r, struct race_record *all, const struct race_record *self)
{
    const uint64_t block = all->id + ((uint64_t)all->blocks << 6), next = all->latest + UINT64_C(1);
    if (all->pattern == RACE_HALVES && all->apart % 4)
        return false;
    if (!is_alike(all, self))
        return false;
    if (self->id == block + 64 && all->latest == all->more)
        return adds_block(r, all, self);
    if (self->id != block + next || self->epoch != all->epoch)
        return false;
    if (!all->blocks && !adds_warp(all, self))
        return false;
    if (self->address != all->address + all->blocks * (uint64_t)all->along + next * between(all) ||
        next > all->more)
        return false;
    all->latest++;
    return true;
}

/* Returns the history of a byte. */
static struct race_cell history_of(struct race_try *t, uint64_t byte)
{
    size_t there;
    const struct race_cell *cell = race_cells_at(t, byte, &there);
    const struct race_cell write = {
        cell ? 0 : race_page_of(t->r, byte)->writes[byte / 4 % RACE_PAGE_WORDS], 0};
    return race_byte_of(t->pool, cell ? *cell : write, (int)(byte & 3));
}

/* Returns true if no byte of this write is one that the record has written, or may have. */
static bool is_apart(struct race_try *t, uint32_t record)
{
    const uint64_t step = t->self.bytes < 4 ? 1 : 4;
    for (uint32_t m = t->a->mask; m; m &= m - 1)
        for (uint64_t b = 0; b < t->self.bytes; b += step) {
            struct race_cell cell = history_of(t, t->a->address[__builtin_ctz(m)] + b);
            if (cell.others || cell.write == record)
                return false;
        }
    return true;
}

/* Makes this write, by the next warp, a part of a record with lists. */
static bool adds_list(struct race_try *t, uint32_t record)
{
    struct race_record *all = &t->pool->records[record];
    if (all->more == MOST_LISTS || all->id + all->more + 1 != t->self.id ||
        all->epoch != t->self.epoch || !is_alike(all, &t->self) || !is_apart(t, record) ||
        !race_record_lists(t->r, t->pool, record, t->a->address))
        return false;
    all->more++;
    return true;
}

/* Returns the place of the latest record of this instruction; NULL: it is of one warp alone. */
static uint32_t *run_of(const struct race_try *t)
{
    const struct race_record *self = &t->self;
    const bool rows = self->pattern == RACE_LINEAR || self->pattern == RACE_HALVES;
    const bool lists = SAVES_MEMORY && self->pattern == RACE_LISTED && self->kind == SIM_WRITE &&
                       !self->whole_warp;
    if (t->a->space != SIM_GLOBAL || t->copy || t->agent || t->strong ||
        !(lists || (rows && self->stride == self->bytes)))
        return NULL;
    return &t->r->runs[(uintptr_t)self->site / sizeof *self->site % RACE_RUNS];
}

uint32_t race_record_of(struct race_try *t)
{
    uint32_t *run = run_of(t);
    if (run && *run && *run < t->pool->record_count) {
        struct race_record *all = &t->pool->records[*run];
        if (SAVES_MEMORY && all->pattern == RACE_LISTED ? adds_list(t, *run)
                                                        : goes_on(t->r, all, &t->self)) {
            all->many = true;
            return *run;
        }
    }
    t->self.odd = run && (t->self.pattern == RACE_LISTED ? t->self.bytes < 4 : t->self.address % 4);
    uint32_t record = race_record_new(t->r, t->pool, &t->self, t->a->address);
    if (run)
        *run = record;
    return record;
}

/* --- closed pages --- */

static size_t runs_bytes(size_t count)
{
    return sizeof(struct race_runs) + count * (sizeof(uint64_t) + sizeof(uint16_t));
}

static uint64_t word_at(const void *words, size_t i)
{
    uint64_t word;
    memcpy(&word, (const char *)words + i * sizeof word, sizeof word);
    return word;
}

/* Returns the runs of equal words; NULL: they would take more than a third of the room. */
static struct race_runs *pack(struct sim_races *r, const void *words, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += i + 1 == length || word_at(words, i) != word_at(words, i + 1);
    if (runs_bytes(count) > length * sizeof(uint64_t) / 3)
        return NULL;
    struct race_runs *runs = race_resize(r, NULL, 0, runs_bytes(count));
    uint16_t *end = (uint16_t *)(void *)&runs->value[count];
    runs->count = (uint32_t)count;
    for (size_t i = 0, run = 0; i < length; i++)
        if (i + 1 == length || word_at(words, i) != word_at(words, i + 1)) {
            runs->value[run] = word_at(words, i);
            end[run++] = (uint16_t)(i + 1);
        }
    return runs;
}

static void runs_free(struct sim_races *r, struct race_runs *runs)
{
    race_resize(r, runs, runs ? runs_bytes(runs->count) : 0, 0);
}

/* Returns the words of runs, which are freed and set to NULL. */
static void *unpack(struct sim_races *r, struct race_runs **packed, size_t length)
{
    struct race_runs *runs = *packed;
    char *words = race_resize(r, NULL, 0, length * sizeof(uint64_t));
    const uint16_t *end = (const uint16_t *)(const void *)&runs->value[runs->count];
    for (size_t i = 0, run = 0; i < length; i++) {
        run += i == end[run];
        memcpy(words + i * sizeof(uint64_t), &runs->value[run], sizeof(uint64_t));
    }
    runs_free(r, runs);
    *packed = NULL;
    return words;
}

enum {
    OLD_WORDS = RACE_PAGE / sizeof(uint64_t),
    WRITES_BYTES = RACE_PAGE_WORDS * sizeof(uint32_t)
};

/* Sorts the lists of a page's cells, so that bytes which the same instructions read have one list, in
 * whatever order the blocks came. */
static void sort_lists(struct sim_races *r, struct race_page *page)
{
    struct race_try t = {.r = r, .pool = &r->pool, .cell = page->number * RACE_PAGE};
    const size_t parts = 4 * race_page_cells(page);
    uint32_t from = 0, to = 0; /* the latest list, and sorted: the same up to t.until */
    for (size_t i = 0; i < parts; i++, t.cell += RACE_PAGE / parts) {
        struct race_cell *cell = &page->cell[i / 4], one = race_byte_of(&r->pool, *cell, i % 4);
        if (one.others != from || t.cell + RACE_PAGE / parts > t.until) {
            t.until = UINT64_MAX;
            from = one.others;
            to = from ? race_list_sorted(&t, from) : 0;
        }
        one.others = to;
        race_byte_set(r, &r->pool, cell, i % 4, one);
        if (i % 4 == 3)
            race_word_join(&r->pool, cell);
    }
}

/* Makes a page keep only writes, if its words have no other accesses. */
static void keep_writes(struct sim_races *r, struct race_page *page)
{
    uint32_t others = 0;
    for (size_t i = 0; i < RACE_PAGE_WORDS; i++)
        others |= page->cell[i].others;
    if (others)
        return;
    page->writes = race_resize(r, NULL, 0, WRITES_BYTES);
    for (size_t i = 0; i < RACE_PAGE_WORDS; i++)
        page->writes[i] = page->cell[i].write;
    race_resize(r, page->cell, race_page_cells(page) * sizeof *page->cell, 0);
    page->cell = NULL;
}

void race_page_widen(struct sim_races *r, struct race_page *page)
{
    page->cell = race_resize(r, NULL, 0, race_page_cells(page) * sizeof *page->cell);
    for (size_t i = 0; i < RACE_PAGE_WORDS; i++)
        page->cell[i].write = page->writes[i];
    race_resize(r, page->writes, WRITES_BYTES, 0);
    page->writes = NULL;
}

static void close_page(struct sim_races *r, struct race_page *page)
{
    if (page->writes)
        race_page_widen(r, page);
    if (SAVES_MEMORY)
        sort_lists(r, page);
    page->cell_runs = pack(r, page->cell, race_page_cells(page));
    if (page->cell_runs) {
        race_resize(r, page->cell, race_page_cells(page) * sizeof *page->cell, 0);
        page->cell = NULL;
    } else if (page->fine) {
        keep_writes(r, page);
    }
    page->old_runs = page->old ? pack(r, page->old, OLD_WORDS) : NULL;
    if (page->old_runs) {
        race_resize(r, page->old, RACE_PAGE, 0);
        page->old = NULL;
    }
    page->open = false;
}

/* Opens a page that an access uses. A page that is used again and again stays open. */
static void open_page(struct sim_races *r, struct race_page *page)
{
    if (page->cell_runs)
        page->cell = unpack(r, &page->cell_runs, race_page_cells(page));
    if (page->old_runs)
        page->old = unpack(r, &page->old_runs, OLD_WORDS);
    page->open = true;
    if (page->openings++ == RACE_OPENINGS) {
        if (page->fine && page->cell)
            keep_writes(r, page);
        return;
    }
    struct race_page **place = &r->open[r->next_open++ % RACE_OPEN];
    while (*place &&
           (*place)->used) { /* a page that was used since the last turn has a second one */
        (*place)->used = false;
        place = &r->open[r->next_open++ % RACE_OPEN];
    }
    if (*place)
        close_page(r, *place);
    *place = page;
}

/* --- pages --- */

static size_t page_slot(struct race_page **table, size_t capacity, uint64_t number)
{
    size_t i = sim_hash(number) & (capacity - 1);
    while (table[i] && table[i]->number != number)
        i = (i + 1) & (capacity - 1);
    return i;
}

struct race_page *race_page_of(struct sim_races *r, uint64_t address)
{
    uint64_t number = address / RACE_PAGE;
    if (r->last_page && r->last_page->number == number)
        return r->last_page;
    if (2 * r->page_count >= r->page_capacity) {
        size_t capacity = r->page_capacity ? 2 * r->page_capacity : 64;
        struct race_page **table = race_resize(r, NULL, 0, capacity * sizeof *table);
        for (size_t i = 0; i < r->page_capacity; i++)
            if (r->pages[i])
                table[page_slot(table, capacity, r->pages[i]->number)] = r->pages[i];
        race_resize(r, r->pages, r->page_capacity * sizeof *table, 0);
        r->pages = table;
        r->page_capacity = capacity;
    }
    size_t i = page_slot(r->pages, r->page_capacity, number);
    if (!r->pages[i]) {
        struct race_page *made = race_resize(r, NULL, 0, sizeof *made);
        r->pages[i] = made;
        made->number = number;
        made->cell = race_resize(r, NULL, 0, race_page_cells(made) * sizeof *made->cell);
        r->page_count++;
    }
    struct race_page *page = r->pages[i];
    if (!page->open)
        open_page(r, page);
    page->used = true;
    return r->last_page = page;
}

void race_page_refine(struct sim_races *r, struct race_page *page)
{
    enum { WORDS = RACE_COARSE / 4 };
    struct race_cell *fine = race_resize(r, NULL, 0, RACE_PAGE_WORDS * sizeof *fine);
    for (size_t i = 0; i < RACE_PAGE_WORDS; i++)
        fine[i] = page->cell[i / WORDS];
    race_resize(r, page->cell, race_page_cells(page) * sizeof *fine, 0);
    page->cell = fine;
    page->fine = true;
}

void race_pages_free(struct sim_races *r)
{
    for (size_t i = 0; i < r->page_capacity; i++) {
        struct race_page *page = r->pages[i];
        if (!page)
            continue;
        runs_free(r, page->cell_runs);
        runs_free(r, page->old_runs);
        race_resize(r, page->writes, page->writes ? WRITES_BYTES : 0, 0);
        race_resize(r, page->old, page->old ? RACE_PAGE : 0, 0);
        race_resize(r, page->cell, page->cell ? race_page_cells(page) * sizeof *page->cell : 0, 0);
        race_resize(r, page, sizeof *page, 0);
    }
    memset(r->open, 0, sizeof r->open);
    race_resize(r, r->pages, r->page_capacity * sizeof *r->pages, 0);
    r->pages = NULL;
    r->last_page = NULL;
    r->page_count = r->page_capacity = 0;
}

/* --- the cells of an address --- */

void race_need_shared(struct race_try *t, uint64_t end)
{
    struct race_block *b = t->home;
    size_t words = (size_t)(end + 3) / 4;
    if (b->cells && words <= b->words)
        return;
    size_t had = b->cells ? b->words : 0, want = words > b->words ? words : b->words;
    b->cells = race_resize(t->r, b->cells, had * sizeof *b->cells, want * sizeof *b->cells);
    b->old = race_resize(t->r, b->old, 4 * had, 4 * want);
    b->words = want;
}

struct race_cell *race_cells_at(struct race_try *t, uint64_t address, size_t *count)
{
    if (t->a->space == SIM_SHARED) {
        *count = t->home->words - (size_t)(address / 4);
        return &t->home->cells[address / 4];
    }
    const struct race_page *page = race_page_of(t->r, address);
    if (page->writes)
        return NULL;
    size_t i = (size_t)(address / 4 % RACE_PAGE_WORDS) / (page->fine ? 1 : RACE_COARSE / 4);
    *count = race_page_cells(page) - i;
    return &page->cell[i];
}

bool race_wrote_last(struct race_try *t, uint64_t address, uint32_t record, race_time epoch)
{
    const struct race_record *write = &t->pool->records[record];
    uint64_t bytes = write->element;
    if (!record || !write->kind || write->epoch != epoch) /* the record is reused */
        return false;
    if (t->a->space == SIM_SHARED)
        race_need_shared(t, address + bytes);
    for (uint64_t b = 0; b < bytes; b++)
        if (history_of(t, address + b).write != record)
            return false;
    return true;
}
