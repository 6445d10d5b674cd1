/* Arrays of one case of a puzzle. */
#ifndef TW_LEARN_ARRAYS_H
#define TW_LEARN_ARRAYS_H

#include "learn/learn_cases.h"
#include "tilewright.h"

struct case_array {
    tw_param param;
    tw_array array;
    void *start;    /* content before a run, also of outputs if the case has data for them */
    void *expected; /* of an output: the solution's result */
    bool given;
};

struct case_arrays {
    struct case_array *list; /* by the kernel's pointer parameters, in their order */
    int count;
};

/* Creates the arrays. Requires that the launch's sizes are set, which give the shapes. Returns
 * NULL, or a message, which the caller frees. The caller calls case_arrays_free in either case. */
char *case_arrays_make(struct case_arrays *x, tw_kernel *k, tw_launch *l,
                       const struct puzzle_case *c, uint64_t seed);
void case_arrays_free(struct case_arrays *x);

/* Sets the arrays to their state before a run; outputs without data get copies of the byte. */
void case_arrays_start(struct case_arrays *x, int byte);
/* Makes the present contents of the outputs their expected contents. */
void case_arrays_expect(struct case_arrays *x);
/* Returns an input whose content has changed, or NULL if there is none. */
const struct case_array *case_arrays_overwritten(const struct case_arrays *x);
/* Counts and marks the elements of the output that still hold only copies of that byte, although
 * they should not. */
int64_t case_array_unwritten(const struct case_array *a, int byte, bool *marks);
/* Returns whether the output depends on the byte that it held before: some element has neither
 * its old value nor the value that it has after a run on zeros. */
bool case_array_remembers(const struct case_array *a, int byte, const void *on_zeros);
/* Gives all arrays to a launch. Returns TW_OK, or the status of the first array that it refuses. */
tw_status case_arrays_give(const struct case_arrays *x, tw_launch *l);

#endif
