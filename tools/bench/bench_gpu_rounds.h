/* Kernels at one size and type that are timed in the same rounds and, if they compute the same
 * product, in those of the libraries. */
#ifndef TW_BENCH_GPU_ROUNDS_H
#define TW_BENCH_GPU_ROUNDS_H

#include "bench/bench_gpu.h"

/* One kernel at one size. */
struct gpu_job {
    struct gpu_bench *b;
    const struct bench_entry *entry;
    struct gpu_row *row;
    tw_kernel *kernel; /* the entry's, or the one that its family chose */
    struct bench_arrays arrays;
    tw_launch *first;     /* prepared; with the arrays of copy 0 after gpu_rounds_open */
    tw_launch **launches; /* one for each copy */
    int launch_count;
    struct gemm gemm; /* of a product */
    struct contender ours;
    bool ready; /* takes part in the rounds */
};

/* Values that the kernels' are compared with; each is made at its first use. */
struct gpu_reference {
    struct value_samples *samples;
    struct value_norms norms;
    bool only_rows;      /* C is so large that only the rows of the samples are fetched */
    void *ours, *theirs; /* these rows of C, or all: a kernel's, and a library's */
};

struct gpu_rounds {
    struct gpu_bench *b;
    struct gpu_job **jobs;
    int count, copies;
    struct array_pool pool;
    /* products: */
    bool has_libraries;
    struct gemm gemm;
    const struct shared_array *a, *bm, *c; /* of the first job, and of the libraries */
    struct slab turned;                    /* B as [n][k] for cuBLASLt's 8-bit kernels */
    struct cublaslt_plan plans[2];
    const struct cublaslt_plan *plan; /* the better one, */
    int way;                          /* and its best way */
    struct contender libraries[LIBRARIES];
    struct gpu_reference reference;
};

/* Makes the arrays and launches of the jobs that take part, with the sizes and the type. A job
 * that fails is refused: its row says why, and it is not ready. The caller calls gpu_rounds_close. */
void gpu_rounds_open(struct gpu_rounds *x, const struct shape *shape, tw_dtype dtype);
void gpu_rounds_close(struct gpu_rounds *x);
/* Times the kernels and libraries, and fills the rows. */
void gpu_rounds_time(struct gpu_rounds *x);
/* Checks the values of all kernels that were timed. */
void gpu_rounds_check(struct gpu_rounds *x);

/* Marks the row as skipped. A size or type that the kernel does not accept is not a failure. why:
 * the reason, or "" for the message of the context or of the status. */
void gpu_refuse(struct gpu_job *j, tw_status s, const char *why);
/* Starts a run of a kernel: contender.start. */
bool gpu_start_ours(struct contender *c, int copy);
double multiply_adds(const struct shape *s);

#endif
