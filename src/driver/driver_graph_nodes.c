/* Nodes of each kind: they are added, their parameters are read, and changed, in a graph or in one that
 * can be launched. */
#include "driver/driver_graph.h"

#include <string.h>

static void copy_attributes(struct driver_launched *to, const struct driver_launched *from)
{
    to->cooperative = from->cooperative;
    memcpy(to->launch.cluster, from->launch.cluster, sizeof to->launch.cluster);
}

/* Replaces the task of a node, which keeps its attributes. `result`: of reading the task. */
static int set(struct driver_node *n, struct driver_task *t, int result)
{
    struct driver_update updated;
    if (!n || (result == DRIVER_SUCCESS && n->task.kind != t->kind))
        return DRIVER_INVALID_VALUE;
    if (result == DRIVER_SUCCESS && t->kind == TASK_GRAPH && n->graph->ready)
        return driver_graph_update(n->task.graph, t->graph, &updated);
    if (result == DRIVER_SUCCESS && t->kind == TASK_KERNEL) {
        copy_attributes(&t->launched, &n->task.launched);
        result = driver_launch_check(&t->launched);
    }
    return result == DRIVER_SUCCESS ? driver_node_replace(n, t) : result;
}

/* Returns the node of a graph that can be launched, for a node of the graph it was made of. */
static struct driver_node *in_ready(void *ready, void *node)
{
    const struct driver_graph *g = driver_graph_of(ready);
    const struct driver_node *n = driver_node_of(node);
    return g && g->ready && n ? driver_graph_find(g, n) : NULL;
}

/* The bodies of the entry points that add a node, set its task, and set its task in a graph that can be
 * launched. `read` reads the caller's parameters into the task `t`. */
#define ADD(read)                                                                                  \
    IN_CONTEXT;                                                                                    \
    struct driver_task t;                                                                          \
    int result = read;                                                                             \
    return driver_graph_add_requested(                                                             \
        &(struct driver_node_request){node, graph, before, NULL, count}, &t, result)
#define SET_IN(which, read)                                                                        \
    IN_CONTEXT;                                                                                    \
    struct driver_task t;                                                                          \
    int result = read;                                                                             \
    return set(which, &t, result)
#define SET(read) SET_IN(driver_node_of(node), read)
#define SET_READY(read) SET_IN(in_ready(ready, node), read)

/* --- kernels --- */

struct kernel_call {
    const struct driver_kernel_node *from;
    struct driver_task *task;
};

static int read_kernel_guarded(void *user)
{
    const struct kernel_call *call = user;
    const struct driver_kernel_node *p = call->from;
    struct driver_launched *l = &call->task->launched;
    *l = (struct driver_launched){.kernel = driver_kernel_of(p->function)};
    if (!l->kernel)
        return DRIVER_INVALID_VALUE;
    l->launch = driver_launch_shape(p->grid, p->block, p->shared);
    int result = driver_launch_check(l);
    return result == DRIVER_SUCCESS ? driver_launch_arguments(l, p->arguments, p->extra) : result;
}

/* version: that of the caller's struct. */
static int read_kernel(const struct driver_kernel_node *p, int version, struct driver_task *t)
{
    struct driver_kernel_node whole = {.function = NULL};
    struct kernel_call call = {&whole, t};
    *t = (struct driver_task){.kind = TASK_KERNEL};
    if (!p)
        return DRIVER_INVALID_VALUE;
    memcpy(&whole, p, version > 1 ? sizeof whole : offsetof(struct driver_kernel_node, kernel));
    if (!whole.function)
        whole.function = whole.kernel;
    return driver_guard(read_kernel_guarded, &call);
}

int cuGraphAddKernelNode_v2(void **node, void *graph, void *const *before, size_t count,
                            const struct driver_kernel_node *p)
{
    ADD(read_kernel(p, 2, &t));
}

int cuGraphAddKernelNode(void **node, void *graph, void *const *before, size_t count,
                         const struct driver_kernel_node *p)
{
    ADD(read_kernel(p, 1, &t));
}

int cuGraphKernelNodeSetParams_v2(void *node, const struct driver_kernel_node *p)
{
    SET(read_kernel(p, 2, &t));
}

int cuGraphKernelNodeSetParams(void *node, const struct driver_kernel_node *p)
{
    SET(read_kernel(p, 1, &t));
}

int cuGraphExecKernelNodeSetParams_v2(void *ready, void *node, const struct driver_kernel_node *p)
{
    SET_READY(read_kernel(p, 2, &t));
}

int cuGraphExecKernelNodeSetParams(void *ready, void *node, const struct driver_kernel_node *p)
{
    SET_READY(read_kernel(p, 1, &t));
}

int cuGraphKernelNodeGetParams(void *node, struct driver_kernel_node *p)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    if (!n || !p || n->task.kind != TASK_KERNEL)
        return DRIVER_INVALID_VALUE;
    const struct sim_launch *l = &n->task.launched.launch;
    p->function = n->task.launched.kernel;
    memcpy(p->grid, l->grid, sizeof p->grid);
    memcpy(p->block, l->block, sizeof p->block);
    p->shared = (unsigned)l->dynamic_shared;
    p->arguments = (void **)(uintptr_t)l->arguments;
    p->extra = NULL;
    return DRIVER_SUCCESS;
}

int cuGraphKernelNodeGetParams_v2(void *node, struct driver_kernel_node *p)
{
    ENTER;
    int result = cuGraphKernelNodeGetParams(node, p);
    if (result == DRIVER_SUCCESS)
        p->kernel = p->context = NULL;
    return result;
}

int cuGraphKernelNodeSetAttribute(void *node, int id, const union driver_launch_value *value)
{
    IN_CONTEXT;
    struct driver_node *n = driver_node_of(node);
    bool of_launches = id == DRIVER_LAUNCH_PROGRAMMATIC || id == DRIVER_LAUNCH_PROGRAMMATIC_EVENT ||
                       id == DRIVER_LAUNCH_COMPLETION_EVENT; /* nodes have edges for them */
    if (!n || !value || n->task.kind != TASK_KERNEL || of_launches)
        return DRIVER_INVALID_VALUE;
    const struct driver_launch_attribute a = {.id = id, .value = *value};
    struct driver_launched changed = n->task.launched;
    int result = driver_launch_attributes(&a, 1, &changed);
    if (result == DRIVER_SUCCESS)
        result = driver_launch_check(&changed);
    if (result == DRIVER_SUCCESS)
        n->task.launched = changed;
    return result;
}

int cuGraphKernelNodeGetAttribute(void *node, int id, union driver_launch_value *value)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    if (!n || !value || n->task.kind != TASK_KERNEL)
        return DRIVER_INVALID_VALUE;
    memset(value, 0, sizeof *value);
    if (id == DRIVER_LAUNCH_COOPERATIVE)
        value->number = n->task.launched.cooperative;
    if (id == DRIVER_LAUNCH_CLUSTER)
        memcpy(value->cluster, n->task.launched.launch.cluster, sizeof value->cluster);
    return DRIVER_SUCCESS;
}

int cuGraphKernelNodeCopyAttributes(void *to, void *from)
{
    IN_CONTEXT;
    struct driver_node *a = driver_node_of(to);
    const struct driver_node *b = driver_node_of(from);
    if (!a || !b || a->task.kind != TASK_KERNEL || b->task.kind != TASK_KERNEL)
        return DRIVER_INVALID_VALUE;
    copy_attributes(&a->task.launched, &b->task.launched);
    return DRIVER_SUCCESS;
}

/* --- copies, fills --- */

static int read_copy(const struct driver_copy_3d *p, struct driver_task *t)
{
    *t = (struct driver_task){.kind = TASK_COPY};
    return p ? driver_copy_of(p, &t->copy) : DRIVER_INVALID_VALUE;
}

int cuGraphAddMemcpyNode(void **node, void *graph, void *const *before, size_t count,
                         const struct driver_copy_3d *p, void *context)
{
    (void)context;
    ADD(read_copy(p, &t));
}

int cuGraphMemcpyNodeSetParams(void *node, const struct driver_copy_3d *p)
{
    SET(read_copy(p, &t));
}

int cuGraphExecMemcpyNodeSetParams(void *ready, void *node, const struct driver_copy_3d *p,
                                   void *context)
{
    (void)context;
    SET_READY(read_copy(p, &t));
}

static int read_fill(const struct driver_fill_node *p, struct driver_task *t)
{
    *t = (struct driver_task){.kind = TASK_FILL};
    if (!p || (p->bytes != 1 && p->bytes != 2 && p->bytes != 4))
        return DRIVER_INVALID_VALUE;
    t->fill = (struct driver_fill){.to = p->to,
                                   .pitch = p->pitch,
                                   .width = p->width,
                                   .height = p->height,
                                   .value = p->value,
                                   .bytes = (int)p->bytes};
    return DRIVER_SUCCESS;
}

int cuGraphAddMemsetNode(void **node, void *graph, void *const *before, size_t count,
                         const struct driver_fill_node *p, void *context)
{
    (void)context;
    ADD(read_fill(p, &t));
}

int cuGraphMemsetNodeSetParams(void *node, const struct driver_fill_node *p)
{
    SET(read_fill(p, &t));
}

int cuGraphExecMemsetNodeSetParams(void *ready, void *node, const struct driver_fill_node *p,
                                   void *context)
{
    (void)context;
    SET_READY(read_fill(p, &t));
}

int cuGraphMemsetNodeGetParams(void *node, struct driver_fill_node *p)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    if (!n || !p || n->task.kind != TASK_FILL)
        return DRIVER_INVALID_VALUE;
    const struct driver_fill *f = &n->task.fill;
    *p = (struct driver_fill_node){f->to,    f->pitch, f->value, (unsigned)f->bytes,
                                   f->width, f->height};
    return DRIVER_SUCCESS;
}

/* --- functions of the host --- */

static int read_host(const struct driver_host_node *p, struct driver_task *t)
{
    *t = (struct driver_task){.kind = TASK_HOST};
    if (!p || !p->function)
        return DRIVER_INVALID_VALUE;
    t->function = p->function;
    t->user = p->user;
    return DRIVER_SUCCESS;
}

int cuGraphAddHostNode(void **node, void *graph, void *const *before, size_t count,
                       const struct driver_host_node *p)
{
    ADD(read_host(p, &t));
}

int cuGraphHostNodeSetParams(void *node, const struct driver_host_node *p)
{
    SET(read_host(p, &t));
}

int cuGraphExecHostNodeSetParams(void *ready, void *node, const struct driver_host_node *p)
{
    SET_READY(read_host(p, &t));
}

int cuGraphHostNodeGetParams(void *node, struct driver_host_node *p)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    if (!n || !p || n->task.kind != TASK_HOST)
        return DRIVER_INVALID_VALUE;
    *p = (struct driver_host_node){n->task.function, n->task.user};
    return DRIVER_SUCCESS;
}

/* --- empty nodes, other graphs, events --- */

static int read_empty(struct driver_task *t)
{
    *t = (struct driver_task){.kind = TASK_EMPTY};
    return DRIVER_SUCCESS;
}

int cuGraphAddEmptyNode(void **node, void *graph, void *const *before, size_t count)
{
    ADD(read_empty(&t));
}

/* moves: the node takes the graph itself. A graph with memory has no copies for nodes, and one with
 * conditional nodes cannot be inside of others at all. */
static int read_graph(void *graph, bool moves, struct driver_task *t)
{
    *t = (struct driver_task){.kind = TASK_GRAPH, .graph = driver_graph_of(graph), .moves = moves};
    struct driver_graph *g = t->graph;
    if (!g || g->ready || (moves && (g->owned || g->captured)))
        return DRIVER_INVALID_VALUE;
    return g->has_branches || (g->has_memory && !moves) ? DRIVER_NOT_SUPPORTED : DRIVER_SUCCESS;
}

/* Returns true if a graph is another one, or inside of it. */
static bool contains(const struct driver_graph *g, const struct driver_graph *inner)
{
    bool found = g == inner;
    for (int i = 0; i < g->nodes.count && !found; i++) {
        const struct driver_task *t = &g->nodes.list[i]->task;
        found = t->kind == TASK_GRAPH && contains(t->graph, inner);
    }
    return found;
}

/* Returns the error of moving a graph into a node of another one. */
static int check_moved(const struct driver_graph *g, const struct driver_graph *to)
{
    if (contains(g, to))
        return DRIVER_INVALID_VALUE;
    return g->has_memory && to && to->owned ? DRIVER_NOT_SUPPORTED : DRIVER_SUCCESS;
}

/* Adds a node that takes its graph. */
static int add_moved(const struct driver_node_request *a, void *graph)
{
    struct driver_task t;
    struct driver_graph *to = driver_graph_of(a->graph);
    int result = read_graph(graph, true, &t);
    if (result == DRIVER_SUCCESS)
        result = check_moved(t.graph, to);
    result = driver_graph_add_requested(a, &t, result);
    if (result != DRIVER_SUCCESS)
        return result;
    t.graph->moved = true;
    to->has_memory = to->has_memory || t.graph->has_memory;
    return result;
}

int cuGraphAddChildGraphNode(void **node, void *graph, void *const *before, size_t count,
                             void *child)
{
    ADD(read_graph(child, false, &t));
}

int cuGraphChildGraphNodeGetGraph(void *node, void **child)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    if (!n || !child || n->task.kind != TASK_GRAPH)
        return DRIVER_INVALID_VALUE;
    *child = n->task.graph;
    return DRIVER_SUCCESS;
}

int cuGraphExecChildGraphNodeSetParams(void *ready, void *node, void *child)
{
    SET_READY(read_graph(child, false, &t));
}

static int read_event(void *event, enum driver_task_kind kind, struct driver_task *t)
{
    *t = (struct driver_task){.kind = kind, .event = driver_object(event, DRIVER_EVENT)};
    return t->event ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}

int cuGraphAddEventRecordNode(void **node, void *graph, void *const *before, size_t count,
                              void *event)
{
    ADD(read_event(event, TASK_RECORD, &t));
}

int cuGraphAddEventWaitNode(void **node, void *graph, void *const *before, size_t count,
                            void *event)
{
    ADD(read_event(event, TASK_WAIT, &t));
}

static int get_event(void *node, enum driver_task_kind kind, void **event)
{
    const struct driver_node *n = driver_node_of(node);
    if (!n || !event || n->task.kind != kind)
        return DRIVER_INVALID_VALUE;
    *event = n->task.event;
    return DRIVER_SUCCESS;
}

CONTEXT_ENTRY(cuGraphEventRecordNodeGetEvent, (void *node, void **event),
              get_event(node, TASK_RECORD, event))
CONTEXT_ENTRY(cuGraphEventWaitNodeGetEvent, (void *node, void **event),
              get_event(node, TASK_WAIT, event))

int cuGraphEventRecordNodeSetEvent(void *node, void *event)
{
    SET(read_event(event, TASK_RECORD, &t));
}

int cuGraphEventWaitNodeSetEvent(void *node, void *event)
{
    SET(read_event(event, TASK_WAIT, &t));
}

int cuGraphExecEventRecordNodeSetEvent(void *ready, void *node, void *event)
{
    SET_READY(read_event(event, TASK_RECORD, &t));
}

int cuGraphExecEventWaitNodeSetEvent(void *ready, void *node, void *event)
{
    SET_READY(read_event(event, TASK_WAIT, &t));
}

/* --- nodes of any kind --- */

_Static_assert(sizeof(struct driver_any_node) == 256, "the size that cuda.h gives it");

static int read_any(const struct driver_any_node *p, struct driver_task *t)
{
    *t = (struct driver_task){.kind = TASK_EMPTY};
    if (!p)
        return DRIVER_INVALID_VALUE;
    switch ((enum driver_task_kind)p->kind) {
    case TASK_KERNEL: return read_kernel(&p->of.kernel, 2, t);
    case TASK_COPY: return read_copy(&p->of.copy.parameters, t);
    case TASK_FILL: return read_fill(&p->of.fill, t);
    case TASK_HOST: return read_host(&p->of.host, t);
    case TASK_GRAPH: return read_graph(p->of.graph.graph, false, t);
    case TASK_WAIT:
    case TASK_RECORD: return read_event(p->of.event, (enum driver_task_kind)p->kind, t);
    case TASK_EMPTY: return read_empty(t);
    case TASK_ALLOCATE:
    case TASK_FREE:
    case TASK_CONDITIONAL: return DRIVER_INVALID_VALUE; /* their parameters do not change */
    case TASK_STUB: break;
    }
    return driver_unsupported("a graph's node that uses semaphores or operations on memory is not "
                              "supported");
}

int cuGraphAddNode_v2(void **node, void *graph, void *const *before, const void *data, size_t count,
                      struct driver_any_node *parameters)
{
    IN_CONTEXT;
    const struct driver_node_request a = {node, graph, before, data, count};
    struct driver_task t;
    switch (parameters ? (enum driver_task_kind)parameters->kind : TASK_EMPTY) {
    case TASK_ALLOCATE: return driver_graph_add_allocation(&a, &parameters->of.allocation);
    case TASK_FREE: return driver_graph_add_free(&a, parameters->of.freed);
    case TASK_CONDITIONAL: return driver_graph_add_conditional(&a, &parameters->of.conditional);
    case TASK_GRAPH:
        if (parameters->of.graph.ownership == DRIVER_OWNERSHIP_MOVE)
            return add_moved(&a, parameters->of.graph.graph);
        break;
    default: break;
    }
    return driver_graph_add_requested(&a, &t, read_any(parameters, &t));
}

ENTRY(cuGraphAddNode,
      (void **node, void *graph, void *const *before, size_t count,
       struct driver_any_node *parameters),
      cuGraphAddNode_v2(node, graph, before, NULL, count, parameters))

int cuGraphNodeSetParams(void *node, struct driver_any_node *parameters)
{
    SET(read_any(parameters, &t));
}

int cuGraphExecNodeSetParams(void *ready, void *node, struct driver_any_node *parameters)
{
    SET_READY(read_any(parameters, &t));
}

/* --- nodes that are left out --- */

int cuGraphNodeSetEnabled(void *ready, void *node, unsigned enabled)
{
    IN_CONTEXT;
    struct driver_node *n = in_ready(ready, node);
    if (!n || n->task.kind > TASK_FILL)
        return DRIVER_INVALID_VALUE;
    n->disabled = !enabled;
    return DRIVER_SUCCESS;
}

int cuGraphNodeGetEnabled(void *ready, void *node, unsigned *enabled)
{
    IN_CONTEXT;
    const struct driver_node *n = in_ready(ready, node);
    if (!n || !enabled)
        return DRIVER_INVALID_VALUE;
    *enabled = !n->disabled;
    return DRIVER_SUCCESS;
}
