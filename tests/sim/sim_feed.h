/* Events for observers, made by hand: a machine for the tests that executes nothing. */
#ifndef TW_TEST_SIM_FEED_H
#define TW_TEST_SIM_FEED_H

#include "sim/sim_report.h"

#include <string.h>

enum { FEED_SHARED = 256, FEED_GLOBAL = 16384, FEED_MOST_BLOCKS = 4 };
#define FEED_BASE ((uint64_t)16 << 36)

struct feed {
    struct sim_observer *observer;
    struct sim_report *report;
    int threads, warps, blocks;
    uint8_t shared[FEED_MOST_BLOCKS][FEED_SHARED], global[FEED_GLOBAL];
    uint32_t line; /* the next event's place: its line */
    int64_t generation[FEED_MOST_BLOCKS];
    bool ended[FEED_MOST_BLOCKS];
    struct sim_access access; /* the last */
};

/* Starts a launch of `blocks` blocks, all begun. */
void feed_start(struct feed *f, struct sim_observer *o, struct sim_report *report, int blocks,
                int threads);
/* Ends a block; ends the launch. */
void feed_end_block(struct feed *f, int block);
void feed_end(struct feed *f);
/* Returns the number of findings so far, repetitions included. */
int64_t feed_found(const struct feed *f);

struct sim_place feed_place(const struct feed *f, int block, int warp);
/* Makes one access; an `address` of FEED_BASE or more is global. Lane i accesses address + i *
 * stride; all bytes of values are `value`. Memory is written. */
void feed_access(struct feed *f, int block, int warp, uint32_t mask, enum sim_kind kind,
                 uint64_t address, int stride, int bytes, int value);
/* As above, with order, scope, the number of an asynchronous copy, and each lane's address. */
void feed_full(struct feed *f, int block, int warp, uint32_t mask, enum sim_kind kind,
               const uint64_t *addresses, int bytes, int value, enum sim_order order,
               enum sim_scope scope, uint32_t group);
/* Reads a word of each of 96 pages of memory from an address of FEED_BASE + 2^20 or more on, without values.
 * The pages are too many for an observer that keeps the last few ready for use. */
void feed_pages(struct feed *f, int block, int warp, uint64_t address);
void feed_barrier(struct feed *f, int block); /* bar.sync 0 by all */
void feed_arrive(struct feed *f, int block, int warp, uint32_t mask, int id, int expected,
                 bool waits);
void feed_leave(struct feed *f, int block, int warp, uint32_t mask, int id, int expected);
void feed_sync(struct feed *f, int block, int warp, uint32_t mask, enum sim_sync kind,
               enum sim_order order, enum sim_scope scope);
void feed_mbarrier(struct feed *f, int block, int warp, uint32_t mask, enum sim_sync kind,
                   uint64_t address, int64_t count);
void feed_async(struct feed *f, int block, int warp, uint32_t mask, enum sim_async kind,
                uint32_t group, int pending);

#endif
