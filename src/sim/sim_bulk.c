/* Landing of bulk copies, and their groups: PTX ISA, data-movement-and-conversion-instructions-
 * bulk-copy and -tensor-copy.
 *
 * A copy lands at once or, with `async_late`, when its thread waits for its group, when no thread
 * can go on, or after some instructions. Landing moves the bytes and, for a copy to shared memory,
 * counts them at the mbarrier. A copy may land after its thread has left, so the block has the
 * list. */
#include "sim/sim_bulk.h"

#include "sim/sim_mbarrier.h"

#include <string.h>

struct sim_bulks {
    VEC(struct sim_bulk) list; /* in the order of issue */
};
/* The groups of a warp's threads. */
struct sim_bulk_groups {
    uint32_t commits[SIM_LANES];
};

static struct sim_bulk_groups *groups_of(struct sim_warp *w)
{
    if (!w->bulk_groups)
        w->bulk_groups = arena_new(w->sim->arena, struct sim_bulk_groups);
    return w->bulk_groups;
}

/* --- pieces --- */

/* Gives the part of a row of `bytes` bytes, from byte `at` of the row on, that is inside: the
 * row begins at element `start` of `extent` elements of `size` bytes. */
static struct sim_piece inside(int64_t start, uint64_t extent, unsigned size, uint64_t at)
{
    int64_t first = start * (int64_t)size + (int64_t)at, end = (int64_t)(extent * size);
    int64_t from = first < 0 ? 0 : first, to = first + BULK_PIECE < end ? first + BULK_PIECE : end;
    if (to <= from)
        return (struct sim_piece){0};
    return (struct sim_piece){(uint64_t)from, (uint8_t)(from - first), (uint8_t)(to - from)};
}

struct sim_piece sim_bulk_piece(const struct sim_bulk *c, uint64_t i)
{
    const struct tensor_map *map = &c->map;
    if (!c->tensor)
        return (struct sim_piece){c->global + BULK_PIECE * i, 0, BULK_PIECE};
    unsigned size = (unsigned)dtype_size(map->type);
    uint64_t pieces = map->box[0] * size / BULK_PIECE, row = i / pieces;
    struct sim_piece p = inside(c->start[0], map->extents[0], size, i % pieces * BULK_PIECE);
    int64_t place[TENSOR_MAP_AXES];
    bool windows = SIM_TAKES_WINDOWS && c->window.pixels;
    if (windows)
        sim_window_place(c, row, place);
    for (int axis = 1; axis < map->rank; axis++) {
        uint32_t count = tensor_map_count(map, axis);
        int64_t at =
            windows ? place[axis] : c->start[axis] + (int64_t)(row % count * map->steps[axis]);
        row /= count;
        if (at < 0 || (uint64_t)at >= map->extents[axis])
            return (struct sim_piece){0};
        p.address += (uint64_t)at * map->strides[axis];
    }
    if (!p.bytes)
        return (struct sim_piece){0};
    p.address += map->address;
    return p;
}

/* --- landing --- */

/* Up to 32 pieces of a copy. Lane j has the j-th piece of shared memory, whose elements are those
 * of piece `number`. */
struct batch {
    const struct sim_bulk *c;
    uint32_t lanes;
    struct sim_piece piece[SIM_LANES];
    uint64_t shared[SIM_LANES];
    uint8_t *host[SIM_LANES]; /* of the shared bytes */
    uint8_t *global[SIM_LANES];
    uint8_t value[SIM_LANES][BULK_PIECE]; /* as in shared memory */
};

static uint8_t *global_at(struct sim_warp *w, const struct sim_bulk *c, const struct sim_piece *p)
{
    enum sim_space space;
    uint64_t told;
    if (!p->bytes)
        return NULL;
    return sim_resolve(w, c->lane, SIM_IN_GLOBAL, p->address, p->bytes, &space, &told);
}

/* Fills a batch with the pieces from `first` on. The swizzle moves pieces within rows of 128
 * bytes, and undoes itself: so the piece at a place of shared memory is that of the place's
 * swizzled address. */
static void take(struct batch *b, const struct sim_bulk *c, uint64_t first)
{
    uint64_t left = c->bytes / BULK_PIECE - first;
    uint32_t count = left < SIM_LANES ? (uint32_t)left : SIM_LANES;
    b->c = c;
    b->lanes = count == SIM_LANES ? SIM_ALL : (UINT32_C(1) << count) - 1;
    for (uint32_t j = 0; j < count; j++) {
        uint64_t at = c->shared.offset + BULK_PIECE * (first + j);
        uint64_t piece = (sim_bulk_place(c, first + j) - c->shared.offset) / BULK_PIECE;
        b->shared[j] = at;
        b->host[j] = c->shared.block->shared + at;
        b->piece[j] = sim_bulk_piece(c, piece);
        b->global[j] = global_at(c->warp, c, &b->piece[j]);
    }
}

static int64_t away(const struct sim_bulk *c, const struct sim_block *b)
{
    return b->number == c->at.block ? 0 : b->number + 1;
}

static void begin_access(const struct sim_bulk *c, struct sim_access *a, enum sim_space space,
                         enum sim_kind kind)
{
    memset(a, 0, sizeof *a);
    a->at = c->at;
    a->space = space;
    a->kind = kind;
    a->group = c->number;
    a->past_l1 = true;
}

static bool tell_shared(struct batch *b, enum sim_kind kind)
{
    struct sim_access a;
    begin_access(b->c, &a, SIM_SHARED, kind);
    a.away = away(b->c, b->c->shared.block);
    a.bytes = BULK_PIECE;
    a.mask = b->lanes;
    a.pattern = b->lanes == SIM_ALL ? SIM_LINEAR : SIM_UNSORTED;
    a.stride = BULK_PIECE;
    for (uint32_t m = b->lanes; m; m &= m - 1) {
        int j = __builtin_ctz(m);
        a.address[j] = b->shared[j];
        a.before[j] = b->host[j];
        a.value[j] = kind == SIM_WRITE ? b->value[j] : NULL;
    }
    return sim_notify_access(b->c->warp, &a);
}

/* Tells of the global side: one access for each number of bytes. */
static bool tell_global(struct batch *b, enum sim_kind kind)
{
    struct sim_access a;
    begin_access(b->c, &a, SIM_GLOBAL, kind);
    a.across = b->shared;
    for (uint32_t rest = b->lanes; rest; rest &= ~a.mask) {
        uint8_t bytes = b->piece[__builtin_ctz(rest)].bytes;
        a.mask = 0;
        a.bytes = bytes;
        for (uint32_t m = rest; m; m &= m - 1) {
            int j = __builtin_ctz(m);
            const struct sim_piece *p = &b->piece[j];
            if (p->bytes != bytes)
                continue;
            a.mask |= m & -m;
            a.address[j] = p->address;
            a.before[j] = b->global[j];
            a.value[j] = kind == SIM_WRITE ? b->value[j] + p->skip : NULL;
        }
        if (bytes && !sim_notify_access(b->c->warp, &a))
            return false;
    }
    return true;
}

static bool land_in(struct batch *b)
{
    for (uint32_t m = b->lanes; m; m &= m - 1) {
        int j = __builtin_ctz(m);
        memset(b->value[j], 0, BULK_PIECE);
        if (b->global[j])
            memcpy(b->value[j] + b->piece[j].skip, b->global[j], b->piece[j].bytes);
    }
    if (b->c->warp->observed && (!tell_global(b, SIM_READ) || !tell_shared(b, SIM_WRITE)))
        return false;
    for (uint32_t m = b->lanes; m; m &= m - 1)
        memcpy(b->host[__builtin_ctz(m)], b->value[__builtin_ctz(m)], BULK_PIECE);
    return true;
}

static bool land_out(struct batch *b)
{
    for (uint32_t m = b->lanes; m; m &= m - 1)
        memcpy(b->value[__builtin_ctz(m)], b->host[__builtin_ctz(m)], BULK_PIECE);
    if (b->c->warp->observed && (!tell_shared(b, SIM_READ) || !tell_global(b, SIM_WRITE)))
        return false;
    for (uint32_t m = b->lanes; m; m &= m - 1) {
        int j = __builtin_ctz(m);
        if (b->global[j])
            memcpy(b->global[j], b->value[j] + b->piece[j].skip, b->piece[j].bytes);
    }
    return true;
}

/* Lands a copy between the shared memories of two blocks: `from` is read as if it were global. */
static bool land_across(const struct sim_bulk *c, uint64_t first)
{
    struct batch b, source;
    struct sim_bulk read = *c;
    read.shared = c->from;
    take(&b, c, first);
    take(&source, &read, first);
    for (uint32_t m = b.lanes; m; m &= m - 1)
        memcpy(b.value[__builtin_ctz(m)], source.host[__builtin_ctz(m)], BULK_PIECE);
    if (c->warp->observed && (!tell_shared(&source, SIM_READ) || !tell_shared(&b, SIM_WRITE)))
        return false;
    for (uint32_t m = b.lanes; m; m &= m - 1)
        memcpy(b.host[__builtin_ctz(m)], b.value[__builtin_ctz(m)], BULK_PIECE);
    return true;
}

static bool tell(const struct sim_bulk *c, enum sim_async kind)
{
    struct sim_async_event event = {.at = c->at,
                                    .kind = kind,
                                    .mask = UINT32_C(1) << c->lane,
                                    .group = c->number,
                                    .agent = c->agent};
    if (c->agent != SIM_COPY_OUT) {
        event.mbarrier = c->mbarrier.offset;
        event.mbarrier_block = c->mbarrier.block->number;
    }
    return !c->warp->observed || sim_notify_async(c->warp, &event);
}

static bool land(const struct sim_bulk *c)
{
    struct batch b;
    bool fine = true;
    for (uint64_t i = 0; i < c->bytes / BULK_PIECE && fine; i += SIM_LANES) {
        if (c->from.block) {
            fine = land_across(c, i);
            continue;
        }
        take(&b, c, i);
        fine = c->agent == SIM_COPY_OUT ? land_out(&b) : land_in(&b);
    }
    c->warp->sim->changes++;
    if (fine && c->agent != SIM_COPY_OUT)
        fine = sim_mbarrier_complete(c->warp, c->op, &c->at, c->lane, c->mbarrier.block,
                                     c->mbarrier.offset, (int64_t)c->bytes, c->number);
    return fine && tell(c, SIM_BULK_LAND);
}

/* Lands the copies of a block for which `due` returns true. */
static bool land_those(struct sim_block *block, bool (*due)(const struct sim_bulk *, const void *),
                       const void *of, bool *any)
{
    struct sim_bulks *bulks = block->bulks;
    size_t kept = 0, count = bulks ? bulks->list.count : 0;
    bool fine = true;
    for (size_t i = 0; i < count; i++) {
        struct sim_bulk c = bulks->list.data[i];
        if (fine && due(&c, of)) {
            *any = true;
            fine = land(&c);
        } else {
            bulks->list.data[kept++] = c;
        }
    }
    if (bulks)
        bulks->list.count = kept;
    return fine;
}

static bool always(const struct sim_bulk *c, const void *of)
{
    (void)c, (void)of;
    return true;
}

bool sim_bulks_land_all(struct sim_block *b)
{
    bool any = false;
    land_those(b, always, NULL, &any);
    return any;
}

static bool is_this(const struct sim_bulk *c, const void *number)
{
    return c->number == *(const uint32_t *)number;
}

static bool is_at(const struct sim_bulk *c, const void *block)
{
    return c->shared.block == block || c->mbarrier.block == block || c->from.block == block;
}

void sim_bulks_land_at(struct sim_block *b, const struct sim_block *to)
{
    bool any = false;
    land_those(b, is_at, to, &any);
}

bool sim_bulks_land_one(struct sim *sim)
{
    const struct sim_bulk *first = NULL;
    struct sim_block *of = NULL;
    uint32_t count = 0, number;
    bool any = false;
    for (struct sim_block *b = sim->resident; b; b = b->next)
        for (size_t i = 0; b->bulks && i < b->bulks->list.count; i++) {
            const struct sim_bulk *c = &b->bulks->list.data[i];
            bool before = !first || c->number < first->number;
            if (sim->launch->options.seed ? sim_random(sim, ++count) == 0 : before) {
                first = c;
                of = b;
            }
        }
    if (!first)
        return false;
    number = first->number;
    land_those(of, is_this, &number, &any);
    return true;
}

static bool is_old(const struct sim_bulk *c, const void *sim)
{
    const struct sim *s = sim;
    return s->steps - c->issued > s->land_after;
}

bool sim_bulks_land_due(struct sim_block *b)
{
    bool any = false;
    return !b->bulks || !b->bulks->list.count || land_those(b, is_old, b->warps[0].sim, &any);
}

void sim_bulks_forget(struct sim_block *b)
{
    if (b->bulks)
        b->bulks->list.count = 0;
    for (int i = 0; i < b->warp_count; i++)
        if (b->warps[i].bulk_groups)
            memset(b->warps[i].bulk_groups, 0, sizeof *b->warps[i].bulk_groups);
}

/* --- issuing, groups --- */

bool sim_bulk_issue(struct sim_warp *w, struct sim_bulk *c)
{
    struct sim *sim = w->sim;
    c->number = ++sim->copies;
    c->group = c->agent == SIM_COPY_OUT ? groups_of(w)->commits[c->lane] : 0;
    c->issued = sim->steps;
    if (!tell(c, SIM_BULK_ISSUE))
        return false;
    if (!sim->late)
        return land(c);
    if (!w->block->bulks)
        w->block->bulks = arena_new(sim->arena, struct sim_bulks);
    vec_push(sim->arena, &w->block->bulks->list, *c);
    return true;
}

static bool tell_groups(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                        enum sim_async kind)
{
    struct sim_async_event event = {.kind = kind,
                                    .mask = mask,
                                    .agent = SIM_COPY_OUT,
                                    .pending = (int)op->imm,
                                    .reads = op->small};
    sim_place_of(w, op, &event.at);
    return !w->observed || sim_notify_async(w, &event);
}

static bool commit(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_bulk_groups *g = groups_of(w);
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        g->commits[__builtin_ctz(rest)]++;
    return tell_groups(w, op, mask, SIM_BULK_COMMIT);
}

struct waited {
    const struct sim_warp *w;
    uint32_t mask;
    uint32_t open;
};

static bool is_waited_for(const struct sim_bulk *c, const void *of)
{
    const struct waited *x = of;
    return c->agent == SIM_COPY_OUT && c->warp == x->w && x->mask >> c->lane & 1 &&
           (uint64_t)c->group + x->open < x->w->bulk_groups->commits[c->lane];
}

/* op->imm: groups that may be under way; op->small: .read. A copy lands as a whole: its reads and
 * its writes may be done at any time, so the writes may come early. */
static bool wait(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct waited x = {w, mask, (uint32_t)op->imm};
    bool any = false;
    groups_of(w);
    return land_those(w->block, is_waited_for, &x, &any) && tell_groups(w, op, mask, SIM_BULK_WAIT);
}

bool sim_choose_bulk(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    (void)d;
    switch ((int)ins->op) {
    case PTX_CP_ASYNC_BULK_COMMIT_GROUP: op->run = commit; return true;
    case PTX_CP_ASYNC_BULK_WAIT_GROUP:
        op->run = wait;
        op->imm = (int64_t)ins->operands[0].bits;
        op->small = ptx_has(ins, MOD_READ);
        return true;
    default: return false;
    }
}
