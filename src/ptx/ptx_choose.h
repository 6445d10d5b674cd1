/* Which form of the table an instruction is. */
#ifndef TW_PTX_CHOOSE_H
#define TW_PTX_CHOOSE_H

#include "ptx/ptx.h"

struct ptx_choice {
    const struct ptx_form *form;      /* NULL if none fits */
    const struct ptx_form *near;      /* then: one whose modifiers do, NULL if none's do */
    uint16_t order[PTX_MOST_MODS];    /* the modifiers as the form has them */
    uint8_t slots[PTX_MOST_OPERANDS]; /* for each operand the slot it stands in */
};

/* Looks for the first form that takes the modifiers, and to whose slots the operands' kinds and
 * numbers fit (not yet their types). any_order: the modifiers may stand in another order than the
 * form's. */
void ptx_choose(const struct ptx_function *f, const struct ptx_instruction *ins, bool any_order,
                struct ptx_choice *choice);

/* Do modifiers and operands fit this form? */
bool ptx_form_fits(const struct ptx_function *f, const struct ptx_instruction *ins,
                   const struct ptx_form *form);

/* Does the operand suit the slot, by what it is? */
bool ptx_slot_takes(const struct ptx_function *f, const struct ptx_instruction *ins,
                    const struct ptx_slot *slot, const struct ptx_operand *operand);

/* The slot of its form that an operand stands in, NULL if no form takes it. */
const struct ptx_slot *ptx_slot_of(const struct ptx_function *f, const struct ptx_instruction *ins,
                                   size_t operand);

/* The type of a slot for these modifiers: TYPE_NTH and the like resolved. MOD_NONE where it has
 * none. */
enum ptx_mod ptx_slot_type(const struct ptx_slot *slot, const uint16_t *mods, size_t count);

#endif
