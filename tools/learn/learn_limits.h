/* Checks the limits of a puzzle: compares the counters of an answer with bounds that depend on
 * the counters of the solution. */
#ifndef TW_LEARN_LIMITS_H
#define TW_LEARN_LIMITS_H

#include "learn/learn_judge.h"

struct limits {
    tw_counted *of_solution, *of_answer;        /* counts of the present case; NULL: not counted */
    int64_t warps_of_solution, warps_of_answer; /* its resident_warps; 0: no limit needs them */
    struct answer silent; /* the answer without its prints, made when first needed */
    bool is_silent;       /* the counts are those of `silent` */
};

/* Keeps a copy of a run's counts; NULL: none. */
void limits_take(tw_counted **to, const tw_counted *counted);
/* Counts the answer without its prints in the present case, because prints take memory and
 * instructions but are not part of the answer. If the answer does not run without them, or its
 * values differ then, keeps the counts with prints. */
void limits_count_silently(struct limits *l, const struct answer *a, struct case_at_hand *at,
                           int64_t step_limit);
/* Counts the resident warps of the answer and of the solution on a multiprocessor, in the
 * present case. */
void limits_count_warps(struct limits *l, struct answer *a, struct answer *solution);
/* Checks the limits of `cases` and, with `defaults`, those of every puzzle. Adds problems and
 * counters to `out`. *beyond_default is the first default limit that is exceeded, checked or
 * not; -1: none. Returns NULL, or a message about an error in the puzzle; the caller frees. */
char *limits_check(const struct limits *l, const struct answer *a, const struct case_at_hand *at,
                   bool defaults, int *beyond_default, struct judgement *out);
void limits_free(struct limits *l);

#endif
