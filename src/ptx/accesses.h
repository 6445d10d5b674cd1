/* Memory accesses of a program, in the same terms for PTX (ptx_accesses.c) and for the machine
 * code that is assembled from it (sass.c), so that the two can be compared line by line. */
#ifndef TW_ACCESSES_H
#define TW_ACCESSES_H

#include "ptx/ptx.h"

enum coded_access_kind {
    ACCESS_LOAD,
    ACCESS_STORE,
    ACCESS_COPY, /* cp.async: to shared memory */
    ACCESS_LOAD_MATRIX,
    ACCESS_STORE_MATRIX,
    ACCESS_ATOMIC
};
enum access_space { ACCESS_GENERIC, ACCESS_GLOBAL, ACCESS_SHARED, ACCESS_LOCAL };

struct coded_access {
    uint32_t line; /* line of the PTX text */
    uint8_t kind, space;
    uint16_t bytes; /* per lane; 0 if atomic */
    uint16_t loops; /* nesting depth; or ACCESS_LOOPS_UNKNOWN */
};
enum { ACCESS_LOOPS_UNKNOWN = UINT16_MAX };
int ptx_access_by_line(const void *left, const void *right); /* for qsort */

/* Describes the memory access of an instruction. Returns false if the instruction accesses no
 * memory of these spaces (parameters and constants do not count). Leaves `line` and `loops` at
 * 0. */
bool ptx_access_of(const struct ptx_instruction *ins, struct coded_access *out);

struct ptx_access {
    struct coded_access is;
    const struct ptx_instruction *ins;
    uint32_t statement; /* index in the body */
    /* The last instruction before the access's innermost loop, in the loop around it; NULL: not
     * known. It has no guard, so it runs as often as the innermost loop is entered. */
    const struct ptx_instruction *entry;
};
/* Lists all accesses of a function of a parsed text, in order of the text. Returns their number. */
size_t ptx_accesses(struct arena *a, const struct ptx_function *f, struct ptx_access **out);

#endif
