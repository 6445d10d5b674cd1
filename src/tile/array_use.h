/* The use of an array: its values as indices, and atomic operations on it. */
#ifndef TW_ARRAY_USE_H
#define TW_ARRAY_USE_H

#include "tile/tile.h"

struct array_use {
    bool is_index;    /* a value may become an index, the start of a slice or a loop's bound */
    bool is_computed; /* an index is computed from the values by more than adding a number */
    bool is_starts;   /* neighbours are read together, as the starts of rows are */
    bool is_atomic;   /* an atomic operation changes elements */
    int64_t extent;   /* least extent that the values index, if it is known; 0: none is */
};

/* Finds the use of a pointer parameter, in the kernel and in its `ensures`. It
 * ignores the order of statements, so it may find a use that no launch makes. Requires the
 * typed program before any pass; `env` has the known sizes. Scratch memory is from `a`. */
struct array_use array_use_find(struct arena *a, const struct kernel *k, const struct sym *array,
                                const struct scalar_env *env);

#endif
