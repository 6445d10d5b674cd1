/* Machine code: what of a cubin touches memory, and for which lines of the PTX. */
#ifndef TW_SASS_H
#define TW_SASS_H

#include "ptx/accesses.h"

struct sass {
    int target;            /* 90 */
    const char *assembler; /* "13.0.88": as it calls itself; "" if it does not */
    struct access *list;   /* in the order of lines */
    size_t count;
};

/* Reads what `ptxas -lineinfo` made of the module: the accesses of a kernel and of its functions.
 * NULL: done; else why not, in words. */
const char *sass_read(struct arena *a, const void *data, size_t length,
                      const struct ptx_module *module, const char *kernel, struct sass *out);

#endif
