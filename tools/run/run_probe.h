/* Implements run --probe and --break: shows intermediate values of a run. */
#ifndef TW_RUN_PROBE_H
#define TW_RUN_PROBE_H

#include "cli/json.h"
#include "cli/target.h"
#include "tilewright_look.h"

/* Value that the kernel showed at a probe or a stop. */
struct probe_row {
    int site;
    const char *name; /* the site's */
    int thread[3];    /* thread[0] < 0: a tile of the block, or of a block without threads(…) */
    int64_t step;     /* assignment of the name, per thread, from 1 */
    int64_t number;   /* number within its thread */
    char *counters;   /* "k = 32, i = 1"; "": no loop */
    char *value;      /* as print() writes it; NULL: only a stop's place */
};

/* Values at one visit of the line of --break. */
struct probe_stop {
    int group;     /* the first of its sites: a line in a function has one group for each call */
    int64_t visit; /* of the line, from 1; 0: its place has not arrived yet */
    int count;     /* rows that arrived */
    bool complete; /* all rows arrived, in the order of the sites */
    struct probe_row *rows;
};

/* The stops of a run. run_stops.c */
struct run_stops {
    int64_t wanted, visits;  /* the visit to stop at; visits so far */
    struct probe_stop *list; /* in order of arrival */
    int count;
    bool prompts;                     /* the run goes to its end and keeps the rows of all stops */
    int kept;                         /* with rows, sorted by visit; set by run_stops_end */
    const struct probe_stop *reached; /* the wanted one; with prompts, perhaps incomplete */
};

/* Numbers of rows that a thread, or the block, has shown: of each probe, and of all together. */
struct probe_thread {
    int thread[3];
    int64_t *rows; /* NULL: no thread */
};

struct run_probe {
    tw_probe probes[TW_MOST_PROBES];
    tw_probe_options options;
    struct run_stops stops;
    int64_t most_rows;      /* limit of shown rows */
    struct probe_row *rows; /* sorted when the run has ended */
    int64_t row_count, row_room;
    int64_t left_out;             /* rows past most_rows */
    struct probe_thread *threads; /* NULL: no row arrived yet */
    bool asked, recording, ran;   /* ran: a run has ended */
    char *line;                   /* received part of an unfinished line */
    tw_launch *launch;
    FILE **print; /* output of the kernel's own print() */
    struct deadline *deadline;
};

/* Reads --probe, --break, --in-block, --in-thread and --probe-rows. Returns STATUS_OK, or
 * another status after printing a message. The caller calls run_probe_free in either case. */
int run_probe_read(struct run_probe *p, const struct options *o);
void run_probe_free(struct run_probe *p);
/* Receives the output of print() as the callback of a context; `user` is the run_probe. */
void run_probe_take(void *user, const char *text, size_t length);
/* Makes the launch show the values, and starts recording them. */
tw_status run_probe_begin(struct run_probe *p, tw_launch *l);
/* Stops recording. Sorts the rows by thread, so that the CPU engine and the simulator show the
 * same order. */
void run_probe_end(struct run_probe *p);
/* Prints the recorded values. run_probe_json adds them to an open object under the keys "probes"
 * and "stop". */
void run_probe_report(const struct run_probe *p);
void run_probe_json(const struct run_probe *p, struct json *j);
/* Print parts of a row: " block (0,0,0) thread (3,0,0) k = 32", "f32[64][64]", and the value, with
 * a line for each row of a tile. */
void probe_row_print_place(const struct run_probe *p, const struct probe_row *row);
void probe_row_print_type(const tw_probe_site *site);
void probe_row_print_value(const struct probe_row *row, int rank, int indent);
void probe_row_free(struct probe_row *row); /* its texts */
/* Returns STATUS_FAILED after printing a message if the run did not reach the line of --break as
 * often as requested. */
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
                 "have a value there; on a terminal, a prompt walks all stops after the run"},     \
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
