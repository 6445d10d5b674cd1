/* Details of steps: the operands that are not offsets in their instructions (program.h). */
#ifndef TW_DETAILS_H
#define TW_DETAILS_H

#include "cpu/cpu.h"
#include "cpu/packed.h"
#include "cpu/routines/routines.h"
#include "tile/launch_sizes.h"
#include "tile/print_format.h"

struct frame;
struct instr;
struct launch_state;

/* assume(): its text, and the values of the scalars in it. */
enum { ASSUME_VALUES = 4 };
struct assume_detail {
    const char *text;
    int count;
    struct assume_value {
        const struct expr *e;
        const char *name;
        uint32_t at, lanes;
        enum dtype dtype;
    } value[ASSUME_VALUES];
};

/* The extents of a tile that is a divisor; rank is 0 for a scalar. */
struct divisor_detail {
    int rank;
    int64_t extent[MAX_RANK];
};

/* An operation over rows with broadcasting: operand 0 is the result. Strides are in elements;
 * the last axis is the row. */
enum { MOST_OPERANDS = 4 };
struct row_operand {
    uint32_t at;
    uint32_t size; /* bytes of an element */
    int64_t stride[NEST_RANK];
    convert_fn *convert; /* to the computed type (for the result: from it); NULL: none */
    uint32_t computed;   /* bytes of an element of the computed type */
};
struct rows_detail {
    int operands; /* the result counts, too */
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
    uint64_t start; /* exclusive: the first result, in the computed type */
    size_t outer, n, inner;
};
struct dot_operand {
    const struct packed_tile *tile; /* NULL: a dense value at `at` */
    const struct access *access;    /* selects the tile, or one of its stages */
    uint32_t at;
    size_t step; /* of a dense value: struct dot_strides.a, or panel */
};
/* The views that a sum is stored to (compile_seen.c); only the elements inside one of them are
 * needed. The last two axes of each access are slices of the sum's extents. */
enum { MOST_SEEN = 4 };
struct tile_seen {
    int count;
    const struct access *to[MOST_SEEN];
};
struct dot_detail {
    struct dot_operand a, b;      /* of uniform operands */
    size_t width;                 /* of a panel */
    size_t group;                 /* of this number of elements; the routine treats it as one */
    bool flipped;                 /* struct dot_strides */
    bool fresh;                   /* the sum has no value yet; not of varying operands */
    uint32_t deferred;            /* struct dot_deferred; NO_SLOT: products are added at once */
    bool stored;                  /* step_dot_store stores the sum, and no other step reads it */
    const struct tile_seen *seen; /* NULL: all of the sum is needed */
    dot_fn *dot;                  /* for uniform operands; otherwise: */
    elementwise_fn *fma;          /* multiplies and adds one step of k for all lanes */
    bool shares;                  /* the routine supports dot_strides.untaken */
    size_t m, n, k, size;
    /* Lanes of the sum and of the operands: each element is a row of lanes; operands of one lane
     * are spread. */
    uint32_t lanes, a_lanes, b_lanes;
    uint32_t spread; /* lanes * 2 elements of scratch */
};
struct dot_store_detail {
    const struct dot_detail *dot;
    const struct access *to;
    size_t bytes;        /* of the sum */
    convert_fn *convert; /* to f16; NULL: the sum's type is the view's */
    uint32_t converted;  /* offset of the converted sum, if the product does not convert it */
};
struct iota_detail {
    size_t outer, n, inner;
};
/* Elements of a table, as they are in memory. */
struct lookup_detail {
    const struct sym *table;
    const unsigned char *bytes;
    size_t size; /* of an element */
    /* For messages: the indices that may be outside. */
    bool combined; /* several indices, or a wide one, became one, which is then -1 */
    int count;
    struct lookup_place {
        uint32_t
            at; /* its i64 or i32 values; NO_SLOT: not kept, because it has no place of its own */
        enum dtype dtype; /* i64 or i32 */
        int64_t count;    /* of a tile; else 1 */
        uint32_t lanes;   /* values of an element: 1, or one for each lane */
        int64_t extent;
        const char *text; /* "axis 1 of the table T (extent 8)" */
    } * places;
};
struct mask_list { /* masks from which the lanes of instr.mask are removed, too */
    int count;
    uint32_t mask[];
};

enum memory_space { SPACE_VIEW, SPACE_SHARED, SPACE_LOCAL };

struct access_axis {
    enum index_kind kind;
    uint32_t at; /* index values in the frame: i32, or i64 when wide */
    bool wide, varying, inside;
    int block_axis; /* the index is, or begins at, block.x: 1, .y: 2, .z: 3; 0: neither */
    int64_t extent; /* of the result along this axis; 1 for an element */
    /* A lane's index is that of the first lane (at `at`, i32) plus `step` for each step along
     * thread.x, .y, .z, wrapped as i32. `low` and `high` are the distances from the first lane's
     * index to the least and to the greatest of all lanes. */
    bool affine;
    int64_t step[3], low, high;
    struct loc loc; /* of the index in the source */
    /* A variable that the access does not use and that an `if` around keeps below this axis's
     * extent; NULL: none. */
    const struct sym *below;
};

/* A view, shared tile, per-thread array or register tile with one index for each axis. The
 * result has the axes that are not indexed by an element, in order, and a row of lanes if
 * `lanes` > 1. */
struct access {
    enum memory_space space;
    const struct sym *sym;
    int view;    /* SPACE_VIEW: index in the program's views */
    uint32_t at; /* SPACE_LOCAL: the value; SPACE_SHARED: bytes from the start of shared memory */
    int rank;
    int64_t extent[MAX_RANK], stride[MAX_RANK]; /* of shared and local memory, in elements */
    uint32_t local_lanes;                       /* SPACE_LOCAL: lanes of the memory itself */
    struct access_axis axis[MAX_RANK];
    /* SPACE_SHARED: i32, the rank of the block whose memory it is; NO_SLOT: its own */
    uint32_t peer;
    uint32_t lanes;   /* 1: uniform */
    int64_t elements; /* of the result, for one lane */
    size_t size;      /* bytes of an element */
    int size_index;
    uint32_t otherwise; /* value of one element beyond the edge; NO_SLOT: 0 */
    uint32_t otherwise_lanes;
    bool guarded;     /* an element outside also gives `otherwise`, instead of a fault */
    bool keep;        /* the load leaves elements beyond the edge as they are: they hold `otherwise`
                   * already */
    uint32_t strided; /* index in the program's strided accesses; NO_SLOT: none */
    /* step_load_masked: the value that resting lanes get (NO_SLOT: they keep theirs), and room
     * for a value that is loaded lane by lane. */
    uint32_t rest, spare;
    bool stays;        /* the row's view is const, so the row is read in place until the block
                        * ends */
    uint32_t prefetch; /* a load of a row: index in the frame's row_prefetch; NO_SLOT: none */
    uint32_t row;      /* index in the program's rows; NO_SLOT: none */
};

/* An access whose varying indices are all affine: a nest of strides. The nest is the same for
 * every start, so accesses that are alike share it. */
struct strided {
    const struct access *access;
    bool store;
};
/* The nest of a strided access in a launch. */
struct strided_nest {
    bool usable;
    bool once;            /* no two elements are at the same place */
    struct nest all;      /* of all lanes */
    struct nest elements; /* of one lane */
    int64_t step[3];      /* in the memory, from a lane to the next one along x, y, z */
};

/* Multiplies and may wrap. Strides may have any value along axes of one element, and if no
 * element is inside; the result is not used in these cases. */
static inline int64_t stride_times(int64_t stride, int64_t count)
{
    return (int64_t)((uint64_t)stride * (uint64_t)count);
}

/* An axis of a row of a view in a launch, with the facts known before the indices are. */
struct row_axis {
    uint32_t at; /* the index, as in struct access_axis */
    bool wide;
    int block_axis;
    int64_t count, step; /* limit of the index; bytes from one row to the next */
};
struct row_place {
    unsigned char *first; /* row at indices 0; NULL: it is not contiguous, or never whole */
    int axes;             /* number of axes that have an index */
    struct row_axis axis[MAX_RANK];
};

/* to = mask ? from : rest, directly from memory to memory. */
struct move_detail {
    const struct access *from, *to;
    uint32_t yes;  /* the mask of the lanes that load; NO_SLOT: all that run */
    uint32_t rest; /* one value, which the other running lanes store */
};

/* One of the tests that make a condition; the lanes for which all of them hold form a rectangle. */
struct box_test {
    bool uniform;    /* the test is the byte at a, the same for all lanes; else it is a op b */
    enum op op;      /* one of LT LE GT GE */
    uint32_t a, b;   /* i32, in the first lane */
    int64_t step[2]; /* growth of a along x and y; that of a - b is mostly 0 along one axis */
    int64_t step_b[2];
    int64_t low[2], high[2]; /* distance of the least and the greatest value of a, of b from the
                              * first lane's */
};
struct box_detail {
    int count;
    struct box_test test[];
};

struct mbarrier_detail;
struct launch_state;
struct async_detail {
    const struct access *from, *to;
    const struct mbarrier_detail *barrier; /* of a tensor copy: it completes on this; else NULL */
    const struct packed_fill *packed;      /* NULL: an ordinary tile */
    uint32_t buffer;                       /* memory for the elements while they are copied */
    enum dtype dtype;
};

struct atomic_detail {
    const struct access *access;
    void (*apply)(void *memory, void *old, const void *value, const void *desired);
    elementwise_fn
        *row; /* the same for contiguous elements, if no old value is wanted; NULL: none */
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
    bool is_format;    /* the items have pieces of a format; `rest` is its end */
    struct print_piece rest;
    int count;
    bool by_thread;
    struct print_item item[];
};

struct scope_detail { /* shared tiles whose scope is left */
    int count;
    const struct sym *tile[];
};

/* --- roles (exec_roles.c) --- */

/* One mbarrier of a block, in the frame's memory. */
struct mbarrier {
    int64_t phases;           /* complete ones; the first of a `ready` one counts */
    int64_t bytes;            /* announced for the phase under way, and not copied yet */
    int64_t missing;          /* arrivals of that phase that have not come */
    const struct instr *last; /* the latest arrival; NULL: none */
};

/* One or several mbarriers of a name, or one of them that `access` selects. */
struct mbarrier_detail {
    const struct access *access;
    uint32_t at;     /* struct mbarrier, one for each element */
    uint32_t waited; /* uint32_t [role][element]: phases that the role has waited for */
    uint32_t elements;
    int arrivals; /* that complete a phase */
    bool ready;
    /* wait: i32, the parity, or NO_SLOT; expect: i32, bytes; a copy: i32, a bit for each block of the
     * cluster that gets it, or NO_SLOT */
    uint32_t value;
    bool one_thread; /* wait: only the one thread of the role waits */
};

/* The roles of a block: role 0 is the whole block, before the roles begin; each replica is a role. */
struct roles_detail {
    int count;
    int with_thread; /* the role that has the block's first thread; 0: none */
    uint32_t at;     /* struct role_state, one for each */
    uint32_t end;    /* the step after all roles */
    /* Only of a kernel with clusters (clusters.c); otherwise NULL. `peer` returns the frame of the block
     * whose memory an access names, which may be f itself (NULL: a fault). `run` runs all blocks, those
     * of a cluster together. */
    struct frame *(*peer)(struct frame *f, const struct access *a, struct loc loc);
    enum cpu_fault_kind (*run)(struct arena *a, struct launch_state *l,
                               const struct cpu_argument *args, struct cpu_fault *fault);
    struct role_start {
        uint32_t pc;
        const char *name; /* "warps(4 +: 8)" */
    } role[];
};

/* A role in the frame's memory. A role that waits continues with the step that waits. */
struct role_state {
    uint32_t pc;
    bool live;
    bool locks; /* it waits for a lock */
    int64_t group;
};

#endif
