/* Decisions about a kernel for a GPU, in the order in which plan_pass_list makes them, after the passes
 * of tile/passes.h. Each pass is a file and a function; the comment above the function is its contract.
 * A pass writes its decisions into the Tile IR, so that the printed program states them and compiles to
 * the same PTX. A decision that the program states already is kept, or refused with the reason. */
#ifndef TW_PLAN_H
#define TW_PLAN_H

#include "target/target_copiers.h"
#include "target/targets.h"
#include "tile/tile.h"

struct plan_context {
    struct kernel *kernel;
    const struct target *target;
    struct diag *diag;
    /* Bytes that divide the address of each pointer parameter, by its index; NULL: 16 all. */
    const int *alignment;
    struct tile_facts
        *facts; /* of the kernel's scalars: those that copiers found last; NULL: none */
};

/* units.c: writes by(…) at each tile-level `dot`: the unit, whether it works in halves, which factors
 * go through shared memory. requires: types, variance, planned. keeps: all values within the type's
 * tolerance, by(…) of the program. diagnoses: by(…) of the program that the target or the product does
 * not allow. */
void plan_units(struct plan_context *c);

/* copiers.c: writes by(…) at each part of a view that the block moves together: at loads, stores, and copies to shared memory,
 * tensor copies apart. It states the copier and the most bytes that a lane moves at a time, as the addresses, the edges and
 * the rows of the part allow; a layout may allow fewer, and then those move, a copy by cp.async too narrow for it through
 * registers. requires: types, variance, planned. keeps: all values, by(…) of the program. diagnoses: by(…) of the program that
 * the target does not have or the part does not allow. */
void plan_copiers(struct plan_context *c);
/* Returns whether elements outside of a view, which are `otherwise` (NULL: none is stated), are 0, as copies in the background
 * make them. */
bool plan_is_zero(const struct expr *otherwise);
/* Returns what by(…) states of a part of a view; if nothing, that each element is moved alone. */
struct copier_width plan_copier_of(const struct target *t, const struct expr *access);

struct plan_pass {
    const char *name; /* as in `show --after NAME` */
    void (*run)(struct plan_context *c);
    const char *summary;
    bool of_roles; /* also of kernels with roles, which say themselves who multiplies */
};
extern const struct plan_pass plan_pass_list[];
extern const int plan_pass_count;

/* Runs the passes in order up to and including `last` (NULL: all). Stops after a pass that reported
 * errors. Debug builds verify the kernel after each pass. Returns false on errors. */
bool plan_run(struct plan_context *c, const char *last);

#endif
