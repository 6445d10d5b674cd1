/* Traces of a launch: the description of the program that the simulator's trace gets. */
#ifndef TW_TRACE_H
#define TW_TRACE_H

#include "api/launch_params.h"
#include "api/simulation.h"

/* Adds the settings that a launch and a PTX program share. */
void trace_settings(struct simulation *s, const char *kernel, const char *target,
                    const struct source *source);
/* Adds the launch's arrays, whose addresses are known, its variables, and its accesses. */
void trace_launch(struct simulation *s, const tw_launch *l, const struct launch_params *params);
/* Adds the loops of the source, and the places of their iterations in the code. */
void trace_loops(struct simulation *s, const tw_launch *l);
/* After the run: returns the path of the value that the options name. */
const tw_why *trace_keep_why(struct simulation *s, struct arena *results);
/* Adds the tiles in shared memory, which begins at `base`. */
void trace_tiles(struct simulation *s, const tw_launch *l, uint64_t base);

#endif
