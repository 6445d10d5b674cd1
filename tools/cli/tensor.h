/* Arrays of the program: fills, converts, writes and prints them. */
#ifndef TW_TENSOR_H
#define TW_TENSOR_H

#include "cli/complaints.h"
#include "cli/json.h"
#include "tilewright.h"

#include <stdio.h>

enum fill {
    FILL_NONE,
    FILL_RAND,
    FILL_ZERO,
    FILL_IOTA,
    FILL_ONES,
    FILL_WIDE,
    FILL_NEGATIVE,
    FILL_POSITIVE,
    FILL_EXTREME,
    FILL_SPECIAL,
    FILL_STARTS
};
/* List of the fills, for messages and help. */
#define FILL_NAMES "rand, zero, iota, ones, wide, negative, positive, extreme, special or starts"
/* Returns the fill of that name, or FILL_NONE if there is none. */
enum fill fill_from_name(const char *name);
const char *fill_name(enum fill fill); /* not of FILL_NONE */

bool is_signed_integer(tw_dtype t);
int64_t tensor_elements(const tw_array *a);
size_t tensor_bytes(const tw_array *a);
/* Returns whether the array fits into the machine's memory in addition to *others bytes. Adds
 * its bytes to *others. */
bool tensor_fits(const tw_array *a, double *others);
/* Prints that the array does not fit; `all` is the bytes of the arrays up to it. */
void tensor_say_no_memory(const tw_array *a, const char *name, double all, struct complaints *c);
/* Allocates a->data, zeroed, for its type and shape. Returns false if memory is exhausted. */
bool tensor_allocate(tw_array *a);
/* Fills an array; the same seed gives the same values.
 *
 * FILL_RAND: floats uniform in ±scale/2, integers 0 … limit-1.
 *
 * FILL_WIDE: floats that overflow exp, or that are close together and far from zero: uniform in
 * ±WIDEST in one row, WIDEST plus values of FILL_RAND in the next; i8 and u8 of all their values,
 * unless they are indices; other integers as FILL_RAND, because sums of them may overflow.
 *
 * FILL_NEGATIVE, FILL_POSITIVE: no element is 0 or has the other sign. Floats have one to two times
 * the size of those of FILL_RAND; integers have a size up to limit; unsigned integers are positive
 * in both.
 *
 * FILL_EXTREME: the least and the largest integer, and small ones of both signs; floats as
 * FILL_RAND.
 *
 * FILL_SPECIAL: NaN, infinities, zeros of both signs, the least and the largest magnitude, among
 * values of FILL_RAND. One row of four has any of them here and there, one only those that are
 * finite, one is all -inf, NaN, inf or 0, and one has none. Integers as FILL_RAND.
 *
 * FILL_STARTS: integers from 0 to `extent` that ascend along the last axis, some of them equal, such
 * as the starts of rows. FILL_RAND does the same where is_starts is true. */
enum { WIDEST = 100 };
struct fill_options {
    enum fill kind;
    uint64_t seed;
    double scale;
    int64_t limit;            /* of integers */
    bool is_index, is_starts; /* as tw_array_use has them */
    int64_t extent;           /* that the values index, the last start; 0: not known */
};
void tensor_fill(tw_array *a, const struct fill_options *o);
/* Fills an array with contents that unwritten memory may have: NaN, a large value and a value
 * far below zero in turn. A sum, product, maximum or minimum that starts from them is therefore
 * wrong in at least one element of three. Integers get the same bytes. `turn` selects the first
 * of the three; a bool is true in turn 0, and in one element of three in the others. */
void tensor_fill_unwritten(tw_array *a, int turn);
/* Returns the root mean square of the finite elements, or 0 if there are none. */
double tensor_root_mean_square(const tw_array *a);
/* Returns whether the array has two or more elements, and all have the same bits. */
bool tensor_is_uniform(const tw_array *a);
/* Returns half the gap between 1 and the next value of a float type: 2^-24 for f32. */
double type_roundoff(tw_dtype t);
/* Copies an array with its elements converted. Returns false if memory is exhausted. */
bool tensor_convert(const tw_array *from, tw_dtype to, tw_array *out);
/* Like npy_write; writes a type that NumPy does not have as f32. */
const char *tensor_write(const tw_array *a, const char *path, char why[256]);

/* Writes the elements, row-major; "nan", "inf" and "-inf" as strings. */
void tensor_json(struct json *j, const tw_array *a);
/* Writes an element as Python does: "0.1", "nan", "3", "True". A float is the shortest text that
 * reads back as the same element. */
void tensor_element_text(char *out, size_t size, const tw_array *a, int64_t index);
enum { SHOWN_ELEMENTS = 64 }; /* largest array that is printed element by element */
/* Prints an array to standard output: the elements as a Python list; for several axes, the type
 * and one line a row. For more than SHOWN_ELEMENTS elements, prints one line with the type,
 * range and mean, and mentions `--out KEEP=FILE.npy`, which saves them. */
void tensor_report(const tw_array *a, const char *keep);

#endif
