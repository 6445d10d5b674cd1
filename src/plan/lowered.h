/* A kernel made for a GPU: PTX, the parameters that a launch passes, and the facts that commands show of it. */
#ifndef TW_LOWERED_H
#define TW_LOWERED_H

#include "base/view_map.h"
#include "layout/layout.h"
#include "ptx/ptx.h"
#include "target/targets.h"
#include "tile/passes.h"

struct lowered_options {
    const struct target *target;
    /* Bytes that divide each pointer parameter's address, by parameter index; NULL: 16 all. A
     * launch checks it. */
    const int *alignment;
    bool lines; /* .loc and .file */
};

/* The kinds of parameters that a launch passes. */
enum lowered_param_kind {
    LOWERED_SCALAR,  /* scalar parameter, of its own type (bool as .u8) */
    LOWERED_POINTER, /* pointer parameter, .u64 */
    /* .u64: memory of the runtime for a view without a base; zeroed if sym->zeroed */
    LOWERED_WORKSPACE,
    LOWERED_TICKET, /* .u64: one u32 of the runtime, 0 before each launch: blocks draw their index */
    LOWERED_MAP     /* 128 bytes: a tensor map of the view `sym`, which the launch encodes */
};
/* A tensor map: how the copy engine sees a view. Its extents, strides and first element are those of
 * the view at the launch. CUDA driver API, cuTensorMapEncodeTiled. */
enum { LOWERED_MAP_RANK = 5 };
struct lowered_map {
    int rank;                  /* axes of the view */
    int box[LOWERED_MAP_RANK]; /* elements of a box along each axis of the view; 1 … 256 */
    int swizzle; /* bytes of a row of the box in shared memory, 32, 64 or 128; 0: rows follow each other plainly */
};
struct lowered_param {
    enum lowered_param_kind kind;
    const struct sym *sym;         /* NULL for a ticket */
    const struct lowered_map *map; /* LOWERED_MAP */
};

/* One kind of instruction on memory, made for one access of the program: for `show --stage layout`
 * and the tables of the tests. */
struct lowered_access {
    struct loc loc;
    const struct sym *sym; /* view or shared tile; NULL: scratch of the compiler's own */
    bool shared, store;
    const char *how;           /* "ldmatrix.x4.trans", "cp.async 16", "ld.global.v4.b32" */
    int bytes;                 /* a lane */
    int64_t instructions;      /* of all warps for the whole tile */
    int64_t wavefronts, least; /* shared; of all warps. 0: not known (thread level) */
};

/* The resource of which a refused kernel needs more than the target has, if a smaller size would fit. */
enum lowered_excess {
    LOWERED_FITS,
    LOWERED_MANY_BYTES, /* shared memory */
    LOWERED_MANY_REGISTERS,
    LOWERED_MUCH_LOCAL, /* memory of a thread */
    LOWERED_MUCH_CODE
};

/* A register or shared tile and its layout, for show. */
struct lowered_placed {
    const struct sym *sym; /* NULL: `what` says */
    const char *what;      /* "dot at 21:16, left factor" */
    const struct layout *layout;
    int bits;
    bool shared;
    const char *form; /* of a shared layout: layout_shared_form_names; else NULL */
};

/* The registers that hold a scalar or a register tile, in each thread. */
struct lowered_held {
    const struct sym *sym;
    const struct layout *layout; /* of a tile; NULL: a scalar */
    bool assigned;               /* after its declaration too: the registers hold it for good */
    int count;
    const char *const *registers; /* their names; elements of 16 and 8 bits share one */
};

struct thread_function; /* thread/thread.h */

struct lowered {
    const struct thread_function *thread; /* from which the module was made */
    struct ptx_module *module;
    struct ptx_function *function;
    VEC(struct lowered_param) params;
    VEC(struct lowered_access) accesses;
    VEC(struct lowered_placed) placed;
    VEC(struct lowered_held) held;
    int block[3];         /* threads */
    int cluster;          /* blocks of a cluster along x; 0: none */
    bool begins_early;    /* it waits itself for earlier kernels of its stream */
    int64_t shared_bytes; /* dynamic shared memory of a block, scratch included */
    int registers;        /* of a thread, estimated */
    enum lowered_excess excess;
};

/* Returns the form of the map of a LOWERED_MAP parameter; `type` is the caller's number of its elements'
 * type. */
struct map_form lowered_map_form(const struct lowered_param *p, int type);

/* Returns true if code for the kernel is to wait itself for the kernels before it (griddepcontrol.wait), so that it may
 * begin before they have ended. Cooperative ones are not: all their blocks must be resident at once. */
bool lowered_begins_early(const struct kernel *k, const struct target *t);

#endif
