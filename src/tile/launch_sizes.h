/* The grid of a kernel as a program over the values of its parameters, compiled once and run at
 * every launch: some steps on a small stack, no memory, no walk over trees.
 *
 * It looks after the same things as a launch from a script: arithmetic of the grid and of the views
 * stays within its types, no axis is of negative length, the grid is one that GPUs have. What it
 * cannot vouch for it leaves to whoever has the time to say what is wrong.
 */
#ifndef TW_LAUNCH_SIZES_H
#define TW_LAUNCH_SIZES_H

#include "tile/tile.h"

struct size_step;
struct launch_sizes {
    VEC(struct size_step) steps;
    const enum dtype *dtypes; /* of the parameters */
    int param_count;
};

/* For a kernel after all passes, whose statics are bound. The kernel must stay: expressions that
 * are no plain integer arithmetic are evaluated as they are. */
void launch_sizes_compile(struct launch_sizes *s, struct arena *a, const struct kernel *k);

/* values: by parameter, integers sign-extended, of floats the bytes of their own type; pointers are
 * not looked at. False: something is not as it should be, or cannot be known. */
bool launch_sizes_run(const struct launch_sizes *s, const uint64_t *values, int64_t grid[3]);

/* A parameter, and what computes it from the ones before it; value NULL: it is given. */
struct derived_param {
    enum dtype dtype;
    const struct expr *value;
};
/* The same for derived parameters. What computes them must stay. */
void launch_derived_compile(struct launch_sizes *s, struct arena *a,
                            const struct derived_param *params, int count);
/* Adds them to the given values. False as above. */
bool launch_derived_run(const struct launch_sizes *s, uint64_t *values);

#endif
