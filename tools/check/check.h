/* Checks kernels, one after the other. cmd_check.c has the static checks, check_sizes.c the
 * sizes of the runs, check_run.c the runs on the CPU engine, check_simulate.c those on the
 * simulator, check_refused.c the refusals by GPU targets, check_inputs.c runs on unusual inputs,
 * check_gaps.c the parts that were not checked, check_found.c the findings. */
#ifndef TW_CHECK_H
#define TW_CHECK_H

#include "cli/findings.h"
#include "cli/operands.h"
#include "cli/progress.h"
#include "check/remarks.h"
#include "cli/settings.h"
#include "cli/sim_options.h"
#include "check/space.h"
#include "cli/tensor.h"

enum { CHECK_CONFIGURATIONS = 20000 }; /* limit; a remark reports the rest */

/* Default configuration of a choice of types, on the simulated targets. */
struct check_default {
    int types;
    bool taken;              /* by one of them, or by `only` */
    const char *only;        /* another target that takes what they refuse; NULL: none */
    struct findings refusal; /* the latest refusal by the others; empty: none */
    bool of_sizes;           /* it is for the sizes of the run */
};

/* Inputs of a run: random values, or those of the FILL_… of the same name. */
enum check_inputs {
    CHECK_RANDOM,
    CHECK_WIDE,
    CHECK_NEGATIVE,
    CHECK_POSITIVE,
    CHECK_EXTREME,
    CHECK_ASCENDING
};

/* The values of an output in all runs so far. */
struct check_output {
    const char *name;
    tw_dtype dtype;
    int64_t elements; /* that were compared, of all runs */
    uint64_t value;   /* bits of the first, in the low bytes */
    bool varies;      /* some other differs from it */
};

/* Size that replaces the shape's: one that the kernel compares with a constant. */
struct check_pin {
    bool is_large;     /* beyond the shapes' sizes: a long run is interrupted, without a finding */
    const char *param; /* NULL: none */
    int64_t value, constant; /* the one that it is, or is next to */
};
enum { CHECK_PINS = 96 }; /* at most */

/* File that the command line names, or file of a member of a family. */
struct check_file {
    struct program program;
    int opened;             /* status */
    struct complaints said; /* then */
};

struct check {
    const struct command *self;
    const struct options *given;
    struct check_file **files;
    int file_count;
    struct program *program; /* of the present kernel */
    struct deadline deadline;
    int64_t threads;
    double run_began;   /* on the clock of seconds_now; 0: no present run */
    double longest_run; /* seconds */
    double time_limit;  /* seconds for one run, */
    double ends;        /* and the end of the command, on the clock of seconds_now; 0: none */
    struct findings findings;
    struct progress progress;
    struct json json;
    char *json_at_end; /* part of the output of --time-limit's timer */
    bool to_json, all, verbose, strict, no_run, no_sim;
    struct sim_options sim;
    enum fill fill; /* of the inputs that --fill does not name */
    /* of the present kernel */
    const char *name;
    tw_kernel *kernel;
    tw_launch *launch;
    tw_kernel *cpu_kernel; /* while `kernel` is for another target */
    tw_launch *cpu_launch;
    struct space space;
    enum check_inputs inputs;          /* of the present run */
    const char *only;                  /* the integer array that has them; NULL: all */
    struct check_pin pin;              /* of the present run */
    struct check_pin pins[CHECK_PINS]; /* for further runs */
    int pin_count;
    struct remarks slow;          /* reasons for slow ways of the default configuration */
    struct remarks unreached;     /* constants past which no size was tried to the end */
    int ascending_shape;          /* shape with ascending integers; -1: none */
    const char *ascending;        /* the only such array; NULL: all */
    struct check_output *outputs; /* that `ensures` describes, after runs with right values */
    int output_count;
    bool warned_of_refused;             /* a warning says that no GPU takes the kernel */
    const struct check_output *uniform; /* one that had a single value in all runs; NULL: none */
    bool wrong;                         /* its values on the CPU are wrong */
    bool on_zeros;                      /* they are, but right on zeroed outputs */
    int64_t past;                       /* a size of several blocks, */
    bool not_past;                      /* for which an `assume` does not hold */
    int configurations, runs, simulated;
    double simulated_from;        /* on the clock of seconds_now */
    char *not_run;                /* reason for skipping a shape, */
    bool unsuited;                /* for its sizes */
    struct remarks not_simulated; /* refused by a target */
    struct check_default *defaults;
    int default_count;
    struct remarks undecided; /* not decided by the synchronisation check, or by wide inputs */
    bool undecided_races;     /* by the synchronisation check */
    int status;
    tw_status outcome; /* reason of the status */
};

/* Numbers of the shapes, the sizes for the runs; parameters that are axes take their sizes in
 * turn. The simulator runs the first CHECK_SIMULATED. From CHECK_PAST on, it runs only those
 * whose blocks the earlier ones do not have. Configurations other than the default run the
 * ragged shape, and on the CPU engine also those from CHECK_PAST on. Shapes from CHECK_EVEN on
 * replace those if an `assume` does not hold for them. */
enum {
    CHECK_SHAPES = 13,
    CHECK_SIMULATED = 6,
    CHECK_PINNED = 1,
    CHECK_THIN = 2,
    CHECK_RAGGED = 4,
    CHECK_PAST = 7,
    CHECK_EVEN = 10
};

/* Raises the status, for that reason. */
void check_worse(struct check *c, int status, tw_status reason);
/* Turns the messages of a call that failed, or only warned, into findings. */
void check_take_messages(struct check *c, tw_status s, const char *what, const char *where);
/* Adds a finding about the time limit. `order` is the target and options of `run` for that
 * simulation, ":sm_90 --seed 3"; else "". */
void check_take_timeout(struct check *c, const char *where, const char *order);
/* Adds a remark, where remarks are shown, that the values could not be judged: with such inputs, too
 * many may overflow or be divided by zero. This is not a finding. Requires a call right after the
 * comparison. */
void check_take_unjudged(struct check *c, const char *inputs, const char *where);
/* Sets the deadline of the next calls: that of a run, or that of the work between runs. */
void check_set_deadline(struct check *c, bool of_run);
/* Gives the launch scalars and arrays for a run of a shape. *where describes the run so that the
 * user can repeat it, "m = 3, k = 7, BM = 64"; the caller frees. The caller calls operands_free
 * in either case. */
tw_status check_make_run(struct check *c, int shape, struct operands *arrays, char **where);
/* Fills outputs with the pattern of unwritten memory, or with zeros; fills the others by --fill. */
void check_fill(struct check *c, struct operands *arrays, int shape, bool zeros);
/* Returns whether the parameter is an output whose initial content --fill does not give. */
bool check_may_hold_anything(const struct check *c, const tw_param *p);
/* Returns whether the array may hold the present inputs: it is an input, and --fill does not
 * name it. CHECK_WIDE applies to floats, i8 and u8: sums of other integers
 * may overflow. */
bool check_may_vary(const struct check *c, const struct operand *o);
enum fill check_fill_of(enum check_inputs inputs);
/* Sets c->pins to the constants with which the kernel compares sizes, and their neighbours. The
 * other sizes are those of CHECK_PINNED. */
void check_find_pins(struct check *c);
/* Returns whether the array may hold ascending integers: it has integers that may be indices,
 * and --fill does not name it. */
bool check_may_ascend(const struct check *c, const tw_param *p);
/* Returns " --fill start=KIND" for each array of the present run that may ascend. The caller frees. */
char *check_integer_options(const struct check *c, enum fill kind);
/* Records that a run with the present pin's size was interrupted, because it takes too long. */
void check_take_unreached(struct check *c, const struct check_pin *pin);
/* Tells, for a shape past the tiles, whether the first CHECK_SIMULATED have one block along its
 * axis. */
bool check_needs_past(struct check *c, int shape);
/* Returns whether --fill names no output; the initial content of outputs then counts as
 * unwritten. */
bool check_watches_outputs(const struct check *c);
/* Runs the launch on the CPU engine, within --time-limit. */
tw_status check_run_once(struct check *c);
/* Compares the results of a simulated run with `ensures`. */
void check_verify(struct check *c, const struct operands *arrays, int shape, const char *where);
/* Returns whether the status means that the kernel excludes these sizes, which is not a finding. */
bool check_refuses_sizes(tw_status s);

/* Runs the launch in that shape, and compares with `ensures`. */
void check_run_shape(struct check *c, int shape);
/* Runs the kernel on the CPU engine. */
void check_runs(struct check *c);
/* Runs the kernel's PTX on the simulator. */
void check_simulated(struct check *c);

/* --- check_gaps.c: what was not looked at, of a kernel with which nothing is wrong --- */

/* Notes in c->undecided if the synchronisation check does not decide the present configuration. */
void check_ask_undecided(struct check *c);
/* Takes the outputs of a run whose values are right, to find those that never vary. */
void check_take_outputs(struct check *c, const struct operands *arrays);
/* Prints a line on standard error for each gap, unless -v prints it elsewhere. With --strict,
 * gaps fail. */
void check_say_gaps(struct check *c);

/* --- check_inputs.c: runs with other inputs than random ones --- */

/* Runs on the first suitable sizes. */
void check_other_inputs(struct check *c);
/* Runs with integers that ascend, such as the starts of rows; random ones rarely do. Keeps the
 * suitable shape for the simulator. */
void check_ascending_inputs(struct check *c);
/* Adds the options of a run with ascending inputs to the last finding. */
void check_note_ascending(struct check *c);

/* --- check_refused.c --- */

/* Records that the present configuration was simulated for its target. */
void check_target_takes(struct check *c);
/* Records that the target refuses the present configuration, which the CPU engine ran; the
 * latest call has the reason. `sizes` are those of the run if they may be the reason; of_sizes:
 * they are. */
void check_target_refuses(struct check *c, const char *sizes, bool of_sizes);
/* Returns a target that takes a default configuration that the simulated ones refuse; NULL: none. */
const char *check_other_target(struct check *c);
/* Reports each default configuration that the simulated targets refuse, and that was simulated for
 * another one, or runs only on the CPU: by a warning, or by an error if the kernel's head names the
 * target. */
void check_warn_of_refused(struct check *c, bool names_target);
void check_forget_refused(struct check *c);

#endif
