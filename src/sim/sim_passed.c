/* Values that a call passes: to a frame, or to a function of the machine's own. */
#include "sim/sim_machine.h"

#include <string.h>

bool sim_decode_passed(struct sim_decoder *d, const struct ptx_operand *o, struct sim_passed **list,
                       size_t *count)
{
    *count = o && o->kind == PTX_LIST ? o->count : 0;
    *list = arena_array(sim_decoder_arena(d), struct sim_passed, *count + 1);
    for (size_t i = 0; i < *count; i++) {
        const struct ptx_operand *e = &o->elements[i];
        struct sim_passed *p = &(*list)[i];
        p->slot = SIM_NO_SLOT;
        if (e->kind == PTX_SYMBOL && e->base == PTX_BASE_VARIABLE &&
            sim_local_offset(d, e->variable, &p->at)) {
            p->bytes = (uint32_t)ptx_variable_size(e->variable);
            continue;
        }
        p->lane_bytes = sim_operand_bytes(d, e, MOD_B64);
        p->slot = sim_slot_of(d, e, MOD_B64);
        if (p->slot == SIM_NO_SLOT)
            return false;
    }
    return true;
}

void sim_read_passed(const struct sim_warp *w, const struct sim_frame *frame,
                     const struct sim_passed *p, int lane, uint8_t *bytes, size_t count)
{
    memset(bytes, 0, count);
    if (p->slot == SIM_NO_SLOT) {
        memcpy(bytes, sim_local(w, lane, frame->local_base + p->at),
               count < p->bytes ? count : p->bytes);
    } else if (p->lane_bytes) {
        size_t wide = (size_t)p->lane_bytes;
        memcpy(bytes, frame->file + p->slot + (size_t)lane * wide, count < wide ? count : wide);
    } else {
        bytes[0] = *sim_u32(frame->file, p->slot) >> lane & 1;
    }
}

void sim_write_passed(const struct sim_warp *w, const struct sim_frame *frame,
                      const struct sim_passed *p, int lane, const uint8_t *bytes, size_t count)
{
    if (p->slot == SIM_NO_SLOT) {
        memcpy(sim_local(w, lane, frame->local_base + p->at), bytes,
               count < p->bytes ? count : p->bytes);
    } else if (p->lane_bytes) {
        size_t wide = (size_t)p->lane_bytes;
        memcpy(frame->file + p->slot + (size_t)lane * wide, bytes, count < wide ? count : wide);
    } else {
        uint32_t *word = sim_u32(frame->file, p->slot), bit = UINT32_C(1) << lane;
        *word = bytes[0] ? *word | bit : *word & ~bit;
    }
}

size_t sim_argument_count(const struct sim_op *op)
{
    return ((const struct sim_call *)op->data)->argument_count;
}

uint64_t sim_argument(const struct sim_warp *w, const struct sim_op *op, size_t n, int lane)
{
    const struct sim_call *call = op->data;
    uint64_t value = 0;
    sim_read_passed(w, w->frame, &call->arguments[n], lane, (uint8_t *)&value, sizeof value);
    return value;
}

void sim_give_result(struct sim_warp *w, const struct sim_op *op, int lane, uint64_t value)
{
    const struct sim_call *call = op->data;
    if (call->result_count)
        sim_write_passed(w, w->frame, &call->results[0], lane, (const uint8_t *)&value,
                         sizeof value);
}
