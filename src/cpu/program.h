/* The engine's inside: a kernel as a flat program, and a block's state as a frame.
 *
 * Values. A frame has one memory. Each value (scalar, register tile, per-thread array, mask) lies
 * at a fixed offset in it, as [element][lane]: lanes is 1 for what is uniform and the number of the
 * block's threads for what is varying. So a varying scalar is a row of lanes, and code for threads
 * is the same loops as code for tiles.
 *
 * Program. An array of instructions, each a step function with its operands' offsets; jumps set the
 * frame's counter. A step works on a whole value by routines (routines.h) that were chosen when the
 * program was compiled.
 *
 * Masks. Under varying control flow some lanes rest. Where the mask of a place lies is known when
 * it is compiled: a mask is a header and a byte a lane, and steps that have an effect name theirs
 * (NO_SLOT: all lanes run). Pure steps compute resting lanes too and nobody looks at the result.
 *
 * Short cuts. Everything has a plain way, lane by lane and element by element; where more is known,
 * a short cut does the same: affine indices as strides (compile_known.c, exec_strided.c), masks as
 * rectangles (compile_mask.c), loops of products as products (compile_product.c), operands of `dot`
 * packed (packed.h), loops unrolled, variables assigned in place under the mask of their
 * declaration. A program can be compiled without them, and tests compare the two.
 */
#ifndef TW_PROGRAM_H
#define TW_PROGRAM_H

#include "cpu/cpu.h"
#include "cpu/packed.h"
#include "cpu/routines.h"
#include "tile/print_format.h"

#include <stdatomic.h>
#include <string.h>

#define NO_SLOT UINT32_MAX

enum {
    SLOT_ALIGNMENT = 64,
    MASK_HEADER = 16, /* bytes ahead of a mask's lanes: a struct mask_header */
    CHUNK = 256       /* elements converted or spread at a time */
};

/* The lanes [y][x] of low ≤ x, y < high: all those that run, where these are a rectangle. */
struct lane_box {
    uint16_t low[2], high[2]; /* x, y; high[0] == 0: they are none */
};
struct mask_header {
    int64_t running; /* how many lanes */
    struct lane_box box;
};

struct frame;
struct instr;
typedef void step_fn(struct frame *f, const struct instr *in);

struct instr {
    step_fn *step;
    const void *detail;     /* the step's own struct below, or NULL */
    elementwise_fn *kernel; /* step_flat and step_rows */
    uint32_t dst, a, b, c;  /* offsets of values */
    uint32_t n;             /* elements; lanes; the target of a jump */
    uint32_t mask;          /* NO_SLOT: all lanes run */
    struct loc loc;
};

/* --- details --- */

/* The tile that is divided by; of a scalar rank is 0. */
struct divisor_detail {
    int rank;
    int64_t extent[MAX_RANK];
};

/* An operation over rows with broadcasting: operand 0 is the result. Strides in elements; the last
 * axis is the row. */
enum { MOST_OPERANDS = 4 };
struct row_operand {
    uint32_t at;
    uint32_t size; /* bytes of an element */
    int64_t stride[NEST_RANK];
    convert_fn *convert; /* to the type computed in (the result: from it); NULL: none */
    uint32_t computed;   /* bytes of an element as computed */
};
struct rows_detail {
    int operands; /* with the result */
    int rank;
    int64_t extent[NEST_RANK];
    struct row_operand operand[MOST_OPERANDS];
};

struct copy_detail {
    copy_fn *copy;
    struct nest nest;
};
struct convert_detail {
    convert_fn *convert;
};
struct blend_detail { /* [rows][lanes] */
    blend_fn *blend;
    uint32_t rows, size;
};
struct reduce_detail {
    reduce_fn *reduce; /* or */
    scan_fn *scan;
    bool exclusive;
    uint64_t start; /* exclusive: the first result, in the type computed in */
    size_t outer, n, inner;
};
struct dot_operand {
    const struct packed_tile *tile; /* NULL: a dense value at `at` */
    const struct access *access;    /* the tile, or which of its stages */
    uint32_t at;
    size_t step; /* of a dense value: struct dot_strides.a, or panel */
};
/* How much of a sum is needed: what of it is in one of these views (compile_seen.c). The last two
 * axes are slices of its extents. */
enum { MOST_SEEN = 4 };
struct tile_seen {
    int count;
    const struct access *to[MOST_SEEN];
};
struct dot_detail {
    struct dot_operand a, b;      /* of uniform operands */
    size_t width;                 /* of a panel */
    bool in_pairs;                /* operands are bf16, pairs of them elements to the routine */
    uint32_t deferred;            /* struct dot_deferred; NO_SLOT: products are added at once */
    bool stored;                  /* step_dot_store stores the sum, and nothing else reads it */
    const struct tile_seen *seen; /* NULL: all of it */
    dot_fn *dot;                  /* uniform operands, else: */
    elementwise_fn *fma;          /* one step for all lanes */
    bool shares;                  /* it knows dot_strides.untaken */
    size_t m, n, k, size;
    /* A row of lanes for each element; operands of one lane are spread. */
    uint32_t lanes, a_lanes, b_lanes;
    uint32_t spread; /* lanes * 2 elements of scratch */
};
struct dot_store_detail {
    const struct dot_detail *dot;
    const struct access *to;
    size_t bytes;        /* of the sum */
    convert_fn *convert; /* to f16; NULL: the sum's type is the view's */
    uint32_t converted;  /* where it goes if the product does not convert it */
};
struct iota_detail {
    size_t outer, n, inner;
};
/* Elements of a table, as they lie in memory. */
struct lookup_detail {
    const struct sym *table;
    const unsigned char *bytes;
    size_t size; /* of an element */
};
struct mask_list { /* masks that lose the lanes of instr.mask, too */
    int count;
    uint32_t mask[];
};

enum memory_space { SPACE_VIEW, SPACE_SHARED, SPACE_LOCAL };

struct access_axis {
    enum index_kind kind;
    uint32_t at; /* index values in the frame: i32, or i64 when wide */
    bool wide, varying, inside;
    int block_axis; /* it is, or begins at, block.x: 1, .y: 2, .z: 3; 0: something else */
    int64_t extent; /* of the result along this axis; 1 for an element */
    /* The lanes' indices are those of the first lane (at `at`, i32), and so much more for each step
     * along thread.x, .y, .z, as i32 wraps; `low` … `high`: from the first lane's to the least and
     * to the greatest of all. */
    bool affine;
    int64_t step[3], low, high;
    struct loc loc; /* of the index as written */
};

/* A view, shared tile, per-thread array or register tile with one index for each axis. The result
 * has the axes that are no elements, in order, and a row of lanes if `lanes` > 1. */
struct access {
    enum memory_space space;
    const struct sym *sym;
    int view;    /* SPACE_VIEW: which of the program's views */
    uint32_t at; /* SPACE_LOCAL: the value; SPACE_SHARED: bytes from the start of shared memory */
    int rank;
    int64_t extent[MAX_RANK], stride[MAX_RANK]; /* of shared and local memory, in elements */
    uint32_t local_lanes;                       /* SPACE_LOCAL: lanes of the memory itself */
    struct access_axis axis[MAX_RANK];
    uint32_t lanes;   /* 1: uniform */
    int64_t elements; /* of the result, for one lane */
    size_t size;      /* bytes of an element */
    int size_index;
    uint32_t otherwise; /* value of one element beyond the edge; NO_SLOT: 0 */
    uint32_t otherwise_lanes;
    bool guarded; /* an element outside gives `otherwise` too, in place of a fault */
    bool keep;    /* beyond the edge the result stays as it is: `otherwise` was put there before */
    uint32_t strided; /* which of the program's strided accesses; NO_SLOT: none */
    /* step_load_masked: what lanes that rest get (NO_SLOT: they keep what they have), and room for
     * a value that is loaded lane by lane. */
    uint32_t rest, spare;
    bool stays;        /* a row is read where it lies until the block ends: its view is const */
    uint32_t prefetch; /* a load of a row: which of the frame's row_prefetch; NO_SLOT: none */
    uint32_t row;      /* which of the program's rows; NO_SLOT: none */
};

/* An access all of whose varying indices are affine: a nest of strides, the same wherever it
 * starts, so accesses that are alike share it. */
struct strided {
    const struct access *access;
    bool store;
};
/* That nest in a launch. */
struct strided_nest {
    bool usable;
    bool once;            /* no two elements lie at the same place */
    struct nest all;      /* every lane */
    struct nest elements; /* of one lane */
    int64_t step[3];      /* in the memory, from a lane to the next one along x, y, z */
};

/* Strides may be as large as they like along axes of one element, and where nothing lies inside: so
 * it may wrap where nobody looks. */
static inline int64_t stride_times(int64_t stride, int64_t count)
{
    return (int64_t)((uint64_t)stride * (uint64_t)count);
}

/* Where an access's row of a view lies in a launch, whole and side by side: what is known before
 * the indices are. */
struct row_axis {
    uint32_t at; /* the index, as in struct access_axis: */
    bool wide;
    int block_axis;
    int64_t count, step; /* below `count`, and bytes from one to the next */
};
struct row_place {
    unsigned char *first; /* with indices 0; NULL: it never lies so */
    int axes;             /* that have an index */
    struct row_axis axis[MAX_RANK];
};

/* to = mask ? from : rest, straight from memory to memory. */
struct move_detail {
    const struct access *from, *to;
    uint32_t yes;  /* the lanes that load; NO_SLOT: all that run */
    uint32_t rest; /* what others store, one value */
};

/* A condition that holds for a rectangle of lanes: all of these do. */
struct box_test {
    bool uniform;    /* the byte at a, the same for all lanes; else a < b, or as `op` says */
    enum op op;      /* LT LE GT GE */
    uint32_t a, b;   /* i32, in the first lane */
    int64_t step[2]; /* by how much a grows along x and y; of a - b mostly one is 0 */
    int64_t step_b[2];
    int64_t low[2], high[2]; /* from a and b in the first lane to the least and the greatest */
};
struct box_detail {
    int count;
    struct box_test test[];
};

struct async_detail {
    const struct access *from, *to;
    const struct packed_fill *packed; /* NULL: an ordinary tile */
    uint32_t buffer;                  /* the elements on their way */
    enum dtype dtype;
};

struct atomic_detail {
    const struct access *access;
    void (*apply)(void *memory, void *old, const void *value, const void *desired);
    uint32_t value, desired; /* offsets; desired only for cas */
    uint32_t value_lanes, desired_lanes;
    int64_t value_step, desired_step; /* 1, or 0: the same value for each element */
    uint32_t old;                     /* NO_SLOT: not wanted */
};

struct lock_detail {
    const struct access *access;
    enum dtype dtype;
    uint32_t value;
};

struct print_item {
    uint32_t at;
    enum dtype dtype;
    int rank;
    int64_t extent[MAX_RANK];
    uint32_t lanes;
    const char *text; /* the expression as written, NULL for the only item of a labelled print */
    struct print_piece piece;          /* of a format: the text before it and its conversion */
    const struct print_window *window; /* NULL: all of it, abbreviated */
};
struct print_detail {
    const char *label; /* or NULL */
    bool is_format;    /* the items have pieces of it, and */
    struct print_piece rest;
    int count;
    bool by_thread;
    struct print_item item[];
};

struct scope_detail { /* shared tiles whose scope is left */
    int count;
    const struct sym *tile[];
};

/* --- the program --- */

struct scalar_slot {
    uint32_t at;
    enum dtype dtype;
};

struct cpu_program {
    const struct kernel *kernel;
    const struct routine_set *set;
    const struct instr *code;
    size_t count;
    uint32_t lanes; /* threads at thread level, else 1 */
    size_t frame_bytes;
    const unsigned char *image; /* the start of every frame: constants, thread indices */
    size_t image_bytes;
    struct scalar_slot *params; /* by parameter; NO_SLOT: unused or a pointer */
    uint32_t block_at, grid_at; /* three i32 each */
    uint32_t shared_at;
    uint32_t scratch_at; /* by lane: offsets (8 bytes), a row of elements (8), validity (1) */
    const struct sym **views;
    int view_count;
    uint32_t lane_at[3]; /* places along the axes by lane, i32 */
    /* Lanes along x, y, z: the block's threads; or, in a block of one axis, thread.x % n along x
     * and thread.x / n along y, where the kernel takes that apart. */
    uint32_t threads[3];
    const struct strided *strided;
    uint32_t strided_count;
    const struct access *const *rows; /* of views, that are read or written where they lie */
    uint32_t row_count;
    struct strip_detail *const *row_chains; /* chains over one row */
    uint32_t row_chain_count;
    size_t row_blocks_at, row_blocks_bytes; /* row_blocks.c; 0 bytes: it is not for that */
    const struct lane_product **products;
    uint32_t product_count;
    const struct packed_plan *packed; /* caches of packed tiles */
    uint32_t packed_count;
    uint32_t packed_at, packed_states;  /* struct packed_state, by stage of packed tiles */
    uint32_t own_left_at, own_panel_at; /* for what products pack on their way for their block */
    bool serial;                        /* the order of blocks shows: run them on one worker */
    bool streams; /* stores may go past the caches: blocks do not wait for each other */
    uint32_t row_prefetch_count;
    bool has_locks;
    bool shares; /* a dot_detail does */
    bool
        by_columns; /* struct launch_state's turns: blocks along y follow each other, not along x */
    int cache_ways; /* platform_cache_ways() */
};

/* cpu_compile with routines of the caller's choice. `plain`: without the short cuts for affine
 * indices, unrolled loops and the like, which do the same as the plain way, faster. */
struct cpu_program *cpu_compile_with(struct arena *a, const struct kernel *k,
                                     const struct routine_set *set, bool plain, const char **why);

/* --- a launch --- */

struct view_binding {
    unsigned char *base;
    const unsigned char *first, *end;           /* what its elements take of memory */
    int64_t extent[MAX_RANK], stride[MAX_RANK]; /* elements */
    bool narrow;                                /* every offset fits 32 bits */
    bool large;                                 /* more than the caches next to a core hold */
    bool is_overlaid; /* a view that is not const lies there, too: it may be written all the same */
};

struct launch_state {
    const struct cpu_program *program;
    const struct cpu_options *options;
    const struct allocator *allocator;
    struct view_binding *views;
    struct strided_nest *nests; /* by strided access */
    struct row_place *rows;     /* by row */
    struct product_plan *plans; /* by product */
    struct packed_cache *packed;
    int64_t grid[3], blocks;
    int workers;             /* that share the blocks, */
    int64_t turns_a_worker;  /* each beginning with so many (workers.c) */
    atomic_flag *allocating; /* the caller's allocator need not be thread-safe */
    _Atomic int64_t *stop;   /* the lowest block that faulted: those above it need not end */
    atomic_bool *cancelled;
    _Atomic int64_t *begun; /* blocks; counted where progress is told */
};

/* --- a frame --- */

/* FRAME_STOPPED: in the middle, because the launch was cancelled or a lower block faulted. */
enum frame_state { FRAME_READY, FRAME_WAITING, FRAME_DONE, FRAME_FAULT, FRAME_STOPPED };

/* Where the elements of a uniform access lie: along each axis of the memory from `low` on, `count`
 * of them inside. */
struct box {
    int64_t start[MAX_RANK]; /* index of the access's first element, inside or not */
    /* Half-open, within the memory; of a gather: all of the axis. */
    int64_t low[MAX_RANK], high[MAX_RANK];
    const void *gather[MAX_RANK]; /* i32 or i64 indices of a gather axis */
    bool empty;                   /* nothing lies inside */
};

/* What a packed tile shows: nothing yet; a part of a view that is not packed; one that is, in the
 * block's own memory or in a cache of the launch. */
enum packed_kind { PACKED_NOTHING, PACKED_WANTED, PACKED_OWN, PACKED_SHARED };
struct packed_state {
    enum packed_kind kind;
    const struct packed_fill *fill; /* from a view: what it was filled by, */
    struct box box;                 /* and with which part */
    const unsigned char *data;      /* once packed */
    int64_t step;                   /* elements from row to row (left) or panel to panel (right) */
    bool cached;                    /* shared: in a cache of the launch, else in the view itself; */
    int64_t line, depth;            /* in the cache: which row of parts, and where along it */
    struct packed_source source;
};

struct copy_under_way {
    const struct async_detail *detail;
    struct loc loc;
    int64_t group;
    struct box from, to;
    uint64_t otherwise; /* bits of the value beyond the edge */
    int64_t *gathered;  /* indices that the frame owns, or NULL */
    size_t gathered_bytes;
};

/* Rows that blocks load one after another: where the next one will be if the distance stays the
 * same. Chains fetch it into the cache while they compute this one. */
enum { MOST_ROW_PREFETCHES = 4 };
struct row_prefetch {
    const unsigned char *last; /* the latest row, */
    int64_t turn;              /* of this block */
    const unsigned char *next; /* what is to be fetched */
    size_t left;               /* bytes of it */
};

/* The same of tiles that are packed, or stored: what the next block will read or write if it is as
 * far from this block's as that is from the last one's. Products fetch it. */
enum { MOST_TILE_PREFETCHES = 4 };
struct tile_prefetch {
    const struct access *access; /* NULL: nothing yet */
    int64_t start[MAX_RANK], step[MAX_RANK];
};

/* A product under way that other workers of the launch may help with (exec_shared.c). What is not
 * atomic stays as it is while a panel is untaken or somebody helps. */
struct shared_product {
    _Atomic int untaken, helpers;
    dot_fn *dot;
    void *sum;
    const unsigned char *a, *b;
    size_t rows, columns, depth;
    struct dot_strides strides;
};

struct frame {
    const struct cpu_program *program;
    const struct launch_state *launch;
    unsigned char *memory;  /* aligned, in */
    struct kept_block kept; /* this */
    uint32_t pc;
    enum frame_state state;
    int64_t turn, id, block[3];
    struct copy_under_way *copies; /* in the order in which they were issued */
    size_t copy_count, copy_capacity;
    int64_t group;   /* of copies issued now */
    bool progressed; /* by the latest frame_run */
    int until_poll;  /* turns of loops */
    struct row_prefetch row_prefetch[MOST_ROW_PREFETCHES];
    struct tile_prefetch packed_prefetch[MOST_TILE_PREFETCHES]; /* by cache */
    struct tile_prefetch store_prefetch;
    bool has_ahead;                /* some row is to be fetched yet */
    struct row_blocks *row_blocks; /* NULL: blocks run step by step */
    struct shared_product *shared; /* NULL: there is nobody who might help */
    struct cpu_fault fault;
};

static inline void *frame_at(const struct frame *f, uint32_t at)
{
    return f->memory + at;
}

static inline struct mask_header frame_mask_header(const struct frame *f, uint32_t mask)
{
    struct mask_header header;
    memcpy(&header, f->memory + mask, sizeof header);
    return header;
}

/* The mask's bytes, NULL when all lanes run: that there is no mask, or that it is full. */
static inline const uint8_t *frame_mask(const struct frame *f, uint32_t mask)
{
    if (mask == NO_SLOT || frame_mask_header(f, mask).running == (int64_t)f->program->lanes)
        return NULL;
    return f->memory + mask + MASK_HEADER;
}

bool frame_init(struct frame *f, const struct launch_state *launch);
void frame_free(struct frame *f);
void frame_set_params(struct frame *f, const struct cpu_argument *args);
/* The block, of launch->blocks, whose turn it is: their numbers, or, by columns, with those that
 * differ in block.y alone one after the other. */
int64_t block_of_turn(const struct launch_state *l, int64_t turn);
/* Its indices: block.x, block.y, block.z. */
void block_place(const struct launch_state *l, int64_t id, int64_t place[3]);
/* Begins block `id`, whose turn it is. Its shared tiles are poisoned where they are declared. */
void frame_start(struct frame *f, int64_t turn, int64_t id);
/* The allocator's function, for one worker at a time. */
void *frame_resize(const struct launch_state *launch, void *ptr, size_t old_size, size_t size);
/* Memory of `bytes` at least, kept from an earlier launch or new (NULL: none), and back. */
struct kept_block kept_take(const struct launch_state *l, size_t bytes);
void kept_give(const struct launch_state *l, struct kept_block block);
/* Runs until it ends, faults, or waits at a lock. */
void frame_run(struct frame *f);
/* Asks the caller whether to go on; stops the frame if not. */
void frame_poll(struct frame *f);
/* Notes the fault of a lane (-1: of the block) and stops the frame. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void frame_fault(struct frame *f, enum cpu_fault_kind kind, struct loc loc, int lane,
                 const char *format, ...);

/* --- steps, by file --- */

/* exec_value.c */
step_fn step_flat, step_rows, step_copy, step_convert, step_blend, step_reduce, step_scan,
    step_iota, step_zero, step_poison, step_lookup;
/* exec_packed.c */
step_fn step_packed_fill, step_packed_copy, step_packed_clear;
/* exec_pack.c */
step_fn step_pair_columns, step_pair_rows;
/* exec_dot.c */
step_fn step_dot, step_dot_fresh, step_dot_flush, step_dot_store, step_dot_lanes;
/* exec_strips.c; exec_row.c: of a chain over one row */
step_fn step_strips, step_row;
step_fn step_row_difference; /* such a chain of one difference; instr.a: the sum of its squares */
/* exec_control.c */
step_fn step_end, step_jump, step_jump_if, step_jump_unless, step_mask_all, step_mask_copy,
    step_mask_and, step_mask_and_not, step_mask_box, step_mask_leave, step_jump_none, step_divisor,
    step_assume, step_stuck;
/* exec_access.c */
step_fn step_load, step_store, step_shared_poison;
/* exec_row.c: instr.a is where the row's address goes, or is; instr.dst its own memory. */
step_fn step_show_row, step_row_load, step_reduce_row;
/* exec_lanes.c */
step_fn step_load_lanes, step_store_lanes;
/* exec_strided.c */
step_fn step_load_strided, step_load_masked, step_store_strided;
step_fn step_move; /* jumps if it did it, else goes on to the load and the store */
/* exec_product.c: jumps if it did all of the loops, else goes on to the loops themselves. */
step_fn step_products;
/* exec_async.c */
step_fn step_async_copy, step_async_commit, step_async_wait, step_scope_leave;
/* exec_atomic.c */
step_fn step_atomic, step_atomic_lanes, step_lock, step_unlock;
/* exec_print.c */
step_fn step_print;

/* --- what steps share, by file --- */

/* exec_access.c: the box of a uniform access with the indices that the frame holds now. false: a
 * fault. */
bool access_box(struct frame *f, const struct access *a, struct loc loc, struct box *box);
/* Where it starts along an axis that has an index. */
int64_t access_start(const struct frame *f, const struct access *a, int axis);
unsigned char *access_base(const struct frame *f, const struct access *a);
const int64_t *access_extents(const struct frame *f, const struct access *a);
const int64_t *access_strides(const struct frame *f, const struct access *a);
/* Where the box's first element inside lies, of an access to memory without lanes. */
unsigned char *box_start(const struct frame *f, const struct access *a, const struct box *box);
/* Moves the elements of a box between its memory and dense `data`; a load fills the rest with
 * *otherwise (NULL: 0). */
void box_load(struct frame *f, const struct access *a, const struct box *box, void *data,
              const void *otherwise);
void box_store(struct frame *f, const struct access *a, const struct box *box, const void *data,
               const uint8_t *mask);
/* An axis inside of those that the nest has; it becomes one with the last where that can be. */
void nest_add(struct nest *nest, int64_t extent, int64_t dst, int64_t src, bool merge);
/* For a nest that writes each element once: where rows become columns, these two axes are put last,
 * as copy_once wants them. */
void nest_settle(struct nest *nest);
/* exec_lanes.c: element offsets of a varying access, by lane, for element `coordinate` of the
 * result (a position along each axis). In `valid` the lanes that run and lie inside. false: a fault
 * was noted. */
struct lane_offsets {
    unsigned char *memory; /* what offset 0 means */
    void *off;             /* i32 when narrow, else i64; 0 for lanes that are not valid */
    bool narrow;
    const uint8_t *valid; /* NULL: all lanes */
    bool none;            /* no lane is valid */
};
bool access_lane_offsets(struct frame *f, const struct access *a, const struct instr *in,
                         const int64_t *coordinate, struct lane_offsets *out);
/* The next coordinate of the result; false after the last. Start with all 0. */
bool access_next(const struct access *a, int64_t *coordinate);
/* exec_strided.c: the nest of a strided access, on memory with these strides. */
void strided_nest(const struct cpu_program *p, const struct strided *s, const int64_t *stride,
                  struct strided_nest *nest);
/* exec_row.c: of a view that is bound. */
struct row_place row_place(const struct launch_state *l, const struct access *a);
/* Notes the addresses of the slots of a chain over one row, but of rows of views. */
void row_chain_open(struct frame *f, const struct strip_detail *d);
/* exec_chain.c: notes that a row was loaded from there. */
void note_row(struct frame *f, uint32_t row, const unsigned char *from, size_t bytes);

/* row_blocks.c: bytes that frames have for that; 0: the code is not a straight line over rows. */
size_t row_blocks_bytes(const struct instr *code);
/* Binds them to a frame whose launch has its views and its grid. NULL: some step can't be. */
struct row_blocks *row_blocks_open(struct frame *f, void *memory);
/* Runs the blocks first … end-1, none of which faults, unless the launch is cancelled, which the caller has asked once. */
void row_blocks_run(struct frame *f, const struct row_blocks *b, int64_t first, int64_t end);

/* exec_packed.c */
void packed_start(struct frame *f); /* all tiles show nothing */
/* The stage that a box of the tile is. */
struct packed_state *packed_stage(struct frame *f, const struct packed_tile *tile,
                                  const struct access *to, const struct box *box);
void packed_note(struct packed_state *state, const struct packed_fill *fill, const struct box *box);
/* packed_cache.c: the caches of a launch whose grid and views are bound, for parts that several
 * blocks read; what memory is not there for is done without. */
void packed_caches_open(struct arena *a, struct launch_state *l);
void packed_caches_close(const struct launch_state *l);

/* --- workers.c --- */

/* Runs all blocks. CPU_NO_MEMORY without a fault in *fault: there was none for any block's frame. */
enum cpu_fault_kind workers_run(struct arena *a, struct launch_state *l,
                                const struct cpu_argument *args, struct cpu_fault *fault);
bool launch_was_cancelled(const struct launch_state *l);

/* exec_shared.c: takes part in a product of another worker. false: there is nothing left to do. */
bool help_with_product(struct shared_product *p);
/* dot_prefetch.c: notes where a block stores a tile. */
void note_tile(struct tile_prefetch *tile, const struct access *a, const struct box *box);

/* exec_async.c: whether the copies under way leave the box (the lanes' elements) alone; notes the
 * fault if not. */
bool async_leaves_box(struct frame *f, const struct access *a, const struct box *box,
                      struct loc loc);
bool async_leaves_lanes(struct frame *f, const struct access *a, const struct lane_offsets *lanes,
                        struct loc loc);
void async_drop(struct frame *f); /* forgets all copies */

#endif
