/* One run of the simulator for a public call: the machine with its checks, and the result made of
 * what they found. */
#ifndef TW_SIMULATION_H
#define TW_SIMULATION_H

#include "api/objects.h"
#include "ptx/sass.h"
#include "sim/sim.h"
#include "sim/sim_report.h"

/* Held by the public function, outside of the guard's frame, so that all of it can be freed when
 * memory runs out: whatever the machine and its checks were doing then, each block that they took
 * is in `blocks`. */
struct simulation {
    tw_context *ctx;
    struct allocator allocator; /* the caller's, and a list of what it gave */
    struct simulation_block *blocks;
    /* The machine's memory of zeros is the system's, not the caller's: it may be more than there
     * is, as only what is touched takes any. */
    bool reserves;
    tw_sim_options options;
    tw_trace_options trace_options; /* if options.trace is not NULL */
    struct arena arena;
    struct sim *sim;
    struct sim_report report;
    struct sim_observer names; /* for the report, whatever is watched */
    struct sim_barrier_check *barriers;
    struct sim_counters *counters;
    struct sim_trace *trace; /* NULL: none is asked for */
    bool as_assembled;       /* counters as assembled are asked for too, */
    const struct sass *sass; /* by this machine code; NULL: by the rules alone */
    struct source suppressions;
    const struct ptx_module *module;
};

/* counted.c: what each counter counts, by number, and the counters as the public structs. */
extern const char *const counters_what[];
const tw_counted *counted_new(struct arena *results, const struct sim_counters *c,
                              const struct ptx_module *module);

/* The result of a run that was not made. */
extern const tw_sim_result simulation_nothing;

/* options NULL: all checks. */
tw_status simulation_open(struct simulation *s, tw_context *ctx, const tw_sim_options *options,
                          tw_sim_result *result);
void simulation_close(struct simulation *s);

/* Within context_call: the machine, with the module loaded and the checks that the options ask for.
 * TW_OK, or reported. */
tw_status simulation_load(struct simulation *s, const struct ptx_module *module,
                          const struct source *source);
/* Counters, where they are asked for, come with those as assembled. sass may be NULL. */
void simulation_as_assembled(struct simulation *s, const struct sass *sass);
/* Runs it; the result lives in `results`, which is emptied first. The findings are reported too.
 * The options of the simulator that the caller's options have are filled in. */
tw_status simulation_run(struct simulation *s, struct sim_launch *launch, struct arena *results,
                         tw_sim_result *result);

#endif
