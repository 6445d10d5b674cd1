/* Packed tiles: operands of `dot` that lie as its routines read them.
 *
 * A tile that is filled from `const` views and read by `dot` alone need not lie as it was declared,
 * nor be filled before it is read: filling it notes what of the view it shows. When `dot` reads it,
 * it is packed, converted and turned on the way, into the block's own memory; or, where other
 * blocks read the same part of the view, once for all of them, into memory of the launch (a panel
 * cache: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008, pack so
 * that neither the caches' sets nor the pages run out). What tiles that follow each other along the
 * depth are packed to follows on in memory too, so their products can be taken at once
 * (struct dot_deferred).
 *
 *   left operand    [lines][step]: a row of `depth` elements every `step` of them
 *   right operand   [panels][depth][width]: a panel of `width` columns every `step` elements
 *
 * Products of bf16 add pairs of steps, as AVX512-BF16 does, on every machine. Where the set has
 * that instruction, tiles stay bf16, the right operand's in pairs of rows that are interleaved;
 * else the two of a pair change places when they are packed.
 *
 * Bounds, copies under way and tiles without a value are as they are for any tile.
 */
#ifndef TW_PACKED_H
#define TW_PACKED_H

#include "cpu/cpu.h"
#include "cpu/routines.h"

#include <stdatomic.h>

struct access;

/* Depth of a product at which sums are added. A panel of b of that depth, 64 KiB of f32, stays in
 * the second cache; half of it would in the first, but sums were read and written twice as often,
 * which is slower. */
#define DOT_MOST_DEPTH ((size_t)512)

/* Elements from row to row of a left operand packed so deep: rows do not all begin in one set of a
 * cache. */
#define LEFT_STEP(depth) ((depth) + SLOT_ALIGNMENT / 4)

enum packed_side { PACKED_LEFT, PACKED_RIGHT };

struct packed_form {
    enum packed_side side;
    bool turned;         /* `dot` reads trans(tile) */
    enum dtype from, to; /* as in the view; as computed */
    bool paired;         /* two steps of depth are added at a time, the later one first */
    int64_t lines;       /* rows of the left operand, columns of the right one */
    int64_t depth;
};

/* A tile, or `stages` of them, one for each choice of its leading indices. */
struct packed_tile {
    struct packed_form form;
    int64_t stages;
    uint32_t states; /* of its stages, in the frame: struct packed_state */
    uint32_t at;     /* memory of the block's own, in the frame: `bytes` a stage */
    size_t bytes;
    bool on_the_way; /* a product may pack it, for its block alone if need be */
};

/* What fills it: a part of a view, or another packed tile as it is then. */
struct packed_fill {
    const struct packed_tile *tile;
    const struct access *to;
    const struct access *from;
    const struct packed_tile *source; /* NULL: from a view */
    uint32_t cache;                   /* which of the program's; of a view */
};

/* Parts of a view of one size and form, for all blocks of a launch. */
struct packed_plan {
    struct packed_form form;
    const struct access *access; /* one of those that are alike: the view, axes, extents */
    int lines_axis, depth_axis;
    unsigned block_axes; /* of the grid, that the parts' places depend on: bit 0 is x */
};

enum { PACKED_EMPTY, PACKED_READY, PACKED_BUSY };
struct packed_cache {
    bool usable;
    size_t width;                /* of a panel, in elements */
    int64_t count[MAX_RANK];     /* of tiles along each axis */
    int64_t depth;               /* of all tiles together */
    int64_t part_depth;          /* of what is packed at once: one tile or some, */
    int64_t parts;               /* and of them, along the depth */
    int64_t step;                /* struct packed_state */
    unsigned char *memory;       /* aligned, in */
    struct kept_block block;     /* this */
    _Atomic unsigned char *done; /* by part: PACKED_EMPTY, … */
};

/* A tile in a cache whose part need not be there yet: the product that comes first packs it on its
 * way. */
struct packed_source {
    _Atomic unsigned char *done; /* of the part that the tile is in; NULL: it is there */
    struct dot_unpacked view;    /* the tile, from its own start on */
    const unsigned char *part;   /* the whole part, in the cache */
    size_t part_depth;
};

/* Products that are not yet added to their sum: `depth` of a and b lie in one piece each. */
struct dot_deferred {
    const unsigned char *a, *b;
    size_t depth;
    size_t a_step, b_step;
    bool fresh;  /* nothing was added to the sum yet, which was not set to 0 */
    bool ragged; /* they end before their last tiles do, in which zeros follow on both sides */
    struct packed_source a_source, b_source;
    const struct packed_state *states[2]; /* of the tiles that were added last */
};

#endif
