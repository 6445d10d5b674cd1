/* The machine itself: declarations that only the core's files use. Families use sim_own.h alone. */
#ifndef TW_SIM_MACHINE_H
#define TW_SIM_MACHINE_H

#include "base/text.h"
#include "sim/sim_own.h"
#include "target/targets.h"

/* --- memory --- */

struct sim_allocation {
    uint8_t *host;
    uint64_t size;
    const char *name;
    bool owned; /* freed with the machine */
    bool constant;
    bool initialised; /* written by the host, or a variable */
    size_t written;   /* if not initialised: the number of written bytes at its start */
    bool structs;     /* as in struct sim_allocation_event */
    bool freed;       /* by the program: free() */
    bool told;        /* the observers know all of this */
    const struct ptx_variable *variable;
    const struct sim_pages *pages; /* NULL: all of it has memory */
};

/* Returns the number of bytes from its start on that an access may reach without a look at pages. */
static inline uint64_t sim_reach_of(const struct sim_allocation *a)
{
    return a->pages ? a->pages->open : a->size;
}

static inline uint64_t sim_address_of(uint64_t number, uint64_t offset)
{
    return (number << SIM_OFFSET_BITS) + offset;
}
static inline uint64_t sim_number_of(uint64_t address)
{
    return address >> SIM_OFFSET_BITS;
}
static inline uint64_t sim_offset_of(uint64_t address)
{
    return address & ((UINT64_C(1) << SIM_OFFSET_BITS) - 1);
}
/* Makes an allocation of `bytes` zero bytes that count as uninitialised. Returns its number; 0:
 * out of memory. */
uint64_t sim_new_allocation(struct sim *sim, uint64_t bytes, const char *name);

/* --- code --- */

/* A parameter or result of a function. */
struct sim_parameter {
    const struct ptx_variable *variable;
    uint32_t bytes;
    uint32_t at;    /* offset in the frame's local memory; for a kernel: in the parameters */
    uint32_t slot;  /* in a register: its slot; otherwise SIM_NO_SLOT */
    int lane_bytes; /* of the register; 0: predicate */
};

/* A register that a frame fills when it begins. */
struct sim_fill {
    uint16_t special; /* enum ptx_special; SIM_FILL_LOCAL: address of the frame's local memory */
    uint8_t bytes;
    uint32_t slot;
    uint32_t offset; /* SIM_FILL_LOCAL: offset in the frame's local memory */
};
enum { SIM_FILL_LOCAL = 0xffff };

/* How often warps, and their lanes, reached an op, as the difference from the op before. So
 * running a row of ops costs two additions. */
struct sim_executed {
    int64_t warps, lanes;
};

struct sim_code {
    const struct ptx_function *function;
    struct sim_op *ops;
    uint32_t count;
    /* The file: bytes [0, zeros) start as 0; the constants follow. */
    uint32_t zeros, file_bytes;
    uint8_t *constants;
    struct sim_fill *fills;
    size_t fill_count;
    struct sim_parameter *parameters, *results;
    size_t parameter_count, result_count;
    uint32_t local_bytes;
    const char *refused;           /* the reason why it cannot run; NULL: it can */
    struct sim_frame *unused;      /* frames to use again */
    struct sim_executed *executed; /* while a launch is counted: count + 2 entries */
    const uint32_t *registers;     /* slots */
    uint32_t carry;                /* its slot, or SIM_NO_SLOT */
    struct sim_flow **flows;       /* sim_undefined.c, by op; NULL until first needed */
    const struct search *ways;     /* sim_skip.c; NULL until first needed */
    struct sim_held_code *held;    /* sim_held.c; NULL: no products of warpgroups */
    struct sim_code *next;
};

/* The system's part of a block's shared memory, since sm_80, is before the program's. An H100
 * (driver 575) has %reserved_smem_offset_begin, _0 and _1 at 0, _end 288, _cap 1024, all zeros,
 * and the program's first variable at 1024. If no special register of the program names that
 * part, its shared memory begins at 0, so an access before it is a fault. */
enum { SIM_RESERVED_END = 288, SIM_RESERVED_BYTES = 1024 };

/* A kernel and everything that it reaches, laid out. */
struct sim_program {
    const struct ptx_function *kernel;
    VEC(struct sim_shared {
        const struct ptx_variable *variable;
        uint64_t offset;
    })
    shared;
    struct number_map shared_at; /* of a variable: its offset */
    uint64_t reserved_shared;    /* bytes of the system's part, for a program that asks for it */
    uint64_t static_shared;      /* bytes; the dynamic ones begin at dynamic_at */
    uint64_t dynamic_at;
    uint64_t parameter_bytes;
    /* The functions that it reaches. These were verified; no others may run, whatever a function
     * pointer holds. */
    struct number_map reached;
    const struct ptx_variable *elsewhere; /* a reached variable of another module; NULL: none */
    struct sim_code *codes, *kernel_code;
    struct number_map code_of; /* of a function: the address of its struct sim_code */
    int target;
    struct sim_program *next;
};

enum { SIM_MOST_REGISTER = 16 }; /* bytes of a lane */

/* The state of predecoding a function. The file has the registers first; constants, scratch
 * registers and fills follow in the order of requests, with their initial content in `image`. */
struct sim_decoder {
    struct sim *sim;
    const struct ptx_function *function;
    struct sim_code *code;
    uint32_t *registers; /* slots */
    uint32_t *op_at;     /* by statement: the op that it becomes */
    uint32_t end;        /* of the file so far */
    bool full;           /* the file is full: further entries are at 0 */
    VEC(uint8_t) image;
    struct number_map constants[SIM_MOST_REGISTER + 1]; /* by bytes: of a value, its slot */
    VEC(struct sim_fill) fills;
    struct number_map fill_slots; /* of a fill's fields: its slot */
    /* The offset of a variable in the frame's local memory, and of a kernel's parameter in the
     * parameters. */
    struct number_map locals, entry_parameters;
    uint64_t local_bytes;
    uint32_t carry;
    int target;
};
bool sim_local_offset(const struct sim_decoder *d, const struct ptx_variable *v, uint32_t *offset);
uint32_t sim_op_of_label(const struct sim_decoder *d, const struct ptx_label *label);
/* Assigns slots to the function's registers; makes room for its local variables and parameters. */
void sim_place_registers(struct sim_decoder *d);
void sim_place_locals(struct sim_decoder *d);

/* Returns a function's code; NULL: the function has no body. */
struct sim_code *sim_code_of(struct sim *sim, const struct ptx_function *f);
struct sim_program *sim_program_of(struct sim *sim, const struct ptx_function *kernel, int target);
/* Return whether the variable is in shared memory; whether another module defines it. */
static inline bool sim_is_shared(const struct ptx_variable *v)
{
    return v->space == MOD_SHARED || v->space == MOD_SHARED_CTA || v->space == MOD_SHARED_CLUSTER;
}
static inline bool sim_is_elsewhere(const struct ptx_variable *v)
{
    return (v->space == MOD_GLOBAL || v->space == MOD_CONST) &&
           (v->linkage == PTX_EXTERN || !ptx_variable_size(v));
}
/* Returns the bytes of the parameters, and puts the offset of each into `at`, which may be NULL. */
uint64_t sim_layout(const struct ptx_signature *signature, uint32_t *at);
/* Gives the address of a variable in its space, or the generic address. Returns false if it has
 * none in this program. */
bool sim_locate(struct sim *sim, const struct ptx_variable *v, bool generic, uint64_t *address);
uint64_t sim_function_address(struct sim *sim, const struct ptx_function *f);
const struct ptx_function *sim_function_at(const struct sim *sim, uint64_t address);

/* --- running --- */

struct sim_frame {
    uint8_t *file;
    struct sim_code *code;
    struct sim_frame *parent;
    const struct sim_op *call; /* in the parent's code */
    uint32_t lanes;            /* lanes inside, on any path */
    uint32_t depth;
    uint32_t local_base;
    struct sim_shadow *shadow; /* sim_undefined.c; NULL: all values have been defined so far */
    struct sim_frame *next;    /* in the list of a warp's frames, or of the unused ones */
    bool stacked; /* alloca has moved ends of the stack: they are in `top`, lane by lane */
    uint32_t top[SIM_LANES];
};
/* Returns the end of a lane's stack, as an offset in its local memory; sim_stack_top: the
 * greatest of all lanes. */
static inline uint32_t sim_stack_top_of(const struct sim_frame *f, int lane)
{
    return f->stacked ? f->top[lane] : f->local_base + f->code->local_bytes;
}
uint32_t sim_stack_top(const struct sim_frame *frame);

struct sim_barrier {
    int64_t generation;
    int expected;      /* threads; -1: all; 0: no thread has arrived */
    int count;         /* threads; a full warp counts as 32 */
    uint32_t *arrived; /* by warp: lanes */
    int reduces;       /* 0, MOD_POPC, MOD_AND, MOD_OR */
    uint32_t sum;
    bool all, any;
    const struct sim_op *op; /* of the first thread that arrived */
};

/* The heap of a GPU has 8 MB unless the host sets another size (CUDA C++ Programming Guide, "Heap
 * Memory Allocation"). */
enum { SIM_HEAP = 8 << 20 };

enum { SIM_MOST_CLUSTER = 16 };
struct sim_cluster {
    int64_t number;                            /* in the grid */
    int count, phase;                          /* of its barrier */
    struct sim_block *block[SIM_MOST_CLUSTER]; /* by rank; NULL: it has ended */
    struct sim_cluster *next;                  /* unused, too: all of its blocks have ended */
};

struct sim_block {
    int64_t number;
    int rank; /* in its cluster */
    struct sim_cluster *cluster;
    uint32_t id[3];
    int warp_count, threads, alive; /* warps alive */
    struct sim_warp *warps;
    uint8_t *shared;
    int registers_left;               /* a thread, that no warp has now (sim_registers.c) */
    struct sim_bulks *bulks;          /* copies of its threads under way; NULL: none so far */
    struct sim_warpgroup *warpgroups; /* by number; NULL: no products so far */
    struct sim_barrier barriers[16];
    /* sim_later.c: nothing has written its shared memory since the last barrier of all its threads;
     * copies and other blocks may write it at any time. */
    bool unwritten, written_later;
    bool unheard; /* no observer hears of it; not set if these hear of different blocks */
    /* By space: 1 + the value of `notifications` at which no observer needed accesses at once. */
    uint64_t needless[SIM_PARAM + 1];
    bool unwatched; /* struct sim_options, watch_steps; or unchosen */
    bool unchosen;  /* it runs because another block of its cluster was chosen */
    struct sim_block *next;
};

/* Returns true if an observer hears of this warp's block. */
static inline bool sim_hears(const struct sim_observer *o, const struct sim_warp *w)
{
    return !w->block->unwatched && (!o->only || *o->only < 0 || *o->only == w->block->number);
}

/* The observers that have a given hook: those that may hear later, and the others. */
struct sim_listeners {
    VEC(struct sim_observer *) later, now;
};

struct sim {
    struct arena *arena;
    VEC(struct sim_allocation) allocations; /* the first SIM_FIRST_ALLOCATION are empty, */
    size_t skipped, skipped_end;            /* and these, of sim_skip */
    struct sim_observer *observers;
    struct sim_later *later; /* NULL: all observers hear of events at once */
    bool hears_later;        /* the second thread runs */
    struct sim_listeners on_access, on_sync, on_async; /* of the current launch */
    const struct ptx_module *module;
    const struct source *source;
    VEC(const struct ptx_function *)
    functions;                          /* called, or their address was taken */
    struct number_map function_numbers; /* their indices in `functions` */
    VEC(uint64_t) variables;            /* the allocations of global and constant variables */
    struct number_map variable_numbers; /* of a variable: its allocation */
    size_t filled;                      /* number of `variables` with their initial values */
    struct sim_program *programs;

    /* of a launch */
    struct sim_program *program;
    const struct sim_launch *launch;
    uint8_t *parameters; /* of the kernel */
    uint64_t shared_bytes;
    unsigned cluster[3];
    struct sim_cluster *joining; /* of the block that began last */
    struct sim_cluster *unused_clusters;
    int64_t blocks, next_block; /* number that run, all or chosen; the next to begin */
    struct sim_block *resident; /* in the order of their numbers */
    int resident_count;
    struct sim_block *unused_blocks;
    unsigned unused_shape[3]; /* the shape and shared bytes that the unused blocks fit */
    uint64_t unused_shared;
    enum sim_end end;
    bool over;
    const char *why;
    struct sim_place stopped_at; /* step limit, SIM_STOPPED: the place; .ins NULL: not known */
    struct sim_standstill *standstill;
    int64_t steps, step_limit;
    uint64_t random;
    uint64_t changes;       /* changes of memory or barriers: anything that a poll may wait for */
    uint32_t copies;        /* asynchronous copies so far; the next one's number */
    uint64_t stack_bytes;   /* host bytes for calls and their local memory */
    bool counted;           /* an observer wants to know how often instructions were executed */
    bool alike;             /* all observers hear of the same blocks */
    uint64_t notifications; /* of accesses and synchronisation, to observers that hear at once */
    bool told; /* an observer wants to hear of each one; then a slice may end after any */
    bool late;
    int64_t land_after;                  /* of late copies: struct sim_options, async_after */
    bool traces;                         /* an observer wants to hear of uses of undefined values */
    struct sim_undefined loaded, stored; /* by the current instruction */
    int64_t slice_end;                   /* value of `steps` at the end of the slice */
    int64_t waits_ended;
    int64_t unwatched; /* blocks */
    int64_t asked_at;  /* value of `steps` at the next call of `cancelled` */
    uint64_t turns;    /* of paths */
    struct text output;
    /* Bytes for the program's malloc: the limit; those in use; those in use or freed in this launch. */
    uint64_t heap, heap_used, heap_bytes;
    uint8_t nowhere[256]; /* memory for accesses whose fault an observer let pass */
};

/* xorshift64*; the seed is never 0 */
static inline uint32_t sim_random(struct sim *sim, uint32_t below)
{
    uint64_t x = sim->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    sim->random = x;
    return (uint32_t)(((x * UINT64_C(0x2545F4914F6CDD1D)) >> 32) * below >> 32);
}

/* sim_paths.c */
/* Moves `mask` from the current path to a path of its own, at `to`; the other lanes go to
 * `rest`. */
void sim_split_to(struct sim_warp *w, const struct sim_op *rest, uint32_t mask,
                  const struct sim_op *to);
/* Makes the lanes of mask wait at op, until their path's `wait` is SIM_WAIT_NOTHING again. Returns
 * false. */
bool sim_wait_here(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                   enum sim_pending what);
/* sim_warp.c */
/* Tells observers how often ops were executed, and clears the counts. */
void sim_notify_executed(struct sim *sim);
/* Begins a warp: one path at the kernel's start. */
void sim_warp_begin(struct sim_warp *w, struct sim_code *code);
void sim_warp_end(struct sim_warp *w);
enum sim_pause {
    SIM_PAUSE_NONE,
    SIM_PAUSE_SLICE,   /* it ran long enough */
    SIM_PAUSE_POLLS,   /* it waits in a loop */
    SIM_PAUSE_BLOCKED, /* no path can go on */
    SIM_PAUSE_DONE     /* all lanes have exited, or the launch is over */
};
enum sim_pause sim_warp_run(struct sim_warp *w);
bool sim_warp_can_run(const struct sim_warp *w);
/* Exits the lanes of the path's mask. */
bool sim_leave(struct sim_warp *w, const struct sim_op *op, uint32_t mask);
struct sim_frame *sim_frame_new(struct sim_warp *w, struct sim_code *code, struct sim_frame *parent,
                                const struct sim_op *call);
/* Makes room for `bytes` of local memory in each lane, at most GPU_LOCAL_BYTES. */
void sim_local_room(struct sim_warp *w, size_t bytes);
void sim_frame_release(struct sim_warp *w, struct sim_frame *frame);
/* Returns the host address of a lane's local memory. */
static inline uint8_t *sim_local(const struct sim_warp *w, int lane, uint64_t offset)
{
    return w->local + (size_t)lane * w->local_stride + offset;
}

/* sim_undefined.c: called before an instruction of a warp with undefined values, for the lanes
 * of mask. Tells observers of its uses and marks its results. Returns false if an observer asks
 * to stop. */
bool sim_undefined_before(struct sim_warp *w, const struct sim_op *op, uint32_t mask);
/* Frees a frame's shadow. */
void sim_undefined_forget(struct sim_warp *w, struct sim_frame *frame);
/* sim_skip.c: returns the lanes that skip this aligned barrier: they are elsewhere, and will
 * meet the barrier's lanes after it without having executed it. Sets *where to the place of some
 * of them. */
uint32_t sim_skipping(const struct sim_warp *w, const struct sim_op *barrier,
                      struct sim_place *where);
/* sim_barrier.c: completes barriers after lanes of a warp have exited. */
void sim_barriers_after_exit(struct sim_warp *w);
/* sim_standstill.c: ends the launch because no thread can go on; notes which waits for what. */
void sim_deadlock(struct sim *sim, const char *what);
/* Rounds in which nothing changed. */
struct sim_idle {
    uint64_t changes; /* before the round */
    int rounds;       /* so far */
    int next;         /* the round whose state is kept */
    uint64_t state;
};
/* Called after a round in which every warp had a slice: finds out whether anything can go on. */
void sim_idle_round(struct sim *sim, struct sim_idle *idle);

/* sim_async.c */
bool sim_copies_leave(struct sim_warp *w, uint32_t mask); /* lands those under way */
bool sim_copies_land_due(struct sim_warp *w);             /* lands those due by land_after */
bool sim_copies_land_all(struct sim_warp *w);             /* returns true if any landed */
void sim_copies_forget(struct sim_warp *w);               /* drops copies of an earlier launch */

/* sim_bulk.c, as above for the bulk copies of a block */
bool sim_bulks_land_due(struct sim_block *b);
bool sim_bulks_land_all(struct sim_block *b);
/* Lands one bulk copy of the running blocks: the oldest, with a seed any. Returns false if none is
 * under way. */
bool sim_bulks_land_one(struct sim *sim);
/* Lands the copies of b's threads to the shared memory of another block. */
void sim_bulks_land_at(struct sim_block *b, const struct sim_block *to);
void sim_bulks_forget(struct sim_block *b);

/* sim_wgmma.c: called when all lanes of a warp have left, and when a block begins. */
bool sim_products_leave(struct sim_warp *w, const struct sim_op *op);
void sim_products_forget(struct sim_block *b);

/* sim_registers.c: gives the warps their registers at the launch. */
void sim_registers_begin(struct sim_block *b, const struct ptx_function *kernel);
/* Prints that a warp waits for registers. */
void sim_describe_registers(struct text *out, const struct sim_warp *w, const struct sim_op *op);

/* An address in shared memory may have, from bit SIM_RANK_AT on, 1 + the rank of a
 * block of the cluster; 0 there is the thread's own block. */
enum { SIM_RANK_AT = 24 };
/* Returns the block with a rank in the cluster of b; NULL: there is none, or it has ended. */
static inline struct sim_block *sim_cluster_block(struct sim_block *b, uint32_t rank)
{
    return rank < (uint32_t)b->cluster->count ? b->cluster->block[rank] : NULL;
}
#define SIM_NO_PEER "the cluster has no block %d: its last one is %d"
#define SIM_PEER_ENDED "block %d of the cluster has ended, and this uses its memory"
/* Returns the block whose shared memory an address names, generic or not; NULL: there is none. */
static inline struct sim_block *sim_shared_block(const struct sim_warp *w, uint64_t address)
{
    uint64_t rank = sim_offset_of(address) >> SIM_RANK_AT;
    if (!rank)
        return w->block;
    return w->block->cluster->count > 1 ? sim_cluster_block(w->block, (uint32_t)rank - 1) : NULL;
}
/* sim_cluster.c */
/* Handles mapa and getctarank. op->small: generic addresses; op->slot[2]: the rank, SIM_NO_SLOT
 * for getctarank. */
sim_handler sim_in_cluster;
/* Takes the launch's cluster size, or that of the kernel. */
bool sim_cluster_suits(struct sim *sim, const struct sim_launch *l, struct diag *diag);
/* Returns the number of blocks of a cluster. */
int sim_cluster_blocks(const struct sim *sim);
/* Returns the number of the cluster that has the block of that number. */
int64_t sim_cluster_of(const struct sim *sim, int64_t block);
/* Sets rank, id and number of the n-th block that begins. */
void sim_cluster_place(const struct sim *sim, int64_t n, struct sim_block *b);
/* Lets it join its cluster; leave it, after copies to its memory have landed. */
void sim_cluster_join(struct sim *sim, int64_t n, struct sim_block *b);
void sim_cluster_leave(struct sim *sim, struct sim_block *b);
/* Completes the cluster's barrier after lanes of a warp have exited. */
void sim_cluster_after_exit(struct sim_warp *w);
uint32_t sim_cluster_special(const struct sim_warp *w, unsigned special);

/* sim_notify.c */
/* Returns true if an observer that hears at once needs accesses to this space. */
bool sim_needs(struct sim_warp *w, enum sim_space space);
/* Tell observers that may hear later, and the others. */
void sim_notify_access_later(struct sim_warp *w, const struct sim_access *access);
bool sim_notify_access_now(struct sim_warp *w, const struct sim_access *access);

/* sim_memory.c */
/* Returns the host address of `bytes` bytes at an address, generic or in a space; NULL: a fault. */
uint8_t *sim_resolve(struct sim_warp *w, int lane, uint8_t window, uint64_t address, uint64_t bytes,
                     enum sim_space *space, uint64_t *told);
/* Returns the '\0'-terminated text at a generic address; NULL: none. */
const char *sim_text_at(struct sim_warp *w, int lane, uint64_t address);

/* An item of a call's lists: a register, a constant, or memory of the frame. */
struct sim_passed {
    uint32_t slot; /* SIM_NO_SLOT: memory */
    int lane_bytes;
    uint32_t at, bytes;
};
struct sim_call {
    const struct ptx_function *function; /* NULL: the address is in op->slot[0] */
    sim_handler *builtin;                /* handler of a function that the machine provides */
    struct sim_passed *arguments, *results;
    size_t argument_count, result_count;
};

/* sim_passed.c */
bool sim_decode_passed(struct sim_decoder *d, const struct ptx_operand *o, struct sim_passed **list,
                       size_t *count);
void sim_read_passed(const struct sim_warp *w, const struct sim_frame *frame,
                     const struct sim_passed *p, int lane, uint8_t *bytes, size_t count);
void sim_write_passed(const struct sim_warp *w, const struct sim_frame *frame,
                      const struct sim_passed *p, int lane, const uint8_t *bytes, size_t count);
/* Return the n-th argument of a call (op->data) for a lane, and set the lane's result. */
uint64_t sim_argument(const struct sim_warp *w, const struct sim_op *op, size_t n, int lane);
void sim_give_result(struct sim_warp *w, const struct sim_op *op, int lane, uint64_t value);
size_t sim_argument_count(const struct sim_op *op);

/* sim_call.c */
sim_choose sim_choose_call;
sim_handler sim_return;
/* sim_builtin.c: returns the handler of a function that the machine provides: vprintf, malloc,
 * free, __assertfail. NULL: not one of them. */
sim_handler *sim_builtin(const char *name);

/* sim_schedule.c: runs all blocks of the grid. */
void sim_run_blocks(struct sim *sim);

/* sim_later.c */
/* Tells the observers whose `later` is as given. */
bool sim_notify_block(const struct sim *sim, const struct sim_block_event *event, bool begins,
                      bool later);
/* Starts the second thread if the launch has run for long. */
void sim_later_begin(struct sim *sim);
/* A whole warp's access, as in a sparse event. */
struct sim_row {
    enum sim_space space;
    bool strided;
    uint64_t first;
    int64_t apart;
    const uint8_t *host, *values; /* values NULL: a read */
};
/* Send an event to the second thread, which runs. The first one returns false if the access does not
 * fit into a row; then sim_later_access sends it. */
bool sim_later_row(struct sim_warp *w, const struct sim_op *op, const struct sim_row *row);
void sim_later_access(struct sim_warp *w, const struct sim_access *access);
void sim_later_sync(struct sim_warp *w, const struct sim_sync_event *event);
void sim_later_async(struct sim_warp *w, const struct sim_async_event *event);
void sim_later_block(struct sim *sim, const struct sim_block_event *event, bool begins);

/* Ends the launch. */
void sim_over(struct sim *sim, enum sim_end end, const char *why);
/* Prints "file:line:col, block 0, warp 5" of an op, for messages. */
void sim_describe(struct text *out, const struct sim_warp *w, const struct sim_op *op);
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
bool sim_trap(struct sim_warp *w, const struct sim_op *op, int lane, const char *format, ...);
/* Ends the launch for another reason that the program itself gives. */
bool sim_end_by_program(struct sim_warp *w, const struct sim_op *op, int lane,
                        enum sim_fault_kind kind, const char *why);
/* Completes a memory fault with its place and the nearest memory, and tells observers. Returns
 * true if the launch goes on. */
bool sim_fault_at(struct sim_warp *w, const struct sim_op *op, struct sim_fault *fault);
/* Does the same for an impossible address that an instruction makes or takes. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
bool sim_no_address(struct sim_warp *w, const struct sim_op *op, int lane, const char *format, ...);

#endif
