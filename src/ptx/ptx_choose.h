/* Choosing the form of the table that fits an instruction. */
#ifndef TW_PTX_CHOOSE_H
#define TW_PTX_CHOOSE_H

#include "ptx/ptx.h"

struct ptx_choice {
    const struct ptx_form *form;      /* NULL: none fits */
    const struct ptx_form *near;      /* then: a form whose modifiers fit; NULL: none */
    uint16_t order[PTX_MOST_MODS];    /* the modifiers in the form's order */
    uint8_t slots[PTX_MOST_OPERANDS]; /* the slot of each operand */
};

/* Finds the first form that takes the modifiers and whose slots fit the kinds and the number of
 * the operands (it does not check their types). any_order: the modifiers may be in another order
 * than the form's. */
void ptx_choose(const struct ptx_function *f, const struct ptx_instruction *ins, bool any_order,
                struct ptx_choice *choice);

/* Returns true if modifiers and operands fit this form. */
bool ptx_form_fits(const struct ptx_function *f, const struct ptx_instruction *ins,
                   const struct ptx_form *form);

/* Returns true if the slot takes an operand of this kind. */
bool ptx_slot_takes(const struct ptx_function *f, const struct ptx_instruction *ins,
                    const struct ptx_slot *slot, const struct ptx_operand *operand);

/* Returns the slot of an operand in the instruction's form, NULL if no form fits the
 * instruction. */
const struct ptx_slot *ptx_slot_of(const struct ptx_function *f, const struct ptx_instruction *ins,
                                   size_t operand);

/* Returns the type of a slot for these modifiers, with TYPE_NTH and its like resolved; MOD_NONE
 * if the slot has none. */
enum ptx_mod ptx_slot_type(const struct ptx_slot *slot, const uint16_t *mods, size_t count);

#endif
