/* dot: by matrix instructions, or by fused multiply-adds. */
#ifndef TW_LOWER_DOT_H
#define TW_LOWER_DOT_H

#include "lower/lower_plan.h"

/* How to do a product of these shapes and types on the target; fills everything of *out but e.
 * (lower_dot_plan.c.) chained: the left factor comes from another product's sum, or this one's sum
 * is reduced row by row or becomes another's left factor: a warp should have whole rows. False:
 * nothing fits (a ragged block). */
bool dot_choose(struct lower *l, int32_t m, int32_t n, int32_t k, enum dtype factor, enum dtype sum,
                bool chained, struct dot_plan *out);
/* The same for a product of the program, e filled too: looks through casts of its factors (u8 with
 * i8), and sends register factors that are too long for the registers through scratch. */
bool dot_choose_for(struct lower *l, const struct expr *e, bool chained, struct dot_plan *out);

/* Decides on chunk, for all else of the plan. */
void dot_choose_chunk(struct lower *l, struct dot_plan *p);

/* Where a factor comes from. */
struct dot_source {
    /* An access of a shared tile, read fragment by fragment; NULL: a register tile. */
    const struct expr *shared;
    bool transposed;      /* trans(…) of that access */
    const struct expr *e; /* without the casts that the product does on fragments */
    enum dtype type;      /* of e's elements */
};
/* side 0: left, 1: right. For the plan too: the access reads its tile in plan->a or plan->b,
 * transposed if it says so. */
struct dot_source dot_source_of(const struct expr *dot, int side);

/* A product by multiply-adds goes through k step by step. Vectors of a factor along k would be
 * alive for several steps; those across it are read a step ahead of their use. */
bool dot_goes_by_columns(const struct dot_plan *p, enum dtype factor);

/* About how many instructions the products in a list of statements are, those of inner loops once,
 * for whoever thinks of repeating it: a loop of more than some 8000 no longer fits the instruction
 * cache. */
int64_t dot_instructions_in(struct lower *l, const struct stmt *first);

/* acc += a · b, in acc's registers; acc is in plan->c. */
void dot_accumulate(struct lower *l, const struct expr *e, const struct regtile *acc);
/* dot(a, b[, c]) in its own layout (plan->c). */
struct regtile dot_eval(struct lower *l, const struct expr *e);

#endif
