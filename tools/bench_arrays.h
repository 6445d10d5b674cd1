/* Arrays of a launch on a GPU, in enough copies that together they exceed the GPU's cache. */
#ifndef TW_BENCH_ARRAYS_H
#define TW_BENCH_ARRAYS_H

#include "bench_rounds.h"
#include "options.h"

struct slab {
    char *base;    /* device memory */
    size_t stride; /* bytes between starts of copies */
};
struct bench_array {
    tw_param param;
    tw_array host; /* inputs, and outputs as last fetched */
    struct slab device;
};
struct bench_arrays {
    struct bench_array *list;
    int count, copies;
    double bytes; /* of one copy */
    char why[300];
};

/* Creates all arrays of a prepared launch, with random inputs and zeroed outputs. Floats are
 * uniform in ±scale/2. Returns false if memory is exhausted; `why` is the message. The caller
 * calls bench_arrays_close in either case. */
bool bench_arrays_open(struct bench_arrays *x, struct gpu *g, tw_launch *l, tw_kernel *k,
                       double scale);
void bench_arrays_close(struct bench_arrays *x, struct gpu *g);
/* Give the launch the arrays of a copy in GPU memory, or those of the host. */
tw_status bench_arrays_give(const struct bench_arrays *x, tw_launch *l, int copy);
tw_status bench_arrays_give_host(const struct bench_arrays *x, tw_launch *l);
void *slab_at(const struct slab *s, int copy);
/* Allocates `copies` times `bytes`. Fills each copy with `data`, or with 0 if `data` is NULL. */
bool slab_open(struct slab *s, struct gpu *g, int copies, const void *data, size_t bytes);
void slab_close(struct slab *s, struct gpu *g);
/* bench_arrays_start puts the outputs of the first copy into the state that operands_start gives
 * them. bench_arrays_fetch waits until all started work is done, then copies these outputs to
 * the host. */
tw_status bench_arrays_start(struct bench_arrays *x, struct gpu *g, const struct options *given);
tw_status bench_arrays_fetch(struct bench_arrays *x, struct gpu *g);

#endif
