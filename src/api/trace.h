/* Traces of a launch: what the simulator's trace is told of the program. */
#ifndef TW_TRACE_H
#define TW_TRACE_H

#include "api/launch_params.h"
#include "api/simulation.h"

/* Settings that a launch and a PTX program share. */
void trace_settings(struct simulation *s, const char *kernel, const char *target,
                    const struct source *source);
/* The launch's arrays, whose addresses are known, its variables, and its accesses. */
void trace_launch(struct simulation *s, const tw_launch *l, const struct launch_params *params);
/* The loops of the source, and where their turns are in the code. */
void trace_loops(struct simulation *s, const tw_launch *l);
/* After the run: the path of the value that was asked for. */
const tw_why *trace_keep_why(struct simulation *s, struct arena *results);
/* The tiles in shared memory, which begins at `base`. */
void trace_tiles(struct simulation *s, const tw_launch *l, uint64_t base);

#endif
