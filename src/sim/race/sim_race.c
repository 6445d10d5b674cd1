/* How the race check works.
 *
 * Two accesses race if they overlap, one of them writes, they are not ordered, and they are not
 * both atomic enough (PTX ISA 8.7.1; the model: Lustig, Sahasrabuddhe, Giroux, "A Formal Analysis
 * of the NVIDIA PTX Memory Consistency Model", ASPLOS 2019). The current run gives one order; races
 * are found as in FastTrack (Flanagan, Freund, PLDI 2009): each cell of memory knows its last write
 * and the reads since, each as (thread, epoch), and each thread knows, for each other thread, the
 * epoch up to which that thread's accesses are ordered before its own.
 *
 * A grid has too many threads for a vector clock each. But almost all order comes from the barrier
 * of a block, and that is one number: CURD (Peng, Grover, Devietti, PLDI 2018) and HiRace (SC 2024)
 * build on it. So time is one counter of the launch, and each synchronisation advances it; a warp's
 * epoch is the time of its latest one; and the knowledge of a lane is (sim_race_own.h,
 * struct race_view)
 *   block_base   everything that its block did in epochs below: since the block's barrier,
 *   warp_base    everything that its warp did in epochs below: since bar.warp.sync,
 *   itself       program order,
 *   vc           a sorted list of "lanes of that warp, below that epoch" for all other ways: named
 *                barriers of some warps, bar.warp.sync of some lanes, release and acquire,
 *                mbarriers. Shared and counted; mostly NULL.
 * A warp is not a scope: its lanes are threads like any others (iGUARD, Kamath, Basu, SOSP 2021).
 *
 * Shadow memory has 8 bytes for each 4 bytes of memory, or for each 16 bytes in pages of global
 * memory where these have one history: the number of the record of the last write, and the number
 * of a list. The list has the reads since that write, and all accesses that no order puts before
 * it: a later access may be ordered after only one of two writers of a value, or of two atomic
 * updates. A record is one access of a warp: its lanes, time and instruction, and how
 * addresses depend on the lane, so that the lane of a byte is computed when it is needed. Addresses
 * without a rule are listed, in as few bytes as the largest distance from the lowest needs. All words
 * of an access that had one history get the same new one: a few comparisons decide for a whole row
 * of words. Warps of a block that access one row of bytes after the other share a record, and so do
 * blocks that run one after the other (sim_race_page.c). A list shares its tail with the lists it
 * came from. A page that no block uses now keeps runs of equal cells, with lists in one order. If
 * the bytes of a word have different last writes or different lists, each of the four has its own
 * number of these. Records that no cell names any more are collected. Blocks of a grid mostly read
 * the same data: of the reads by one instruction, in blocks that nothing orders, a list has the
 * first (is_superfluous).
 *
 * An asynchronous copy is an agent of its own. It knows what its thread knew when the thread issued
 * it. No thread knows of its reads and writes until its thread has waited for its group; from then
 * on they count as done by the thread at that time. A copy that arrives at an mbarrier is known to
 * the threads that wait there; its own thread, too, knows it only after waiting there.
 *
 * The check is not exact in these points. A list of more than 512 reads, or of 64 accesses with
 * writes among them, is thinned to the newest of each warp and half that length; an access that
 * is ordered after those, but not after one that was dropped, passes. If two unordered writes
 * have one value, the earlier accesses of the first writer's thread are not kept, though they may
 * race with the second. A thread that waits for a group of its copies is taken to wait for all
 * that arrived at mbarriers. Threads that exited count as having arrived at the barriers of the
 * whole block. fence.sc orders no more than .acq_rel. Lanes of ldmatrix and stmatrix are taken
 * to read and write all rows. The only fences of proxies that are missed are those between generic
 * writes and the async proxy (sim_race_agent.c). */
#include "sim/race/sim_race_own.h"

/* --- blocks --- */

static void forget_block(void *user, void *block)
{
    struct sim_races *r = user;
    struct race_block *b = block;
    for (int w = 0; w < b->warps; w++) {
        struct race_warp *warp = &b->warp[w];
        for (struct race_copy *c = warp->copies, *next; c; c = next) {
            next = c->next;
            race_copy_free(r, c);
        }
        race_fences_free(r, warp);
        for (int l = 0; l < SIM_LANES; l++)
            race_vc_drop(r, warp->view.vc[l]);
    }
    race_agents_free(r, b);
    race_uses_free(r, b);
    race_resize(r, b->warp, (size_t)b->warps * sizeof *b->warp, 0);
    race_block_sync_free(r, b);
    race_pool_leave(r, &b->pool);
    race_reads_leave(r, &b->reads);
    if (b->cells) {
        race_resize(r, b->cells, b->words * sizeof *b->cells, 0);
        race_resize(r, b->old, 4 * b->words, 0);
    }
    race_resize(r, b, sizeof *b, 0);
}

static bool begin_block(void *user, const struct sim_block_event *e)
{
    struct sim_races *r = user;
    struct race_block *b = race_resize(r, NULL, 0, sizeof *b);
    b->warps = e->warps;
    b->threads = b->live = e->threads;
    b->words = (size_t)(e->shared_bytes + 3) / 4;
    b->reserved = (uint64_t)e->reserved_shared;
    b->cluster = e->cluster;
    r->clustered = e->cluster_blocks > 1;
    sim_blocks_add(&r->blocks, &b->of, e->block);
    b->pool = race_pool_take(r);
    b->reads = race_reads_take(r);
    b->warp = race_resize(r, NULL, 0, (size_t)e->warps * sizeof *b->warp);
    race_time now = race_tick(r);
    for (int w = 0; w < e->warps; w++) {
        int lanes = e->threads - w * SIM_LANES;
        b->warp[w].live = lanes >= SIM_LANES ? UINT32_MAX : ((uint32_t)1 << lanes) - 1;
        b->warp[w].epoch = now;
        b->warp[w].view.own = RACE_NEVER;
        b->warp[w].view.plain = true;
    }
    return true;
}

static bool end_block(void *user, const struct sim_block_event *e)
{
    struct sim_races *r = user;
    const struct race_block *b = sim_blocks_find(&r->blocks, e->block);
    if (b && b->uses)
        race_peer_ends(r, b);
    if (b && r->clusters)
        race_cluster_ends(r, b->cluster, e->cluster_blocks);
    return sim_blocks_ended(user, e);
}

/* Forgets all state: a launch is ordered after everything before it. */
static void forget_launch(struct sim_races *r)
{
    sim_blocks_forget_all(&r->blocks);
    race_clusters_free(r);
    race_pages_free(r);
    race_pool_free(r, &r->pool);
    race_pool_free(r, &r->spare);
    race_reads_free(r, &r->spare_reads);
    race_locations_free(r, &r->locations);
    r->now = 0;
    r->over = r->passed_on = false;
}

static bool launch(void *user, const struct ptx_function *kernel, const unsigned grid[3],
                   const unsigned block[3])
{
    struct sim_races *r = user;
    (void)kernel;
    forget_launch(r);
    sim_report_launch(r->report, grid, block);
    return true;
}

static bool allocated(void *user, const struct sim_allocation_event *e)
{
    struct sim_races *r = user;
    sim_report_allocated(r->report, e);
    return true;
}

struct sim_races *sim_races_new(struct arena *arena, struct sim_report *report)
{
    struct sim_races *r = arena_new(arena, struct sim_races);
    r->arena = arena;
    r->report = report;
    r->blocks = (struct sim_blocks){.forget = forget_block, .report = report};
    r->observer = (struct sim_observer){.user = r,
                                        .later = true,
                                        .spreads = true,
                                        .launch = launch,
                                        .block_begins = begin_block,
                                        .block_ends = end_block,
                                        .access = race_access,
                                        .sync = race_sync,
                                        .async = race_async,
                                        .allocated = allocated};
    return r;
}

void sim_races_free(struct sim_races *r)
{
    forget_launch(r);
    while (r->free_copies) {
        struct race_copy *c = r->free_copies;
        r->free_copies = c->next;
        race_resize(r, c, sizeof *c, 0);
    }
    race_resize(r, r->sites, r->site_capacity * sizeof *r->sites, 0);
    r->sites = NULL;
    r->last_site = NULL;
    r->site_capacity = r->site_count = 0;
}

struct sim_observer *sim_races_observer(struct sim_races *r)
{
    return &r->observer;
}

size_t sim_races_memory(const struct sim_races *r)
{
    return r->memory;
}

size_t sim_races_most_memory(const struct sim_races *r)
{
    return r->most_memory;
}
