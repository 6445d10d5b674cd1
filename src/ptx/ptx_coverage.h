/* The reference page of the instruction table. */
#ifndef TW_PTX_COVERAGE_H
#define TW_PTX_COVERAGE_H

#include "base/text.h"
#include "ptx/ptx_table.h"

/* Writes docs/ptx-coverage.md: instructions by section of the PTX ISA, each form's syntax, first
 * version and target. */
void ptx_coverage(struct text *out);
/* Writes one form as the PTX ISA does: "add{.sat}.s32 d, a, b". */
void ptx_form_syntax(struct text *out, const struct ptx_form *form);

#endif
