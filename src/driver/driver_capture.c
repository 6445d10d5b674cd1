/* Captures: from cuStreamBeginCapture on, tasks of a stream become nodes of a graph. Each node comes
 * after the stream's last ones, its tips. An event that is recorded takes the tips along, and a stream
 * that waits for it takes part in the capture. */
#include "driver/driver_graph.h"

#include <pthread.h>
#include <stdlib.h>

enum mode { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED }; /* CUstreamCaptureMode */
enum { NOT_CAPTURING, CAPTURING, INVALIDATED };       /* CUstreamCaptureStatus */

struct driver_capture {
    struct driver_capture *next; /* another one in progress */
    uint64_t number;
    struct driver_graph *graph;
    struct driver_stream *first; /* the stream that began it */
    enum mode mode;
    pthread_t thread;
    bool invalid;
    bool into; /* the graph is the caller's */
};

static struct driver_capture *captures;
static uint64_t capture_count;
static _Thread_local enum mode thread_mode = MODE_GLOBAL;

/* --- what is not allowed during captures --- */

/* Returns true if the capture forbids this thread what might wait for captured work (CUDA Driver API,
 * cuThreadExchangeStreamCaptureMode). */
static bool forbids_waiting(const struct driver_capture *c)
{
    bool all_global = thread_mode == MODE_GLOBAL && c->mode == MODE_GLOBAL;
    return thread_mode != MODE_RELAXED && c->mode != MODE_RELAXED &&
           (all_global || pthread_equal(c->thread, pthread_self()));
}

/* Work in the default stream would wait for the blocking streams. */
static bool joins_default(const struct driver_stream *s, const struct driver_capture *c)
{
    return s->number == 0 && !s->node && !(c->first->flags & DRIVER_NON_BLOCKING);
}

int driver_capture_forbids(const struct driver_stream *s)
{
    int result =
        s && s->capture && s->capture->invalid ? DRIVER_CAPTURE_INVALIDATED : DRIVER_SUCCESS;
    for (struct driver_capture *c = captures; c; c = c->next) {
        if (s ? !joins_default(s, c) : !forbids_waiting(c))
            continue;
        c->invalid = true;
        result = s ? DRIVER_CAPTURE_IMPLICIT : DRIVER_CAPTURE_UNSUPPORTED;
    }
    return result;
}

int driver_capture_forbids_uncaptured(const struct driver_stream *s)
{
    int result = driver_capture_forbids(s);
    if (!s->capture)
        return result;
    s->capture->invalid = true; /* it may be already: an H200's driver gives the same */
    return DRIVER_CAPTURE_UNSUPPORTED;
}

int driver_capture_forbids_device(void)
{
    for (struct driver_capture *c = captures; c; c = c->next)
        c->invalid = true;
    return captures ? DRIVER_CAPTURE_UNSUPPORTED : DRIVER_SUCCESS;
}

static struct driver_capture *capture_of(uint64_t number)
{
    struct driver_capture *c = captures;
    while (c && c->number != number)
        c = c->next;
    return c;
}

int driver_capture_forbids_event(const struct driver_event *e)
{
    struct driver_capture *c = capture_of(e->capture);
    if (c)
        c->invalid = true;
    return e->capture ? DRIVER_CAPTURED_EVENT : DRIVER_SUCCESS;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    ENTER;
    if (!mode || *mode < MODE_GLOBAL || *mode > MODE_RELAXED)
        return DRIVER_INVALID_VALUE;
    enum mode before = thread_mode;
    thread_mode = (enum mode) * mode;
    *mode = (int)before;
    return DRIVER_SUCCESS;
}

/* --- nodes --- */

/* Makes a new node the stream's only tip. */
static int tip(struct driver_stream *s, struct driver_node *n)
{
    s->tips->count = 0;
    return driver_nodes_add(s->tips, n) ? DRIVER_SUCCESS : DRIVER_OUT_OF_MEMORY;
}

/* Records the events of a launch: other streams that wait for them come after the node by such edges
 * (CUDA Programming Guide, "Use in CUDA Graphs" of programmatic dependent launches). */
static bool record_events(const struct driver_capture *c, const struct driver_launched *l,
                          struct driver_node *n)
{
    bool good = true;
    for (int i = 0; i < l->event_count; i++) {
        const struct driver_launch_event *e = &l->events[i];
        bool triggered = e->at == DRIVER_TRIGGERED;
        const struct driver_edge edge = {.from_port = triggered ? DRIVER_PORT_PROGRAMMATIC
                                                                : DRIVER_PORT_LAUNCH_ORDER,
                                         .type = e->programmatic};
        driver_nodes_clear(&e->event->before);
        e->event->capture = c->number;
        good = good && driver_nodes_add_edge(&e->event->before, n, edge);
    }
    return good;
}

/* Lets the edges from kernels to a launch that may overlap them be programmatic. Returns false if the
 * stream's edges do not suit the task. */
static bool suit_edges(const struct driver_stream *s, const struct driver_task *t)
{
    for (int i = 0; i < s->tips->count; i++) {
        struct driver_edge *e = &s->tips->edges[i];
        enum driver_task_kind from = s->tips->list[i]->task.kind;
        if (t->kind == TASK_KERNEL && t->launched.overlaps && from == TASK_KERNEL && !e->from_port)
            *e = (struct driver_edge){.from_port = DRIVER_PORT_PROGRAMMATIC, .type = 1};
        if (!driver_edge_suits(*e, from, t->kind))
            return false;
    }
    return true;
}

int driver_capture_add(struct driver_stream *s, const struct driver_task *t)
{
    struct driver_capture *c = s->capture;
    if (c->invalid)
        return DRIVER_CAPTURE_INVALIDATED;
    if ((t->kind == TASK_COPY && t->copy.waits) || (t->kind == TASK_FILL && t->fill.waits)) {
        c->invalid = true;
        return DRIVER_CAPTURE_UNSUPPORTED;
    }
    if (!driver_graph_takes(c->graph, t)) {
        c->invalid = true;
        return driver_graph_refuse_in_body();
    }
    if (!suit_edges(s, t)) {
        c->invalid = true;
        return DRIVER_INVALID_VALUE;
    }
    struct driver_task kept = *t;
    kept.launched.event_count = 0; /* they are edges now */
    struct driver_node *n = driver_graph_add(c->graph, &kept, s->tips);
    if (!n || (t->kind == TASK_KERNEL && !record_events(c, &t->launched, n)))
        return DRIVER_OUT_OF_MEMORY;
    return tip(s, n);
}

/* Asks for a node after the stream's tips. */
static struct driver_node_request request_after_tips(const struct driver_stream *s, void **node)
{
    return (struct driver_node_request){node, s->capture->graph, (void *const *)s->tips->list,
                                        s->tips->edges, (size_t)s->tips->count};
}

int driver_capture_allocate(struct driver_stream *s, size_t bytes, uint64_t *address)
{
    void *node = NULL;
    const struct driver_node_request asked = request_after_tips(s, &node);
    struct driver_allocation_node p = {
        .properties = {.type = DRIVER_PINNED_ALLOCATION, .location = DRIVER_ON_DEVICE},
        .bytes = bytes};
    int result = driver_graph_add_allocation(&asked, &p);
    if (result != DRIVER_SUCCESS)
        return result;
    *address = p.address;
    return tip(s, node);
}

int driver_capture_free(struct driver_stream *s, uint64_t address)
{
    void *node = NULL;
    const struct driver_node_request asked = request_after_tips(s, &node);
    int result = driver_graph_add_free(&asked, address);
    return result == DRIVER_SUCCESS ? tip(s, node) : result;
}

static bool join(struct driver_stream *s, struct driver_capture *c)
{
    s->tips = calloc(1, sizeof *s->tips);
    s->capture = s->tips ? c : NULL;
    return s->capture;
}

static void leave(struct driver_stream *s)
{
    driver_nodes_clear(s->tips);
    free(s->tips);
    s->tips = NULL;
    s->capture = NULL;
}

bool driver_capture_record(struct driver_event *e, struct driver_stream *s)
{
    driver_nodes_clear(&e->before);
    e->capture = s->capture ? s->capture->number : 0;
    for (int i = 0; s->capture && i < s->tips->count; i++)
        driver_nodes_add_edge(&e->before, s->tips->list[i], s->tips->edges[i]);
    return s->capture;
}

/* Lets a stream take part in the capture of an event; NULL: the event has none in progress. */
static int take_part(struct driver_stream *s, const struct driver_event *e,
                     struct driver_capture *c)
{
    if (!c)
        return e->capture ? DRIVER_CAPTURED_EVENT : DRIVER_CAPTURE_ISOLATION;
    if (c->invalid)
        return DRIVER_INVALID_VALUE;
    if (s->capture)
        return s->capture == c ? DRIVER_SUCCESS : DRIVER_CAPTURE_MERGE;
    if (s->number == 0) /* the default stream cannot be captured */
        return DRIVER_CAPTURE_IMPLICIT;
    return join(s, c) ? DRIVER_SUCCESS : DRIVER_OUT_OF_MEMORY;
}

bool driver_capture_wait(struct driver_stream *s, const struct driver_event *e, int *result)
{
    struct driver_capture *c = capture_of(e->capture);
    *result = DRIVER_SUCCESS;
    if (!e->capture && !s->capture)
        return false;
    *result = take_part(s, e, c);
    if (*result != DRIVER_SUCCESS && s->capture)
        s->capture->invalid = true;
    if (*result != DRIVER_SUCCESS && c)
        c->invalid = true;
    for (int i = 0; *result == DRIVER_SUCCESS && i < e->before.count; i++)
        if (driver_node_of(e->before.list[i]) &&
            !driver_nodes_add_edge(s->tips, e->before.list[i], e->before.edges[i]))
            *result = DRIVER_OUT_OF_MEMORY;
    return true;
}

/* --- begin, end --- */

static int begin(void *stream, int mode, struct driver_graph *into)
{
    struct driver_stream *s = driver_stream_of(stream);
    if (!s || mode < MODE_GLOBAL || mode > MODE_RELAXED)
        return s ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    if (s->capture)
        return DRIVER_ILLEGAL_STATE;
    if (s->number == 0) /* the default stream cannot be captured */
        return DRIVER_CAPTURE_UNSUPPORTED;
    struct driver_capture *c = calloc(1, sizeof *c);
    if (!c)
        return DRIVER_OUT_OF_MEMORY;
    *c = (struct driver_capture){.next = captures,
                                 .number = ++capture_count,
                                 .graph = into ? into : driver_graph_new(),
                                 .first = s,
                                 .mode = (enum mode)mode,
                                 .thread = pthread_self(),
                                 .into = into};
    if (!c->graph || !join(s, c)) {
        if (!into)
            driver_graph_free(c->graph);
        free(c);
        return DRIVER_OUT_OF_MEMORY;
    }
    c->graph->captured = true;
    captures = c;
    driver_trace("stream %d", s->number);
    return DRIVER_SUCCESS;
}

CONTEXT_ENTRY(cuStreamBeginCapture_v2, (void *stream, int mode), begin(stream, mode, NULL))
CONTEXT_ENTRY(cuStreamBeginCapture, (void *stream), begin(stream, MODE_GLOBAL, NULL))

/* Adds nodes with their edges to the stream's tips. replaces: they become its only ones. */
static int add_tips(struct driver_stream *s, void *const *list, const void *data, size_t count,
                    bool replaces)
{
    for (size_t i = 0; i < count; i++) {
        const struct driver_node *n = driver_node_of(list[i]);
        if (!n || n->graph != s->capture->graph ||
            !driver_edge_suits(driver_edge_at(data, i), n->task.kind, TASK_KERNEL))
            return DRIVER_INVALID_VALUE;
    }
    if (replaces)
        s->tips->count = 0;
    for (size_t i = 0; i < count; i++)
        if (!driver_nodes_add_edge(s->tips, driver_node_of(list[i]), driver_edge_at(data, i)))
            return DRIVER_OUT_OF_MEMORY;
    return DRIVER_SUCCESS;
}

int cuStreamBeginCaptureToGraph(void *stream, void *graph, void *const *before, const void *data,
                                size_t count, int mode)
{
    IN_CONTEXT;
    struct driver_graph *g = driver_graph_of(graph);
    struct driver_stream *s = driver_stream_of(stream);
    if (!g || g->ready || g->captured || (count && !before))
        return DRIVER_INVALID_VALUE;
    int result = begin(stream, mode, g);
    if (result != DRIVER_SUCCESS)
        return result;
    result = add_tips(s, before, data, count, true);
    if (result != DRIVER_SUCCESS)
        driver_capture_leave(s);
    return result;
}

/* Marks a node and all before it. */
static void mark(struct driver_node *n)
{
    if (n->visited)
        return;
    n->visited = true;
    for (int i = 0; i < n->before.count; i++)
        mark(n->before.list[i]);
}

/* Returns false if a stream of the capture has work that the first one does not wait for. */
static bool is_joined(const struct driver_capture *c)
{
    bool joined = true;
    for (int i = 0; i < c->first->tips->count; i++)
        mark(c->first->tips->list[i]);
    for (int i = 0; i < driver_order_slots(); i++) {
        const struct driver_stream *s = driver_order_stream_at(i);
        for (int k = 0; s && s->capture == c && k < s->tips->count; k++)
            joined = joined && s->tips->list[k]->visited;
    }
    for (int i = 0; i < c->graph->nodes.count; i++)
        c->graph->nodes.list[i]->visited = false;
    return joined;
}

/* Ends the capture; its streams are usual ones again. keeps: the graph becomes the caller's. */
static void end(struct driver_capture *c, bool keeps)
{
    struct driver_capture **at = &captures;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    for (int i = 0; i < driver_order_slots(); i++) {
        struct driver_stream *s = driver_order_stream_at(i);
        if (s && s->capture == c)
            leave(s);
    }
    c->graph->captured = false;
    if (!keeps && !c->into)
        driver_graph_free(c->graph);
    free(c);
}

void driver_capture_leave(struct driver_stream *s)
{
    if (s->capture && s->capture->first == s)
        end(s->capture, false);
    else if (s->capture)
        leave(s);
}

int cuStreamEndCapture(void *stream, void **graph)
{
    IN_CONTEXT;
    const struct driver_stream *s = driver_stream_of(stream);
    struct driver_capture *c = s ? s->capture : NULL;
    int result = DRIVER_SUCCESS;
    if (!s || (!graph && !(c && c->into))) /* the caller has a graph that was captured into */
        return s ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    void *unwanted;
    graph = graph ? graph : &unwanted;
    *graph = NULL;
    if (!c)
        return DRIVER_ILLEGAL_STATE;
    if (c->first != s)
        result = DRIVER_CAPTURE_UNMATCHED;
    else if (c->mode != MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        result = DRIVER_CAPTURE_WRONG_THREAD;
    if (result == DRIVER_CAPTURE_WRONG_THREAD)
        end(c, false); /* as an H200's driver does */
    else if (result != DRIVER_SUCCESS)
        c->invalid = true;
    if (result != DRIVER_SUCCESS)
        return result;
    if (c->invalid)
        result = DRIVER_CAPTURE_INVALIDATED;
    else if (!is_joined(c))
        result = DRIVER_CAPTURE_UNJOINED;
    if (result == DRIVER_SUCCESS)
        *graph = c->graph;
    end(c, result == DRIVER_SUCCESS);
    return result;
}

/* --- questions --- */

int cuStreamIsCapturing(void *stream, int *status)
{
    IN_CONTEXT;
    const struct driver_stream *s = driver_stream_of(stream);
    if (!status || !s)
        return status ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    for (const struct driver_capture *c = captures; c; c = c->next)
        if (joins_default(s, c))
            return DRIVER_CAPTURE_IMPLICIT;
    *status = !s->capture ? NOT_CAPTURING : s->capture->invalid ? INVALIDATED : CAPTURING;
    return DRIVER_SUCCESS;
}

int cuStreamGetCaptureInfo_v3(void *stream, int *status, uint64_t *number, void **graph,
                              void *const **before, const void **data, size_t *count)
{
    ENTER;
    int result = cuStreamIsCapturing(stream, status);
    if (result != DRIVER_SUCCESS || *status != CAPTURING)
        return result;
    const struct driver_stream *s = driver_stream_of(stream);
    if (data && !before)
        return DRIVER_INVALID_VALUE;
    for (int i = 0; before && !data && i < s->tips->count; i++)
        if (!driver_edge_is_plain(s->tips->edges[i]))
            return DRIVER_LOSSY_QUERY;
    if (number)
        *number = s->capture->number;
    if (graph)
        *graph = s->capture->graph;
    if (before)
        *before = (void *const *)s->tips->list;
    if (data)
        *data = s->tips->edges;
    if (count)
        *count = (size_t)s->tips->count;
    return result;
}

ENTRY(cuStreamGetCaptureInfo_v2,
      (void *stream, int *status, uint64_t *number, void **graph, void *const **before,
       size_t *count),
      cuStreamGetCaptureInfo_v3(stream, status, number, graph, before, NULL, count))
ENTRY(cuStreamGetCaptureInfo, (void *stream, int *status, uint64_t *number),
      cuStreamGetCaptureInfo_v3(stream, status, number, NULL, NULL, NULL, NULL))

int cuStreamUpdateCaptureDependencies_v2(void *stream, void *const *before, const void *data,
                                         size_t count, unsigned flags)
{
    IN_CONTEXT;
    struct driver_stream *s = driver_stream_of(stream);
    if (!s || flags > 1 || (count && !before))
        return s ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    if (!s->capture)
        return DRIVER_ILLEGAL_STATE;
    int result = driver_capture_forbids(s);
    return result == DRIVER_SUCCESS ? add_tips(s, before, data, count, flags == 1) : result;
}

ENTRY(cuStreamUpdateCaptureDependencies,
      (void *stream, void *const *before, size_t count, unsigned flags),
      cuStreamUpdateCaptureDependencies_v2(stream, before, NULL, count, flags))
