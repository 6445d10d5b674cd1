/* Nodes that allocate and free memory. An allocation has its address from the making of its node on, and
 * bytes from the node's run until it is freed: by a node of its graph, by one of another graph, or by
 * cuMemFreeAsync or cuMemFree (CUDA Programming Guide, "Graph Memory Nodes"). */
#include "driver/driver_graph.h"

/* CUgraphMem_attribute */
enum { USED, USED_MOST, RESERVED, RESERVED_MOST, ATTRIBUTES };
static uint64_t attributes[ATTRIBUTES]; /* bytes */

/* --- making --- */

/* Returns an error for graphs that take no nodes of memory. */
static int check_graph(const struct driver_graph *g)
{
    if (!g || g->ready)
        return DRIVER_INVALID_VALUE;
    if (g->parent)
        return driver_graph_refuse_in_body();
    return g->owned ? DRIVER_NOT_SUPPORTED : DRIVER_SUCCESS; /* by a node */
}

int driver_graph_add_allocation(const struct driver_node_request *a,
                                struct driver_allocation_node *p)
{
    struct driver_task t = {.kind = TASK_ALLOCATE};
    struct driver_graph *g = driver_graph_of(a->graph);
    int result = p ? check_graph(g) : DRIVER_INVALID_VALUE;
    if (result != DRIVER_SUCCESS)
        return result;
    if (p->properties.handles || p->properties.type != DRIVER_PINNED_ALLOCATION)
        return DRIVER_INVALID_VALUE;
    if (p->properties.location != DRIVER_ON_DEVICE)
        return driver_unsupported("graphs that allocate outside of the device are not supported");
    result = driver_memory_reserve(p->bytes, &t.memory);
    result = driver_graph_add_requested(a, &t, result);
    if (result != DRIVER_SUCCESS)
        return result;
    t.memory->owner = g;
    t.memory->pool_used = &attributes[USED];
    g->has_memory = true;
    p->address = t.memory->address;
    return DRIVER_SUCCESS;
}

static bool frees(const struct driver_graph *g, const struct driver_memory *m)
{
    for (int i = 0; i < g->nodes.count; i++)
        if (g->nodes.list[i]->task.kind == TASK_FREE && g->nodes.list[i]->task.memory == m)
            return true;
    return false;
}

/* Reports why a node cannot free an address; NULL: it can. */
static const char *why_not_freed(const struct driver_graph *g, const struct driver_memory *m)
{
    if (!m || !m->of_graph)
        return "a node of a graph frees memory that no node of a graph allocates";
    if (frees(g, m))
        return "a graph has two nodes that free the same memory";
    if (m->owner == g && m->freed_outside)
        return "a graph frees memory of its own that another graph frees";
    if (m->owner != g && m->freed_inside)
        return "a graph frees memory that the graph that allocates it frees itself";
    return NULL;
}

int driver_graph_add_free(const struct driver_node_request *a, uint64_t address)
{
    struct driver_task t = {.kind = TASK_FREE, .memory = driver_memory_at(address)};
    struct driver_graph *g = driver_graph_of(a->graph);
    struct driver_memory *m = t.memory;
    int result = check_graph(g);
    if (result != DRIVER_SUCCESS)
        return result;
    const char *why = m && m->address != address ? "a node of a graph frees an address at which no "
                                                   "allocation begins"
                                                 : why_not_freed(g, m);
    if (why) {
        driver_refuse("invalid-free", m, "%s", why);
        return DRIVER_INVALID_VALUE;
    }
    result = driver_graph_add_requested(a, &t, DRIVER_SUCCESS);
    if (result != DRIVER_SUCCESS)
        return result;
    g->has_memory = true;
    if (m->owner == g)
        m->freed_inside = true;
    else
        m->freed_outside = true;
    return DRIVER_SUCCESS;
}

/* --- running --- */

static void raise(int most, uint64_t to)
{
    if (attributes[most] < to)
        attributes[most] = to;
}

int driver_graph_allocate(struct driver_memory *m, struct driver_stream *s)
{
    int result = m->freed_by ? driver_memory_renew(m) : DRIVER_INVALID_VALUE;
    if (result != DRIVER_SUCCESS)
        return result;
    attributes[USED] += m->bytes;
    raise(USED_MOST, attributes[USED]);
    raise(RESERVED, attributes[USED]);
    raise(RESERVED_MOST, attributes[RESERVED]);
    driver_touch_memory(s, m, "allocates");
    return DRIVER_SUCCESS;
}

int driver_graph_release(struct driver_memory *m, struct driver_stream *s)
{
    if (!m->freed_by)
        driver_touch_memory(s, m, "frees");
    return driver_memory_end(m);
}

static int refuse_launch(const struct driver_node *n)
{
    const struct driver_memory *m = n->task.memory;
    driver_refuse("unfreed", m,
                  "a graph is launched, and %s of its node %d has not been freed since "
                  "an earlier launch: free it, or instantiate the graph with "
                  "cudaGraphInstantiateFlagAutoFreeOnLaunch",
                  m->name, n->number);
    return DRIVER_INVALID_VALUE;
}

static int begin(const struct driver_graph *g, struct driver_stream *s, bool auto_free)
{
    int result = DRIVER_SUCCESS;
    for (int i = 0; i < g->nodes.count && result == DRIVER_SUCCESS; i++) {
        const struct driver_node *n = g->nodes.list[i];
        bool live = n->task.kind == TASK_ALLOCATE && !n->task.memory->freed_by;
        if (n->task.kind == TASK_GRAPH)
            result = begin(n->task.graph, s, auto_free);
        else if (live)
            result = auto_free ? driver_graph_release(n->task.memory, s) : refuse_launch(n);
    }
    return result;
}

int driver_graph_begin_memory(const struct driver_graph *g, struct driver_stream *s)
{
    driver_order_wait(s, &g->clock);
    return begin(g, s, g->auto_free);
}

/* --- calls --- */

int cuGraphAddMemAllocNode(void **node, void *graph, void *const *before, size_t count,
                           struct driver_allocation_node *parameters)
{
    IN_CONTEXT;
    return driver_graph_add_allocation(
        &(struct driver_node_request){node, graph, before, NULL, count}, parameters);
}

int cuGraphAddMemFreeNode(void **node, void *graph, void *const *before, size_t count,
                          uint64_t address)
{
    IN_CONTEXT;
    return driver_graph_add_free(&(struct driver_node_request){node, graph, before, NULL, count},
                                 address);
}

int cuGraphMemAllocNodeGetParams(void *node, struct driver_allocation_node *parameters)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    if (!n || !parameters || n->task.kind != TASK_ALLOCATE)
        return DRIVER_INVALID_VALUE;
    *parameters = (struct driver_allocation_node){
        .properties = {.type = DRIVER_PINNED_ALLOCATION, .location = DRIVER_ON_DEVICE},
        .bytes = n->task.memory->bytes,
        .address = n->task.memory->address};
    return DRIVER_SUCCESS;
}

int cuGraphMemFreeNodeGetParams(void *node, uint64_t *address)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    if (!n || !address || n->task.kind != TASK_FREE)
        return DRIVER_INVALID_VALUE;
    *address = n->task.memory->address;
    return DRIVER_SUCCESS;
}

int cuDeviceGraphMemTrim(int device)
{
    IN_CONTEXT;
    if (device)
        return DRIVER_INVALID_DEVICE;
    attributes[RESERVED] = attributes[USED];
    return DRIVER_SUCCESS;
}

int cuDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
    IN_CONTEXT;
    if (device || !value || attribute < 0 || attribute >= ATTRIBUTES)
        return device ? DRIVER_INVALID_DEVICE : DRIVER_INVALID_VALUE;
    *(uint64_t *)value = attributes[attribute];
    return DRIVER_SUCCESS;
}

/* A highest value is only set back. */
int cuDeviceSetGraphMemAttribute(int device, int attribute, const void *value)
{
    IN_CONTEXT;
    if (device)
        return DRIVER_INVALID_DEVICE;
    if (!value || (attribute != USED_MOST && attribute != RESERVED_MOST) ||
        *(const uint64_t *)value)
        return DRIVER_INVALID_VALUE;
    attributes[attribute] = attributes[attribute - 1];
    return DRIVER_SUCCESS;
}
