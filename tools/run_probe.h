/* run --probe and --break: what a run shows of values on its way. */
#ifndef TW_RUN_PROBE_H
#define TW_RUN_PROBE_H

#include "json.h"
#include "target.h"
#include "tilewright_look.h"

/* A value that was shown. */
struct probe_row {
    int site;
    const char *name; /* the site's */
    int thread[3];
    int64_t step;   /* which assignment of the name it is, from 1, by thread */
    int64_t number; /* which row of its thread */
    char *counters; /* "k = 32, i = 1"; "": there is no loop */
    char *value;    /* as print() writes it; NULL: the place of a stop */
};

struct run_probe {
    tw_probe probes[TW_MOST_PROBES];
    tw_probe_options options;
    int64_t stop_at, most_rows;    /* which time of the line; rows that are kept */
    struct probe_row *rows, *stop; /* in the order in which they came; of the stop */
    int row_count, stop_count;
    int64_t left_out, stops; /* rows past most_rows; times that the line was reached */
    bool asked, recording, stopped, by_thread;
    char *line; /* the part of a line that has come */
    tw_launch *launch;
    FILE **print; /* where rows of the kernel's own print() go */
    struct deadline *deadline;
};

/* Reads --probe, --break, --in-block, --in-thread and --probe-rows. STATUS_OK, or a status after a message;
 * run_probe_free in either case. */
int run_probe_read(struct run_probe *p, const struct options *o);
void run_probe_free(struct run_probe *p);
/* The print callback of a context; `user` is the run_probe. */
void run_probe_take(void *user, const char *text, size_t length);
/* Makes the launch show the values, and records them from now on. */
tw_status run_probe_begin(struct run_probe *p, tw_launch *l);
/* Ends that. Orders the rows of threads, so that the CPU engine and the simulator show the same. */
void run_probe_end(struct run_probe *p);
/* Prints what was shown; the JSON keys are "probes" and "stop" of an open object. */
void run_probe_report(const struct run_probe *p);
void run_probe_json(const struct run_probe *p, struct json *j);
/* --break: STATUS_FAILED after a message if the line was not reached that often. */
int run_probe_status(const struct run_probe *p, struct complaints *c);

#define OPTIONS_PROBE                                                                              \
    {.name = "probe",                                                                              \
     .values = 1,                                                                                  \
     .value = "NAME[,NAME]",                                                                       \
     .help = "shows a variable or tile each time it is assigned, with line, loop counters and\n"   \
             "step; acc[0:4][8:16]: that part of it; long axes are shown by their ends"},          \
        {.name = "break",                                                                          \
         .values = 1,                                                                              \
         .value = "LINE[:N]",                                                                      \
         .help = "stops before the line, the N-th time (default 1), and shows all names that\n"    \
                 "have a value there"},                                                            \
        {.name = "in-block",                                                                       \
         .values = 1,                                                                              \
         .value = "X[,Y[,Z]]",                                                                     \
         .help = "the block of --probe, --break, --trace and --why (default 0,0,0)"},              \
        {.name = "trace-block", .values = 1, .now = "in-block"},                                   \
        {.name = "in-thread",                                                                      \
         .values = 1,                                                                              \
         .value = "X[,Y[,Z]]",                                                                     \
         .help = "thread level: the thread of --probe (default: all) and --break (0,0,0)"},        \
    {                                                                                              \
        .name = "probe-rows", .values = 1, .value = "N",                                           \
        .help = "values that --probe shows at most (default 200)"                                  \
    }

#endif
