/* Functions that the steps of `dot` and of packed tiles (packed.h) share: exec_packed.c,
 * exec_pack.c, packed_cache.c, dot_prefetch.c, exec_dot.c. */
#ifndef TW_EXEC_PACKED_H
#define TW_EXEC_PACKED_H

#include "cpu/program.h"

/* Rows SETS_BYTES apart begin in the same set of the first-level cache, which has 64 sets of
 * lines in most processors. Rows FAR_BYTES apart also have too few sets of the second-level
 * cache. */
enum { SETS_BYTES = 64 * CACHE_LINE, FAR_BYTES = 4 * SETS_BYTES };
/* The number of such rows that may be read at the same time: each needs a way of that set. */
enum { ROWS_OF_A_SET = 12 };

/* exec_packed.c: returns the stage that `to` names now; NULL: a fault was noted. */
struct packed_state *packed_state_of(struct frame *f, const struct packed_tile *tile,
                                     const struct access *to, struct loc loc);
/* Returns the number of steps along the depth that precede the zeros at its end. */
size_t packed_depth(const struct frame *f, const struct packed_tile *tile,
                    const struct packed_state *state);
/* The part of a product that is needed: rows and columns of the sum, steps of the depth. */
struct dot_need {
    size_t rows, columns, depth;
    bool few; /* exec_multiply_few can add it */
    bool raw; /* and can convert rows of the left operand from the type of their view */
};
/* Returns the address in the view of a tile with at least these lines and this depth inside; NULL: it
 * has fewer. */
const unsigned char *packed_in_view(const struct frame *f, const struct packed_state *state,
                                    size_t lines, size_t depth);
/* Returns the tile's elements in the form that `dot` reads, as many as the product needs. They are
 * there already, or are packed now, or will be packed by the product; that is executed together
 * with the `waiting` ones (NULL: alone). state->step: elements from one row or panel to the
 * next. */
const unsigned char *packed_place(struct frame *f, const struct packed_tile *tile,
                                  struct packed_state *state, const struct dot_need *need,
                                  const struct dot_deferred *waiting);

/* exec_pack.c: packs `lines` × `depth` elements of the view that the fill reads, at the place of
 * the box, to `to`, with rows or panels `step` elements apart. */
void exec_pack_box(const struct frame *f, const struct packed_fill *fill, const struct box *box,
                   int64_t lines, int64_t depth, unsigned char *to, int64_t step);
/* Swaps the two floats of each pair. */
void exec_swap_floats(unsigned char *at, int64_t pairs);
/* Returns whether a product can pack the part that the fill reads on its way: row by row,
 * unchanged or from f16 to f32, and for a right operand in whole panels. *step: elements from
 * row to row of the view. */
bool exec_packs_in_product(const struct frame *f, const struct packed_fill *fill,
                           const struct box *box, int64_t depth, size_t *step);

/* exec_weights.c: a view of codes or scales: [rows][columns], from an origin on. */
struct weight_view {
    const unsigned char *base;
    int64_t extent[2], stride[2], origin[2];
    int64_t every; /* steps of depth of a row; 0: it has one row */
    enum dtype dtype;
};
struct weight_source {
    const struct packed_weights *weights;
    const struct routine_set *set;
    struct weight_view codes, scale[MOST_SCALES];
};
/* Opens the views of weights, from their first element on; `state`: from the tile's first element
 * on (NULL: it is mapped). */
void exec_weights_open(const struct frame *f, const struct packed_fill *fill,
                       const struct packed_state *state, struct weight_source *source);
/* Most columns that exec_weights_rows computes. */
enum { WEIGHT_COLUMNS = 128 };
/* Computes n columns from column j on of `rows` steps of depth from k on, in f32, `step` elements
 * apart; elements beyond the edges of the views count as 0. swaps: the steps of each pair change
 * places. */
void exec_weights_rows(const struct weight_source *source, float *to, size_t step, int64_t k,
                       size_t rows, int64_t j, size_t n, bool swaps);
/* Returns whether the set has a routine for one row of such weights. */
static inline bool weights_have_routine(const struct weight_source *source)
{
    return source->set->few_halves && source->weights->halves;
}
/* Adds steps of weights from k on, for one row of a, to n sums from column j on: *steps at most, and it
 * sets *steps to their number. Returns the number of columns, multiples of HALVES_COLUMNS, that it has
 * added them to; 0: the set has no routine for these weights or their scales. */
size_t exec_weights_add(const struct weight_source *source, float *sum, const float *a, int64_t k,
                        size_t *steps, int64_t j, size_t n, size_t ahead, bool swaps);
/* Notes where scales start. false: a fault was noted. */
bool exec_weights_note(struct frame *f, const struct packed_fill *fill, struct loc loc,
                       struct packed_state *state);
/* Packs `depth` steps of the tile, or of the part of a cache at the box. */
void exec_weights_pack(const struct frame *f, const struct packed_state *state,
                       const struct box *box, int64_t depth, unsigned char *to, int64_t step);
/* Returns whether a product of few rows can compute that number of columns from the views. */
bool exec_weights_in_place(const struct packed_state *state, size_t columns);
/* Returns the address of the tile's first element as if the view had a row for each step of depth. It
 * tells the step and the column; nothing is read there. */
const unsigned char *exec_weights_address(const struct frame *f, const struct packed_state *state);
/* Returns whether `bytes` bytes from `to` on overlap a view of the weights. */
bool exec_weights_overlap(const struct frame *f, const struct packed_fill *fill,
                          const unsigned char *to, size_t bytes);
/* Returns whether the weights' views keep their values during the launch. */
bool exec_weights_stay(const struct frame *f, const struct packed_fill *fill);

/* packed_cache.c: the part of a row of parts that has the place `depth` along the depth. */
struct packed_source packed_cache_part(const struct frame *f, const struct packed_fill *fill,
                                       int64_t line, int64_t depth);
/* Takes a piece in order to pack it. false: another block has taken it already. */
bool packed_piece_take(_Atomic unsigned char *done);
void packed_piece_done(_Atomic unsigned char *done);
bool packed_piece_ready(const _Atomic unsigned char *done);
/* Waits until the block that has taken a piece has packed it: this takes some microseconds. */
void packed_piece_wait(const _Atomic unsigned char *done);
/* Packs a piece that the caller has taken. */
void packed_piece_pack(const struct frame *f, const struct packed_source *source, size_t piece);
/* Returns whether all pieces are packed that have one of the first n lines. */
bool packed_lines_ready(const struct frame *f, const struct packed_source *source, size_t n);

/* packed_cache.c: looks the tile up in the launch's cache. true: it was there, or was packed
 * there now, or the product will pack it there (state->source; `waiting`: the products that may be
 * executed with it, NULL: none). false: none of these, or another block is packing it right now. */
bool packed_cache_find(const struct frame *f, struct packed_state *state,
                       const struct dot_need *need, const struct dot_deferred *waiting);
/* Finds the row of parts that contains the tile which starts there, and its place along the
 * depth. false: it does not begin where tiles of the cache begin. */
bool packed_cache_line(const struct frame *f, const struct packed_fill *fill, const int64_t *start,
                       int64_t *line, int64_t *depth);
/* Returns the address of a row of parts, at place `depth`. */
unsigned char *packed_cache_at(const struct packed_cache *cache, const struct packed_plan *plan,
                               int64_t line, int64_t depth);

/* dot_prefetch.c: lists memory that is needed after the product of these tiles. */
enum { MOST_PREFETCHES = 32 };
struct prefetch_list {
    struct dot_prefetch item[MOST_PREFETCHES];
    size_t count;
    struct dot_prefetch *first, *last; /* in the order of fetching */
    int64_t depth;                     /* of the product under way */
};
/* Adds the panels of the product's right operand, except the first. */
void dot_prefetch_panels(struct prefetch_list *list, const struct dot_detail *d,
                         const struct dot_deferred *p);
/* Adds the tiles beyond these along the depth, as many as are multiplied at once; false: there
 * are none. */
bool dot_prefetch_beyond(struct prefetch_list *list, const struct frame *f,
                         const struct packed_state *const states[2]);
/* Adds the memory with which the next block begins; called for the last tiles of a block. */
void dot_prefetch_next(struct prefetch_list *list, struct frame *f,
                       const struct packed_state *const states[2]);
/* Adds the memory that the block stores to: the box of the store noted last. box == NULL: the
 * place is extrapolated from the last two stores. */
void dot_prefetch_store(struct prefetch_list *list, const struct frame *f, const struct box *box);

/* Bytes of a piece of a row that products of few rows read at once. */
enum { FEW_ROW = 4096 };
/* exec_few.c: returns whether exec_multiply_few can add a product of so few rows. */
bool exec_multiplies_few(const struct frame *f, const struct dot_detail *d, size_t rows);
/* Returns whether it then converts the left operand itself. */
bool exec_multiplies_raw(const struct dot_detail *d);

/* --- exec_shared.c --- */

/* Offers the pieces of a product to workers that are idle; shared->run and the functions are set. */
void exec_pieces_offer(struct shared_product *shared, const struct dot_detail *d, size_t count);
/* Takes a piece. false: another worker has it. */
bool exec_piece_claim(_Atomic uint64_t *pieces, size_t piece);
/* Waits for the workers that help, after all pieces are taken. */
void exec_wait_for_helpers(struct shared_product *p);

/* The part of a sum that is needed, and where the complete sum is written; to == NULL: only to
 * the sum itself. */
struct dot_target {
    size_t rows, columns;
    void *to;
    size_t step;
    enum out_type type;
};
/* exec_few.c: multiplies few rows by a right operand that is read in its view (p->b_view). The
 * sums may be in the frame's strip afterwards, until exec_end_few, unless out.to is given. */
void exec_multiply_few(const struct frame *f, const struct dot_detail *d, float *sum,
                       struct dot_deferred *p, struct dot_target out);
/* Moves sums from the frame's strip to `sum`, or to out.to. */
void exec_end_few(const struct frame *f, float *sum, const struct dot_detail *d,
                  struct dot_deferred *p, struct dot_target out);
/* Multiplies, with the help of workers that are idle (exec_help_with_product). A product is not
 * shared if its first panel packs rows of the left operand. */
void exec_multiply_shared(const struct frame *f, const struct dot_detail *d, void *sum,
                          const struct dot_deferred *p, struct dot_target out,
                          struct dot_strides *s);
/* Does the same piece by piece of the right operand, and packs the pieces that no block has taken
 * yet. It begins with those that no other block is packing. */
void exec_multiply_pieces(const struct frame *f, const struct dot_detail *d, void *sum,
                          const struct dot_deferred *p, struct dot_target out,
                          struct dot_strides *s);

#endif
