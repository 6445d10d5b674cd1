/* mbarriers: PTX ISA, parallel-synchronization-and-communication-instructions-mbarrier.
 *
 * The object's 64 bits are, from the lowest: arrivals expected in each phase (20), arrivals
 * still pending (20), bytes still pending, two's complement (22), a bit that marks an mbarrier,
 * the parity of the phase. A state that arrive returns is the object as it was before the
 * arrival. */
#include "sim/sim_mbarrier.h"

#include <stdarg.h>
#include <string.h>

enum { COUNT_BITS = 20, BYTES_AT = 40, BYTES_BITS = 22, MOST_COUNT = (1 << COUNT_BITS) - 1 };
#define IS_THERE (UINT64_C(1) << 62)
#define PARITY (UINT64_C(1) << 63)

/* Further effects of an arrival, in op->small2. */
enum { DROPS = 1, MAY_NOT_COMPLETE = 2 };

static uint32_t expected_of(uint64_t v)
{
    return (uint32_t)v & MOST_COUNT;
}
static uint32_t pending_of(uint64_t v)
{
    return (uint32_t)(v >> COUNT_BITS) & MOST_COUNT;
}
static int64_t bytes_of(uint64_t v)
{
    return (int64_t)(v << 2) >> (64 - BYTES_BITS);
}
uint32_t sim_mbarrier_lacks(uint64_t object, uint32_t *expected, int64_t *bytes)
{
    *expected = expected_of(object);
    *bytes = bytes_of(object);
    return pending_of(object);
}

static uint64_t make(uint32_t expected, uint32_t pending, int64_t bytes, uint64_t parity)
{
    uint64_t field = (uint64_t)bytes & ((UINT64_C(1) << BYTES_BITS) - 1);
    return expected | (uint64_t)pending << COUNT_BITS | field << BYTES_AT | IS_THERE | parity;
}

/* Lanes of a warp, their instruction and the mbarriers that it accesses. */
struct visit {
    struct sim_warp *w;
    const struct sim_op *op;
    const struct sim_place *place; /* NULL: where the warp is */
    const struct sim_mbarriers *at;
    uint32_t mask;
    uint32_t group; /* the bulk copy that accesses it; 0: none */
};

/* Returns the lanes of v->mask that have the same mbarrier as the lowest of them. */
static struct visit next_of(const struct visit *v)
{
    struct visit one = *v;
    const uint8_t *host = v->at->host[__builtin_ctz(v->mask)];
    one.mask = 0;
    for (uint32_t rest = v->mask; rest; rest &= rest - 1)
        if (v->at->host[__builtin_ctz(rest)] == host)
            one.mask |= rest & -rest;
    return one;
}

static struct visit lowest_of(const struct visit *v)
{
    struct visit one = *v;
    one.mask = v->mask & -v->mask;
    return one;
}

static uint8_t *host_of(const struct visit *v)
{
    return v->at->host[__builtin_ctz(v->mask)];
}

static bool tell(const struct visit *v, struct sim_sync_event event)
{
    if (!v->w->observed)
        return true;
    const struct sim_block *block = v->at->block[__builtin_ctz(v->mask)];
    event.mask = v->mask;
    event.group = v->group;
    if (block && block != v->w->block)
        event.away = block->number + 1;
    event.order = v->op->order;
    event.scope = v->op->scope;
    if (v->place)
        event.at = *v->place;
    else
        sim_place_of(v->w, v->op, &event.at);
    memcpy(event.address, v->at->offset, sizeof event.address);
    return sim_notify_sync(v->w, &event);
}

static bool tell_count(const struct visit *v, enum sim_sync kind, int64_t count)
{
    return tell(v, (struct sim_sync_event){.kind = kind, .count = count});
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
broken(const struct visit *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *why = arena_vprintf(v->w->sim->arena, format, args);
    va_end(args);
    if (!tell(v, (struct sim_sync_event){.kind = SIM_MBARRIER_BROKEN, .why = why}))
        return false;
    return sim_stop(v->w, v->op, "%s", why);
}

static bool load(const struct visit *v, uint64_t *value)
{
    memcpy(value, host_of(v), sizeof *value);
    if (*value & IS_THERE)
        return true;
    return tell_count(v, SIM_MBARRIER_NONE, 0) && sim_stop(v->w, v->op, "there is no mbarrier");
}

/* Stores the object. If nothing is pending, ends the phase and begins the next one. */
static bool store(const struct visit *v, uint64_t value)
{
    bool over = !pending_of(value) && !bytes_of(value);
    if (over)
        value = make(expected_of(value), expected_of(value), 0, (value & PARITY) ^ PARITY);
    memcpy(host_of(v), &value, sizeof value);
    v->w->sim->changes++;
    return !over || tell_count(v, SIM_MBARRIER_PHASE, 0);
}

/* Performs `count` arrivals for each lane. */
static bool arrive_at(const struct visit *v, uint32_t count, int64_t bytes, unsigned how)
{
    uint64_t value, all = (uint64_t)count * (uint64_t)__builtin_popcount(v->mask);
    if (!load(v, &value))
        return false;
    uint32_t expected = expected_of(value), pending = pending_of(value);
    int64_t to_come = bytes_of(value) + bytes;
    if (!count || count > MOST_COUNT)
        return broken(v, "%u arrivals at once: 1 to %d", count, MOST_COUNT);
    if (to_come > MOST_COUNT)
        return broken(v, "%lld bytes to come at an mbarrier: at most %d", (long long)to_come,
                      MOST_COUNT);
    if (how & DROPS && expected <= all)
        return broken(v, "no arrival would be expected at the mbarrier");
    if (all > pending)
        return broken(v, "%llu arrivals at an mbarrier that waits for %u", (unsigned long long)all,
                      pending);
    if (how & MAY_NOT_COMPLETE && all == pending && !to_come)
        return broken(v, "an arrival with .noComplete completes the phase");
    if (!tell_count(v, SIM_MBARRIER_ARRIVE, count))
        return false;
    if (how & DROPS)
        expected -= (uint32_t)all;
    return store(v, make(expected, pending - (uint32_t)all, to_come, value & PARITY));
}

/* --- where --- */

/* Tells observers of an impossible address: a fault, which they may let pass. */
static bool tell_fault(struct sim_warp *w, const struct sim_op *op, int lane,
                       const uint64_t address[SIM_LANES])
{
    struct sim_want want = {.kind = SIM_UPDATE, .bytes = 8, .alignment = 8};
    uint8_t *host[SIM_LANES];
    struct sim_mbarriers nowhere = {.offset = {0}};
    struct visit v = {w, op, NULL, &nowhere, UINT32_C(1) << lane, 0};
    bool fine = sim_reach_untold(w, op, v.mask, address, &want, host);
    if (fine && host[lane] != w->sim->nowhere)
        return broken(&v, "an mbarrier is in shared memory, not at 0x%llx",
                      (unsigned long long)address[lane]);
    return fine;
}

bool sim_mbarrier_reach(struct sim_warp *w, const struct sim_op *op, uint32_t *mask,
                        struct sim_mbarriers *at)
{
    uint64_t address[SIM_LANES];
    sim_addresses(w, op, address);
    memset(at, 0, sizeof *at);
    for (uint32_t rest = *mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        enum sim_space space;
        uint8_t *host =
            sim_resolve(w, lane, op->space, address[lane], 8, &space, &at->offset[lane]);
        at->host[lane] = host;
        at->block[lane] = sim_shared_block(w, address[lane]);
        if (host && space == SIM_SHARED && at->offset[lane] % 8 == 0)
            continue;
        if (!tell_fault(w, op, lane, address))
            return false;
        *mask &= ~(rest & -rest);
    }
    return true;
}

/* --- copies --- */

bool sim_mbarrier_expect(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                         const struct sim_mbarriers *at)
{
    struct visit all = {w, op, NULL, at, mask, 0};
    while (all.mask) {
        struct visit v = next_of(&all);
        uint64_t value, pending;
        if (!load(&v, &value))
            return false;
        pending = (uint64_t)pending_of(value) + (uint64_t)__builtin_popcount(v.mask);
        if (pending > MOST_COUNT)
            return broken(&v, "%llu arrivals expected at an mbarrier: at most %d",
                          (unsigned long long)pending, MOST_COUNT);
        value = make(expected_of(value), (uint32_t)pending, bytes_of(value), value & PARITY);
        memcpy(host_of(&v), &value, sizeof value);
        all.mask &= ~v.mask;
    }
    return true;
}

/* Bytes may be counted piece by piece: if no arrival is pending, the phase ends as soon as the
 * bytes that it waits for have come, so no copy may bring more. */
bool sim_mbarrier_complete(struct sim_warp *w, const struct sim_op *op,
                           const struct sim_place *place, int lane, struct sim_block *block,
                           uint64_t offset, int64_t bytes, uint32_t number)
{
    struct sim_mbarriers at = {.offset = {0}};
    struct visit v = {w, op, place, &at, UINT32_C(1) << lane, number};
    uint64_t value;
    at.offset[lane] = offset;
    at.host[lane] = block->shared + offset;
    at.block[lane] = block;
    if (!load(&v, &value))
        return false;
    int64_t before = bytes_of(value), to_come = before - bytes;
    if (to_come < 0 && before > 0 && pending_of(value) == 0)
        return broken(&v,
                      "%lld bytes arrive at an mbarrier that waits for %lld: the phase ends too "
                      "early",
                      (long long)bytes, (long long)before);
    if (to_come < -MOST_COUNT)
        return broken(&v, "%lld bytes to come at an mbarrier: -%d to %d", (long long)to_come,
                      MOST_COUNT, MOST_COUNT);
    value = make(expected_of(value), pending_of(value), to_come, value & PARITY);
    return tell_count(&v, SIM_MBARRIER_BYTES, -bytes) && store(&v, value);
}

/* Returns the next lanes that arrive: together if the phase waits for that number of arrivals,
 * otherwise one lane. */
static struct visit next_arrival(const struct visit *all, uint32_t count)
{
    struct visit v = next_of(all);
    uint64_t value;
    memcpy(&value, host_of(&v), sizeof value);
    bool fits = (uint64_t)count * (uint64_t)__builtin_popcount(v.mask) <= pending_of(value);
    return fits ? v : lowest_of(&v);
}

bool sim_mbarrier_land(struct sim_warp *w, const struct sim_op *op, const struct sim_place *place,
                       uint32_t mask, const struct sim_mbarriers *at)
{
    struct visit all = {w, op, place, at, mask, 0};
    while (all.mask) {
        struct visit v = next_arrival(&all, 1);
        if (!arrive_at(&v, 1, 0, 0))
            return false;
        all.mask &= ~v.mask;
    }
    return true;
}

/* --- instructions --- */

/* Returns the operand that follows the address. */
static uint32_t operand_of(const struct visit *v)
{
    return sim_u32(v->w->file, v->op->slot[1])[__builtin_ctz(v->mask)];
}

/* Calls `act` for each lane in turn. */
static bool each(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                 bool (*act)(const struct visit *v))
{
    struct sim_mbarriers at;
    if (!sim_mbarrier_reach(w, op, &mask, &at))
        return false;
    struct visit all = {w, op, NULL, &at, mask, 0};
    for (; all.mask; all.mask &= all.mask - 1) {
        struct visit v = lowest_of(&all);
        if (!act(&v))
            return false;
    }
    return true;
}

static bool init_one(const struct visit *v)
{
    uint32_t count = operand_of(v);
    if (!count || count > MOST_COUNT)
        return broken(v, "an mbarrier cannot wait for %u arrivals: 1 to %d", count, MOST_COUNT);
    uint64_t value = make(count, count, 0, 0);
    if (!tell_count(v, SIM_MBARRIER_INIT, count))
        return false;
    memcpy(host_of(v), &value, sizeof value);
    v->w->sim->changes++;
    return true;
}

static bool init(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return each(w, op, mask, init_one);
}

static bool inval_one(const struct visit *v)
{
    uint64_t value;
    if (!load(v, &value) || !tell_count(v, SIM_MBARRIER_INVAL, 0))
        return false;
    memset(host_of(v), 0, sizeof value);
    return true;
}

static bool inval(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return each(w, op, mask, inval_one);
}

/* Handles expect_tx and complete_tx: adds or subtracts pending bytes. op->small: subtracts. */
static bool count_bytes_one(const struct visit *v)
{
    int64_t count = operand_of(v), bytes = v->op->small ? -count : count;
    uint64_t value;
    if (!load(v, &value))
        return false;
    int64_t to_come = bytes_of(value) + bytes;
    if (to_come > MOST_COUNT || to_come < -MOST_COUNT)
        return broken(v, "%lld bytes to come at an mbarrier: -%d to %d", (long long)to_come,
                      MOST_COUNT, MOST_COUNT);
    value = make(expected_of(value), pending_of(value), to_come, value & PARITY);
    return tell_count(v, SIM_MBARRIER_BYTES, bytes) && store(v, value);
}

static bool count_bytes(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return each(w, op, mask, count_bytes_one);
}

/* Gives each lane its state: the object as it was before the lane's arrival. */
static void give_states(const struct visit *v, uint32_t count, uint64_t value)
{
    uint32_t pending = pending_of(value);
    if (v->op->slot[0] == SIM_NO_SLOT)
        return;
    for (uint32_t rest = v->mask; rest; rest &= rest - 1, pending -= count)
        sim_u64(v->w->file, v->op->slot[0])[__builtin_ctz(rest)] =
            make(expected_of(value), pending, bytes_of(value), value & PARITY);
}

/* op->small: .expect_tx. */
static bool arrive(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_mbarriers at;
    const uint32_t *counts = sim_u32(w->file, op->slot[1]);
    if (!sim_mbarrier_reach(w, op, &mask, &at))
        return false;
    struct visit all = {w, op, NULL, &at, mask, 0};
    while (all.mask) {
        uint32_t given = counts[__builtin_ctz(all.mask)], count = op->small ? 1 : given;
        struct visit same = all, v;
        for (uint32_t rest = all.mask; rest; rest &= rest - 1)
            if (counts[__builtin_ctz(rest)] != given)
                same.mask &= ~(rest & -rest);
        v = op->small || op->small2 ? lowest_of(&same) : next_arrival(&same, count);
        uint64_t value;
        memcpy(&value, host_of(&v), sizeof value);
        if (!arrive_at(&v, count, op->small ? given : 0, op->small2))
            return false;
        give_states(&v, count, value);
        all.mask &= ~v.mask;
    }
    return true;
}

/* Tests whether the phase of a state, or with op->small of a parity, is over. Lanes with a fault
 * that was let pass get true. */
static bool wait(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_mbarriers at;
    uint32_t *d = sim_u32(w->file, op->slot[0]), reached = mask, over = 0;
    if (!sim_mbarrier_reach(w, op, &reached, &at))
        return false;
    struct visit all = {w, op, NULL, &at, reached, 0};
    while (all.mask) {
        struct visit v = next_of(&all), open;
        uint64_t value;
        if (!load(&v, &value))
            return false;
        all.mask &= ~v.mask;
        open = v;
        for (uint32_t rest = v.mask; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            bool parity = op->small ? sim_u32(w->file, op->slot[1])[lane] & 1
                                    : sim_u64(w->file, op->slot[1])[lane] >> 63;
            *(parity != value >> 63 ? &open.mask : &v.mask) &= ~(rest & -rest);
        }
        over |= v.mask;
        struct sim_sync_event failed = {
            .kind = SIM_MBARRIER_FAILED, .pending = pending_of(value), .bytes = bytes_of(value)};
        if ((v.mask && !tell_count(&v, SIM_MBARRIER_WAIT, 0)) ||
            (open.mask && !tell(&open, failed)))
            return false;
    }
    *d = (*d & ~mask) | over | (mask & ~reached);
    if (over != reached)
        sim_polls(w, op, reached & ~over, true);
    return true;
}

static bool pending_count(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        sim_u32(w->file, op->slot[0])[lane] = pending_of(sim_u64(w->file, op->slot[1])[lane]);
    }
    return true;
}

/* --- choosing --- */

static bool choose_arrive(struct sim_decoder *d, const struct ptx_instruction *ins,
                          struct sim_op *op)
{
    if (op->order == SIM_WEAK)
        op->order = SIM_RELEASE;
    op->run = arrive;
    op->small = ptx_has(ins, MOD_EXPECT_TX);
    op->small2 = ins->op == PTX_MBARRIER_ARRIVE_DROP ? DROPS : 0;
    op->small2 |= ptx_has(ins, MOD_NO_COMPLETE) ? MAY_NOT_COMPLETE : 0;
    bool state = ins->operands[0].kind != PTX_ADDRESS;
    if (state && ins->operands[0].kind == PTX_REGISTER)
        op->slot[0] = sim_slot_destination(d, &ins->operands[0], MOD_B64);
    int at = state ? 1 : 0;
    op->slot[1] = ins->operand_count > at + 1 ? sim_slot_of(d, &ins->operands[at + 1], MOD_U32)
                                              : sim_slot_constant(d, 1, 4);
    return op->slot[1] != SIM_NO_SLOT && sim_decode_address(d, ins, &ins->operands[at], 0, op);
}

static bool choose_wait(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    if (op->order == SIM_WEAK)
        op->order = SIM_ACQUIRE;
    op->run = wait;
    op->small = ptx_has(ins, MOD_PARITY);
    op->slot[0] = sim_slot_destination(d, &ins->operands[0], MOD_PRED);
    op->slot[1] = sim_slot_of(d, &ins->operands[2], op->small ? MOD_U32 : MOD_U64);
    return op->slot[1] != SIM_NO_SLOT && sim_decode_address(d, ins, &ins->operands[1], 0, op);
}

bool sim_choose_mbarrier(struct sim_decoder *d, const struct ptx_instruction *ins,
                         struct sim_op *op)
{
    sim_decode_order(ins, op);
    if (ptx_find(ins, PTX_CLASS_SCOPE, 0) == MOD_NONE)
        op->scope = SIM_CTA;
    switch (ins->op) {
    case PTX_MBARRIER_INIT: op->run = init; break;
    case PTX_MBARRIER_INVAL: op->run = inval; break;
    case PTX_MBARRIER_EXPECT_TX:
    case PTX_MBARRIER_COMPLETE_TX:
        op->run = count_bytes;
        op->small = ins->op == PTX_MBARRIER_COMPLETE_TX;
        break;
    case PTX_MBARRIER_ARRIVE:
    case PTX_MBARRIER_ARRIVE_DROP: return choose_arrive(d, ins, op);
    case PTX_MBARRIER_TEST_WAIT:
    case PTX_MBARRIER_TRY_WAIT: return choose_wait(d, ins, op);
    case PTX_MBARRIER_PENDING_COUNT:
        op->run = pending_count;
        op->slot[0] = sim_slot_destination(d, &ins->operands[0], MOD_U32);
        op->slot[1] = sim_slot_of(d, &ins->operands[1], MOD_B64);
        return op->slot[1] != SIM_NO_SLOT;
    default: return false;
    }
    if (ins->operand_count > 1)
        op->slot[1] = sim_slot_of(d, &ins->operands[1], MOD_U32);
    return (ins->operand_count < 2 || op->slot[1] != SIM_NO_SLOT) &&
           sim_decode_address(d, ins, &ins->operands[0], 0, op);
}
