#include "sim_feed.h"

static void tell(bool went_on)
{
    (void)went_on;
}

void feed_start(struct feed *f, struct sim_observer *o, struct sim_report *report, int blocks,
                int threads)
{
    *f = (struct feed){.observer = o,
                       .report = report,
                       .threads = threads,
                       .warps = (threads + SIM_LANES - 1) / SIM_LANES,
                       .blocks = blocks,
                       .line = 1};
    const unsigned grid[3] = {(unsigned)blocks, 1, 1}, block[3] = {(unsigned)threads, 1, 1};
    struct sim_allocation_event memory = {.space = SIM_GLOBAL,
                                          .address = FEED_BASE,
                                          .bytes = FEED_GLOBAL,
                                          .name = "out",
                                          .initialised = true};
    if (o->allocated)
        tell(o->allocated(o->user, &memory));
    if (o->launch)
        tell(o->launch(o->user, NULL, grid, block));
    for (int b = 0; b < blocks; b++) {
        struct sim_block_event e = {b, f->warps, threads, FEED_SHARED, 0, b, 1, 0};
        if (o->block_begins)
            tell(o->block_begins(o->user, &e));
    }
}

void feed_end_block(struct feed *f, int block)
{
    struct sim_block_event e = {block, f->warps, f->threads, FEED_SHARED, 0, block, 1, 0};
    if (f->observer->block_ends && !f->ended[block])
        tell(f->observer->block_ends(f->observer->user, &e));
    f->ended[block] = true;
}

void feed_end(struct feed *f)
{
    for (int b = 0; b < f->blocks; b++)
        feed_end_block(f, b);
    if (f->observer->ended)
        tell(f->observer->ended(f->observer->user));
}

int64_t feed_found(const struct feed *f)
{
    int64_t count = 0;
    for (const struct sim_finding *x = f->report->first; x; x = x->next)
        count += x->count;
    return count + f->report->dropped;
}

struct sim_place feed_place(const struct feed *f, int block, int warp)
{
    return (struct sim_place){.block = block,
                              .warp = warp,
                              .warps = f->warps,
                              .threads = f->threads,
                              .where = {NULL, f->line, 1}};
}

/* Gives a whole warp's access its pattern, if each half is a row, or at one place. */
static void find_halves(struct sim_access *a)
{
    uint64_t stride = a->address[1] - a->address[0], apart = a->address[16] - a->address[0];
    bool fits = a->mask == UINT32_MAX && (!stride || stride == (uint64_t)a->bytes);
    for (uint64_t l = 0; l < SIM_LANES; l++)
        fits &= a->address[l] == a->address[0] + l % 16 * stride + l / 16 * apart;
    if (!fits || apart == 16 * stride)
        return;
    a->pattern = SIM_HALVES;
    a->stride = (uint32_t)stride;
    a->apart = (int64_t)apart;
}

void feed_full(struct feed *f, int block, int warp, uint32_t mask, enum sim_kind kind,
               const uint64_t *addresses, int bytes, int value, enum sim_order order,
               enum sim_scope scope, uint32_t group)
{
    uint8_t values[SIM_LANES][16];
    uint8_t *host[SIM_LANES] = {NULL};
    f->access = (struct sim_access){.at = feed_place(f, block, warp),
                                    .kind = kind,
                                    .order = order,
                                    .scope = scope,
                                    .mask = mask,
                                    .bytes = bytes,
                                    .group = group};
    for (int l = 0; l < SIM_LANES; l++) {
        if (!(mask >> l & 1))
            continue;
        bool global = addresses[l] >= FEED_BASE;
        f->access.space = global ? SIM_GLOBAL : SIM_SHARED;
        f->access.address[l] = addresses[l];
        host[l] = global ? f->global + (addresses[l] - FEED_BASE) : f->shared[block] + addresses[l];
        f->access.before[l] = host[l];
        memset(values[l], value, sizeof values[l]);
        if (kind & SIM_WRITE)
            f->access.value[l] = values[l];
    }
    find_halves(&f->access);
    f->line++;
    tell(f->observer->access(f->observer->user, &f->access));
    for (int l = 0; l < SIM_LANES && kind & SIM_WRITE; l++)
        if (mask >> l & 1)
            memcpy(host[l], values[l], (size_t)bytes);
}

void feed_access(struct feed *f, int block, int warp, uint32_t mask, enum sim_kind kind,
                 uint64_t address, int stride, int bytes, int value)
{
    uint64_t addresses[SIM_LANES];
    for (int l = 0; l < SIM_LANES; l++)
        addresses[l] = address + (uint64_t)(l * stride);
    feed_full(f, block, warp, mask, kind, addresses, bytes, value, SIM_WEAK, SIM_CTA, 0);
}

void feed_pages(struct feed *f, int block, int warp, uint64_t address)
{
    enum { READS = 96 / SIM_LANES, PAGE = 4096 };
    for (uint64_t i = 0; i < READS; i++) {
        struct sim_access a = {.at = feed_place(f, block, warp),
                               .space = SIM_GLOBAL,
                               .kind = SIM_READ,
                               .mask = UINT32_MAX,
                               .bytes = 4};
        for (uint64_t l = 0; l < SIM_LANES; l++)
            a.address[l] = address + (i * SIM_LANES + 7 * l % SIM_LANES) * PAGE;
        f->line++;
        tell(f->observer->access(f->observer->user, &a));
    }
}

static uint32_t all_lanes(const struct feed *f, int warp)
{
    int lanes = f->threads - warp * SIM_LANES;
    return lanes >= SIM_LANES ? UINT32_MAX : ((uint32_t)1 << lanes) - 1;
}

static void tell_sync(struct feed *f, struct sim_sync_event *e)
{
    f->line++;
    if (f->observer->sync)
        tell(f->observer->sync(f->observer->user, e));
}

void feed_arrive(struct feed *f, int block, int warp, uint32_t mask, int id, int expected,
                 bool waits)
{
    struct sim_sync_event e = {.at = feed_place(f, block, warp),
                               .kind = SIM_BARRIER_ARRIVE,
                               .mask = mask,
                               .id = id,
                               .expected = expected,
                               .waits = waits};
    tell_sync(f, &e);
}

void feed_leave(struct feed *f, int block, int warp, uint32_t mask, int id, int expected)
{
    struct sim_sync_event e = {.at = feed_place(f, block, warp),
                               .kind = SIM_BARRIER_LEAVE,
                               .mask = mask,
                               .id = id,
                               .expected = expected};
    tell_sync(f, &e);
}

void feed_barrier(struct feed *f, int block)
{
    uint32_t line = f->line;
    for (int pass = 0; pass < 2; pass++)
        for (int w = 0; w < f->warps; w++) {
            f->line = line;
            if (pass)
                feed_leave(f, block, w, all_lanes(f, w), 0, -1);
            else
                feed_arrive(f, block, w, all_lanes(f, w), 0, -1, true);
        }
}

void feed_sync(struct feed *f, int block, int warp, uint32_t mask, enum sim_sync kind,
               enum sim_order order, enum sim_scope scope)
{
    struct sim_sync_event e = {.at = feed_place(f, block, warp),
                               .kind = kind,
                               .mask = mask,
                               .members = mask,
                               .orders = true,
                               .order = order,
                               .scope = scope};
    tell_sync(f, &e);
}

void feed_mbarrier(struct feed *f, int block, int warp, uint32_t mask, enum sim_sync kind,
                   uint64_t address, int64_t count)
{
    struct sim_sync_event e = {
        .at = feed_place(f, block, warp), .kind = kind, .mask = mask, .count = count};
    for (int l = 0; l < SIM_LANES; l++)
        e.address[l] = address;
    tell_sync(f, &e);
}

void feed_async(struct feed *f, int block, int warp, uint32_t mask, enum sim_async kind,
                uint32_t group, int pending)
{
    struct sim_async_event e = {.at = feed_place(f, block, warp),
                                .kind = kind,
                                .mask = mask,
                                .group = group,
                                .pending = pending < 0 ? 0 : pending,
                                .all = pending < 0};
    f->line++;
    if (f->observer->async)
        tell(f->observer->async(f->observer->user, &e));
}
