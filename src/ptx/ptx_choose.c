#include "ptx/ptx_choose.h"

#include <string.h>

static bool mods_have(const uint16_t *mods, size_t count, uint16_t mod)
{
    for (size_t i = 0; i < count; i++)
        if (mods[i] == mod)
            return true;
    return false;
}

static enum ptx_mod twice_as_wide(enum ptx_mod type)
{
    switch ((int)type) {
    case MOD_U16: return MOD_U32;
    case MOD_U32: return MOD_U64;
    case MOD_S16: return MOD_S32;
    case MOD_S32: return MOD_S64;
    default: return MOD_NONE;
    }
}

enum ptx_mod ptx_slot_type(const struct ptx_slot *slot, const uint16_t *mods, size_t count)
{
    if (slot->type < MOD_COUNT)
        return (enum ptx_mod)slot->type;
    if (slot->type == TYPE_ADDRESS || slot->type == TYPE_COPY || slot->type >= TYPE_BYTES)
        return MOD_NONE;
    int nth = slot->type == TYPE_WIDE ? 0 : slot->type - TYPE_NTH;
    for (size_t i = 0; i < count; i++)
        if (ptx_is_type(mods[i]) && nth-- == 0)
            return slot->type == TYPE_WIDE ? twice_as_wide(mods[i]) : (enum ptx_mod)mods[i];
    return MOD_NONE;
}

/* --- one operand --- */

static bool is_predicate(const struct ptx_function *f, const struct ptx_operand *o)
{
    return o->kind == PTX_REGISTER && ptx_register_type(f, o->reg) == MOD_PRED;
}

static bool is_constant(const struct ptx_operand *o)
{
    return o->kind == PTX_IMMEDIATE || o->kind == PTX_FLOAT || o->kind == PTX_DOUBLE ||
           o->kind == PTX_WARP_SZ;
}

static bool constant_fits(const struct ptx_slot *slot, const struct ptx_operand *o)
{
    if (o->kind != PTX_IMMEDIATE)
        return false;
    int64_t value = (int64_t)o->bits;
    if (value < slot->low || value > slot->high)
        return false;
    if (slot->low == -1) /* a sign */
        return value != 0;
    if (slot->step == 0) /* powers of two */
        return (value & (value - 1)) == 0;
    return (value - slot->low) % slot->step == 0;
}

static bool is_scalar(const struct ptx_function *f, const struct ptx_instruction *ins,
                      const struct ptx_slot *slot, const struct ptx_operand *o)
{
    if (ptx_slot_type(slot, ins->mods, ins->mod_count) == MOD_PRED)
        return is_predicate(f, o) && !o->negated;
    if (o->kind == PTX_REGISTER)
        return !o->negated && !is_predicate(f, o);
    if (slot->kind == SLOT_DESTINATION || (slot->flags & SLOT_NO_CONSTANT))
        return false;
    bool multiple = slot->kind != SLOT_SOURCE || !slot->step || o->kind != PTX_IMMEDIATE ||
                    o->bits % (uint64_t)slot->step == 0;
    return is_constant(o) && multiple;
}

static bool is_vector_of(const struct ptx_operand *o, uint32_t count)
{
    return o->kind == PTX_VECTOR && (count == 0 || o->count == count);
}

static bool is_vectorial(const struct ptx_instruction *ins, const struct ptx_slot *slot)
{
    return (slot->flags & SLOT_VECTORIAL) && ptx_vector_length(ins) > 1;
}

static uint32_t offsets_count(const struct ptx_instruction *ins)
{
    enum ptx_mod dims = ptx_find(ins, PTX_CLASS_DIMENSION, 0);
    return ptx_has(ins, MOD_IM2COL) ? ptx_mods[dims].bits - 2u : 2;
}

static bool pred_source(const struct ptx_function *f, const struct ptx_operand *o)
{
    return is_predicate(f, o) || o->kind == PTX_IMMEDIATE;
}

bool ptx_slot_takes(const struct ptx_function *f, const struct ptx_instruction *ins,
                    const struct ptx_slot *slot, const struct ptx_operand *o)
{
    if (o->joined != ((slot->flags & SLOT_JOINED) != 0))
        return false;
    if (o->kind == PTX_SINK)
        return slot->kind == SLOT_SINK ||
               (slot->kind == SLOT_DESTINATION && (slot->flags & SLOT_MAY_SINK) &&
                !(slot->flags & SLOT_VECTORIAL)); /* then the length counts the elements */
    switch ((enum ptx_slot_kind)slot->kind) {
    case SLOT_SOURCE:
        if (o->kind == PTX_SPECIAL) /* cvt.u64.u32 %rd1, %tid.x */
            return ins->op == PTX_CVT && !o->negated;
        /* fall through */
    case SLOT_DESTINATION:
        return is_vectorial(ins, slot) ? is_vector_of(o, (uint32_t)ptx_vector_length(ins))
                                       : is_scalar(f, ins, slot, o);
    case SLOT_PREDICATE: return pred_source(f, o);
    case SLOT_ADDRESS:
    case SLOT_TENSOR_MEMORY: return o->kind == PTX_ADDRESS;
    case SLOT_TENSOR: return o->kind == PTX_TENSOR;
    case SLOT_IMMEDIATE: return constant_fits(slot, o);
    case SLOT_VECTOR: return is_vector_of(o, (uint32_t)slot->low);
    case SLOT_OFFSETS: return is_vector_of(o, offsets_count(ins));
    case SLOT_LANES: return is_vector_of(o, ptx_has(ins, MOD_CTA_GROUP_2) ? 8 : 4);
    case SLOT_FRAGMENT: return is_vector_of(o, 0);
    case SLOT_MOVED:
        return is_scalar(f, ins, slot, o) || o->kind == PTX_SPECIAL || o->kind == PTX_SYMBOL;
    case SLOT_SYMBOL: return is_scalar(f, ins, slot, o) || o->kind == PTX_SYMBOL;
    case SLOT_PACK: return is_vector_of(o, 0);
    case SLOT_SINK: return false;
    case SLOT_BARRIER:
        return is_scalar(f, ins, slot, o) && (o->kind != PTX_IMMEDIATE || o->bits < 16);
    case SLOT_LABEL:
    case SLOT_TARGETS: return o->kind == PTX_LABEL;
    case SLOT_CALL: return false; /* see fits_call */
    }
    return false;
}

/* --- all operands --- */

/* Checks the operands of a call: results, callee, arguments, and for a call through a pointer
 * the targets or the prototype. */
static bool fits_call(const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    if (ins->operand_count < 3 || ins->operand_count > 4)
        return false;
    bool lists = (o[0].kind == PTX_LIST || o[0].kind == PTX_NOTHING) &&
                 (o[2].kind == PTX_LIST || o[2].kind == PTX_NOTHING);
    bool direct = o[1].kind == PTX_SYMBOL && o[1].base == PTX_BASE_FUNCTION;
    bool indirect = o[1].kind == PTX_REGISTER && ins->operand_count == 4;
    bool table = ins->operand_count == 4 && o[3].kind == PTX_SYMBOL && indirect &&
                 o[3].base == PTX_BASE_VARIABLE && ptx_offset(&o[3]) == 0;
    return lists && (direct || indirect) &&
           (ins->operand_count == 3 || o[3].kind == PTX_LABEL || table);
}

/* Fits the operands from `operand` on into the slots from `slot` on. An optional slot takes an
 * operand if the rest then still fits. */
static bool fits_from(const struct ptx_function *f, const struct ptx_instruction *ins,
                      const struct ptx_form *form, size_t slot, size_t operand, uint8_t *slots)
{
    for (; slot < form->slots; slot++) {
        const struct ptx_slot *s = &form->slot[slot];
        if (s->when && !mods_have(ins->mods, ins->mod_count, s->when))
            continue;
        bool takes =
            operand < ins->operand_count && ptx_slot_takes(f, ins, s, &ins->operands[operand]);
        if (takes)
            slots[operand] = (uint8_t)slot;
        if (s->flags & SLOT_OPTIONAL) {
            if (takes && fits_from(f, ins, form, slot + 1, operand + 1, slots))
                return true;
            continue;
        }
        if (!takes)
            return false;
        operand++;
    }
    return operand == ins->operand_count;
}

static bool fits(const struct ptx_function *f, const struct ptx_instruction *ins,
                 const struct ptx_form *form, uint8_t *slots)
{
    if (form->slots == 1 && form->slot[0].kind == SLOT_CALL)
        return fits_call(ins);
    return fits_from(f, ins, form, 0, 0, slots);
}

bool ptx_form_fits(const struct ptx_function *f, const struct ptx_instruction *ins,
                   const struct ptx_form *form)
{
    uint8_t slots[PTX_MOST_OPERANDS];
    return ptx_form_takes(form, ins->mods, ins->mod_count, NULL) && fits(f, ins, form, slots);
}

void ptx_choose(const struct ptx_function *f, const struct ptx_instruction *ins, bool any_order,
                struct ptx_choice *choice)
{
    size_t count;
    const struct ptx_form *forms = ptx_forms_of((enum ptx_op)ins->op, &count);
    memset(choice, 0, sizeof *choice);
    for (int way = 0; way <= any_order; way++) /* first tries the given order in all forms */
        for (size_t i = 0; i < count; i++) {
            if (!ptx_form_takes(&forms[i], ins->mods, ins->mod_count, way ? choice->order : NULL))
                continue;
            if (!way)
                memcpy(choice->order, ins->mods, sizeof choice->order);
            if (!choice->near)
                choice->near = &forms[i];
            if (fits(f, ins, &forms[i], choice->slots)) {
                choice->form = &forms[i];
                return;
            }
        }
}

const struct ptx_slot *ptx_slot_of(const struct ptx_function *f, const struct ptx_instruction *ins,
                                   size_t operand)
{
    struct ptx_choice choice;
    ptx_choose(f, ins, false, &choice);
    if (!choice.form || operand >= ins->operand_count)
        return NULL;
    return &choice.form->slot[choice.slots[operand]];
}
