/* Runs recorded once as a CUDA graph and started with one call, so that what is timed of short ones
 * is the GPU and not the host. */
#ifndef TW_BENCH_GRAPH_H
#define TW_BENCH_GRAPH_H

#include <stdbool.h>

struct graph_calls {
    int device;
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*set_context)(void *context);
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*instantiate)(void **ready, void *graph, unsigned long long flags);
    int (*launch)(void *ready, void *stream);
    int (*free_graph)(void *graph);
    int (*free_ready)(void *ready);
};

/* Of the driver that is in use, in the primary context of a GPU, which becomes the thread's. false:
 * there are no graphs. graphs_close only after true. */
bool graphs_open(struct graph_calls *x, int device);
void graphs_close(struct graph_calls *x);
bool graph_begin(const struct graph_calls *x, void *stream);
/* Ends the recording; NULL: something in it is not allowed in one. Freed by free_ready. */
void *graph_end(const struct graph_calls *x, void *stream);

#endif
