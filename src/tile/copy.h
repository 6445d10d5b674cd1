/* Copies of Tile IR. */
#ifndef TW_COPY_H
#define TW_COPY_H

#include "tile/tile.h"

/* Returns a copy of a list of statements of the kernel. Its declarations make new
 * symbols of the kernel; other symbols are shared. */
struct stmt *stmts_copy(struct kernel *k, const struct stmt *first);
/* Returns a copy of the kernel, in the same arena, that shares no symbol and no expression with
 * it. */
struct kernel *kernel_copy(const struct kernel *k);

#endif
