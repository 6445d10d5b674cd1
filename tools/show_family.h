/* Implements `show FAMILY`: lists the family's kernels. */
#ifndef TW_SHOW_FAMILY_H
#define TW_SHOW_FAMILY_H

#include "target.h"

/* Prints the family's name, its parameters, and a line for each kernel: its file, tuned names and
 * types. */
void show_family(const struct program *p);
/* Prints an object: family, file, and kernels, a list of kernel, file, static (names), tune (names)
 * and types (name, choices). */
void show_family_json(const struct program *p);

#endif
