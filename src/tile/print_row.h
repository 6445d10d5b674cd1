/* A row of print(): which elements it shows, and, for GPUs, its text around them. */
#ifndef TW_PRINT_ROW_H
#define TW_PRINT_ROW_H

#include "base/text.h"
#include "tile/print_format.h"
#include "tile/tile.h"

enum {
    PRINT_ALONE = 12, /* axes up to this extent are shown whole, longer ones by their ends: */
    PRINT_ENDS = 4,
    PRINT_MOST_SHOWN = 4096, /* elements of one row */
    PRINT_MOST_VALUES = 32   /* of one vprintf (CUDA C++ Programming Guide, "Formatted Output") */
};

/* The part of an argument that a row shows. */
struct print_shown {
    const struct expr *e;
    struct type type;                  /* of the part */
    const struct print_window *window; /* NULL: each axis whole, or by its ends */
};

/* An element, or a coordinate of the block or the thread, with the text before it. A format keeps its %%. */
struct print_part {
    const char *text;
    enum print_part_kind {
        PRINT_BLOCK,
        PRINT_THREAD,
        PRINT_ELEMENT,
        PRINT_END /* no value: the text ends the row */
    } kind;
    int axis;                        /* of the block or the thread */
    int argument;                    /* of an element */
    int64_t number;                  /* of an element among those shown, row-major */
    const struct print_piece *piece; /* the value's conversion, in a row that is a format */
};

struct print_row {
    bool is_format;
    int64_t elements, bytes;   /* shown; of memory for the row, a multiple of 16 */
    struct print_shown *shown; /* by argument */
    VEC(struct print_part) parts;
};

/* Makes the row of a print(). by_thread: each thread prints one of its own. The row has no parts if it would show more than
 * PRINT_MOST_SHOWN elements. */
struct print_row print_row_make(struct arena *a, const struct kernel *k, const struct expr *e,
                                bool by_thread);
/* Returns the number in the whole argument of an element that is shown, both row-major. */
int64_t print_number_of(const struct print_shown *s, int64_t number);
/* Returns whether an axis is shown by its ends: of n elements the first and the last PRINT_ENDS. */
bool print_by_ends(const struct print_shown *s, int axis);
/* Returns a conversion of C's printf for values of type t that are given in 8 bytes. */
const char *print_conversion(struct arena *a, const struct print_piece *piece, enum dtype t);

#endif
