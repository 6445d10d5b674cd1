/* Checks one access of a warp against one cell of the shadow memory, and enters it there. */
#include "sim/race/sim_race_own.h"

/* The length at which a list is thinned. A list of reads is searched by the next write alone; a
 * list with writes is searched by each access, so it must be shorter. So must all if there are
 * many lists. */
enum { LONG_LIST = 64, LONG_READS = 512, MANY_NODES = 1 << 19 };

enum result { KNOWN_TO_ALL, ORDERED, STRONG, RACED };

/* --- order --- */

/* Returns true if the lanes of `old` have the same addresses in both. `addresses` as for
 * race_listed_address, of the first. */
static bool same_addresses(const struct race_pool *p, const struct race_record *record,
                           const uint64_t *addresses, const struct race_record *old)
{
    if (old->pattern != record->pattern || old->address != record->address ||
        old->stride != record->stride || old->apart != record->apart ||
        old->bytes != record->bytes || old->mask & ~record->mask ||
        old->whole_warp != record->whole_warp)
        return false;
    for (uint32_t m = old->pattern == RACE_LISTED ? old->mask : 0; m; m &= m - 1)
        if (race_listed_address(p, record, addresses, __builtin_ctz(m)) !=
            race_listed_address(p, old, NULL, __builtin_ctz(m)))
            return false;
    return true;
}

bool race_known_to_all(const struct race_try *t, const struct race_record *old)
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
    for (uint32_t m = lanes; m; m &= m - 1)
        unknown |= unknown_at(t, lane, old, m & -m, race_landed_at(t->pool, old, __builtin_ctz(m)));
    return unknown;
}

static bool in_one_cluster(const struct race_try *t, const struct race_record *old)
{
    const struct race_block *b = sim_blocks_find(&t->r->blocks, (int64_t)(old->id >> 6));
    return b && b->cluster == t->block->cluster;
}

/* PTX ISA 8.7: both strong, each one's scope includes the other thread, exactly the same bytes. */
static bool morally_strong(const struct race_try *t, const struct race_record *old,
                           const struct race_record *self)
{
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

static bool is_update(const struct race_record *record)
{
    return record->kind == (SIM_READ | SIM_WRITE) && record->order != SIM_WEAK;
}

/* Returns true if this weak access comes after the last atomic update of the byte, which has observed the
 * update `old`: then observation order puts that one before the access, too (PTX ISA, causality order), as
 * when the last block reads or resets the counter by which it knows that it is the last. A strong store
 * between the two updates observes nothing: that may miss a race, but reports no false one. */
static bool is_observed(const struct race_try *t, const struct race_clash *c)
{
    const struct race_record *last = &t->pool->records[t->last];
    if (t->strong || !t->last || !is_update(c->old) || !is_update(last) ||
        !morally_strong(t, c->old, last))
        return false;
    uint32_t lanes = race_lanes_at(t->pool, last, c->byte, NULL); /* update in this order */
    return lanes && !unknown_to(t, c->lane, last, UINT32_C(1) << (31 - __builtin_clz(lanes)));
}

/* Checks the lanes of both that meet at a byte, in any pair. A clash ends the search, unless
 * both write one value. */
static enum result meet_at(struct race_try *t, const struct race_clash *at, uint32_t theirs,
                           uint32_t ours, struct race_clash *same)
{
    bool strong = morally_strong(t, at->old, &t->self), met = false;
    bool volatiles = strong && race_volatile_pair(t, at->old);
    for (uint32_t m = ours; m; m &= m - 1) {
        struct race_clash c = *at;
        c.lane = __builtin_ctz(m);
        c.old_lanes = unknown_to(t, c.lane, c.old, theirs);
        if (!c.old_lanes || is_observed(t, &c))
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
    if (race_known_to_all(t, old))
        return KNOWN_TO_ALL;
    if (old->pattern == RACE_LISTED && t->self.pattern == RACE_LISTED &&
        morally_strong(t, old, &t->self) && !race_volatile_pair(t, old))
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
    struct race_record part;
    const struct race_record *old = race_part(t, record, &part);
    enum result result = check_order(t, old, past, address, bytes);
    const struct ptx_instruction *ins = old->site->ins;
    bool atomic = ins && (ins->op == PTX_ATOM || ins->op == PTX_RED);
    bool generic = (old->kind == SIM_WRITE || atomic) && !old->by && !(old->id & RACE_COPIES);
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

uint32_t race_own_record(struct race_try *t)
{
    if (!t->record) {
        t->record = race_record_of(t);
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
    return same_addresses(p, later, NULL, old);
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
static void thin_exactly(struct race_try *t, uint32_t list, struct thinned *k)
{
    const struct race_pool *p = t->pool;
    struct race_record part, newer;
    bool weak_read = t->self.kind == SIM_READ && !t->strong;
    k->count = 0;
    memset(k->chain, 0, sizeof k->chain);
    for (uint32_t n = list; n && k->count < LONG_READS; n = p->nodes[n].next) {
        const struct race_record *record = race_part(t, p->nodes[n].record, &part);
        uint16_t *chain = &k->chain[sim_hash(record->id) % LONG_READS];
        bool idle = weak_read && record->kind == SIM_READ && race_known_to_all(t, record);
        int at = *chain;
        for (int i = 0; i < SEARCHED && at && !idle; i++, at = k->before[at - 1])
            idle = replaces(p, race_part(t, p->nodes[k->node[at - 1]].record, &newer), record);
        if (!idle)
            keep_node(k, chain, n);
    }
}

/* Keeps the newest nodes of each warp, at most `most` nodes. */
static void thin_roughly(struct race_try *t, struct thinned *k, int most)
{
    const struct race_pool *p = t->pool;
    struct race_record part, part_of_newer;
    int count = k->count;
    k->count = 0;
    memset(k->chain, 0, sizeof k->chain);
    for (int n = 0; n < count && k->count < most; n++) {
        const struct race_record *record = race_part(t, p->nodes[k->node[n]].record, &part);
        uint16_t *chain = &k->chain[sim_hash(record->id) % LONG_READS];
        bool again = false;
        for (int at = *chain; at && !again; at = k->before[at - 1]) {
            const struct race_record *newer =
                race_part(t, p->nodes[k->node[at - 1]].record, &part_of_newer);
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
        thin_roughly(t, &k, most / 2);
    uint32_t thinned = 0;
    while (k.count > 0) {
        const struct race_node node = p->nodes[k.node[--k.count]];
        thinned = race_node_new(t, node.record, thinned, node.stands);
    }
    return thinned;
}

/* Returns true if a read of the list makes this one superfluous: one by the same instruction, in a
 * block that has ended and passed no knowledge on. Nothing orders a later write after that read, so
 * the write races with it whatever it knows of this one. */
static bool is_superfluous(struct race_try *t, uint32_t list)
{
    const struct race_pool *p = t->pool;
    struct race_record part;
    if (t->r->passed_on || t->r->clustered || t->a->space != SIM_GLOBAL || t->copy || t->agent)
        return false;
    for (int i = 0; i < SEARCHED && list; i++, list = p->nodes[list].next) {
        const struct race_record *read = &p->records[p->nodes[list].record];
        if (read->site != t->self.site || read->kind != SIM_READ || read->order != SIM_WEAK ||
            read->async)
            continue;
        read = race_part(t, p->nodes[list].record, &part);
        if (!sim_blocks_find(&t->r->blocks, (int64_t)(read->id >> 6)))
            return true;
    }
    return false;
}

/* Returns the list after this access's read. */
static uint32_t with_read(struct race_try *t, uint32_t list)
{
    struct race_pool *p = t->pool;
    if (!list)
        return race_node_new(t, race_own_record(t), 0, true);
    struct race_record part;
    const struct race_node *head = &p->nodes[list];
    if (head->record == t->record || is_superfluous(t, list))
        return list;
    const struct race_record *first = race_part(t, head->record, &part);
    /* A later write that is ordered after this read is ordered after all that this read knows,
     * so those need not be kept. The exception: this read is strong and excuses a write that
     * they do not. */
    if (!t->strong && !head->has_writes && head->one_block && first->id >> 6 == t->self.id >> 6 &&
        newest_of(p, list) < t->block_min)
        return race_node_new(t, race_own_record(t), 0, true);
    if (first->id == t->self.id && first->kind == SIM_READ && !t->copy && !first->async &&
        first->order == t->self.order && first->scope == t->self.scope &&
        first->mask == t->self.mask && same_addresses(p, &t->self, t->a->address, first)) {
        if (first->epoch == t->self.epoch)
            return list;
        uint32_t behind = head->next;
        return race_node_new(t, race_own_record(t), behind, true);
    }
    list = thin(t, list, longest(p, list));
    uint32_t record = race_own_record(t);
    return race_node_new(t, record, list, true);
}

static void read_cell(struct race_try *t, struct race_cell *cell, uint64_t address, int bytes)
{
    t->others = cell->others;
    t->last = cell->write;
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

void race_meet_oneself(struct race_try *t, uint64_t address, int bytes)
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
    t->last = cell->write;
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
        list = race_node_new(t, s.of[s.count].record, list, s.of[s.count].stands);
    if (write_stays)
        list = race_node_new(t, cell->write, list, leaves_value(t, address, bytes));
    return list ? thin(t, list, LONG_LIST) : 0;
}

static void write_cell(struct race_try *t, struct race_cell *cell, uint64_t address, int bytes)
{
    if (cell->write == t->record) {
        race_meet_oneself(t, address, bytes);
        return;
    }
    uint32_t list = staying(t, cell, address, bytes);
    *cell = (struct race_cell){t->record, list};
}

/* --- cells --- */

void race_one_cell(struct race_try *t, struct race_cell *cell, uint64_t address, int bytes)
{
    t->cell = address;
    if (t->self.kind == SIM_READ)
        read_cell(t, cell, address, bytes);
    else
        write_cell(t, cell, address, bytes);
}
