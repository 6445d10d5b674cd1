/* Copies rows of a view to rows with another layout, and fetches them before the processor
 * would. Rows that are packed come from far away, each from another page. Also interleaves rows
 * into rows of pairs, or of groups of four. */
#include "cpu/routines.h"

#include <string.h>

/* Copies the pieces of a row, `piece` bytes each, to places `apart` bytes apart. */
static inline void copy_row(unsigned char *to, const unsigned char *from, size_t pieces,
                            size_t piece, ptrdiff_t apart, ptrdiff_t ahead, ptrdiff_t to_ahead)
{
    for (size_t i = 0; i < pieces; i++, to += apart, from += piece) {
        size_t b = 0;
        for (; b + CACHE_LINE <= piece; b += CACHE_LINE) {
            PREFETCH(from + b + ahead);
            PREFETCH_TO_WRITE(to + b + to_ahead);
            *(cache_line *)(to + b) = *(const cache_line *)(from + b);
        }
        if (b < piece)
            memcpy(to + b, from + b, piece - b);
    }
}

static void pack_rows(void *to, ptrdiff_t to_row, ptrdiff_t apart, const void *from,
                      ptrdiff_t from_row, size_t rows, size_t pieces, size_t piece)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    size_t lines = pieces * piece / CACHE_LINE + 1;
    ptrdiff_t ahead = (ptrdiff_t)((PACK_LINES_AHEAD + lines - 1) / lines);
    for (size_t i = 0; i < rows; i++, out += to_row, in += from_row)
        copy_row(out, in, pieces, piece, apart, i + (size_t)ahead < rows ? ahead * from_row : 0,
                 i + (size_t)ahead < rows ? ahead * to_row : 0);
}

static void interleave(uint16_t *to, const uint16_t *first, const uint16_t *second, size_t n)
{
    VECTORISE for (size_t i = 0; i < n; i++)
    {
        to[2 * i] = first[i];
        to[2 * i + 1] = second[i];
    }
}

static void interleave_bytes(uint8_t *to, const uint8_t *from, size_t row, size_t n, uint8_t flip)
{
    VECTORISE for (size_t i = 0; i < n; i++)
    {
        to[4 * i] = from[i] ^ flip;
        to[4 * i + 1] = from[row + i] ^ flip;
        to[4 * i + 2] = from[2 * row + i] ^ flip;
        to[4 * i + 3] = from[3 * row + i] ^ flip;
    }
}

extern const struct pack_routines ROUTINE(routines_pack);
const struct pack_routines ROUTINE(routines_pack) = {pack_rows, interleave, interleave_bytes};
