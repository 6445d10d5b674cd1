/* Contenders timed in turn on a GPU.
 *
 * Each runs over copies of its arrays, one after the other, so that a run finds nothing in the
 * cache that the run before left there. A batch is some runs between two events; a round is batches
 * of one contender for a steady while, then of the next, so that all see the same clocks and heat.
 * What counts is the median over the rounds of the median of a round's batches.
 */
#ifndef TW_BENCH_ROUNDS_H
#define TW_BENCH_ROUNDS_H

#include "bench_graph.h"
#include "tilewright.h"

enum { ROUNDS_MOST = 64, ROUND_BATCHES = 20 };

/* Where things run: a context for memory, and a stream. */
struct gpu {
    tw_context *ctx;
    void *stream;
    void *events[ROUND_BATCHES + 1];
    int64_t l2_bytes;
    struct graph_calls graphs;
    bool has_graphs;
    int rounds;
    double round_seconds; /* of one contender */
};
/* STATUS_OK, or a status after a message; gpu_close in either case. */
int gpu_open(struct gpu *g, int ordinal);
void gpu_close(struct gpu *g);

struct contender {
    char name[48];
    char note[200]; /* what its row says besides: the layout that it wanted */
    /* Starts a run on the stream with the copy-th arrays; false: `why` says why not. */
    bool (*start)(struct contender *c, int copy);
    void *user;
    int copies;
    char why[400]; /* "": it takes part */

    int next;      /* copy */
    int64_t batch; /* runs */
    void *graph;   /* NULL: they are started one by one */
    int64_t graph_runs;
    double ms[ROUNDS_MOST]; /* of one run, by round */
    int64_t runs;           /* measured in all */
};

/* How long one run takes, in milliseconds, by a short batch after one to warm up, as a graph where
 * it is short; negative, and c->why: it cannot. */
double contender_estimate(struct gpu *g, struct contender *c);
/* All rounds. Contenders that fail have `why`, and take no part from there on. Where one of them is
 * so short that the host might not keep up, all are graphs; unless one cannot be, then none is.
 * contender_close for each that was estimated or timed. */
void contenders_time(struct gpu *g, struct contender *const *list, int count);
void contender_close(struct gpu *g, struct contender *c);
double contender_ms(const struct gpu *g, const struct contender *c); /* the median of the rounds */
/* Of b's time over a's, round by round: how fast a is beside b. */
double contender_ratio(const struct gpu *g, const struct contender *a, const struct contender *b);

#endif
