/* The events that observers of the simulator hear: memory accesses of a warp, and everything
 * that orders them. The plug-ins for races, barriers, memory and counters are observers; they
 * know the machine only through this file. */
#ifndef TW_SIM_EVENTS_H
#define TW_SIM_EVENTS_H

#include "ptx/ptx.h"

struct sim_warp;

enum { SIM_LANES = 32 };

/* The place of an event: a warp of a block and its instruction. Threads are numbered x fastest;
 * thread = warp * 32 + lane. */
struct sim_place {
    int64_t block;                     /* number in the grid, x fastest */
    int warp;                          /* in its block */
    int warps, threads;                /* of the block */
    const struct ptx_instruction *ins; /* its .loc is in ins->line */
    const struct ptx_function *function;
    struct loc where; /* in the module's text */
};

enum sim_space { SIM_GLOBAL, SIM_SHARED, SIM_LOCAL, SIM_CONST, SIM_PARAM };
enum sim_kind {
    SIM_READ = 1,
    SIM_WRITE = 2,
    SIM_UPDATE = 3 /* read and written at once: atom, red */
};
/* The order of an access or fence, PTX ISA section memory-consistency-model. */
enum sim_order {
    SIM_WEAK,
    SIM_RELAXED,
    SIM_ACQUIRE,
    SIM_RELEASE,
    SIM_ACQ_REL,
    SIM_SC,
    SIM_VOLATILE
};
enum sim_scope { SIM_CTA, SIM_CLUSTER, SIM_GPU, SIM_SYS };
enum sim_matrix { SIM_LANEWISE, SIM_LDMATRIX, SIM_STMATRIX };
/* How addresses depend on the lane: not examined; the same for all; address[0] + lane * stride;
 * address[0] + lane % 16 * stride + lane / 16 * apart. */
enum sim_pattern { SIM_UNSORTED, SIM_UNIFORM, SIM_LINEAR, SIM_HALVES };

/* The source of an undefined value: a read of memory that was never written, or shfl.sync from a
 * lane that does not take part. */
struct sim_origin {
    struct sim_place at;
    uint32_t lanes;
    int untold; /* such reads by single lanes since the last use */
    bool shuffled;
    bool copied;          /* read: the program copied undefined bytes to this memory */
    enum sim_space space; /* read: its space; the next three are also of the read */
    int bytes;
    uint64_t address[SIM_LANES]; /* shfl.sync: the lane that the value comes from */
    uint8_t byte[SIM_LANES];     /* offset of the first byte never written */
    struct sim_origin *next;
};

/* The undefined elements of a vector that an access reads or writes. */
enum { SIM_MOST_ELEMENTS = 8 };
struct sim_undefined {
    bool any;
    uint32_t lanes[SIM_MOST_ELEMENTS];
    uint16_t bytes[SIM_MOST_ELEMENTS];
    bool computed[SIM_MOST_ELEMENTS]; /* write: computed, not just copied from its origin */
    struct sim_origin *origin[SIM_MOST_ELEMENTS]; /* of a write */
    bool copied;                                  /* read: as in its origin */
    enum sim_space space; /* of a read: the space; address[] has its addresses */
    uint64_t address[SIM_LANES];
    uint8_t byte[SIM_LANES];
};

/* A use of an undefined value. */
struct sim_use {
    struct sim_place at;
    int lane;
    const char *how;  /* "is an address" */
    bool padding;     /* it may be the padding of a struct */
    const char *name; /* of the instruction */
    struct sim_origin *origin;
};

/* A warp's access: lane i of `mask` has `bytes` bytes at address[i]. For ldmatrix and stmatrix,
 * lane i gives the address of row i, of 16 bytes; `matrices` is their number, and lanes 0 to 8 *
 * matrices - 1 are in the mask. */
struct sim_access {
    struct sim_place at;
    enum sim_kind kind;
    enum sim_order order;
    enum sim_scope scope;
    enum sim_matrix matrix;
    int matrices;
    /* Only for whole warps: the mask is full if this is not SIM_UNSORTED. */
    enum sim_pattern pattern;
    uint32_t stride; /* SIM_LINEAR: not below `bytes`; SIM_HALVES: 0 or `bytes` */
    int64_t apart;   /* SIM_HALVES */
    enum sim_space space;
    uint32_t mask;
    int bytes;   /* of a lane, for the whole vector */
    int element; /* bytes of one element of the vector; 0: as `bytes` */
    uint32_t
        group; /* number of the asynchronous copy or product that the access belongs to; 0: none */
    int64_t away; /* SIM_SHARED: 1 + the number of the block whose memory it is; 0: its own */
    /* For a copy: the addresses on its other side (NULL: not known; lanes that read nothing have
     * the target's address). `past_l1`: the copy bypasses L1 (cp.async.cg). */
    const uint64_t *across;
    /* Load, unless NULL: observers add undefined bytes here instead of reporting them. Store:
     * the undefined bytes that it writes; NULL if all are defined. */
    struct sim_undefined *undefined;
    bool past_l1;
    /* The arrays below have only lanes 0 and 16, and `value` only lane 0: sim_spread sets the others.
     * The pattern is not SIM_UNSORTED, and the stride is 0 or `bytes`. */
    bool sparse;
    /* SIM_GLOBAL, SIM_CONST: the address; SIM_SHARED: offset in the block's shared memory;
     * SIM_LOCAL: offset in the thread's local memory. All are inside, except in faults. */
    uint64_t address[SIM_LANES];
    const uint8_t *before[SIM_LANES]; /* host address of the bytes; for a write: not written yet */
    const uint8_t *value[SIM_LANES];  /* write: the new bytes; NULL: not known */
};

/* Sets all lanes of a sparse access; the access does not change otherwise. */
void sim_spread(const struct sim_access *access);
/* Returns the number of the block whose shared memory an access is of. */
static inline int64_t sim_home(const struct sim_access *a)
{
    return a->away ? a->away - 1 : a->at.block;
}

/* Events of asynchronous copies (cp.async): issued, committed to a group, landed, waited for.
 * Landing reads and writes: two accesses with `group`, in the name of the thread that issued the
 * copy. */
enum sim_async {
    SIM_ASYNC_ISSUE,
    SIM_ASYNC_COMMIT,
    SIM_ASYNC_LAND,
    SIM_ASYNC_WAIT,
    /* Bulk copies: as above; an issue has `agent` and its mbarrier. */
    SIM_BULK_ISSUE,
    SIM_BULK_COMMIT,
    SIM_BULK_LAND,
    SIM_BULK_WAIT, /* `reads`: for the reads alone */
    /* Products of a warpgroup: a warp reaches product `group`; waits for that and all earlier
     * ones. Their reads of shared memory come after all four warps have reached them. */
    SIM_PRODUCT_ISSUE,
    SIM_PRODUCT_WAIT
};
/* The parts of the machine that work by themselves, in the async proxy. */
enum sim_agent { SIM_COPY_IN, SIM_COPY_OUT, SIM_PRODUCT };

enum sim_sync {
    /* Lanes of `mask` arrive at barrier `id` (bar.arrive, and the first half of bar.sync). Sent
     * before the machine checks id and count, and stops if they are impossible. */
    SIM_BARRIER_ARRIVE,
    SIM_BARRIER_LEAVE, /* lanes of `mask` pass the barrier */
    /* bar.warp.sync, shfl.sync …: `members` are in step; only bar.warp.sync orders memory. If
     * mma, ldmatrix … are executed by a part of the warp, `mask`: aligned, and members is all lanes. */
    SIM_WARP_SYNC,
    SIM_FENCE,       /* fence, membar: order, scope */
    SIM_PROXY_FENCE, /* fence.proxy.async */
    SIM_INIT_FENCE,  /* fence.mbarrier_init: as a releasing fence, and for the async proxy */
    /* Events of mbarriers: the lanes of `mask` are at the same one. */
    SIM_MBARRIER_INIT,   /* `count`: arrivals of a phase; sent before it, lane by lane */
    SIM_MBARRIER_ARRIVE, /* address, order, scope; each lane's count in `count` */
    SIM_MBARRIER_BYTES,  /* expect_tx, complete_tx: adds `count` bytes, which may be negative */
    SIM_MBARRIER_PHASE,  /* after one of the events above: the phase is complete */
    SIM_MBARRIER_WAIT,   /* a test or try_wait that succeeded */
    SIM_MBARRIER_FAILED, /* a test or try_wait that failed; pending, bytes */
    SIM_MBARRIER_INVAL,
    SIM_MBARRIER_NONE,   /* an operation without an mbarrier: the machine then stops */
    SIM_MBARRIER_BROKEN, /* an operation against the rules, `why`: the machine also stops */
    /* An access to registers of a warpgroup's product against the rules, `why`; `other` */
    SIM_PRODUCT_BROKEN,
    SIM_CLUSTER_ARRIVE, /* barrier.cluster: order, cluster */
    SIM_CLUSTER_LEAVE,
    SIM_EXIT /* lanes of `mask` have exited */
};

struct sim_sync_event {
    struct sim_place at;
    enum sim_sync kind;
    uint32_t mask;         /* lanes that take part */
    uint32_t members;      /* SIM_WARP_SYNC: the mask operand */
    int id;                /* number of a barrier, 0 to 15 */
    int expected;          /* threads of a barrier; -1: all of the block */
    int64_t generation;    /* how often the barrier was complete before */
    bool aligned, reduces; /* .aligned (SIM_WARP_SYNC: and lanes are missing); bar.red */
    bool waits;            /* SIM_BARRIER_ARRIVE: the lanes wait (all but bar.arrive) */
    bool orders; /* SIM_WARP_SYNC: bar.warp.sync, which orders memory; shfl.sync … do not */
    enum sim_order order;
    enum sim_scope scope;
    int64_t cluster; /* SIM_CLUSTER_…: its number in the grid */
    int64_t away;    /* of an mbarrier: 1 + the number of its block; 0: its own */
    uint32_t group;  /* SIM_MBARRIER_BYTES: the bulk copy that has landed; 0: none */
    int64_t count;
    uint64_t address[SIM_LANES]; /* of an mbarrier: offset in shared memory */
    /* SIM_BARRIER_ARRIVE, aligned: lanes of the warp that go past the barrier, and the place of
     * some */
    uint32_t skipping;
    struct sim_place skipping_at;
    /* SIM_WARP_SYNC: not NULL if the lanes are not in the mask that they give. An observer that
     * reports this sets it, and the machine goes on as if they were in the mask; otherwise it
     * stops. */
    bool *reported;
    int64_t pending, bytes;        /* SIM_MBARRIER_FAILED: that the phase still waits for */
    const char *why;               /* SIM_…_BROKEN */
    const struct sim_place *other; /* SIM_PRODUCT_BROKEN: what it conflicts with; NULL: nothing */
};

struct sim_async_event {
    struct sim_place at;
    enum sim_async kind;
    uint32_t mask;
    uint32_t group;       /* ISSUE, LAND: the copy; COMMIT: unused */
    enum sim_agent agent; /* SIM_BULK_…, SIM_PRODUCT_… */
    bool reads;           /* SIM_BULK_WAIT: .read */
    /* SIM_BULK_ISSUE, SIM_COPY_IN: the mbarrier's place, and the number of its block */
    uint64_t mbarrier;
    int64_t mbarrier_block;
    const uint8_t *bytes; /* ISSUE: the bytes that each lane's copy reads; NULL: not known */
    int pending;          /* WAIT: groups that may be pending */
    bool all;             /* WAIT: cp.async.wait_all */
};

/* The kind of a memory fault. Observers hear of it before the machine stops. With `go_on` the
 * machine instead treats it as reading 0 and writing nothing. */
enum sim_fault_kind {
    SIM_OUTSIDE,
    SIM_MISALIGNED,
    SIM_READ_ONLY,
    SIM_TRAP,
    SIM_NO_ADDRESS,
    SIM_NOT_ASSUMED, /* an `assume` that is false */
    SIM_NOT_INSIDE   /* a slice marked `inside` that is not */
};
/* Returns true if the program itself ends the launch with this fault. */
static inline bool sim_fault_is_end(enum sim_fault_kind kind)
{
    return kind == SIM_TRAP || kind == SIM_NOT_ASSUMED || kind == SIM_NOT_INSIDE;
}
struct sim_fault {
    enum sim_fault_kind kind;
    struct sim_place at;
    enum sim_space space;
    int lane, bytes;
    uint64_t address;
    bool write;
    /* The nearest allocation or variable: its name, its size, and the offset from its start (may
     * be negative). */
    const char *name;
    uint64_t size;
    int64_t offset;
    bool freed; /* by the program: free() */
    /* If it is because of a page that has no memory or is closed: that is true, the page (enum
     * sim_page), and the offset of its first byte that is accessed. */
    bool paged;
    uint8_t page;
    uint64_t page_offset;
    /* SIM_TRAP, SIM_NOT_…: the program's message; SIM_NO_ADDRESS: which address is impossible,
     * and why. The text lives until the observer returns. */
    const char *why;
};

/* Memory that a launch can access, variables of the block's shared memory (address: offset), and
 * the kernel's parameters that are not wholly written (address: offset among the parameters).
 * Sent again before each launch; for memory that is new or that the host has changed since,
 * `initialised` has its present state. */
struct sim_allocation_event {
    enum sim_space space;
    uint64_t address, bytes;
    const char *name; /* NULL: none */
    /* Written by the host at least once, or initialised by definition (variables of a module). */
    bool initialised;
    uint64_t written; /* if not initialised: the number of written bytes at its start */
    /* SIM_PARAM: a flag for each byte, not 0 if it was never written. */
    const unsigned char *missing;
    /* True: its elements may be structs, whose padding the program copies and never writes.
     * False: they are values. */
    bool structs;
};

struct sim_block_event {
    int64_t block;
    int warps, threads;
    int64_t shared_bytes;
    int64_t reserved_shared; /* the first bytes: the system wrote them and uses them */
    int64_t cluster;         /* its number in the grid */
    int cluster_blocks;
    int64_t warp_steps; /* at the block's end: instructions of the warp that ran the most */
};

/* If no thread can go on: lanes that wait together, and what they wait for. */
enum sim_wait_for {
    SIM_FOR_NOTHING,
    SIM_FOR_BARRIER,
    SIM_FOR_LANES,
    SIM_FOR_MBARRIER,
    SIM_FOR_MEMORY
};
struct sim_wait {
    enum sim_wait_for what;
    struct sim_place at; /* for mbarriers and memory: the place of the read */
    uint32_t mask;
    uint32_t members; /* SIM_FOR_LANES: lanes that must come, with those that wait */
    /* For these two: the bytes that lane `lane` reads. 0: not an integer or not known, then
     * `value` is not set. */
    int lane, bytes;
    enum sim_space space;
    uint64_t address, value;
};
struct sim_standstill {
    const char *why; /* the whole description as text */
    const struct sim_wait *waits;
    size_t wait_count;
    int64_t begun, blocks; /* blocks of the launch that have begun, and all blocks */
    int resident;          /* blocks that have begun and not ended */
};

/* An instruction that a warp is about to execute. */
struct sim_step {
    struct sim_place at;
    uint32_t lanes;              /* lanes at this instruction */
    uint32_t mask;               /* those of `lanes` that its guard lets through; may be 0 */
    const struct sim_warp *warp; /* for sim_register_lanes */
};
/* Returns the 32 lanes of a register of the step's function as they are before the step, and
 * sets *bytes to a lane's bytes; 0: a predicate, one word with a bit for each lane. */
const void *sim_register_lanes(const struct sim_step *step, uint32_t reg, int *bytes);

/* Any member may be NULL. A callback that returns false ends the launch (SIM_ASKED). */
struct sim_observer {
    void *user;
    /* If not NULL and not negative: `access`, `sync`, `async` and `step` hear of this block
     * alone. Otherwise they hear of all blocks. It must not change after `launch`. */
    const int64_t *only;
    /* `access`, `sync`, `async`, `block_begins` and `block_ends` return true always and read nothing
     * but the event, without `undefined` of an access and all that follows `address` in a
     * synchronisation. So they may hear of it later, on another thread (sim_hear_later). Such observers
     * hear of an event before the others. They need not hear of constant memory and parameters. */
    bool later;
    /* Returns false if whole warps' accesses to a space by a block change nothing here and make no
     * finding, until the observer hears of another event. NULL: they may. */
    bool (*needs)(void *user, enum sim_space space, int64_t block);
    bool spreads; /* `access` takes sparse accesses, and calls sim_spread if it needs all lanes */
    bool (*launch)(void *user, const struct ptx_function *kernel, const unsigned grid[3],
                   const unsigned block[3]);
    bool (*block_begins)(void *user, const struct sim_block_event *event);
    bool (*block_ends)(void *user, const struct sim_block_event *event);
    bool (*step)(void *user, const struct sim_step *step); /* each instruction of a warp: slow */
    bool (*access)(void *user, const struct sim_access *access);
    bool (*sync)(void *user, const struct sim_sync_event *event);
    bool (*async)(void *user, const struct sim_async_event *event);
    bool (*allocated)(void *user, const struct sim_allocation_event *event);
    /* Between launches: the host has written a part of global memory that `allocated` named. */
    void (*wrote)(void *user, uint64_t address, uint64_t bytes);
    bool (*used)(void *user, const struct sim_use *use);
    bool (*fault)(void *user, const struct sim_fault *fault, bool *go_on);
    /* After a launch, for each instruction: how often a warp reached it, and the sum of the
     * lanes that did. */
    void (*executed)(void *user, const struct sim_place *at, int64_t warps, int64_t lanes);
    bool (*ended)(void *user);
    struct sim_observer *next;
};
struct sim;
/* Waits until the observers with `later` have heard of all events so far. On their own thread, and
 * for NULL, does nothing. */
void sim_settle(struct sim *sim);

#endif
