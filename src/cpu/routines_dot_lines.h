/* What the blocks of products (routines_dot_block.h) share, whatever their type. */
#ifndef TW_ROUTINES_DOT_LINES_H
#define TW_ROUTINES_DOT_LINES_H

#include "cpu/routines.h"

#if defined(ROUTINES_NEON)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

/* Lines that one block asks for: of two columns, row by row. */
struct dot_lines {
    const char *first, *second;
    size_t apart;
};
struct dot_lines_left {
    const struct dot_prefetch *prefetch; /* NULL: none */
    size_t column;                       /* of lines, in its rows */
};

static inline struct dot_lines next_lines(struct dot_lines_left *left)
{
    const struct dot_prefetch *prefetch = left->prefetch;
    static const char nothing[CACHE_LINE];
    if (!prefetch)
        return (struct dot_lines){nothing, nothing, 0};
    const char *first = (const char *)prefetch->from + left->column * CACHE_LINE;
    bool two = left->column + 1 < prefetch->lines;
    struct dot_lines lines = {first, two ? first + CACHE_LINE : first, prefetch->apart};
    left->column += 2;
    if (left->column >= prefetch->lines) {
        left->prefetch = prefetch->next;
        left->column = 0;
    }
    return lines;
}

/* VECTORS: what a row of a block has. */
#if defined(ROUTINES_NEON)
enum { ROWS = 6, VECTORS = 4 };
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define EACH_VECTORS(X) X(1) X(2) X(3) X(4)

#elif defined(__AVX512F__)
enum { ROWS = 14, VECTORS = 2 };
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define EACH_VECTORS(X) X(1) X(2)

static inline __mmask16 f32_mask(size_t columns)
{
    return (__mmask16)((1u << columns) - 1);
}

#else
enum { ROWS = 6, VECTORS = 2 };
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define EACH_VECTORS(X) X(1) X(2)
#endif

#endif
