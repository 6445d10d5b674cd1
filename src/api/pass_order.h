/* The passes over Tile IR in the order in which they run. */
#ifndef TW_PASS_ORDER_H
#define TW_PASS_ORDER_H

#include "tile/passes.h"

enum pass_kernels { EVERY_KERNEL, WITHOUT_ROLES };

struct pass {
    enum pass_kernels kernels; /* it does not run on others */
    const char *name;          /* as in `show --after NAME` */
    void (*run)(struct pass_context *c);
    const char *summary;
};
extern const struct pass pass_order_list[];
extern const int pass_order_count;

/* Runs the passes in order up to and including `last` (NULL: all). Stops after a pass that
 * reported errors. Debug builds verify the kernel after each pass. Returns false on errors. */
bool pass_order_run(struct pass_context *c, const char *last);

#endif
