/* Implements `tune`: the candidates, the processes that compile and measure them, and the results.
 *
 *   cmd_tune.c       the command: options, from the files to the results
 *   tune_members.c   the kernels; tune_device.c: the device that they run on
 *   tune_space.c     every combination of tuned values to try
 *   tune_problems.c  the sizes to tune for, and what their programs depend on
 *   tune_process.c   child processes, their jobs and their answers
 *   tune_values.c    arrays and expected values that judge the candidates
 *   tune_pool.c      the arrays of timed runs
 *   tune_time.c      timed runs, on a GPU or on the CPU
 *   tune_entries.c   the entries of programs on a GPU
 *   tune_work.c      the work of the children: estimate, compile, verify, time
 *   tune_search.c    the parent: gives out jobs, handles answers, ends
 *   tune_stages.c    the order of the measurements of one problem: samples, finals
 *   tune_keep.c      the store: what is there, and what is added
 *   tune_noise.c     ranks, and the part of a difference that is noise
 *   tune_report.c    the table for one problem, and the lines for many
 *   tune_json.c      the same as JSON
 *   tune_table.c     --table: a family's table; table_file.c: its file
 *   tune_stored.c    --stored: sizes and times from the store alone
 *   tune_store.c     --list, --forget, --export
 *
 * A member is a kernel; several members have the same parameters. A candidate is a member with
 * tuned values. A problem is a choice of sizes. A trial is a candidate at a problem. A program
 * depends on its candidate and on facts about the sizes: the values of statics, and the sizes that
 * 16 or 8 divides. A build is that program; problems with the same facts share it. */
#ifndef TW_TUNE_H
#define TW_TUNE_H

#include "cli/shapes.h"
#include "cli/json.h"
#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "tilewright_gpu.h"
#include "tilewright_tuning.h"

#include <sys/types.h>

struct tuning;

/* --- members --- */

struct member {
    const struct program *program;
    tw_kernel *kernel; /* for its target */
    tw_launch *launch; /* of all its jobs */
    bool batched;      /* has the size `batch` */
    bool left_out;     /* it does not take the element types in turn */
    int first, count;  /* its candidates */
    int forbidden;     /* combinations that a `require` excludes */
};

/* Chooses the device of --device and makes the members' kernels for it. Returns STATUS_OK, or
 * another status after printing a message. */
int device_choose(struct tuning *t);
/* Opens the kernels that the command line names, and makes their candidates. Returns STATUS_OK, or
 * another status after printing a message. The caller calls members_close in either case. */
int members_open(struct tuning *t);
void members_close(struct tuning *t);
/* Makes new launches for the element type in turn, with the values of --set and --type. Members
 * that do not take the type are left out. */
int members_launch(struct tuning *t);
void members_unlaunch(struct tuning *t);
/* Applies the type in turn, --set and --type to a launch of the member. Returns STATUS_OK, or
 * another status after printing a message. */
int member_settings(const struct tuning *t, const struct member *m, tw_launch *l);

/* --- candidates --- */

struct candidate {
    int member;
    tw_value *tuned; /* by tune */
    char *text;      /* "BM=128,BN=64" */
};

/* Adds the combinations of a member's lists, or of the values of --tune, that `require` allows.
 * Returns STATUS_OK, or another status after printing a message about a wrong option. */
int candidates_make(struct tuning *t, int member);
tw_status candidate_apply(const struct tuning *t, int candidate, tw_launch *l);
/* Returns "matmul_v6 BM=128,BN=64"; without the kernel name if there is one member. The caller
 * frees. */
char *candidate_name(const struct tuning *t, int candidate);

/* --- problems --- */

enum trial_state {
    TRIAL_NEW,
    TRIAL_REFUSED,   /* the target refuses it */
    TRIAL_SAME,      /* same program as another */
    TRIAL_PROMISING, /* estimated; to be compiled and measured */
    TRIAL_SKIPPED,   /* slow at the nearest sizes, so not compiled for these */
    TRIAL_MEASURED,
    TRIAL_FAILED /* wrong values, a fault, too slow: status and why */
};

struct trial {
    enum trial_state state;
    tw_estimate estimate;
    tw_status status;
    char *why;
    int same;  /* TRIAL_SAME: the candidate with that program */
    double ms; /* median */
    double *samples;
    int sample_count;
    int stored_samples; /* of a stored time */
    bool stored;        /* measured earlier, by this or another process */
    bool unsaved;       /* not in the store yet */
    bool finalist;
};

/* The measurements of a problem go through these stages. */
enum stage {
    STAGE_SAMPLE, /* a short sample of every candidate */
    STAGE_MORE,   /* longer samples of the better ones */
    STAGE_FINALS, /* the best in turn */
    STAGE_WINNER, /* the winner is verified at these sizes */
    STAGE_DONE
};

struct problem {
    struct shape shape;   /* m 0: --set gives the sizes */
    tw_tuned *keys;       /* by member: the row of a result, without the result */
    int *facts;           /* by member: index of the facts; -1: it is left out */
    double operations;    /* of a product; 0: it is none */
    bool verified;        /* `ensures` judged the values */
    struct trial *trials; /* by candidate */
    enum stage stage;
    int *order; /* candidates to measure, the most promising first */
    int order_count;
    int *list; /* of the stage */
    int list_count, at, round;
    bool challenged; /* earlier times that beat the winner's were taken again */
    int checked;     /* candidate that was verified as the winner; -1: none */
    bool measured;   /* in this run */
    bool fills;      /* only short samples are left to take, for a table */
    bool cut;        /* --known: its share of the budget ended before all were timed */
    bool reported;
    int best;                    /* candidate; -1: none */
    double began;                /* when it became the first that is not done; 0: not yet */
    double sampled_until, until; /* its share of the budget; 0: no limit */
    double finals_until, seconds;
};

/* The facts about sizes that a program of a member depends on. */
struct facts {
    int member, problem; /* the first that has them */
    int first_build;     /* of the member's first candidate */
    char *text;
    struct judged *judged; /* NULL: not made yet */
};

enum build_state { BUILD_NEW, BUILD_QUEUED, BUILD_READY, BUILD_BAD };
struct build {
    enum build_state state;
    bool verified;          /* its values are right, or there is no `ensures` */
    tw_occupancy occupancy; /* on a GPU, once it is loaded */
};

/* Makes the problems for the element type in turn, with their keys. Returns STATUS_OK, or another
 * status after printing a message. */
int tune_problems_make(struct tuning *t);
/* Returns the key of the first member that can be tuned for the problem; NULL: none can. */
const tw_tuned *tune_problem_key(const struct tuning *t, const struct problem *p);
void tune_problems_free(struct tuning *t);
/* Gives a launch the sizes of a problem. */
tw_status problem_set(const struct tuning *t, int problem, int member, tw_launch *l);
struct build *build_at(const struct tuning *t, int problem, int candidate);
struct trial *trial_at(const struct tuning *t, int problem, int candidate);
/* Returns the uncertainty of the median of the samples, in ms; -1: too few samples. */
double trial_noise(const struct trial *x);
/* Returns the indices of all candidates, the measured ones first, by time. The caller frees. */
int *trials_ranking(const struct tuning *t, const struct problem *p, int *measured);
/* Returns how many of the first ranks are statistically as fast as the first, whose notches
 * overlap: at least 1 if any was measured. */
int trials_within_noise(const struct problem *p, const int *order, int measured);
/* Returns the blocks per multiprocessor, by the driver or else by the estimate. */
int trial_resident(const struct tuning *t, int problem, int candidate);
/* Returns the candidate with the least time that differs from `other`; -1: none. */
int problem_fastest(const struct tuning *t, const struct problem *p, int other);
int problem_count(const struct tuning *t, const struct problem *p, enum trial_state state);

/* --- processes --- */

enum job_kind { JOB_ESTIMATE, JOB_COMPILE, JOB_MEASURE, JOB_TIME, JOB_VERIFY };

enum { SAMPLES_MOST = 8 };

struct job {
    enum job_kind kind;
    int candidate;
    int problem; /* JOB_ESTIMATE: the first of the problems with the same facts, for all of them */
    bool verify; /* JOB_MEASURE: its values first */
    bool anew;   /* JOB_TIME: its samples replace earlier ones */
    int count;   /* samples */
    double ms;   /* least length of a sample */
    double known_ms; /* of one run; 0: not known */
    double best_ms;  /* JOB_MEASURE: the problem's best so far; 0: none */
};

struct answer {
    struct job job;
    int problem; /* JOB_ESTIMATE: of the estimate */
    bool more;   /* another answer to this job follows */
    tw_status status;
    tw_estimate estimate;
    tw_occupancy occupancy;
    double samples[SAMPLES_MOST];
    int sample_count;
    bool verified; /* the values are right, or there is no `ensures` */
    bool judged;   /* by `ensures` */
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
    int answered; /* jobs */
    bool measures;
};

/* Starts a child that does jobs until its input ends. Returns false if it cannot be started. */
bool process_start(struct process *p, struct tuning *t);
bool process_give(struct process *p, const struct job *job); /* false: it is gone */
/* Receives one answer. Returns false if the process has ended; it is then reaped, and *ended
 * describes its end. */
bool process_take(struct process *p, struct answer *out, char **ended);
void process_kill(struct process *p);

/* --- values --- */

/* A run that judges a program: small sizes with the same facts, inputs and expected values. */
struct judged {
    tw_status status; /* not TW_OK: it cannot be made, see `why` */
    char why[300];
    tw_launch *launch;
    struct operands arrays;
    int facts;
    void **device;         /* copies of the arrays on the GPU, in the process that measures */
    tw_expected *expected; /* NULL: the kernel has no `ensures`, or it cannot be evaluated */
    bool own;              /* at the sizes of the problem */
};
/* Returns the run that judges programs of the candidate's member for the facts of the problem,
 * made by means of the candidate, which compiles. The facts own it. */
struct judged *judged_for(struct tuning *t, int problem, int candidate);
/* Makes a run at the problem's own sizes, or at smaller ones if `ensures` takes long there. */
struct judged *judged_own(struct tuning *t, int problem, int candidate);
void judged_free(struct judged *j);

/* --- the arrays of timed runs --- */

/* Memory for one parameter, as large as the largest problem needs, with all copies. */
struct pool_array {
    tw_param param;
    tw_array *shapes; /* by problem */
    size_t bytes;
    char *base;    /* in the process that measures: on the host, or on the device */
    char *pattern; /* of its contents, which repeat; on the host */
    size_t pattern_bytes, filled;
    bool is_exact; /* its contents depend on its shape */
};
struct pool {
    struct pool_array *list;
    int count;
    int *copies; /* by problem */
    bool open;
};
/* Finds the shapes of all arrays, by means of candidates that compile. Returns STATUS_OK, or
 * another status after printing a message. */
int pool_plan(struct tuning *t);
/* Allocates the arrays, in the process that measures. The launch, which compiles, tells how its
 * kernel uses them. */
tw_status pool_open(struct tuning *t, tw_launch *l);
/* Writes the contents for the problem, unless they are there. */
tw_status pool_fill(struct tuning *t, int problem, tw_launch *l);
void pool_close(struct tuning *t); /* frees the plan */
void *pool_at(const struct pool *p, int array, int problem, int copy);

/* --- a table --- */

struct table {
    bool wanted;
    int most;    /* variants */
    int *chosen; /* candidates */
    int count;
    double loss; /* the best of those chosen, in times of the best of all: geometric mean */
};
/* Chooses the variants from the times so far. */
void table_choose(struct tuning *t);
/* Lets the problems measure the chosen variants that were not measured there. Returns whether any is
 * missing. */
bool table_fill(struct tuning *t);
/* Writes the section of the device and the type in turn. Returns STATUS_OK, or another status after
 * printing a message. */
int table_write(struct tuning *t);

/* --- all of it --- */

struct tuning {
    const struct command *self;
    const struct options *given;
    tw_context *ctx;
    const char *family;       /* its name; NULL: the members are not one family */
    struct program *programs; /* of the command line */
    int program_count;
    struct member *members;
    int member_count;
    bool on_gpu;
    bool foreign; /* --stored: the results of a device that the model does not know */
    char *device; /* name in the store; NULL: the CPU's */
    int ordinal;  /* of the GPU */
    int multiprocessors;
    int64_t l2_bytes, memory_bytes;
    struct candidate *candidates;
    int candidate_count;
    struct shapes shapes; /* none: one problem, of --set */
    tw_dtype *types;      /* to tune for, one after the other; TW_DTYPE_NONE: as --type says */
    int type_count;
    tw_dtype type;           /* in turn */
    struct options settings; /* --set, --type with a name, and the others, without --tune */
    bool many;               /* several members, sizes or types */
    tw_store *store;
    /* options */
    double timeout, budget; /* seconds; budget 0: none */
    int64_t jobs, threads, finalists;
    bool again, exhaustive, to_json;
    bool known;         /* --known: only the variants that the family's tables name: */
    char **known_names; /* "kernel BM=64,BN=64" */
    int known_count;
    bool only_stored; /* --stored: nothing is measured */
    /* for the type in turn */
    struct problem *problems;
    int problem_count;
    struct facts *facts;
    int facts_count;
    struct build *builds;
    int build_count;
    struct pool pool;
    struct table table;
    /* while it runs */
    struct process *processes; /* the first measures */
    int process_count;
    double started;
    double kept_at; /* when results were last written to the store */
    int unsaved;    /* an upper limit of the results that are not yet written */
    bool in_child;  /* a child prints no messages: its answers have them */
    bool interrupted;
    bool headed; /* the head of the lines, or of the JSON, is printed */
    int undone;  /* problems without a winner */
    struct progress progress;
    struct json json;
};

/* Runs in a child: does jobs from `in` and answers to `out`, until `in` ends. */
void tune_work(struct tuning *t, int in, int out, bool measures);

/* Times a trial: takes job->count samples of job->ms milliseconds at least, of a candidate that is
 * compiled. *count: their number, smaller if one run takes longer. Returns TW_OK, or the status;
 * timer_why tells the reason. */
struct timer;
struct timer *timer_new(struct tuning *t);
tw_status timer_sample(struct timer *x, const struct job *job, double *samples, int *count);
/* Runs a program on the GPU with the arrays of `j`, whose outputs then hold its results, and fills
 * *occupancy. Returns as timer_sample does. */
tw_status timer_run(struct timer *x, const struct job *job, struct judged *j,
                    tw_occupancy *occupancy);
const char *timer_why(const struct timer *x);

/* Estimates, compiles and measures the candidates at all problems. Returns STATUS_OK, or another
 * status after printing a message. */
int tune_search(struct tuning *t);

/* The next measurement of a problem: a job; WAIT if programs are still being compiled; or the
 * problem is done. */
enum next { NEXT_JOB, NEXT_WAITS, NEXT_DONE };
enum next stage_next(struct tuning *t, int problem, struct job *out);
/* Returns whether the candidate is not worth a compilation for this problem, because it was slow at
 * the nearest ones; it is then marked. */
bool stage_skips(struct tuning *t, int problem, int candidate);
/* Sorts p->order, the most promising candidates first. */
void stage_order(struct tuning *t, int problem);
/* Gives the problem its share of the budget, when it becomes the first that is not done. */
void stage_share(struct tuning *t, int problem);
/* Lets the problems whose share ended too early go on, each with a share of the budget that is left.
 * Returns whether there are any. */
bool stage_go_on(struct tuning *t);
/* Takes the samples of an answer. */
void stage_take(struct tuning *t, const struct answer *a);

/* Loads the stored measurements of this version of the library, which need not be repeated. */
int keep_find(struct tuning *t);
int keep_open(struct tuning *t);
/* Takes the sizes for which the store has results of the members and the device. */
int stored_sizes(struct tuning *t);
/* Notes a result for the store. */
void keep_result(struct tuning *t, int problem, int candidate);
/* Writes the noted results, unless some were written less than 0.2 s ago and it is not `now`.
 * Returns false after printing a message. */
bool keep_write(struct tuning *t, bool now);

/* Prints what comes before the lines of many problems; the line of one that is done; and the results
 * for the type in turn. report_end ends JSON of many. */
void report_begin(const struct tuning *t);
void report_problem(struct tuning *t, int problem);
void report_all(struct tuning *t);
void report_end(struct tuning *t);
void json_report(struct tuning *t);

/* --list, --forget and --export. */
int tune_store_command(const struct command *self, const struct options *given);

#endif
