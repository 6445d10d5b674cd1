/* Facts about each case that a judgement keeps. */
#ifndef TW_LEARN_JUDGED_H
#define TW_LEARN_JUDGED_H

#include "cli/json.h"
#include "learn/learn_arrays.h"
#include "learn/learn_judge.h"

/* Replaces the case's arrays by copies of these; with `known`, the outputs are those of the
 * answer. */
void judged_case_arrays(struct judged_case *c, const struct case_arrays *x, bool known);
/* Marks an element. Callback for tw_launch_each_wrong, with the case as user. */
void judged_case_wrong(void *judged_case, const tw_wrong *w);
/* Adds the keys set, tune and type to an open object. */
void judged_case_sizes_json(const struct judged_case *c, struct json *j);
void judged_case_forget(struct judged_case *c); /* its arrays */
void judged_case_free(struct judged_case *c);   /* frees sizes and arrays only */

#endif
