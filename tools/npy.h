/* NumPy's .npy files: f2 f4 f8, i1 … i8, u1 … u8, b1, little-endian, C order. */
#ifndef TW_NPY_H
#define TW_NPY_H

#include "tilewright.h"

/* Reads a file into out; out->data is malloc'ed. Returns NULL, or what is wrong (static text, or in
 * `why`). Whatever the header says, no more is allocated than the file holds. */
const char *npy_read(const char *path, tw_array *out, char why[256]);

/* Whether a file of that path can be written, before there is something to write: NULL, or why it
 * cannot. */
const char *npy_may_write(const char *path, char why[256]);
/* Writes beside the file and renames: the old content or the new, never half. NULL, or what is
 * wrong. */
const char *npy_write(const char *path, const tw_array *array, char why[256]);

#endif
