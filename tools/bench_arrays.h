/* The arrays of a launch on a GPU, as many times over as it takes to be larger than its cache. */
#ifndef TW_BENCH_ARRAYS_H
#define TW_BENCH_ARRAYS_H

#include "bench_rounds.h"
#include "options.h"

struct slab {
    char *base;    /* device memory */
    size_t stride; /* bytes from one copy to the next */
};
struct bench_array {
    tw_param param;
    tw_array host; /* inputs as they are, outputs what came back last */
    struct slab device;
};
struct bench_arrays {
    struct bench_array *list;
    int count, copies;
    double bytes; /* of one copy */
    char why[300];
};

/* For a launch that is prepared: makes all arrays, random inputs and zeroed outputs. scale: floats
 * are uniform in ±scale/2. false: why says why not (no memory). bench_arrays_close in either
 * case. */
bool bench_arrays_open(struct bench_arrays *x, struct gpu *g, tw_launch *l, tw_kernel *k,
                       double scale);
void bench_arrays_close(struct bench_arrays *x, struct gpu *g);
/* Gives the launch the arrays of a copy, in place, or those of the host. */
tw_status bench_arrays_give(const struct bench_arrays *x, tw_launch *l, int copy);
tw_status bench_arrays_give_host(const struct bench_arrays *x, tw_launch *l);
void *slab_at(const struct slab *s, int copy);
/* Room for `copies` times `bytes`; each filled with `data`, or 0 if that is NULL. */
bool slab_open(struct slab *s, struct gpu *g, int copies, const void *data, size_t bytes);
void slab_close(struct slab *s, struct gpu *g);
/* The outputs of the first copy: as operands_start leaves them; or to the host, after all that was
 * started is done. */
tw_status bench_arrays_start(struct bench_arrays *x, struct gpu *g, const struct options *given);
tw_status bench_arrays_fetch(struct bench_arrays *x, struct gpu *g);

#endif
