/* The arrays of a kernel that must not share memory. */
#ifndef TW_OVERLAY_H
#define TW_OVERLAY_H

#include "tile/tile.h"

enum { OVERLAY_PARAMS = 64 }; /* parameters from this index on are not considered */

/* Sets of parameters, a bit for each. */
struct overlay {
    uint64_t used;                  /* arrays that the kernel reads or writes */
    uint64_t strided;               /* used arrays with a view that has strides or an offset */
    uint64_t multiplied;            /* arrays whose elements are operands of a `dot` */
    uint64_t apart[OVERLAY_PARAMS]; /* by written array: the other arrays that must lie elsewhere */
};

/* overlay.c: finds the arrays that must not share memory. requires: types, variance. keeps: the
 * kernel as it is. */
void overlay_find(struct arena *a, const struct kernel *k, struct overlay *out);

#endif
