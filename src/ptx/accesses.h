/* What of a program touches memory, in the same words for PTX (ptx_accesses.c) and for the machine
 * code that is assembled from it (sass.c), so that the two can be compared line by line. */
#ifndef TW_ACCESSES_H
#define TW_ACCESSES_H

#include "ptx/ptx.h"

enum access_kind {
    ACCESS_LOAD,
    ACCESS_STORE,
    ACCESS_COPY, /* cp.async: to shared memory */
    ACCESS_LOAD_MATRIX,
    ACCESS_STORE_MATRIX,
    ACCESS_ATOMIC
};
enum access_space { ACCESS_GENERIC, ACCESS_GLOBAL, ACCESS_SHARED, ACCESS_LOCAL };

struct access {
    uint32_t line; /* of the PTX's text */
    uint8_t kind, space;
    uint16_t bytes; /* of a lane; of an atomic one 0 */
    uint16_t loops; /* that it lies in, one inside another; ACCESS_LOOPS_UNKNOWN */
};
enum { ACCESS_LOOPS_UNKNOWN = UINT16_MAX };
int access_by_line(const void *left, const void *right); /* for qsort */

/* False: the instruction touches no such memory (parameters and constants do not count). `line` and
 * `loops` are left at 0. */
bool ptx_access_of(const struct ptx_instruction *ins, struct access *out);

struct ptx_access {
    struct access is;
    const struct ptx_instruction *ins;
    uint32_t statement; /* of the function's body */
    /* The last instruction before its innermost loop, in the loop around that; NULL: not known. It has
     * no guard, so it runs as often as the innermost loop is entered. */
    const struct ptx_instruction *entry;
};
/* All of a function of a parsed text, in its order. */
size_t ptx_accesses(struct arena *a, const struct ptx_function *f, struct ptx_access **out);

#endif
