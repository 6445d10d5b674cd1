/* cp.async and its groups: PTX ISA, data-movement-and-conversion-instructions-non-bulk-copy.
 *
 * A copy lands at once or, with `async_late`, when a thread waits for it or after some
 * instructions of its warp, whichever comes first. Landing reads the source and writes the
 * destination. Groups are counted for each thread. */
#include "ptx/ptx_choose.h"
#include "sim/sim_mbarrier.h"

#include <string.h>

struct copy {
    const struct sim_op *op;
    struct sim_place at;
    uint32_t number;
    uint32_t mask; /* lanes whose part has not landed */
    uint32_t group[SIM_LANES];
    int64_t issued; /* instructions of the warp before the copy */
    /* True: not a copy, but an arrival at the mbarrier `to`, after all earlier copies have
     * landed. */
    bool arrives;
    uint8_t *to[SIM_LANES], *from[SIM_LANES];
    uint64_t to_offset[SIM_LANES], from_address[SIM_LANES];
    uint8_t bytes[SIM_LANES]; /* bytes that are read; the rest of op->bytes is filled with 0 */
};
struct sim_copies {
    VEC(struct copy) list;
    uint32_t commits[SIM_LANES];
};

static struct sim_copies *copies_of(struct sim_warp *w)
{
    if (!w->copies)
        w->copies = arena_new(w->sim->arena, struct sim_copies);
    return w->copies;
}

/* --- landing --- */

static bool tell_landing(struct sim_warp *w, const struct copy *c, uint32_t mask,
                         const uint8_t *const value[SIM_LANES])
{
    uint64_t from[SIM_LANES];
    struct sim_async_event event = {
        .at = c->at, .kind = SIM_ASYNC_LAND, .mask = mask, .group = c->number};
    struct sim_access read = {.at = c->at,
                              .space = SIM_GLOBAL,
                              .kind = SIM_READ,
                              .group = c->number,
                              .bytes = 0,
                              .across = c->to_offset,
                              .past_l1 = c->op->small};
    struct sim_access write = {.at = c->at,
                               .space = SIM_SHARED,
                               .kind = SIM_WRITE,
                               .mask = mask,
                               .group = c->number,
                               .bytes = c->op->bytes,
                               .across = from,
                               .past_l1 = c->op->small};
    if (!sim_notify_async(w, &event))
        return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        write.address[lane] = c->to_offset[lane];
        write.before[lane] = c->to[lane];
        write.value[lane] = value[lane];
        read.address[lane] = c->from_address[lane];
        read.before[lane] = c->from[lane];
        from[lane] = c->bytes[lane] ? c->from_address[lane] : c->to_offset[lane];
    }
    for (uint32_t rest = mask; rest;) { /* one read for each number of bytes */
        read.bytes = c->bytes[__builtin_ctz(rest)];
        read.mask = 0;
        for (uint32_t lanes = rest; lanes; lanes &= lanes - 1)
            if (c->bytes[__builtin_ctz(lanes)] == read.bytes)
                read.mask |= lanes & -lanes;
        rest &= ~read.mask;
        if (read.bytes && !sim_notify_access(w, &read))
            return false;
    }
    return sim_notify_access(w, &write);
}

static bool land_copy(struct sim_warp *w, const struct copy *c, uint32_t mask)
{
    uint8_t staged[SIM_LANES][16];
    const uint8_t *value[SIM_LANES];
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        value[lane] = staged[lane];
        memset(staged[lane], 0, sizeof staged[lane]);
        if (c->bytes[lane])
            memcpy(staged[lane], c->from[lane], c->bytes[lane]);
    }
    if (w->observed && !tell_landing(w, c, mask, value))
        return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        memcpy(c->to[lane], staged[lane], c->op->bytes);
    }
    w->sim->changes++;
    return true;
}

static bool land_arrival(struct sim_warp *w, const struct copy *c, uint32_t mask)
{
    struct sim_mbarriers at;
    memcpy(at.host, c->to, sizeof at.host);
    memcpy(at.offset, c->to_offset, sizeof at.offset);
    for (int i = 0; i < SIM_LANES; i++)
        at.block[i] = w->block;
    return sim_mbarrier_land(w, c->op, &c->at, mask, &at);
}

/* Removes landed copies from the list and keeps the order of the others. */
static void tidy(struct sim_copies *copies)
{
    size_t kept = 0;
    for (size_t i = 0; i < copies->list.count; i++)
        if (copies->list.data[i].mask) {
            if (kept != i)
                copies->list.data[kept] = copies->list.data[i];
            kept++;
        }
    copies->list.count = kept;
}

/* Lands the lanes' copies of groups below `below`; with UINT32_MAX also copies without a group.
 * Also lands the arrivals with no earlier copy under way. */
static bool land(struct sim_warp *w, uint32_t mask, const uint32_t below[SIM_LANES])
{
    struct sim_copies *copies = copies_of(w);
    uint32_t open = 0; /* lanes with an earlier copy under way */
    bool fine = true;
    for (size_t i = 0; i < copies->list.count && fine; i++) {
        struct copy *c = &copies->list.data[i];
        uint32_t lanes = 0;
        for (uint32_t rest = c->mask & mask; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            if (c->arrives ? !(open & (rest & -rest)) : c->group[lane] < below[lane])
                lanes |= rest & -rest;
        }
        if (lanes)
            fine = c->arrives ? land_arrival(w, c, lanes) : land_copy(w, c, lanes);
        c->mask &= ~lanes;
        open |= c->mask;
    }
    tidy(copies);
    return fine;
}

static const uint32_t everything[SIM_LANES] = {
    UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
    UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
    UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
    UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};

/* The list is in the order of issue. */
bool sim_copies_land_due(struct sim_warp *w)
{
    struct sim_copies *copies = w->copies;
    size_t count = copies ? copies->list.count : 0;
    bool fine = true, some = false;
    for (size_t i = 0; i < count && fine; i++) {
        struct copy *c = &copies->list.data[i];
        if (w->steps - c->issued <= w->sim->land_after)
            break;
        fine = c->arrives ? land_arrival(w, c, c->mask) : land_copy(w, c, c->mask);
        c->mask = 0;
        some = true;
    }
    if (some)
        tidy(copies);
    return fine;
}

bool sim_copies_leave(struct sim_warp *w, uint32_t mask)
{
    return !w->copies || !w->copies->list.count || land(w, mask, everything);
}

void sim_copies_forget(struct sim_warp *w)
{
    if (!w->copies)
        return;
    w->copies->list.count = 0;
    memset(w->copies->commits, 0, sizeof w->copies->commits);
}

bool sim_copies_land_all(struct sim_warp *w)
{
    bool some = w->copies && w->copies->list.count;
    if (some)
        land(w, SIM_ALL, everything);
    return some;
}

/* --- issuing --- */

/* The most copies under way; a program cannot rely on more, because any copy may land at once. */
enum { MOST_COPIES = 4096 };

static bool add(struct sim_warp *w, struct sim_copies *copies, const struct copy *c)
{
    if (copies->list.count >= MOST_COPIES && !land(w, SIM_ALL, everything))
        return false;
    vec_push(w->sim->arena, &copies->list, *c);
    copies->list.data[copies->list.count - 1].issued = w->steps;
    return true;
}

/* The source of cp.async: the op has the destination's address; op->small: .cg. */
struct copied_from {
    struct sim_op address;
    uint32_t size;   /* slot of the number of bytes that are read; SIM_NO_SLOT: all */
    uint32_t ignore; /* predicate of a copy that reads nothing; SIM_NO_SLOT: none */
    bool negated;
};

static void sizes(const struct sim_warp *w, const struct sim_op *op, const struct copied_from *s,
                  uint32_t mask, uint8_t bytes[SIM_LANES])
{
    uint32_t ignored = 0;
    if (s->ignore != SIM_NO_SLOT)
        ignored = *sim_u32(w->file, s->ignore) ^ (s->negated ? SIM_ALL : 0);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t size = s->size != SIM_NO_SLOT ? sim_u32(w->file, s->size)[lane] : op->bytes;
        bytes[lane] = ignored >> lane & 1 ? 0 : (uint8_t)(size < op->bytes ? size : op->bytes);
    }
}

/* Removes from the copy the lanes whose fault an observer let pass. */
static void keep_those_somewhere(const struct sim_warp *w, struct copy *c,
                                 uint8_t *const host[SIM_LANES])
{
    for (uint32_t rest = c->mask; rest; rest &= rest - 1)
        if (host[__builtin_ctz(rest)] == w->sim->nowhere)
            c->mask &= ~(rest & -rest);
}

/* Checks the addresses without telling observers of an access: they hear of it when the copy
 * lands. */
static bool resolve_copy(struct sim_warp *w, const struct sim_op *op, struct copy *c)
{
    const struct copied_from *s = op->data;
    struct sim_want want = {.kind = SIM_WRITE, .bytes = op->bytes, .alignment = op->bytes};
    bool fine;
    uint32_t some = 0, full = 0, mask = c->mask;
    enum sim_space space;
    sizes(w, op, s, mask, c->bytes);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        some |= c->bytes[lane] ? rest & -rest : 0;
        full |= c->bytes[lane] == op->bytes ? rest & -rest : 0;
    }
    sim_addresses(w, op, c->to_offset);
    sim_addresses(w, &s->address, c->from_address);
    fine = sim_reach_untold(w, op, mask, c->to_offset, &want, c->to);
    want.kind = SIM_READ;
    fine =
        fine && (!full || sim_reach_untold(w, &s->address, full, c->from_address, &want, c->from));
    for (uint32_t rest = some & ~full; rest && fine; rest &= rest - 1) {
        want.bytes = c->bytes[__builtin_ctz(rest)];
        fine = sim_reach_untold(w, &s->address, rest & -rest, c->from_address, &want, c->from);
    }
    keep_those_somewhere(w, c, c->to);
    keep_those_somewhere(w, c, c->from);
    for (uint32_t rest = c->mask; rest && fine; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t told = c->to_offset[lane];
        sim_resolve(w, lane, op->space, told, op->bytes, &space, &c->to_offset[lane]);
    }
    return fine;
}

static bool issue(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct copy c = {.op = op, .mask = mask};
    if (!resolve_copy(w, op, &c))
        return false;
    mask = c.mask;
    if (!mask)
        return true;
    if (!w->observed && !w->sim->late)
        return land_copy(w, &c, mask);
    struct sim_copies *copies = copies_of(w);
    c.number = ++w->sim->copies;
    sim_place_of(w, op, &c.at);
    memcpy(c.group, copies->commits, sizeof c.group);
    if (w->observed) {
        struct sim_async_event event = {
            .at = c.at, .kind = SIM_ASYNC_ISSUE, .mask = mask, .group = c.number, .bytes = c.bytes};
        if (!sim_notify_async(w, &event))
            return false;
    }
    return w->sim->late ? add(w, copies, &c) : land_copy(w, &c, mask);
}

static bool commit(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (!w->observed && !w->sim->late)
        return true;
    struct sim_copies *copies = copies_of(w);
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        copies->commits[__builtin_ctz(rest)]++;
    if (!w->observed)
        return true;
    struct sim_async_event event = {.kind = SIM_ASYNC_COMMIT, .mask = mask};
    sim_place_of(w, op, &event.at);
    return sim_notify_async(w, &event);
}

/* op->imm: groups that may be under way; op->small: wait for all copies, committed or not */
static bool wait(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (!w->observed && !w->sim->late)
        return true;
    struct sim_copies *copies = copies_of(w);
    uint32_t below[SIM_LANES];
    for (int i = 0; i < SIM_LANES; i++) {
        uint32_t commits = copies->commits[i];
        below[i] = commits > (uint64_t)op->imm ? commits - (uint32_t)op->imm : 0;
    }
    if (copies->list.count && !land(w, mask, op->small ? everything : below))
        return false;
    if (!w->observed)
        return true;
    struct sim_async_event event = {
        .kind = SIM_ASYNC_WAIT, .mask = mask, .pending = (int)op->imm, .all = op->small};
    sim_place_of(w, op, &event.at);
    return sim_notify_async(w, &event);
}

/* cp.async.mbarrier.arrive; op->small: .noinc */
static bool arrive(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct copy c = {.op = op, .arrives = true};
    struct sim_copies *copies = copies_of(w);
    struct sim_mbarriers at;
    if (!sim_mbarrier_reach(w, op, &mask, &at) ||
        (!op->small && !sim_mbarrier_expect(w, op, mask, &at)))
        return false;
    c.mask = mask;
    memcpy(c.to, at.host, sizeof c.to);
    memcpy(c.to_offset, at.offset, sizeof c.to_offset);
    sim_place_of(w, op, &c.at);
    static const uint32_t none[SIM_LANES];
    return add(w, copies, &c) && (w->sim->late || land(w, mask, none));
}

/* --- choosing --- */

static bool choose_copy(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    struct copied_from *s = arena_new(sim_decoder_arena(d), struct copied_from);
    op->data = s;
    op->run = issue;
    op->bytes = (uint8_t)ins->operands[2].bits;
    op->small = ptx_has(ins, MOD_CG);
    s->size = s->ignore = SIM_NO_SLOT;
    s->address = (struct sim_op){.ins = ins, .where = op->where};
    const struct ptx_slot *fourth =
        ins->operand_count > 3 ? ptx_slot_of(sim_decoder_function(d), ins, 3) : NULL;
    const struct ptx_operand *o = &ins->operands[3];
    if (fourth && fourth->kind == SLOT_PREDICATE) {
        s->ignore = sim_slot_of(d, o, MOD_PRED);
        s->negated = o->negated;
    } else if (fourth && !fourth->when) { /* otherwise it is a cache policy */
        s->size = sim_slot_of(d, o, MOD_U32);
    }
    return (ins->operands[2].kind == PTX_IMMEDIATE) &&
           (op->bytes == 4 || op->bytes == 8 || op->bytes == 16) &&
           sim_decode_address(d, ins, &ins->operands[0], 0, op) &&
           sim_decode_address(d, ins, &ins->operands[1], 1, &s->address);
}

bool sim_choose_async(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch (ins->op) {
    case PTX_CP_ASYNC: return choose_copy(d, ins, op);
    case PTX_CP_ASYNC_COMMIT_GROUP: op->run = commit; return true;
    case PTX_CP_ASYNC_WAIT_GROUP:
        op->run = wait;
        op->imm = (int64_t)ins->operands[0].bits;
        return true;
    case PTX_CP_ASYNC_WAIT_ALL:
        op->run = wait;
        op->small = 1;
        return true;
    case PTX_CP_ASYNC_MBARRIER_ARRIVE:
        op->run = arrive;
        op->small = ptx_has(ins, MOD_NO_INC);
        return sim_decode_address(d, ins, &ins->operands[0], 0, op);
    default: return false;
    }
}
