/* The copies in the background that one block makes, found from its scalars. */
#ifndef TW_BLOCK_COPIES_H
#define TW_BLOCK_COPIES_H

#include "tile/block_work.h"

/* A box of a view that is copied to shared memory, or from it. */
struct block_copy {
    const struct stmt *by;
    const struct sym *view;
    bool stores;
    int64_t start[MAX_RANK], extent[MAX_RANK]; /* elements along each axis of the view */
};

/* Follows the block at a place of the grid turn by turn and calls `see` for each of its copies, in
 * the order of each role. values: of the scalar parameters, by index. Returns false if the copies
 * depend on values that are not known, or if the walk takes too many statements. */
bool block_copies(struct block_program *p, const struct scalar_env *values, const int64_t grid[3],
                  const int64_t at[3], void (*see)(void *user, const struct block_copy *copy),
                  void *user);

#endif
