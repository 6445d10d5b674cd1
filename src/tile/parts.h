/* Parts of memory: whether two accesses of a view touch the same elements. Indices are compared as
 * sums of factors times values that stay the same in an iteration. */
#ifndef TW_PARTS_H
#define TW_PARTS_H

#include "tile/numbering.h"

struct parts {
    struct numbering numbers;
    struct part_scalar *scalars; /* by number */
};

void parts_init(struct parts *p, struct arena *a, const struct kernel *k);
/* Two accesses of one view. The answers hold while control stays in one iteration of every loop
 * around either access. False: not known. */
bool parts_disjoint(const struct parts *p, const struct expr *a, const struct expr *b);
bool parts_same(const struct parts *p, const struct expr *a, const struct expr *b);
/* Returns true if each iteration of the loop touches elements of its own by the access: an index
 * moves with the loop's counter by at least its length. */
bool parts_advance(const struct parts *p, const struct expr *access, const struct stmt *loop);

#endif
