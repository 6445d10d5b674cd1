/* Expressions of sizes in the cases of a puzzle: `2 * cdiv(n, TPB)`. */
#ifndef TW_LEARN_FORMULA_H
#define TW_LEARN_FORMULA_H

#include <stdbool.h>

/* Look-up of the names in a formula. */
struct formula_names {
    bool (*value)(void *user, const char *name, double *out);
    void *user;
};
/* Evaluates the expression at *at, and moves *at past it and the blanks after it. Returns NULL,
 * or a message, which is static. */
const char *formula_value(const char **at, const struct formula_names *names, double *out);

#endif
