/* The memory of tests that let it grow until the end. */
#ifndef ARENA_HELPER_H
#define ARENA_HELPER_H

#include "base/arena.h"

extern struct arena arena; /* that memory runs out is not tested with it */

/* For cmocka. */
int arena_set_up(void **state);
int arena_tear_down(void **state);

#endif
