/* Caches: what of the warps' requests L1 lets through to L2, and what of the blocks' L2 to memory.
 *
 * L1 is replayed line by line for one block: its warps take turns, one request each, and meet at
 * barriers. L2 is replayed for the whole grid in pieces: what a block touches in one part of its
 * time, which other blocks touch too where the address does not depend on their place in the grid.
 */
#ifndef TW_MODEL_CACHES_H
#define TW_MODEL_CACHES_H

#include "model/streams.h"

/* --- least recently used --- */

struct lru_entry {
    uint64_t key;
    uint32_t next, previous; /* in order of use; 0: none */
    uint32_t chain;          /* in its bucket */
    uint32_t mark;           /* the user's: sectors that are there; dirty bytes */
    double weight;
    double since; /* the user's: when it came */
};
struct lru {
    struct lru_entry *entries; /* [0] is the list's head */
    uint32_t *buckets, bucket_count, used, free, capacity;
    double room, held;
    double evicted_marked; /* sum of the marks of entries that left, since the start */
};
void lru_init(struct lru *c, struct arena *a, double room, uint32_t most);
/* The entry of a key, now the latest; *found: it was there. Others leave to make room. */
struct lru_entry *lru_touch(struct lru *c, uint64_t key, double weight, bool *found);
double lru_marked(const struct lru *c); /* sum of the marks of those that are there */

/* --- L1 --- */

enum { TIME_SLICES = 32, MOST_ARRAYS = 16 };

/* What a block touches of an array, past L1, in one slice of its time. */
struct touched {
    uint64_t base;         /* the lowest sector */
    double loaded, stored; /* bytes, each sector once */
};
struct l1_result {
    double load_sectors; /* that loads through L1 ask for */
    double missed;       /* of these, not there: sectors */
    double common;       /* sectors of common arrays, which a multiprocessor's first block misses */
    double past;         /* of loads that go past it */
    double stores, updates;
    double tags; /* requests of a line to L2: of all of these */
    struct touched touched[TIME_SLICES][MOST_ARRAYS];
};
/* What a block has of L1: `room` bytes. Lines of the arrays `common` (bits), which all blocks load,
 * are there before it begins, and lie there once for the `resident` blocks of the multiprocessor. */
struct l1_share {
    double room;
    int resident;
    uint32_t common;
};
void l1_replay(struct arena *a, const struct stream_block *b, const struct l1_share *share,
               struct l1_result *out);
/* Bits of the arrays of which both blocks load the same lines, and store none. */
uint32_t l1_common(const struct stream_block *x, const struct stream_block *y);

/* --- L2 --- */

struct l2_piece {
    uint64_t base;
    int64_t step[3]; /* sectors that it moves by, along each axis of the grid */
    double loaded, stored;
};
struct l2_grid {
    int64_t extent[3];
    int multiprocessors, resident; /* blocks of one at the same time */
    double room;                   /* bytes */
    int copies;                    /* of what is read: one in each half */
    /* Of a multiprocessor's pace, what its oldest block takes, then the next of what is left. */
    double share;
    /* Of blocks with block.z 0, 1, …; the last is of all that follow. */
    int sets;
    struct l2_piece (*pieces)[TIME_SLICES][MOST_ARRAYS];
};
/* A block that was run: the first of its set, then others, which say how its pieces move. Behind the
 * last, finish. l2_pieces.c */
void l2_pieces_take(struct l2_grid *g, const int64_t at[3], const struct l1_result *l1);
void l2_pieces_finish(struct l2_grid *g);

struct l2_result {
    double read, written; /* bytes, of memory */
    double left;          /* that are still to be written at the end */
    double stored;        /* if each piece were written whenever it is touched */
    /* Of what blocks ask for, the share that comes from memory, or was on its way for another
     * block: they wait for it all the same. */
    double awaited;
};
void l2_replay(struct arena *a, const struct l2_grid *g, struct l2_result *out);

#endif
