/* Implements `tune`: the candidates, the processes that compile and measure them, and the results.
 *
 *   cmd_tune.c       the command: options, from the file to the table
 *   tune_space.c     every combination of tuned values to try
 *   tune_process.c   child processes, their jobs and their answers
 *   tune_values.c    the arrays, and their expected values
 *   tune_work.c      the work of the children: estimate, compile, verify, time
 *   tune_search.c    the parent: gives out jobs; timeouts, the budget, the finals
 *   tune_noise.c     the part of a difference that is noise
 *   tune_report.c    the table, and the same as JSON
 *   tune_store.c     --list, --forget, --export */
#ifndef TW_TUNE_H
#define TW_TUNE_H

#include "operands.h"
#include "progress.h"
#include "target.h"
#include "tilewright_gpu.h"
#include "tilewright_tuning.h"

#include <sys/types.h>

enum candidate_state {
    CANDIDATE_NEW,
    CANDIDATE_REFUSED,   /* the target refuses it */
    CANDIDATE_SAME,      /* same program as another */
    CANDIDATE_PROMISING, /* estimated; to be compiled */
    CANDIDATE_READY,     /* to be measured */
    CANDIDATE_MEASURED,
    CANDIDATE_FAILED /* wrong values, a fault, too slow: status and why */
};

struct candidate {
    tw_value *tuned; /* by tune */
    char *text;      /* "BM=128,BN=64" */
    enum candidate_state state;
    tw_estimate estimate;
    tw_occupancy occupancy; /* on a GPU, once it is loaded */
    tw_status status;
    char *why;
    double ms; /* median */
    double *samples;
    int sample_count;
    bool stored; /* measured earlier, by this or another process */
};

struct candidates {
    struct candidate *list;
    int count;
    int forbidden; /* combinations that a `require` excludes */
};
/* Makes every combination of the kernel's lists, or of the values of --tune, that `require`
 * allows. Returns STATUS_OK, or another status after printing a message about a wrong option. */
int candidates_make(struct candidates *c, const tw_context *ctx, tw_kernel *k,
                    const struct options *o);
void candidates_free(struct candidates *c);
tw_status candidate_apply(const struct candidate *c, tw_kernel *k, tw_launch *l);

/* Returns the uncertainty of the median of the samples, in ms; -1: too few samples. */
double candidate_noise(const struct candidate *c);

/* --- processes --- */

enum job_kind { JOB_ESTIMATE, JOB_COMPILE, JOB_MEASURE, JOB_TIME };

struct job {
    enum job_kind kind;
    int index;      /* of the candidate */
    int runs;       /* JOB_TIME */
    double best_ms; /* JOB_MEASURE: so far; 0: none */
};

struct answer {
    struct job job;
    tw_status status;
    tw_estimate estimate;
    tw_occupancy occupancy;
    double samples[8];
    int sample_count;
    bool on_zeros; /* wrong, but right on zeroed outputs: --fill decides */
    bool leaves;   /* the process ends, because a fault broke its device */
    char why[300];
};

enum { JOBS_AHEAD = 4 };

struct process {
    pid_t pid; /* 0: none */
    int to, from;
    struct job jobs[JOBS_AHEAD]; /* given, not yet answered; the oldest first */
    int job_count;
    double since; /* start of the oldest job */
    bool measures;
};

struct tuning;
/* Starts a child that does jobs until its input ends. Returns false if it cannot be started. */
bool process_start(struct process *p, const struct tuning *t);
bool process_give(struct process *p, const struct job *job); /* false: it is gone */
/* Receives one answer. Returns false if the process has ended; it is then reaped, and *ended
 * describes its end. */
bool process_take(struct process *p, struct answer *out, char **ended);
void process_kill(struct process *p);

/* --- all of it --- */

struct tuning {
    const struct command *self;
    const struct options *given;
    struct program program;
    tw_kernel *kernel; /* for its target */
    bool on_gpu;
    char *device; /* name in the store */
    int multiprocessors;
    tw_launch *launch; /* at the sizes to tune for */
    tw_launch *judged; /* at the sizes for verification: the same, or smaller ones */
    bool exact;        /* the kernel refuses smaller sizes */
    struct operands arrays, judged_arrays; /* judged_arrays is empty if the sizes are the same */
    tw_expected *expected;                 /* NULL: the kernel has no `ensures` */
    struct candidates candidates;
    tw_store *store;
    tw_tuned key;
    /* options */
    double timeout, budget; /* seconds; budget 0: none */
    int64_t jobs, threads, finalists;
    bool again, exhaustive, to_json;
    /* while it runs */
    struct process *processes; /* the first measures */
    int process_count;
    double started;
    bool interrupted;
    struct progress progress;
};

/* Runs in a child: does jobs from `in` and answers to `out`, until `in` ends. */
void tune_work(const struct tuning *t, int in, int out, bool measures);
/* Estimates, compiles and measures the candidates. Returns STATUS_OK, or another status after
 * printing a message. */
int tune_search(struct tuning *t);
/* Creates the arrays at the sizes to tune for and at the sizes for verification, and computes
 * their expected values, by means of a candidate that compiles. Returns STATUS_OK, or another
 * status after printing a message. */
int tune_prepare_values(struct tuning *t, const struct candidate *c);
/* Applies --set and --type to a launch. Returns STATUS_OK, or another status after printing a
 * message. */
int tune_settings(const struct tuning *t, tw_launch *l);

void tune_report(const struct tuning *t);
/* --list, --forget and --export. */
int tune_store_command(const struct command *self, const struct options *given);

#endif
