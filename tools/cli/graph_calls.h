/* Calls of the driver that the public interface lacks. Graphs: runs are recorded once and started
 * with one call, so that timings of short runs measure the GPU rather than the host. Copies within
 * the device. */
#ifndef TW_GRAPH_CALLS_H
#define TW_GRAPH_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
};

/* Loads these functions of the driver in use. Makes the GPU's primary context current in the
 * calling thread. Returns false if they are not available. The caller calls graphs_close only
 * after true. */
bool graphs_open(struct graph_calls *x, int device);
void graphs_close(struct graph_calls *x);
bool graph_begin(const struct graph_calls *x, void *stream);
/* Ends the recording. Returns a graph to free with free_ready, or NULL if the runs contain a
 * call that graphs do not allow. */
void *graph_end(const struct graph_calls *x, void *stream);
/* Starts a copy. Returns false if the driver refuses it. */
bool graph_copy(const struct graph_calls *x, void *to, const void *from, size_t bytes,
                void *stream);

#endif
