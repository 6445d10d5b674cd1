/* Declarations that the files of the race check share. sim_race.c says how it works. */
#ifndef TW_SIM_RACE_OWN_H
#define TW_SIM_RACE_OWN_H

#include "sim/sim_blocks.h"
#include "sim/sim_heap.h"
#include "sim/race/sim_race.h"

/* --- clocks (sim_race_clock.c) --- */

/* Time is one counter of the launch. A warp's accesses have its epoch: the time of its latest
 * synchronisation. */
typedef uint32_t race_time;
#define RACE_NEVER UINT32_MAX /* the epoch of an access that is not complete yet */

/* An id names a warp, block << 6 | warp + 1, or a whole block, block << 6. RACE_COPIES | id
 * names the warp's copies that arrived at an mbarrier: their own thread knows no more of them
 * than others do. */
#define RACE_COPIES (UINT64_C(1) << 63)
/* RACE_AGENT | … names an agent of the async proxy. Its number in the block, at bit RACE_NUMBER_AT: 1 +
 * the mbarrier's offset / 8; then warpgroups; then threads. */
#define RACE_AGENT (UINT64_C(1) << 62)
enum { RACE_OF_WARPGROUPS = 0x8000, RACE_OF_THREADS = 0x20000, RACE_NUMBER_AT = 40 };
/* Returns true if it is the id of products, or of copies' accesses to shared memory. */
static inline bool race_agent_is_shared(uint64_t id)
{
    const uint64_t writes = (RACE_OF_THREADS + UINT64_C(1)) << RACE_NUMBER_AT;
    return (id & (RACE_COPIES | RACE_AGENT)) == RACE_AGENT && (id & writes) != writes;
}
static inline uint64_t race_id(int64_t block, int warp)
{
    return (uint64_t)block << 6 | (uint64_t)(warp + 1);
}

/* An item of knowledge: "all that lanes `mask` of `id` did in epochs below `bound` is known". */
struct race_entry {
    uint64_t id;
    uint32_t mask;
    race_time bound;
};
/* Knowledge beyond the barriers of a lane's own block; sorted by id, shared, counted, never
 * changed. NULL: none. */
struct race_vc {
    uint32_t refs, count;
    struct race_entry entry[];
};

/* The knowledge of a warp's lanes: about all of their block (since its barriers), about all of
 * their warp (since bar.warp.sync), and a list for the rest. About itself a lane knows the
 * epochs below `own`. */
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
/* Replaces a by all that both know; takes over a's reference. */
void race_vc_add(struct sim_races *r, struct race_vc **a, struct race_vc *b);
/* Does the same, and takes over b's reference. */
void race_vc_take(struct sim_races *r, struct race_vc **a, struct race_vc *b);
/* Returns the knowledge without the part about a block. RACE_ENDED: only the part about products, and about
 * copies' accesses to shared memory, which have ended if they are known. */
enum { RACE_ENDED = -1 };
struct race_vc *race_vc_without(struct sim_races *r, struct race_vc *vc, int64_t block);
/* Returns true if anything that the block did is known. */
bool race_vc_knows(const struct race_vc *vc, int64_t block);
bool race_vc_covers(const struct race_vc *vc, uint64_t id, uint32_t lanes, race_time epoch);
/* Makes knowledge from up to four entries, sorted by id. */
struct race_vc *race_vc_of(struct sim_races *r, const struct race_entry *entries, int count);

/* --- shadow memory (sim_race_shadow.c) --- */

/* How the address depends on lane i: the same for all, address + i * stride, address + i % 16 *
 * stride + i / 16 * apart, or listed. */
enum race_pattern { RACE_UNIFORM, RACE_LINEAR, RACE_HALVES, RACE_LISTED };
enum { RACE_HALF = SIM_LANES / 2 };

struct race_site {
    const struct ptx_instruction *ins;
    const struct ptx_function *function;
    struct loc where;
    struct race_site *follower; /* the site that was looked up next, the last time */
    uint8_t polls;              /* enum race_polls */
};

/* An access of a warp, as the shadow memory keeps it. */
struct race_record {
    uint64_t id; /* of the warp */
    uint64_t by; /* of an agent's access: the warp that issued it; 0: of a thread */
    uint64_t address;
    int64_t apart; /* of the halves; of warps with one row each: from one row to the next */
    const struct race_site *site, *barrier; /* the barrier passed last; NULL: none */
    race_time epoch; /* RACE_NEVER: an asynchronous copy that no lane has waited for yet */
    uint32_t mask;
    uint32_t pending; /* lanes that have not waited for their asynchronous copy */
    uint32_t passed;  /* barriers */
    uint32_t stride;
    union {
        struct {
            uint32_t list; /* of addresses less `address`; 0: none */
            /* List of the lanes' epochs, if they waited for their copies at different times; 0: all
             * lanes have `epoch`. */
            uint32_t landed;
        };
        struct {             /* of an access by `many` warps: */
            uint32_t along;  /* from a block's first row to the next block's */
            uint16_t blocks; /* after that of `id`; all but the last have ended */
            uint8_t latest;  /* the last warp so far in the last block */
        };
    };
    uint16_t bytes, element;
    uint8_t kind, order, scope, pattern;
    bool whole_warp : 1; /* ldmatrix: each row is read by all lanes */
    bool async : 1;
    bool many : 1;
    bool odd : 1; /* rows begin inside words */
    bool mark : 1;
    uint8_t width;  /* bytes of an address in `list` */
    uint8_t more;   /* warps of a block after the first, which access the rows after its own */
    int8_t by_lane; /* of an agent's access: the lane that issued it; -1: all */
};

/* A set of accesses as a list that shares its tail: reads since the last write, and all accesses
 * that are not before the writes since then in causality order. */
struct race_node {
    uint32_t record, next;
    race_time newest; /* of the whole list; RACE_NEVER if any record may be pending */
    uint16_t depth;
    bool has_writes; /* in the whole list */
    bool one_block;  /* all accesses are of the block of the first one */
    bool odd;        /* rows of a record in the whole list begin inside words */
    bool stands;     /* the bytes still have the value that the access read or wrote */
    bool mark;
};

/* The history of 4 bytes: the last write and `others`. Each of them, if the bytes have different
 * ones, is RACE_SPLIT | the number of the four bytes' ones. */
#define RACE_SPLIT 0x80000000u
struct race_cell {
    uint32_t write, others;
};
static inline bool race_is_split(struct race_cell cell)
{
    return (cell.write | cell.others) & RACE_SPLIT;
}

/* Tables to find records that the next warp continues, and lists that are made again. */
enum { RACE_RUNS = 64, RACE_LISTS = 256 };

/* The records and lists that the cells of one piece of memory name. Those that no cell names any
 * more are collected now and then. */
struct race_pool {
    struct race_record *records;
    struct race_node *nodes;
    uint32_t (*splits)[4];
    uint8_t (*lists)[SIM_LANES]; /* A list with N bytes for each lane has N rows. */
    /* For each kind: the numbers given out so far, the room, the head of the free list, the
     * number in use. */
    uint32_t record_count, record_room, record_free, record_used;
    uint32_t node_count, node_room, node_free, node_used;
    uint32_t split_count, split_room, split_free;
    uint32_t list_count, list_room, list_free[sizeof(uint64_t) + 1]; /* by N */
    uint32_t record_limit, node_limit; /* number in use at which unnamed ones are collected */
};

/* Shadow memory of a page of global memory. It has a cell for each 16 bytes as long as all of them
 * have one history, and then one for each word. */
enum { RACE_PAGE = 4096, RACE_PAGE_WORDS = RACE_PAGE / 4, RACE_COARSE = 16 };
/* Runs of equal 8 bytes: their values, and then as uint16_t the index of each run's end. */
struct race_runs {
    uint32_t count;
    uint64_t value[];
};
struct race_page {
    uint64_t number;
    uint8_t *old; /* the bytes before the last write; NULL: no write yet */
    struct race_cell *cell;
    uint32_t *writes; /* instead of a cell for each word, if all `others` are 0; NULL: cells */
    struct race_runs *old_runs, *cell_runs; /* instead of those in a closed page; NULL: none */
    bool fine;                              /* a cell for each word */
    bool open, used;                        /* used: since it could have been closed */
    uint8_t openings;
};
/* The number of pages that are open together, and the number of openings after which a page stays. */
enum { RACE_OPEN = 64, RACE_OPENINGS = 3 };
static inline size_t race_page_cells(const struct race_page *page)
{
    return page->fine ? RACE_PAGE_WORDS : RACE_PAGE / RACE_COARSE;
}

/* --- deferred reads (sim_race_reads.c) --- */

/* A read of a block's shared memory that is not in the shadow memory yet. */
struct race_read {
    const struct race_site *site, *barrier;
    race_time epoch, block_min; /* of its warp, at the time of the read */
    uint32_t mask, passed, stride;
    int32_t apart;
    uint32_t first, list; /* the first address; SIM_UNSORTED: the list of all */
    uint16_t bytes, element;
    uint8_t warp, scope, pattern, matrix;
};
struct race_reads {
    struct race_read *read;
    uint32_t (*lists)[SIM_LANES];
    uint32_t count, room, list_count, list_room;
    race_time newest;  /* epoch of the latest of them */
    race_time written; /* epoch of the block's latest write; RACE_NEVER: others write, too */
};

/* --- synchronisation (sim_race_sync.c, sim_race_value.c) --- */

/* The knowledge of the lanes at their last releasing fence, and the knowledge that strong reads
 * since the last acquiring fence have shown. [0]: within the block, [1]: on the whole device. */
struct race_fences {
    race_time bound[2][SIM_LANES]; /* 0: no fence */
    struct race_view view[2];
    struct race_vc *seen[2][SIM_LANES];
};

/* An asynchronous copy between its instruction and the wait. */
enum { RACE_COPY_RECORDS = 8 };
struct race_copy {
    struct race_copy *next;
    struct race_view view; /* of its time */
    uint32_t group, mask;
    uint32_t index[SIM_LANES]; /* by lane: the commit group that the copy belongs to */
    uint32_t record[RACE_COPY_RECORDS];
    bool in_global[RACE_COPY_RECORDS];
    int records;
    uint32_t passed; /* barriers, by its thread */
    const struct race_site *barrier;
};

/* A bulk copy or a product of a warpgroup, from its issue on. */
enum { RACE_ISSUERS = 4 };
struct race_agent {
    struct race_agent *next;
    uint32_t group; /* its number */
    enum sim_agent kind;
    uint64_t id[2]; /* of its accesses; copies to global memory: of its reads, of its writes */
    uint64_t by;
    int8_t lane;
    race_time epoch; /* of its accesses */
    /* Known by its threads when they issued it: for a product, by each of its warps. */
    struct race_vc *known[RACE_ISSUERS];
    struct race_view view[RACE_ISSUERS]; /* the same */
    uint32_t index;                      /* copies to global memory: their group */
    bool lands, landed;                  /* it has begun to land; it has landed */
    bool met;                            /* its thread had passed the barrier of the cluster */
    uint8_t waited;                      /* products: warps that have waited */
};
/* fence.proxy.async and fence.mbarrier_init of a warp. */
struct race_proxy {
    race_time time;
    uint32_t mask;
    bool init, global, shared, own; /* own: of the block's shared memory alone */
};
enum { RACE_PROXIES = 128 };
struct race_proxies {
    int count;
    race_time forgotten; /* older fences are not listed */
    struct race_proxy fence[RACE_PROXIES];
};

struct race_warp {
    struct race_view view;
    race_time epoch;
    race_time block_min, warp_min; /* the least of the live lanes */
    uint32_t live;
    uint32_t passed; /* barriers */
    const struct race_site *barrier;
    const struct race_site *waits_at; /* the barrier at which it arrived last */
    struct race_fences *fences;
    struct race_copy *copies;
    int copy_count;
    uint32_t commits[SIM_LANES];
    /* `waited`: the lane has waited for its copies in epochs below. `arrived`: its copies in
     * epochs below arrived at an mbarrier (RACE_COPIES). */
    race_time waited[SIM_LANES], arrived[SIM_LANES];
    uint32_t bulk_commits[SIM_LANES];
    uint32_t met;                 /* lanes that have passed the barrier of the cluster */
    uint32_t phases[SIM_LANES];   /* how often the lane has arrived there */
    struct race_proxies *proxies; /* NULL: no fence so far */
};

struct race_barrier {
    uint32_t *arrived, *waiting; /* by warp: lanes */
    struct race_vc *clock;       /* of those that arrived and went on */
    int count, expected;
    bool partial; /* a thread went on */
};

struct race_mbarrier {
    struct race_mbarrier *next;
    uint64_t address;
    struct race_vc *clock, *done; /* of this phase's arrivals; of all complete phases' arrivals */
};

/* A place that strong operations access: the knowledge that its value carries. */
struct race_location {
    uint64_t key;    /* its address + 1; 0: not in use */
    uint32_t record; /* of the write that made the value */
    race_time epoch;
    int64_t block;   /* block of `local` */
    uint64_t writer; /* the thread of that write */
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
    int64_t cluster;
    uint64_t reserved; /* bytes at the start of shared memory that belong to the system */
    struct race_warp *warp;
    struct race_barrier barrier[RACE_BARRIERS];
    struct race_mbarrier *mbarriers;
    struct race_agent *agents;
    struct race_listed *uses; /* struct race_use, by warp or agent */
    uint32_t phases;          /* barriers of the cluster that a thread has passed */
    struct race_locations locations;
    struct race_pool pool;
    struct race_reads reads;
    size_t words; /* of shared memory */
    struct race_cell *cells;
    uint8_t *old;
};

/* The head of what is in a list and has a number. */
struct race_listed {
    struct race_listed *next;
    uint64_t id;
};

/* The latest use of a block's shared memory by a warp of another one, or by copies of those. */
struct race_use {
    struct race_listed listed; /* id: of the warp or agent */
    struct sim_finding_access access;
    uint32_t mask;
    race_time epoch[SIM_LANES];
    uint32_t phase[SIM_LANES]; /* the lane's arrivals at the barrier of the cluster before it */
};

/* A cluster's barrier in every second phase. */
struct race_cluster {
    struct race_listed listed; /* id: twice the cluster's number; + 1 in its odd phases */
    struct race_vc *clock;     /* of the arrivals at its barrier */
    int ended;                 /* blocks, in the even one */
};

struct sim_races {
    struct sim_blocks blocks;
    struct arena *arena;
    struct sim_report *report;
    struct sim_observer observer;
    race_time now;
    size_t memory, most_memory;
    struct race_copy *free_copies;
    struct race_listed *clusters; /* struct race_cluster */
    bool clustered;               /* clusters have several blocks */
    bool passed_on;             /* a thread has passed knowledge on to other blocks, or may have */
    struct race_pool pool;      /* of global memory */
    uint32_t runs[RACE_RUNS];   /* in that pool, by instruction: its latest record */
    uint32_t lists[RACE_LISTS]; /* in that pool, by record and tail: a list of both */
    struct race_pool spare;     /* of a block that has ended, for the next block */
    struct race_reads spare_reads;
    struct race_locations locations;
    struct race_page **pages; /* a hash by number */
    size_t page_count, page_capacity;
    struct race_page *last_page;
    struct race_page *open[RACE_OPEN]; /* pages to be closed, by age */
    unsigned next_open;
    struct race_site **sites; /* a hash by instruction */
    size_t site_count, site_capacity;
    struct race_site *last_site;
    bool over; /* the counter is exhausted: 2^32 synchronisations */
};

void *race_resize(struct sim_races *r, void *old, size_t old_size, size_t size);
/* Does the same, but new bytes of an array that has some already are not set. */
void *race_grow(struct sim_races *r, void *old, size_t old_size, size_t size);
/* Doubles the room of an array. */
#define RACE_GROW(r, array, room, least)                                                           \
    do {                                                                                           \
        uint32_t room_now = (room) ? 2 * (room) : (least);                                         \
        (array) = race_grow((r), (array), (room) * sizeof *(array), room_now * sizeof *(array));   \
        (room) = room_now;                                                                         \
    } while (0)
const struct race_site *race_site_of(struct sim_races *r, const struct sim_place *at);
race_time race_tick(struct sim_races *r);

/* --- shadow memory --- */

uint32_t race_record_new(struct sim_races *r, struct race_pool *p, const struct race_record *from,
                         const uint64_t *addresses);
/* Adds the addresses of the next warp to a record with lists. Returns false if they have no room
 * there. */
bool race_record_lists(struct sim_races *r, struct race_pool *p, uint32_t record,
                       const uint64_t *addresses);
/* Notes that lanes of a record waited for their copies at this time; others did or will at
 * another. */
void race_record_landed(struct sim_races *r, struct race_pool *p, uint32_t record, uint32_t lanes,
                        race_time epoch);
/* Returns the history of a byte of a word. */
struct race_cell race_byte_of(const struct race_pool *p, struct race_cell word, int byte);
void race_byte_set(struct sim_races *r, struct race_pool *p, struct race_cell *word, int byte,
                   struct race_cell history);
/* Joins what all bytes of a word have in common. */
void race_word_join(struct race_pool *p, struct race_cell *word);
void race_pool_free(struct sim_races *r, struct race_pool *p);
/* Returns an empty pool with room. */
struct race_pool race_pool_take(struct sim_races *r);
void race_pool_leave(struct sim_races *r, struct race_pool *p);
/* Frees records and lists that no cell names; called when the number in use is above its limit.
 * block NULL: for global memory. */
void race_collect(struct sim_races *r, struct race_block *block);
struct race_page *race_page_of(struct sim_races *r, uint64_t address);
/* Gives a page a cell for each word. */
void race_page_refine(struct sim_races *r, struct race_page *page);
/* Gives cells to a page that keeps only writes. */
void race_page_widen(struct sim_races *r, struct race_page *page);
void race_pages_free(struct sim_races *r);
/* Returns a lane's address of a record with a list; `addresses` of an access that is not entered yet,
 * NULL of others. */
uint64_t race_listed_address(const struct race_pool *p, const struct race_record *record,
                             const uint64_t *addresses, int lane);
/* Returns a lane's epoch, of a record whose lanes landed at different times. */
race_time race_landed_at(const struct race_pool *p, const struct race_record *record, int lane);
/* Returns the lanes of the record that access the byte. */
uint32_t race_lanes_at(const struct race_pool *p, const struct race_record *record, uint64_t byte,
                       const uint64_t *addresses);

/* --- an access under way (sim_race_access.c, sim_race_cell.c) --- */

struct race_try {
    struct sim_races *r;
    const struct sim_access *a;
    struct race_block *block, *home; /* of the thread; of the shared memory */
    struct race_warp *warp;
    struct race_view *view;
    struct race_copy *copy;
    struct race_agent *agent;
    struct race_pool *pool;
    race_time block_min, warp_min;
    struct race_record self;
    uint32_t record;       /* number of `self` in the pool; 0: not there yet */
    uint32_t others, last; /* `others` of the current cell; its last write */
    /* Answers that hold for all bytes of this access: two writes and a list are ordered before
     * it; `from`, the list before this read, becomes `to`. */
    uint32_t write_ok[2], others_ok, from, to;
    /* The address of the current cell, and the end of the bytes that the answers hold for. */
    uint64_t cell, until;
    bool strong;
    /* The last answer of race_leaves_value, and the bytes that it was for. */
    uint64_t left_key;
    bool left;
};

/* The relation of an access to the present bytes. RACE_STANDS: they have the value that it read
 * or wrote. RACE_LAST: it is the last write, and wrote that value. */
enum race_past { RACE_GONE, RACE_STANDS, RACE_LAST };
/* Accesses that meet without order: `lane` with any of old_lanes, at bytes `byte` to byte +
 * bytes - 1. */
struct race_clash {
    const struct race_record *old; /* NULL: another lane of the same instruction */
    enum race_past past;           /* of old */
    uint64_t byte;
    int bytes;
    uint32_t old_lanes;
    int lane;
};
/* sim_race_volatile.c: returns true if lanes that meet at volatile accesses, both strong, make a
 * finding. */
bool race_volatile_pair(const struct race_try *t, const struct race_record *old);
bool race_volatile_clash(const struct race_try *t, const struct race_clash *c);
/* Returns true if both write the same value. */
bool race_same_value(const struct race_try *t, const struct race_clash *c);
void race_found(struct race_try *t, const struct race_clash *c);
/* Reports a write and an access of the async proxy without a fence. */
void race_found_unfenced(struct race_try *t, const struct race_record *old, uint64_t byte);
/* Returns true if this write leaves the bytes as they are. */
bool race_leaves_value(const struct race_try *t, uint64_t address, int bytes);
/* Checks the access against a cell, of `bytes` bytes, and enters it there. */
void race_one_cell(struct race_try *t, struct race_cell *cell, uint64_t address, int bytes);
/* Checks the lanes of a write against each other. */
void race_meet_oneself(struct race_try *t, uint64_t address, int bytes);
/* Returns the number of the access's record, which it makes at the first call. */
uint32_t race_own_record(struct race_try *t);
/* Returns the record of the one warp that accessed the current cell, in which no two rows meet; `part` has room for it. The
 * answers for it hold for no other warp of the record. */
const struct race_record *race_part_of(struct race_try *t, const struct race_record *all,
                                       struct race_record *part);
static inline const struct race_record *race_part(struct race_try *t, uint32_t record,
                                                  struct race_record *part)
{
    const struct race_record *all = &t->pool->records[record];
    return all->many ? race_part_of(t, all, part) : all;
}
/* Returns the list of a record and the rest, as it is for the current cell. */
uint32_t race_node_new(struct race_try *t, uint32_t record, uint32_t next, bool stands);
/* Returns a list of the same accesses in the order of their records, or the list itself if the order
 * may matter. It does not if all are weak reads by blocks that have ended, and that no thread can know
 * of. */
uint32_t race_list_sorted(struct race_try *t, uint32_t list);
/* Returns the number of a record with this access: a new one, or that of the warp before, of this block
 * or the one before, if this one accesses the next row of its bytes. */
uint32_t race_record_of(struct race_try *t);
/* Returns true if all of the old access is ordered before all of this one, for any pair of
 * lanes. */
bool race_known_to_all(const struct race_try *t, const struct race_record *old);
/* Checks an access that is not deferred. */
void race_check_access(struct sim_races *r, struct race_block *block, const struct sim_access *a);
/* Checks the ranges of an access that t describes. */
void race_ranges(struct race_try *t);
void race_set_pattern(struct race_record *self, const struct sim_access *a);
struct race_reads race_reads_take(struct sim_races *r);
void race_reads_leave(struct sim_races *r, struct race_reads *reads);
void race_reads_free(struct sim_races *r, struct race_reads *reads);
/* Makes room for the block's shared memory, at least up to `end`. */
void race_need_shared(struct race_try *t, uint64_t end);
/* Returns the cell of an address, and the number of cells from there on; NULL: the page keeps only
 * writes. */
struct race_cell *race_cells_at(struct race_try *t, uint64_t address, size_t *count);
/* Returns true if a record is still the last write of all its bytes at an address. */
bool race_wrote_last(struct race_try *t, uint64_t address, uint32_t record, race_time epoch);

/* --- synchronisation --- */

/* Returns the knowledge that lanes pass on: all that they know, and their own
 * accesses below `bound`. */
struct race_vc *race_knowledge(struct sim_races *r, uint64_t id, const struct race_view *v,
                               uint32_t mask, race_time bound);
void race_learn(struct sim_races *r, struct race_warp *w, uint32_t mask, struct race_vc *vc);
void race_update_minima(struct race_warp *w);
/* sim_race_value.c. Handle the order that a strong access makes, before and after its cells are
 * checked. */
void race_acquire(struct race_try *t);
void race_release(struct race_try *t);
void race_fence(struct sim_races *r, struct race_warp *w, const struct sim_sync_event *e);
/* Returns the fences of a warp, which have room from now on. */
struct race_fences *race_fences_of(struct sim_races *r, struct race_warp *w);
/* Returns a reference to the knowledge of a lane at its last releasing fence of that width;
 * NULL: there was none. */
struct race_vc *race_known_at_fence(struct sim_races *r, const struct race_warp *w, uint64_t id,
                                    int lane, int wide);
/* sim_race_sync.c */
bool race_sync(void *user, const struct sim_sync_event *e);
/* sim_race_cluster.c. known: by the threads that arrive */
void race_cluster_told(struct sim_races *r, struct race_block *b, const struct sim_sync_event *e,
                       struct race_vc *known);
void race_clusters_free(struct sim_races *r);
/* Forgets the barrier of a cluster when the last of its blocks ends. */
void race_cluster_ends(struct sim_races *r, int64_t cluster, int blocks);
/* Checks that the block whose memory it is has begun, and notes the use for its end. */
void race_peer_used(struct sim_races *r, struct race_block *b, const struct sim_access *a);
/* Checks that the uses of a block's memory by others are over when it ends. */
void race_peer_ends(struct sim_races *r, const struct race_block *b);
void race_uses_free(struct sim_races *r, struct race_block *b);
/* sim_race_agent.c */
struct race_agent *race_agent_of(const struct race_block *b, uint32_t group);
void race_agent_told(struct sim_races *r, struct race_block *b, const struct sim_async_event *e);
/* Notes that a copy begins to land. */
void race_agent_begins(struct sim_races *r, struct race_agent *a);
/* Passes the copy's accesses, and all that is before them, on to the clock of its mbarrier. */
void race_agent_completes(struct sim_races *r, struct race_agent *a, struct race_vc **clock);
void race_agents_free(struct sim_races *r, struct race_block *b);
void race_proxy_fence(struct sim_races *r, struct race_warp *w, const struct sim_sync_event *e);
/* Returns true if fences of the lanes that wrote `old` are between the write and this access of
 * the async proxy. */
bool race_is_fenced(const struct race_try *t, const struct race_record *old, uint32_t lanes);
/* sim_race_reads.c */
bool race_access(void *user, const struct sim_access *a);
/* sim_race_sync.c */
bool race_async(void *user, const struct sim_async_event *e);
void race_copy_free(struct sim_races *r, struct race_copy *c);
void race_block_sync_free(struct sim_races *r, struct race_block *b);
/* sim_race_value.c */
void race_fences_free(struct sim_races *r, struct race_warp *w);
void race_locations_free(struct sim_races *r, struct race_locations *l);

#endif
