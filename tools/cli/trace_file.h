/* Implements --trace and its options: writes the trace of a simulated run to a file
 * (docs/trace.md). */
#ifndef TW_TRACE_FILE_H
#define TW_TRACE_FILE_H

#include "cli/tool.h"
#include "tilewright_sim.h"

struct trace_file {
    const char *path; /* NULL: no trace, or already written */
    tw_trace_options options;
};

/* Reads the options. Returns STATUS_OK, or another status after printing a message. */
int trace_file_read(struct trace_file *t, const struct options *o);
/* Writes the trace of the run, if there is one. Only the first call with a trace writes. */
int trace_file_write(struct trace_file *t, const tw_sim_result *result,
                     struct complaints *complaints);

/* Reads "X", "X,Y" or "X,Y,Z". */
bool read_block(const char *text, int64_t block[3]);

#define OPTIONS_TRACE                                                                              \
    {.name = "trace",                                                                              \
     .values = 1,                                                                                  \
     .value = "OUT",                                                                               \
     .help = "sim: what one block did, event by event, as a file; OUT.json: for Perfetto and\n"    \
             "chrome://tracing"},                                                                  \
        {.name = "trace-events",                                                                   \
         .values = 1,                                                                              \
         .value = "N",                                                                             \
         .help = "events that are kept at most (default 200000)"},                                 \
    {                                                                                              \
        .name = "trace-from", .values = 1, .value = "TIME",                                        \
        .help = "leaves out events before the block has executed TIME warp instructions"           \
    }

#endif
