/* Prints the difference of two texts, line by line. */
#ifndef TW_LINE_DIFF_H
#define TW_LINE_DIFF_H

#include <stdio.h>

/* Prints the difference in the unified format, with three lines around each change, as `patch`
 * takes it. Prints nothing if the texts are equal. */
void print_diff(FILE *out, const char *name, const char *old, const char *new);

#endif
