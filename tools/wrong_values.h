/* How much of what a kernel left is wrong, how much of that it never wrote, and where. */
#ifndef TW_WRONG_VALUES_H
#define TW_WRONG_VALUES_H

#include "json.h"
#include "tool.h"

/* The elements of arrays that still held after each run what they were filled with before it. */
struct untouched {
    struct untouched_array {
        char *name;
        int64_t count;
        bool *still; /* of each element */
    } * list;
    int count;
};

/* After a run, which began with `filled` (of the type and shape of `now`) in the array. Of a type
 * of one byte it takes two runs on different values to tell. */
void untouched_take(struct untouched *u, const char *name, const tw_array *now,
                    const tw_array *filled);
/* The same, filled with zeros, or by tensor_fill_unwritten(turn). */
void untouched_take_zeros(struct untouched *u, const char *name, const tw_array *now);
void untouched_take_unwritten(struct untouched *u, const char *name, const tw_array *now, int turn);
void untouched_free(struct untouched *u);

struct wrong_view {
    char *name;
    int rank;
    int64_t extent[TW_MAX_RANK], elements;
    int64_t wrong, unwritten; /* of the elements; unwritten: of those that are wrong */
    unsigned char *marks;     /* of each element */
    double *got, *want;       /* of each that is wrong; NULL: it has too many elements */
    struct wrong_cell {
        int64_t number; /* of the element */
        double got, want;
    } * cells; /* the first that are wrong */
    int cell_count;
};
enum { MOST_WRONG_CELLS = 1024 };

struct wrong_values {
    struct wrong_view *views;
    int count;
    const struct untouched *untouched;
};

/* Right behind a verification that gave TW_WRONG_VALUES, with the arrays as they were. untouched:
 * what of them was never written; NULL: not known. */
void wrong_values_take(struct wrong_values *w, tw_launch *l, const struct untouched *untouched);
/* "992 of 8710 elements of `C` are never written: rows 96 to 126", a line or two for each view;
 * with unwritten_only no word of those that were written. NULL: nothing to say beyond the one
 * element. The caller frees. */
char *wrong_values_text(const struct wrong_values *w, bool unwritten_only);
/* The wrong elements of small matrices and vectors, each as what it is and, in parentheses, what it
 * should be, below the numbers of their columns; lines that begin with four blanks. NULL: there is
 * nothing that helps. The caller frees. */
char *wrong_values_matrices(const struct wrong_values *w);
/* A list of objects: view, shape, elements, wrong, wrong_region, never_written, never_written_region,
 * cells. A region is the box that holds them: low, high, and whole where it holds nothing else. Cells
 * are the first elements that are wrong: at, got, want, and whether it was written. */
void wrong_values_json(const struct wrong_values *w, struct json *j);
void wrong_values_free(struct wrong_values *w);

#endif
