/* Packed tiles: operands of `dot` that are laid out as its routines read them.
 *
 * A tile that is filled from `const` views and read by `dot` alone need not be laid out as it was
 * declared, nor be filled before it is read: its fill only notes the part of the view that it
 * shows. When `dot` reads the tile, it is packed (and converted and transposed in the same pass)
 * into the block's own memory. If other blocks read the same part of the view, it is packed once
 * for all of them, into memory of the launch (a panel cache: Goto and van de Geijn, "Anatomy of
 * High-Performance Matrix Multiplication", 2008, pack so that neither the caches' sets nor the
 * pages run out). Tiles that follow each other along the depth are contiguous in that memory, too,
 * so their products can be added in one call (struct dot_deferred).
 *
 *   left operand    [lines][step]: a row of `depth` elements every `step` of them
 *   right operand   [panels][depth][width]: a panel of `width` columns every `step` elements
 *
 * Products of bf16 add pairs of steps on every machine, as AVX512-BF16 does. If the routine set has
 * that instruction, tiles stay bf16, with the rows of the right operand interleaved in pairs;
 * otherwise the two elements of a pair are swapped when they are packed. Products of 8-bit
 * integers add groups of four steps if the routine set can: tiles stay 8-bit integers, with the
 * rows of the right operand interleaved in fours. Otherwise, as products of 16-bit integers, they
 * add pairs of steps: tiles become 16-bit integers, with these rows interleaved in pairs.
 *
 * A right operand may also consist of weights (tile/weights.h), which are unpacked from bytes and
 * scaled when they are packed, or when a product of few rows reads them (exec_weights.c). Their fill
 * notes the parts of the views of codes and of scales.
 *
 * Bounds, copies under way and tiles without a value are treated as for any tile. */
#ifndef TW_PACKED_H
#define TW_PACKED_H

#include "cpu/cpu.h"
#include "cpu/routines/routines.h"
#include "tile/weights.h"

#include <stdatomic.h>

struct access;

/* Depth of a product at which sums are added. A panel of b of that depth, 64 KiB of f32, stays
 * in the second-level cache. Half of it would stay in the first-level cache, but sums would be
 * read and written twice as often, which is slower. */
#define DOT_MOST_DEPTH ((size_t)512)
/* The same for elements of `size` bytes: panels of smaller elements have the same bytes. */
static inline size_t dot_most_depth(size_t size)
{
    return size < sizeof(float) ? DOT_MOST_DEPTH * sizeof(float) / size : DOT_MOST_DEPTH;
}

/* Elements from row to row of a left operand packed with this depth. The extra ones prevent rows
 * from all beginning in one set of a cache. */
#define LEFT_STEP(depth) ((depth) + SLOT_ALIGNMENT / 4)

/* Bytes of a column, of a product of few rows that reads columns which are contiguous in the view. */
#define DOT_MOST_BYTES_TURNED ((size_t)8192)

enum packed_side { PACKED_LEFT, PACKED_RIGHT };

struct packed_form {
    enum packed_side side;
    bool turned;         /* `dot` reads trans(tile) */
    enum dtype from, to; /* types in the view and in the computation */
    /* Steps of depth that are added at a time: 1; 2 of bf16, the later one first; 2 of 16-bit
     * integers; 4 of 8-bit integers. */
    int group;
    bool flipped;  /* 8-bit integers on the right: their top bits are flipped (dot_int8.c) */
    int64_t lines; /* rows of the left operand, columns of the right one */
    int64_t depth;
    int64_t repeat; /* steps of depth that an element of the view gives: 1, or of weights more */
};

/* The elements that a byte of codes gives at one place of its `repeat`. */
struct weight_table {
    int shift;       /* they depend on the 4 bits of the byte from this one on; -1: on all bits */
    enum dtype same; /* DT_I8, DT_U8: they are the byte itself, as a number of this type; else
                      * DT_F32 */
    float value[CODES]; /* indexed by these 4 bits, or by the byte */
};
struct packed_weights {
    int64_t repeat;
    int scales, steps;
    const struct access *scale[MOST_SCALES];
    int64_t every[MOST_SCALES]; /* see struct weights */
    struct weight_step step[MOST_WEIGHT_STEPS];
    struct weight_table table[MOST_REPEAT];
    bool halves; /* few_halves_fn may compute them: (table - zero) * scale. Then the first step
                  * subtracts the zero, if there is more than one, and the last one scales */
};

/* Returns the columns of a panel of the right operand. */
static inline size_t dot_panel_width(const struct routine_set *set, const struct packed_form *form)
{
    return set->dot->width[form->group > 1 ? COMPUTE_F32 : routine_compute_of(form->to)];
}

/* A tile, or `stages` of them, one for each choice of its leading indices. */
struct packed_tile {
    struct packed_form form;
    int64_t stages;
    uint32_t states; /* struct packed_state of each stage, in the frame */
    uint32_t at;     /* memory of the block's own, in the frame: `bytes` for each stage */
    size_t bytes;
    bool on_the_way; /* a product may pack it while it multiplies */
};

/* The fill of a packed tile: a part of a view, or another packed tile in its current state. */
struct packed_fill {
    const struct packed_tile *tile;
    const struct access *to;
    const struct access *from;
    const struct packed_tile *source;     /* NULL: from a view */
    const struct packed_weights *weights; /* `from` has the codes; NULL: no weights */
    uint32_t cache;                       /* of a view: index of the program's cache */
};

/* Parts of a view of one size and form, for all blocks of a launch. */
struct packed_plan {
    struct packed_form form;
    const struct access *access; /* one of the accesses, which are alike in view, axes and
                                  * extents */
    int lines_axis, depth_axis;
    unsigned block_axes; /* bits of the grid axes that the parts' places depend on: bit 0 is x */
    bool weights;
};

enum { PACKED_EMPTY, PACKED_READY, PACKED_BUSY };
/* Most pieces of a part. On several workers, a piece of a right operand is one panel of columns if a
 * part has no more panels: blocks that need the same part begin with different pieces, so each
 * packs another one, and finds the others packed. Otherwise a part is one piece. */
enum { MOST_PIECES = 64 };
struct packed_cache {
    bool usable;
    size_t width;                /* of a panel, in elements */
    int64_t count[MAX_RANK];     /* number of tiles along each axis */
    int64_t depth;               /* sum over all tiles */
    int64_t part_depth;          /* depth of a part, which is packed at once: one tile or more */
    int64_t parts;               /* number of parts along the depth */
    int64_t rows;                /* of parts: tiles along the other axes */
    bool own;                    /* each turn has rows of its own, which no other block reads */
    int64_t turn_states;         /* states of pieces that a turn has, in its own cache lines */
    int64_t pieces, piece_lines; /* of a part: pieces, and lines of each, which one block packs */
    int64_t step;                /* see struct packed_state */
    unsigned char *memory;       /* aligned; in the block below */
    struct kept_block block;     /* the memory's block, to be given back */
    _Atomic unsigned char *done; /* by turn, row, part and piece: PACKED_EMPTY, … */
};

/* A tile in a cache whose part may not be packed yet. The product that comes first then packs it,
 * piece by piece. */
struct packed_source {
    _Atomic unsigned char *done; /* states of the part's pieces; NULL: the tile is packed */
    bool on_the_way;             /* the product can pack pieces while it multiplies them */
    struct dot_unpacked view;    /* the tile in the view, from its own start on */
    const struct packed_fill *fill;
    int64_t line, first; /* the part's place: row of parts, and along the depth */
    unsigned char *part; /* the whole part, in the cache */
    size_t part_depth;
};

/* A right operand that is read in its view, without packing: elements from one column to the next,
 * and from one step of k to the next. deep == 0: it is packed. */
struct dot_view {
    int64_t line, deep;
};

/* Products that are not yet added to their sum; `depth` steps of a and of b are contiguous, or
 * the steps of b are b_view.deep elements apart. */
struct dot_deferred {
    const unsigned char *a, *b;
    size_t depth;
    size_t a_step, b_step;
    struct dot_view b_view;
    bool few; /* exec_multiply_few adds them */
    bool raw; /* rows of a have the type of their view, and exec_multiply_few converts them */
    size_t parts,
        column;  /* the first parts of the frame's strip precede them, from this column on */
    bool fresh;  /* the sum is not set to 0 yet; the first product overwrites it */
    bool ragged; /* they end before their last tiles end; in both tiles zeros follow */
    struct packed_source a_source, b_source;
    const struct packed_state *states[2]; /* of the tiles that were added last */
    const struct packed_fill *fills[2];   /* and their fills */
    size_t lines[2];                      /* of each of them that are needed */
};

#endif
