/* Arrays that each thread has for itself, for targets with registers: which of them are in memory, and assignments to many of their
 * elements as loops. */
#ifndef TW_OWN_ARRAYS_H
#define TW_OWN_ARRAYS_H

#include "tile/tile.h"

/* An array of more elements is in memory, because a thread has 255 registers. */
enum { ARRAY_MOST_REGISTERS = 256 };

struct own_arrays;
/* Finds how the kernel uses its arrays. The result is from `a`. */
struct own_arrays *own_arrays_find(struct arena *a, const struct kernel *k);
/* Returns whether an array is in memory: it has many elements, or more than a few and an index that unrolled loops do not make a
 * constant. */
bool own_arrays_in_memory(const struct own_arrays *all, const struct sym *s);

/* Replaces assignments of many elements that each thread does for itself by loops over elements. Keeps the program's meaning. Returns
 * whether there were any. */
bool roll_assignments(struct kernel *k);

#endif
