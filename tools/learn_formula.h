/* Expressions of sizes in the cases of a puzzle: `2 * cdiv(n, TPB)`. */
#ifndef TW_LEARN_FORMULA_H
#define TW_LEARN_FORMULA_H

#include <stdbool.h>

/* Who knows the names in it. */
struct formula_names {
    bool (*value)(void *user, const char *name, double *out);
    void *user;
};
/* The value of the expression at *at, which moves behind it and the blanks there. NULL; else what is
 * wrong, a static text. */
const char *formula_value(const char **at, const struct formula_names *names, double *out);

#endif
