/* Branches, calls, exits. */
#include "sim/sim_machine.h"

static bool bra(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct sim_op *to = w->frame->code->ops + op->target;
    if (w->wait_ends && w->polled && !w->polled_mbarrier && to <= op) {
        w->wait_ends = w->polled = false;
        return true;
    }
    if (mask == w->path_mask) {
        w->next = to;
        w->state = SIM_JUMPS;
        return false;
    }
    sim_split_to(w, op + 1, mask, to);
    return false;
}

/* Branches the lanes to each target in turn. op->more: the targets. */
static bool brx(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *index = sim_u32(w->file, op->slot[0]);
    const struct sim_op *ops = w->frame->code->ops;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        if (index[__builtin_ctz(rest)] >= op->more_count)
            return sim_stop(w, op, "index %u is not one of %u targets", index[__builtin_ctz(rest)],
                            op->more_count);
    while (mask) {
        uint32_t at = index[__builtin_ctz(mask)], lanes = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            if (index[__builtin_ctz(rest)] == at)
                lanes |= rest & -rest;
        sim_split_to(w, op + 1, lanes, ops + op->more[at]);
        mask &= ~lanes;
        for (int i = 0; mask && i < w->path_count; i++) /* the other lanes are at op + 1 now */
            if (w->paths[i].mask & mask)
                w->path = i;
    }
    return false;
}

static bool leave(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return sim_leave(w, op, mask);
}

/* Returns true if a cooperative grid has no workspace: its sync() then stops the program. */
static bool lacks_workspace(const struct sim_warp *w)
{
    const struct sim_code *code = w->frame->code;
    for (size_t i = 0; i < code->fill_count && !w->sim->launch->workspace; i++)
        if (code->fills[i].special == PTX_SREG_ENVREG1)
            return true;
    return false;
}

static bool trap(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return sim_trap(w, op, __builtin_ctz(mask), "the program stopped itself (trap)%s",
                    lacks_workspace(w)
                        ? ": it asks for the grid's workspace, which only a cooperative launch has "
                          "(--cooperative)"
                        : "");
}

static bool sleeps(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)op, (void)mask;
    w->polled = true;
    return true;
}

static bool nothing(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)w, (void)op, (void)mask;
    return true;
}

static bool choose_bra(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    op->run = bra;
    op->target = sim_op_of_label(d, ins->operands[0].label);
    return true;
}

static bool choose_brx(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    const struct ptx_function *f = sim_decoder_function(d);
    const struct ptx_label *name = ins->operands[1].label;
    const struct ptx_targets *targets = f->body.data[name->statement].targets;
    op->slot[0] = sim_slot_of(d, &ins->operands[0], MOD_U32);
    uint32_t *more = arena_array(sim_decoder_arena(d), uint32_t, targets->labels.count + 1);
    for (size_t i = 0; i < targets->labels.count; i++)
        more[i] = sim_op_of_label(d, targets->labels.data[i]);
    op->more = more;
    op->more_count = (uint32_t)targets->labels.count;
    op->run = brx;
    return op->slot[0] != SIM_NO_SLOT;
}

bool sim_choose_control(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch (ins->op) {
    case PTX_BRA: return choose_bra(d, ins, op);
    case PTX_BRX_IDX: return choose_brx(d, ins, op);
    case PTX_CALL: return sim_choose_call(d, ins, op);
    case PTX_RET: op->run = sim_decoder_function(d)->entry ? leave : sim_return; return true;
    case PTX_EXIT: op->run = leave; return true;
    case PTX_TRAP: op->run = trap; return true;
    case PTX_NANOSLEEP: op->run = sleeps; return true;
    case PTX_PMEVENT:
    case PTX_BRKPT:
    case PTX_GRIDDEPCONTROL: op->run = nothing; return true;
    default: return false;
    }
}
