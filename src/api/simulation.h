/* One run of the simulator for a public call: the machine with its checks, and the result made
 * of their findings. */
#ifndef TW_SIMULATION_H
#define TW_SIMULATION_H

#include "api/objects.h"
#include "sass/sass.h"
#include "sim/sim.h"
#include "sim/sim_report.h"

/* The state of a run. The public function holds it, outside of the guard's frame, so that all of
 * it can be freed if memory runs out: `blocks` lists every block that the machine and its checks
 * took. */
struct simulation {
    tw_context *ctx;
    struct allocator allocator; /* the caller's, with a list of its blocks */
    struct simulation_block *blocks;
    /* Zeroed memory of the machine comes from the system, not from the caller. It may be larger
     * than the real memory, because only pages that are touched take any. */
    bool reserves;
    tw_sim_options options;
    tw_trace_options trace_options; /* if options.trace is not NULL */
    struct arena arena;
    struct arena later;         /* of the report and of observers that hear later */
    struct platform_lock *lock; /* of the blocks; NULL: one thread */
    struct sim *sim;
    struct sim_report report;
    struct sim_observer names; /* for the report, with any checks */
    struct sim_barrier_check *barriers;
    struct sim_counters *counters;
    struct sim_trace *trace; /* NULL: no trace is wanted */
    bool as_assembled;       /* also makes counters as assembled, */
    const struct sass *sass; /* from this code; NULL: from the rules alone */
    struct source suppressions;
    const struct ptx_module *module;
};

/* counted.c: the meaning of each counter, by number, and the counters as the public structs. */
extern const char *const counted_whats[];
const tw_counted *counted_new(struct arena *results, const struct sim_counters *c,
                              const struct ptx_module *module);

/* The result of a run that was not made. */
extern const tw_sim_result simulation_nothing;

/* Opens a simulation. options NULL: with all checks. */
tw_status simulation_open(struct simulation *s, tw_context *ctx, const tw_sim_options *options,
                          tw_sim_result *result);
void simulation_close(struct simulation *s);

/* Within context_call: makes the machine, loads the module and sets up the checks of the
 * options. Returns TW_OK, or reports. */
tw_status simulation_load(struct simulation *s, const struct ptx_module *module,
                          const struct source *source);
/* Adds the counters as assembled to the counters, if those are wanted. sass may be NULL. */
void simulation_as_assembled(struct simulation *s, const struct sass *sass);
/* Runs the launch. The result lives in `results`, which is emptied first; the findings are also
 * reported. Fills in the simulator options that the caller's options contain. */
tw_status simulation_run(struct simulation *s, struct sim_launch *launch, struct arena *results,
                         tw_sim_result *result);

#endif
