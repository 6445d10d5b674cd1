/* Describes how much of a kernel's output is wrong, how much of that was never written, and
 * where. */
#ifndef TW_WRONG_VALUES_H
#define TW_WRONG_VALUES_H

#include "cli/json.h"
#include "cli/tool.h"

/* Elements of arrays that, after each run, still held their fill from before the run. */
struct untouched {
    struct untouched_array {
        char *name;
        int64_t count;
        bool *still;          /* of each element */
        unsigned char *began; /* of a bool: bits 1 for false and 2 for true; it is known to be
                               * unwritten only if it began as both. NULL: another type */
    } * list;
    int count;
};

/* Record untouched elements after a run that began with zeros in the array, or with the values of
 * tensor_fill_unwritten(turn). For one-byte types, only two runs with different fills give
 * certainty. */
void untouched_take_zeros(struct untouched *u, const char *name, const tw_array *now);
void untouched_take_unwritten(struct untouched *u, const char *name, const tw_array *now, int turn);
void untouched_free(struct untouched *u);

struct wrong_view {
    char *name;
    int rank;
    int64_t extent[TW_MAX_RANK], elements;
    int64_t wrong, unwritten; /* elements; unwritten: how many of the wrong ones */
    unsigned char *marks;     /* of each element */
    double *got, *want;       /* of each wrong element; NULL: too many elements */
    struct wrong_cell {
        int64_t number; /* of the element */
        double got, want;
    } * cells; /* the first wrong elements */
    int cell_count;
};
enum { MOST_WRONG_CELLS = 1024 };

struct wrong_values {
    struct wrong_view *views;
    int count;
    const struct untouched *untouched;
};

/* Describes the wrong values. Call it right after a verification that returned TW_WRONG_VALUES,
 * with unchanged arrays. `untouched` are the elements that were never written; NULL: not known. */
void wrong_values_take(struct wrong_values *w, tw_launch *l, const struct untouched *untouched);
/* Returns "992 of 8710 elements of `C` are never written: rows 96 to 126", a line or two for
 * each view; with unwritten_only, leaves out written elements. Returns NULL if there is nothing
 * to add to the one element. The caller frees. */
char *wrong_values_text(const struct wrong_values *w, bool unwritten_only);
/* Returns the wrong elements of small matrices and vectors, with row and column numbers: each
 * element's value and, in parentheses, its correct value. Lines begin with four blanks. Returns
 * NULL if that would not help. The caller frees. */
char *wrong_values_matrices(const struct wrong_values *w);
/* Writes a list of objects: view, shape, elements, wrong, wrong_region, never_written,
 * never_written_region, cells. A region is the bounding box of the elements: low, high, and
 * whole, which is true if the box has no other elements. Cells are the first wrong elements: at,
 * got, want, and whether it was written. */
void wrong_values_json(const struct wrong_values *w, struct json *j);
void wrong_values_free(struct wrong_values *w);

#endif
