/* Translates addresses to host memory, with checks to the byte. Observers hear of the accesses, and
 * of faults first.
 *
 * A generic address is an allocation's number and an offset. Shared memory, local memory and a
 * kernel's parameters have numbers of their own; their offsets count within the block, the
 * thread or the launch. Nothing follows the end of an allocation: the next one is 64 GiB
 * further. */
#include "sim/sim_machine.h"

#include <string.h>

void sim_addresses(const struct sim_warp *w, const struct sim_op *op, uint64_t address[SIM_LANES])
{
    uint64_t offset = (uint64_t)op->imm;
    if (op->address_bytes == 8) {
        const uint64_t *from = sim_u64(w->file, op->address);
        for (int i = 0; i < SIM_LANES; i++)
            address[i] = from[i] + offset;
    } else if (op->address_bytes == 4) {
        const uint32_t *from = sim_u32(w->file, op->address);
        for (int i = 0; i < SIM_LANES; i++)
            address[i] = (uint32_t)(from[i] + (uint32_t)offset);
    } else {
        for (int i = 0; i < SIM_LANES; i++)
            address[i] = offset;
    }
}

static uint8_t *in_local(const struct sim_warp *w, int lane, uint64_t offset, uint64_t bytes)
{
    uint64_t top = sim_stack_top_of(w->frame, lane);
    return offset <= top && bytes <= top - offset ? sim_local(w, lane, offset) : NULL;
}

/* Strips the rank from *told if the address is in another block's memory. */
static uint8_t *in_shared(const struct sim_warp *w, uint64_t offset, uint64_t bytes, uint64_t *told)
{
    if (offset >> SIM_RANK_AT) {
        const struct sim_block *b = offset >> 32 ? NULL : sim_shared_block(w, offset);
        if (!b)
            return NULL;
        *told = offset &= (UINT64_C(1) << SIM_RANK_AT) - 1;
        return offset <= w->shared_bytes && bytes <= w->shared_bytes - offset ? b->shared + offset
                                                                              : NULL;
    }
    return offset <= w->shared_bytes && bytes <= w->shared_bytes - offset ? w->shared + offset
                                                                          : NULL;
}

static uint8_t *in_parameters(const struct sim_warp *w, uint64_t offset, uint64_t bytes)
{
    uint64_t size = w->sim->program->parameter_bytes;
    return offset <= size && bytes <= size - offset ? w->sim->parameters + offset : NULL;
}

/* Pages that the device may only read count as constant memory. */
static uint8_t *in_pages(const struct sim_allocation *a, uint64_t offset, uint64_t bytes,
                         enum sim_space *space)
{
    if (offset >= a->size || sim_pages_end(a->pages, offset, offset + bytes) < offset + bytes)
        return NULL;
    for (uint64_t at = offset / SIM_PAGE_BYTES; at * SIM_PAGE_BYTES < offset + bytes; at++)
        if (a->pages->access[at] == SIM_PAGE_READ)
            *space = SIM_CONST;
    return a->host + offset;
}

static uint8_t *in_allocation(const struct sim *sim, uint64_t address, uint64_t bytes,
                              enum sim_space *space)
{
    uint64_t number = sim_number_of(address), offset = sim_offset_of(address);
    if (number < SIM_FIRST_ALLOCATION || number >= sim->allocations.count)
        return NULL;
    const struct sim_allocation *a = &sim->allocations.data[number];
    *space = a->constant ? SIM_CONST : SIM_GLOBAL;
    if (a->freed || offset > a->size || bytes > a->size - offset)
        return NULL;
    return a->pages ? in_pages(a, offset, bytes, space) : a->host + offset;
}

uint8_t *sim_resolve(struct sim_warp *w, int lane, uint8_t window, uint64_t address, uint64_t bytes,
                     enum sim_space *space, uint64_t *told)
{
    *told = address;
    if (window == SIM_IN_GENERIC && sim_number_of(address) < SIM_FIRST_ALLOCATION) {
        switch (sim_number_of(address)) {
        case SIM_NUMBER_SHARED: window = SIM_IN_SHARED; break;
        case SIM_NUMBER_LOCAL: window = SIM_IN_LOCAL; break;
        case SIM_NUMBER_PARAM: window = SIM_IN_PARAM; break;
        default: break;
        }
        if (window != SIM_IN_GENERIC)
            *told = address = sim_offset_of(address);
    }
    switch (window) {
    case SIM_IN_SHARED: *space = SIM_SHARED; return in_shared(w, address, bytes, told);
    case SIM_IN_LOCAL: *space = SIM_LOCAL; return in_local(w, lane, address, bytes);
    case SIM_IN_PARAM: *space = SIM_PARAM; return in_parameters(w, address, bytes);
    default: *space = SIM_GLOBAL; return in_allocation(w->sim, address, bytes, space);
    }
}

const char *sim_text_at(struct sim_warp *w, int lane, uint64_t address)
{
    enum sim_space space;
    uint64_t told;
    const char *text =
        (const char *)sim_resolve(w, lane, SIM_IN_GENERIC, address, 1, &space, &told);
    for (uint64_t length = 1; text; length++) {
        if (!text[length - 1])
            return text;
        if (!sim_resolve(w, lane, SIM_IN_GENERIC, address, length + 1, &space, &told))
            return NULL;
    }
    return NULL;
}

/* --- accesses --- */

void sim_access_begin(const struct sim_warp *w, const struct sim_op *op,
                      const struct sim_want *want, struct sim_access *access)
{
    access->space = SIM_GLOBAL;
    access->kind = want->kind;
    access->order = op->order;
    access->scope = op->scope;
    access->matrix = want->matrix;
    access->matrices = want->matrices;
    access->pattern = SIM_UNSORTED;
    access->stride = 0;
    access->apart = 0;
    access->bytes = want->bytes;
    access->element = want->element;
    access->group = 0;
    access->away = 0;
    access->across = NULL;
    access->past_l1 = access->sparse = false;
    if (want->kind == SIM_READ)
        access->undefined = w->sim->traces && op->ins->op == PTX_LD ? &w->sim->loaded : NULL;
    else
        access->undefined = w->sim->stored.any ? &w->sim->stored : NULL;
    sim_place_of(w, op, &access->at);
}

/* The memory that may contain all of a warp's addresses: lane i's part begins at host + i *
 * apart. */
struct reach {
    enum sim_space space;
    uint8_t *host;
    uint64_t size, apart;
    bool writable;
};

static bool reach_of(const struct sim_warp *w, uint8_t window, uint64_t address, struct reach *r)
{
    uint64_t number = sim_number_of(address);
    if (window == SIM_IN_SHARED || (window == SIM_IN_GENERIC && number == SIM_NUMBER_SHARED)) {
        *r = (struct reach){SIM_SHARED, w->shared, w->shared_bytes, 0, true};
        return true;
    }
    if (window == SIM_IN_LOCAL || (window == SIM_IN_GENERIC && number == SIM_NUMBER_LOCAL)) {
        uint64_t top = (uint64_t)w->frame->local_base + w->frame->code->local_bytes;
        *r = (struct reach){SIM_LOCAL, w->local, top, w->local_stride, true};
        return w->local && !w->frame->stacked;
    }
    if (window == SIM_IN_PARAM || number < SIM_FIRST_ALLOCATION ||
        number >= w->sim->allocations.count)
        return false;
    const struct sim_allocation *a = &w->sim->allocations.data[number];
    *r = (struct reach){a->constant ? SIM_CONST : SIM_GLOBAL, a->host, sim_reach_of(a), 0,
                        !a->constant};
    return !a->freed;
}

/* Translates the addresses of all lanes if they are in one allocation without a fault. Returns
 * false otherwise: then each lane must be checked. */
static bool reach_together(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                           const uint64_t address[SIM_LANES], const struct sim_want *want,
                           struct reach *r, uint64_t told[SIM_LANES], uint8_t *host[SIM_LANES])
{
    const uint64_t first = address[__builtin_ctz(mask)], bytes = (uint64_t)want->bytes;
    const bool short_addresses = op->space == SIM_IN_SHARED || op->space == SIM_IN_LOCAL;
    if (!reach_of(w, op->space, first, r) || r->size < bytes ||
        (want->kind != SIM_READ && !r->writable))
        return false;
    const uint64_t start = short_addresses ? 0 : first - sim_offset_of(first);
    const uint64_t top = r->size - bytes, low = (uint64_t)want->alignment - 1;
    const uint64_t base = r->space == SIM_SHARED || r->space == SIM_LOCAL ? 0 : start;
    bool fine = true;
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        uint64_t offset = (mask >> i & 1 ? address[i] : first) - start;
        fine &= offset <= top && !(offset & low);
        told[i] = base + offset;
        if (mask >> i & 1) /* other lanes keep theirs; a faulty address may be anywhere */
            host[i] = (uint8_t *)((uintptr_t)r->host + i * r->apart + offset);
    }
    return fine;
}

static bool tell_together(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                          const struct sim_want *want, const struct reach *r,
                          const uint64_t told[SIM_LANES], uint8_t *const host[SIM_LANES])
{
    struct sim_access access;
    sim_access_begin(w, op, want, &access);
    access.space = r->space;
    access.mask = mask;
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        bool in = mask >> i & 1;
        access.address[i] = in ? told[i] : 0;
        access.before[i] = in ? host[i] : NULL;
        access.value[i] = in && want->value ? want->value[i] : NULL;
    }
    return sim_notify_access(w, &access);
}

/* Returns 1 + the number of the block whose shared memory an address is in, 0 for the own. */
static int64_t away_of(const struct sim_warp *w, enum sim_space space, uint64_t address)
{
    const struct sim_block *b = space == SIM_SHARED ? sim_shared_block(w, address) : NULL;
    return b && b != w->block ? b->number + 1 : 0;
}

/* Tells observers of one access for each space and each block: generic addresses may be in
 * several. */
static bool tell(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                 const struct sim_want *want, const uint64_t address[SIM_LANES],
                 const enum sim_space space[SIM_LANES], const uint64_t told[SIM_LANES],
                 uint8_t *const host[SIM_LANES])
{
    struct sim_access access = {.mask = 0};
    sim_access_begin(w, op, want, &access);
    while (mask) {
        access.space = space[__builtin_ctz(mask)];
        access.away = away_of(w, access.space, address[__builtin_ctz(mask)]);
        access.mask = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            if (space[lane] != access.space ||
                away_of(w, space[lane], address[lane]) != access.away)
                continue;
            access.mask |= UINT32_C(1) << lane;
            access.address[lane] = told[lane];
            access.before[lane] = host[lane];
            access.value[lane] = want->value ? want->value[lane] : NULL;
        }
        mask &= ~access.mask;
        if (!sim_notify_access(w, &access))
            return false;
    }
    return true;
}

bool sim_reach_at(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                  const uint64_t address[SIM_LANES], const struct sim_want *want,
                  uint8_t *host[SIM_LANES])
{
    enum sim_space space[SIM_LANES];
    uint64_t told[SIM_LANES];
    struct reach together;
    uint32_t good = 0;
    if (reach_together(w, op, mask, address, want, &together, told, host)) {
        if (want->kind == SIM_WRITE)
            w->sim->changes++;
        return !w->watched || tell_together(w, op, mask, want, &together, told, host);
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        struct sim_fault fault = {
            .lane = lane, .bytes = want->bytes, .write = want->kind != SIM_READ};
        host[lane] = sim_resolve(w, lane, op->space, address[lane], (uint64_t)want->bytes,
                                 &space[lane], &told[lane]);
        fault.address = told[lane];
        fault.space = space[lane];
        if (host[lane] && !(told[lane] & ((uint64_t)want->alignment - 1)) &&
            !(fault.write && (space[lane] == SIM_CONST || space[lane] == SIM_PARAM))) {
            good |= UINT32_C(1) << lane;
            continue;
        }
        /* beyond an end, the address may be misaligned, too, which a GPU finds first */
        bool begins = host[lane] ||
                      sim_resolve(w, lane, op->space, address[lane], 1, &space[lane], &told[lane]);
        fault.kind = begins && told[lane] & ((uint64_t)want->alignment - 1) ? SIM_MISALIGNED
                     : !host[lane]                                          ? SIM_OUTSIDE
                                                                            : SIM_READ_ONLY;
        if (!sim_fault_at(w, op, &fault))
            return false;
        memset(w->sim->nowhere, 0, sizeof w->sim->nowhere);
        host[lane] = w->sim->nowhere;
    }
    if (want->kind == SIM_WRITE) /* the instructions that update note changes themselves */
        w->sim->changes++;
    return !w->watched || !good || tell(w, op, good, want, address, space, told, host);
}

bool sim_reach_untold(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                      const uint64_t address[SIM_LANES], const struct sim_want *want,
                      uint8_t *host[SIM_LANES])
{
    bool watched = w->watched;
    w->watched = false;
    bool fine = sim_reach_at(w, op, mask, address, want, host);
    w->watched = watched;
    return fine;
}

bool sim_reach(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
               const struct sim_want *want, uint8_t *host[SIM_LANES])
{
    uint64_t address[SIM_LANES];
    sim_addresses(w, op, address);
    return sim_reach_at(w, op, mask, address, want, host);
}

bool sim_traces(const struct sim_warp *w)
{
    return w->sim->traces;
}

void sim_polls(struct sim_warp *w, const struct sim_op *op, uint32_t mask, bool mbarrier)
{
    uint64_t address[SIM_LANES];
    sim_addresses(w, op, address);
    struct sim_path *path = &w->paths[w->path];
    w->polled = true;
    w->polled_mbarrier = mbarrier;
    path->poll = op;
    path->poll_lane = __builtin_ctz(mask);
    path->polled_at = address[path->poll_lane];
}
