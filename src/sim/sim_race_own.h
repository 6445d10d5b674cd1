/* What the files of the race check share. How it thinks stands in sim_race.c. */
#ifndef TW_SIM_RACE_OWN_H
#define TW_SIM_RACE_OWN_H

#include "sim/sim_blocks.h"
#include "sim/sim_heap.h"
#include "sim/sim_race.h"

/* --- clocks (sim_race_clock.c) --- */

/* Time is one counter of the launch. A warp's accesses bear its epoch, the time of its latest
 * synchronisation. */
typedef uint32_t race_time;
#define RACE_NEVER UINT32_MAX /* the epoch of what is not complete yet */

/* Who: a warp as block << 6 | warp + 1; a whole block as block << 6. What the warp's copies did
 * that arrived at an mbarrier is RACE_COPIES | its id: their thread knows of it no more than others
 * do. */
#define RACE_COPIES (UINT64_C(1) << 63)
static inline uint64_t race_id(int64_t block, int warp)
{
    return (uint64_t)block << 6 | (uint64_t)(warp + 1);
}

/* "All that lanes `mask` of `id` did in epochs below `bound` is known." */
struct race_entry {
    uint64_t id;
    uint32_t mask;
    race_time bound;
};
/* Knowledge beyond one's own block's barriers; sorted by id, shared, counted, never changed. NULL:
 * nothing. */
struct race_vc {
    uint32_t refs, count;
    struct race_entry entry[];
};

/* What the lanes of a warp know: of all of their block (since its barriers), of all of their warp
 * (since bar.warp.sync), and sparsely of the rest. Of itself a lane knows the epochs below
 * `own`. */
struct race_view {
    race_time block_base[SIM_LANES], warp_base[SIM_LANES];
    struct race_vc *vc[SIM_LANES];
    race_time own;
    bool plain; /* every vc is NULL */
};

static inline struct race_vc *race_vc_keep(struct race_vc *vc)
{
    if (vc)
        vc->refs++;
    return vc;
}
void race_vc_drop(struct sim_races *r, struct race_vc *vc);
/* All that both know, in place of a, whose reference it takes. */
void race_vc_add(struct sim_races *r, struct race_vc **a, struct race_vc *b);
/* Without what it says of a block. */
struct race_vc *race_vc_without(struct sim_races *r, struct race_vc *vc, int64_t block);
bool race_vc_covers(const struct race_vc *vc, uint64_t id, uint32_t lanes, race_time epoch);
/* From up to four entries, sorted by id. */
struct race_vc *race_vc_of(struct sim_races *r, const struct race_entry *entries, int count);

/* --- shadow memory (sim_race_shadow.c) --- */

/* How lane i's address follows: the same for all, address + i * stride, or each listed. */
enum race_pattern { RACE_UNIFORM, RACE_LINEAR, RACE_LISTED };

struct race_site {
    const struct ptx_instruction *ins;
    const struct ptx_function *function;
    struct loc where;
    struct race_site *follower; /* the site that was looked up after it the last time */
    uint8_t polls;              /* enum race_polls */
};

/* An access of a warp, as the shadow memory knows it. */
struct race_record {
    uint64_t id; /* of the warp */
    uint64_t address;
    const struct race_site *site, *barrier; /* the barrier passed last; NULL: none */
    race_time epoch; /* RACE_NEVER: an asynchronous copy that no lane waited for yet */
    uint32_t mask;
    uint32_t pending; /* lanes that have not waited for their asynchronous copy */
    uint32_t passed;  /* barriers */
    uint32_t stride;
    uint32_t list; /* of addresses, 0: none */
    /* List of the lanes' epochs, if they waited for their copy one after the other; 0: none, then
     * `epoch` is that of all. */
    uint32_t landed;
    uint16_t bytes, element;
    uint8_t kind, order, scope, pattern;
    bool whole_warp; /* ldmatrix: each row is read by all lanes */
    bool async, mark;
};

/* A set of accesses as a list that shares its tail: reads since the last write, and all accesses
 * that writes since then do not follow in causality order. */
struct race_node {
    uint32_t record, next;
    race_time newest; /* of the whole list; RACE_NEVER if one may be pending */
    uint16_t depth;
    bool has_writes; /* in the whole list */
    bool one_block;  /* all of it by the block of its first */
    bool stands;     /* what the access read or wrote is what the bytes are now */
    bool mark;
};

/* Of 4 bytes: the last write and `others`. Bytes with different histories: RACE_SPLIT | the number
 * of four cells. */
#define RACE_SPLIT 0x80000000u
struct race_cell {
    uint32_t write, others;
};

/* Records and lists that one piece of memory's cells name; those that no cell names are found now
 * and then. */
struct race_pool {
    struct race_record *records;
    struct race_node *nodes;
    struct race_cell (*splits)[4];
    uint64_t (*lists)[SIM_LANES];
    /* Each: in use at most, room, head of those to use again, in use. */
    uint32_t record_count, record_room, record_free, record_used;
    uint32_t node_count, node_room, node_free, node_used;
    uint32_t split_count, split_room, split_free;
    uint32_t list_count, list_room, list_free;
    uint32_t record_limit, node_limit; /* used then: time to look for what is not named any more */
};

enum { RACE_PAGE = 4096, RACE_PAGE_WORDS = RACE_PAGE / 4 };
struct race_page {
    uint64_t number;
    uint8_t *old; /* what the bytes were before the last write; NULL: no write yet */
    struct race_cell cell[RACE_PAGE_WORDS];
};

/* --- synchronisation (sim_race_sync.c) --- */

/* What the lanes knew at their last releasing fence, and what strong reads since the last acquiring
 * one have shown; [0]: among the block, [1]: all of the device. */
struct race_fences {
    race_time bound[2][SIM_LANES]; /* 0: no fence */
    race_time block_base[2][SIM_LANES], warp_base[2][SIM_LANES];
    struct race_vc *vc[2][SIM_LANES];
    struct race_vc *seen[2][SIM_LANES];
};

/* An asynchronous copy between its instruction and the wait. */
enum { RACE_COPY_RECORDS = 8 };
struct race_copy {
    struct race_copy *next;
    struct race_view view; /* of its time */
    uint32_t group, mask;
    uint32_t index[SIM_LANES]; /* the lane's commit group that it belongs to */
    uint32_t record[RACE_COPY_RECORDS];
    bool in_global[RACE_COPY_RECORDS];
    int records;
    uint32_t passed; /* barriers, by its thread */
    const struct race_site *barrier;
};

struct race_warp {
    struct race_view view;
    race_time epoch;
    race_time block_min, warp_min; /* of the lanes that are there */
    uint32_t live;
    uint32_t passed; /* barriers */
    const struct race_site *barrier;
    struct race_fences *fences;
    struct race_copy *copies;
    int copy_count;
    uint32_t commits[SIM_LANES];
    /* Copies that the lane waited for lie in epochs below; those of RACE_COPIES that arrived at an
     * mbarrier do. */
    race_time waited[SIM_LANES], arrived[SIM_LANES];
};

struct race_barrier {
    uint32_t *arrived, *waiting; /* by warp: lanes */
    struct race_vc *clock;       /* of those that arrived and went on */
    const struct race_site *site;
    int count, expected;
    bool partial; /* somebody went on */
};

struct race_mbarrier {
    struct race_mbarrier *next;
    uint64_t address;
    struct race_vc *clock, *done; /* of this phase's arrivals; of all complete phases' */
};

/* A place that strong operations met at: what its value carries. */
struct race_location {
    uint64_t key;    /* its address + 1; 0: not in use */
    uint32_t record; /* of the write that it speaks of */
    race_time epoch;
    int64_t block;   /* that `local` is of */
    uint64_t writer; /* the thread, if it was one */
    struct race_vc *wide, *local;
};
struct race_locations {
    struct race_location *table;
    size_t count, capacity;
};

enum { RACE_BARRIERS = 16 };
struct race_block {
    struct sim_watched of;
    int warps, threads, live;
    uint64_t reserved; /* bytes at the start of shared memory: the system's */
    struct race_warp *warp;
    struct race_barrier barrier[RACE_BARRIERS];
    struct race_mbarrier *mbarriers;
    struct race_locations locations;
    struct race_pool pool;
    size_t words; /* of shared memory */
    struct race_cell *cells;
    uint8_t *old;
};

struct sim_races {
    struct sim_blocks blocks;
    struct arena *arena;
    struct sim_report *report;
    struct sim_observer observer;
    race_time now;
    size_t memory, most_memory;
    struct race_copy *free_copies;
    struct race_pool pool;  /* of global memory */
    struct race_pool spare; /* of a block that has ended, for the next */
    struct race_locations locations;
    struct race_page **pages; /* a hash by number */
    size_t page_count, page_capacity;
    struct race_page *last_page;
    struct race_site **sites; /* a hash by instruction */
    size_t site_count, site_capacity;
    struct race_site *last_site;
    bool over; /* the time is up: 2^32 synchronisations */
};

void *race_resize(struct sim_races *r, void *old, size_t old_size, size_t size);
const struct race_site *race_site_of(struct sim_races *r, const struct sim_place *at);
race_time race_tick(struct sim_races *r);

/* --- shadow memory --- */

uint32_t race_record_new(struct sim_races *r, struct race_pool *p, const struct race_record *from,
                         const uint64_t *addresses);
uint32_t race_node_new(struct sim_races *r, struct race_pool *p, uint32_t record, uint32_t next,
                       bool stands);
/* Lanes of a record waited for their copies at this time, others have or will at another. */
void race_record_landed(struct sim_races *r, struct race_pool *p, uint32_t record, uint32_t lanes,
                        race_time epoch);
uint32_t race_split_new(struct sim_races *r, struct race_pool *p, struct race_cell all);
void race_split_free(struct race_pool *p, uint32_t split);
void race_pool_free(struct sim_races *r, struct race_pool *p);
/* Empty, but with room. */
struct race_pool race_pool_take(struct sim_races *r);
void race_pool_leave(struct sim_races *r, struct race_pool *p);
/* Gives back records and lists that no cell names; when used is above its limit. block NULL: of
 * global memory. */
void race_collect(struct sim_races *r, struct race_block *block);
struct race_page *race_page_of(struct sim_races *r, uint64_t address);
void race_pages_free(struct sim_races *r);
/* The lanes that have the byte. */
uint32_t race_lanes_at(const struct race_pool *p, const struct race_record *record, uint64_t byte,
                       const uint64_t *addresses);

/* --- an access under way (sim_race_access.c) --- */

struct race_try {
    struct sim_races *r;
    const struct sim_access *a;
    struct race_block *block;
    struct race_warp *warp;
    struct race_view *view;
    struct race_copy *copy;
    struct race_pool *pool;
    race_time block_min, warp_min;
    struct race_record self;
    uint32_t record; /* self in the pool, 0: not there yet */
    uint32_t others; /* those of the cell at hand */
    /* Found fine for all bytes: two writes, a list; and what a list becomes with this read. */
    uint32_t write_ok[2], others_ok, from, to;
    bool strong;
    /* Does this write leave a cell's bytes as they are? The answer to the last question. */
    uint64_t left_key;
    bool left;
};

/* What the bytes are now: what an access read or wrote; and that the last write left them so. */
enum race_past { RACE_GONE, RACE_STANDS, RACE_LAST };
/* Accesses that meet with no order: `lane` with any of old_lanes, at `byte` and up to byte + bytes
 * - 1. */
struct race_clash {
    const struct race_record *old; /* NULL: another lane of the same instruction */
    enum race_past past;           /* of old */
    uint64_t byte;
    int bytes;
    uint32_t old_lanes;
    int lane;
};
/* Do lanes that meet at volatile accesses, both strong, make a finding? (sim_race_volatile.c) */
bool race_volatile_pair(const struct race_try *t, const struct race_record *old);
bool race_volatile_clash(const struct race_try *t, const struct race_clash *c);
/* Is it two writes of one value? */
bool race_same_value(const struct race_try *t, const struct race_clash *c);
void race_found(struct race_try *t, const struct race_clash *c);
/* Will the bytes be what they are now behind this write? */
bool race_leaves_value(const struct race_try *t, uint64_t address, int bytes);
bool race_access(void *user, const struct sim_access *a);
/* Is a record still the last write of all that it has at an address? */
bool race_wrote_last(struct race_try *t, uint64_t address, uint32_t record, race_time epoch);

/* --- synchronisation --- */

/* Knowledge that lanes let out: what they knew (arrays by lane), and themselves below `bound`. */
struct race_vc *race_knowledge(struct sim_races *r, uint64_t id, const race_time *block_base,
                               const race_time *warp_base, struct race_vc *const *vc, uint32_t mask,
                               race_time bound);
void race_learn(struct sim_races *r, struct race_warp *w, uint32_t mask, struct race_vc *vc);
void race_update_minima(struct race_warp *w);
/* Before and after the cells of a strong access were seen to. */
void race_acquire(struct race_try *t);
void race_release(struct race_try *t);
bool race_sync(void *user, const struct sim_sync_event *e);
bool race_async(void *user, const struct sim_async_event *e);
struct race_copy *race_copy_of(struct race_warp *w, uint32_t group);
void race_copy_free(struct sim_races *r, struct race_copy *c);
void race_fences_free(struct sim_races *r, struct race_warp *w);
void race_block_sync_free(struct sim_races *r, struct race_block *b);
void race_locations_free(struct sim_races *r, struct race_locations *l);

#endif
