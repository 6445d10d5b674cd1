/* Arrays of launches on a GPU, in enough copies that together they exceed the GPU's cache. Kernels
 * that take turns share the arrays that have the same elements. */
#ifndef TW_BENCH_ARRAYS_H
#define TW_BENCH_ARRAYS_H

#include "cli/rounds.h"
#include "cli/options.h"
#include "cli/product.h"
#include "cli/tensor.h"

struct slab {
    char *base;    /* device memory */
    size_t stride; /* bytes between starts of copies */
};
/* Allocates `copies` times `bytes`. Fills each copy with `period` again and again, or with 0 if
 * `period` is NULL. Returns false if memory is exhausted. */
bool slab_open(struct slab *s, struct timing_gpu *g, int copies, size_t bytes,
               const tw_array *period);
void slab_close(struct slab *s, struct timing_gpu *g);
void *slab_at(const struct slab *s, int copy);

/* Part that an array has in a product. Its seed, so that kernels get the same factors. */
enum array_role { ROLE_A = 1, ROLE_B, ROLE_C, ROLE_OTHER };

/* Array of one kernel or several. */
struct shared_array {
    tw_array period; /* on the host: its first elements, which it repeats */
    int64_t elements;
    bool is_const;
    struct fill_options fill; /* of inputs, and of outputs before a run; seed: its role, or more */
    struct slab device;
};
struct array_pool {
    struct shared_array **list;
    int count;
    int copies; /* of each */
};
/* Sets the number of copies: these, of `bytes` each, together fill the GPU's L2 cache three
 * times. */
void array_pool_open(struct array_pool *x, const struct timing_gpu *g, double bytes);
void array_pool_close(struct array_pool *x, struct timing_gpu *g);

struct bench_array {
    tw_param param;
    tw_array host; /* its shape; elements if bench_arrays_to_host has made them */
    struct shared_array *shared;
};
struct bench_arrays {
    struct bench_array *list;
    int count;
    double bytes; /* of one copy */
    char why[300];
};

/* Finds the arrays of a prepared launch and their shapes. Returns false if they cannot be known;
 * `why` is the message. The caller calls bench_arrays_close in either case. */
bool bench_arrays_find(struct bench_arrays *x, struct timing_gpu *g, tw_launch *l, tw_kernel *k);
/* Makes the arrays on the GPU, or takes those that the pool has. Inputs are random, floats uniform
 * in ±scale/2. product: NULL, or the arrays' parts in a product. given: --fill. Returns false if
 * memory is exhausted; `why` is the message. */
bool bench_arrays_make(struct bench_arrays *x, struct array_pool *pool, struct timing_gpu *g,
                       tw_launch *l, const struct product_of *product, double scale,
                       const struct options *given);
void bench_arrays_close(struct bench_arrays *x);
/* Gives the launch the arrays of a copy in GPU memory. */
tw_status bench_arrays_give(const struct bench_arrays *x, tw_launch *l, int copy);
/* Makes all arrays on the host as they were before the run, then fetches those that the run has
 * written, and gives them to the launch. */
tw_status bench_arrays_to_host(struct bench_arrays *x, struct timing_gpu *g, tw_launch *l);
/* Puts the arrays of the first copy that a kernel writes into the state before a run: outputs
 * have the contents of unwritten memory, others 0, unless --fill has other contents. */
tw_status bench_arrays_start(struct bench_arrays *x, struct timing_gpu *g);

#endif
