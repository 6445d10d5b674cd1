/* dot: by matrix instructions, or by fused multiply-adds. */
#ifndef TW_LOWER_DOT_H
#define TW_LOWER_DOT_H

#include "lower/lower_plan.h"

/* The layouts of a product; fills everything of *out but factors through scratch and chunks
 * (lower_dot_plan.c). chained: see plan_divide. False: an operand has no layout. */
bool dot_lay_out(struct lower *l, const struct plan_product *p, bool chained, struct dot_plan *out);
/* The same for a product of the program, as its by(…) states it, with all that there is to fill. False
 * for a ragged block, too. */
bool dot_lay_out_stated(struct lower *l, const struct expr *e, bool chained, struct dot_plan *out);

/* Decides on chunk, for all else of the plan. */
void dot_choose_chunk(struct lower *l, struct dot_plan *p);

/* A product by multiply-adds goes through k step by step. Vectors of a factor along k would be
 * alive for several steps; those across it are read a step ahead of their use. */
bool dot_goes_by_columns(const struct dot_plan *p, enum dtype factor);

/* Returns an estimate of the instructions of products in a list of statements, those of inner loops
 * counted once. It decides whether a body is repeated: a loop of more than about 8000 instructions
 * does not fit the instruction cache. */
int64_t dot_instructions_in(struct lower *l, const struct stmt *first);

/* acc += a · b, in acc's registers; acc is in plan->c. */
void dot_accumulate(struct lower *l, const struct expr *e, const struct regtile *acc);
/* dot(a, b[, c]) in its own layout (plan->c). */
struct regtile dot_eval(struct lower *l, const struct expr *e);

#endif
