/* The arrays of one case of a puzzle. */
#ifndef TW_LEARN_ARRAYS_H
#define TW_LEARN_ARRAYS_H

#include "learn_cases.h"
#include "tilewright.h"

struct case_array {
    tw_param param;
    tw_array array;
    void *start;    /* what it holds before a run: of inputs, and of outputs that the case gives */
    void *expected; /* of an output: what the solution makes of it */
    bool given;
};

struct case_arrays {
    struct case_array *list; /* of the kernel's pointers, in their order */
    int count;
};

/* Shapes are those of the launch, whose sizes are set. NULL, or what is wrong, which the caller
 * frees; case_arrays_free in either case. */
char *case_arrays_make(struct case_arrays *x, tw_kernel *k, tw_launch *l,
                       const struct puzzle_case *c, uint64_t seed);
void case_arrays_free(struct case_arrays *x);

/* As before a run: outputs without data hold that byte over and over. */
void case_arrays_start(struct case_arrays *x, int byte);
/* What outputs hold is what is expected of them. */
void case_arrays_expect(struct case_arrays *x);
/* An input that is not what it was; NULL: there is none. */
const struct case_array *case_arrays_overwritten(const struct case_arrays *x);
/* How many elements of the output still hold that byte alone, and should not; marks them. */
int64_t case_array_unwritten(const struct case_array *a, int byte, bool *marks);
/* Whether what the output holds now depends on that byte, which it held before: some element is
 * neither as it was nor what it is after a run on zeros. */
bool case_array_remembers(const struct case_array *a, int byte, const void *on_zeros);
/* Gives all of them to a launch; TW_OK, or the status of the first that it does not take. */
tw_status case_arrays_give(const struct case_arrays *x, tw_launch *l);

#endif
