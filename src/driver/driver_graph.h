/* Graphs: tasks, and the order between them.
 *
 *   driver_graph.c        graphs, nodes, edges
 *   driver_graph_nodes.c  nodes of each kind, their parameters
 *   driver_graph_memory.c nodes that allocate and free memory
 *   driver_graph_condition.c  nodes that branch
 *   driver_graph_run.c    graphs that can be launched
 *   driver_capture.c      streams whose tasks become nodes
 *
 * When a graph is launched, each node runs in a stream of its own, a lane, which waits for the nodes
 * that are before it. So nodes with no path of edges between them are as unordered as streams with no
 * event between them, and the same check finds their races. A chain of nodes shares a lane. */
#ifndef TW_DRIVER_GRAPH_H
#define TW_DRIVER_GRAPH_H

#include "driver/driver_task.h"

/* Adds a node with a plain edge, or another one. If the list has the node, the stronger of both edges
 * stays. Returns false without memory. */
bool driver_nodes_add(struct driver_nodes *nodes, struct driver_node *n);
bool driver_nodes_add_edge(struct driver_nodes *nodes, struct driver_node *n, struct driver_edge e);
void driver_nodes_clear(struct driver_nodes *nodes);

struct driver_node {
    struct driver_graph *graph;
    int number; /* in its graph, from 1 */
    struct driver_task task;
    struct driver_nodes before;
    const struct driver_node *origin; /* of a copy */
    bool disabled;
    /* In a graph that can be launched: */
    struct driver_stream *lane;
    bool continued, visited, done; /* the lane has a later node; marks of a search */
    struct driver_clock clock;     /* when it was done */
    struct driver_moments moments; /* of a kernel */
};

struct driver_graph {
    struct driver_nodes nodes;   /* in the order of their making */
    int made;                    /* nodes so far */
    bool owned;                  /* by a node */
    bool captured;               /* a capture in progress adds to it */
    bool moved;                  /* into a node, which took it instead of a copy */
    bool has_memory;             /* a node of it, or of a graph inside, allocates or frees */
    bool has_branches;           /* a node of it is conditional */
    struct driver_graph *parent; /* if this is the body of a conditional node: the node's graph */
    struct driver_condition *conditions; /* that were made for this graph */
    /* With memory: the one graph that can be launched and was made of this one, and that graph's own
     * source; NULL: none. */
    struct driver_graph *instance, *source;
    /* Can be launched: */
    bool ready;
    struct driver_nodes sorted; /* each after those before it */
    struct driver_clock clock;  /* of its last launch */
    bool auto_free;             /* a launch first frees what an earlier one allocated */
};

/* --- tasks that a graph keeps --- */

/* Copies the caller's memory that a task points to, and notes its call. Returns false without
 * memory. */
bool driver_task_keep(struct driver_task *t);
void driver_task_drop(struct driver_task *t);

/* --- graphs --- */

struct driver_graph *driver_graph_of(const void *handle);
struct driver_node *driver_node_of(const void *handle);
struct driver_graph *driver_graph_new(void);
struct driver_graph *driver_graph_copy(const struct driver_graph *from);
void driver_graph_free(struct driver_graph *g);
/* Adds a node that keeps a copy of the task; NULL: no memory. */
struct driver_node *driver_graph_add(struct driver_graph *g, const struct driver_task *t,
                                     const struct driver_nodes *before);
/* A new node, as the caller asks for it. */
struct driver_node_request {
    void **node, *graph;
    void *const *before;
    const void *edges; /* of them; NULL: plain ones */
    size_t count;
};
/* Adds the node if `result`, of reading the task, is a success. Returns the call's result. */
int driver_graph_add_requested(const struct driver_node_request *a, const struct driver_task *t,
                               int result);
/* Returns the i-th of the caller's edges; data NULL: a plain one. */
struct driver_edge driver_edge_at(const void *data, size_t i);
bool driver_edge_is_plain(struct driver_edge e);
/* Returns false for an edge that nodes of these kinds cannot have. */
bool driver_edge_suits(struct driver_edge e, enum driver_task_kind from, enum driver_task_kind to);
/* Returns the node of a copy that was made of `origin`, also inside of child graphs. */
struct driver_node *driver_graph_find(const struct driver_graph *g,
                                      const struct driver_node *origin);

/* Replaces a node's task by a copy of this one. A graph that can be launched keeps its child graphs. */
int driver_node_replace(struct driver_node *n, const struct driver_task *t);
/* Gives the nodes of a graph that can be launched the parameters of another graph's, and the outcome in
 * *result. Returns DRIVER_GRAPH_UPDATE_FAILURE if the nodes, made in the same order, or their edges
 * differ. */
int driver_graph_update(const struct driver_graph *ready, const struct driver_graph *from,
                        struct driver_update *result);
int driver_graph_run(struct driver_graph *g, struct driver_stream *s);

/* --- memory of graphs --- */

/* Add nodes that allocate and free. The first gives the address in *p. */
int driver_graph_add_allocation(const struct driver_node_request *a,
                                struct driver_allocation_node *p);
int driver_graph_add_free(const struct driver_node_request *a, uint64_t address);
/* Run such nodes. */
int driver_graph_allocate(struct driver_memory *m, struct driver_stream *s);
int driver_graph_release(struct driver_memory *m, struct driver_stream *s);
/* Prepares a launch: allocations of an earlier one that are not freed are freed in the order of the
 * stream, or make it fail. */
int driver_graph_begin_memory(const struct driver_graph *g, struct driver_stream *s);

/* --- conditional nodes --- */

/* Adds such a node with empty bodies, which it gives in *p. */
int driver_graph_add_conditional(const struct driver_node_request *a,
                                 struct driver_conditional_node *p);
int driver_conditional_run(const struct driver_task *t, struct driver_stream *s);
/* Gives the conditions of a graph that is launched their first values. */
void driver_graph_begin_conditions(const struct driver_graph *g, struct driver_stream *s);
/* Returns true if all conditions that were made for the graph have nodes. */
bool driver_graph_uses_conditions(const struct driver_graph *g);
/* Returns false if the graph is a body, and a body cannot have such a node. */
bool driver_graph_takes(const struct driver_graph *g, const struct driver_task *t);
/* Reports that, and returns the error. */
int driver_graph_refuse_in_body(void);

/* --- captures --- */

/* Adds a task to the capture of the stream. */
int driver_capture_add(struct driver_stream *s, const struct driver_task *t);
/* Allocate and free in a stream that is captured: nodes of the graph. */
int driver_capture_allocate(struct driver_stream *s, size_t bytes, uint64_t *address);
int driver_capture_free(struct driver_stream *s, uint64_t address);
/* A call that a capture forbids returns an error and makes the capture invalid: until the capture ends,
 * each use of its streams fails (CUDA Programming Guide, "Prohibited and Unhandled Operations"). */
/* Returns the error of work in a stream. NULL: of a call that allocates or frees. */
int driver_capture_forbids(const struct driver_stream *s);
/* Returns the error of work that cannot become a node, and of a wait for the stream. */
int driver_capture_forbids_uncaptured(const struct driver_stream *s);
/* Return the error of a wait for the device, and of a question about an event or a wait for it. */
int driver_capture_forbids_device(void);
int driver_capture_forbids_event(const struct driver_event *e);
/* Takes a stream out of its capture, which ends if the stream began it. */
void driver_capture_leave(struct driver_stream *s);
/* Record an event in a stream, or wait for one. They return true if that was part of a capture. */
bool driver_capture_record(struct driver_event *e, struct driver_stream *s);
bool driver_capture_wait(struct driver_stream *s, const struct driver_event *e, int *result);

#endif
