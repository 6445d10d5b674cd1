/* mbarriers: PTX ISA, parallel-synchronization-and-communication-instructions-mbarrier.
 *
 * The object's 64 bits are, from the lowest: arrivals expected in a phase (20), arrivals still to come (20), bytes still to
 * come, two's complement (22), a bit that says that there is an mbarrier, the parity of the phase. A state, as arrive gives
 * it, is the object as it was in front of the arrival.
 */
#include "sim/sim_machine.h"

#include <string.h>

enum { COUNT_BITS = 20, BYTES_AT = 40, BYTES_BITS = 22, MOST_COUNT = (1 << COUNT_BITS) - 1 };
#define IS_THERE (UINT64_C(1) << 62)
#define PARITY (UINT64_C(1) << 63)

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
static uint64_t make(uint32_t expected, uint32_t pending, int64_t bytes, uint64_t parity)
{
    uint64_t field = (uint64_t)bytes & ((UINT64_C(1) << BYTES_BITS) - 1);
    return expected | (uint64_t)pending << COUNT_BITS | field << BYTES_AT | IS_THERE | parity;
}

static bool load(struct sim_warp *w, const struct sim_op *op, const uint8_t *host, uint64_t *v)
{
    memcpy(v, host, sizeof *v);
    return *v & IS_THERE ? true : sim_stop(w, op, "there is no mbarrier");
}

/* The phase is over when nothing is to come; the next one begins. */
static void store(struct sim_warp *w, uint8_t *host, uint64_t v)
{
    if (!pending_of(v) && !bytes_of(v))
        v = make(expected_of(v), expected_of(v), 0, (v & PARITY) ^ PARITY);
    memcpy(host, &v, sizeof v);
    w->sim->changes++;
}

bool sim_mbarrier_arrive_at(struct sim_warp *w, const struct sim_op *op, uint8_t *host,
                            uint32_t count, uint64_t *state)
{
    uint64_t v;
    if (!load(w, op, host, &v))
        return false;
    if (count > pending_of(v))
        return sim_stop(w, op, "%u arrivals at an mbarrier that waits for %u", count,
                        pending_of(v));
    if (state)
        *state = v;
    store(w, host, make(expected_of(v), pending_of(v) - count, bytes_of(v), v & PARITY));
    return true;
}

bool sim_mbarrier_await(struct sim_warp *w, const struct sim_op *op, uint8_t *host)
{
    uint64_t v;
    if (!load(w, op, host, &v))
        return false;
    if (pending_of(v) == MOST_COUNT)
        return sim_stop(w, op, "too many arrivals are expected");
    v = make(expected_of(v), pending_of(v) + 1, bytes_of(v), v & PARITY);
    memcpy(host, &v, sizeof v);
    return true;
}

/* --- events --- */

/* Hosts and offsets of the lanes' mbarriers. */
static bool reach(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                  uint8_t *host[SIM_LANES], uint64_t offset[SIM_LANES])
{
    uint64_t address[SIM_LANES];
    sim_addresses(w, op, address);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        enum sim_space space;
        host[lane] = sim_resolve(w, lane, op->space, address[lane], 8, &space, &offset[lane]);
        if (!host[lane] || offset[lane] % 8 || space != SIM_SHARED)
            return sim_trap(w, op, lane, "there is no mbarrier at 0x%llx",
                            (unsigned long long)address[lane]);
    }
    return true;
}

/* One event for all lanes of a mask that have the same mbarrier. */
static bool tell(struct sim_warp *w, const struct sim_op *op, enum sim_sync kind, uint32_t mask,
                 const uint64_t offset[SIM_LANES], int64_t count)
{
    struct sim_sync_event event = {
        .kind = kind, .order = op->order, .scope = op->scope, .count = count};
    if (!w->observed)
        return true;
    sim_place_of(w, op, &event.at);
    memcpy(event.address, offset, sizeof event.address);
    while (mask) {
        uint64_t at = offset[__builtin_ctz(mask)];
        event.mask = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            if (offset[__builtin_ctz(rest)] == at)
                event.mask |= rest & -rest;
        mask &= ~event.mask;
        if (!sim_tell_sync(w, &event))
            return false;
    }
    return true;
}

/* --- instructions --- */

static bool init(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint8_t *host[SIM_LANES];
    uint64_t offset[SIM_LANES] = {0};
    const uint32_t *count = sim_u32(w->file, op->slot[1]);
    if (!reach(w, op, mask, host, offset))
        return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (!count[lane] || count[lane] > MOST_COUNT)
            return sim_stop(w, op, "an mbarrier cannot wait for %u arrivals", count[lane]);
        uint64_t v = make(count[lane], count[lane], 0, 0);
        memcpy(host[lane], &v, sizeof v);
        if (!tell(w, op, SIM_MBARRIER_INIT, rest & -rest, offset, count[lane]))
            return false;
    }
    w->sim->changes++;
    return true;
}

static bool inval(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint8_t *host[SIM_LANES];
    uint64_t offset[SIM_LANES] = {0}, v;
    if (!reach(w, op, mask, host, offset))
        return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        if (!load(w, op, host[__builtin_ctz(rest)], &v))
            return false;
        memset(host[__builtin_ctz(rest)], 0, sizeof v);
    }
    return tell(w, op, SIM_MBARRIER_INVAL, mask, offset, 0);
}

/* expect_tx, complete_tx: bytes more, bytes less. op->small: less. */
static bool count_bytes(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint8_t *host[SIM_LANES];
    uint64_t offset[SIM_LANES] = {0}, v;
    const uint32_t *count = sim_u32(w->file, op->slot[1]);
    if (!reach(w, op, mask, host, offset))
        return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        int64_t bytes = op->small ? -(int64_t)count[lane] : (int64_t)count[lane];
        if (!load(w, op, host[lane], &v))
            return false;
        v = make(expected_of(v), pending_of(v), bytes_of(v) + bytes, v & PARITY);
        store(w, host[lane], v);
    }
    return true;
}

/* op->small: .expect_tx, small2: arrive_drop. */
static bool arrive(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint8_t *host[SIM_LANES];
    uint64_t offset[SIM_LANES] = {0}, v, state;
    const uint32_t *count = sim_u32(w->file, op->slot[1]);
    if (!reach(w, op, mask, host, offset))
        return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t arrivals = op->small ? 1 : count[lane];
        if (!load(w, op, host[lane], &v))
            return false;
        if (op->small)
            v = make(expected_of(v), pending_of(v), bytes_of(v) + count[lane], v & PARITY);
        if (op->small2 && expected_of(v) <= arrivals)
            return sim_stop(w, op, "nobody would be expected at the mbarrier");
        if (op->small2)
            v = make(expected_of(v) - arrivals, pending_of(v), bytes_of(v), v & PARITY);
        memcpy(host[lane], &v, sizeof v);
        if (!tell(w, op, SIM_MBARRIER_ARRIVE, rest & -rest, offset, arrivals) ||
            !sim_mbarrier_arrive_at(w, op, host[lane], arrivals, &state))
            return false;
        if (op->slot[0] != SIM_NO_SLOT)
            sim_u64(w->file, op->slot[0])[lane] = state;
    }
    return true;
}

/* op->small: by parity. True: the phase of that state or parity is over. */
static bool wait(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint8_t *host[SIM_LANES];
    uint64_t offset[SIM_LANES] = {0}, v;
    uint32_t *d = sim_u32(w->file, op->slot[0]), over = 0;
    if (!reach(w, op, mask, host, offset))
        return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (!load(w, op, host[lane], &v))
            return false;
        bool parity = op->small ? sim_u32(w->file, op->slot[1])[lane] & 1
                                : sim_u64(w->file, op->slot[1])[lane] >> 63;
        over |= (uint32_t)(parity != (v >> 63)) << lane;
    }
    *d = (*d & ~mask) | over;
    if (over != mask)
        sim_polls(w, op, mask & ~over, true);
    return tell(w, op, SIM_MBARRIER_WAIT, over, offset, 0) &&
           tell(w, op, SIM_MBARRIER_FAILED, mask & ~over, offset, 0);
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
    if (ptx_has(ins, MOD_NO_COMPLETE))
        return false;
    if (op->order == SIM_WEAK)
        op->order = SIM_RELEASE;
    op->run = arrive;
    op->small = ptx_has(ins, MOD_EXPECT_TX);
    op->small2 = ins->op == PTX_MBARRIER_ARRIVE_DROP;
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
