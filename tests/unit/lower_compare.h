/* A kernel lowered and executed in lockstep, against what the CPU engine makes of the same text. */
#ifndef LOWER_COMPARE_H
#define LOWER_COMPARE_H

#include "base/dtype.h"

#include <stdint.h>

/* An element of type t of the array of const parameter `param`; random numbers from the seed. */
typedef double (*compare_element)(enum dtype t, int param, uint64_t *seed);

/* Fails the test where an element differs at all. The kernel has one block, and a view of the whole
 * of each of its parameters, which are pointers. */
void compare_with_cpu(const char *text, const char *target, uint64_t seed, compare_element element);

#endif
