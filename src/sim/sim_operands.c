/* Assigns slots to operands: the places of registers, constants, special registers and addresses
 * in a frame's file. */
#include "sim/sim_machine.h"

#include <string.h>

struct arena *sim_decoder_arena(struct sim_decoder *d)
{
    return d->sim->arena;
}
int sim_decoder_target(const struct sim_decoder *d)
{
    return d->target;
}
const struct ptx_function *sim_decoder_function(const struct sim_decoder *d)
{
    return d->function;
}

static int bytes_of_type(enum ptx_mod type)
{
    int bits = ptx_mods[type].bits;
    return type == MOD_PRED ? 0 : bits <= 16 ? 2 : bits / 8;
}
int sim_register_bytes(const struct sim_decoder *d, uint32_t reg)
{
    return bytes_of_type(ptx_register_type(d->function, reg));
}
int sim_operand_bytes(const struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type)
{
    return o->kind == PTX_REGISTER ? sim_register_bytes(d, o->reg) : bytes_of_type(type);
}

const void *sim_register_lanes(const struct sim_step *step, uint32_t reg, int *bytes)
{
    const struct sim_frame *frame = step->warp->frame;
    *bytes = bytes_of_type(ptx_register_type(frame->code->function, reg));
    return frame->file + frame->code->registers[reg];
}

/* --- room --- */

/* The most bytes of a file: half a million registers of 64 bits. No program that a compiler
 * makes comes near that. */
enum { MOST_FILE = 1 << 27 };

static uint32_t room_at(struct sim_decoder *d, int bytes)
{
    uint32_t at = bytes ? (d->end + 63) / 64 * 64 : d->end;
    d->full = d->full || at > MOST_FILE;
    if (d->full)
        return 0;
    d->end = at + (uint32_t)(bytes ? bytes * SIM_LANES : 4);
    return at;
}

/* Places predicates first, next to each other. */
void sim_place_registers(struct sim_decoder *d)
{
    size_t count = d->function->registers.count;
    d->registers = arena_array(d->sim->arena, uint32_t, count + 1);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < count; i++) {
            int bytes = sim_register_bytes(d, i);
            if ((bytes == 0) == (pass == 0))
                d->registers[i] = room_at(d, bytes);
        }
    d->end = (d->end + 63) / 64 * 64;
    d->code->zeros = d->end;
    d->carry = SIM_NO_SLOT;
}

uint32_t sim_slot_new(struct sim_decoder *d, int bytes)
{
    uint32_t at = room_at(d, bytes);
    while (d->image.count < d->end - d->code->zeros)
        vec_push(d->sim->arena, &d->image, 0);
    return at;
}

uint32_t sim_slot_constant(struct sim_decoder *d, uint64_t bits, int bytes)
{
    if (bytes && bytes < 8)
        bits &= (UINT64_C(1) << bytes * 8) - 1;
    bool added;
    struct number_entry *known =
        number_map_entry(d->sim->arena, &d->constants[bytes], bits, &added);
    if (!added)
        return (uint32_t)known->value;
    uint32_t slot = sim_slot_new(d, bytes);
    known->value = slot;
    if (d->full)
        return slot;
    uint8_t *image = d->image.data + (slot - d->code->zeros);
    uint32_t all = bits ? SIM_ALL : 0;
    if (!bytes)
        memcpy(image, &all, sizeof all);
    for (int i = 0; bytes && i < SIM_LANES; i++)
        memcpy(image + i * bytes, &bits, bytes < 8 ? (size_t)bytes : 8);
    return slot;
}

uint32_t sim_slot_carry(struct sim_decoder *d)
{
    if (d->carry == SIM_NO_SLOT)
        d->carry = sim_slot_new(d, 0);
    return d->carry;
}

/* --- locals --- */

static void set_offset(struct sim_decoder *d, struct number_map *offsets,
                       const struct ptx_variable *v, uint32_t offset)
{
    bool added;
    struct number_entry *entry = number_map_entry(d->sim->arena, offsets, (uintptr_t)v, &added);
    if (added)
        entry->value = offset;
}

static bool find_offset(const struct number_map *offsets, const struct ptx_variable *v,
                        uint32_t *offset)
{
    const struct number_entry *found = number_map_find(offsets, (uintptr_t)v);
    if (found)
        *offset = (uint32_t)found->value;
    return found;
}

static uint32_t local_room(struct sim_decoder *d, const struct ptx_variable *v)
{
    uint64_t to = ptx_variable_alignment(v), size = ptx_variable_size(v);
    uint64_t at = (d->local_bytes + to - 1) / to * to;
    d->local_bytes = at + size;
    if (size > GPU_LOCAL_BYTES || d->local_bytes > GPU_LOCAL_BYTES) { /* refused, and never run */
        at = 0;
        d->local_bytes = GPU_LOCAL_BYTES + 1;
    }
    set_offset(d, &d->locals, v, (uint32_t)at);
    return (uint32_t)at;
}

/* Places a parameter. Parameters of functions, and those that a call passes, are in local
 * memory; parameters of kernels are elsewhere. */
static struct sim_parameter place_parameter(struct sim_decoder *d, const struct ptx_variable *v,
                                            uint32_t at)
{
    struct sim_parameter p = {.variable = v, .at = at, .slot = SIM_NO_SLOT};
    p.bytes = (uint32_t)ptx_variable_size(v);
    if (v->space == MOD_NONE) {
        p.slot = d->registers[v->reg];
        p.lane_bytes = sim_register_bytes(d, v->reg);
    } else if (!d->function->entry) {
        p.at = local_room(d, v);
    }
    if (d->function->entry)
        set_offset(d, &d->entry_parameters, v, p.at);
    return p;
}

void sim_place_locals(struct sim_decoder *d)
{
    const struct ptx_function *f = d->function;
    const struct ptx_signature *s = &f->signature;
    struct sim_code *code = d->code;
    struct arena *a = d->sim->arena;
    code->parameter_count = s->parameters.count;
    code->result_count = s->results.count;
    code->parameters = arena_array(a, struct sim_parameter, code->parameter_count + 1);
    code->results = arena_array(a, struct sim_parameter, code->result_count + 1);
    uint32_t *at = arena_array(a, uint32_t, code->parameter_count + 1);
    if (f->entry)
        sim_layout(s, at);
    for (size_t i = 0; i < code->parameter_count; i++)
        code->parameters[i] = place_parameter(d, s->parameters.data[i], at[i]);
    for (size_t i = 0; i < code->result_count; i++)
        code->results[i] = place_parameter(d, s->results.data[i], 0);
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *st = &f->body.data[i];
        if (st->kind == PTX_AT_VARIABLE &&
            (st->variable->space == MOD_LOCAL || st->variable->space == MOD_PARAM))
            local_room(d, st->variable);
    }
    code->local_bytes = (uint32_t)(d->local_bytes + 15) / 16 * 16;
}

bool sim_local_offset(const struct sim_decoder *d, const struct ptx_variable *v, uint32_t *offset)
{
    return find_offset(&d->locals, v, offset);
}

/* --- sources and destinations --- */

uint32_t sim_slot_of_register(struct sim_decoder *d, uint32_t reg)
{
    return d->registers[reg];
}

uint32_t sim_slot_destination(struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type)
{
    if (o->kind == PTX_REGISTER)
        return d->registers[o->reg];
    return o->kind == PTX_SINK ? sim_slot_new(d, bytes_of_type(type)) : SIM_NO_SLOT;
}

static uint32_t fill_of(struct sim_decoder *d, uint16_t special, int bytes, uint32_t offset)
{
    uint64_t key = (uint64_t)special << 48 | (uint64_t)bytes << 32 | offset;
    bool added;
    struct number_entry *known = number_map_entry(d->sim->arena, &d->fill_slots, key, &added);
    if (added) {
        known->value = sim_slot_new(d, bytes);
        vec_push(d->sim->arena, &d->fills,
                 ((struct sim_fill){special, (uint8_t)bytes, (uint32_t)known->value, offset}));
    }
    return (uint32_t)known->value;
}

static bool special_changes(unsigned special)
{
    return special >= PTX_SREG_CLOCK && special < PTX_SREG_ENVREG0;
}

static uint64_t constant_bits(const struct ptx_operand *o, enum ptx_mod type)
{
    float narrow;
    double wide;
    uint32_t bits = (uint32_t)o->bits;
    uint64_t result = o->bits;
    if (o->kind == PTX_DOUBLE && type == MOD_F32) {
        memcpy(&wide, &o->bits, sizeof wide);
        narrow = (float)wide;
        memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    if (o->kind == PTX_FLOAT && type == MOD_F64) {
        memcpy(&narrow, &bits, sizeof narrow);
        wide = narrow;
        memcpy(&result, &wide, sizeof result);
    }
    return result;
}

static uint32_t slot_of_symbol(struct sim_decoder *d, const struct ptx_operand *o, int bytes)
{
    uint64_t address;
    uint32_t offset;
    if (o->base == PTX_BASE_FUNCTION)
        return sim_slot_constant(d, sim_function_address(d->sim, o->function), bytes);
    if (o->base != PTX_BASE_VARIABLE)
        return SIM_NO_SLOT;
    if (sim_local_offset(d, o->variable, &offset))
        return fill_of(d, SIM_FILL_LOCAL, bytes, offset + (uint32_t)ptx_offset(o));
    if (find_offset(&d->entry_parameters, o->variable, &offset))
        address = offset;
    else if (!sim_locate(d->sim, o->variable, false, &address))
        return SIM_NO_SLOT;
    return sim_slot_constant(d, address + (uint64_t)ptx_offset(o), bytes);
}

uint32_t sim_slot_of(struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type)
{
    int bytes = bytes_of_type(type);
    switch (o->kind) {
    case PTX_REGISTER: return d->registers[o->reg];
    case PTX_IMMEDIATE:
    case PTX_FLOAT:
    case PTX_DOUBLE: return sim_slot_constant(d, constant_bits(o, type), bytes);
    case PTX_WARP_SZ: return sim_slot_constant(d, SIM_LANES, bytes);
    case PTX_SPECIAL:
        return special_changes(o->special) ? SIM_NO_SLOT : fill_of(d, o->special, bytes, 0);
    case PTX_SYMBOL: return slot_of_symbol(d, o, bytes);
    default: return SIM_NO_SLOT;
    }
}

bool sim_more_of(struct sim_decoder *d, struct sim_op *op, const struct ptx_operand *o,
                 enum ptx_mod type)
{
    uint32_t count = o->kind == PTX_VECTOR ? o->count : 1;
    const struct ptx_operand *elements = o->kind == PTX_VECTOR ? o->elements : o;
    uint32_t *more = arena_array(d->sim->arena, uint32_t, op->more_count + count);
    if (op->more_count)
        memcpy(more, op->more, op->more_count * sizeof *more);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = elements[i].kind == PTX_SINK ? sim_slot_destination(d, &elements[i], type)
                                                     : sim_slot_of(d, &elements[i], type);
        if (slot == SIM_NO_SLOT)
            return false;
        more[op->more_count++] = slot;
    }
    op->more = more;
    return true;
}

/* --- addresses --- */

static bool window_of(const struct sim_decoder *d, enum ptx_mod space, uint8_t *window)
{
    switch (space) {
    case MOD_NONE:
    case MOD_GENERIC: *window = SIM_IN_GENERIC; return true;
    case MOD_GLOBAL: *window = SIM_IN_GLOBAL; return true;
    case MOD_SHARED:
    case MOD_SHARED_CTA:
    case MOD_SHARED_CLUSTER: *window = SIM_IN_SHARED; return true;
    case MOD_LOCAL: *window = SIM_IN_LOCAL; return true;
    case MOD_CONST: *window = SIM_IN_CONST; return true;
    case MOD_PARAM_ENTRY: *window = SIM_IN_PARAM; return true;
    case MOD_PARAM_FUNC: *window = SIM_IN_LOCAL; return true;
    case MOD_PARAM: *window = d->function->entry ? SIM_IN_PARAM : SIM_IN_LOCAL; return true;
    default: return false;
    }
}

static bool decode_variable(struct sim_decoder *d, const struct ptx_operand *o, struct sim_op *op)
{
    uint64_t address;
    uint32_t offset;
    op->address_bytes = 0;
    if (sim_local_offset(d, o->variable, &offset)) {
        op->space = SIM_IN_LOCAL;
        op->address = fill_of(d, SIM_FILL_LOCAL, 4, 0);
        op->address_bytes = 4;
        address = offset;
    } else if (find_offset(&d->entry_parameters, o->variable, &offset)) {
        op->space = SIM_IN_PARAM;
        address = offset;
    } else if (!sim_locate(d->sim, o->variable, op->space == SIM_IN_GENERIC, &address)) {
        return false;
    }
    op->imm = (int64_t)(address + (uint64_t)ptx_offset(o));
    return true;
}

bool sim_decode_address(struct sim_decoder *d, const struct ptx_instruction *ins,
                        const struct ptx_operand *o, int nth_space, struct sim_op *op)
{
    if (o->kind != PTX_ADDRESS ||
        !window_of(d, ptx_find(ins, PTX_CLASS_SPACE, nth_space), &op->space))
        return false;
    op->imm = ptx_offset(o);
    op->address_bytes = 0;
    if (o->base == PTX_BASE_VARIABLE)
        return decode_variable(d, o, op);
    if (o->base == PTX_BASE_REGISTER) {
        int bytes = sim_register_bytes(d, o->reg);
        op->address = d->registers[o->reg];
        op->address_bytes = (uint8_t)bytes;
        return bytes == 4 || bytes == 8;
    }
    return o->base == PTX_BASE_NONE;
}

void sim_decode_order(const struct ptx_instruction *ins, struct sim_op *op)
{
    switch (ptx_find(ins, PTX_CLASS_ORDER, 0)) {
    case MOD_VOLATILE: op->order = SIM_VOLATILE; break;
    case MOD_RELAXED: op->order = SIM_RELAXED; break;
    case MOD_ACQUIRE: op->order = SIM_ACQUIRE; break;
    case MOD_RELEASE: op->order = SIM_RELEASE; break;
    case MOD_ACQ_REL: op->order = SIM_ACQ_REL; break;
    case MOD_SC: op->order = SIM_SC; break;
    default: op->order = SIM_WEAK; break;
    }
    switch (ptx_find(ins, PTX_CLASS_SCOPE, 0)) {
    case MOD_CTA: op->scope = SIM_CTA; break;
    case MOD_CLUSTER: op->scope = SIM_CLUSTER; break;
    case MOD_SYS: op->scope = SIM_SYS; break;
    case MOD_GPU:
    case MOD_GL: op->scope = SIM_GPU; break;
    default: op->scope = op->order == SIM_VOLATILE ? SIM_SYS : SIM_GPU; break;
    }
}
