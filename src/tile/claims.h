/* The claims of a program, which GPUs trust: `assume`, and slices marked `inside` by hand. */
#ifndef TW_CLAIMS_H
#define TW_CLAIMS_H

#include "tile/tile.h"

enum { CLAIM_VALUES = 4 };

/* A statement of op ASSUME with a claim is checked, and teaches nothing. */
struct claim {
    bool is_inside;   /* of a slice; else of an `assume` */
    const char *text; /* the message if it is false; %d and %g are the values, %% is % */
    struct expr *values[CLAIM_VALUES]; /* scalars */
    int count;
};

/* Does the program claim anything? */
bool claims_any(const struct kernel *k);
/* claims.c: a statement that checks each claim, ahead of the statement that makes it. For the
 * simulator: kernels for GPUs do without.
 * requires: all passes. keeps: types, variance. Not checked: slices in conditions and steps of
 * loops, and those whose start has an atomic. */
void claims_add(struct kernel *k);

#endif
