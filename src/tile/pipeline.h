/* Declarations that the files of the pass `pipeline` share. A turn is an iteration of the loop. */
#ifndef TW_PIPELINE_H
#define TW_PIPELINE_H

#include "tile/passes.h"

/* --- pipeline_ahead.c: values of later turns --- */

/* A variable, and the expression of its value in a later turn. */
struct binding {
    struct sym *sym;
    struct expr *value;
};
struct turns {
    struct kernel *kernel;
    const struct stmt *loop;
    VEC(struct binding) counters; /* the variables that the loop's step assigns */
    bool unknown;                 /* a value was needed that is not known ahead */
    const struct expr *why;       /* if unknown: the value */
};

/* Sets the counters to their values in the running turn. `first`: to their values in the first
 * turn, as expressions for use before the loop. */
void pipeline_turns_now(struct turns *t, struct kernel *k, const struct stmt *loop, bool first);
/* Moves the counters on by one turn. */
void pipeline_turns_advance(struct turns *t);
/* Returns a copy of e with its value in that turn. Variables that the body declares are replaced
 * by their values. */
struct expr *pipeline_turns_value(struct turns *t, const struct expr *e);

/* pipeline_turns_are_even returns true if all counters that matter grow by numbers. Then pipeline_turns_at sets
 * the counters to turn `index` (a scalar) of the loop, as expressions for use before the loop. */
bool pipeline_turns_are_even(const struct turns *t);
void pipeline_turns_at(struct turns *t, struct kernel *k, const struct stmt *loop,
                       struct sym *index);

/* Returns true if the loop's condition stays false once it is false, while the counters
 * continue. */
bool pipeline_condition_is_final(struct kernel *k, const struct stmt *loop);
/* Returns the condition that there is a turn `ahead` turns after this one; NULL: there certainly
 * is. */
struct expr *pipeline_turn_comes(struct turns *t, int ahead);

/* --- making expressions --- */
struct expr *pipeline_plus_number(struct kernel *k, struct expr *e, int64_t n);
struct expr *pipeline_both_hold(struct kernel *k, struct expr *a,
                                struct expr *b); /* a NULL: returns b */

#endif
