/* Valid bits as in Memcheck (Seward, Nethercote, "Using Valgrind to Detect Undefined Value
 * Errors with Bit-Precision", USENIX 2005), by byte. The machine follows loaded values
 * (sim_undefined.c), and an undefined one is reported at its use: a compiler may load a value
 * before it knows that it needs it. Reads by other instructions are reported at the read. A
 * store is a use if its value was computed, or if it writes to an array of values, which the
 * host will read. Other stores are copies, perhaps of structs with padding: the bytes then
 * become undefined at the store's address. Memory that is wholly valid is not checked any more. */
#include "sim/sim_memcheck.h"

#include "sim/sim_blocks.h"
#include "sim/sim_faults.h"
#include "sim/sim_heap.h"
#include "sim/sim_valid_bits.h"

/* Global memory that the host has not written, or to which undefined bytes were copied. */
struct region {
    uint64_t address;
    struct sim_valid_bits bits;
};

struct pending {
    uint32_t commits[SIM_LANES], waited[SIM_LANES]; /* groups; below `waited` they are done */
    uint32_t last[SIM_LANES]; /* group of the latest copy + 1; 0: none is under way */
    struct sim_place at;      /* of the latest copy */
};

/* 8 bytes that are an mbarrier. */
struct held {
    struct held *next;
    uint64_t address;
    struct sim_place at; /* of its init */
    uint32_t mask;
};
enum { MBARRIER_BYTES = 8 };

struct checked_block {
    struct sim_watched of;
    int warps;
    struct sim_valid_bits shared;
    struct sim_valid_bits *local; /* by thread; NULL: none so far */
    struct pending *pending;      /* by warp: of cp.async, of bulk copies; NULL: none so far */
    struct held *mbarriers;
    struct sim_valid_bits
        held; /* for every 8 bytes of shared memory: true if they are an mbarrier */
};

enum { LOCAL_BYTES = 1 << 20 };

struct sim_memcheck {
    struct sim_blocks blocks;
    struct arena *arena;
    struct sim_report *report;
    struct sim_observer observer;
    struct region *regions;
    size_t region_count, region_room;
    size_t last_region;
    struct number_map region_at;      /* by the number of the allocation: index + 1; 0: none */
    struct sim_valid_bits parameters; /* of this launch; without bytes: all are valid */
};

/* --- blocks, regions --- */

static struct region *region_of(struct sim_memcheck *c, uint64_t address)
{
    if (!c->region_count)
        return NULL;
    struct region *r = &c->regions[c->last_region];
    if (address - r->address < r->bits.bytes)
        return r;
    const struct number_entry *at = number_map_find(&c->region_at, address / SIM_MOST_BYTES);
    r = at && at->value ? &c->regions[at->value - 1] : NULL;
    if (!r || address - r->address >= r->bits.bytes)
        return NULL;
    c->last_region = (size_t)at->value - 1;
    return r;
}

static void set_index(struct sim_memcheck *c, uint64_t address, uint64_t index)
{
    bool added;
    number_map_entry(c->arena, &c->region_at, address / SIM_MOST_BYTES, &added)->value = index;
}

/* Removes a region; the last one takes its place. */
static void remove_region(struct sim_memcheck *c, struct region *r)
{
    set_index(c, r->address, 0);
    sim_valid_free(c->arena, &r->bits);
    c->last_region = 0;
    const struct region *last = &c->regions[--c->region_count];
    if (r == last)
        return;
    *r = *last;
    set_index(c, r->address, (uint64_t)(r - c->regions) + 1);
}

/* Returns the bits of a lane's access and the offset in them; NULL: nothing to check. */
static struct sim_valid_bits *bits_of(struct sim_memcheck *c, struct checked_block *b,
                                      const struct sim_access *a, int lane, uint64_t *offset)
{
    *offset = a->address[lane];
    if (a->space == SIM_GLOBAL) {
        struct region *r = region_of(c, a->address[lane]);
        if (!r)
            return NULL;
        *offset -= r->address;
        return &r->bits;
    }
    if (a->space == SIM_PARAM)
        return &c->parameters;
    if (!b)
        return NULL;
    if (a->space == SIM_SHARED)
        return &b->shared;
    size_t threads = (size_t)b->warps * SIM_LANES;
    if (!b->local)
        b->local = sim_heap_new(c->arena, threads * sizeof *b->local);
    struct sim_valid_bits *local = &b->local[a->at.warp * SIM_LANES + lane];
    local->bytes = LOCAL_BYTES;
    return local;
}

static struct region *add_region(struct sim_memcheck *c, const struct sim_allocation_event *e)
{
    if (c->region_count == c->region_room) {
        size_t room = c->region_room ? 2 * c->region_room : 8;
        c->regions = sim_heap_resize(c->arena, c->regions, c->region_room * sizeof *c->regions,
                                     room * sizeof *c->regions);
        c->region_room = room;
    }
    struct region *made = &c->regions[c->region_count++];
    *made = (struct region){e->address, {.bytes = e->bytes}};
    set_index(c, e->address, c->region_count);
    return made;
}

/* --- findings --- */

static const char *never_written(struct sim_memcheck *c, const struct sim_place *place,
                                 enum sim_space space, uint64_t at, bool copied)
{
    const char *what = space == SIM_LOCAL || copied ? "given a value" : "written";
    const char *name = sim_report_memory_name(c->report, space, at); /* of local memory: none */
    const char *element = sim_report_element(c->report, space, at, sim_value_bytes(place->ins));
    if (element && space == SIM_PARAM)
        return arena_printf(c->arena, "%s is read, and the launch gives it no value", element);
    if (element)
        return arena_printf(c->arena, "%s in %s memory is read and was never %s", element,
                            sim_space_name(space), what);
    return arena_printf(c->arena, "byte 0x%llx of %s memory%s%s%s is read and was never %s",
                        (unsigned long long)at, sim_space_name(space), name ? " ('" : "",
                        name ? name : "", name ? "')" : "", what);
}

static struct sim_finding *read_invalid(struct sim_memcheck *c, const struct sim_access *a,
                                        int lane, int byte, bool copied)
{
    struct sim_finding f = {.kind = SIM_FOUND_UNINITIALISED, .access_count = 1};
    f.message = never_written(c, &a->at, a->space, a->address[lane] + (uint64_t)byte, copied);
    f.access[0] = (struct sim_finding_access){.at = a->at,
                                              .lane = lane,
                                              .does = a->group ? "asynchronous read" : "read",
                                              .memory = true,
                                              .space = a->space,
                                              .address = a->address[lane],
                                              .bytes = a->bytes};
    return sim_report_add(c->report, &f);
}

/* Reports the use of an undefined value. */
static bool used(void *user, const struct sim_use *use)
{
    struct sim_memcheck *c = user;
    struct sim_origin *o = use->origin;
    int lane = o->lanes >> use->lane & 1 ? use->lane : __builtin_ctz(o->lanes), reads = o->untold;
    o->untold = 0;
    struct sim_finding *known = sim_report_again(c->report, SIM_FOUND_UNINITIALISED, &o->at, NULL);
    if (known) {
        sim_report_threads(known, reads, reads - 1);
        return true;
    }
    struct sim_finding f = {.kind = SIM_FOUND_UNINITIALISED, .access_count = 1};
    f.access[0] = (struct sim_finding_access){.at = o->at, .lane = lane, .does = "shuffle"};
    if (o->shuffled) {
        f.message =
            arena_printf(c->arena,
                         "lane %d takes the value of lane %llu, which does not take part in "
                         "the shuffle: what it gets is undefined",
                         lane, (unsigned long long)o->address[lane]);
    } else {
        f.message = never_written(c, &o->at, o->space, o->address[lane] + o->byte[lane], o->copied);
        f.access[0].does = "read";
        f.access[0].memory = true;
        f.access[0].space = o->space;
        f.access[0].address = o->address[lane];
        f.access[0].bytes = o->bytes;
    }
    f.steps[f.step_count++] =
        arena_printf(c->arena, "what follows from it %s at %s (%s), by %s", use->how,
                     sim_place_text(c->report, use->at.ins, use->at.where), use->name,
                     sim_thread_text(c->report, &use->at, use->lane));
    if (use->padding && c->report->plain)
        f.steps[f.step_count++] = "padding of a struct? Give the array as u8[BYTES]: bytes may be "
                                  "copied there without a value";
    reads = reads ? reads : 1;
    sim_report_threads(sim_report_add(c->report, &f), reads, reads - 1);
    return true;
}

/* Notes the invalid bytes of a lane's access, by element; the machine follows them. */
static void note_undefined(const struct sim_access *a, int lane, struct sim_valid_bits *bits,
                           uint64_t offset, int first)
{
    struct sim_undefined *u = a->undefined;
    int element = a->element ? a->element : a->bytes;
    for (int byte = first; byte < a->bytes; byte++) {
        int e = byte / element;
        if (e >= SIM_MOST_ELEMENTS || sim_valid_first_missing(bits, offset + (uint64_t)byte, 1) < 0)
            continue;
        u->lanes[e] |= (uint32_t)1 << lane;
        u->bytes[e] = (uint16_t)(u->bytes[e] | 1u << byte % element);
    }
    u->any = true;
    u->copied |= bits->copied;
    u->space = a->space;
    u->address[lane] = a->address[lane];
    u->byte[lane] = (uint8_t)first;
}

/* Checks `bytes` bytes from the lane's place on. Returns true if nothing needs a report: a read of valid
 * bytes, or a write, which makes them valid. */
static bool whole_range(struct sim_memcheck *c, struct checked_block *b, const struct sim_access *a,
                        int lane, int bytes)
{
    uint64_t offset;
    struct sim_valid_bits *bits = bits_of(c, b, a, lane, &offset);
    if (!bits) /* the access is in one allocation, and none of its bytes are checked */
        return true;
    if (offset + (uint64_t)bytes > bits->bytes)
        return false;
    if (a->kind & SIM_READ)
        return bits->valid == bits->bytes || sim_valid_first_missing(bits, offset, bytes) < 0;
    sim_valid_set(c->arena, bits, offset, bytes);
    return true;
}

/* The same for an access whose lanes, or the lanes of each half, reach one place or consecutive places. */
static bool whole_ranges(struct sim_memcheck *c, struct checked_block *b,
                         const struct sim_access *a)
{
    bool row = a->stride == (uint32_t)a->bytes;
    if (a->pattern == SIM_UNSORTED || a->space == SIM_LOCAL || (a->stride != 0 && !row))
        return false;
    int half = row ? a->bytes * SIM_LANES / 2 : a->bytes;
    if (a->pattern == SIM_HALVES)
        return whole_range(c, b, a, 0, half) && whole_range(c, b, a, SIM_LANES / 2, half);
    return whole_range(c, b, a, 0, row ? 2 * half : half);
}

/* --- mbarriers: no other use of their memory (PTX ISA, lifecycle of the mbarrier object) --- */

static void hold(struct sim_memcheck *c, struct checked_block *b, const struct sim_sync_event *e)
{
    uint64_t address = e->address[__builtin_ctz(e->mask)];
    struct held *h = b->mbarriers;
    while (h && h->address != address)
        h = h->next;
    if (!h) {
        h = sim_heap_new(c->arena, sizeof *h);
        h->next = b->mbarriers;
        b->mbarriers = h;
    }
    h->address = address;
    h->at = e->at;
    h->mask = e->mask;
    sim_valid_set(c->arena, &b->held, address / MBARRIER_BYTES, 1);
}

static bool meets_mbarrier(const struct checked_block *b, uint64_t address, uint64_t bytes)
{
    uint64_t first = address / MBARRIER_BYTES, last = (address + bytes - 1) / MBARRIER_BYTES;
    return sim_valid_any(&b->held, first, last - first + 1);
}

static void found_mbarrier(struct sim_memcheck *c, const struct checked_block *b,
                           const struct sim_access *a, int lane, uint64_t bytes)
{
    static const char *const kinds[] = {"", "read", "write", "atomic update"};
    const struct held *h = b->mbarriers;
    while (h && (h->address + MBARRIER_BYTES <= a->address[lane] ||
                 h->address >= a->address[lane] + bytes ||
                 !meets_mbarrier(b, h->address, MBARRIER_BYTES)))
        h = h->next;
    if (!h || sim_report_again(c->report, SIM_FOUND_MBARRIER, &a->at, &h->at))
        return;
    struct sim_finding f = {.kind = SIM_FOUND_MBARRIER, .access_count = 2};
    f.message =
        arena_printf(c->arena,
                     "%s of an mbarrier's bytes: until mbarrier.inval they are for mbarrier "
                     "instructions alone",
                     kinds[a->kind]);
    f.access[0] = (struct sim_finding_access){
        .at = a->at,
        .lane = lane,
        .does = kinds[a->kind],
        .memory = true,
        .space = SIM_SHARED,
        .address = a->address[lane],
        .bytes = (int)bytes,
        .memory_name = sim_report_memory_name(c->report, SIM_SHARED, a->address[lane])};
    f.access[1] = f.access[0];
    f.access[1].at = h->at;
    f.access[1].lane = __builtin_ctz(h->mask);
    f.access[1].does = "mbarrier.init";
    f.access[1].address = h->address;
    f.access[1].bytes = MBARRIER_BYTES;
    sim_report_add(c->report, &f);
}

static void look_for_mbarriers(struct sim_memcheck *c, const struct checked_block *b,
                               const struct sim_access *a)
{
    uint64_t bytes = a->matrix == SIM_LANEWISE ? (uint64_t)a->bytes : 16;
    bool row = a->pattern == SIM_LINEAR && a->stride == bytes;
    if (row && !meets_mbarrier(b, a->address[0], bytes * SIM_LANES))
        return;
    sim_spread(a);
    for (uint32_t m = a->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        if (meets_mbarrier(b, a->address[lane], bytes)) {
            found_mbarrier(c, b, a, lane, bytes);
            return;
        }
        if (a->pattern == SIM_UNIFORM)
            return;
    }
}

/* --- accesses --- */

static bool check_valid(struct sim_memcheck *c, struct checked_block *b, const struct sim_access *a)
{
    if (a->space == SIM_SHARED && (!b || b->shared.valid == b->shared.bytes))
        return true;
    if (whole_ranges(c, b, a))
        return true;
    sim_spread(a);
    int bytes = a->matrix == SIM_LANEWISE ? a->bytes : 16, wrong = 0;
    uint64_t previous = UINT64_MAX;
    struct sim_finding *found = NULL;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        uint64_t offset;
        if (a->address[lane] == previous && a->space != SIM_LOCAL && !a->undefined)
            continue;
        previous = a->address[lane];
        struct sim_valid_bits *bits = bits_of(c, b, a, lane, &offset);
        if (!bits || bits->valid == bits->bytes || offset + (uint64_t)bytes > bits->bytes)
            continue;
        if (a->kind & SIM_READ) {
            int byte = sim_valid_first_missing(bits, offset, bytes);
            if (byte < 0)
                continue;
            if (!wrong++)
                found = sim_report_again(c->report, SIM_FOUND_UNINITIALISED, &a->at, NULL);
            if (!found && a->undefined)
                note_undefined(a, lane, bits, offset, byte);
            else if (!found)
                found = read_invalid(c, a, lane, byte, bits->copied);
            continue;
        }
        sim_valid_set(c->arena, bits, offset, bytes);
    }
    if (found)
        sim_report_threads(found, wrong, wrong - 1);
    return true;
}

static bool fault_told(void *user, const struct sim_fault *fault, bool *go_on)
{
    const struct sim_memcheck *c = user;
    *go_on = !sim_fault_is_end(fault->kind);
    sim_fault_report(c->report, fault);
    return true;
}

/* --- asynchronous copies --- */

static size_t pending_bytes(const struct checked_block *b)
{
    return 2 * (size_t)b->warps * sizeof *b->pending;
}

static struct pending *pending_of(struct sim_memcheck *c, const struct sim_place *at, bool bulk,
                                  bool make)
{
    struct checked_block *b = sim_blocks_find(&c->blocks, at->block);
    if (!b || (!b->pending && !make))
        return NULL;
    if (!b->pending)
        b->pending = sim_heap_new(c->arena, pending_bytes(b));
    return &b->pending[2 * at->warp + bulk];
}

static bool async_told(void *user, const struct sim_async_event *e)
{
    struct sim_memcheck *c = user;
    bool bulk = e->kind >= SIM_BULK_ISSUE;
    if (bulk && e->agent != SIM_COPY_OUT)
        return true;
    struct pending *p = pending_of(c, &e->at, bulk, true);
    if (!p)
        return true;
    bool issues = e->kind == SIM_ASYNC_ISSUE || e->kind == SIM_BULK_ISSUE;
    bool commits = e->kind == SIM_ASYNC_COMMIT || e->kind == SIM_BULK_COMMIT;
    bool waits = e->kind == SIM_ASYNC_WAIT || e->kind == SIM_BULK_WAIT;
    if (issues)
        p->at = e->at;
    for (uint32_t m = e->mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        uint32_t open = e->pending > 0 ? (uint32_t)e->pending : 0;
        if (issues)
            p->last[l] = p->commits[l] + 1;
        else if (commits)
            p->commits[l]++;
        else if (waits && (e->all || (uint64_t)p->last[l] + open <= p->commits[l]))
            p->last[l] = 0;
    }
    return true;
}

/* Returns the allocation that contains the address, if it belongs to the launch. */
static const struct sim_allocation_event *allocation_of(const struct sim_memcheck *c,
                                                        uint64_t address)
{
    const struct sim_allocation_event *m = sim_report_memory(c->report, SIM_GLOBAL, address);
    return m && address - m->address < m->bytes ? m : NULL;
}

/* Returns true if a store of undefined bytes is a use: a store of a computed value, or of any
 * bytes to global memory that holds values, which the host will read. Copies to other memory may
 * be padding. */
static bool store_is_use(const struct sim_memcheck *c, const struct sim_access *a, int e, int lane)
{
    if (a->space == SIM_LOCAL || a->undefined->computed[e])
        return a->space != SIM_LOCAL;
    const struct sim_allocation_event *m =
        a->space == SIM_GLOBAL ? allocation_of(c, a->address[lane]) : NULL;
    return m && !m->structs;
}

/* Returns true if other bytes of a lane's access are defined, as in a struct with padding. */
static bool partly_defined(const struct sim_access *a, int lane)
{
    const struct sim_undefined *u = a->undefined;
    int element = a->element ? a->element : a->bytes;
    uint32_t all = ((uint32_t)1 << element) - 1;
    for (int e = 0; e < a->bytes / element && e < SIM_MOST_ELEMENTS; e++)
        if (!(u->lanes[e] >> lane & 1) || (u->bytes[e] & all) != all)
            return true;
    return false;
}

/* Returns the bits of a lane's access. Makes them for global memory that was wholly valid so
 * far. */
static struct sim_valid_bits *bits_to_clear(struct sim_memcheck *c, struct checked_block *b,
                                            const struct sim_access *a, int lane, uint64_t *offset)
{
    struct sim_valid_bits *bits = bits_of(c, b, a, lane, offset);
    const struct sim_allocation_event *m =
        !bits && a->space == SIM_GLOBAL ? allocation_of(c, a->address[lane]) : NULL;
    if (!m)
        return bits;
    struct region *made = add_region(c, m);
    made->bits.from_valid = true;
    made->bits.valid = m->bytes;
    *offset = a->address[lane] - m->address;
    return &made->bits;
}

/* Handles a store of undefined bytes: they stay undefined in memory, unless the store is a use. */
static void stored_undefined(struct sim_memcheck *c, struct checked_block *b,
                             const struct sim_access *a)
{
    const struct sim_undefined *u = a->undefined;
    int element = a->element ? a->element : a->bytes;
    for (int e = 0; e < SIM_MOST_ELEMENTS; e++)
        for (uint32_t m = u->lanes[e] & a->mask; m; m &= m - 1) {
            struct sim_use use = {.at = a->at,
                                  .lane = __builtin_ctz(m),
                                  .how = a->space == SIM_SHARED ? "is stored in shared memory"
                                                                : "is stored in global memory",
                                  .name = ptx_ops[a->at.ins->op].name,
                                  .origin = u->origin[e]};
            uint64_t offset;
            if (store_is_use(c, a, e, use.lane)) {
                use.padding = !u->computed[e] &&
                              (use.origin->space == SIM_LOCAL || use.origin->space == SIM_PARAM ||
                               partly_defined(a, use.lane));
                used(c, &use);
                break;
            }
            struct sim_valid_bits *bits = bits_to_clear(c, b, a, use.lane, &offset);
            if (bits && a->space != SIM_LOCAL)
                bits->copied = true;
            for (int byte = 0; bits && byte < element; byte++)
                if (u->bytes[e] >> byte & 1)
                    sim_valid_clear(c->arena, bits, offset + (uint64_t)(e * element + byte));
        }
}

/* Copies the validity of arguments that a call passes in memory. */
static void copy_valid(struct sim_memcheck *c, struct checked_block *b, const struct sim_access *a)
{
    for (uint32_t m = a->mask; b && m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        uint64_t to;
        struct sim_valid_bits *bits = bits_of(c, b, a, lane, &to);
        for (int byte = 0; byte < a->bytes; byte++) {
            uint64_t at = to + (uint64_t)byte, from = a->across[lane] + (uint64_t)byte;
            if (from >= bits->bytes || at >= bits->bytes)
                continue;
            if (sim_valid_first_missing(bits, from, 1) < 0)
                sim_valid_set(c->arena, bits, at, 1);
            else
                sim_valid_clear(c->arena, bits, at);
        }
    }
}

static int64_t home_of(const struct sim_access *a)
{
    return a->space == SIM_SHARED ? sim_home(a) : a->at.block;
}

static bool access_told(void *user, const struct sim_access *a)
{
    struct sim_memcheck *c = user;
    if (a->kind == SIM_WRITE && a->undefined && a->space <= SIM_LOCAL) {
        struct checked_block *b = sim_blocks_find(&c->blocks, home_of(a));
        sim_spread(a);
        check_valid(c, b, a);
        stored_undefined(c, b, a);
        return true;
    }
    if (a->space == SIM_LOCAL && a->across) {
        copy_valid(c, sim_blocks_find(&c->blocks, a->at.block), a);
        return true;
    }
    if (a->space == SIM_CONST || (a->space == SIM_PARAM && !c->parameters.bytes) ||
        (a->space == SIM_GLOBAL && !c->region_count))
        return true;
    struct checked_block *b = a->space == SIM_GLOBAL || a->space == SIM_PARAM
                                  ? NULL
                                  : sim_blocks_find(&c->blocks, home_of(a));
    if (a->space == SIM_SHARED && b && b->held.valid)
        look_for_mbarriers(c, b, a);
    return check_valid(c, b, a);
}

/* Memory without bytes that count as never written needs no look, except for mbarriers. */
static bool needs(void *user, enum sim_space space, int64_t block)
{
    struct sim_memcheck *c = user;
    const struct checked_block *b;
    switch (space) {
    case SIM_GLOBAL: return c->region_count > 0;
    case SIM_PARAM: return c->parameters.bytes > 0;
    case SIM_CONST: return false;
    case SIM_LOCAL: return true;
    case SIM_SHARED: break;
    }
    b = sim_blocks_find(&c->blocks, block);
    return !b || b->shared.valid != b->shared.bytes || b->held.valid;
}

static void left_pending(struct sim_memcheck *c, const struct sim_sync_event *e,
                         const struct pending *p, int lane)
{
    if (sim_report_again(c->report, SIM_FOUND_ASYNC_PENDING, &p->at, NULL))
        return;
    struct sim_finding f = {.kind = SIM_FOUND_ASYNC_PENDING, .access_count = 1};
    f.message =
        p->last[lane] > p->commits[lane]
            ? "a thread leaves with an asynchronous copy under way that it never committed"
            : "a thread leaves with an asynchronous copy under way that it never waited for";
    f.access[0] =
        (struct sim_finding_access){.at = p->at, .lane = lane, .does = "asynchronous copy"};
    f.steps[f.step_count++] = arena_printf(c->arena, "it leaves at %s",
                                           sim_place_text(c->report, e->at.ins, e->at.where));
    sim_report_add(c->report, &f);
}

static bool sync_told(void *user, const struct sim_sync_event *e)
{
    struct sim_memcheck *c = user;
    bool arrives = e->kind == SIM_MBARRIER_ARRIVE && e->at.ins &&
                   e->at.ins->op == PTX_CP_ASYNC_MBARRIER_ARRIVE;
    struct checked_block *b = sim_blocks_find(&c->blocks, e->at.block);
    if (b && e->kind == SIM_MBARRIER_INIT) {
        struct sim_access init = {.at = e->at,
                                  .space = SIM_SHARED,
                                  .kind = SIM_WRITE,
                                  .mask = e->mask,
                                  .bytes = MBARRIER_BYTES};
        memcpy(init.address, e->address, sizeof init.address);
        hold(c, b, e);
        return check_valid(c, b, &init);
    }
    if (b && e->kind == SIM_MBARRIER_INVAL)
        sim_valid_clear(c->arena, &b->held, e->address[__builtin_ctz(e->mask)] / MBARRIER_BYTES);
    if (e->kind != SIM_EXIT && !arrives)
        return true;
    for (int bulk = 0; bulk < (arrives ? 1 : 2); bulk++) {
        struct pending *p = pending_of(c, &e->at, bulk, false);
        for (uint32_t m = e->mask; p && m; m &= m - 1) {
            int l = __builtin_ctz(m);
            if (p->last[l] && !arrives)
                left_pending(c, e, p, l);
            p->last[l] = 0;
        }
    }
    return true;
}

/* --- launches --- */

static void make_all_valid(struct arena *a, struct sim_valid_bits *b, uint64_t offset,
                           uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes; done += SIM_VALID_PIECE)
        sim_valid_set(a, b, offset + done,
                      bytes - done < SIM_VALID_PIECE ? (int)(bytes - done) : SIM_VALID_PIECE);
}

/* Marks the missing bytes of a parameter; all other bytes of parameters are valid. */
static void take_parameter(struct sim_memcheck *c, const struct sim_allocation_event *e)
{
    enum { MOST_BYTES = 1 << 15 }; /* PTX ISA: 32764 bytes of parameters */
    struct sim_valid_bits *b = &c->parameters;
    if (!b->bytes) {
        b->bytes = b->valid = MOST_BYTES;
        b->from_valid = true;
    }
    for (uint64_t i = 0; i < e->bytes && e->address + i < b->bytes; i++)
        if (e->missing[i])
            sim_valid_clear(c->arena, b, e->address + i);
}

static bool ended(void *user)
{
    struct sim_memcheck *c = user;
    sim_valid_free(c->arena, &c->parameters);
    return true;
}

static bool allocated(void *user, const struct sim_allocation_event *e)
{
    struct sim_memcheck *c = user;
    sim_report_allocated(c->report, e);
    if (e->space == SIM_PARAM)
        take_parameter(c, e);
    if (e->space != SIM_GLOBAL)
        return true;
    const struct number_entry *at = number_map_find(&c->region_at, e->address / SIM_MOST_BYTES);
    struct region *known = at && at->value ? &c->regions[at->value - 1] : NULL;
    if (known && (e->initialised || known->bits.bytes != e->bytes)) {
        remove_region(c, known);
        known = NULL;
    }
    if (known || e->initialised)
        return true;
    struct region *made = add_region(c, e);
    make_all_valid(c->arena, &made->bits, 0, e->written);
    return true;
}

static void wrote(void *user, uint64_t address, uint64_t bytes)
{
    struct sim_memcheck *c = user;
    struct region *r = region_of(c, address);
    if (r)
        make_all_valid(c->arena, &r->bits, address - r->address, bytes);
}

static void forget_block(void *user, void *block)
{
    struct sim_memcheck *c = user;
    struct checked_block *b = block;
    size_t threads = (size_t)b->warps * SIM_LANES;
    sim_valid_free(c->arena, &b->shared);
    sim_valid_free(c->arena, &b->held);
    for (struct held *h = b->mbarriers, *next; h; h = next) {
        next = h->next;
        sim_heap_free(c->arena, h, sizeof *h);
    }
    for (size_t i = 0; b->local && i < threads; i++)
        sim_valid_free(c->arena, &b->local[i]);
    sim_heap_free(c->arena, b->local, b->local ? threads * sizeof *b->local : 0);
    sim_heap_free(c->arena, b->pending, b->pending ? pending_bytes(b) : 0);
    sim_heap_free(c->arena, b, sizeof *b);
}

static bool block_begins(void *user, const struct sim_block_event *e)
{
    struct sim_memcheck *c = user;
    struct checked_block *b = sim_heap_new(c->arena, sizeof *b);
    b->warps = e->warps;
    b->shared.bytes = (uint64_t)e->shared_bytes;
    b->held.bytes = (b->shared.bytes + MBARRIER_BYTES - 1) / MBARRIER_BYTES;
    sim_valid_set(c->arena, &b->shared, 0, (int)e->reserved_shared);
    sim_blocks_add(&c->blocks, &b->of, e->block);
    return true;
}

struct sim_memcheck *sim_memcheck_new(struct arena *arena, struct sim_report *report)
{
    struct sim_memcheck *c = arena_new(arena, struct sim_memcheck);
    *c = (struct sim_memcheck){.arena = arena,
                               .report = report,
                               .blocks = {.forget = forget_block, .report = report},
                               .observer = {.user = c,
                                            .spreads = true,
                                            .launch = sim_blocks_launch,
                                            .block_begins = block_begins,
                                            .block_ends = sim_blocks_ended,
                                            .needs = needs,
                                            .access = access_told,
                                            .sync = sync_told,
                                            .async = async_told,
                                            .allocated = allocated,
                                            .wrote = wrote,
                                            .used = used,
                                            .ended = ended,
                                            .fault = fault_told}};
    return c;
}

void sim_memcheck_free(struct sim_memcheck *c)
{
    sim_blocks_forget_all(&c->blocks);
    sim_valid_free(c->arena, &c->parameters);
    for (size_t i = 0; i < c->region_count; i++)
        sim_valid_free(c->arena, &c->regions[i].bits);
    sim_heap_free(c->arena, c->regions, c->region_room * sizeof *c->regions);
    c->regions = NULL;
    c->region_count = c->region_room = 0;
}

struct sim_observer *sim_memcheck_observer(struct sim_memcheck *c)
{
    return &c->observer;
}
