/* show --kernels: the kernels of a file with their parameters, tuned values and types. */
#ifndef TW_SHOW_KERNELS_H
#define TW_SHOW_KERNELS_H

#include "target.h"

/* Prints each kernel of the program: a name, then a line for each parameter, tuned value and type. */
void show_kernels(const struct program *p);
/* Prints a list of objects: kernel, ensures, thread_level, parameters (name, array, const, static,
 * ensured, type, shape as written), tune (name, group, values; the first is the default) and types
 * (name, choices). */
void show_kernels_json(const struct program *p);

#endif
