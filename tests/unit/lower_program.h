/* A program as text, lowered to PTX. */
#ifndef TW_LOWER_PROGRAM_H
#define TW_LOWER_PROGRAM_H

#include "lower/lower.h"
#include "pass_helper.h"

#include <stdarg.h>

/* The kernel of `p` (program_check came first) through all passes and lower_kernel. false: errors,
 * in p->diag. */
bool program_lower(struct program *p, const char *target, struct lowered *out);
/* Its PTX as text. */
const char *lowered_text(struct program *p, const struct lowered *lowered);
/* How often `what` is in the text. */
int occurrences(const char *text, const char *what);
/* The text has so many of each: "what", number, …, NULL. `made_of` is said where it has not. */
void expect_occurrences(const char *made_of, const char *text, va_list counts);
/* Whether ptxas is there; assembles a text: NULL, or what ptxas says against it. */
bool has_assembler(void);
const char *assemble(struct program *p, const char *target, const char *ptx);

#endif
