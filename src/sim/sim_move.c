/* mov of registers, special registers and addresses; packing and unpacking; cvta, isspacep and
 * other address arithmetic. */
#include "sim/sim_machine.h"

#include <string.h>

#define MOVE(name, type)                                                                           \
    static bool name(struct sim_warp *w, const struct sim_op *op, uint32_t mask)                   \
    {                                                                                              \
        type *d = (type *)(void *)(w->file + op->slot[0]);                                         \
        const type *a = (const type *)(const void *)(w->file + op->slot[1]);                       \
        if (mask == SIM_ALL) {                                                                     \
            memmove(d, a, sizeof *d *SIM_LANES);                                                   \
            return true;                                                                           \
        }                                                                                          \
        for (uint32_t rest = mask; rest; rest &= rest - 1) {                                       \
            int i = __builtin_ctz(rest);                                                           \
            d[i] = a[i];                                                                           \
        }                                                                                          \
        return true;                                                                               \
    }
struct sixteen {
    uint64_t half[2];
};
MOVE(mov_2, uint16_t)
MOVE(mov_4, uint32_t)
MOVE(mov_8, uint64_t)
MOVE(mov_16, struct sixteen)

static bool mov_predicate(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t *d = sim_u32(w->file, op->slot[0]);
    uint32_t a = *sim_u32(w->file, op->slot[1]) ^ (op->small ? SIM_ALL : 0);
    *d = (*d & ~mask) | (a & mask);
    return true;
}

/* Copies a few bytes; words and doubles, as which shuffles move numbers, without a call. */
static inline void copy_small(uint8_t *to, const uint8_t *from, size_t bytes)
{
    if (bytes == sizeof(uint32_t))
        memcpy(to, from, sizeof(uint32_t));
    else if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, bytes);
}

/* op->more: the parts' slots; op->small: bytes of a part; op->slot[0]: the whole, of op->bytes. */
static bool mov_pack(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        size_t i = (size_t)__builtin_ctz(rest);
        uint8_t whole[16];
        for (size_t k = 0; k < op->more_count; k++)
            copy_small(whole + k * op->small, w->file + op->more[k] + i * op->small2, op->small);
        copy_small(w->file + op->slot[0] + i * op->bytes, whole, op->bytes);
    }
    return true;
}
static bool mov_unpack(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        size_t i = (size_t)__builtin_ctz(rest);
        const uint8_t *whole = w->file + op->slot[0] + i * op->bytes;
        for (size_t k = 0; k < op->more_count; k++) {
            uint8_t *d = w->file + op->more[k] + i * op->small2;
            d[op->small2 - 1] = 0; /* a part of one byte has a register of two */
            copy_small(d, whole + k * op->small, op->small);
        }
    }
    return true;
}

/* Reads %clock and similar registers: each instruction takes four cycles, and a cycle is a
 * nanosecond. */
static bool mov_clock(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint64_t now = (uint64_t)w->sim->steps++ * 4; /* never the same twice */
    now >>= op->small;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        memcpy(w->file + op->slot[0] + (size_t)__builtin_ctz(rest) * op->bytes, &now, op->bytes);
    return true;
}

static bool choose_clock(struct sim_decoder *d, const struct ptx_instruction *ins,
                         const struct ptx_operand *from, struct sim_op *op)
{
    switch (from->special) {
    case PTX_SREG_CLOCK_HI:
    case PTX_SREG_GLOBALTIMER_HI: op->small = 32; break;
    case PTX_SREG_CLOCK:
    case PTX_SREG_CLOCK64:
    case PTX_SREG_GLOBALTIMER:
    case PTX_SREG_GLOBALTIMER_LO: op->small = 0; break;
    default: return false; /* performance counters */
    }
    op->bytes = (uint8_t)sim_operand_bytes(d, &ins->operands[0], ptx_type(ins, 0));
    op->slot[0] = sim_slot_destination(d, &ins->operands[0], ptx_type(ins, 0));
    op->run = mov_clock;
    return op->bytes >= 4;
}

/* Prepares the sources and destinations of any kind that a form of mov.b takes. */
static bool choose_pieces(struct sim_decoder *d, const struct ptx_instruction *ins, bool packs,
                          struct sim_op *op)
{
    const struct ptx_operand *whole = &ins->operands[packs ? 0 : 1];
    const struct ptx_operand *parts = &ins->operands[packs ? 1 : 0];
    static const enum ptx_mod types[] = {[1] = MOD_B8, [2] = MOD_B16, [4] = MOD_B32, [8] = MOD_B64};
    int bytes = ptx_mods[ptx_type(ins, 0)].bits / 8;
    if (!parts->count || bytes % (int)parts->count || bytes / (int)parts->count > 8)
        return false;
    int part = bytes / (int)parts->count;
    op->bytes = (uint8_t)bytes;
    op->small = (uint16_t)part;
    op->small2 = (uint16_t)(part < 2 ? 2 : part);
    op->slot[0] = packs ? sim_slot_destination(d, whole, ptx_type(ins, 0))
                        : sim_slot_of(d, whole, ptx_type(ins, 0));
    op->run = packs ? mov_pack : mov_unpack;
    for (uint32_t i = 0; i < parts->count; i++)
        if (sim_operand_bytes(d, &parts->elements[i], types[part]) != op->small2)
            return false;
    return op->slot[0] != SIM_NO_SLOT && sim_more_of(d, op, parts, types[part]) &&
           sim_operand_bytes(d, whole, ptx_type(ins, 0)) == bytes;
}

static bool choose_mov(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    enum ptx_mod type = ptx_type(ins, 0);
    const struct ptx_operand *to = &ins->operands[0], *from = &ins->operands[1];
    if (to->kind == PTX_VECTOR || from->kind == PTX_VECTOR)
        return choose_pieces(d, ins, from->kind == PTX_VECTOR, op);
    if (from->kind == PTX_SPECIAL && sim_slot_of(d, from, type) == SIM_NO_SLOT)
        return choose_clock(d, ins, from, op);
    op->slot[0] = sim_slot_destination(d, to, type);
    op->slot[1] = sim_slot_of(d, from, type);
    op->small = from->negated;
    switch (sim_operand_bytes(d, to, type)) {
    case 0: op->run = mov_predicate; break;
    case 2: op->run = mov_2; break;
    case 4: op->run = mov_4; break;
    case 8: op->run = mov_8; break;
    default: op->run = mov_16; break;
    }
    return op->slot[0] != SIM_NO_SLOT && op->slot[1] != SIM_NO_SLOT &&
           sim_operand_bytes(d, to, type) == sim_operand_bytes(d, from, type);
}

/* --- addresses --- */

static uint64_t window_base(enum ptx_mod space)
{
    switch (space) {
    case MOD_SHARED:
    case MOD_SHARED_CTA:
    case MOD_SHARED_CLUSTER: return sim_address_of(SIM_NUMBER_SHARED, 0);
    case MOD_LOCAL: return sim_address_of(SIM_NUMBER_LOCAL, 0);
    case MOD_PARAM:
    case MOD_PARAM_ENTRY: return sim_address_of(SIM_NUMBER_PARAM, 0);
    default: return 0; /* global and constant addresses are already generic */
    }
}

static bool cvta(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint64_t *d = sim_u64(w->file, op->slot[0]);
    const uint64_t *a = sim_u64(w->file, op->slot[1]);
    uint64_t add = (uint64_t)op->imm;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        d[i] = a[i] + add;
    }
    return true;
}

static bool choose_cvta(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    uint64_t base = window_base(ptx_find(ins, PTX_CLASS_SPACE, 0));
    op->slot[0] = sim_slot_destination(d, &ins->operands[0], MOD_U64);
    op->slot[1] = sim_slot_of(d, &ins->operands[1], MOD_U64);
    op->imm = (int64_t)(ptx_has(ins, MOD_TO) ? 0 - base : base);
    op->run = cvta;
    return op->slot[1] != SIM_NO_SLOT && sim_operand_bytes(d, &ins->operands[0], MOD_U64) == 8 &&
           sim_operand_bytes(d, &ins->operands[1], MOD_U64) == 8;
}

static bool in_space(const struct sim *sim, uint16_t space, uint64_t address)
{
    uint64_t number = sim_number_of(address);
    switch (space) {
    case MOD_SHARED:
    case MOD_SHARED_CTA:
    case MOD_SHARED_CLUSTER: return number == SIM_NUMBER_SHARED;
    case MOD_LOCAL: return number == SIM_NUMBER_LOCAL;
    case MOD_PARAM:
    case MOD_PARAM_ENTRY: return number == SIM_NUMBER_PARAM;
    default:
        /* parameters of a kernel are in the window of global memory, as on an H200 */
        if (number == SIM_NUMBER_PARAM)
            return space == MOD_GLOBAL;
        return number >= SIM_FIRST_ALLOCATION && number < sim->allocations.count &&
               sim->allocations.data[number].constant == (space == MOD_CONST);
    }
}

static bool isspacep(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t *d = sim_u32(w->file, op->slot[0]), is = 0;
    const uint64_t *a = sim_u64(w->file, op->slot[1]);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        is |= (uint32_t)in_space(w->sim, op->small, a[i]) << i;
    }
    *d = (*d & ~mask) | is;
    return true;
}

static bool choose_isspacep(struct sim_decoder *d, const struct ptx_instruction *ins,
                            struct sim_op *op)
{
    op->slot[0] = sim_slot_destination(d, &ins->operands[0], MOD_PRED);
    op->slot[1] = sim_slot_of(d, &ins->operands[1], MOD_U64);
    op->small = (uint16_t)ptx_find(ins, PTX_CLASS_SPACE, 0);
    op->run = isspacep;
    return op->slot[1] != SIM_NO_SLOT && sim_operand_bytes(d, &ins->operands[1], MOD_U64) == 8;
}

static bool choose_in_cluster(struct sim_decoder *d, const struct ptx_instruction *ins,
                              struct sim_op *op)
{
    enum ptx_mod type = ptx_type(ins, 0);
    bool ranks = ins->op == PTX_GETCTARANK;
    op->bytes = (uint8_t)(ptx_mods[type].bits / 8);
    op->small = !ptx_has(ins, MOD_SHARED_CLUSTER);
    op->small2 = ranks ? 4 : op->bytes;
    op->slot[0] = sim_slot_destination(d, &ins->operands[0], ranks ? MOD_U32 : type);
    const struct ptx_operand *from = &ins->operands[1];
    uint64_t base = op->small && from->kind == PTX_SYMBOL ? window_base(MOD_SHARED) : 0, offset;
    if (base && from->base == PTX_BASE_VARIABLE &&
        sim_locate(d->sim, from->variable, false, &offset))
        op->slot[1] = sim_slot_constant(d, base + offset + (uint64_t)ptx_offset(from), op->bytes);
    else if (!base)
        op->slot[1] = sim_slot_of(d, from, type);
    if (!ranks)
        op->slot[2] = sim_slot_of(d, &ins->operands[2], MOD_U32);
    op->run = sim_in_cluster;
    return op->slot[0] != SIM_NO_SLOT && op->slot[1] != SIM_NO_SLOT &&
           (ranks || op->slot[2] != SIM_NO_SLOT);
}

/* Makes a cache policy: a number that the simulator ignores. */
static bool choose_policy(struct sim_decoder *d, const struct ptx_instruction *ins,
                          struct sim_op *op)
{
    op->slot[0] = sim_slot_destination(d, &ins->operands[0], MOD_B64);
    op->slot[1] = sim_slot_constant(d, 0, 8);
    op->run = mov_8;
    return true;
}

bool sim_choose_move(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch (ins->op) {
    case PTX_MOV: return choose_mov(d, ins, op);
    case PTX_CVTA: return choose_cvta(d, ins, op);
    case PTX_ISSPACEP: return choose_isspacep(d, ins, op);
    case PTX_MAPA:
    case PTX_GETCTARANK: return choose_in_cluster(d, ins, op);
    case PTX_CREATEPOLICY: return choose_policy(d, ins, op);
    default: return false;
    }
}
