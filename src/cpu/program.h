/* The inside of the engine: a kernel as a flat program, and a block's state as a frame.
 *
 * Values. A frame has one memory. Each value (scalar, register tile, per-thread array, mask) is at
 * a fixed offset in it, as [element][lane]: a uniform value has one lane, a varying one has as many
 * as the block has threads. So a varying scalar is a row of lanes, and code for threads is the same
 * loops as code for tiles.
 *
 * Program. An array of instructions, each a step function with its operands' offsets; jumps set the
 * frame's program counter. A step works on a whole value by routines (routines.h) that were chosen
 * when the program was compiled.
 *
 * Masks. Under varying control flow some lanes rest. The offset of the mask for each place in the
 * code is known at compile time. A mask is a header and one byte for each lane, and steps that have
 * an effect name their mask (NO_SLOT: all lanes run). Pure steps compute resting lanes too, and
 * their results are not used.
 *
 * Short cuts. Everything has a plain way, lane by lane and element by element. If more is known,
 * a short cut computes the same: affine indices as strides (compile_known.c, exec_strided.c),
 * masks as rectangles (compile_mask.c), loops of products as products (compile_product.c),
 * operands of `dot` packed (packed.h), loops unrolled, variables assigned in place under the
 * mask of their declaration. A program can be compiled without them, and tests compare the two. */
#ifndef TW_PROGRAM_H
#define TW_PROGRAM_H

#include "cpu/details.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#define NO_SLOT UINT32_MAX

enum {
    SLOT_ALIGNMENT = 64,
    MASK_HEADER = 16, /* bytes before a mask's lanes: a struct mask_header */
    CHUNK = 256       /* elements converted or spread at a time */
};

/* The lanes [y][x] with low ≤ x, y < high: all those that run, if they form a rectangle. */
struct lane_box {
    uint16_t low[2], high[2]; /* x, y; high[0] == 0: they do not form one */
};
struct mask_header {
    int64_t running; /* number of lanes that run */
    struct lane_box box;
};

struct frame;
struct frame_profile;
struct instr;
struct strip_detail;
typedef void step_fn(struct frame *f, const struct instr *in);

struct instr {
    step_fn *step;
    const void *detail;     /* the step's own struct (details.h), or NULL */
    elementwise_fn *kernel; /* for step_flat and step_rows */
    uint32_t dst, a, b, c;  /* offsets of values */
    uint32_t n;             /* elements; lanes; the target of a jump */
    uint32_t mask;          /* NO_SLOT: all lanes run */
    struct loc loc;
};

/* --- the program --- */

struct scalar_slot {
    uint32_t at;
    enum dtype dtype;
};

/* The text of a part of an extent or of the grid, for messages. Only parts have one whose text in
 * the source is not one short line. */
struct size_text {
    const struct expr *e;
    const char *text;
};

struct cpu_program {
    const struct kernel *kernel;
    /* The same kernel with joined blocks (NULL: none), each made of joins[i] blocks of the first
     * program along axis i (0: 1; ONE_BLOCK: tile/passes.h). It may name another one, which is the next choice. */
    const struct cpu_program *joined;
    int64_t joins[3];
    const struct routine_set *set;
    const struct instr *code;
    size_t count;
    uint32_t lanes;      /* threads at thread level, else 1 */
    uint32_t cluster_at; /* four i32: the cluster's place in the grid, the block's rank in it */
    size_t frame_bytes;
    const unsigned char *image; /* the start of every frame: constants, thread indices */
    size_t image_bytes;
    struct scalar_slot *params; /* by parameter; NO_SLOT: unused or a pointer */
    uint32_t block_at, grid_at; /* three i32 each */
    uint32_t shared_at;
    uint32_t scratch_at; /* by lane: offsets (8 bytes), a row of elements (8), validity (1) */
    const struct sym **views;
    int view_count;
    uint32_t lane_at[3]; /* i32, by lane: places along the axes */
    /* Lanes along x, y, z. They are the block's threads; if the kernel divides thread.x by n in
     * a block with one axis, x is thread.x % n and y is thread.x / n. */
    uint32_t threads[3];
    const struct strided *strided;
    uint32_t strided_count;
    const struct access *const *rows; /* accesses to rows of views that are read or written in
                                       * place */
    uint32_t row_count;
    struct strip_detail *const *row_chains; /* chains over one row */
    uint32_t row_chain_count;
    size_t row_blocks_at, row_blocks_bytes; /* row_blocks.c; 0 bytes: the program cannot use it */
    const struct lane_product **products;
    uint32_t product_count;
    const struct packed_plan *packed; /* caches of packed tiles */
    uint32_t packed_count;
    uint32_t packed_at, packed_states; /* struct packed_state, by stage of packed tiles */
    uint32_t own_left_at;              /* memory for a left operand that a product packs on its
                                         * way, for its own block */
    bool serial;                       /* results depend on the order of blocks: run them on one
                                         * worker */
    bool streams; /* stores may bypass the caches, because blocks do not wait for each other */
    uint32_t row_prefetch_count;
    const struct roles_detail *roles; /* NULL: the kernel has no roles and no mbarriers */
    bool has_locks;
    bool shares;     /* some dot_detail does */
    bool by_columns; /* order of turns (struct launch_state): blocks along y follow each other,
                     * not along x */
    const struct cpu_slow_path *slow;
    size_t slow_count;
    struct launch_sizes sizes; /* of the kernel and of `views` */
    const struct size_text *size_texts;
    uint32_t size_text_count;
};

/* Compiles like cpu_compile, with the caller's choice of routines. `plain`: without the short
 * cuts (affine indices, unrolled loops and others), which compute the same as the plain way,
 * faster. */
struct cpu_program *cpu_compile_with(struct arena *a, const struct kernel *k,
                                     const struct routine_set *set, bool plain, const char **why);

/* Adds a program of the kernel with joined blocks, so that launches may choose it, unless they choose
 * one that was added before. If it cannot be compiled, the program stays as it is. */
void cpu_add_joined(struct arena *a, struct cpu_program *p, const struct kernel *joined,
                    const int64_t joins[3]);

/* --- a launch --- */

struct view_binding {
    unsigned char *base;
    const unsigned char *first, *end;           /* range of memory of its elements */
    int64_t extent[MAX_RANK], stride[MAX_RANK]; /* elements */
    bool narrow;                                /* every offset fits 32 bits */
    bool large;                                 /* larger than the caches next to a core */
    bool is_overlaid; /* it shares memory with a view that is not const, so it may be written
                       * although it is const */
};

struct launch_state {
    const struct cpu_program *program;
    const struct cpu_options *options;
    bool as_written; /* no program with joined blocks is chosen */
    const struct allocator *allocator;
    struct view_binding *views;
    struct strided_nest *nests; /* indexed by strided access */
    struct row_place *rows;     /* indexed by row */
    struct product_plan *plans; /* indexed by product */
    struct packed_cache *packed;
    struct frame_profile *profiles; /* indexed by worker; NULL: the launch is not profiled */
    double began;                   /* of a profiled launch: time and ticks of the clock */
    uint64_t began_ticks;
    int64_t grid[3], blocks;
    int workers;             /* number of workers that share the blocks */
    int64_t turns_a_worker;  /* number of turns with which each worker begins (workers.c) */
    int64_t turns_together;  /* least number of turns that a worker takes at once, if it can */
    atomic_bool *allocating; /* lock: the caller's allocator need not be thread-safe */
    _Atomic int64_t *stop;   /* the lowest block that faulted; higher blocks need not end */
    atomic_bool *cancelled;
    _Atomic int64_t *begun; /* number of blocks that began; counted if progress is reported */
};

/* --- a frame --- */

/* FRAME_STOPPED: stopped before its end, because the launch was cancelled or a lower block
 * faulted. */
enum frame_state { FRAME_READY, FRAME_WAITING, FRAME_DONE, FRAME_FAULT, FRAME_STOPPED };

/* The elements of a uniform access that are inside: a range along each axis of the memory. */
struct box {
    int64_t start[MAX_RANK]; /* index of the access's first element, which may be outside */
    /* Half-open ranges within the memory; for a gather: all of the axis. */
    int64_t low[MAX_RANK], high[MAX_RANK];
    const void *gather[MAX_RANK]; /* i32 or i64 indices of a gather axis */
    bool empty;                   /* no element is inside */
};

/* State of a packed tile: it shows nothing yet; or a part of a view that is not packed; or one
 * that is packed, in the block's own memory or in a cache of the launch. */
enum packed_kind { PACKED_NOTHING, PACKED_WANTED, PACKED_OWN, PACKED_SHARED };
struct packed_state {
    enum packed_kind kind;
    const struct packed_fill *fill; /* the fill that set it, from a view */
    struct box box;                 /* the part of the view */
    const unsigned char *data;      /* its elements, after it was packed */
    int64_t step;                   /* elements from row to row (left) or panel to panel (right) */
    bool cached;                    /* shared: in a cache of the launch; otherwise in the view
                                     * itself */
    int64_t line, depth;            /* in the cache: the row of parts, and the place along it */
    struct dot_view view;           /* of a right operand that is read in the view */
    struct packed_source source;
    /* Weights: where the parts of the scales start, rows and columns; and whether each row of scales
     * is that of the same step of depth in the view of codes, and columns are the same. */
    int64_t scale_start[MOST_SCALES][2];
    bool mapped;
    int64_t columns; /* that can be read in the views, with all steps */
};

struct copy_under_way {
    const struct async_detail *detail;
    struct loc loc;
    int64_t group;
    int role;        /* that started it */
    int64_t element; /* of a tensor copy: the mbarrier's */
    struct box from, to;
    uint64_t otherwise; /* bits of the value beyond the edge */
    int64_t *gathered;  /* indices that the frame owns, or NULL */
    size_t gathered_bytes;
};

/* Rows that blocks load one after another. The next row is expected at the same distance as the
 * last two, and chains fetch it into the cache while they compute this one. */
enum { MOST_ROW_PREFETCHES = 4 };
struct row_prefetch {
    const unsigned char *last; /* the latest row */
    int64_t turn;              /* the turn of the block that read it */
    const unsigned char *next; /* address that is fetched next */
    size_t left;               /* bytes of the row still to fetch */
};

/* The same prediction for tiles that are packed or stored: the next block's tile is expected at
 * the same distance from this block's as this one is from the last block's. Products fetch it. */
enum { MOST_TILE_PREFETCHES = 4 };
struct tile_prefetch {
    const struct access *access; /* NULL: nothing yet */
    int64_t start[MAX_RANK], step[MAX_RANK];
};

/* A product under way that other workers of the launch may help with (exec_shared.c). The fields
 * that are not atomic do not change while a panel is untaken or a worker helps. */
struct shared_product {
    _Atomic int untaken, helpers;
    /* A product that is divided into other pieces than panels: the untaken ones as bits, and what
     * multiplies by one of them, once it is ready (NULL: all are ready). */
    _Atomic uint64_t pieces;
    void (*multiply)(const void *run, size_t piece);
    bool (*is_ready)(const void *run, size_t piece);
    const void *run;
    const _Atomic int *idle; /* number of the launch's workers that look for such products */
    const struct dot_detail *detail;
    dot_fn *dot;
    void *sum;
    const unsigned char *a, *b;
    size_t rows, columns, depth;
    struct dot_strides strides;
};

/* Sums of few rows for more columns than one block has, because rows of a right operand are read
 * fastest in long pieces (exec_few.c). */
enum { STRIP_PARTS = 64 };
struct few_part {
    const struct packed_fill *fill; /* of weights, b; else NULL */
    const unsigned char *a, *b;
    size_t a_step, depth;
    struct dot_view view;
    bool ragged, raw;
};
struct few_strip {
    const struct dot_detail *detail; /* NULL: it holds nothing */
    struct kept_block memory;
    float *sums; /* [rows][columns] */
    size_t rows, columns, count;
    struct few_part *part; /* [STRIP_PARTS]: the products that were added, from 0 on */
};

struct frame {
    const struct cpu_program *program;
    const struct launch_state *launch;
    unsigned char *memory;  /* aligned; in the block below */
    struct kept_block kept; /* the memory's block, to be given back; none: by its worker's pool */
    uint32_t pc;
    enum frame_state state;
    int64_t turn, id, block[3];
    struct copy_under_way *copies; /* in the order in which they were issued */
    size_t copy_count, copy_capacity;
    int64_t group;   /* group of the copies issued now */
    bool progressed; /* the latest frame_run made progress */
    /* The role that runs, in a kernel with roles; the number of roles that were tried since any of
     * them went on; whether any went on since the frame last waited for other blocks, and whether
     * none did before that. */
    int role, tried;
    bool moved, stuck;
    int until_poll; /* turns of loops until the next poll */
    struct row_prefetch row_prefetch[MOST_ROW_PREFETCHES];
    struct tile_prefetch packed_prefetch[MOST_TILE_PREFETCHES]; /* indexed by cache */
    struct tile_prefetch store_prefetch;
    bool has_ahead;                /* some row is still to be fetched */
    struct row_blocks *row_blocks; /* NULL: blocks run step by step */
    struct shared_product *shared; /* NULL: there are no workers that might help */
    struct few_strip *strip;       /* NULL: none */
    int64_t turns_left;            /* turns that its worker has taken, this one included */
    struct frame_profile *profile; /* NULL: the launch is not profiled */
    /* The frames of the block's cluster, by rank; NULL: it has none. How many cluster_sync() the block
     * has come to, and whether it waits at the last of them. */
    struct frame *cluster;
    int rank;
    int64_t syncs;
    bool at_sync;
    struct cpu_fault fault;
};

static inline void *frame_at(const struct frame *f, uint32_t at)
{
    assert(at != NO_SLOT);
    return f->memory + at;
}

static inline struct mask_header frame_mask_header(const struct frame *f, uint32_t mask)
{
    struct mask_header header;
    memcpy(&header, f->memory + mask, sizeof header);
    return header;
}

/* Returns the mask's bytes; NULL when all lanes run, because there is no mask or it is full. */
static inline const uint8_t *frame_mask(const struct frame *f, uint32_t mask)
{
    if (mask == NO_SLOT || frame_mask_header(f, mask).running == (int64_t)f->program->lanes)
        return NULL;
    return f->memory + mask + MASK_HEADER;
}

/* Takes the memory of a worker's frame: if possible, what this worker had in an earlier launch, which
 * is still in its core's cache. */
struct kept_block frame_take(const struct launch_state *launch, int worker);
/* Makes a frame in such memory. false: there is no memory. */
bool frame_init(struct frame *f, const struct launch_state *launch, struct kept_block memory);
void frame_free(struct frame *f);
void frame_set_params(struct frame *f, const struct cpu_argument *args);
/* Returns the block of a turn, of launch->blocks. Turns follow the numbers of the blocks; or, by
 * columns, blocks that differ in block.y alone follow each other. */
int64_t frame_block_of_turn(const struct launch_state *l, int64_t turn);
/* Computes the block's indices: block.x, block.y, block.z. */
void frame_block_place(const struct launch_state *l, int64_t id, int64_t place[3]);
/* Begins block `id` in turn `turn`. Its shared tiles are poisoned where they are declared. */
void frame_start(struct frame *f, int64_t turn, int64_t id);
/* Resizes memory by the launch's allocator, for one worker at a time. */
void *workers_realloc(const struct launch_state *launch, void *ptr, size_t old_size, size_t size);
/* Takes memory of at least `bytes` for a worker, kept from an earlier launch or new (NULL: none), and
 * gives it back. */
struct kept_block kept_take(const struct launch_state *l, size_t bytes, int worker);
void kept_give(const struct launch_state *l, struct kept_block block);
/* Returns an allocator for an arena that takes its blocks from kept memory, and gives them back. */
struct allocator kept_allocator(struct launch_state *l);
/* Runs until the frame ends, faults, or waits at a lock. */
void frame_run(struct frame *f);
/* Asks the caller whether to continue; a launch that was cancelled once stays cancelled. */
bool frame_is_cancelled(const struct launch_state *l);
enum { FRAME_TURNS_BETWEEN_POLLS = 256 }; /* turns of a loop; a turn may work on large tiles */
/* Stops the frame if the caller does not continue. */
void frame_poll(struct frame *f);
/* Notes the fault of a lane (-1: of the block) and stops the frame. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void frame_fault(struct frame *f, enum cpu_fault_kind kind, struct loc loc, int lane,
                 const char *format, ...);

/* --- steps, by file --- */

#define STEP(name, kind, detail) step_fn step_##name;
#include "cpu/steps.def"

/* --- functions that steps share, by file --- */

/* exec_access.c: computes the box of a uniform access from the indices that the frame holds now.
 * false: a fault. */
bool exec_access_box(struct frame *f, const struct access *a, struct loc loc, struct box *box);
/* Returns the start of the access along an axis that has an index. */
int64_t exec_access_start(const struct frame *f, const struct access *a, int axis);
unsigned char *exec_access_base(const struct frame *f, const struct access *a);
/* Returns the frame of the block whose memory the access names, after exec_access_box. */
static inline const struct frame *access_frame(const struct frame *f, const struct access *a)
{
    return a->peer == NO_SLOT ? f : &f->cluster[*(const int32_t *)frame_at(f, a->peer)];
}
const int64_t *exec_access_extents(const struct frame *f, const struct access *a);
const int64_t *exec_access_strides(const struct frame *f, const struct access *a);
/* Returns the address of the box's first element inside; the access is to memory without lanes. */
unsigned char *exec_box_start(const struct frame *f, const struct access *a, const struct box *box);
/* Move the elements of a box between its memory and dense `data`; a load fills the rest with
 * *otherwise (NULL: 0). */
void exec_box_load(struct frame *f, const struct access *a, const struct box *box, void *data,
                   const void *otherwise);
void exec_box_store(struct frame *f, const struct access *a, const struct box *box,
                    const void *data, const uint8_t *mask);
/* Adds an axis inside those that the nest has; merges it with the last one if that is possible
 * and `merge` is set. */
void exec_nest_add(struct nest *nest, int64_t extent, int64_t dst, int64_t src, bool merge);
/* Prepares a nest that writes each element once: if rows become columns, the two axes are put
 * last, as copy_once requires. */
void exec_nest_settle(struct nest *nest);
/* exec_lanes.c: computes the element offset of each lane of a varying access, for element
 * `coordinate` of the result (a position along each axis). `valid` marks the lanes that run and
 * are inside. false: a fault was noted. */
struct lane_offsets {
    unsigned char *memory; /* the address of offset 0 */
    void *off;             /* i32 when narrow, else i64; 0 for lanes that are not valid */
    bool narrow;
    const uint8_t *valid; /* NULL: all lanes */
    bool none;            /* no lane is valid */
};
bool exec_access_lane_offsets(struct frame *f, const struct access *a, const struct instr *in,
                              const int64_t *coordinate, struct lane_offsets *out);
/* Moves to the next coordinate of the result; false after the last. Start with all 0. */
bool exec_access_next(const struct access *a, int64_t *coordinate);
/* exec_strided.c: makes the nest of a strided access to memory with these strides. */
void exec_strided_nest(const struct cpu_program *p, const struct strided *s, const int64_t *stride,
                       struct strided_nest *nest);
/* exec_row_place.c: finds the row of a view that is bound. */
struct row_place exec_row_place(const struct launch_state *l, const struct access *a);
/* exec_row.c: notes the addresses of the slots of a chain over one row, except those of rows of views. */
void exec_row_chain_open(struct frame *f, const struct strip_detail *d);
/* exec_chain.c: notes that a row was loaded from this address. */
void exec_note_row(struct frame *f, uint32_t row, const unsigned char *from, size_t bytes);

/* row_blocks.c: returns the bytes that a frame needs for row_blocks; 0: the code is not a
 * straight line of steps over rows. */
size_t row_blocks_bytes(const struct instr *code);
/* Returns the first step that keeps the code from being such a line; NULL: none does. */
const struct instr *row_blocks_obstacle(const struct instr *code);
/* Binds the steps to a frame whose launch has its views and its grid. NULL: some step cannot be
 * bound. */
struct row_blocks *row_blocks_open(struct frame *f, void *memory);
/* Runs the blocks first … end-1, unless the launch is cancelled. None of them can fault. The
 * caller has polled for cancellation once. */
void row_blocks_run(struct frame *f, const struct row_blocks *b, int64_t first, int64_t end);

/* exec_packed.c */
void packed_start(struct frame *f); /* sets all tiles to show nothing */
/* Returns the stage of the tile that the box selects. */
struct packed_state *packed_stage(struct frame *f, const struct packed_tile *tile,
                                  const struct access *to, const struct box *box);
void packed_note(struct packed_state *state, const struct packed_fill *fill, const struct box *box);
/* packed_cache.c: opens the caches of a launch whose grid and views are bound, for parts that
 * several blocks read. A cache that gets no memory is left out. */
void packed_caches_open(struct arena *a, struct launch_state *l);
void packed_caches_close(const struct launch_state *l);

/* --- exec_roles.c --- */

/* Notes why the block cannot go on, which waits although no other block can. */
void exec_roles_deadlock(struct frame *f);

/* --- cluster_peers.c, clusters.c --- */

/* struct roles_detail.peer and .run */
struct frame *clusters_frame(struct frame *f, const struct access *a, struct loc loc);
enum cpu_fault_kind clusters_run(struct arena *a, struct launch_state *l,
                                 const struct cpu_argument *args, struct cpu_fault *fault);
/* Returns the frame of a block of the cluster whose `sym` f is going to use. NULL: a fault. */
struct frame *clusters_block(struct frame *f, int rank, const struct sym *sym, struct loc loc);

/* --- workers.c --- */

/* Runs all blocks. Returns CPU_NO_MEMORY, without a fault in *fault, if there was no memory for
 * any block's frame. */
enum cpu_fault_kind workers_run(struct arena *a, struct launch_state *l,
                                const struct cpu_argument *args, struct cpu_fault *fault);
/* Returns the number of workers for the launch. */
int workers_count(const struct launch_state *l);
/* Tells the launch's progress callback that `blocks` more blocks have begun. */
void workers_tell_progress(const struct launch_state *l, int64_t blocks);

/* exec_shared.c: takes part in a product of another worker. profile: of this one, or NULL. false:
 * there is nothing left to do. */
bool exec_help_with_product(struct shared_product *p, struct frame_profile *profile);
/* exec_access.c: notes where a block stores a tile. */
void exec_note_tile(struct tile_prefetch *tile, const struct access *a, const struct box *box);

/* exec_async_meets.c */
/* Returns the statement that completes a copy, for messages. */
const char *exec_async_wait_of(const struct copy_under_way *copy);
/* Returns whether the copies under way leave the box (the lanes' elements) alone;
 * notes the fault if not. */
bool exec_async_leaves_box(struct frame *f, const struct access *a, const struct box *box,
                           struct loc loc);
bool exec_async_leaves_lanes(struct frame *f, const struct access *a,
                             const struct lane_offsets *lanes, struct loc loc);
/* exec_async.c */
void exec_async_drop(struct frame *f); /* forgets all copies */
/* Adds the copy of the instruction to those under way in `to`, f or another block of its cluster. NULL:
 * a fault was noted. */
struct copy_under_way *exec_async_begin(struct frame *f, struct frame *to, const struct instr *in);
/* Executes a copy under way, and removes it. */
void exec_async_complete(struct frame *f, size_t index);

#endif
