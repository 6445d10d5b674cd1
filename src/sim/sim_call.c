/* Calls: a frame for the lanes that call, arguments copied in, results copied out.
 *
 * Lanes that reach the same call from the same frame at different times share the callee's
 * frame: each lane has its own registers, and paths inside can join. */
#include "sim/sim_machine.h"

#include <string.h>

static struct sim_passed as_passed(const struct sim_parameter *p)
{
    return (struct sim_passed){p->slot, p->lane_bytes, p->at, p->bytes};
}

static void copy_lanes(const struct sim_warp *w, const struct sim_frame *from,
                       const struct sim_passed *source, const struct sim_frame *to,
                       const struct sim_passed *target, uint32_t mask)
{
    uint8_t small[16];
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (source->slot == SIM_NO_SLOT && target->slot == SIM_NO_SLOT) {
            memcpy(sim_local(w, lane, to->local_base + target->at),
                   sim_local(w, lane, from->local_base + source->at),
                   source->bytes < target->bytes ? source->bytes : target->bytes);
            continue;
        }
        sim_read_passed(w, from, source, lane, small, sizeof small);
        sim_write_passed(w, to, target, lane, small, sizeof small);
    }
}

/* Tells observers that a call writes the values that it passes in memory. They come from
 * `source` in the memory of `from`; source NULL: from elsewhere. */
static bool tell_written(struct sim_warp *w, const struct sim_op *op,
                         const struct sim_frame *caller, const struct sim_frame *frame,
                         const struct sim_passed *p, const struct sim_frame *from,
                         const struct sim_passed *source, uint32_t mask)
{
    uint64_t across[SIM_LANES];
    if (!w->watched || p->slot != SIM_NO_SLOT || !p->bytes)
        return true;
    struct sim_access access = {
        .space = SIM_LOCAL, .kind = SIM_WRITE, .mask = mask, .bytes = (int)p->bytes};
    sim_place_of(w, op, &access.at);
    access.at.function = caller->code->function;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        access.address[lane] = frame->local_base + p->at;
        access.before[lane] = sim_local(w, lane, access.address[lane]);
        across[lane] = source ? from->local_base + source->at : 0;
    }
    if (source && source->slot == SIM_NO_SLOT && source->bytes >= p->bytes)
        access.across = across;
    return sim_notify_access(w, &access);
}

/* --- calling --- */

static struct sim_frame *frame_for(struct sim_warp *w, struct sim_code *code,
                                   struct sim_frame *parent, const struct sim_op *op)
{
    for (int i = 0; i < w->path_count; i++)
        for (struct sim_frame *f = w->paths[i].frame; f; f = f->parent)
            if (f->parent == parent && f->call == op && f->code == code &&
                f->local_base >= sim_stack_top(parent))
                return f;
    return sim_frame_new(w, code, parent, op);
}

/* A gigabyte of host memory for the calls of a launch. */
enum { MOST_DEPTH = 16384, MOST_STACKS = 1 << 30 };

static bool enter(struct sim_warp *w, const struct sim_op *op, const struct ptx_function *f,
                  uint32_t mask)
{
    const struct sim_call *call = op->data;
    struct sim_code *code = sim_code_of(w->sim, f);
    struct sim_frame *parent = w->frame;
    if (!code)
        return sim_stop(w, op, "`%s` is defined in another module", f->name);
    if (f->entry)
        return sim_stop(w, op, "`%s` is a kernel, which is not called", f->name);
    if (code->refused)
        return sim_stop(w, op, "`%s` has %s", f->name, code->refused);
    if (parent->depth >= MOST_DEPTH ||
        (uint64_t)sim_stack_top(parent) + code->local_bytes > GPU_LOCAL_BYTES ||
        w->sim->stack_bytes > MOST_STACKS)
        return sim_stop(w, op, "the stack is full: %u calls deep", parent->depth);
    if (call->argument_count != code->parameter_count || call->result_count != code->result_count)
        return sim_stop(w, op, "`%s` takes different arguments", f->name);
    sim_split_to(w, op + 1, mask, code->ops);
    struct sim_frame *frame = frame_for(w, code, parent, op);
    frame->lanes |= mask;
    for (size_t i = 0; i < call->argument_count; i++) {
        struct sim_passed target = as_passed(&code->parameters[i]);
        if (!tell_written(w, op, parent, frame, &target, parent, &call->arguments[i], mask))
            return false;
        copy_lanes(w, parent, &call->arguments[i], frame, &target, mask);
    }
    w->paths[w->path].frame = frame;
    return false;
}

static bool call_direct(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct sim_call *call = op->data;
    return enter(w, op, call->function, mask);
}

/* Calls for the lanes with the same target as the first lane; the others stay before the call. */
static bool call_indirect(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint64_t *address = sim_u64(w->file, op->slot[0]);
    uint64_t first = address[__builtin_ctz(mask)];
    uint32_t lanes = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        if (address[__builtin_ctz(rest)] == first)
            lanes |= rest & -rest;
    const struct ptx_function *f = sim_function_at(w->sim, first);
    if (!f)
        return sim_stop(w, op, "0x%llx is not the address of a function",
                        (unsigned long long)first);
    if (lanes == mask)
        return enter(w, op, f, mask);
    sim_split_to(w, op, lanes, op);
    w->path_mask = lanes;
    return enter(w, op, f, lanes);
}

bool sim_return(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_frame *frame = w->frame, *parent = frame->parent;
    const struct sim_call *call = frame->call->data;
    for (size_t i = 0; i < call->result_count; i++) {
        struct sim_passed source = as_passed(&frame->code->results[i]);
        if (!tell_written(w, frame->call, parent, parent, &call->results[i], frame, &source, mask))
            return false;
        copy_lanes(w, frame, &source, parent, &call->results[i], mask);
    }
    sim_split_to(w, op + 1, mask, frame->call + 1);
    w->paths[w->path].frame = parent;
    frame->lanes &= ~mask;
    if (!frame->lanes)
        sim_frame_release(w, frame);
    return false;
}

static bool call_builtin(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct sim_call *call = op->data;
    if (call->result_count &&
        !tell_written(w, op, w->frame, w->frame, &call->results[0], NULL, NULL, mask))
        return false;
    return call->builtin(w, op, mask);
}

bool sim_choose_call(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    const struct ptx_operand *o = ins->operands;
    struct sim_call *call = arena_new(sim_decoder_arena(d), struct sim_call);
    op->data = call;
    if (ins->operand_count < 3 ||
        !sim_decode_passed(d, &o[0], &call->results, &call->result_count) ||
        !sim_decode_passed(d, &o[2], &call->arguments, &call->argument_count))
        return false;
    if (o[1].kind == PTX_REGISTER) {
        op->slot[0] = sim_slot_of(d, &o[1], MOD_B64);
        op->run = call_indirect;
        return sim_operand_bytes(d, &o[1], MOD_B64) == 8;
    }
    if (o[1].kind != PTX_SYMBOL || o[1].base != PTX_BASE_FUNCTION)
        return false;
    call->function = o[1].function;
    op->run = call_direct;
    if (!call->function->defined) {
        op->run = call_builtin;
        call->builtin = sim_builtin(call->function->name);
    }
    return call->function->defined || call->builtin;
}
