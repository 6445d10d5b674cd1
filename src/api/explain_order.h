/* The time that blocks of different work take in the order in which a GPU starts them. */
#ifndef TW_EXPLAIN_ORDER_H
#define TW_EXPLAIN_ORDER_H

#include "api/explain.h"
#include "api/explain_sample.h"

/* Returns the time from the first block's start to the last one's end, if each place of a
 * multiprocessor takes the next block of the grid, x fastest, when its own has ended. The unit is the
 * time of a block of mean work. The work of blocks between those that were run is interpolated along
 * each axis. Returns 0 if the grid has too many blocks. */
double explain_order(const struct sampling *s, const struct explain *e);

#endif
