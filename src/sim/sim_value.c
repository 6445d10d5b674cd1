/* How the files of values choose handlers: rows of a table, operands by the instruction's form. */
#include "sim/sim_value.h"

#include "ptx/ptx_choose.h"

static bool row_takes(const struct sim_value_row *row, const struct ptx_instruction *ins)
{
    if (row->op != ins->op)
        return false;
    size_t count = 0;
    while (count < sizeof row->mods / sizeof *row->mods && row->mods[count] != MOD_NONE)
        count++;
    if (count != ins->mod_count)
        return false;
    bool used[PTX_MOST_MODS] = {false};
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < count && (used[k] || row->mods[k] != ins->mods[i]))
            k++;
        if (k == count)
            return false;
        used[k] = true;
    }
    /* Types keep their order: cvt.u16.u32 is not cvt.u32.u16. */
    for (size_t i = 0, k = 0; i < count; i++) {
        if (!ptx_is_type((enum ptx_mod)ins->mods[i]))
            continue;
        while (!ptx_is_type((enum ptx_mod)row->mods[k]))
            k++;
        if (row->mods[k++] != ins->mods[i])
            return false;
    }
    return true;
}

bool sim_value_choose(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op,
                      const struct sim_value_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (row_takes(&rows[i], ins)) {
            op->run = rows[i].run;
            return sim_value_operands(d, ins, op);
        }
    return false;
}

bool sim_value_only(const struct ptx_instruction *ins, const uint16_t *allowed)
{
    for (int i = 0; i < ins->mod_count; i++) {
        enum ptx_mod mod = (enum ptx_mod)ins->mods[i];
        if (ptx_is_type(mod))
            continue;
        const uint16_t *a = allowed;
        while (*a != MOD_NONE && *a != mod)
            a++;
        if (*a == MOD_NONE)
            return false;
    }
    return true;
}

/* Decodes one operand. `k`: its number in the form, without immediates. */
static bool value_operand(struct sim_decoder *d, const struct ptx_instruction *ins,
                          const struct ptx_slot *slot, const struct ptx_operand *o, size_t k,
                          struct sim_op *op)
{
    enum ptx_mod type = ptx_slot_type(slot, ins->mods, ins->mod_count);
    if (slot->kind == SLOT_IMMEDIATE) {
        op->imm = (int64_t)o->bits;
        return true;
    }
    if (slot->kind == SLOT_VECTOR)
        return sim_more_of(d, op, o, type);
    if (k >= SIM_MOST_SLOTS)
        return false;
    switch (slot->kind) {
    case SLOT_DESTINATION: op->slot[k] = sim_slot_destination(d, o, type); break;
    case SLOT_PREDICATE:
        op->slot[k] = sim_slot_of(d, o, PTX_PRED);
        if (o->negated)
            op->small2 = (uint16_t)(op->small2 | 1u << k);
        break;
    case SLOT_SOURCE: op->slot[k] = sim_slot_of(d, o, type); break;
    default: return false;
    }
    return op->slot[k] != SIM_NO_SLOT;
}

bool sim_value_operands(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    if (ins->form == PTX_NO_FORM)
        return false;
    const struct ptx_form *form = &ptx_forms[ins->form];
    size_t next = 0, k = 0;
    for (size_t i = 0; i < form->slots; i++) {
        const struct ptx_slot *slot = &form->slot[i];
        bool there = next < ins->operand_count;
        if (there && (slot->flags & SLOT_JOINED))
            there = ins->operands[next].joined;
        if (!there) {
            if (!(slot->flags & SLOT_OPTIONAL))
                return false;
            if (k < SIM_MOST_SLOTS)
                op->slot[k] = SIM_NO_SLOT;
            k++;
            continue;
        }
        if (!value_operand(d, ins, slot, &ins->operands[next++], k, op))
            return false;
        k += slot->kind != SLOT_IMMEDIATE;
    }
    return next == ins->operand_count;
}
