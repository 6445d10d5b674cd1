/* The decoder's functions (sim_own.h) for tests of values. */
#include "value_decoder.h"

uint32_t sim_slot_of_register(struct sim_decoder *d, uint32_t reg)
{
    (void)d;
    return reg * VALUE_SLOT_BYTES;
}
uint32_t sim_slot_new(struct sim_decoder *d, int bytes)
{
    (void)bytes;
    return d->next++ * VALUE_SLOT_BYTES;
}
uint32_t sim_slot_constant(struct sim_decoder *d, uint64_t bits, int bytes)
{
    uint32_t slot = sim_slot_new(d, bytes);
    for (int i = 0; i < SIM_LANES && d->file; i++)
        switch (bytes) {
        case 0: sim_u32(d->file, slot)[0] = bits ? UINT32_MAX : 0; break;
        case 2: sim_u16(d->file, slot)[i] = (uint16_t)bits; break;
        case 4: sim_u32(d->file, slot)[i] = (uint32_t)bits; break;
        default: sim_u64(d->file, slot)[i] = bits; break;
        }
    return slot;
}
uint32_t sim_slot_of(struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type)
{
    if (o->kind == PTX_REGISTER)
        return sim_slot_of_register(d, o->reg);
    return o->kind == PTX_IMMEDIATE ? sim_slot_constant(d, o->bits, value_type_bytes(type))
                                    : SIM_NO_SLOT;
}
uint32_t sim_slot_destination(struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type)
{
    return o->kind == PTX_SINK ? sim_slot_new(d, value_type_bytes(type))
                               : sim_slot_of_register(d, o->reg);
}
uint32_t sim_slot_carry(struct sim_decoder *d)
{
    (void)d;
    return VALUE_CARRY * VALUE_SLOT_BYTES;
}
int sim_register_bytes(const struct sim_decoder *d, uint32_t reg)
{
    return d->width[reg];
}
int sim_operand_bytes(const struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type)
{
    return o->kind == PTX_REGISTER ? d->width[o->reg] : value_type_bytes(type);
}
struct arena *sim_decoder_arena(struct sim_decoder *d)
{
    return &d->arena;
}
int sim_decoder_target(const struct sim_decoder *d)
{
    (void)d;
    return 90;
}
const struct ptx_function *sim_decoder_function(const struct sim_decoder *d)
{
    return d->function;
}
bool sim_more_of(struct sim_decoder *d, struct sim_op *op, const struct ptx_operand *o,
                 enum ptx_mod type)
{
    uint32_t *more = arena_array(&d->arena, uint32_t, o->count);
    for (uint32_t i = 0; i < o->count; i++)
        more[i] = sim_slot_of(d, &o->elements[i], type);
    op->more = more;
    op->more_count = o->count;
    return true;
}
