/* alloca, stacksave, stackrestore: PTX ISA, stack-manipulation-instructions.
 *
 * The stack grows upwards: a frame's variables are at its local_base, and the memory from alloca
 * is above them, lane by lane. It is freed when the frame ends. */
#include "sim/sim_machine.h"

#include <assert.h>
#include <string.h>

/* Gives the current frame an end of the stack for each lane, from now on. */
static void keep_tops(struct sim_frame *f)
{
    for (int lane = 0; !f->stacked && lane < SIM_LANES; lane++)
        f->top[lane] = f->local_base + f->code->local_bytes;
    f->stacked = true;
}

static void give(const struct sim_warp *w, const struct sim_op *op, int lane, uint64_t value)
{
    memcpy(w->file + op->slot[0] + (size_t)lane * op->bytes, &value, op->bytes);
}

static uint64_t take(const struct sim_warp *w, const struct sim_op *op, uint32_t slot, int lane)
{
    assert(op->bytes <= sizeof(uint64_t));
    uint64_t value = 0;
    memcpy(&value, w->file + slot + (size_t)lane * op->bytes, op->bytes);
    return value;
}

/* op->imm: the alignment. Without room a lane gets the end of its stack, where any access is a
 * fault. */
static bool alloca_lanes(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_frame *f = w->frame;
    const uint64_t to = (uint64_t)op->imm;
    assert(to && !(to & (to - 1))); /* sim_choose_stack refuses others */
    keep_tops(f);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t bytes = take(w, op, op->slot[1], lane), at = (f->top[lane] + to - 1) / to * to;
        if (at > GPU_LOCAL_BYTES || bytes > GPU_LOCAL_BYTES - at) {
            if (!sim_no_address(w, op, lane,
                                "alloca of %llu bytes: the stack has %u already, and a thread may "
                                "have %d",
                                (unsigned long long)bytes, f->top[lane], GPU_LOCAL_BYTES))
                return false;
            at = f->top[lane];
            bytes = 0;
        }
        sim_local_room(w, (size_t)(at + bytes));
        f->top[lane] = (uint32_t)(at + bytes);
        give(w, op, lane, at);
    }
    return true;
}

static bool save(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        give(w, op, __builtin_ctz(rest), sim_stack_top_of(w->frame, __builtin_ctz(rest)));
    return true;
}

static bool restore(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_frame *f = w->frame;
    const uint64_t least = (uint64_t)f->local_base + f->code->local_bytes;
    keep_tops(f);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t to = take(w, op, op->slot[0], lane);
        if (to >= least && to <= f->top[lane])
            f->top[lane] = (uint32_t)to;
        else if (!sim_no_address(w, op, lane,
                                 "stackrestore to 0x%llx, which stacksave did not give: this "
                                 "function's stack is from 0x%llx to 0x%x",
                                 (unsigned long long)to, (unsigned long long)least, f->top[lane]))
            return false;
    }
    return true;
}

bool sim_choose_stack(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    const struct ptx_operand *o = ins->operands;
    enum ptx_mod type = ptx_type(ins, 0);
    op->bytes = (uint8_t)(ptx_mods[type].bits / 8);
    switch (ins->op) {
    case PTX_ALLOCA:
        op->run = alloca_lanes;
        op->imm = ins->operand_count > 2 ? (int64_t)o[2].bits : 8;
        op->slot[1] = sim_slot_of(d, &o[1], type);
        op->slot[0] = sim_slot_destination(d, &o[0], type);
        return op->slot[0] != SIM_NO_SLOT && op->slot[1] != SIM_NO_SLOT && op->imm > 0 &&
               !(op->imm & (op->imm - 1));
    case PTX_STACKSAVE:
        op->run = save;
        op->slot[0] = sim_slot_destination(d, &o[0], type);
        return op->slot[0] != SIM_NO_SLOT;
    case PTX_STACKRESTORE:
        op->run = restore;
        op->slot[0] = sim_slot_of(d, &o[0], type);
        return op->slot[0] != SIM_NO_SLOT;
    default: return false;
    }
}
