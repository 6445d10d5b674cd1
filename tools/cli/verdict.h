/* Describes the result of a comparison with `ensures` in words. */
#ifndef TW_VERDICT_H
#define TW_VERDICT_H

#include "cli/json.h"
#include "cli/tool.h"

double verdict_worst_error(const tw_verdict *v); /* |got - want| at the worst element */
/* Returns "480 elements, largest error 2e-08; worst element uses 7% of its tolerance (…)". The
 * caller frees. */
char *verdict_text(const tw_verdict *v);
/* Adds the keys verified, max_error, worst_error, tolerance, got, want, view, at, checked, undecided,
 * nans. */
void verdict_json(const tw_verdict *v, struct json *j);

#endif
