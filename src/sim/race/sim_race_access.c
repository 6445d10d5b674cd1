/* Checks one access of a warp against the shadow memory. An access touches a few ranges, and a
 * range's words mostly have one history. So an answer found for one word ("that write is known
 * to all of us", "that list becomes this one") is kept and compared with the next word's cell. */
#include "sim/race/sim_race_own.h"

/* --- ranges --- */

static void forget_answers(struct race_try *t)
{
    t->from = t->others_ok = UINT32_MAX;
    t->write_ok[0] = t->write_ok[1] = 0;
    t->until = UINT64_MAX;
}

/* Returns the number of the cells, of `bytes` bytes each, that the answers hold for, at most `count`.
 * Forgets answers that do not hold for the first one. */
static inline size_t answered(struct race_try *t, uint64_t address, size_t count, size_t bytes)
{
    if (t->until == UINT64_MAX)
        return count;
    if (address + bytes > t->until) {
        forget_answers(t);
        return count;
    }
    size_t held = (size_t)(t->until - address) / bytes;
    return held < count ? held : count;
}

/* Checks bytes first to last of a word. */
static void part_of_word(struct race_try *t, struct race_cell *cell, uint64_t word, int first,
                         int last)
{
    for (int b = first; b <= last; b++) {
        answered(t, word + (uint64_t)b, 1, 1);
        struct race_cell one = race_byte_of(t->pool, *cell, b);
        race_one_cell(t, &one, word + (uint64_t)b, 1);
        race_byte_set(t->r, t->pool, cell, b, one);
    }
    race_word_join(t->pool, cell);
}

/* Returns true if bytes of the word belong to different warps of a record. */
static bool warps_meet(struct race_try *t, uint32_t record, uint64_t word)
{
    const struct race_record *all = &t->pool->records[record];
    struct race_record part;
    uint64_t first = 0;
    for (t->cell = word; all->many && all->odd && t->cell < word + 4; t->cell++) {
        race_part_of(t, all, &part);
        first = t->cell == word ? part.id : first;
        if (part.id != first)
            break;
    }
    bool meet = all->many && all->odd && t->cell < word + 4;
    t->cell = word;
    return meet;
}

static void slow_word(struct race_try *t, struct race_cell *cell, uint64_t word)
{
    const struct race_node *nodes = t->pool->nodes;
    bool apart = race_is_split(*cell);
    t->cell = word;
    if (!apart && cell->write)
        apart = warps_meet(t, cell->write, word);
    for (uint32_t n = cell->others; !apart && n && nodes[n].odd; n = nodes[n].next)
        apart = warps_meet(t, nodes[n].record, word);
    if (apart)
        part_of_word(t, cell, word, 0, 3);
    else
        race_one_cell(t, cell, word, 4);
}

/* Gives the new value of a cell, if it was already found for another cell. Returns false
 * otherwise. */
static inline bool known_next(const struct race_try *t, struct race_cell c, struct race_cell *next)
{
    bool fine = !c.write || c.write == t->write_ok[0] || c.write == t->write_ok[1];
    if (t->self.kind == SIM_READ) {
        *next = (struct race_cell){c.write, t->to};
        return fine && c.others == t->from;
    }
    *next = (struct race_cell){t->record, 0};
    return !t->strong && fine && (!c.others || c.others == t->others_ok);
}

static inline uint64_t cell_bits(const struct race_cell *c)
{
    uint64_t bits;
    memcpy(&bits, c, sizeof bits);
    return bits;
}

/* Sets the leading cells that have the first one's history to `next`. Returns their number. */
static size_t replace_alike(struct race_cell *cells, size_t count, struct race_cell next)
{
    const uint64_t old = cell_bits(cells), new = cell_bits(&next);
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        struct race_cell *c = &cells[i];
        if ((cell_bits(c) ^ old) | (cell_bits(c + 1) ^ old) | (cell_bits(c + 2) ^ old) |
            (cell_bits(c + 3) ^ old))
            break;
        memcpy(c, &new, sizeof *c);
        memcpy(c + 1, &new, sizeof *c);
        memcpy(c + 2, &new, sizeof *c);
        memcpy(c + 3, &new, sizeof *c);
    }
    while (i < count && cell_bits(&cells[i]) == old)
        cells[i++] = next;
    return i;
}

static void whole_words(struct race_try *t, struct race_cell *cells, size_t count, uint64_t word)
{
    for (size_t i = 0; i < count;) {
        struct race_cell next;
        size_t alike = answered(t, word + 4 * i, count - i, 4);
        if (known_next(t, cells[i], &next)) {
            i += replace_alike(&cells[i], alike, next);
        } else {
            slow_word(t, &cells[i], word + 4 * i);
            i++;
        }
    }
}

/* Returns true if an ordinary access changes all words of the cell alike, and makes no finding. */
static bool is_plain(struct race_try *t, struct race_cell c, uint64_t address)
{
    const struct race_pool *p = t->pool;
    struct race_record part;
    t->cell = address;
    if (t->strong || t->agent || (c.write && !race_known_to_all(t, race_part(t, c.write, &part))))
        return false;
    return !c.others || (t->self.kind == SIM_READ && !p->nodes[c.others].has_writes);
}

/* Handles the start of a range in a page with cells of 16 bytes. Returns the number of bytes; if
 * that is less than the page has of the range, the page has a cell for each word now. */
static uint64_t coarse_range(struct race_try *t, struct race_page *page, uint64_t address,
                             uint64_t bytes)
{
    uint64_t first = address % RACE_PAGE;
    size_t count = (size_t)(bytes < RACE_PAGE - first ? bytes : RACE_PAGE - first), i = 0;
    bool fits = !((first | count) % RACE_COARSE);
    struct race_cell *cells = &page->cell[first / RACE_COARSE], next;
    count /= RACE_COARSE;
    while (fits && i < count) {
        size_t alike = answered(t, address + RACE_COARSE * i, count - i, RACE_COARSE);
        if (known_next(t, cells[i], &next)) {
            i += replace_alike(&cells[i], alike, next);
            continue;
        }
        fits = is_plain(t, cells[i], address + RACE_COARSE * i);
        if (fits)
            race_one_cell(t, &cells[i], address + RACE_COARSE * i, RACE_COARSE);
        i += fits;
    }
    if (!fits)
        race_page_refine(t->r, page);
    return RACE_COARSE * i;
}

/* Handles the start of a range: part of a word, or whole words, of which there are cells for `count`.
 * Returns the number of bytes. */
static uint64_t word_range(struct race_try *t, struct race_cell *cells, size_t count,
                           uint64_t address, uint64_t bytes)
{
    uint64_t word = address & ~(uint64_t)3;
    int first = (int)(address & 3);
    if (first || bytes < 4) {
        int last = bytes < (uint64_t)(4 - first) ? first + (int)bytes - 1 : 3;
        part_of_word(t, cells, word, first, last);
        return (uint64_t)(last - first + 1);
    }
    count = bytes / 4 < count ? (size_t)(bytes / 4) : count;
    whole_words(t, cells, count, word);
    return 4 * count;
}

/* Handles the first word of a range in a page that keeps only writes. If it gets other accesses, the page
 * has cells again. Returns the number of bytes. */
static uint64_t word_of_writes(struct race_try *t, struct race_page *page, uint64_t address,
                               uint64_t bytes)
{
    const size_t at = address / 4 % RACE_PAGE_WORDS;
    struct race_cell cell = {page->writes[at], 0};
    const uint64_t done = word_range(t, &cell, 1, address, bytes);
    if (cell.others) {
        race_page_widen(t->r, page);
        page->cell[at] = cell;
    } else {
        page->writes[at] = cell.write;
    }
    return done;
}

static void range(struct race_try *t, uint64_t address, uint64_t bytes)
{
    if (t->a->space == SIM_SHARED)
        race_need_shared(t, address + bytes);
    if (t->until != UINT64_MAX) /* the range may begin before the one before it */
        forget_answers(t);
    while (bytes) {
        struct race_page *page = t->a->space == SIM_SHARED ? NULL : race_page_of(t->r, address);
        uint64_t done;
        if (page && !page->fine) {
            done = coarse_range(t, page, address, bytes);
        } else if (page && page->writes) {
            done = word_of_writes(t, page, address, bytes);
        } else {
            size_t there;
            struct race_cell *cells = race_cells_at(t, address, &there);
            done = word_range(t, cells, there, address, bytes);
        }
        address += done;
        bytes -= done;
    }
}

void race_ranges(struct race_try *t)
{
    const struct sim_access *a = t->a;
    if (t->self.pattern == RACE_UNIFORM) {
        range(t, t->self.address, t->self.bytes);
        if ((a->mask & (a->mask - 1)) && t->self.kind == SIM_WRITE)
            race_meet_oneself(t, t->self.address, t->self.bytes);
        return;
    }
    int lanes = __builtin_popcount(a->mask), lowest = __builtin_ctz(a->mask);
    if (t->self.pattern == RACE_LINEAR && t->self.stride == t->self.bytes &&
        lowest + lanes == SIM_LANES - __builtin_clz(a->mask)) {
        range(t, a->address[lowest], (uint64_t)lanes * t->self.bytes);
        return;
    }
    if (t->self.pattern == RACE_HALVES && t->self.kind == SIM_READ) {
        uint64_t span = t->self.stride ? RACE_HALF * t->self.stride : t->self.bytes;
        range(t, t->self.address, span);
        range(t, t->self.address + (uint64_t)t->self.apart, span);
        return;
    }
    uint64_t start = 0, end = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t address = a->address[__builtin_ctz(m)], after = address + t->self.bytes;
        bool reaches = t->self.kind == SIM_READ && address - start < end - start;
        if (!reaches && (address != end || !end)) {
            if (end > start)
                range(t, start, end - start);
            start = end = address;
        }
        end = after > end ? after : end;
    }
    range(t, start, end - start);
}

/* --- an access --- */

static uint64_t lowest_of(const struct sim_access *a)
{
    uint64_t lowest = UINT64_MAX;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t address = a->address[__builtin_ctz(m)];
        lowest = address < lowest ? address : lowest;
    }
    return lowest;
}

void race_set_pattern(struct race_record *self, const struct sim_access *a)
{
    int first = __builtin_ctz(a->mask);
    uint32_t rest = a->mask & (a->mask - 1);
    const uint64_t *address = a->address;
    self->bytes = (uint16_t)(a->matrix == SIM_LANEWISE ? a->bytes : 16);
    self->whole_warp = a->matrix != SIM_LANEWISE;
    self->pattern = RACE_LISTED;
    self->address = address[first];
    if (self->whole_warp) {
        self->address = lowest_of(a);
        return;
    }
    if (a->pattern != SIM_UNSORTED) {
        self->pattern = a->pattern == SIM_LINEAR   ? RACE_LINEAR
                        : a->pattern == SIM_HALVES ? RACE_HALVES
                                                   : RACE_UNIFORM;
        self->stride = a->stride;
        self->apart = a->pattern == SIM_HALVES ? a->apart : 0;
        return;
    }
    uint64_t stride = self->bytes, wrong = 0;
    if (rest) {
        int second = __builtin_ctz(rest);
        uint64_t distance = address[second] - address[first];
        stride = distance / (uint64_t)(second - first);
        wrong = distance % (uint64_t)(second - first);
    }
    uint64_t base = address[first] - (uint64_t)first * stride;
    if (a->mask == UINT32_MAX)
        for (uint64_t l = 0; l < SIM_LANES; l++)
            wrong |= address[l] ^ (base + l * stride);
    else
        for (uint32_t m = rest; m; m &= m - 1) {
            uint64_t l = (uint64_t)__builtin_ctz(m);
            wrong |= address[l] ^ (base + l * stride);
        }
    if (wrong || (stride && stride < self->bytes) || stride > INT32_MAX) {
        self->address = lowest_of(a);
        return;
    }
    self->pattern = stride ? RACE_LINEAR : RACE_UNIFORM;
    self->stride = (uint32_t)stride;
    self->address = base;
}

static void set_minima(struct race_try *t)
{
    t->block_min = t->agent ? 0 : t->warp->block_min;
    t->warp_min = t->agent ? 0 : t->warp->warp_min;
    if (!t->copy)
        return;
    t->block_min = t->warp_min = RACE_NEVER;
    for (uint32_t m = t->a->mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        race_time block = t->view->block_base[l], warp = t->view->warp_base[l];
        t->block_min = block < t->block_min ? block : t->block_min;
        t->warp_min = warp < t->warp_min ? warp : t->warp_min;
    }
}

static uint8_t *old_at(struct race_try *t, uint64_t address)
{
    if (t->a->space == SIM_SHARED)
        return t->home->old + address;
    struct race_page *page = race_page_of(t->r, address);
    if (!page->old)
        page->old = race_resize(t->r, NULL, 0, RACE_PAGE);
    return page->old + address % RACE_PAGE;
}

/* Keeps the old values of the bytes, for the report of a later read. */
static void keep_old(struct race_try *t)
{
    const struct sim_access *a = t->a;
    size_t bytes = (size_t)SIM_LANES * t->self.bytes;
    if (a->pattern == SIM_LINEAR && a->stride == t->self.bytes && a->before[0] &&
        (a->space == SIM_SHARED || a->address[0] % RACE_PAGE + bytes <= RACE_PAGE)) {
        memcpy(old_at(t, a->address[0]), a->before[0], bytes);
        return;
    }
    for (uint32_t m = a->mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        if (!a->before[l])
            continue;
        memcpy(old_at(t, a->address[l]), a->before[l], t->self.bytes);
    }
}

static void describe(struct race_try *t)
{
    const struct sim_access *a = t->a;
    t->self = (struct race_record){
        .id = race_id(a->at.block, a->at.warp),
        .site = race_site_of(t->r, &a->at),
        .barrier = t->copy ? t->copy->barrier : t->warp->barrier,
        .epoch = t->copy ? RACE_NEVER : t->warp->epoch,
        .mask = a->mask,
        .pending = t->copy ? a->mask : 0,
        .passed = t->copy ? t->copy->passed : t->warp->passed,
        .element = (uint16_t)(a->element ? a->element : a->bytes),
        .kind = (uint8_t)a->kind,
        .order = (uint8_t)a->order,
        .scope = (uint8_t)(a->order == SIM_VOLATILE ? SIM_SYS : a->scope),
        .async = t->copy != NULL,
    };
    if (t->agent) {
        t->self.id = t->agent->id[a->space == SIM_GLOBAL && a->kind == SIM_WRITE];
        t->self.by = t->agent->by;
        t->self.by_lane = t->agent->lane;
        t->self.epoch = t->agent->epoch;
        t->self.async = true;
    }
    race_set_pattern(&t->self, a);
}

/* Checks a product's reads with the knowledge of another of its warps. */
static void again(struct race_try *t, int issuer)
{
    if (!t->agent->known[issuer])
        return;
    t->view = &t->agent->view[issuer];
    forget_answers(t);
    race_ranges(t);
}

static struct race_copy *copy_of(const struct race_warp *w, uint32_t group)
{
    struct race_copy *c = w->copies;
    while (c && c->group != group)
        c = c->next;
    return c;
}

void race_check_access(struct sim_races *r, struct race_block *block, const struct sim_access *a)
{
    struct race_try t = {.r = r, .a = a, .block = block};
    sim_spread(a);
    t.warp = &t.block->warp[a->at.warp];
    t.copy = a->group ? copy_of(t.warp, a->group) : NULL;
    t.agent = a->group && !t.copy ? race_agent_of(t.block, a->group) : NULL;
    if (t.agent)
        race_agent_begins(r, t.agent);
    int issuer = 0; /* the first one; a product may lack a warp that has left */
    while (t.agent && issuer < RACE_ISSUERS - 1 && !t.agent->known[issuer])
        issuer++;
    t.view = t.copy ? &t.copy->view : t.agent ? &t.agent->view[issuer] : &t.warp->view;
    t.home = a->away ? sim_blocks_find(&r->blocks, sim_home(a)) : t.block;
    if (!t.home) /* the block whose memory it is has ended */
        return;
    t.pool = a->space == SIM_SHARED ? &t.home->pool : &r->pool;
    t.strong = a->order != SIM_WEAK;
    t.from = t.others_ok = UINT32_MAX;
    t.until = UINT64_MAX;
    if (t.pool->record_used > t.pool->record_limit || t.pool->node_used > t.pool->node_limit)
        race_collect(r, a->space == SIM_SHARED ? t.home : NULL);
    describe(&t);
    if (t.strong && !t.agent)
        race_acquire(&t);
    set_minima(&t);
    if (a->kind & SIM_WRITE)
        race_own_record(&t);
    race_ranges(&t);
    for (int i = issuer + 1; t.agent && i < RACE_ISSUERS; i++)
        again(&t, i);
    if (a->kind & SIM_WRITE)
        keep_old(&t);
    if (t.strong && !t.agent && (a->kind & SIM_WRITE))
        race_release(&t);
}
