/* `check` of one kernel after the other: cmd_check.c has the static checks, check_sizes.c what is
 * run, check_run.c the runs on the CPU engine, check_simulate.c those on the simulator,
 * check_refused.c what GPU targets do not take, check_inputs.c runs on unlike inputs, check_gaps.c what
 * was not looked at, check_found.c what came of it. */
#ifndef TW_CHECK_H
#define TW_CHECK_H

#include "findings.h"
#include "operands.h"
#include "progress.h"
#include "remarks.h"
#include "settings.h"
#include "sim_options.h"
#include "space.h"
#include "tensor.h"

enum { CHECK_CONFIGURATIONS = 20000 }; /* more than that are not looked at; said so */

/* The default configuration of a choice of types, on the targets that are simulated. */
struct check_default {
    int types;
    bool taken;              /* by one of them */
    struct findings refusal; /* what the latest of the others says; empty: none refused it */
};

/* The inputs of a run: random values, or those that FILL_… of the same name makes. */
enum check_inputs {
    CHECK_RANDOM,
    CHECK_WIDE,
    CHECK_NEGATIVE,
    CHECK_POSITIVE,
    CHECK_EXTREME,
    CHECK_ASCENDING
};

/* A size that a run has instead of the shape's: one that the kernel compares with a constant. */
struct check_pin {
    bool
        is_large; /* beyond the sizes of shapes: a run that takes long is broken off, and no finding */
    const char *param;       /* NULL: none */
    int64_t value, constant; /* the one that it is, or is next to */
};
enum { CHECK_PINS = 96 }; /* at most */

struct check {
    const struct command *self;
    const struct options *given;
    struct program *programs; /* one for each FILE */
    int *opened;              /* its status */
    struct complaints *said;  /* what was said then */
    struct program *program;  /* of the kernel at hand */
    struct deadline deadline;
    double run_began;   /* on the clock of seconds_now; 0: no run is under way */
    double longest_run; /* seconds */
    double time_limit;  /* seconds for one run, */
    double ends; /* and when the command ends, on the clock of seconds_now; 0: when it is done */
    struct findings findings;
    struct progress progress;
    struct json json;
    char *json_at_end; /* what the timer of --time-limit prints of it */
    bool to_json, all, verbose, strict, no_run, no_sim;
    struct sim_options sim;
    /* of the kernel at hand */
    const char *name;
    tw_kernel *kernel;
    tw_launch *launch;
    tw_kernel *cpu_kernel; /* while another target's is at hand */
    tw_launch *cpu_launch;
    struct space space;
    enum check_inputs inputs;          /* of the run at hand */
    const char *only;                  /* of integer arrays, the one that has them; NULL: all */
    struct check_pin pin;              /* of the run at hand */
    struct check_pin pins[CHECK_PINS]; /* for further runs */
    int pin_count;
    struct remarks unreached; /* constants past which no size was tried to the end */
    int ascending_shape;      /* in which the kernel takes ascending integers; -1: in none */
    const char *ascending;    /* in this array alone; NULL: in all */
    bool wrong;               /* its values on the CPU are */
    bool on_zeros;            /* they are, and right where outputs hold zeros before */
    int64_t past;             /* a size of several blocks, */
    bool not_past;            /* for which an `assume` does not hold */
    int configurations, runs, simulated;
    double simulated_from;        /* on the clock of seconds_now */
    char *not_run;                /* why a shape was passed over, */
    bool unsuited;                /* for its sizes */
    struct remarks not_simulated; /* what a target did not take */
    struct check_default *defaults;
    int default_count;
    struct remarks undecided; /* what the synchronisation check could not decide, nor wide inputs */
    bool undecided_races;     /* the synchronisation check could not */
    int status;
    tw_status outcome; /* the reason of the status */
};

/* Sizes for the runs, by number; parameters that are axes take them in turn. The simulator runs the
 * first CHECK_SIMULATED, and of those from CHECK_PAST on the ones with blocks that these do not
 * have; other configurations than the default the ragged one, on the CPU engine also those from
 * CHECK_PAST on; those from CHECK_EVEN on where an `assume` does not hold for these. */
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
/* Messages of a call that went wrong (or only warned) become findings. */
void check_take_messages(struct check *c, tw_status s, const char *what, const char *where);
/* order: the target and options of `run` for that simulation, ":sm_90 --seed 3"; else "". */
void check_take_timeout(struct check *c, const char *where, const char *order);
/* The deadline of the next calls: of a run, or of what is around runs. */
void check_set_deadline(struct check *c, bool of_run);
/* Gives the launch scalars and arrays for a run of a shape; operands_free in any case. *where,
 * which the caller frees: "m = 3, k = 7, BM = 64", what it takes to make the run again. */
tw_status check_make_run(struct check *c, int shape, struct operands *arrays, char **where);
/* Outputs as nobody has written them, or as zeros; the others as --fill says. */
void check_fill(struct check *c, struct operands *arrays, int shape, bool zeros);
/* An output may hold anything before the launch, unless --fill says what. */
bool check_may_hold_anything(const struct check *c, const tw_param *p);
/* Tells whether the array may hold the present inputs: it is an input, and --fill does not name it.
 * CHECK_WIDE is for floats and i8, because other integers may be indices. */
bool check_may_vary(const struct check *c, const struct operand *o);
enum fill check_fill_of(enum check_inputs inputs);
/* Sizes at and next to constants that the kernel compares them with: c->pins. The other sizes are of
 * CHECK_PINNED. */
void check_find_pins(struct check *c);
/* A size of the pin at hand is not tried to the end: it takes too long. */
void check_take_unreached(struct check *c, const struct check_pin *pin);
/* Of a shape past the tiles: whether the first CHECK_SIMULATED have one block along its axis. */
bool check_needs_past(struct check *c, int shape);
/* Whether no output was given anything by --fill: then what it holds counts as never written. */
bool check_watches_outputs(const struct check *c);
/* Runs the launch on the CPU engine, as long as --time-limit says. */
tw_status check_run_once(struct check *c);
/* Compares with `ensures` what a simulation left of such a run. */
void check_verify(struct check *c, const struct operands *arrays, int shape, const char *where);
/* Sizes that the kernel says it does not take are no finding. */
bool check_refuses_sizes(tw_status s);

/* Runs the launch in that shape, and compares with `ensures`. */
void check_run_shape(struct check *c, int shape);
/* The kernel on the CPU engine. */
void check_runs(struct check *c);
/* The emitted PTX of the kernel, on the simulator. */
void check_simulated(struct check *c);

/* --- check_gaps.c: what was not looked at, of a kernel with which nothing is wrong --- */

/* Tells whether the synchronisation check decides the present configuration. */
void check_ask_undecided(struct check *c);
/* A line on standard error for each, without -v, which says it elsewhere; --strict: they fail. */
void check_say_gaps(struct check *c);

/* --- check_inputs.c: runs with other inputs than random ones --- */

/* On the first sizes that suit. */
void check_other_inputs(struct check *c);
/* Integers that ascend, such as the starts of rows, which random ones rarely do. Keeps the shape that
 * suits for the simulator. */
void check_ascending_inputs(struct check *c);
/* Tells whether the array may hold ascending integers: it has integers that may be indices, and
 * --fill does not name it. */
bool check_may_ascend(const struct check *c, const tw_param *p);
/* " --fill start=iota" for each array that does in the run at hand. The caller frees. */
char *check_ascending_options(const struct check *c);
/* Adds the options of a run with ascending inputs to the last finding. */
void check_note_ascending(struct check *c);

/* The configuration at hand was simulated for its target. */
void check_target_takes(struct check *c);
/* The latest call says why the target does not take the configuration at hand, which the CPU engine
 * ran; sizes: with which, where these are the reason. */
void check_target_refuses(struct check *c, const char *sizes);
/* A warning for each default configuration that no target takes: such a kernel is right, and for
 * the CPU alone. */
void check_warn_of_refused(struct check *c);
void check_forget_refused(struct check *c);

#endif
