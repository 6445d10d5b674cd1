/* `clean` workspace: each launch finds it 0 and leaves it 0. */
#ifndef TW_CLEAN_H
#define TW_CLEAN_H

#include "tile/tile.h"

enum { CLEAN_TEXT = 192 };

/* Returns true if an element of the workspace, which has these extents, is not 0 after a launch.
 * Sets `message` to a text that names the first such element. */
bool clean_is_dirty(const struct sym *s, const int64_t *extent, const void *data,
                    char message[CLEAN_TEXT]);

extern const char clean_way_out[];

#endif
