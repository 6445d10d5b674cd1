/* bench on the CPU: kernels timed in turn with libraries or with a copy, values checked. */
#ifndef TW_BENCH_CPU_H
#define TW_BENCH_CPU_H

#include "bench.h"
#include "bench_copy.h"
#include "bench_set.h"
#include "bench_turns.h"
#include "operands.h"
#include "peers.h"

struct cpu_bench {
    const struct options *rest; /* of bench_set */
    struct deadline deadline;
    int64_t warmup, repeat;
    int threads;
    double time_limit; /* seconds of all rounds, */
    double timeout;    /* of a single run */
    bool all_ensures;  /* values by `ensures` at every size */
    struct peers peers;
    struct progress progress;
};

/* A kernel at one size and type: all that its turns need. */
struct cpu_job {
    struct cpu_bench *bench;
    const struct bench_entry *entry;
    struct bench_row row;
    tw_launch *launch; /* NULL: the row says why it is not timed */
    struct operands arrays;
    struct gemm gemm; /* of a product */
    struct operand *a, *b, *c;
    struct turn ours;
    tw_status status; /* of the latest run */
    struct peer_turn {
        struct turn turn;
        struct peer_plan plan;
        void *c;       /* what it writes */
        char why[400]; /* it does not take part */
    } peers[PEERS];
    struct cpu_job *beside; /* whose peers these are: another's, of the same product */
    struct copier *copier;
    struct turn copy;
};

/* Sets it up as far as it goes; the row says what does not. dtype TW_DTYPE_NONE: the kernel's
 * default; shape NULL: sizes come from --set. STATUS_OK also where the kernel does not take this;
 * else a status after a message. cpu_job_close in either case. */
int cpu_job_open(struct cpu_job *j, struct cpu_bench *b, const struct bench_entry *e,
                 const struct shape *shape, tw_dtype dtype);
/* Times them in turn, all peers with them, then checks values. Libraries run once a round for
 * products that are the same. */
void cpu_jobs_run(struct cpu_bench *b, struct cpu_job *jobs, int count);
void cpu_job_close(struct cpu_job *j);

#endif
