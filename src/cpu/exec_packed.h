/* What the steps of `dot` and of packed tiles (packed.h) share: exec_packed.c, exec_pack.c,
 * packed_cache.c, dot_prefetch.c, exec_dot.c. */
#ifndef TW_EXEC_PACKED_H
#define TW_EXEC_PACKED_H

#include "cpu/program.h"

/* Rows so many bytes apart begin in the same set of the first cache: 64 sets of lines in most. With
 * FAR_BYTES, those of a tile have too few sets of the second one, too. */
enum { SETS_BYTES = 64 * CACHE_LINE, FAR_BYTES = 4 * SETS_BYTES };
/* So many of them are read at the same time where each has a way of that set. */
enum { ROWS_OF_A_SET = 12 };

/* exec_packed.c: the stage that `to` names now; NULL: a fault was noted. */
struct packed_state *packed_state_of(struct frame *f, const struct packed_tile *tile,
                                     const struct access *to, struct loc loc);
/* How many steps along the depth it has before only zeros follow. */
size_t packed_depth(const struct frame *f, const struct packed_tile *tile,
                    const struct packed_state *state);
/* Its elements as `dot` reads them, `depth` steps of them: where they are, or packed now, or will
 * be by the product, which is taken with those that wait (NULL: alone). state->step: from one row
 * or panel to the next. */
const unsigned char *packed_place(struct frame *f, const struct packed_tile *tile,
                                  struct packed_state *state, size_t depth,
                                  const struct dot_deferred *waiting);

/* exec_pack.c: packs `depth` of what the fill reads, where the box has it, to `to`, with rows or
 * panels `step` elements apart. */
void pack_box(const struct frame *f, const struct packed_fill *fill, const struct box *box,
              int64_t depth, unsigned char *to, int64_t step);
/* Whether such a part is copied row by row, as it is or from f16 to f32, a right operand's into
 * whole panels; so a product can do it on its way. *step: elements from row to row of the view. */
bool packs_in_product(const struct frame *f, const struct packed_fill *fill, const struct box *box,
                      int64_t depth, size_t *step);

/* packed_cache.c: the part `first` is in, of a row of parts. */
struct packed_part {
    _Atomic unsigned char *done;
    int64_t first, depth;
    struct box box;
    unsigned char *to;
};
struct packed_part packed_cache_part(const struct frame *f, const struct packed_fill *fill,
                                     const struct box *box, int64_t line, int64_t first);
/* false: somebody has it, or had. */
bool packed_part_take(_Atomic unsigned char *done);
void packed_part_done(_Atomic unsigned char *done);

/* packed_cache.c: found in the launch's cache, or put there, or to be put there by the product
 * (state->source; `waiting`: the products that it may be taken with, NULL: none); false: it is none
 * of that, or another block is at it right now. */
bool packed_cache_find(const struct frame *f, struct packed_state *state,
                       const struct dot_deferred *waiting);
/* Which row of parts the tile is in that starts there, and where along the depth; false: it does
 * not begin where tiles of the cache do. */
bool packed_cache_line(const struct packed_cache *cache, const struct packed_plan *plan,
                       const struct access *a, const int64_t *start, int64_t *line, int64_t *depth);
/* Where a row of parts lies from `depth` on. */
unsigned char *packed_cache_at(const struct packed_cache *cache, const struct packed_plan *plan,
                               int64_t line, int64_t depth);

/* dot_prefetch.c: what is needed once the product of these tiles is taken. */
enum { MOST_PREFETCHES = 32 };
struct prefetch_list {
    struct dot_prefetch item[MOST_PREFETCHES];
    size_t count;
    struct dot_prefetch *first, *last; /* as they are asked for */
    int64_t depth;                     /* of the product under way */
};
/* The panels of the right operand of a product but the first. */
void prefetch_panels(struct prefetch_list *list, const struct dot_detail *d,
                     const struct dot_deferred *p);
/* The tiles beyond these along the depth, as many as are multiplied at once; false: there are
 * none. */
bool prefetch_beyond(struct prefetch_list *list, const struct frame *f,
                     const struct packed_state *const states[2]);
/* Behind a block's last tiles: what the next block begins with. */
void prefetch_next(struct prefetch_list *list, struct frame *f,
                   const struct packed_state *const states[2]);
/* Where the block stores: `box` of the latest store noted; NULL: as far from there as that is from
 * the one before. */
void prefetch_store(struct prefetch_list *list, const struct frame *f, const struct box *box);

/* --- exec_shared.c --- */

/* What is needed of a sum, and where it goes when it is complete; to == NULL: nowhere else. */
struct dot_target {
    size_t rows, columns;
    void *to;
    size_t step;
    bool halves;
};
/* Multiplies, with those who have nothing else to do (help_with_product). Panels of a block's own,
 * which all lie in one place, and rows that its first panel packs are for it alone. */
void multiply_shared(const struct frame *f, const struct dot_detail *d, void *sum,
                     const struct dot_deferred *p, struct dot_target out, struct dot_strides *s);

#endif
