/* The entries of builds, in the process that measures on a GPU.
 *
 * An entry starts with arguments by position, so a run costs the host little and a further problem
 * with the same facts compiles nothing. Each entry keeps its own workspace, and memory of the host.
 * If there are many, or if their workspace takes much of the GPU's memory, those that were used
 * longest ago are freed, and made again when they are needed. */
#ifndef TW_TUNE_ENTRIES_H
#define TW_TUNE_ENTRIES_H

#include "tilewright_entry.h"
#include "tune/tune.h"

struct entry_held {
    tw_entry *entry; /* NULL: not made yet, or freed */
    tw_occupancy occupancy;
    int64_t workspace; /* bytes, about */
    int64_t used;      /* number of its latest use */
};

struct entries {
    struct tuning *tuning;
    void *stream;
    struct entry_held *list; /* by build */
    int count;
    int64_t workspace, uses; /* of all */
    /* Called before an entry is freed. */
    void (*drop)(void *user, const tw_entry *entry);
    void *user;
};

void entries_open(struct entries *x, struct tuning *t, void *stream,
                  void (*drop)(void *user, const tw_entry *entry), void *user);
/* Gives the entry of a build, ready for the arguments. The launch has the candidate. Returns TW_OK,
 * or the status and the reason in `why`. */
tw_status entries_get(struct entries *x, int build, tw_launch *l, const tw_value *arguments,
                      int count, struct entry_held **out, char why[300]);
/* Runs the entry of a build with the arrays of `j`, whose outputs then hold its results. */
tw_status entries_run(struct entries *x, int build, tw_launch *l, struct judged *j,
                      tw_occupancy *occupancy, char why[300]);

#endif
