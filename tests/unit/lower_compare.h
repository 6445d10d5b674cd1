/* A kernel lowered and executed, against what the CPU engine makes of the same text. */
#ifndef LOWER_COMPARE_H
#define LOWER_COMPARE_H

#include "cpu_helper.h"
#include "lower/lower.h"

#include <stdint.h>

/* An element of type t of the array of const parameter `param`; random numbers from the seed. */
typedef double (*compare_element)(enum dtype t, int param, uint64_t *seed);

/* A launch of one block; the arrays in the order of lowered->params. */
struct compare_array {
    const char *name;
    void *data;
    size_t bytes;
    bool is_const;
};
struct compare_launch {
    struct arena *arena;
    const struct lowered *lowered;
    struct compare_array arrays[MOST_ARRAYS];
    int count;
};
/* Executes it. NULL, or what went wrong (arena text). */
typedef const char *(*compare_run)(const struct compare_launch *launch);

/* Fails the test where an element differs at all. The kernel has one block, and a view of the whole
 * of each of its parameters, which are pointers. */
void compare_run_with_cpu(compare_run run, const char *text, const char *target, uint64_t seed,
                          compare_element element);
/* Executed in lockstep (lockstep.h). */
void compare_with_cpu(const char *text, const char *target, uint64_t seed, compare_element element);

#endif
