/* Times contenders in turn on a GPU.
 *
 * Each contender runs over copies of its arrays, one after the other, so that a run finds no
 * data of the previous run in the cache. A batch is a number of runs between two events. A round
 * is batches of one contender for a fixed time, then of the next, so that all contenders run at
 * the same clocks and temperatures. The result is the median, over the rounds, of the median of
 * each round's batches. */
#ifndef TW_ROUNDS_H
#define TW_ROUNDS_H

#include "cli/graph_calls.h"
#include "tilewright.h"

enum { ROUNDS_MOST = 64, ROUND_BATCHES = 20 };

/* GPU that runs the contenders: a context for memory, and a stream. */
struct timing_gpu {
    tw_context *ctx;
    void *stream;
    void *events[ROUND_BATCHES + 1];
    int64_t l2_bytes;
    struct graph_calls graphs;
    bool has_graphs;
    int rounds;
    double round_seconds; /* of one contender */
};
/* Opens a GPU. Returns STATUS_OK, or another status after printing a message. The caller calls
 * gpu_close in either case. */
int gpu_open(struct timing_gpu *g, int ordinal);
void gpu_close(struct timing_gpu *g);

struct contender {
    char name[48];
    char note[200]; /* remark for its row: the layout that it needed */
    /* Starts a run on the stream with the arrays of copy `copy`. Returns false if that fails;
     * `why` is the reason. */
    bool (*start)(struct contender *c, int copy);
    void *user;
    int copies;
    char why[400]; /* "": it takes part */

    int next;      /* copy */
    int64_t batch; /* runs */
    void *graph;   /* NULL: runs start one by one */
    int64_t graph_runs;
    double ms[ROUNDS_MOST]; /* of one run, by round */
    int64_t runs;           /* measured in all */
};

/* Returns the time of one run in milliseconds, estimated from a short batch after a warm-up
 * batch; short runs are recorded as a graph. Returns a negative number and sets c->why on
 * failure. */
double contender_estimate(struct timing_gpu *g, struct contender *c);
/* Takes `count` samples, at most ROUND_BATCHES, of at least `ms` milliseconds each, one after the
 * other; out[i] is the time of one run in sample i. known: the time of one run; 0: it is found from a
 * first run, which is the only sample if it takes that long. Short runs are recorded as a graph,
 * which the contender keeps. Returns the number of samples; 0 on failure, and sets c->why. */
int contender_sample(struct timing_gpu *g, struct contender *c, double known, double ms, int count,
                     double *out);
/* Times all rounds. A contender that fails gets `why` and takes no further part. If one of them
 * is so short that the host may not keep up, all are started as graphs; if one of them cannot be
 * recorded, none is. The caller calls contender_close for each contender that was estimated or
 * timed. */
void contenders_time(struct timing_gpu *g, struct contender *const *list, int count);
void contender_close(struct timing_gpu *g, struct contender *c);
double contender_ms(const struct timing_gpu *g,
                    const struct contender *c); /* the median of the rounds */
/* Returns the median, over the rounds, of b's time divided by a's: the relative speed of a. */
double contender_ratio(const struct timing_gpu *g, const struct contender *a,
                       const struct contender *b);

#endif
