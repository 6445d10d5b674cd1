/* bench --device cuda: one kernel at one size, timed beside cuBLAS and cuBLASLt, values checked. */
#ifndef TW_BENCH_GPU_H
#define TW_BENCH_GPU_H

#include "bench.h"
#include "bench_arrays.h"
#include "bench_rounds.h"
#include "bench_set.h"
#include "cublas.h"
#include "progress.h"
#include "tilewright_gpu.h"

enum { LIBRARIES = 2 }; /* cuBLAS, cuBLASLt: timed in turn with the kernel */

struct gpu_bench {
    const struct options *rest; /* of bench_set */
    struct gpu gpu;
    struct cublas cublas;
    bool has_cublas;
    struct slab *workspace; /* of cuBLASLt */
    bool all_ensures;       /* values by `ensures` at every size */
    bool triton;            /* beside one in Triton too */
    bool only_load;         /* nothing is timed */
    struct progress progress;
};

struct gpu_row {
    struct bench_row common; /* its peers are not used */
    const char *target;
    tw_dtype dtype;
    struct shape shape;
    tw_occupancy occupancy; /* threads 0: it was not loaded */
    double tflops;
    int copies, rounds;
    bool graphs; /* runs were started as graphs */
    struct library_row libraries[LIBRARIES];
    struct library_row triton; /* name "": it was not asked for; ratio: of medians */
    double best_ratio;         /* the faster library's time over ours; 0: there is none */
};

/* Fills the row; dtype TW_DTYPE_NONE: the kernel's default types. shape NULL: sizes come from
 * --set. STATUS_OK also where the kernel is skipped or wrong; the row says so. */
int gpu_measure(struct gpu_bench *b, const struct bench_entry *e, const struct shape *shape,
                tw_dtype dtype, struct gpu_row *row);

#endif
