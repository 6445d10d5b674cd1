/* NumPy's .npy files: f2 f4 f8, i1 … i8, u1 … u8, b1, little-endian, C order. */
#ifndef TW_NPY_H
#define TW_NPY_H

#include "tilewright.h"

/* Reads a file into out; out->data is allocated by malloc. Returns NULL, or a message (static
 * text, or in `why`). Never allocates more than the file holds, whatever the header claims. */
const char *npy_read(const char *path, tw_array *out, char why[256]);

/* Checks in advance whether a file can be written at that path. Returns NULL, or the reason if
 * it cannot. */
const char *npy_may_write(const char *path, char why[256]);
/* Writes a temporary file in the same folder and renames it, so the file has the old content or
 * the new, never half. Returns NULL, or a message. */
const char *npy_write(const char *path, const tw_array *array, char why[256]);

#endif
