/* What observers of the simulator are told: accesses of memory by warp, and everything that orders
 * them. The races, barriers, memory and counters plug-ins are observers, and know the machine
 * through this file alone. */
#ifndef TW_SIM_EVENTS_H
#define TW_SIM_EVENTS_H

#include "ptx/ptx.h"

struct sim_warp;

enum { SIM_LANES = 32 };

/* Who: a warp of a block. Threads are numbered x fastest; thread = warp * 32 + lane. */
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
/* Order of an access or fence, PTX ISA section memory-consistency-model. */
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
/* How addresses follow from lanes: not looked at; the same for all; address[0] + lane * stride. */
enum sim_pattern { SIM_UNSORTED, SIM_UNIFORM, SIM_LINEAR };

/* The source of an undefined value: a read of memory that was never written, or shfl.sync from a lane
 * that takes no part. */
struct sim_origin {
    struct sim_place at;
    uint32_t lanes;
    bool shuffled;
    bool copied;          /* of a read: the program copied undefined bytes to this memory */
    enum sim_space space; /* of a read, as the next three */
    int bytes;
    uint64_t address[SIM_LANES]; /* of shfl.sync: the lane that the value is asked of */
    uint8_t byte[SIM_LANES];     /* the first that nothing wrote, from there */
    struct sim_origin *next;
};

/* Elements of a vector that an access reads or writes without their being defined. */
enum { SIM_MOST_ELEMENTS = 8 };
struct sim_undefined {
    bool any;
    uint32_t lanes[SIM_MOST_ELEMENTS];
    uint16_t bytes[SIM_MOST_ELEMENTS];
    bool computed[SIM_MOST_ELEMENTS]; /* of a write: not just copied from the place of its origin */
    const struct sim_origin *origin[SIM_MOST_ELEMENTS]; /* of a write */
    bool copied;                                        /* of a read, as in its origin */
    enum sim_space space;                               /* of a read, as the next two */
    uint64_t address[SIM_LANES];
    uint8_t byte[SIM_LANES];
};

/* A use of a value that is not defined. */
struct sim_use {
    struct sim_place at;
    int lane;
    const char *how;  /* "is an address" */
    bool padding;     /* it may be the padding of a struct */
    const char *name; /* of the instruction */
    const struct sim_origin *origin;
};

/* A warp's access: lane i of `mask` has `bytes` bytes at address[i] (ldmatrix and stmatrix: lane i
 * gives the address of row i of 16 bytes; `matrices` of them; lanes 0 to 8 * matrices - 1 are in
 * the mask). */
struct sim_access {
    struct sim_place at;
    enum sim_space space;
    enum sim_kind kind;
    enum sim_order order;
    enum sim_scope scope;
    enum sim_matrix matrix;
    int matrices;
    /* Told of whole warps only: the mask is full if it is not SIM_UNSORTED. */
    enum sim_pattern pattern;
    uint32_t stride; /* SIM_LINEAR: not below `bytes` */
    uint32_t mask;
    int bytes;      /* of a lane, all of a vector's */
    int element;    /* of one element of the vector; 0: as bytes */
    uint32_t group; /* 0, or the number of the asynchronous copy that this is a part of */
    /* Of a copy: the addresses on its other side (NULL: not known; of lanes that read nothing, the
     * target's); it goes past L1 (cp.async.cg). */
    const uint64_t *across;
    /* In a load, unless NULL: observers add the undefined bytes here instead of reporting them. In a
     * store: the undefined bytes that it writes; NULL if all are defined. */
    struct sim_undefined *undefined;
    bool past_l1;
    /* SIM_GLOBAL, SIM_CONST: the address; SIM_SHARED: offset in the block's shared memory;
     * SIM_LOCAL: offset in the thread's. Faults aside, all are inside. */
    uint64_t address[SIM_LANES];
    const uint8_t *before[SIM_LANES]; /* host address of the bytes; of a write: not written yet */
    const uint8_t *value[SIM_LANES];  /* of a write alone: what will be written; NULL: not known */
};

/* Asynchronous copies (cp.async): issued, committed to a group, landed (read and written then: two
 * accesses with `group`, made in the name of the thread that issued it), waited for. */
enum sim_async { SIM_ASYNC_ISSUE, SIM_ASYNC_COMMIT, SIM_ASYNC_LAND, SIM_ASYNC_WAIT };

enum sim_sync {
    /* Lanes of mask arrive at barrier `id` (bar.arrive, and the first half of bar.sync); told
     * before the machine looks whether id and count can be, and stops if not. */
    SIM_BARRIER_ARRIVE,
    SIM_BARRIER_LEAVE, /* lanes of mask go on behind it */
    /* bar.warp.sync, shfl.sync …: `members` are in step; only bar.warp.sync orders memory. */
    SIM_WARP_SYNC,
    SIM_FENCE,       /* fence, membar: order, scope */
    SIM_PROXY_FENCE, /* fence.proxy.async */
    /* Of mbarriers: the lanes of a mask are at the same one. */
    SIM_MBARRIER_INIT,   /* `count`: arrivals of a phase; told lane by lane, before it is done */
    SIM_MBARRIER_ARRIVE, /* address, order, scope; each lane's count in `count` */
    SIM_MBARRIER_BYTES,  /* expect_tx, complete_tx: `count` more, or less below 0 */
    SIM_MBARRIER_PHASE,  /* behind these: the phase is complete */
    SIM_MBARRIER_WAIT,   /* a test or try_wait that succeeded */
    SIM_MBARRIER_FAILED, /* one that did not; pending, bytes */
    SIM_MBARRIER_INVAL,
    SIM_MBARRIER_NONE,   /* an operation where there is none: the machine stops then */
    SIM_MBARRIER_BROKEN, /* one against the rules, `why`: it stops too */
    SIM_EXIT             /* lanes of mask have left */
};

struct sim_sync_event {
    struct sim_place at;
    enum sim_sync kind;
    uint32_t mask;    /* lanes that do this */
    uint32_t members; /* SIM_WARP_SYNC: the mask operand */
    /* SIM_BARRIER_ARRIVE, aligned: lanes of the warp that go past the barrier, and where some are */
    uint32_t skipping;
    struct sim_place skipping_at;
    int id;                /* of a barrier, 0 to 15 */
    int expected;          /* threads of a barrier, -1: all of the block */
    int64_t generation;    /* how often the barrier was complete before */
    bool aligned, reduces; /* .aligned; bar.red */
    bool waits;  /* SIM_BARRIER_ARRIVE: not bar.arrive, the lanes stay until it is complete */
    bool orders; /* SIM_WARP_SYNC: bar.warp.sync, which orders memory; shfl.sync … do not */
    /* SIM_WARP_SYNC of lanes that are not in the mask that they give: who reports that sets it, and
     * the machine goes on as if they were; else it stops. NULL: of other lanes. */
    bool *reported;
    enum sim_order order;
    enum sim_scope scope;
    uint64_t address[SIM_LANES]; /* of mbarriers: offset in shared memory */
    int64_t count;
    int64_t pending, bytes; /* SIM_MBARRIER_FAILED: arrivals, bytes still to come in the phase */
    const char *why;        /* SIM_MBARRIER_BROKEN */
};

struct sim_async_event {
    struct sim_place at;
    enum sim_async kind;
    uint32_t mask;
    uint32_t group;       /* ISSUE, LAND: the copy; COMMIT: unused */
    const uint8_t *bytes; /* ISSUE: by lane, how many the copy reads; NULL: not known */
    int pending;          /* WAIT: groups that may be pending */
    bool all;             /* WAIT: cp.async.wait_all */
};

/* What a fault of memory is, before the machine stops or, with `go_on`, treats it as reading 0 and
 * writing nothing. */
enum sim_fault_kind {
    SIM_OUTSIDE,
    SIM_MISALIGNED,
    SIM_READ_ONLY,
    SIM_TRAP,
    SIM_NO_ADDRESS,
    SIM_NOT_ASSUMED, /* an `assume` that is false */
    SIM_NOT_INSIDE   /* a slice marked `inside` that is not */
};
/* The program itself says that it goes no further. */
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
    /* The nearest allocation or variable: name, its size, the offset from its start (may be
     * negative). */
    const char *name;
    uint64_t size;
    int64_t offset;
    bool freed; /* by the program: free() */
    /* SIM_TRAP, SIM_NOT_…: what the program says; SIM_NO_ADDRESS: what is no address, of what. It lives until
     * the observer returns. */
    const char *why;
};

/* Memory that a launch can see, variables of the block's shared memory (address: offset), and the
 * kernel's parameters that are not wholly written (address: offset among the parameters): told before
 * the launch, each launch anew; what is new since or changed by the host has `initialised`
 * as it now is. */
struct sim_allocation_event {
    enum sim_space space;
    uint64_t address, bytes;
    const char *name; /* NULL: none */
    /* At least once written by the host, or by definition (variables of a module). */
    bool initialised;
    uint64_t written; /* if not: the bytes at its start that are */
    /* SIM_PARAM: a flag for each byte, not 0 if nothing wrote it. */
    const unsigned char *missing;
    /* Its elements may be structs, whose padding the program copies and never writes. Else they are
     * values. */
    bool structs;
};

struct sim_block_event {
    int64_t block;
    int warps, threads;
    int64_t shared_bytes;
    int64_t reserved_shared; /* the first of them, which the system wrote and uses as it likes */
    int64_t warp_steps;      /* when it ends: instructions of the warp that ran the most */
};

/* When nobody can go on: lanes that wait together. */
enum sim_wait_for {
    SIM_FOR_NOTHING,
    SIM_FOR_BARRIER,
    SIM_FOR_LANES,
    SIM_FOR_MBARRIER,
    SIM_FOR_MEMORY
};
struct sim_wait {
    enum sim_wait_for what;
    struct sim_place at; /* of mbarriers and memory: where it is read */
    uint32_t mask;
    /* Of these: what lane `lane` reads; bytes 0: no integer, or not known, so without `value`. */
    int lane, bytes;
    enum sim_space space;
    uint64_t address, value;
};
struct sim_standstill {
    const char *why; /* all of it as text */
    const struct sim_wait *waits;
    size_t wait_count;
    int64_t begun, blocks; /* of the blocks of the launch */
    int resident;          /* of those that have begun, so many have not ended */
};

/* An instruction that a warp is about to execute. */
struct sim_step {
    struct sim_place at;
    uint32_t lanes;              /* that are here */
    uint32_t mask;               /* of these, the lanes that its guard lets through: may be 0 */
    const struct sim_warp *warp; /* for sim_register_lanes */
};
/* Returns the 32 lanes of a register of the step's function as they are before the step, and sets
 * *bytes to a lane's bytes; 0: a predicate, one word with a bit for each lane. */
const void *sim_register_lanes(const struct sim_step *step, uint32_t reg, int *bytes);

/* Anything may be NULL. A callback that returns false ends the launch (SIM_ASKED). */
struct sim_observer {
    void *user;
    /* `access`, `sync`, `async` and `step` hear of this block alone, if it is not negative; NULL: of
     * all blocks. It stays as it is from `launch` on. */
    const int64_t *only;
    bool (*launch)(void *user, const struct ptx_function *kernel, const unsigned grid[3],
                   const unsigned block[3]);
    bool (*block_begins)(void *user, const struct sim_block_event *event);
    bool (*block_ends)(void *user, const struct sim_block_event *event);
    bool (*step)(void *user, const struct sim_step *step); /* each instruction of a warp: slow */
    bool (*access)(void *user, const struct sim_access *access);
    bool (*sync)(void *user, const struct sim_sync_event *event);
    bool (*async)(void *user, const struct sim_async_event *event);
    bool (*allocated)(void *user, const struct sim_allocation_event *event);
    bool (*used)(void *user, const struct sim_use *use);
    bool (*fault)(void *user, const struct sim_fault *fault, bool *go_on);
    /* When a launch has ended, for each instruction: how often a warp came to it, and lanes of all
     * these together. */
    void (*executed)(void *user, const struct sim_place *at, int64_t warps, int64_t lanes);
    bool (*ended)(void *user);
    struct sim_observer *next;
};

#endif
