/* A program as text, compiled to PTX. */
#ifndef EMIT_PROGRAM_H
#define EMIT_PROGRAM_H

#include "emit/emit.h"
#include "pass_helper.h"

#include <stdarg.h>

/* Takes the kernel of `p`, which program_check has checked, through all passes and emit_kernel.
 * Returns false after errors, which are in p->diag. */
bool program_emit(struct program *p, const char *target, struct lowered *out);
/* Returns its PTX as text. */
const char *emitted_text(struct program *p, const struct lowered *lowered);
/* Returns the number of times `what` occurs in the text. */
int occurrences(const char *text, const char *what);
/* Checks the number of occurrences of each string: "text", number, …, NULL. A failure prints
 * `made_of`. */
void expect_occurrences(const char *made_of, const char *text, va_list counts);
/* has_assembler returns true if ptxas is installed; the other assembles a text and returns NULL
 * or the message of ptxas. */
bool has_assembler(void);
const char *assemble(struct program *p, const char *target, const char *ptx);

#endif
