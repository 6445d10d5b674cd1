/* A dense number for every symbol of a kernel, so that a pass can keep its results in an array.
 * (A symbol's `index` counts parameters and other symbols separately.) */
#ifndef TW_NUMBERING_H
#define TW_NUMBERING_H

#include "base/number_map.h"
#include "tile/tile.h"

struct numbering {
    struct number_map numbers; /* by address */
    int count;                 /* symbols are numbered 0 … count-1, in order of declaration */
};

/* build.c */
void numbering_init(struct numbering *n, struct arena *a, const struct kernel *k);
/* Returns the number of s; -1: it is not a symbol of the kernel. */
int numbering_of(const struct numbering *n, const struct sym *s);

#endif
