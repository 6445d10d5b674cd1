/* Times kernels on the CPU in rounds with libraries or with a copy, and checks their values. */
#ifndef TW_BENCH_CPU_H
#define TW_BENCH_CPU_H

#include "bench/bench.h"
#include "bench/bench_copy.h"
#include "bench/bench_set.h"
#include "bench/bench_cpu_rounds.h"
#include "cli/operands.h"
#include "bench/peers.h"

struct cpu_bench {
    const struct options *rest; /* of bench_set */
    struct deadline deadline;
    int64_t warmup, repeat;
    int threads;
    double time_limit; /* seconds of all rounds, */
    double timeout;    /* of a single run */
    bool all_ensures;  /* check `ensures` at every size */
    struct peers peers;
    struct progress progress;
};

/* Kernel at one size and type, with all that its rounds need. */
struct cpu_job {
    struct cpu_bench *bench;
    const struct bench_entry *entry;
    tw_kernel *kernel; /* the entry's, or the one that its family chose */
    struct bench_row row;
    tw_launch *launch; /* NULL: not timed, the row says why */
    struct operands arrays;
    struct gemm gemm; /* of a product */
    struct operand *a, *b, *c;
    struct cpu_contender ours;
    tw_status status; /* of the latest run */
    struct cpu_peer {
        struct cpu_contender contender;
        struct peer_plan plan;
        void *c;       /* what it writes */
        char why[400]; /* reason for not taking part */
    } peers[PEERS];
    struct cpu_job *beside; /* job of the same product whose peers this one shares */
    struct copier *copier;
    struct cpu_contender copy;
    struct value_samples *samples; /* NULL: not computed yet */
    struct value_norms norms;      /* likewise */
};

/* Prepares a kernel at a size and type; the row names the step that failed, if any. dtype
 * TW_DTYPE_NONE: the kernel's default; shape NULL: --set gives the sizes. Returns STATUS_OK,
 * also if the kernel does not accept this size or type; otherwise prints a message and returns
 * another status. The caller calls cpu_job_close in either case. */
int cpu_job_open(struct cpu_job *j, struct cpu_bench *b, const struct bench_entry *e,
                 const struct shape *shape, tw_dtype dtype);
/* Times the jobs and all their peers in rounds, then checks the values. A library runs once a
 * round for all jobs with the same product. */
void cpu_jobs_run(struct cpu_bench *b, struct cpu_job *jobs, int count);
void cpu_job_close(struct cpu_job *j);

#endif
