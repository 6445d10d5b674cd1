/* Machine code: the memory accesses of a cubin, and the PTX lines that they belong to. */
#ifndef TW_SASS_H
#define TW_SASS_H

#include "ptx/accesses.h"

struct sass {
    int target;                /* 90 */
    const char *assembler;     /* version of the assembler, "13.0.88"; "": unknown */
    struct coded_access *list; /* in order of lines */
    size_t count;
};

/* Reads the output of `ptxas -lineinfo` for the module: the accesses of a kernel and of its
 * functions. Returns NULL on success, else the reason of the failure as text. */
const char *sass_read(struct arena *a, const void *data, size_t length,
                      const struct ptx_module *module, const char *kernel, struct sass *out);

#endif
