/* Bits that say which bytes of a piece of memory are valid: sim_memcheck.c. */
#ifndef TW_SIM_VALID_BITS_H
#define TW_SIM_VALID_BITS_H

#include "sim/sim_heap.h"

enum { SIM_VALID_PIECE = 4096 }; /* bytes of memory */

/* The valid bits of some memory, in pieces that are made at the first change. */
struct sim_valid_bits {
    uint64_t **piece;
    uint64_t bytes, valid; /* number of bytes; number of valid ones */
    bool from_valid;       /* state of the bytes without a piece: all valid, or none */
    bool copied;           /* undefined bytes were copied here */
};

static inline size_t sim_valid_pieces(const struct sim_valid_bits *b)
{
    return (size_t)((b->bytes + SIM_VALID_PIECE - 1) / SIM_VALID_PIECE);
}

static inline void sim_valid_free(struct arena *a, struct sim_valid_bits *b)
{
    for (size_t i = 0; b->piece && i < sim_valid_pieces(b); i++)
        sim_heap_free(a, b->piece[i], b->piece[i] ? SIM_VALID_PIECE / 8 : 0);
    sim_heap_free(a, b->piece, b->piece ? sim_valid_pieces(b) * sizeof *b->piece : 0);
    *b = (struct sim_valid_bits){0};
}

static inline uint64_t *sim_valid_word(struct arena *a, struct sim_valid_bits *b, uint64_t offset,
                                       bool make)
{
    if (!b->piece && make)
        b->piece = sim_heap_new(a, sim_valid_pieces(b) * sizeof *b->piece);
    if (!b->piece)
        return NULL;
    uint64_t **piece = &b->piece[offset / SIM_VALID_PIECE];
    if (!*piece && make) {
        *piece = sim_heap_new(a, SIM_VALID_PIECE / 8);
        memset(*piece, b->from_valid ? 0xff : 0, SIM_VALID_PIECE / 8);
    }
    return *piece ? &(*piece)[offset % SIM_VALID_PIECE / 64] : NULL;
}

/* Gives the bits of the first bytes of a range, up to the end of a word. Returns the number of
 * bytes. */
static inline int sim_valid_mask(uint64_t offset, int bytes, uint64_t *mask)
{
    int at = (int)(offset % 64), count = bytes < 64 - at ? bytes : 64 - at;
    *mask = (count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1) << at;
    return count;
}

/* Returns the first byte of the range that is not valid; -1: all are valid. */
static inline int sim_valid_first_missing(struct sim_valid_bits *b, uint64_t offset, int bytes)
{
    for (int done = 0; done < bytes;) {
        uint64_t mask;
        int count = sim_valid_mask(offset + (uint64_t)done, bytes - done, &mask);
        const uint64_t *word = sim_valid_word(NULL, b, offset + (uint64_t)done, false);
        uint64_t missing = word ? mask & ~*word : b->from_valid ? 0 : mask;
        if (missing)
            return done + __builtin_ctzll(missing) - (int)((offset + (uint64_t)done) % 64);
        done += count;
    }
    return -1;
}

static inline void sim_valid_set(struct arena *a, struct sim_valid_bits *b, uint64_t offset,
                                 int bytes)
{
    while (bytes > 0) {
        uint64_t mask, *word = sim_valid_word(a, b, offset, !b->from_valid);
        int count = sim_valid_mask(offset, bytes, &mask);
        if (word) {
            b->valid += (uint64_t)__builtin_popcountll(mask & ~*word);
            *word |= mask;
        }
        offset += (uint64_t)count;
        bytes -= count;
    }
}

static inline bool sim_valid_any(const struct sim_valid_bits *b, uint64_t offset, uint64_t bytes)
{
    uint64_t end = offset + bytes < b->bytes ? offset + bytes : b->bytes;
    while (offset < end) {
        uint64_t mask;
        int most = end - offset < 64 ? (int)(end - offset) : 64;
        int count = sim_valid_mask(offset, most, &mask);
        const uint64_t *piece = b->piece ? b->piece[offset / SIM_VALID_PIECE] : NULL;
        if (piece && piece[offset % SIM_VALID_PIECE / 64] & mask)
            return true;
        offset += (uint64_t)count;
    }
    return false;
}

static inline void sim_valid_clear(struct arena *a, struct sim_valid_bits *b, uint64_t offset)
{
    uint64_t mask, *word = sim_valid_word(a, b, offset, b->from_valid);
    sim_valid_mask(offset, 1, &mask);
    if (!word || !(*word & mask))
        return;
    *word &= ~mask;
    b->valid--;
}

#endif
