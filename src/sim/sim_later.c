/* Observers that hear later. The machine needs no answer from the checks of races and from the
 * counters, so they can work on a thread of their own. The machine writes events into chunks; the
 * second thread tells the observers of a full chunk's events, in their order. So the observers hear
 * the same events in the same order as without the thread, whatever the blocks do.
 *
 * Events are made in a stage that stays in the cache. Full stages are written to the chunk past the
 * caches: a line that the other thread has read is slow to get back. With this, a product by tiles
 * takes two thirds of the time.
 *
 * Memory may change before the observers hear of an access, so the event has its bytes. Most accesses
 * are reads of shared memory that nothing has written since the last barrier of the whole block.
 * They race with no earlier write, so no report needs their bytes, and the event leaves them out.
 *
 * The thread starts when a launch has run for a while, and ends with it. */
#include "sim/sim_machine.h"

#include "base/platform.h"

#include <stddef.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { CHUNK = 1 << 18, CHUNKS = 4, STAGE = 1 << 12, HALF = SIM_LANES / 2 };
enum { LATER_FROM = 1 << 15 }; /* some milliseconds */

enum kind { PLACE, READ_ROW, WRITE_ROW, ACCESS, SYNC, ASYNC, BEGINS, ENDS };

/* The head of an event in a chunk. An access has its members up to `address`, then its addresses,
 * for a copy those of its other side, and the bytes of lanes. */
struct event {
    uint16_t size; /* with the head, in units */
    uint8_t kind;
    uint32_t before, value; /* an access: lanes whose bytes follow */
};
enum { UNIT = 16 };
enum { ACCESS_BYTES = offsetof(struct sim_access, address) };
enum { SYNC_BYTES = offsetof(struct sim_sync_event, address) };

/* A sparse access of the warp that the last PLACE names. The bytes of its lanes may follow. */
struct row {
    uint16_t size;
    uint8_t kind, way;      /* way: pattern | scope << 2 | strided << 4 | space << 5 */
    uint8_t bytes, element; /* bytes | HAS_BYTES */
    uint16_t length;        /* of the place in the module's text */
    const struct ptx_instruction *ins;
    uint64_t address;
    int32_t apart;
    uint32_t offset; /* of the place in the module's text */
};
enum { HAS_BYTES = 0x80 };

struct chunk {
    struct platform_job job;
    struct sim *sim;
    size_t used;
    _Alignas(UNIT) uint8_t events[CHUNK];
};

struct sim_later {
    struct arena *arena; /* of the observers */
    int64_t from;        /* instructions of warps after which the thread starts */
    bool failed;         /* memory ran out */
    struct sim_place heard;
    char apart[64]; /* the second thread writes the members above, the machine's those below */
    struct platform_queue *jobs; /* NULL: there is no thread */
    void *machine;               /* the machine's thread */
    bool refused;                /* the system gave no thread */
    int launches;                /* that had the thread */
    bool sending;                /* without threads, a job runs when it is added */
    struct sim_place sent;
    struct chunk *chunk[CHUNKS], *at;
    int next;
    size_t staged;
    _Alignas(UNIT) uint8_t stage[STAGE];
};

/* --- on the second thread --- */

bool sim_notify_block(const struct sim *sim, const struct sim_block_event *event, bool begins,
                      bool later)
{
    for (struct sim_observer *o = sim->observers; o; o = o->next) {
        bool (*tell)(void *, const struct sim_block_event *) =
            begins ? o->block_begins : o->block_ends;
        if (o->later == later && tell && !tell(o->user, event))
            return false;
    }
    return true;
}

static bool hears(const struct sim_observer *o, int64_t block)
{
    return !o->only || *o->only < 0 || *o->only == block;
}

#define HEAR(list, hook, event)                                                                    \
    for (size_t i = 0; i < sim->list.later.count; i++)                                             \
        if (hears(sim->list.later.data[i], (event)->at.block))                                     \
    sim->list.later.data[i]->hook(sim->list.later.data[i]->user, event)

static void tell_access(const struct sim *sim, const struct sim_access *a)
{
    for (size_t i = 0; i < sim->on_access.later.count; i++) {
        const struct sim_observer *o = sim->on_access.later.data[i];
        if (!hears(o, a->at.block))
            continue;
        if (!o->spreads)
            sim_spread(a);
        o->access(o->user, a);
    }
}

static void hear_row(const struct sim *sim, const struct row *r)
{
    const bool strided = r->way >> 4 & 1, has_bytes = r->bytes & HAS_BYTES;
    const int each = r->bytes & ~HAS_BYTES;
    const size_t half = (size_t)each * (strided ? HALF : 1);
    struct sim_access a;
    a.at = sim->later->heard;
    a.at.ins = r->ins;
    a.at.where.offset = r->offset;
    a.at.where.length = r->length;
    a.space = (enum sim_space)(r->way >> 5);
    a.kind = r->kind == READ_ROW ? SIM_READ : SIM_WRITE;
    a.order = SIM_WEAK;
    a.scope = (enum sim_scope)(r->way >> 2 & 3);
    a.matrix = SIM_LANEWISE;
    a.matrices = 0;
    a.pattern = (enum sim_pattern)(r->way & 3);
    a.stride = strided ? (uint32_t)each : 0;
    a.apart = r->apart;
    a.mask = SIM_ALL;
    a.bytes = each;
    a.element = r->element;
    a.group = 0;
    a.away = 0;
    a.across = NULL;
    a.undefined = NULL;
    a.past_l1 = false;
    a.sparse = true;
    a.address[0] = r->address;
    a.address[HALF] = r->address + (uint64_t)(int64_t)r->apart;
    a.before[0] = has_bytes ? (const uint8_t *)(r + 1) : NULL;
    a.before[HALF] = has_bytes ? a.before[0] + half : NULL;
    a.value[0] = a.kind == SIM_WRITE ? a.before[HALF] + half : NULL;
    tell_access(sim, &a);
}

static size_t bytes_of_lane(const struct sim_access *a)
{
    return a->matrix == SIM_LANEWISE ? (size_t)a->bytes : 16;
}

/* Points lanes to their bytes, which follow each other. Returns the end of these. */
static const uint8_t *point(const uint8_t *lane[SIM_LANES], uint32_t mask, const uint8_t *bytes,
                            size_t each)
{
    for (int i = 0; i < SIM_LANES; i++) {
        lane[i] = mask >> i & 1 ? bytes : NULL;
        bytes += mask >> i & 1 ? each : 0;
    }
    return bytes;
}

static void hear_access(const struct sim *sim, const struct event *e)
{
    struct sim_access a;
    uint64_t across[SIM_LANES];
    const uint8_t *from = (const uint8_t *)(e + 1);
    memcpy(&a, from, ACCESS_BYTES);
    from += ACCESS_BYTES;
    memcpy(a.address, from, sizeof a.address);
    from += sizeof a.address;
    if (a.across) {
        a.across = memcpy(across, from, sizeof a.address);
        from += sizeof a.address;
    }
    from = point(a.before, e->before, from, bytes_of_lane(&a));
    point(a.value, e->value, from, bytes_of_lane(&a));
    tell_access(sim, &a);
}

static void hear_sync(const struct sim *sim, const struct event *e)
{
    struct sim_sync_event event;
    memcpy(&event, e + 1, e->before);
    HEAR(on_sync, sync, &event);
}

static void hear_async(const struct sim *sim, const struct event *e)
{
    struct sim_async_event event;
    memcpy(&event, e + 1, sizeof event);
    event.bytes = event.bytes ? (const uint8_t *)(e + 1) + sizeof event : NULL;
    HEAR(on_async, async, &event);
}

static void hear_block(const struct sim *sim, const struct event *e)
{
    struct sim_block_event event;
    memcpy(&event, e + 1, sizeof event);
    sim_notify_block(sim, &event, e->kind == BEGINS, true);
}

static void hear(const struct sim *sim, const struct event *e)
{
    switch ((enum kind)e->kind) {
    case PLACE: memcpy(&sim->later->heard, e + 1, sizeof sim->later->heard); break;
    case READ_ROW:
    case WRITE_ROW: hear_row(sim, (const struct row *)(const void *)e); break;
    case ACCESS: hear_access(sim, e); break;
    case SYNC: hear_sync(sim, e); break;
    case ASYNC: hear_async(sim, e); break;
    case BEGINS:
    case ENDS: hear_block(sim, e); break;
    }
}

static void hear_chunk(void *user)
{
    const struct chunk *c = user;
    struct sim_later *l = c->sim->later;
    jmp_buf here, *outer = l->arena->out_of_memory;
    if (l->failed)
        return;
    l->arena->out_of_memory = &here;
    if (setjmp(here)) {
        l->failed = true;
        l->arena->out_of_memory = outer;
        return;
    }
    for (size_t at = 0; at < c->used;) {
        const struct event *e = (const struct event *)(const void *)(c->events + at);
        hear(c->sim, e);
        at += (size_t)e->size * UNIT;
    }
    l->arena->out_of_memory = outer;
}

/* --- on the machine's thread --- */

void sim_hear_later(struct sim *sim, struct arena *arena, int threads)
{
    if (threads == 1 || (!threads && platform_allowed_cores() == 1))
        return;
    sim->later = arena_new(sim->arena, struct sim_later);
    sim->later->arena = arena;
    sim->later->from = threads ? 0 : LATER_FROM;
}

int sim_later_launches(const struct sim *sim)
{
    return sim->later ? sim->later->launches : 0;
}

/* Takes the next chunk, when the second thread is done with it. */
static void next_chunk(struct sim *sim)
{
    struct sim_later *l = sim->later;
    struct chunk **c = &l->chunk[l->next++ % CHUNKS];
    if (*c) {
        platform_queue_wait(l->jobs, &(*c)->job);
    } else {
        *c = arena_room(sim->arena, sizeof **c);
        (*c)->job = (struct platform_job){.run = hear_chunk, .user = *c};
        (*c)->sim = sim;
    }
    (*c)->used = 0;
    l->at = *c;
}

void sim_later_begin(struct sim *sim)
{
    struct sim_later *l = sim->later;
    if (!l || l->jobs || l->refused || sim->steps < l->from)
        return;
    l->jobs = platform_queue_new(sim->arena->allocator);
    l->refused = !l->jobs;
    if (l->refused)
        return;
    l->launches++;
    l->machine = platform_thread();
    l->failed = false;
    l->next = 0;
    l->staged = 0;
    l->sent = (struct sim_place){.warp = -1};
    next_chunk(sim);
    for (struct sim_block *b = sim->resident; b; b = b->next)
        b->written_later = true; /* its events so far are not known here */
    sim->hears_later = true;
}

static void send(struct sim *sim)
{
    struct sim_later *l = sim->later;
    l->sending = true;
    platform_queue_add(l->jobs, &l->at->job);
    l->sending = false;
    next_chunk(sim);
}

/* Moves the staged events to the chunk. */
static void move(struct sim *sim)
{
    struct sim_later *l = sim->later;
    if (l->staged > CHUNK - l->at->used)
        send(sim);
    uint8_t *to = l->at->events + l->at->used;
#ifdef __SSE2__
    for (size_t i = 0; i < l->staged; i += UNIT)
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         *(const __m128i *)(const void *)(l->stage + i));
    _mm_sfence();
#else
    memcpy(to, l->stage, l->staged);
#endif
    l->at->used += l->staged;
    l->staged = 0;
}

void sim_settle(struct sim *sim)
{
    struct sim_later *l = sim ? sim->later : NULL;
    if (!l || !l->jobs || platform_thread() != l->machine || l->sending)
        return;
    move(sim);
    if (l->at->used)
        send(sim);
    platform_queue_wait(l->jobs, NULL);
    if (l->failed)
        longjmp(*l->arena->out_of_memory, 1);
}

void sim_later_end(struct sim *sim)
{
    if (!sim || !sim->later)
        return;
    platform_queue_free(sim->later->jobs);
    sim->later->jobs = NULL;
    sim->later->refused = false;
    sim->hears_later = false;
}

/* Returns the head of a new event of `bytes` bytes in all; NULL: the stage has no room for it. */
static struct event *add(struct sim *sim, enum kind kind, size_t bytes)
{
    struct sim_later *l = sim->later;
    bytes = (bytes + UNIT - 1) & ~(size_t)(UNIT - 1);
    if (bytes > STAGE)
        return NULL;
    if (bytes > STAGE - l->staged)
        move(sim);
    struct event *e = (struct event *)(void *)(l->stage + l->staged);
    e->size = (uint16_t)(bytes / UNIT);
    e->kind = (uint8_t)kind;
    l->staged += bytes;
    return e;
}

static uint8_t *copy(uint8_t *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

static void add_copy(struct sim *sim, enum kind kind, const void *from, size_t bytes)
{
    memcpy(add(sim, kind, sizeof(struct event) + bytes) + 1, from, bytes);
}

/* Makes the place that of the next rows. */
static inline void set_place(struct sim_later *l, const struct sim_warp *w, const struct sim_op *op)
{
    const struct ptx_function *function = w->frame->code->function;
    if (l->sent.block == w->block->number && l->sent.warp == w->number &&
        l->sent.function == function && l->sent.where.source == op->where.source)
        return;
    sim_place_of(w, op, &l->sent);
    add_copy(w->sim, PLACE, &l->sent, sizeof l->sent);
}

/* Notes an access. Returns true if a report may need its bytes. */
static inline bool needs_bytes(struct sim_block *b, enum sim_space space, bool reads, bool apart)
{
    if (space != SIM_SHARED)
        return true;
    if (reads && !apart)
        return !b->unwritten;
    b->written_later |= apart;
    b->unwritten = false;
    return true;
}

/* Copies the bytes of a half of the lanes. */
static inline uint8_t *copy_half(uint8_t *to, const uint8_t *from, size_t bytes)
{
    if (bytes == HALF * sizeof(float))
        memcpy(to, from, HALF * sizeof(float));
    else
        memcpy(to, from, bytes);
    return to + bytes;
}

bool sim_later_row(struct sim_warp *w, const struct sim_op *op, const struct sim_row *row)
{
    struct sim_later *l = w->sim->later;
    const size_t each = op->bytes, half = row->strided ? HALF * each : each;
    const size_t values = row->values ? SIM_LANES * each : 0;
    if (row->space > SIM_LOCAL || (w->sim->alike && w->block->unheard))
        return true;
    if (op->where.length > UINT16_MAX || row->apart != (int32_t)row->apart)
        return false;
    const bool has_bytes = needs_bytes(w->block, row->space, !values, false);
    set_place(l, w, op);
    const enum kind kind = values ? WRITE_ROW : READ_ROW;
    struct row *r =
        (struct row *)(void *)add(w->sim, kind, sizeof *r + (has_bytes ? 2 * half + values : 0));
    const enum sim_pattern pattern = row->apart != (int64_t)(row->strided ? half : 0) ? SIM_HALVES
                                     : row->strided                                   ? SIM_LINEAR
                                                                                      : SIM_UNIFORM;
    r->way = (uint8_t)((unsigned)pattern | (unsigned)op->scope << 2 | (unsigned)row->strided << 4 |
                       (unsigned)row->space << 5);
    r->bytes = (uint8_t)(each | (has_bytes ? HAS_BYTES : 0));
    r->element = (uint8_t)op->small;
    r->length = (uint16_t)op->where.length;
    r->ins = op->ins;
    r->address = row->first;
    r->apart = (int32_t)row->apart;
    r->offset = op->where.offset;
    if (!has_bytes)
        return true;
    uint8_t *to = copy_half((uint8_t *)(r + 1), row->host, half);
    to = copy_half(to, row->host + row->apart, half);
    if (values)
        memcpy(to, row->values, values);
    return true;
}

static uint32_t lanes_with(const uint8_t *const lane[SIM_LANES], uint32_t mask)
{
    for (uint32_t m = mask; m; m &= m - 1)
        if (!lane[__builtin_ctz(m)])
            mask &= ~(m & -m);
    return mask;
}

static uint8_t *copy_lanes(uint8_t *to, const uint8_t *const lane[SIM_LANES], uint32_t mask,
                           size_t each)
{
    for (; mask; mask &= mask - 1)
        to = copy(to, lane[__builtin_ctz(mask)], each);
    return to;
}

static void add_access(struct sim *sim, const struct sim_access *a, bool has_bytes)
{
    const size_t each = bytes_of_lane(a), rows = sizeof a->address * (a->across ? 2 : 1);
    const uint32_t before = has_bytes ? lanes_with(a->before, a->mask) : 0;
    const uint32_t value = a->kind & SIM_WRITE ? lanes_with(a->value, a->mask) : 0;
    const size_t lanes = (size_t)__builtin_popcount(before) + (size_t)__builtin_popcount(value);
    struct event *e = add(sim, ACCESS, sizeof *e + ACCESS_BYTES + rows + lanes * each);
    if (!e) { /* the second thread has nothing to do meanwhile */
        sim_settle(sim);
        tell_access(sim, a);
        return;
    }
    e->before = before;
    e->value = value;
    uint8_t *to = copy((uint8_t *)(e + 1), a, ACCESS_BYTES);
    to = copy(to, a->address, sizeof a->address);
    if (a->across)
        to = copy(to, a->across, sizeof a->address);
    to = copy_lanes(to, a->before, before, each);
    copy_lanes(to, a->value, value, each);
}

void sim_later_access(struct sim_warp *w, const struct sim_access *a)
{
    if (a->space > SIM_LOCAL)
        return;
    bool has_bytes = needs_bytes(w->block, a->space, a->kind == SIM_READ, a->group || a->away);
    sim_spread(a);
    add_access(w->sim, a, has_bytes);
}

void sim_later_sync(struct sim_warp *w, const struct sim_sync_event *e)
{
    const bool with_addresses = e->kind >= SIM_MBARRIER_INIT;
    struct sim_block *b = w->block;
    if (e->kind == SIM_BARRIER_LEAVE && e->expected == -1)
        b->unwritten = !b->written_later && b->cluster->count == 1;
    const size_t bytes = SYNC_BYTES + (with_addresses ? sizeof e->address : 0);
    struct event *to = add(w->sim, SYNC, sizeof *to + bytes);
    to->before = (uint32_t)bytes;
    uint8_t *end = copy((uint8_t *)(to + 1), e, SYNC_BYTES);
    if (with_addresses)
        memcpy(end, e->address, sizeof e->address);
}

void sim_later_async(struct sim_warp *w, const struct sim_async_event *e)
{
    struct event *to = add(w->sim, ASYNC, sizeof *to + sizeof *e + SIM_LANES);
    uint8_t *bytes = copy((uint8_t *)(to + 1), e, sizeof *e);
    if (e->bytes)
        memcpy(bytes, e->bytes, SIM_LANES);
}

void sim_later_block(struct sim *sim, const struct sim_block_event *e, bool begins)
{
    add_copy(sim, begins ? BEGINS : ENDS, e, sizeof *e);
}
