/* The limits of a puzzle: what the hardware would count of an answer, against bounds that are made
 * of what it counts of the solution. */
#ifndef TW_LEARN_LIMITS_H
#define TW_LEARN_LIMITS_H

#include "learn_judge.h"

struct limits {
    tw_counted *of_solution, *of_answer; /* counted in the case at hand; NULL: nothing was */
    int64_t warps_of_solution,
        warps_of_answer;  /* resident_warps there; 0: no limit asks for them */
    struct answer silent; /* the answer without its prints, from when it is needed */
    bool is_silent;       /* that is what was counted */
};

/* What a run has counted; NULL: nothing. */
void limits_take(tw_counted **to, const tw_counted *counted);
/* What an answer prints takes memory and instructions, and is no part of it: counts it without, in
 * the case at hand. Where that cannot be, or the values are others then, all stays counted. */
void limits_count_silently(struct limits *l, const struct answer *a, struct case_at_hand *at,
                           int64_t step_limit);
/* Counts the warps that a multiprocessor holds of the answer and of the solution, in the case at hand. */
void limits_count_warps(struct limits *l, struct answer *a, struct answer *solution);
/* Checks the limits that `cases` gives and, if `defaults`, those of every puzzle: adds problems, and
 * counters, to `out`. *beyond_default: the first of the latter that is not kept,
 * checked or not; -1: none. NULL, or what
 * is wrong with the puzzle; the caller frees. */
char *limits_check(const struct limits *l, const struct answer *a, const struct case_at_hand *at,
                   bool defaults, int *beyond_default, struct judgement *out);
void limits_free(struct limits *l);

#endif
