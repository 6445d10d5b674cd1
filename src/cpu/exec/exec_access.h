/* Functions that the steps of accesses share: exec_access.c, exec_lanes.c,
 * exec_row_place.c. */
#ifndef TW_EXEC_ACCESS_H
#define TW_EXEC_ACCESS_H

#include "cpu/program.h"

static inline int64_t index_value(const void *values, bool wide, size_t i)
{
    if (wide)
        return ((const int64_t *)values)[i];
    return ((const int32_t *)values)[i];
}

/* Note the fault that an index, or a slice marked `inside`, reaches outside its axis. */
void exec_element_outside(struct frame *f, const struct access *a, int axis, int64_t index,
                          struct loc loc, int lane);
void exec_slice_outside(struct frame *f, const struct access *a, int axis, int64_t start,
                        struct loc loc, int lane);

#endif
