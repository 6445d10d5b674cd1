/* Deferred reads. Most accesses to shared memory are reads of values that were written before the
 * block's last barrier. Such a read races with no earlier write; it matters only for a later write
 * that is not ordered after it. So the block only lists such reads, which costs little. An
 * access that cannot be deferred ends the list: if a barrier came after the reads, all threads of
 * the block know of them, and they are forgotten; otherwise they are entered in the shadow memory,
 * in their order.
 *
 * Copies and products know what their threads knew when they issued them, and other blocks of a
 * cluster know less than the block: if these write to the shared memory, nothing is deferred. */
#include "sim/race/sim_race_own.h"

enum { MOST_READS = 4096 };

static void defer(struct sim_races *r, struct race_block *b, const struct sim_access *a)
{
    struct race_reads *reads = &b->reads;
    const struct race_warp *w = &b->warp[a->at.warp];
    if (reads->count == reads->room)
        RACE_GROW(r, reads->read, reads->room, 64);
    struct race_read *read = &reads->read[reads->count++];
    read->site = race_site_of(r, &a->at);
    read->barrier = w->barrier;
    read->epoch = w->epoch;
    read->block_min = w->block_min;
    read->mask = a->mask;
    read->passed = w->passed;
    read->stride = a->stride;
    read->apart = (int32_t)a->apart;
    read->first = (uint32_t)a->address[__builtin_ctz(a->mask)];
    read->bytes = (uint16_t)a->bytes;
    read->element = (uint16_t)(a->element ? a->element : a->bytes);
    read->warp = (uint8_t)a->at.warp;
    read->scope = (uint8_t)a->scope;
    read->pattern = (uint8_t)a->pattern;
    read->matrix = (uint8_t)a->matrix;
    reads->newest = w->epoch > reads->newest ? w->epoch : reads->newest;
    if (a->pattern != SIM_UNSORTED)
        return;
    if (reads->list_count == reads->list_room)
        RACE_GROW(r, reads->lists, reads->list_room, 64);
    read->list = reads->list_count;
    uint32_t *list = reads->lists[reads->list_count++];
    for (int l = 0; l < SIM_LANES; l++)
        list[l] = (uint32_t)a->address[l];
}

/* Enters a read in the shadow memory. All earlier writes are known to its warp by a barrier. */
static void enter(struct sim_races *r, struct race_block *b, const struct race_read *read)
{
    static const struct race_view none = {.plain = true};
    struct race_view view = none;
    struct sim_access a = {.space = SIM_SHARED,
                           .kind = SIM_READ,
                           .matrix = (enum sim_matrix)read->matrix,
                           .pattern = (enum sim_pattern)read->pattern,
                           .stride = read->stride,
                           .apart = read->apart,
                           .mask = read->mask,
                           .bytes = read->bytes};
    for (uint32_t l = 0; l < SIM_LANES; l++)
        a.address[l] = read->pattern == SIM_UNSORTED ? b->reads.lists[read->list][l]
                       : read->pattern == SIM_HALVES ? read->first + l % RACE_HALF * read->stride +
                                                           l / RACE_HALF * (uint64_t)read->apart
                                                     : (uint64_t)read->first + l * read->stride;
    struct race_try t = {.r = r,
                         .a = &a,
                         .block = b,
                         .home = b,
                         .warp = &b->warp[read->warp],
                         .view = &view,
                         .pool = &b->pool,
                         .block_min = read->block_min,
                         .others_ok = UINT32_MAX,
                         .from = UINT32_MAX,
                         .until = UINT64_MAX};
    t.self = (struct race_record){.id = race_id(b->of.number, read->warp),
                                  .site = read->site,
                                  .barrier = read->barrier,
                                  .epoch = read->epoch,
                                  .mask = read->mask,
                                  .passed = read->passed,
                                  .element = read->element,
                                  .kind = SIM_READ,
                                  .scope = read->scope};
    race_set_pattern(&t.self, &a);
    if (b->pool.record_used > b->pool.record_limit || b->pool.node_used > b->pool.node_limit)
        race_collect(r, b);
    race_ranges(&t);
}

/* Returns true if every access of the block from now on is ordered after the deferred reads. */
static bool all_know(const struct race_block *b)
{
    for (int w = 0; w < b->warps; w++) {
        const struct race_warp *warp = &b->warp[w];
        if (warp->copies || (warp->live && warp->block_min <= b->reads.newest))
            return false;
    }
    return !b->agents;
}

static void settle(struct sim_races *r, struct race_block *b)
{
    struct race_reads *reads = &b->reads;
    bool known = all_know(b);
    for (uint32_t i = 0; i < reads->count && !known; i++)
        enter(r, b, &reads->read[i]);
    reads->count = reads->list_count = 0;
    reads->newest = 0;
}

static bool defers_read(struct sim_races *r, struct race_block *b, const struct sim_access *a)
{
    struct race_reads *reads = &b->reads;
    const struct race_warp *w = &b->warp[a->at.warp];
    bool defers = a->kind == SIM_READ && a->order == SIM_WEAK && !a->group && !r->clustered &&
                  w->block_min > reads->written;
    if (reads->count && (!defers || reads->count == MOST_READS))
        settle(r, b);
    if (defers)
        defer(r, b, a);
    else if (a->kind & SIM_WRITE && a->group)
        reads->written = RACE_NEVER;
    else if (a->kind & SIM_WRITE && w->epoch > reads->written)
        reads->written = w->epoch;
    return defers;
}

struct race_reads race_reads_take(struct sim_races *r)
{
    struct race_reads reads = r->spare_reads;
    reads.count = reads.list_count = 0;
    reads.newest = reads.written = 0;
    r->spare_reads = (struct race_reads){0};
    return reads;
}

void race_reads_leave(struct sim_races *r, struct race_reads *reads)
{
    race_reads_free(r, &r->spare_reads);
    r->spare_reads = *reads;
    *reads = (struct race_reads){0};
}

void race_reads_free(struct sim_races *r, struct race_reads *reads)
{
    race_resize(r, reads->read, reads->room * sizeof *reads->read, 0);
    race_resize(r, reads->lists, reads->list_room * sizeof *reads->lists, 0);
    *reads = (struct race_reads){0};
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
    if (a->space == SIM_SHARED && a->away)
        race_peer_used(r, block, a);
    if (a->space == SIM_SHARED && defers_read(r, block, a))
        return true;
    race_check_access(r, block, a);
    return true;
}
