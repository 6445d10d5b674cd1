/* Checks one access of a warp against the shadow memory. An access touches a few ranges, and a
 * range's words mostly have one history. So an answer found for one word ("that write is known
 * to all of us", "that list becomes this one") is kept and compared with the next word's cell. */
#include "sim/sim_race_own.h"

/* The length at which a list is thinned. A list of reads is searched by the next write alone; a
 * list with writes is searched by each access, so it must be shorter. So must all if there are
 * many lists. */
enum { LONG_LIST = 64, LONG_READS = 512, MANY_NODES = 1 << 19 };

enum result { KNOWN_TO_ALL, ORDERED, STRONG, RACED };

/* --- order --- */

static bool same_addresses(const struct race_try *t, const struct race_record *old)
{
    const struct race_record *self = &t->self;
    return old->pattern == self->pattern && old->address == self->address &&
           old->stride == self->stride && old->apart == self->apart && old->bytes == self->bytes &&
           old->mask == self->mask && old->whole_warp == self->whole_warp &&
           (old->pattern != RACE_LISTED ||
            memcmp(t->pool->lists[old->list], t->a->address, sizeof t->a->address) == 0);
}

/* Returns true if all of the old access is ordered before all of this one, for any pair of
 * lanes. */
static bool known_to_all(const struct race_try *t, const struct race_record *old)
{
    if (old->pending)
        return false;
    if (old->id >> 6 == t->self.id >> 6 && old->epoch < t->block_min)
        return true;
    if (old->id == t->self.id) {
        if (old->epoch < t->warp_min)
            return true;
        /* Each lane meets only itself. */
        if (old->epoch < t->view->own && old->pattern == RACE_LINEAR &&
            t->self.pattern == RACE_LINEAR && old->address == t->self.address &&
            old->stride == t->self.stride && old->bytes == t->self.bytes)
            return true;
    }
    if (t->view->plain)
        return false;
    const struct race_vc *last = NULL;
    for (uint32_t m = t->a->mask; m; m &= m - 1) {
        const struct race_vc *vc = t->view->vc[__builtin_ctz(m)];
        if (!vc || (vc != last && !race_vc_covers(vc, old->id, old->mask, old->epoch)))
            return false;
        last = vc;
    }
    return true;
}

/* Returns the lanes of `lanes` whose part of old, at that epoch, this lane does not know. */
static uint32_t unknown_at(const struct race_try *t, int lane, const struct race_record *old,
                           uint32_t lanes, race_time epoch)
{
    const struct race_view *v = t->view;
    uint32_t unknown = 0;
    if (!lanes || (old->id >> 6 == t->self.id >> 6 && epoch < v->block_base[lane]))
        return 0;
    if (old->id == t->self.id) {
        if (epoch < v->warp_base[lane])
            return 0;
        if (epoch < v->own)
            lanes &= ~((uint32_t)1 << lane);
    }
    if (race_vc_covers(v->vc[lane], old->id, lanes, epoch))
        return 0;
    for (uint32_t m = lanes; m; m &= m - 1)
        if (!race_vc_covers(v->vc[lane], old->id, m & -m, epoch))
            unknown |= m & -m;
    return unknown;
}

/* Returns the lanes of `lanes` whose part of old, at their own epochs, this lane does not know. */
static uint32_t unknown_to(const struct race_try *t, int lane, const struct race_record *old,
                           uint32_t lanes)
{
    uint32_t unknown = old->pending & lanes;
    lanes &= ~unknown;
    if (!old->landed)
        return unknown | unknown_at(t, lane, old, lanes, old->epoch);
    const uint64_t *epochs = t->pool->lists[old->landed];
    for (uint32_t m = lanes; m; m &= m - 1)
        unknown |= unknown_at(t, lane, old, m & -m, (race_time)epochs[__builtin_ctz(m)]);
    return unknown;
}

static bool in_one_cluster(const struct race_try *t, const struct race_record *old)
{
    const struct race_block *b = sim_blocks_find(&t->r->blocks, (int64_t)(old->id >> 6));
    return b && b->cluster == t->block->cluster;
}

/* PTX ISA 8.7: both strong, each one's scope includes the other thread, exactly the same bytes. */
static bool morally_strong(const struct race_try *t, const struct race_record *old)
{
    const struct race_record *self = &t->self;
    if (old->order == SIM_WEAK || self->order == SIM_WEAK || old->element != self->element)
        return false;
    if (old->id >> 6 == self->id >> 6)
        return true;
    enum sim_scope least = old->scope < self->scope ? old->scope : self->scope;
    return least >= SIM_GPU || (least == SIM_CLUSTER && in_one_cluster(t, old));
}

static bool leaves_value(struct race_try *t, uint64_t address, int bytes)
{
    uint64_t key = address << 3 | (uint64_t)bytes;
    if (t->left_key != key)
        t->left = race_leaves_value(t, address, bytes);
    t->left_key = key;
    return t->left;
}

/* Checks the lanes of both that meet at a byte, in any pair. A clash ends the search, unless
 * both write one value. */
static enum result meet_at(struct race_try *t, const struct race_clash *at, uint32_t theirs,
                           uint32_t ours, struct race_clash *same)
{
    bool strong = morally_strong(t, at->old), met = false;
    bool volatiles = strong && race_volatile_pair(t, at->old);
    for (uint32_t m = ours; m; m &= m - 1) {
        struct race_clash c = *at;
        c.lane = __builtin_ctz(m);
        c.old_lanes = unknown_to(t, c.lane, c.old, theirs);
        if (!c.old_lanes)
            continue;
        met = true;
        if (strong && !volatiles)
            break;
        if (strong && !race_volatile_clash(t, &c))
            continue;
        if (!race_same_value(t, &c)) {
            race_found(t, &c);
            return strong ? STRONG : RACED;
        }
        *same = same->old_lanes ? *same : c;
        if (leaves_value(t, at->byte, at->bytes)) /* then the other lanes do not change it either */
            break;
    }
    return met ? STRONG : ORDERED;
}

/* Checks this access against a record. After two writes of one value the search goes on: other
 * lanes or bytes may have different values. */
static enum result check_order(struct race_try *t, const struct race_record *old,
                               enum race_past past, uint64_t address, int bytes)
{
    if (known_to_all(t, old))
        return KNOWN_TO_ALL;
    if (old->pattern == RACE_LISTED && t->self.pattern == RACE_LISTED && morally_strong(t, old) &&
        !race_volatile_pair(t, old))
        return STRONG; /* some lanes meet, or none do: keeping the record does no harm */
    enum result worst = ORDERED;
    uint32_t last_old = 0, last_new = 0;
    struct race_clash same = {.old_lanes = 0};
    bool words = bytes == 4 && old->bytes >= 4 && t->self.bytes >= 4; /* so whole words */
    for (int b = 0; b < bytes; b += words ? 4 : 1) {
        struct race_clash at = {
            .old = old, .past = past, .byte = address + (uint64_t)b, .bytes = bytes - b};
        uint32_t theirs = race_lanes_at(t->pool, old, at.byte, NULL);
        uint32_t ours = race_lanes_at(t->pool, &t->self, at.byte, t->a->address);
        if (theirs == last_old && ours == last_new)
            continue;
        last_old = theirs;
        last_new = ours;
        enum result found = meet_at(t, &at, theirs, ours, &same);
        if (found == RACED)
            return RACED;
        worst = found > worst ? found : worst;
    }
    if (same.old_lanes)
        race_found(t, &same);
    return same.old_lanes ? RACED : worst;
}

/* Returns the lanes of a record that access any of these bytes. */
static uint32_t lanes_within(const struct race_try *t, const struct race_record *old,
                             uint64_t address, int bytes)
{
    uint32_t lanes = 0;
    for (int b = 0; b < bytes; b++)
        lanes |= race_lanes_at(t->pool, old, address + (uint64_t)b, NULL);
    return lanes;
}

/* Checks that a fence is between a generic write and this access of the async proxy. An answer for
 * some lanes of the write holds for these bytes alone. */
static enum result check_proxy(struct race_try *t, const struct race_record *old,
                               enum result result, uint64_t address, int bytes)
{
    if (race_is_fenced(t, old, old->mask))
        return result;
    if (!race_is_fenced(t, old, lanes_within(t, old, address, bytes)))
        race_found_unfenced(t, old, address);
    return result == KNOWN_TO_ALL ? ORDERED : result;
}

static enum result check(struct race_try *t, uint32_t record, enum race_past past, uint64_t address,
                         int bytes)
{
    const struct race_record *old = &t->pool->records[record];
    enum result result = check_order(t, old, past, address, bytes);
    bool generic = old->kind == SIM_WRITE && !old->by && !(old->id & RACE_COPIES);
    return t->agent && result != RACED && generic ? check_proxy(t, old, result, address, bytes)
                                                  : result;
}

static enum race_past past_of(const struct race_node *node)
{
    return node->stands ? RACE_STANDS : RACE_GONE;
}

static void keep_fine(struct race_try *t, uint32_t record)
{
    t->write_ok[1] = t->write_ok[0];
    t->write_ok[0] = record;
}

static uint32_t own_record(struct race_try *t)
{
    if (!t->record) {
        t->record = race_record_new(t->r, t->pool, &t->self, t->a->address);
        struct race_copy *c = t->copy;
        if (c && c->records < RACE_COPY_RECORDS) {
            c->in_global[c->records] = t->a->space == SIM_GLOBAL;
            c->record[c->records++] = t->record;
        } else if (c) { /* more pieces than are kept: may miss a race, but reports no false one */
            t->pool->records[t->record].pending = 0;
            t->pool->records[t->record].epoch = t->warp->epoch;
        }
    }
    return t->record;
}

/* --- reads --- */

static race_time newest_of(struct race_pool *p, uint32_t list)
{
    struct race_node *head = &p->nodes[list];
    if (head->newest != RACE_NEVER)
        return head->newest;
    race_time newest = 0;
    for (uint32_t n = list; n; n = p->nodes[n].next) {
        const struct race_record *record = &p->records[p->nodes[n].record];
        race_time epoch =
            record->pending || record->by || record->id & RACE_COPIES ? RACE_NEVER : record->epoch;
        newest = epoch > newest ? epoch : newest;
    }
    return head->newest = newest;
}

static int longest(const struct race_pool *p, uint32_t list)
{
    return p->nodes[list].has_writes || p->node_used > MANY_NODES ? LONG_LIST : LONG_READS;
}

/* Returns true if `later` can replace `old`, an access of the same lanes: every access that is
 * not ordered after old is not ordered after `later` either, and `later` excuses no more
 * accesses. */
static bool replaces(const struct race_pool *p, const struct race_record *later,
                     const struct race_record *old)
{
    if (later->id != old->id || later->kind != old->kind || later->pending || old->pending)
        return false;
    if (later->order != SIM_WEAK && (later->order != old->order || later->scope != old->scope ||
                                     later->element != old->element))
        return false;
    return later->pattern == old->pattern && later->address == old->address &&
           later->stride == old->stride && later->apart == old->apart &&
           later->bytes == old->bytes && !(old->mask & ~later->mask) &&
           later->whole_warp == old->whole_warp &&
           (later->pattern != RACE_LISTED ||
            memcmp(p->lists[later->list], p->lists[old->list], sizeof *p->lists) == 0);
}

/* Nodes of a list, newest first, with a chain for the nodes of each warp. */
struct thinned {
    int count;
    uint32_t node[LONG_READS];
    uint16_t chain[LONG_READS], before[LONG_READS]; /* by hash of the warp; index + 1 */
};
enum { SEARCHED = 4 };

static void keep_node(struct thinned *k, uint16_t *chain, uint32_t node)
{
    k->before[k->count] = *chain;
    k->node[k->count++] = node;
    *chain = (uint16_t)k->count;
}

/* Removes accesses that newer ones replace, and reads that this weak read knows: every access
 * that is not ordered after those reads is not ordered after this one. */
static void thin_exactly(const struct race_try *t, uint32_t list, struct thinned *k)
{
    const struct race_pool *p = t->pool;
    bool weak_read = t->self.kind == SIM_READ && !t->strong;
    k->count = 0;
    memset(k->chain, 0, sizeof k->chain);
    for (uint32_t n = list; n && k->count < LONG_READS; n = p->nodes[n].next) {
        const struct race_record *record = &p->records[p->nodes[n].record];
        uint16_t *chain = &k->chain[sim_hash(record->id) % LONG_READS];
        bool idle = weak_read && record->kind == SIM_READ && known_to_all(t, record);
        int at = *chain;
        for (int i = 0; i < SEARCHED && at && !idle; i++, at = k->before[at - 1])
            idle = replaces(p, &p->records[p->nodes[k->node[at - 1]].record], record);
        if (!idle)
            keep_node(k, chain, n);
    }
}

/* Keeps the newest nodes of each warp, at most `most` nodes. */
static void thin_roughly(const struct race_pool *p, struct thinned *k, int most)
{
    int count = k->count;
    k->count = 0;
    memset(k->chain, 0, sizeof k->chain);
    for (int n = 0; n < count && k->count < most; n++) {
        const struct race_record *record = &p->records[p->nodes[k->node[n]].record];
        uint16_t *chain = &k->chain[sim_hash(record->id) % LONG_READS];
        bool again = false;
        for (int at = *chain; at && !again; at = k->before[at - 1]) {
            const struct race_record *newer = &p->records[p->nodes[k->node[at - 1]].record];
            again = newer->id == record->id && newer->kind == record->kind && !record->pending &&
                    (newer->order == SIM_WEAK || newer->order == record->order);
        }
        if (!again)
            keep_node(k, chain, k->node[n]);
    }
}

/* Returns a shorter list in the same order, at most half as long. Returns the list itself if it
 * cannot and need not be shorter. */
static uint32_t thin(struct race_try *t, uint32_t list, int most)
{
    struct race_pool *p = t->pool;
    int depth = p->nodes[list].depth;
    struct thinned k;
    if (depth != LONG_LIST && depth < most) /* tries once, then only if it must */
        return list;
    thin_exactly(t, list, &k);
    if (k.count > depth / 2 && depth < most)
        return list;
    if (k.count > most / 2)
        thin_roughly(p, &k, most / 2);
    uint32_t thinned = 0;
    while (k.count > 0) {
        const struct race_node node = p->nodes[k.node[--k.count]];
        thinned = race_node_new(t->r, p, node.record, thinned, node.stands);
    }
    return thinned;
}

/* Returns true if a read of the list makes this one superfluous: one by the same instruction, in a
 * block that has ended and passed no knowledge on. Nothing orders a later write after that read, so
 * the write races with it whatever it knows of this one. */
static bool is_superfluous(const struct race_try *t, uint32_t list)
{
    const struct race_pool *p = t->pool;
    if (t->r->passed_on || t->r->clustered || t->a->space != SIM_GLOBAL || t->copy || t->agent)
        return false;
    for (int i = 0; i < SEARCHED && list; i++, list = p->nodes[list].next) {
        const struct race_record *read = &p->records[p->nodes[list].record];
        if (read->site == t->self.site && read->kind == SIM_READ && read->order == SIM_WEAK &&
            !read->async && !sim_blocks_find(&t->r->blocks, (int64_t)(read->id >> 6)))
            return true;
    }
    return false;
}

/* Returns the list after this access's read. */
static uint32_t with_read(struct race_try *t, uint32_t list)
{
    struct race_pool *p = t->pool;
    if (!list)
        return race_node_new(t->r, p, own_record(t), 0, true);
    const struct race_node *head = &p->nodes[list];
    const struct race_record *first = &p->records[head->record];
    if (head->record == t->record || is_superfluous(t, list))
        return list;
    /* A later write that is ordered after this read is ordered after all that this read knows,
     * so those need not be kept. The exception: this read is strong and excuses a write that
     * they do not. */
    if (!t->strong && !head->has_writes && head->one_block && first->id >> 6 == t->self.id >> 6 &&
        newest_of(p, list) < t->block_min)
        return race_node_new(t->r, p, own_record(t), 0, true);
    if (first->id == t->self.id && first->kind == SIM_READ && !t->copy && !first->async &&
        first->order == t->self.order && first->scope == t->self.scope &&
        same_addresses(t, first)) {
        if (first->epoch == t->self.epoch)
            return list;
        uint32_t behind = head->next;
        return race_node_new(t->r, p, own_record(t), behind, true);
    }
    list = thin(t, list, longest(p, list));
    uint32_t record = own_record(t);
    return race_node_new(t->r, p, record, list, true);
}

static void read_cell(struct race_try *t, struct race_cell *cell, uint64_t address, int bytes)
{
    t->others = cell->others;
    if (cell->write && cell->write != t->write_ok[0] && cell->write != t->write_ok[1] &&
        check(t, cell->write, RACE_LAST, address, bytes) == KNOWN_TO_ALL)
        keep_fine(t, cell->write);
    if (cell->others != t->from) {
        bool whole = true;
        if (cell->others && t->pool->nodes[cell->others].has_writes)
            for (uint32_t n = cell->others; n; n = t->pool->nodes[n].next) {
                const struct race_node *node = &t->pool->nodes[n];
                if (t->pool->records[node->record].kind & SIM_WRITE)
                    whole &= check(t, node->record, past_of(node), address, bytes) == KNOWN_TO_ALL;
            }
        t->to = with_read(t, cell->others);
        t->from = whole ? cell->others : UINT32_MAX;
    }
    cell->others = t->to;
}

/* --- writes --- */

/* Returns the lanes that write a byte; for stmatrix, the lanes whose rows contain it. */
static uint32_t writers_at(const struct race_try *t, uint64_t byte)
{
    uint32_t lanes = 0;
    if (!t->self.whole_warp)
        return race_lanes_at(t->pool, &t->self, byte, t->a->address);
    for (int l = 0; l < SIM_LANES; l++)
        if (t->a->mask >> l & 1 && byte - t->a->address[l] < t->self.bytes)
            lanes |= (uint32_t)1 << l;
    return lanes;
}

static void meet_oneself(struct race_try *t, uint64_t address, int bytes)
{
    struct race_clash same = {.old_lanes = 0};
    uint32_t last = 0;
    bool volatiles = t->self.order == SIM_VOLATILE && race_volatile_pair(t, &t->self);
    if ((t->strong && !volatiles) || t->self.kind != SIM_WRITE)
        return;
    for (int b = 0; b < bytes; b++) {
        uint32_t lanes = writers_at(t, address + (uint64_t)b), first = lanes & -lanes;
        if (lanes == last)
            continue;
        last = lanes;
        for (uint32_t m = lanes & ~first; m; m &= m - 1) {
            struct race_clash c = {.byte = address + (uint64_t)b,
                                   .bytes = bytes - b,
                                   .old_lanes = first,
                                   .lane = __builtin_ctz(m)};
            if (!race_same_value(t, &c)) {
                race_found(t, &c);
                return;
            }
            same = same.old_lanes ? same : c;
        }
    }
    if (same.old_lanes)
        race_found(t, &same);
}

/* Returns true if `old` must be remembered after this write. It must if no order puts it before
 * the write: a later access may be ordered after this write alone. A strong write also excuses
 * later accesses that an older one may not excuse: for example, the zero that a thread stored in
 * a counter to which other threads then add. */
static bool must_stay(const struct race_try *t, const struct race_record *old, enum result found)
{
    if (found == STRONG || found == RACED)
        return true;
    if (!t->strong)
        return false;
    return old->order == SIM_WEAK || old->element != t->self.element ||
           old->id >> 6 != t->self.id >> 6 || (old->scope < SIM_GPU && t->self.scope >= SIM_GPU);
}

/* The accesses of a cell that stay. */
struct stay {
    int count;
    bool changed;      /* some go, or the value that one read or wrote is overwritten */
    bool known_to_all; /* all of the cell's are known to all lanes; none stays */
    struct {
        uint32_t record;
        bool stands;
    } of[LONG_READS];
};

static void stay_of_list(struct race_try *t, const struct race_cell *cell, uint64_t address,
                         int bytes, struct stay *s)
{
    const struct race_pool *p = t->pool;
    bool asked = false, leaves = false;
    for (uint32_t n = cell->others; n; n = p->nodes[n].next) {
        const struct race_node *node = &p->nodes[n];
        enum result found = check(t, node->record, past_of(node), address, bytes);
        s->known_to_all &= found == KNOWN_TO_ALL;
        if (!must_stay(t, &p->records[node->record], found) || s->count == LONG_READS) {
            s->changed = true;
            continue;
        }
        if (node->stands && !asked)
            leaves = leaves_value(t, address, bytes);
        asked |= node->stands;
        s->changed |= node->stands && !leaves;
        s->of[s->count].record = node->record;
        s->of[s->count++].stands = node->stands && leaves;
    }
}

/* Returns the list of a cell's accesses that stay after this write. */
static uint32_t staying(struct race_try *t, const struct race_cell *cell, uint64_t address,
                        int bytes)
{
    struct race_pool *p = t->pool;
    struct stay s;
    bool write_stays = false;
    t->others = cell->others;
    if (cell->write) {
        enum result found = check(t, cell->write, RACE_LAST, address, bytes);
        if (found == KNOWN_TO_ALL)
            keep_fine(t, cell->write);
        write_stays = must_stay(t, &p->records[cell->write], found);
    }
    s.count = 0;
    s.changed = false;
    s.known_to_all = true;
    stay_of_list(t, cell, address, bytes, &s);
    if (s.known_to_all && !t->strong)
        t->others_ok = cell->others;
    uint32_t list = s.changed ? 0 : cell->others;
    while (s.changed && s.count-- > 0)
        list = race_node_new(t->r, p, s.of[s.count].record, list, s.of[s.count].stands);
    if (write_stays)
        list = race_node_new(t->r, p, cell->write, list, leaves_value(t, address, bytes));
    return list ? thin(t, list, LONG_LIST) : 0;
}

static void write_cell(struct race_try *t, struct race_cell *cell, uint64_t address, int bytes)
{
    if (cell->write == t->record) {
        meet_oneself(t, address, bytes);
        return;
    }
    uint32_t list = staying(t, cell, address, bytes);
    *cell = (struct race_cell){t->record, list};
}

/* --- ranges --- */

static void one_cell(struct race_try *t, struct race_cell *cell, uint64_t address, int bytes)
{
    if (t->self.kind == SIM_READ)
        read_cell(t, cell, address, bytes);
    else
        write_cell(t, cell, address, bytes);
}

/* Checks bytes first to last of a word. */
static void part_of_word(struct race_try *t, struct race_cell *cell, uint64_t word, int first,
                         int last)
{
    if (!(cell->write & RACE_SPLIT)) {
        uint32_t made = race_split_new(t->r, t->pool, *cell);
        *cell = (struct race_cell){RACE_SPLIT | made, 0};
    }
    uint32_t split = cell->write & ~RACE_SPLIT;
    for (int b = first; b <= last; b++) {
        struct race_cell one = t->pool->splits[split][b];
        one_cell(t, &one, word + (uint64_t)b, 1);
        t->pool->splits[split][b] = one;
    }
    const struct race_cell *s = t->pool->splits[split];
    for (int b = 1; b < 4; b++)
        if (s[b].write != s[0].write || s[b].others != s[0].others)
            return;
    *cell = s[0];
    race_split_free(t->pool, split);
}

static void slow_word(struct race_try *t, struct race_cell *cell, uint64_t word)
{
    if (cell->write & RACE_SPLIT)
        part_of_word(t, cell, word, 0, 3);
    else
        one_cell(t, cell, word, 4);
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
        if (known_next(t, cells[i], &next)) {
            i += replace_alike(&cells[i], count - i, next);
        } else {
            slow_word(t, &cells[i], word + 4 * i);
            i++;
        }
    }
}

/* Makes room for the block's shared memory, at least up to `end`. */
static void need_shared(struct race_try *t, uint64_t end)
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

static struct race_cell *cells_at(struct race_try *t, uint64_t word, size_t *count)
{
    if (t->a->space == SIM_SHARED) {
        *count = t->home->words - (size_t)(word / 4);
        return &t->home->cells[word / 4];
    }
    size_t i = (size_t)(word / 4 % RACE_PAGE_WORDS);
    *count = RACE_PAGE_WORDS - i;
    return &race_page_of(t->r, word)->cell[i];
}

static void range(struct race_try *t, uint64_t address, uint64_t bytes)
{
    if (t->a->space == SIM_SHARED)
        need_shared(t, address + bytes);
    while (bytes) {
        uint64_t word = address & ~(uint64_t)3;
        int first = (int)(address & 3);
        size_t there;
        struct race_cell *cells = cells_at(t, word, &there);
        if (first || bytes < 4) {
            int last = bytes < (uint64_t)(4 - first) ? first + (int)bytes - 1 : 3;
            part_of_word(t, cells, word, first, last);
            address += (uint64_t)(last - first + 1);
            bytes -= (uint64_t)(last - first + 1);
            continue;
        }
        size_t count = bytes / 4 < there ? (size_t)(bytes / 4) : there;
        whole_words(t, cells, count, word);
        address += 4 * count;
        bytes -= 4 * count;
    }
}

void race_ranges(struct race_try *t)
{
    const struct sim_access *a = t->a;
    if (t->self.pattern == RACE_UNIFORM) {
        range(t, t->self.address, t->self.bytes);
        if ((a->mask & (a->mask - 1)) && t->self.kind == SIM_WRITE)
            meet_oneself(t, t->self.address, t->self.bytes);
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
        uint64_t address = a->address[__builtin_ctz(m)];
        if (t->self.kind == SIM_READ && address - start < end - start)
            continue;
        if (address != end || !end) {
            if (end > start)
                range(t, start, end - start);
            start = address;
        }
        end = address + t->self.bytes;
    }
    range(t, start, end - start);
}

/* --- an access --- */

void race_set_pattern(struct race_record *self, const struct sim_access *a)
{
    int first = __builtin_ctz(a->mask);
    uint32_t rest = a->mask & (a->mask - 1);
    const uint64_t *address = a->address;
    self->bytes = (uint16_t)(a->matrix == SIM_LANEWISE ? a->bytes : 16);
    self->whole_warp = a->matrix != SIM_LANEWISE;
    self->pattern = RACE_LISTED;
    self->address = address[first];
    if (self->whole_warp)
        return;
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
    if (wrong || (stride && stride < self->bytes) || stride > INT32_MAX)
        return;
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

static uint32_t write_of_byte(struct race_try *t, uint64_t byte)
{
    size_t there;
    const struct race_cell *cell = cells_at(t, byte & ~(uint64_t)3, &there);
    if (!(cell->write & RACE_SPLIT))
        return cell->write;
    return t->pool->splits[cell->write & ~RACE_SPLIT][byte & 3].write;
}

bool race_wrote_last(struct race_try *t, uint64_t address, uint32_t record, race_time epoch)
{
    const struct race_record *write = &t->pool->records[record];
    uint64_t bytes = write->element;
    if (!record || !write->kind || write->epoch != epoch) /* the record is reused */
        return false;
    if (t->a->space == SIM_SHARED)
        need_shared(t, address + bytes);
    for (uint64_t b = 0; b < bytes; b++)
        if (write_of_byte(t, address + b) != record)
            return false;
    return true;
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
    t->from = t->others_ok = UINT32_MAX;
    t->write_ok[0] = t->write_ok[1] = 0;
    race_ranges(t);
}

static void check_access(struct sim_races *r, struct race_block *block, const struct sim_access *a)
{
    struct race_try t = {.r = r, .a = a, .block = block};
    t.warp = &t.block->warp[a->at.warp];
    t.copy = a->group ? race_copy_of(t.warp, a->group) : NULL;
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
    if (t.pool->record_used > t.pool->record_limit || t.pool->node_used > t.pool->node_limit)
        race_collect(r, a->space == SIM_SHARED ? t.home : NULL);
    describe(&t);
    if (t.strong && !t.agent)
        race_acquire(&t);
    set_minima(&t);
    if (a->kind & SIM_WRITE)
        own_record(&t);
    race_ranges(&t);
    for (int i = issuer + 1; t.agent && i < RACE_ISSUERS; i++)
        again(&t, i);
    if (a->kind & SIM_WRITE)
        keep_old(&t);
    if (t.strong && !t.agent && (a->kind & SIM_WRITE))
        race_release(&t);
}

bool race_access(void *user, const struct sim_access *a)
{
    struct sim_races *r = user;
    if ((a->space != SIM_GLOBAL && a->space != SIM_SHARED) || !a->mask || r->over)
        return true;
    struct race_block *block = sim_blocks_find(&r->blocks, a->at.block);
    if (!block || a->at.warp >= block->warps)
        return true;
    /* Weak accesses to the system's part of shared memory are not checked: CUDA's own code there
     * relies on the order of shuffles. Its atomics do order. */
    if (a->space == SIM_SHARED && a->order == SIM_WEAK &&
        a->address[__builtin_ctz(a->mask)] < block->reserved)
        return true;
    if (a->space == SIM_SHARED && race_defers(r, block, a))
        return true;
    check_access(r, block, a);
    return true;
}
