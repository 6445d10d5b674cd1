/* The memory of tests that free nothing until they end. */
#ifndef ARENA_HELPER_H
#define ARENA_HELPER_H

#include "base/arena.h"

extern struct arena arena; /* these tests do not test running out of it */

/* For cmocka. */
int arena_set_up(void **state);
int arena_tear_down(void **state);

#endif
