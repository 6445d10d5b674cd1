/* The label of print() as a format: text, and conversions of its values as C's printf has them. */
#ifndef TW_PRINT_FORMAT_H
#define TW_PRINT_FORMAT_H

#include "base/dtype.h"

#include <stdbool.h>
#include <stddef.h>

enum { PRINT_SPEC = 16 };

/* Text and the conversion after it. */
struct print_piece {
    const char *text; /* up to the conversion, with %% for a percent sign */
    size_t length;    /* of the text */
    const char *from; /* the conversion in the format */
    size_t size;
    char spec[PRINT_SPEC]; /* the conversion without its letter: "%-8.3" */
    char letter;           /* of "diuxXeEfgG"; 0: the format ends after the text */
};

/* Does the label have a `%`? A label without one is no format. */
bool print_is_format(const char *label);

/* Reads one piece from `at` on. Returns where the next one begins; NULL: from and size are no
 * conversion. */
const char *print_piece_read(const char *at, struct print_piece *out);

/* Is it a conversion of floats (e, f, g)? */
bool print_of_float(char letter);

/* The type whose value a conversion prints of an integer of type t: %u and %x take a signed one for
 * the unsigned one of its width. */
enum dtype print_type(char letter, enum dtype t);

#endif
