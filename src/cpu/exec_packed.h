/* What the steps of `dot` and of packed tiles (packed.h) share: exec_packed.c, exec_pack.c,
 * packed_cache.c, dot_prefetch.c, exec_dot.c. */
#ifndef TW_EXEC_PACKED_H
#define TW_EXEC_PACKED_H

#include "cpu/program.h"

/* Depth of a product at which sums are added: columns of b for one block of registers and as much
 * depth stay in the first cache. */
#define DOT_MOST_DEPTH ((size_t)256)

/* exec_packed.c: the stage that `to` names now; NULL: a fault was noted. */
struct packed_state *packed_state_of(struct frame *f, const struct packed_tile *tile,
                                     const struct access *to, struct loc loc);
/* Its elements as `dot` reads them: where they are, or packed now. state->step: from one row or
 * panel to the next. */
const unsigned char *packed_place(struct frame *f, const struct packed_tile *tile,
                                  struct packed_state *state);

/* exec_pack.c: packs `depth` of what the fill reads, where the box has it, to `to`, with rows or
 * panels `step` elements apart. */
void pack_box(const struct frame *f, const struct packed_fill *fill, const struct box *box,
              int64_t depth, unsigned char *to, int64_t step);

/* packed_cache.c: found in the launch's cache, or put there; false: it is none of that, or another
 * block is at it right now. */
bool packed_cache_find(const struct frame *f, struct packed_state *state);
/* Where a row of parts lies from `depth` on. */
unsigned char *packed_cache_at(const struct packed_cache *cache, const struct packed_plan *plan,
                               int64_t line, int64_t depth);

/* dot_prefetch.c */
enum { MOST_PREFETCHES = 16 };
struct prefetch_list {
    struct dot_prefetch item[MOST_PREFETCHES];
    size_t count, depth; /* of the product under way: so many lines can be fetched meanwhile */
};
/* Adds the tiles beyond that of `state` (NULL: none) along the depth, as many as are multiplied at
 * once. */
void prefetch_beyond(struct prefetch_list *list, const struct frame *f,
                     const struct packed_state *state);

#endif
