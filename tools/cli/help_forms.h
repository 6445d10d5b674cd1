/* Writes the commands in the formats of other programs, from the same tables as `help`. */
#ifndef TW_HELP_FORMS_H
#define TW_HELP_FORMS_H

#include <stdbool.h>
#include <stdio.h>

/* Writes a form: "man", the manual page tilewright(1), or "bash" or "zsh", the script that
 * completes words in that shell. Returns false if there is no such form. */
bool help_form(FILE *out, const char *form);
extern const char *const help_forms[]; /* ends with NULL */

#endif
