/* `run` of one kernel: run_arrays.c has its arrays, from files or made here; run_launch.c its
 * launches; run_verify.c the comparison with `ensures`; cmd_run.c the command and what it reports. */
#ifndef TW_RUN_H
#define TW_RUN_H

#include "run_probe.h"
#include "sim_options.h"
#include "target.h"
#include "tensor.h"
#include "trace_file.h"
#include "why.h"
#include "wrong_values.h"
#include "tilewright_sim.h"

/* One pointer parameter of the kernel. */
struct given_array {
    tw_param param;
    tw_array array;
    char *in, *out; /* files, or NULL */
    enum fill fill;
    void *before, *after; /* what it held before the first run and after the last, when the kernel
                             may write it */
    void *in_turn;        /* after a run with the warps in turn; NULL: there was none */
    bool is_given;
    bool unwritten; /* no option says what it starts with, and `ensures` says what it ends with */
};

struct run {
    const struct options *given;
    struct complaints complaints;
    struct program program;
    tw_kernel *kernel;
    tw_launch *launch;
    struct given_array *arrays;
    int array_count;
    int64_t seed, repeat;
    double time_limit; /* seconds of the whole command; 0: any number */
    struct deadline deadline;
    bool json, verify;
    bool despite, worst; /* --despite race, --order worst */
    double *seconds;     /* of each run */
    tw_verdict verdict;
    struct wrong_values wrong;
    tw_status verified;
    char *taken; /* by --tuned, in words */
    char *view;  /* the verdict's, kept */
    bool reported;
    bool simulated;
    bool again; /* it was right once, on outputs that held zeros */
    struct sim_options sim;
    struct trace_file trace;
    struct why why;
    struct run_probe probe;
    tw_sim_result found;
    char *counters, *found_json, *found_report; /* of the run that is reported, kept */
    FILE *print;                                /* of kernels; NULL: dropped */
};

/* --- run_arrays.c --- */

/* The kernel's pointer parameters, with what --in, --out and --fill say of them. */
int run_gather(struct run *r);
int run_read_inputs(struct run *r);
/* Arrays that no file gives, once the sizes are known. */
int run_make_arrays(struct run *r);
int run_write_outputs(struct run *r);
bool run_any_unwritten(const struct run *r);

/* --- run_launch.c --- */

/* As long as --time-limit says. */
tw_status run_launch(struct run *r, double *seconds);
/* The launch with that number, from 0: of all that are made each begins on the same arrays. */
int run_turn(struct run *r, int64_t turn);
/* A status other than TW_OK. */
int run_say_failed(struct run *r, tw_status s);

/* --- run_races.c --- */

/* Tells whether the simulation came to its end and found nothing but races. */
bool run_found_only_races(const struct run *r);
/* Keeps what the last run left, to compare later ones with. */
void run_keep_in_turn(struct run *r);
/* Runs several orders of warps, each on the same arrays, and then once more the one that leaves the most wrong values, or
 * without `ensures` the most that differ from the run in turn. */
tw_status run_worst_order(struct run *r, double *seconds);
/* Prints the findings to standard error, and the worst order to standard output. */
void run_races_say(const struct run *r);
/* Keys of an open object: order, order_seed, in_turn. */
void run_races_json(const struct run *r, struct json *j);

/* --- run_verify.c --- */

/* What the last run left; what is wrong is said. */
void run_verify(struct run *r);
/* The error that is allowed at the worst element over the size of the outputs; 0 where it is no
 * more than a few roundings of their type, or a hundredth. A wrong value may be in it: where many
 * terms are added up, a term is less than the sum's rounding. */
double run_wide_tolerance(const struct run *r);
void run_report_verified(const struct run *r);

#endif
