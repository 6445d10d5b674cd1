/* Implements `show FAMILY`: lists the family's kernels and variants. */
#ifndef TW_SHOW_FAMILY_H
#define TW_SHOW_FAMILY_H

#include "cli/settings.h"

/* Gives the family the types of --type: those of the listed variants. Returns STATUS_OK, or another
 * status after printing a message. */
int show_family_types(const struct program *p, const struct options *o);
/* Prints the family's name, its parameters, a line for each kernel (its file, tuned names and
 * types), and the variants that have results for the types of --type. */
void show_family(const struct program *p, const struct options *o);
/* Prints an object: family, file, kernels, a list of kernel, file, static (names), tune (names) and
 * types (name, choices), and variants, a list of kernel and tune. */
void show_family_json(const struct program *p);

#endif
