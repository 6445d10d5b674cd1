/* Small programs of roles, and whether they are wrong, found by trying every interleaving of
 * threads and of copies that land. It shares nothing with the check that it judges.
 *
 * Each role has statements before, in and after one loop of n rounds. The oracle unrolls them
 * for a number of rounds. The first warpgroup of a role is two threads, of which the first one
 * starts copies; a second warpgroup is one more thread. A role in one_thread is one thread; it
 * has a second one if there are statements before the roles. All threads have those, and the
 * first role starts their copies.
 *
 * A program is wrong if in some order
 *   two accesses of a part, one of them a write, can happen at the same time; a copy, store or
 *     product that a thread has started lasts until it lands, or until a wait for it; an access of
 *     a thread lasts until that thread comes to a barrier or arrives;
 *   no thread can go on, but not all have ended;
 *   an arrival or the landing of a copy belongs to another phase than in another order, or a
 *     wait for a parity returns at another phase;
 *   an arrival is one too many; a phase that a thread waits for is over, and the next one, too;
 *   all threads have ended, and a copy, store or product has not, or a phase misses only bytes. */
#ifndef TW_TEST_ROLES_ORACLE_H
#define TW_TEST_ROLES_ORACLE_H

#include <stdbool.h>

enum {
    MOST_ROLES = 3,
    MOST_ITEMS = 16,
    RING_BARRIERS = 3,
    RING_TILES = 2,
    RING_STAGES = 2,
    STAGE_BYTES = 8192
};

enum item_kind {
    ITEM_READ,
    ITEM_WRITE,
    ITEM_DOT, /* reads the same stage of both tiles */
    ITEM_DOT_WAIT,
    ITEM_STORE,
    ITEM_STORE_WAIT,
    ITEM_COPY,
    ITEM_EXPECT, /* `number` copies */
    ITEM_ARRIVE,
    ITEM_WAIT,
    ITEM_SYNC,
    ITEM_KINDS
};
enum item_part { BEFORE_LOOP, IN_LOOP, AFTER_LOOP };

struct role_item {
    enum item_kind kind;
    enum item_part part;
    int tile, barrier, number;
    int tile_stage, barrier_stage; /* in the loop: added to the number of the round */
    bool by_hand; /* WAIT: for the phase of a parity: that of round / stages + number */
    bool single;  /* ARRIVE, WAIT by hand: in one_thread, within a role of all threads */
};

struct ring_role {
    bool one_thread;
    int groups;
    struct role_item item[MOST_ITEMS]; /* ordered by part */
    int items;
};

struct ring_program {
    int roles, stages;
    struct role_item before[MOST_ITEMS]; /* before the roles, by all warps; of parts BEFORE_LOOP */
    int befores;
    struct ring_role role[MOST_ROLES];
    int arrivals[RING_BARRIERS];
    bool ready[RING_BARRIERS];
};

/* Returns what is wrong with the program if its loops run `rounds` times; NULL: nothing. Sets
 * *too_large if not every order was tried. */
const char *ring_fault(const struct ring_program *p, int rounds, bool *too_large);

#endif
