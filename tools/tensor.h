/* Arrays that the program makes: filling, converting, writing, printing. */
#ifndef TW_TENSOR_H
#define TW_TENSOR_H

#include "complaints.h"
#include "json.h"
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
    FILL_EXTREME
};
/* "rand, zero, … or extreme", for messages and help. */
#define FILL_NAMES "rand, zero, iota, ones, wide, negative, positive or extreme"
/* FILL_NONE when there is no such word. */
enum fill fill_from_name(const char *name);
const char *fill_name(enum fill fill); /* not of FILL_NONE */

bool is_signed_integer(tw_dtype t);
int64_t tensor_elements(const tw_array *a);
size_t tensor_bytes(const tw_array *a);
/* Whether it fits into the machine's memory beside *others bytes, to which its own are added. */
bool tensor_fits(const tw_array *a, double *others);
/* The message that it does not; all: bytes of the arrays up to it. */
void tensor_say_no_memory(const tw_array *a, const char *name, double all, struct complaints *c);
/* a->data for its type and shape, zeroed; false: no memory. */
bool tensor_allocate(tw_array *a);
/* FILL_RAND: floats uniform in ±scale/2, integers 0 … limit-1, the same for the same seed.
 * FILL_WIDE: floats that overflow exp, or that lie close together and far from zero: in one row
 * uniform in ±WIDEST, in the next WIDEST and as FILL_RAND from there; i8 of all its values; other
 * integers, which may be indices, as FILL_RAND.
 * FILL_NEGATIVE, FILL_POSITIVE: no element is 0 or has the other sign: floats as large as those of
 * FILL_RAND or twice, integers up to limit; unsigned ones are positive in both.
 * FILL_EXTREME: of integers the least, the largest, and small ones of both signs; floats as
 * FILL_RAND. */
enum { WIDEST = 100 };
struct fill_options {
    enum fill kind;
    uint64_t seed;
    double scale;
    int64_t limit;
};
void tensor_fill(tw_array *a, const struct fill_options *o);
/* What memory may hold that nobody has written: NaN, large and far below zero in turn, so that a
 * sum, a product, a maximum or a minimum that begins with it shows in one element of three;
 * integers as the same bytes. turn: which comes first. */
void tensor_fill_unwritten(tw_array *a, int turn);
/* The root of the mean square of the elements that are finite; 0: there is none. */
double tensor_root_mean_square(const tw_array *a);
/* Half the gap between 1 and the next element: 2^-24 of f32; of floats alone. */
double type_roundoff(tw_dtype t);
/* A copy with other elements; false: no memory. */
bool tensor_convert(const tw_array *from, tw_dtype to, tw_array *out);
/* As npy_write; a type that NumPy does not have as f32. */
const char *tensor_write(const tw_array *a, const char *path, char why[256]);

/* The elements, row-major; "nan", "inf" and "-inf" as strings. */
void tensor_json(struct json *j, const tw_array *a);
/* "0.1", "nan", "3", "True": an element as Python writes it; a float is the shortest text that reads
 * back as the same element. */
void tensor_element_text(char *out, size_t size, const tw_array *a, int64_t index);
/* "[1.0, 3.0, nan]", as a Python list; with several axes one in the other, a row a line and element
 * below element. */
void tensor_print(FILE *out, const tw_array *a);
enum { SHOWN_ELEMENTS = 64 }; /* as many as that are printed one by one */
/* On standard output: the elements, as a Python list, where they have several axes the type and a
 * line a row; or of more than SHOWN_ELEMENTS a line with the type, range and mean, and that
 * `--out KEEP=FILE.npy` keeps them. */
void tensor_report(const tw_array *a, const char *keep);

#endif
