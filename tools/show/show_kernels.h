/* Implements show --kernels: lists the kernels of a file with their parameters, tuned values and
 * types. */
#ifndef TW_SHOW_KERNELS_H
#define TW_SHOW_KERNELS_H

#include "cli/json.h"
#include "ptx/ptx_file.h"

/* Prints each kernel of the program: its name, then a line for each parameter, tuned value and
 * type. */
void show_kernels(const struct program *p);
/* Prints a line for a parameter. */
void show_param(const tw_param *p);
/* Adds the key "types" of a kernel: name, choices. */
void json_types(struct json *j, tw_kernel *k);
/* Prints a list of objects: kernel, ensures, thread_level, parameters (name, array, const, static,
 * ensured, type, shape as written), tune (name, group, values; the first is the default), types
 * (name, choices), and what an editor needs to change the text: shared (arrays in shared memory:
 * name, line, column, extents, by_element, elements with their indices) and numbers (constants:
 * name, value). Extents, indices and values have line, column, length in bytes, and name, number,
 * or op, left and right. */
void show_kernels_json(const struct program *p);
/* Prints the kernels of a PTX program: kernel, called (in C++), block (threads that it requires;
 * empty if it requires no number), parameters (name, type, bytes, alignment). */
void show_ptx_kernels(const struct ptx_file *f);
void show_ptx_kernels_json(const struct ptx_file *f);

#endif
