/* The label of print() as a format: text, and conversions of its values as in C's printf. */
#ifndef TW_PRINT_FORMAT_H
#define TW_PRINT_FORMAT_H

#include "base/dtype.h"

#include <stdbool.h>
#include <stddef.h>

enum { PRINT_SPEC = 16 };

/* A piece of a format: text, and the conversion after it. */
struct print_piece {
    const char *text; /* the text before the conversion, with %% for a percent sign */
    size_t length;    /* length of the text */
    const char *from; /* the conversion as written in the format */
    size_t size;
    char spec[PRINT_SPEC]; /* the conversion without its letter: "%-8.3" */
    char letter;           /* one of "diuxXeEfgG"; 0: the format ends after the text */
};

/* Returns true if the label has a `%`. A label without one is not a format. */
bool print_is_format(const char *label);

/* Reads one piece from `at` on. Returns the beginning of the next piece; NULL: `from` and `size`
 * give text that is not a conversion. */
const char *print_piece_read(const char *at, struct print_piece *out);

/* Returns true for a conversion of floats (e, f, g). */
bool print_of_float(char letter);

/* Returns the type in which a conversion prints an integer of type t: %u and %x print a signed
 * integer as the unsigned one of the same width. */
enum dtype print_type(char letter, enum dtype t);

#endif
