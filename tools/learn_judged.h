/* The facts that are kept of each case of a judgement. */
#ifndef TW_LEARN_JUDGED_H
#define TW_LEARN_JUDGED_H

#include "json.h"
#include "learn_arrays.h"
#include "learn_judge.h"

/* Keeps copies of the arrays, in place of those that it has; `known`: outputs hold what the answer
 * made of them. */
void judged_case_arrays(struct judged_case *c, const struct case_arrays *x, bool known);
/* Marks an element; for tw_launch_each_wrong, with the case as user. */
void judged_case_wrong(void *judged_case, const tw_wrong *w);
/* Keys of an open object: set, tune, type. */
void judged_case_sizes_json(const struct judged_case *c, struct json *j);
void judged_case_forget(struct judged_case *c); /* its arrays */
void judged_case_free(struct judged_case *c);   /* sizes and arrays; the state stays */

#endif
