/* Instructions made from the table: for each form, several instructions as text. */
#ifndef TW_TEST_PTX_SAMPLES_H
#define TW_TEST_PTX_SAMPLES_H

#include "base/text.h"
#include "ptx/ptx_table.h"

/* Calls `take` for choices of the form's modifiers: all of them if there are at most `most`,
 * else each modifier at least once and others drawn at random (always the same ones). */
typedef void sample_taker(void *user, const struct ptx_form *form, const uint16_t *mods,
                          size_t count);
void sample_choices(const struct ptx_form *form, size_t most, sample_taker *take, void *user);

/* Writes one line for a choice, with optional operands or without, using the registers that
 * sample_head declares. */
void sample_line(struct text *out, const struct ptx_form *form, const uint16_t *mods, size_t count,
                 bool all_operands);

/* The text around samples: functions of the module; registers and variables at the start of a
 * kernel's body (`wide`: also .b128 registers, of PTX 8.3); its end. */
void sample_outside(struct text *out);
void sample_head(struct text *out, bool wide);
void sample_tail(struct text *out);
size_t sample_instructions_before(void); /* that sample_head writes */

#endif
