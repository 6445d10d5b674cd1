/* dot: by matrix instructions, or by fused multiply-adds. */
#ifndef TW_LOWER_DOT_H
#define TW_LOWER_DOT_H

#include "lower/lower_memory.h"
#include "plan/plan_layouts.h"

/* acc += a · b, in acc's registers; acc is in plan->c. */
void dot_accumulate(struct lower *l, const struct expr *e, const struct regtile *acc);
/* dot(a, b[, c]) in its own layout (plan->c). */
struct regtile dot_eval(struct lower *l, const struct expr *e);

#endif
