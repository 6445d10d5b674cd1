/* A chain of elementwise operations, run strip by strip (compile_chain.c, exec_strips.c,
 * exec_row.c). Slots are where a strip's operands lie: slot 0 the result's, others a leaf's or a
 * temporary's. */
#ifndef TW_STRIPS_H
#define TW_STRIPS_H

#include "cpu/program.h"

/* Elements of a strip; where the result is one row (exec_row.c), of a longer one. */
enum { STRIP = 512, ROW_STRIP = 2 * STRIP };
enum { STRIP_SLOTS = 32, STRIP_OPS = 64 };

enum leaf_way {
    LEAF_FLAT,   /* in the result's order: read where it lies */
    LEAF_ROW,    /* a long row: read where it lies */
    LEAF_ONE,    /* one value a row or in all, which its operations take as such */
    LEAF_FIXED,  /* the same for every strip: spread or repeated once */
    LEAF_SPREAD, /* one value a row, spread */
    LEAF_COPIED  /* short rows, copied side by side */
};
struct strip_leaf {
    uint32_t at, size; /* the value; bytes of an element */
    bool shown;        /* `at` has its address */
    uint8_t slot;
    enum leaf_way way;
    /* A row of a view that is read where it lies if it can be, else copied to `at` before. */
    const struct access *load;
    fill_fn *fill;
    int64_t stride[NEST_RANK]; /* along the result's axes, in elements */
};
struct strip_op {
    elementwise_fn *kernel; /* or */
    scaled_fn *scaled;      /* by slot `by`, or */
    convert_fn *convert;
    uint8_t dst, x[MOST_OPERANDS - 1], by; /* slots */
    uint8_t size[MOST_OPERANDS];           /* from an element to the next, of dst and of each x */
    bool costly;                           /* there is time for much else meanwhile */
    bool fetches; /* its third operand is what is to be fetched meanwhile */
};
struct strip_detail {
    int rank;
    int64_t extent[NEST_RANK]; /* the last axis is the row */
    int leaves, ops, slots;
    int moving; /* leaves that are elsewhere in other strips; they come first, */
    int rows;   /* and of those first the rows of views */
    bool fills; /* there are leaves that are LEAF_FIXED */
    const struct strip_leaf *leaf;
    const struct strip_op *op;
    uint32_t at[STRIP_SLOTS]; /* buffers of slots that have one; values of the frame */
    uint32_t slots_at;        /* step_row: the slots' addresses, which a frame keeps */
    uint32_t size;            /* bytes of an element of the result */
    uint8_t last;             /* the slot that the chain ends in */
    /* Where it goes if not to instr.dst: to memory, */
    const struct access *store;
    uint8_t store_axis[NEST_RANK]; /* the access's axis of each of the result */
    bool stream;                   /* nothing may depend on when others see it; then */
    struct strip_op past;          /* the last operation, past the caches, */
    bool has_past;                 /* if it has a routine for that */
    /* or row by row through a reduction to instr.dst, of elements of `size` bytes. */
    reduce_fn *reduce;
    reduce_add_fn *reduce_add;
    reduce_end_fn *reduce_end;
    /* Of the products of slots last and last_by, which no operation makes. NULL: of slot last. */
    reduce_products_fn *products, *sum_of_products;
    elementwise_fn *multiply;
    uint8_t last_by;
};

/* --- exec_chain.c --- */

/* Fetches some lines of rows that the next block will read, if frame.has_ahead. */
void fetch_ahead(struct frame *f);
/* The next `bytes` of such a row, or what is left of it, for an operation that fetches them as it
 * goes. NULL: there is no row. */
const void *take_ahead(struct frame *f, size_t bytes);
/* The first `ops` operations on `count` elements that lie at p, by slot. */
void run_ops(struct frame *f, const struct strip_detail *d, int ops, unsigned char *const *p,
             size_t count);
/* The last one on elements first … first + count - 1 of the strip, to `to` in memory; past the
 * caches (d->past) or not. */
struct strip_part {
    unsigned char *to;
    size_t first, count;
    bool past;
};
void run_last(struct frame *f, const struct strip_detail *d, unsigned char *const *p,
              const struct strip_part *part);
/* Elements first … first + count - 1 of a row of n, and what the row is reduced to so far. */
struct row_part {
    size_t n, first, count;
    void *parts; /* REDUCTION_PARTS */
};
/* Adds a part, the row's next one, which lies at p; of the last one the result goes to `to`. The
 * only part of a row needs no `parts`. */
void reduce_row(struct frame *f, const struct strip_detail *d, unsigned char *const *p,
                const struct row_part *r, unsigned char *to);

/* --- exec_row.c --- */

/* Where a row of a view lies, if it is all there, side by side; else NULL. */
unsigned char *row_in_view(const struct frame *f, const struct access *a);

/* --- exec_strips.c --- */

/* target_overlaps of a target that is no view. */
bool target_overlaps_memory(const struct frame *f, const struct access *a,
                            const unsigned char *from, size_t bytes);
/* Can what is stored change what is read later, `bytes` from `from` on? The whole view may be
 * stored to. */
static inline bool target_overlaps(const struct frame *f, const struct strip_detail *d,
                                   const unsigned char *from, size_t bytes)
{
    const struct access *a = d->store;
    if (!a || a->space != SPACE_VIEW)
        return a && target_overlaps_memory(f, a, from, bytes);
    const struct view_binding *view = &f->launch->views[a->view];
    return (uintptr_t)from < (uintptr_t)view->end &&
           (uintptr_t)from + bytes > (uintptr_t)view->first;
}

#endif
