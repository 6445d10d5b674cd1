/* What the files of the pass `pipeline` share. */
#ifndef TW_PIPELINE_H
#define TW_PIPELINE_H

#include "tile/passes.h"

/* --- pipeline_ahead.c: values of later turns --- */

/* What stands for a variable: its value some turns from here. */
struct binding {
    struct sym *sym;
    struct expr *value;
};
struct turns {
    struct kernel *kernel;
    const struct stmt *loop;
    VEC(struct binding) counters; /* what the loop's step assigns */
    bool unknown;                 /* something was asked whose value is not known ahead */
    const struct expr *why;       /* then: it */
};

/* The counters as they are in the turn that is running; `first`: as the loop will begin, seen from
 * in front of it. */
void turns_now(struct turns *t, struct kernel *k, const struct stmt *loop, bool first);
/* One turn on. */
void turns_advance(struct turns *t);
/* A copy of e as it is in that turn; what the body declares is replaced by what it is made of. */
struct expr *turns_value(struct turns *t, const struct expr *e);

/* Do all counters that matter grow by numbers? Then turn `index` (a scalar) of the loop, seen from
 * in front of it. */
bool turns_are_even(const struct turns *t);
void turns_at(struct turns *t, struct kernel *k, const struct stmt *loop, struct sym *index);

/* Does the loop's condition, once it is false, stay so while the counters go on? */
bool condition_is_final(struct kernel *k, const struct stmt *loop);
/* Will there be a turn `ahead` turns after this one? NULL: certainly. */
struct expr *turn_comes(struct turns *t, int ahead);

/* --- making expressions --- */
struct expr *plus_number(struct kernel *k, struct expr *e, int64_t n);
struct expr *both_hold(struct kernel *k, struct expr *a, struct expr *b); /* a NULL: b */

#endif
