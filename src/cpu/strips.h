/* A chain of elementwise operations, run strip by strip (compile_chain.c, exec_strips.c,
 * exec_row.c). A slot holds an operand of a strip: slot 0 the result, the others a leaf or a
 * temporary. */
#ifndef TW_STRIPS_H
#define TW_STRIPS_H

#include "cpu/program.h"

/* Elements of a strip; ROW_STRIP is for results of one row (exec_row.c). */
enum { STRIP = 512, ROW_STRIP = 2 * STRIP };
enum { STRIP_SLOTS = 32, STRIP_OPS = 64 };

enum leaf_way {
    LEAF_FLAT,   /* in the result's order: read in place */
    LEAF_ROW,    /* a long row: read in place */
    LEAF_ONE,    /* one value for each row or for all; its operations take it without spreading */
    LEAF_FIXED,  /* the same for every strip: spread or repeated once */
    LEAF_SPREAD, /* one value for each row, spread */
    LEAF_COPIED  /* short rows, copied side by side, from where they lie */
};
struct strip_leaf {
    uint32_t at, size; /* the value; bytes of an element */
    bool shown;        /* `at` holds the address of the value */
    bool part;         /* `load` has two axes: rows of a view, as far apart as the view's */
    uint8_t slot;
    enum leaf_way way;
    /* A row or a part of a view. It is read in place if possible; otherwise it is first copied to
     * `at`. */
    const struct access *load;
    fill_fn *fill;
    int64_t stride[NEST_RANK]; /* along the result's axes, in elements */
};
enum strip_form {
    STRIP_OTHER,
    STRIP_F32,        /* of f32 */
    STRIP_BY_ONE,     /* the same, x[1] is one value, or one for each row (strip_op.row) */
    STRIP_DIFFERENCE, /* a function of x[0] - x[1], x[1] is such a value */
    STRIP_SCALED      /* x[0] * by * x[1], plus x[2] if it is an fma */
};
struct strip_op {
    enum op op; /* OP_CAST: a conversion */
    enum strip_form form;
    elementwise_fn *kernel; /* or */
    scaled_fn *scaled;      /* by the value in slot `by`, or */
    convert_fn *convert;
    uint16_t row; /* elements of a short row, if x[1] has one value for each; else 0 */
    uint8_t dst, x[MOST_OPERANDS - 1], by; /* slots */
    uint8_t size[MOST_OPERANDS];           /* step from an element to the next, of dst and of
                                            * each x */
    bool costly;                           /* it takes long enough to fetch much memory meanwhile */
    bool fetches; /* its third operand is the address of memory that it fetches meanwhile */
};
struct strip_detail {
    int rank;
    int64_t extent[NEST_RANK]; /* the last axis is the row */
    int leaves, ops, slots;
    int moving; /* number of leaves that differ from strip to strip; they come first */
    int rows;   /* number of rows of views, which come first among those */
    bool fills; /* some leaves are LEAF_FIXED */
    const struct strip_leaf *leaf;
    const struct strip_op *op;
    uint32_t at[STRIP_SLOTS]; /* offsets of the slots' buffers, or of their values in the frame */
    uint32_t slots_at;        /* step_row: the slots' addresses, which a frame keeps */
    uint32_t size;            /* bytes of an element of the result */
    uint8_t last;             /* the slot that the chain ends in */
    /* Destination of the result in memory; NULL: instr.dst, or a reduction. */
    const struct access *store;
    uint8_t store_axis[NEST_RANK]; /* for each axis of the result, the access's axis */
    bool stream;                   /* stores may bypass the caches: no block depends on when
                                    * others see them */
    struct strip_op past;          /* the last operation with a routine that does so */
    bool has_past;                 /* there is such a routine */
    bool quotients;                /* the only operation divides the powers of a step_row_map */
    bool
        keeps; /* the only operation keeps elements where a mask is true, and x[0] is this mask, the
                 * same for each strip; elsewhere it replaces them */
    /* Reduction of each row to instr.dst, of elements of `size` bytes; NULL: none. */
    reduce_fn *reduce;
    reduce_add_fn *reduce_add;
    reduce_end_fn *reduce_end;
    /* Reduce the products of slots last and last_by, which no operation computes. NULL: slot
     * last is reduced. */
    reduce_products_fn *products, *sum_of_products;
    elementwise_fn *multiply;
    uint8_t last_by;
};

/* --- exec_chain.c --- */

/* Fetches some lines of rows that the next block will read, if frame.has_ahead. */
void exec_fetch_ahead(struct frame *f);
/* Returns the address of the next `bytes` bytes of the rows that exec_fetch_ahead fetches, or of the
 * rest of them, for an operation that fetches them while it runs. NULL: there is no row. */
const void *exec_take_ahead(struct frame *f, size_t bytes);
/* Runs the first `ops` operations on `count` elements at p, by slot. */
void exec_run_ops(struct frame *f, const struct strip_detail *d, int ops, unsigned char *const *p,
                  size_t count);
/* Elements first … first + count - 1 of the strip, which the last operation writes to `to` in
 * memory; past the caches (d->past) or not. */
struct strip_part {
    unsigned char *to;
    size_t first, count;
    bool past;
};
void exec_run_last(struct frame *f, const struct strip_detail *d, unsigned char *const *p,
                   const struct strip_part *part);
/* Elements first … first + count - 1 of a row of n, and the parts that the row has been reduced
 * to so far. */
struct row_part {
    size_t n, first, count;
    void *parts; /* REDUCTION_PARTS */
};
/* Adds the next part of a row, which is at p; after the last one the result is written to `to`.
 * If the row has only one part, `parts` is not used. */
void exec_reduce_row(struct frame *f, const struct strip_detail *d, unsigned char *const *p,
                     const struct row_part *r, unsigned char *to);

/* --- exec_row_place.c --- */

/* Returns the address of a row of a view, if it is complete and contiguous; else NULL. */
unsigned char *exec_row_in_view(const struct frame *f, const struct access *a);

/* --- exec_strips.c --- */

/* Does the same as target_overlaps for a target that is not a view. */
bool exec_target_overlaps_memory(const struct frame *f, const struct access *a,
                                 const unsigned char *from, size_t bytes);
/* Returns whether the store may change the `bytes` bytes at `from`, which are read later. The
 * whole view counts as stored to. */
static inline bool target_overlaps(const struct frame *f, const struct strip_detail *d,
                                   const unsigned char *from, size_t bytes)
{
    const struct access *a = d->store;
    if (!a || a->space != SPACE_VIEW)
        return a && exec_target_overlaps_memory(f, a, from, bytes);
    const struct view_binding *view = &f->launch->views[a->view];
    return (uintptr_t)from < (uintptr_t)view->end &&
           (uintptr_t)from + bytes > (uintptr_t)view->first;
}

#endif
