/* What the blocks of products (routines_dot_block.h) share, whatever their type. */
#ifndef TW_ROUTINES_DOT_LINES_H
#define TW_ROUTINES_DOT_LINES_H

#include "cpu/routines.h"

#if defined(ROUTINES_NEON)
#include <arm_neon.h>
#elif defined(__FMA__)
#include <immintrin.h>
#endif

/* Where blocks are in what they ask for and copy: row by row, as a page of memory is looked up for
 * each row, two lines at a time. */
struct dot_lines {
    const char *at, *end; /* of the row */
    ptrdiff_t step;       /* bytes; 0: there is nothing left */
    const char *row;
    size_t rows; /* left, this one included */
    const struct dot_prefetch *item;
    ptrdiff_t ahead; /* bytes from what is copied to what is asked for */
    char *to;        /* NULL: nothing is copied */
    ptrdiff_t second, two, to_ahead;
    char *to_row;
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
        l->to = l->to_row = item->copy.to;
        l->second = item->copy.second;
        l->two = item->copy.two;
        l->ahead = (ptrdiff_t)item->copy.rows_ahead * item->apart;
        l->to_ahead = (ptrdiff_t)item->copy.rows_ahead * item->copy.row;
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
    if (l->to)
        l->to = l->to_row += l->item->copy.row;
}

static INLINED void lines_copy(struct dot_lines *l, const char *at)
{
    char *to = l->to;
    PREFETCH_TO_WRITE(to + l->to_ahead);
    PREFETCH_TO_WRITE(to + l->to_ahead + l->second);
    *(cache_line *)(void *)to = *(const cache_line *)(const void *)at;
    *(cache_line *)(void *)(to + l->second) = *(const cache_line *)(const void *)(at + CACHE_LINE);
    l->to = to + l->two;
}

/* What is to be copied yet; what is only asked for may stay so. */
static INLINED void lines_finish(struct dot_lines *l)
{
    while (l->item) {
        if (!l->to) {
            lines_open(l, l->item->next);
            continue;
        }
        for (; l->at < l->end; l->at += l->step) {
            PREFETCH(l->at + l->ahead);
            PREFETCH(l->at + l->ahead + CACHE_LINE);
            lines_copy(l, l->at);
        }
        lines_next_row(l);
    }
}

/* VECTORS: what a row of a block has. EDGE_ROWS: the most rows of one at the right edge, where few
 * columns are left: fewer where a block has so many that half of them keep the units busy, since
 * each number of rows is code of its own. */
#if defined(ROUTINES_NEON)
enum { ROWS = 6, EDGE_ROWS = ROWS, VECTORS = 4 };
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define EACH_EDGE_ROWS EACH_ROWS
#define EACH_VECTORS(X) X(1) X(2) X(3) X(4)

#elif defined(__AVX512F__)
enum { ROWS = 14, EDGE_ROWS = ROWS / 2, VECTORS = 2 };
#define EACH_EDGE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define EACH_ROWS(X) EACH_EDGE_ROWS(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define EACH_VECTORS(X) X(1) X(2)

static inline __mmask16 f32_mask(size_t columns)
{
    return (__mmask16)((1u << columns) - 1);
}

#elif defined(__FMA__)
enum { ROWS = 6, EDGE_ROWS = ROWS, VECTORS = 2 };
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define EACH_EDGE_ROWS EACH_ROWS
#define EACH_VECTORS(X) X(1) X(2)
#endif

#endif
