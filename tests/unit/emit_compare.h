/* Compiles a kernel, executes it, and compares it with the CPU engine's results for the same text. */
#ifndef EMIT_COMPARE_H
#define EMIT_COMPARE_H

#include "cpu_helper.h"
#include "emit/emit.h"

#include <stdint.h>

/* Returns an element of type t for the array of const parameter `param`; random numbers come
 * from the seed. */
typedef double (*compare_element)(enum dtype t, int param, uint64_t *seed);

/* A launch of one block; the arrays are in the order of lowered->params. */
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
/* Executes the launch. Returns NULL, or a message about the fault (arena text). */
typedef const char *(*compare_run)(const struct compare_launch *launch);

/* Fails the test if any element differs. The kernel must have one block and, for each parameter,
 * a pointer with a view of the whole array. */
void compare_run_with_cpu(compare_run run, const char *text, const char *target, uint64_t seed,
                          compare_element element);
/* Compares as above, executing in lockstep (lockstep.h). */
void compare_with_cpu(const char *text, const char *target, uint64_t seed, compare_element element);

#endif
