/* The claims of a program that GPUs trust: `assume`, and slices that the user marked `inside`. */
#ifndef TW_CLAIMS_H
#define TW_CLAIMS_H

#include "tile/tile.h"

enum { CLAIM_VALUES = 4 };

/* A claim of a statement with op ASSUME. Such a statement is checked, and passes learn nothing
 * from it. */
struct claim {
    bool is_inside;   /* the claim of a slice; else of an `assume` */
    const char *text; /* the message if the claim is false; %d and %g are the values, %% is % */
    struct expr *values[CLAIM_VALUES]; /* scalars */
    int count;
};

/* Returns true if the program makes a claim. */
bool claims_any(const struct kernel *k);
/* claims.c: adds a statement that checks each claim, before the statement that makes it. For the
 * simulator; kernels for GPUs are compiled without these checks. requires: all passes. keeps:
 * types, variance. Not checked: slices in conditions and steps of loops, and slices whose start
 * has an atomic. */
void claims_add(struct kernel *k);

#endif
