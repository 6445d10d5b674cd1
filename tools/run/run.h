/* Runs one kernel for `run`. run_arrays.c reads or creates its arrays, run_launch.c launches it,
 * run_repeat.c launches it several times, run_verify.c compares the results with `ensures`, and cmd_run.c holds the command and its
 * report. */
#ifndef TW_RUN_H
#define TW_RUN_H

#include "cli/chosen.h"
#include "run/profiled.h"
#include "run/run_probe.h"
#include "cli/sim_options.h"
#include "cli/target.h"
#include "cli/tensor.h"
#include "cli/trace_file.h"
#include "cli/why.h"
#include "cli/wrong_values.h"
#include "tilewright_sim.h"

/* Pointer parameter of the kernel. */
struct given_array {
    tw_param param;
    tw_array array;
    char *in, *out; /* files, or NULL */
    enum fill fill;
    void *before, *after; /* contents before the first run and after the last, if the kernel may
                             write it */
    void *in_turn;        /* after a run with the warps in turn; NULL: no such run */
    bool is_given;
    bool is_atomic; /* an atomic operation changes elements: a value that stays may be written */
    bool unwritten; /* no option fills it, and `ensures` constrains its final values */
};

struct run {
    const struct options *given;
    struct complaints complaints;
    struct program program;
    const char *target; /* that the kernel is compiled for; NULL: the CPU engine */
    tw_kernel *kernel;
    tw_launch *launch;
    struct given_array *arrays;
    int array_count;
    int64_t seed, repeat;
    double time_limit; /* seconds for the whole command; 0: no limit */
    struct deadline deadline;
    bool json, verify;
    bool despite, worst; /* --despite race, --order worst */
    double *seconds;     /* of each run */
    tw_verdict verdict;
    struct wrong_values wrong;
    tw_status verified;
    char *taken;          /* by --tuned, in words */
    struct chosen chosen; /* of a family */
    char *view;           /* copy of the verdict's */
    bool reported;
    bool simulated;
    bool again; /* outputs were right with zeros as their initial content; now they get other
                 * content */
    struct sim_options sim;
    struct trace_file trace;
    struct why why;
    struct run_probe probe;
    struct profile profile;
    char *processor; /* of its roofs */
    bool explains;   /* explain --device cpu: only the profile is reported */
    tw_sim_result found;
    char *counters, *found_json, *found_report; /* saved from the run that is reported */
    FILE *print;                                /* of kernels; NULL: dropped */
};

/* --- run_arrays.c --- */

/* Collects the kernel's pointer parameters and applies --in, --out and --fill to them. */
int run_gather(struct run *r);
int run_read_inputs(struct run *r);
/* Gives the arrays of the files to the launch of the kernel that was chosen. */
int run_give_inputs(struct run *r);
/* Creates the arrays that no file provides. Requires known sizes. */
int run_make_arrays(struct run *r);
int run_write_outputs(struct run *r);
bool run_any_unwritten(const struct run *r);

/* --- run_launch.c --- */

/* Makes one launch; stops it when --time-limit has passed. */
tw_status run_launch(struct run *r, double *seconds);
/* Before the first run, saves the contents of the arrays that the kernel writes. Before later
 * runs, restores them. */
void run_prepare_arrays(struct run *r, bool first);
/* Saves the outputs of the last run, to compare later runs with them. */
void run_keep_in_turn(struct run *r);
/* Reports a status other than TW_OK. Returns the exit status of the command. */
int run_say_failed(struct run *r, tw_status s);

/* --- run_repeat.c --- */

/* Makes launch `number` of --repeat, from 0. Every launch starts with the same array contents. */
int run_repetition(struct run *r, int64_t number);
/* Runs a few times more on the same array contents, alternately without and with a profile. Keeps
 * a profile whose time is close to the least. */
int run_profiled(struct run *r);

/* --- cmd_run.c --- */

/* Runs a kernel on generated data, and reports its profile and the roofs of this machine: explain
 * --device cpu. Returns the exit status. */
int run_to_explain(const struct command *self, const struct options *given);

/* --- run_races.c --- */

/* Runs several orders of warps, each on the same array contents. Then repeats the worst one: the
 * order with the most wrong values or, without `ensures`, with the most values that differ from
 * the run in turn. */
tw_status run_worst_order(struct run *r, double *seconds);
/* Prints the findings to standard error, and the worst order to standard output. */
void run_races_say(const struct run *r);
/* Adds the keys order, order_seed and in_turn to an open object. */
void run_races_json(const struct run *r, struct json *j);

/* --- run_verify.c --- */

/* Verifies the outputs of the last run and reports wrong values. */
void run_verify(struct run *r);
/* Returns the allowed error at the worst element, relative to the magnitude of the outputs.
 * Returns 0 if that is at most a few roundings of their type, or at most a hundredth. A larger
 * tolerance can hide a wrong value: in a sum of many terms, one term is smaller than the
 * rounding of the sum. */
double run_wide_tolerance(const struct run *r);
void run_report_verified(const struct run *r);

#endif
