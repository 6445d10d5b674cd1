/* Graphs that can be launched: copies of graphs whose nodes are sorted and have lanes. */
#include "driver/driver_graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- sorting --- */

/* Adds a node after those before it. Returns false if it comes before itself, or without memory. */
static bool sort_from(struct driver_graph *g, struct driver_node *n)
{
    if (n->done)
        return true;
    if (n->visited)
        return false;
    n->visited = true;
    for (int i = 0; i < n->before.count; i++)
        if (!sort_from(g, n->before.list[i]))
            return false;
    n->done = true;
    return driver_nodes_add(&g->sorted, n);
}

/* Gives a node the lane of one before it that has no later node so far and is done when the node
 * begins, or a new lane. */
static bool choose_lane(struct driver_node *n)
{
    for (int i = 0; i < n->before.count && !n->lane; i++) {
        struct driver_node *b = n->before.list[i];
        if (b->continued || n->before.edges[i].from_port)
            continue;
        b->continued = true;
        n->lane = b->lane;
    }
    if (!n->lane)
        n->lane = driver_lane_take();
    return n->lane;
}

/* Sorts the nodes. If no edges order them, nodes that allocate come first and nodes that free come
 * last, so that a missing edge is reported as a race and not also as a bad access. */
static bool sort(struct driver_graph *g)
{
    assert(!g->ready);
    enum { ALLOCATE, USE, FREE, TURNS };
    for (int turn = ALLOCATE; turn < TURNS; turn++)
        for (int i = 0; i < g->nodes.count; i++) {
            struct driver_node *n = g->nodes.list[i];
            bool now = turn == ALLOCATE ? n->task.kind == TASK_ALLOCATE
                       : turn == USE    ? n->task.kind != TASK_FREE
                                        : true;
            if (now && !sort_from(g, n))
                return false;
        }
    return true;
}

static int prepare(struct driver_graph *g);

/* Prepares the graphs inside of a task. */
static int prepare_inside(const struct driver_task *t)
{
    int result = t->kind == TASK_GRAPH ? prepare(t->graph) : DRIVER_SUCCESS;
    unsigned bodies = t->kind == TASK_CONDITIONAL ? t->body_count : 0;
    for (unsigned i = 0; i < bodies && result == DRIVER_SUCCESS; i++)
        result = prepare(t->bodies[i]);
    return result;
}

/* Sorts the nodes and gives them lanes. Returns DRIVER_INVALID_VALUE if the edges have a cycle. */
static int prepare(struct driver_graph *g)
{
    if (!sort(g))
        return DRIVER_INVALID_VALUE;
    for (int i = 0; i < g->sorted.count; i++) {
        struct driver_node *n = g->sorted.list[i];
        if (!choose_lane(n))
            return DRIVER_OUT_OF_MEMORY;
        int result = prepare_inside(&n->task);
        if (result != DRIVER_SUCCESS)
            return result;
    }
    g->ready = true;
    return DRIVER_SUCCESS;
}

int driver_node_replace(struct driver_node *n, const struct driver_task *t)
{
    struct driver_task kept = *t;
    if (!driver_task_keep(&kept))
        return DRIVER_OUT_OF_MEMORY;
    driver_task_drop(&n->task);
    n->task = kept;
    return DRIVER_SUCCESS;
}

/* --- launching --- */

/* Orders a node after one before it. */
static void follow(struct driver_stream *lane, const struct driver_node *before,
                   struct driver_edge e)
{
    if (!e.from_port) {
        driver_order_wait(lane, &before->clock);
        return;
    }
    bool triggered = e.from_port == DRIVER_PORT_PROGRAMMATIC;
    driver_order_wait(lane, &before->moments.at[triggered ? DRIVER_TRIGGERED : DRIVER_BEGUN]);
    if (e.type)
        driver_clock_join(&lane->awaited, &before->moments.at[DRIVER_DONE]);
}

/* Copies the moments of a kernel that was run, or left out. */
static void take_moments(struct driver_node *n, const struct driver_stream *lane)
{
    for (int i = 0; i < DRIVER_MOMENTS; i++) {
        driver_clock_copy(&n->moments.at[i], n->disabled ? &lane->clock : &lane->last.at[i]);
        if (n->disabled && i == DRIVER_DONE)
            driver_clock_join(&n->moments.at[i], &lane->awaited);
    }
}

static int run_node(struct driver_node *n, const struct driver_clock *start,
                    const struct driver_stream *s)
{
    struct driver_stream *lane = n->lane;
    lane->number = s->number;
    lane->node = n->number;
    lane->kernel_last = false;
    lane->awaited.count = 0;
    driver_order_wait(lane, start);
    for (int i = 0; i < n->before.count; i++)
        follow(lane, n->before.list[i], n->before.edges[i]);
    int result = n->disabled ? DRIVER_SUCCESS : driver_task_run(&n->task, lane);
    if (n->task.kind == TASK_KERNEL)
        take_moments(n, lane);
    if (n->disabled)
        driver_order_wait(lane, &lane->awaited);
    driver_order_record(lane, &n->clock);
    return result;
}

/* The launches of one graph come one after the other. */
int driver_graph_run(struct driver_graph *g, struct driver_stream *s)
{
    struct driver_clock start = {.times = NULL};
    int result = DRIVER_SUCCESS;
    driver_order_begin(s);
    driver_order_wait(s, &g->clock);
    driver_order_record(s, &start);
    for (int i = 0; i < g->sorted.count && result == DRIVER_SUCCESS; i++)
        result = run_node(g->sorted.list[i], &start, s);
    for (int i = 0; i < g->sorted.count; i++)
        driver_order_wait(s, &g->sorted.list[i]->clock);
    driver_order_record(s, &g->clock);
    free(start.times);
    return result;
}

struct launch_call {
    const struct driver_graph *graph;
    struct driver_stream *stream;
};

/* Prepares the memory and the conditions of a graph for a launch. */
static int begin_launch(void *user)
{
    const struct launch_call *call = user;
    const struct driver_graph *g = call->graph;
    int result = g->has_memory ? driver_graph_begin_memory(g, call->stream) : DRIVER_SUCCESS;
    if (result != DRIVER_SUCCESS)
        return result;
    driver_trace("stream %d", call->stream->number);
    if (g->has_branches)
        driver_graph_begin_conditions(g, call->stream);
    return DRIVER_SUCCESS;
}

int cuGraphLaunch(void *ready, void *stream)
{
    IN_CONTEXT;
    struct driver_task t = {.kind = TASK_GRAPH, .graph = driver_graph_of(ready)};
    struct launch_call call = {t.graph, driver_stream_of(stream)};
    if (!t.graph || !t.graph->ready)
        return DRIVER_INVALID_VALUE;
    if (!call.stream)
        return DRIVER_INVALID_HANDLE;
    int result = driver_capture_forbids_uncaptured(call.stream);
    if (result == DRIVER_SUCCESS)
        result = driver_guard(begin_launch, &call);
    return result == DRIVER_SUCCESS ? driver_enqueue(stream, &t) : result;
}

int cuGraphUpload(void *ready, void *stream)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(ready);
    if (!g || !g->ready)
        return DRIVER_INVALID_VALUE;
    const struct driver_stream *s = driver_stream_of(stream);
    return s ? driver_capture_forbids_uncaptured(s) : DRIVER_INVALID_HANDLE;
}

/* --- instantiation --- */

enum { AUTO_FREE = 1, UPLOAD = 2, DEVICE_LAUNCH = 4, ALL = 15 }; /* CUgraphInstantiate_flags */

static int instantiate(void **ready, void *graph, uint64_t flags)
{
    struct driver_graph *g = driver_graph_of(graph);
    if (!ready || !g || g->moved || g->parent || g->ready || !driver_graph_uses_conditions(g) ||
        flags > ALL)
        return DRIVER_INVALID_VALUE;
    if (g->instance)
        return DRIVER_NOT_SUPPORTED;
    if (flags & DEVICE_LAUNCH)
        return driver_unsupported(
            "graphs that kernels launch are not supported; launch them from the host");
    struct driver_graph *made = driver_graph_copy(g);
    int result = made ? prepare(made) : DRIVER_OUT_OF_MEMORY;
    if (result != DRIVER_SUCCESS) {
        driver_graph_free(made);
        return result;
    }
    made->auto_free = flags & AUTO_FREE;
    if (g->has_memory) {
        g->instance = made;
        made->source = g;
    }
    *ready = made;
    return DRIVER_SUCCESS;
}

/* An upload needs a stream, which only the call with parameters has. */
CONTEXT_ENTRY(cuGraphInstantiateWithFlags, (void **ready, void *graph, uint64_t flags),
              flags &UPLOAD ? DRIVER_INVALID_VALUE : instantiate(ready, graph, flags))

/* Instantiates a graph, and uploads it if the flags ask for that. */
static int instantiate_in(void **ready, void *graph, const struct driver_instantiate *p)
{
    void *made;
    int result = instantiate(ready ? &made : NULL, graph, p->flags);
    if (result != DRIVER_SUCCESS)
        return result;
    if (p->flags & UPLOAD)
        result = cuGraphUpload(made, p->stream);
    if (result == DRIVER_SUCCESS)
        *ready = made;
    else
        driver_graph_free(made);
    return result;
}

int cuGraphInstantiateWithParams(void **ready, void *graph, struct driver_instantiate *p)
{
    enum { FAILED = 1, UNUSED_CONDITION = 5 }; /* CUgraphInstantiateResult */
    IN_CONTEXT;
    if (!p)
        return DRIVER_INVALID_VALUE;
    int result = instantiate_in(ready, graph, p);
    p->error_node = NULL;
    const struct driver_graph *g = driver_graph_of(graph);
    p->result = result == DRIVER_SUCCESS                ? 0
                : g && !driver_graph_uses_conditions(g) ? UNUSED_CONDITION
                                                        : FAILED;
    return result;
}

int cuGraphInstantiate_v2(void **ready, void *graph, void **error_node, char *log, size_t bytes)
{
    ENTER;
    if (error_node)
        *error_node = NULL;
    if (log && bytes)
        *log = '\0';
    return cuGraphInstantiateWithFlags(ready, graph, 0);
}

/* Returns only the flag of automatic frees, like the driver of an H200. */
int cuGraphExecGetFlags(void *ready, uint64_t *flags)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(ready);
    if (!g || !g->ready || !flags)
        return DRIVER_INVALID_VALUE;
    *flags = g->auto_free ? AUTO_FREE : 0;
    return DRIVER_SUCCESS;
}

int cuGraphExecDestroy(void *ready)
{
    ENTER;
    struct driver_graph *g = driver_graph_of(ready);
    if (!g || !g->ready)
        return DRIVER_INVALID_VALUE;
    driver_graph_free(g);
    return DRIVER_SUCCESS;
}

/* --- updates --- */

enum { UPDATED, UPDATE_ERROR, OTHER_EDGES, OTHER_KIND, OTHER_PARAMETERS = 5 };

static int place_of(const struct driver_node *n)
{
    int i = 0;
    while (n->graph->nodes.list[i] != n)
        i++;
    return i;
}

/* Compares the nodes, in the order of their making, and their edges. */
static int compare(const struct driver_graph *a, const struct driver_graph *b,
                   struct driver_node **where)
{
    *where = NULL;
    if (a->nodes.count != b->nodes.count)
        return OTHER_EDGES;
    for (int i = 0; i < a->nodes.count; i++) {
        const struct driver_node *m = a->nodes.list[i];
        struct driver_node *n = *where = b->nodes.list[i];
        if (m->before.count != n->before.count)
            return OTHER_EDGES;
        for (int k = 0; k < m->before.count; k++)
            if (place_of(m->before.list[k]) != place_of(n->before.list[k]) ||
                memcmp(&m->before.edges[k], &n->before.edges[k], sizeof m->before.edges[k]) != 0)
                return OTHER_EDGES;
        if (m->task.kind != n->task.kind)
            return OTHER_KIND;
        if (m->task.memory != n->task.memory || m->task.branch != n->task.branch ||
            m->task.body_count != n->task.body_count)
            return OTHER_PARAMETERS;
        int result =
            m->task.kind == TASK_GRAPH ? compare(m->task.graph, n->task.graph, where) : UPDATED;
        for (unsigned k = 0; k < m->task.body_count && result == UPDATED; k++)
            result = compare(m->task.bodies[k], n->task.bodies[k], where);
        if (result != UPDATED)
            return result;
    }
    *where = NULL;
    return UPDATED;
}

/* Gives the nodes of a graph, and of graphs inside, the parameters of another's. */
static int update(const struct driver_graph *a, const struct driver_graph *b)
{
    int result = DRIVER_SUCCESS;
    for (int i = 0; i < a->nodes.count && result == DRIVER_SUCCESS; i++) {
        struct driver_node *n = a->nodes.list[i];
        const struct driver_task *t = &b->nodes.list[i]->task;
        if (t->kind == TASK_GRAPH)
            result = update(n->task.graph, t->graph);
        else if (t->kind != TASK_CONDITIONAL)
            result = driver_node_replace(n, t);
        else
            n->task.condition = t->condition;
        for (unsigned k = 0; k < t->body_count && result == DRIVER_SUCCESS; k++)
            result = update(n->task.bodies[k], t->bodies[k]);
    }
    return result;
}

int driver_graph_update(const struct driver_graph *ready, const struct driver_graph *from,
                        struct driver_update *result)
{
    struct driver_node *where;
    *result = (struct driver_update){.result = compare(ready, from, &where)};
    result->error_node = where;
    if (result->result != UPDATED)
        return DRIVER_GRAPH_UPDATE_FAILURE;
    int failed = update(ready, from);
    if (failed != DRIVER_SUCCESS)
        result->result = UPDATE_ERROR;
    return failed;
}

int cuGraphExecUpdate_v2(void *ready, void *graph, struct driver_update *result)
{
    IN_CONTEXT;
    const struct driver_graph *a = driver_graph_of(ready), *b = driver_graph_of(graph);
    if (!a || !a->ready || !b || b->moved || !result)
        return DRIVER_INVALID_VALUE;
    return driver_graph_update(a, b, result);
}

int cuGraphExecUpdate(void *ready, void *graph, void **error_node, int *updated)
{
    ENTER;
    struct driver_update result = {.result = UPDATE_ERROR};
    int failed = cuGraphExecUpdate_v2(ready, graph, &result);
    if (error_node)
        *error_node = result.error_node;
    if (updated)
        *updated = result.result;
    return failed;
}
