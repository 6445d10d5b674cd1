/* The indices of a table's element.
 *
 * A table has one axis in the IR. The checker combines the indices of several axes into one, which is
 * -1 if one of them is outside:
 *
 *     T[i][j] of T[4][8]  ->  T[where(i >= 0 && i < 4 && j >= 0 && j < 8, i * 8 + j, -1)]
 *
 * Messages need the index, its axis and that axis's extent; these functions find them again. */
#ifndef TW_LOOKUP_H
#define TW_LOOKUP_H

#include "tile/tile.h"

struct lookup_index {
    const struct expr *value;
    int axis;
    int64_t extent; /* of the axis; of the whole table if all is one index */
    bool is_whole;
};

/* Finds the indices of OP_LOOKUP that may be outside. Returns their number: 1, the combined index,
 * if the program has only that. */
int lookup_indices(const struct expr *lookup, struct lookup_index out[MAX_RANK]);
/* Returns "axis 1 of the table T (extent 8)", or "the table T (32 values)". */
const char *lookup_place(struct arena *a, const struct expr *lookup, const struct lookup_index *x);

#endif
