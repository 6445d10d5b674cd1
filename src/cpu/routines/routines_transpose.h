/* Transposes matrices of words of 4 bytes. */
#ifndef TW_ROUTINES_TRANSPOSE_H
#define TW_ROUTINES_TRANSPOSE_H

#include "cpu/routines/routines.h"

#include <string.h>

static inline void move_word(unsigned char *to, const unsigned char *from, uint32_t flip)
{
    uint32_t word;
    memcpy(&word, from, sizeof word);
    word ^= flip;
    memcpy(to, &word, sizeof word);
}

/* Transposes a block of 4 × 4 words, in registers. */
#if defined(__clang__) || __GNUC__ >= 12
typedef uint32_t four_words __attribute__((vector_size(16)));

static inline void transpose_block(unsigned char *to, ptrdiff_t row, const unsigned char *from,
                                   ptrdiff_t line, uint32_t flip)
{
    four_words in[4], pair[4], out[4];
    UNROLLED
    for (int i = 0; i < 4; i++) {
        memcpy(&in[i], from + i * line, sizeof in[i]);
        in[i] ^= flip;
    }
    pair[0] = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
    pair[1] = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
    pair[2] = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
    pair[3] = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
    out[0] = __builtin_shufflevector(pair[0], pair[1], 0, 1, 4, 5);
    out[1] = __builtin_shufflevector(pair[0], pair[1], 2, 3, 6, 7);
    out[2] = __builtin_shufflevector(pair[2], pair[3], 0, 1, 4, 5);
    out[3] = __builtin_shufflevector(pair[2], pair[3], 2, 3, 6, 7);
    UNROLLED
    for (int i = 0; i < 4; i++)
        memcpy(to + i * row, &out[i], sizeof out[i]);
}
#else
static inline void transpose_block(unsigned char *to, ptrdiff_t row, const unsigned char *from,
                                   ptrdiff_t line, uint32_t flip)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            move_word(to + j * row + 4 * i, from + i * line + 4 * j, flip);
}
#endif

/* Transposes `lines` lines of `words` words. Lines of the source and rows of the destination are
 * `line` and `row` bytes apart. The bits of `flip` are flipped in each word. beyond: what follows
 * the words in their lines is fetched, too. Takes lines of the cache of four lines of the source
 * at a time: those of more may fall in one set of the first-level cache. */
static INLINED void transpose_words(unsigned char *to, ptrdiff_t row, const unsigned char *from,
                                    ptrdiff_t line, size_t lines, size_t words, uint32_t flip,
                                    const bool beyond)
{
    enum { SOME = CACHE_LINE / 4, AHEAD = 3 };
    for (size_t p = 0; p < words; p += SOME, from += CACHE_LINE, to += SOME * row) {
        const size_t some = words - p < SOME ? words - p : SOME;
        const bool fetches = beyond || p + (AHEAD + 1) * SOME <= words;
        size_t l = 0;
        for (; l + 4 <= lines; l += 4) {
            const unsigned char *in = from + (ptrdiff_t)l * line;
            unsigned char *out = to + 4 * l;
            size_t w = 0;
            if (fetches)
                for (int i = 0; i < 4; i++)
                    PREFETCH_SECOND(in + i * line + AHEAD * CACHE_LINE);
            for (; w + 4 <= some; w += 4, in += 4 * 4, out += 4 * row)
                transpose_block(out, row, in, line, flip);
            for (; w < some; w++, in += 4, out += row)
                for (int i = 0; i < 4; i++)
                    move_word(out + 4 * i, in + i * line, flip);
        }
        for (; l < lines; l++)
            for (size_t w = 0; w < some; w++)
                move_word(to + (ptrdiff_t)w * row + 4 * l, from + (ptrdiff_t)l * line + 4 * w,
                          flip);
    }
}

#endif
