/* The grid of a kernel as a program over the values of its parameters. It is compiled once and run
 * at every launch: a few steps on a small stack, with no allocation and no walk over trees.
 *
 * It makes the same checks as a launch from a script: the arithmetic of the grid and of the
 * views stays within its types, no axis has a negative length, and GPUs can run the grid. If a
 * check fails or cannot be made, the run fails without a reason, and the caller evaluates the
 * trees to report one. */
#ifndef TW_LAUNCH_SIZES_H
#define TW_LAUNCH_SIZES_H

#include "tile/tile.h"

struct size_step;
struct launch_sizes {
    VEC(struct size_step) steps;
    const enum dtype *dtypes; /* types of the parameters */
    int param_count;
};

/* Compiles the grid of a kernel after all passes, with its statics bound. The kernel must
 * outlive s, because expressions that are not plain integer arithmetic are evaluated from their
 * trees. */
void launch_sizes_compile(struct launch_sizes *s, struct arena *a, const struct kernel *k);

/* Computes the grid. values: by parameter; integers are sign-extended, a float has the bytes of
 * its own type, pointers are not read. Returns false if a check fails or a value cannot be
 * known. */
bool launch_sizes_run(const struct launch_sizes *s, const uint64_t *values, int64_t grid[3]);

/* A parameter, and the expression over earlier parameters that computes it; value NULL: the
 * caller gives it. */
struct derived_param {
    enum dtype dtype;
    const struct expr *value;
};
/* Compiles the computation of derived parameters. Their expressions must outlive s. */
void launch_derived_compile(struct launch_sizes *s, struct arena *a,
                            const struct derived_param *params, int count);
/* Adds the derived parameters to the given values. Returns false as launch_sizes_run does. */
bool launch_derived_run(const struct launch_sizes *s, uint64_t *values);

#endif
