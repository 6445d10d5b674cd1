/* Constants and functions that the blocks of products (routines_dot_block.h) of all types share. */
#ifndef TW_ROUTINES_DOT_LINES_H
#define TW_ROUTINES_DOT_LINES_H

#include "cpu/routines/routines.h"

#if defined(ROUTINES_NEON)
#include <arm_neon.h>
#elif defined(__FMA__)
#include <immintrin.h>
#endif

/* The next line that blocks fetch. They proceed row by row, because each row costs a look-up of
 * its page, and take two lines at a time. Also what the next block adds to its rows. */
struct dot_lines {
    const char *at, *end; /* of the row */
    ptrdiff_t step;       /* bytes; 0: there is nothing left */
    const char *row;
    size_t rows; /* left, this one included */
    const struct dot_prefetch *item;
    const int32_t *terms; /* of the rows of the next block (ROW_TERMS); NULL: none */
};

static INLINED void lines_open(struct dot_lines *l, const struct dot_prefetch *item)
{
    static const char nothing[2 * CACHE_LINE];
    *l = (struct dot_lines){.at = nothing, .end = nothing + 1, .row = nothing};
    if (item) {
        l->at = l->row = item->from;
        l->end = l->row + item->lines * CACHE_LINE;
        l->step = 2 * CACHE_LINE;
        l->rows = item->rows;
        l->item = item;
    }
}

static INLINED void lines_next_row(struct dot_lines *l)
{
    if (--l->rows == 0) {
        lines_open(l, l->item->next);
        return;
    }
    l->at = l->row += l->item->apart;
    l->end = l->row + l->item->lines * CACHE_LINE;
}

/* Returns the next panel, of `panels`, that belongs to this call, or `panels` if there is none. */
static INLINED size_t dot_next_panel(const struct dot_strides *s, size_t panels, size_t last)
{
    if (!s->untaken)
        return last + 1;
    int left = atomic_fetch_sub(s->untaken, 1);
    return left > 0 ? panels - (size_t)left : panels;
}

/* VECTORS: vectors of a row of a block. EDGE_ROWS: the most rows of a block at the right edge,
 * where few columns are left, and EDGE_VECTORS: its most vectors. They are less than ROWS and VECTORS
 * if fewer keep the units busy, since each number of rows and vectors has its own code. LINE_STEPS:
 * two lines are fetched ahead after this number of steps of k. PACKING_ROWS: the
 * fewest rows of a block that packs its panel while it multiplies. If rows of b are far apart,
 * such a block fetches the row that is PACKS_FAR steps of k ahead: of rows 4096 bytes apart, a
 * second-level cache of 512 KiB (as on machines with AVX2 only) keeps 128. */
#if defined(ROUTINES_NEON)
enum {
    ROWS = 6,
    EDGE_ROWS = ROWS,
    PACKING_ROWS = 4,
    VECTORS = 4,
    EDGE_VECTORS = 4,
    LINE_STEPS = 4,
    PACKS_FAR = 64
};
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define EACH_EDGE_ROWS EACH_ROWS
#define EACH_EDGE_VECTORS(X) X(1) X(2) X(3) X(4)
#define EACH_PACKING_ROWS(X) X(4) X(5) X(6)

#elif defined(__AVX512F__)
enum {
    ROWS = 14,
    EDGE_ROWS = ROWS / 2,
    PACKING_ROWS = 12,
    VECTORS = 2,
    EDGE_VECTORS = 1,
    LINE_STEPS = 4,
    PACKS_FAR = 56
};
#define EACH_EDGE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define EACH_ROWS(X) EACH_EDGE_ROWS(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define EACH_EDGE_VECTORS(X) X(1)
#define EACH_PACKING_ROWS(X) X(12) X(13) X(14)

static inline __mmask16 f32_mask(size_t columns)
{
    return (__mmask16)((1u << columns) - 1);
}

#elif defined(__FMA__)
enum {
    ROWS = 6,
    EDGE_ROWS = ROWS,
    PACKING_ROWS = 4,
    VECTORS = 2,
    EDGE_VECTORS = 2,
    LINE_STEPS = 8,
    PACKS_FAR = 96
};
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define EACH_EDGE_ROWS EACH_ROWS
#define EACH_EDGE_VECTORS(X) X(1) X(2)
#define EACH_PACKING_ROWS(X) X(4) X(5) X(6)
#endif

/* Terms (ROW_TERMS) are kept for at most this number of rows; those of more rows are computed again
 * for each block. */
enum { MOST_TERMS = 256 };

#if defined(EACH_ROWS)
/* Steps of k that functions for few rows add before they store the sums: each takes a register
 * for a vector of b, and each row registers for the elements of a. MORE_STEPS: of one row. */
enum { FEW_STEPS = 4, MORE_STEPS = 8 };
#define EACH_FEW_ROWS(X) X(1) X(2) X(4)
/* The prefetch distance in rows for the first-level cache: less than the number of ways of a
 * set. */
enum { PACKS_NEAR = 6 };
#endif

#endif
