/* The commands in the forms of other readers, from the same tables as `help`. */
#ifndef TW_HELP_FORMS_H
#define TW_HELP_FORMS_H

#include <stdbool.h>
#include <stdio.h>

/* form: "man", the manual page tilewright(1); "bash", "zsh": what completes words in that shell.
 * false: there is no such form. */
bool help_form(FILE *out, const char *form);
extern const char *const help_forms[]; /* ends with NULL */

#endif
