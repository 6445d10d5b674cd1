/* The layouts of a lowered kernel as tables. */
#ifndef TW_LAYOUTS_H
#define TW_LAYOUTS_H

#include "api/objects.h"
#include "tilewright_look.h"

/* Returns the layout as `show --stage layout` prints it. */
const char *layouts_words(struct arena *a, const struct layout *layout);
/* Returns the place of each element of a shared tile, row-major, in bytes from `base`. Sets
 * *plain if they are contiguous and in order. */
const uint32_t *layouts_places(struct arena *a, const struct lowered_placed *tile, uint64_t base,
                               bool *plain);
/* Returns the element of each warp, lane and held element, row-major; -1: none. */
const int32_t *layouts_elements(struct arena *a, const struct layout *layout, int rank,
                                const int64_t *shape);

/* Makes all tables; they live in the arena. */
void layouts_of(struct arena *a, const struct lowered *lowered, tw_layouts *out);

#endif
