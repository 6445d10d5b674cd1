/* Compares packed tiles and delayed products (src/cpu/packed.h) with the plain way, in which tiles
 * are stored as declared and every product is added at once: the same bits and the same faults,
 * with every set of routines, on one worker and on three. */
#ifndef PACKED_HELPER_H
#define PACKED_HELPER_H

#include "cpu_helper.h"

enum { PACKED_ARRAY = 1 << 19 /* bytes */, PACKED_TEXT = 2048 /* a program's, at most */ };

double packed_usual(size_t i);
double packed_sometimes_infinite(size_t i);
/* Returns the elements of the arrays; packed_usual until a test sets it. */
extern double (*packed_element)(size_t i);
void packed_fill(const struct param *p, unsigned char *data);
/* Runs the text each way; returns the fault, and in *packed the number of packed stages of
 * tiles. */
struct cpu_fault packed_expect_same(const char *text, int64_t n, uint32_t *packed);

#endif
