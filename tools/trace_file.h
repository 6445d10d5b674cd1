/* --trace and its options: the trace of a simulated run as a file (docs/trace.md). */
#ifndef TW_TRACE_FILE_H
#define TW_TRACE_FILE_H

#include "tool.h"
#include "tilewright_sim.h"

struct trace_file {
    const char *path; /* NULL: no trace is asked for, or it is written */
    tw_trace_options options;
};

/* STATUS_OK, or a status after a message. */
int trace_file_read(struct trace_file *t, const struct options *o);
/* Writes the trace of the run, if there is one; the first that is written is the only one. */
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
