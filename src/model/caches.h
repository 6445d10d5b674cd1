/* Caches: which of the warps' requests pass L1 and reach L2, and which of the blocks' requests pass
 * L2 and reach DRAM.
 *
 * L1 is replayed line by line for one block: its warps take turns, one request each, and meet at
 * barriers. L2 is replayed for the whole grid in pieces: the lines that a block touches during
 * one part of its time. Other blocks touch the same lines if the address does not depend on
 * their place in the grid. */
#ifndef TW_MODEL_CACHES_H
#define TW_MODEL_CACHES_H

#include "model/streams.h"

/* --- least recently used --- */

struct lru_entry {
    uint64_t key;
    uint32_t next, previous; /* in order of use; 0: none */
    uint32_t chain;          /* in its bucket */
    uint32_t mark;           /* free for the caller: sectors present, or dirty bytes */
    double weight;
    double since; /* free for the caller: time of arrival */
};
struct lru {
    struct lru_entry *entries; /* [0] is the list's head */
    uint32_t *buckets, bucket_count, used, free, capacity;
    double room, held;
};
void model_lru_init(struct lru *c, struct arena *a, double room, uint32_t most);
/* Returns the entry of a key and makes it the latest; *found: it was in the cache. Evicts other
 * entries to make room. */
struct lru_entry *model_lru_touch(struct lru *c, uint64_t key, double weight, bool *found);
double model_lru_marked(const struct lru *c); /* sum of the marks of the entries in the cache */

/* --- L1 --- */

enum { TIME_SLICES = 32, MOST_ARRAYS = 16 };

/* The sectors of one array that a block touches, past L1, in one slice of its time. */
struct touched {
    uint64_t base;         /* the lowest sector */
    double loaded, stored; /* bytes, each sector once */
};
struct l1_result {
    double load_sectors; /* sectors that loads through L1 request */
    double missed;       /* sectors of these that are not in L1 */
    double common;       /* sectors of common arrays, which only the first block of a
                          * multiprocessor misses */
    double past;         /* sectors of loads that bypass L1 */
    double stores, updates;
    double tags; /* requests of lines to L2, by all of these */
    struct touched touched[TIME_SLICES][MOST_ARRAYS];
};
/* The share of a block in L1: `room` bytes. Lines of the arrays `common` (bits), which all
 * blocks load, are there before the block begins, and once for the `resident` blocks of the
 * multiprocessor. */
struct l1_share {
    double room;
    int resident;
    uint32_t common;
};
void model_l1_replay(struct arena *a, const struct stream_block *b, const struct l1_share *share,
                     struct l1_result *out);
/* Returns the bits of the arrays of which both blocks load the same lines and store none. */
uint32_t model_l1_common(const struct stream_block *x, const struct stream_block *y);

/* --- L2 --- */

struct l2_piece {
    uint64_t base;
    int64_t step[3]; /* sectors between neighbouring blocks along each axis of the grid */
    double loaded, stored;
};
/* Pieces whose addresses do not follow from the block's place in the grid. */
struct l2_own {
    VEC(struct l2_piece) list;
};
struct l2_grid {
    int64_t extent[3];
    int multiprocessors, resident; /* blocks that one multiprocessor holds at the same time */
    double room;                   /* bytes */
    int copies;                    /* copies of the lines that are read: one in each half of L2 */
    /* The share of a multiprocessor's pace that its oldest block takes; the next block takes
     * that share of the rest. */
    double share;
    /* Number of sets: blocks with block.z 0, 1, …; the last set has all further blocks. */
    int sets;
    struct l2_piece (*pieces)[TIME_SLICES][MOST_ARRAYS];
    /* The pieces of each block by itself, by block and slice, of blocks that all run at the same
     * time. They replace those of the arrays `own_arrays` (bits) in `pieces`. NULL: none. */
    struct l2_own (*own)[TIME_SLICES];
    uint32_t own_arrays;
};
/* Returns the number, below MOST_ARRAYS, of the array that an address is in. */
unsigned model_l2_array_of(uint64_t address);
/* Takes a block that was run: the first of its set, then others, which tell how its pieces move.
 * Call model_l2_pieces_finish after the last. l2_pieces.c */
void model_l2_pieces_take(struct l2_grid *g, const int64_t at[3], const struct l1_result *l1);
void model_l2_pieces_finish(struct l2_grid *g);

struct l2_result {
    double read, written; /* bytes, of memory */
    double left;          /* dirty bytes that are still to be written at the end */
    double stored;        /* bytes stored if each piece were written whenever it is touched */
    /* The share of the blocks' requests that comes from DRAM, or that another block has already
     * requested: the blocks wait for it in both cases. */
    double awaited;
};
void model_l2_replay(struct arena *a, const struct l2_grid *g, struct l2_result *out);

#endif
