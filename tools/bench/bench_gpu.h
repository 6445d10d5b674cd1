/* Implements bench --device cuda for the kernels at one size: times them in turn with each other and
 * with cuBLAS and cuBLASLt, and checks the values. */
#ifndef TW_BENCH_GPU_H
#define TW_BENCH_GPU_H

#include "bench/bench.h"
#include "bench/bench_arrays.h"
#include "cli/rounds.h"
#include "bench/bench_set.h"
#include "bench/cublas.h"
#include "cli/progress.h"
#include "tilewright_gpu.h"

enum { LIBRARIES = 2 }; /* cuBLAS, cuBLASLt: take turns with the kernel */

struct gpu_bench {
    const struct options *rest; /* of bench_set */
    struct timing_gpu gpu;
    struct cublas cublas;
    bool has_cublas;
    struct slab *workspace; /* of cuBLASLt */
    bool all_ensures;       /* check `ensures` at every size */
    bool triton;            /* also compare with Triton */
    bool only_load;         /* nothing is timed */
    struct progress progress;
};

struct gpu_row {
    struct bench_row common; /* its `peers` are not used */
    const char *target;
    tw_dtype dtype;
    struct shape shape;
    tw_occupancy occupancy; /* threads 0: not loaded */
    double tflops;
    int copies, rounds;
    int turns;   /* equal numbers at one size: these rows took turns with the same libraries */
    bool graphs; /* runs were started as graphs */
    struct library_row libraries[LIBRARIES];
    struct library_row triton; /* name "": not requested; ratio: of medians */
    double best_ratio;         /* faster library's time over the kernel's; 0: none */
};

/* Measures kernels at one size and fills a row for each. dtype TW_DTYPE_NONE: the kernels' default
 * types; shape NULL: --set gives the sizes. Returns STATUS_OK, also if a kernel is skipped or wrong,
 * which its row reports. */
int gpu_measure(struct gpu_bench *b, const struct bench_entry *const *entries, int count,
                const struct shape *shape, tw_dtype dtype, struct gpu_row *rows);

#endif
