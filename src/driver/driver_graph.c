/* Graphs, nodes, edges. */
#include "driver/driver_graph.h"

#include <stdlib.h>
#include <string.h>

/* --- lists of nodes --- */

static bool has(const struct driver_nodes *nodes, const struct driver_node *n)
{
    for (int i = 0; i < nodes->count; i++)
        if (nodes->list[i] == n)
            return true;
    return false;
}

static bool push(struct driver_nodes *nodes, struct driver_node *n)
{
    if (nodes->count == nodes->room) {
        int room = nodes->room ? 2 * nodes->room : 4;
        void *list = realloc(nodes->list, (size_t)room * sizeof(struct driver_node *));
        if (!list)
            return false;
        nodes->list = list;
        nodes->room = room;
    }
    nodes->list[nodes->count++] = n;
    return true;
}

bool driver_nodes_add(struct driver_nodes *nodes, struct driver_node *n)
{
    return has(nodes, n) || push(nodes, n);
}

bool driver_nodes_take(struct driver_nodes *nodes, const struct driver_node *n)
{
    for (int i = 0; i < nodes->count; i++)
        if (nodes->list[i] == n) {
            nodes->count--;
            memmove(&nodes->list[i], &nodes->list[i + 1],
                    (size_t)(nodes->count - i) * sizeof(struct driver_node *));
            return true;
        }
    return false;
}

void driver_nodes_clear(struct driver_nodes *nodes)
{
    free(nodes->list);
    *nodes = (struct driver_nodes){.list = NULL};
}

/* Gives the caller as many nodes as fit, and NULL for the rest of his room; or their number. */
static int give(const struct driver_nodes *nodes, void **to, size_t *count)
{
    if (!count)
        return DRIVER_INVALID_VALUE;
    for (size_t i = 0; to && i < *count; i++)
        to[i] = i < (size_t)nodes->count ? nodes->list[i] : NULL;
    if (!to || *count > (size_t)nodes->count)
        *count = (size_t)nodes->count;
    return DRIVER_SUCCESS;
}

/* --- graphs --- */

struct driver_graph *driver_graph_of(const void *handle)
{
    return driver_object(handle, DRIVER_GRAPH);
}

struct driver_node *driver_node_of(const void *handle)
{
    return driver_object(handle, DRIVER_NODE);
}

struct driver_graph *driver_graph_new(void)
{
    return driver_new(DRIVER_GRAPH, sizeof(struct driver_graph));
}

static void free_node(struct driver_node *n)
{
    driver_task_drop(&n->task);
    driver_nodes_clear(&n->before);
    free(n->clock.times);
    if (n->lane && !n->continued)
        driver_lane_return(n->lane);
    driver_delete(n);
}

void driver_graph_free(struct driver_graph *g)
{
    if (!g)
        return;
    if (g->has_memory)
        driver_graph_forget_memory(g);
    if (g->instance)
        g->instance->source = NULL;
    if (g->source)
        g->source->instance = NULL;
    for (int i = 0; i < g->nodes.count; i++)
        free_node(g->nodes.list[i]);
    driver_nodes_clear(&g->nodes);
    driver_nodes_clear(&g->sorted);
    free(g->clock.times);
    driver_delete(g);
}

struct driver_node *driver_graph_add(struct driver_graph *g, const struct driver_task *t,
                                     const struct driver_nodes *before)
{
    struct driver_node *n = driver_new(DRIVER_NODE, sizeof *n);
    if (!n)
        return NULL;
    n->graph = g;
    n->task = *t;
    n->number = ++g->made;
    bool kept = driver_task_keep(&n->task), good = kept;
    for (int i = 0; good && before && i < before->count; i++)
        good = driver_nodes_add(&n->before, before->list[i]);
    if (good && push(&g->nodes, n))
        return n;
    if (!kept || t->moves) /* what the task points to is still the caller's */
        n->task.kind = TASK_EMPTY;
    free_node(n);
    return NULL;
}

struct driver_graph *driver_graph_copy(const struct driver_graph *from)
{
    struct driver_graph *g = driver_graph_new();
    bool good = g;
    if (g)
        g->has_memory = from->has_memory;
    for (int i = 0; good && i < from->nodes.count; i++) {
        const struct driver_node *n = from->nodes.list[i];
        struct driver_node *made = driver_graph_add(g, &n->task, NULL);
        good = made;
        if (!made)
            break;
        made->origin = n;
        made->disabled = n->disabled;
    }
    for (int i = 0; good && i < from->nodes.count; i++) {
        const struct driver_nodes *before = &from->nodes.list[i]->before;
        for (int k = 0; good && k < before->count; k++)
            good = push(&g->nodes.list[i]->before, driver_graph_find(g, before->list[k]));
    }
    if (good)
        return g;
    driver_graph_free(g);
    return NULL;
}

struct driver_node *driver_graph_find(const struct driver_graph *g,
                                      const struct driver_node *origin)
{
    for (int i = 0; i < g->nodes.count; i++) {
        struct driver_node *n = g->nodes.list[i], *inside = NULL;
        if (n->origin == origin)
            return n;
        if (n->task.kind == TASK_GRAPH)
            inside = driver_graph_find(n->task.graph, origin);
        if (inside)
            return inside;
    }
    return NULL;
}

/* --- calls --- */

int cuGraphCreate(void **graph, unsigned flags)
{
    IN_CONTEXT;
    if (!graph || flags)
        return DRIVER_INVALID_VALUE;
    *graph = driver_graph_new();
    return *graph ? DRIVER_SUCCESS : DRIVER_OUT_OF_MEMORY;
}

int cuGraphDestroy(void *graph)
{
    ENTER;
    struct driver_graph *g = driver_graph_of(graph);
    if (!g || g->owned || g->ready)
        return DRIVER_INVALID_VALUE;
    driver_graph_free(g);
    return DRIVER_SUCCESS;
}

int cuGraphClone(void **clone, void *graph)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(graph);
    if (!clone || !g)
        return DRIVER_INVALID_VALUE;
    if (g->has_memory)
        return DRIVER_NOT_SUPPORTED;
    *clone = driver_graph_copy(g);
    return *clone ? DRIVER_SUCCESS : DRIVER_OUT_OF_MEMORY;
}

int cuGraphNodeFindInClone(void **node, void *original, void *clone)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(clone);
    const struct driver_node *n = driver_node_of(original);
    if (!node || !g || !n)
        return DRIVER_INVALID_VALUE;
    *node = driver_graph_find(g, n);
    return *node ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}

int cuGraphDestroyNode(void *node)
{
    IN_CONTEXT;
    struct driver_node *n = driver_node_of(node);
    if (!n || n->graph->ready)
        return DRIVER_INVALID_VALUE;
    if (n->graph->has_memory)
        return DRIVER_NOT_SUPPORTED;
    for (int i = 0; i < n->graph->nodes.count; i++)
        driver_nodes_take(&n->graph->nodes.list[i]->before, n);
    driver_nodes_take(&n->graph->nodes, n);
    driver_capture_forget(n);
    free_node(n);
    return DRIVER_SUCCESS;
}

int cuGraphNodeGetType(void *node, int *type)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    if (!n || !type)
        return DRIVER_INVALID_VALUE;
    *type = n->task.kind == TASK_STUB ? TASK_KERNEL : (int)n->task.kind;
    return DRIVER_SUCCESS;
}

int cuGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(graph);
    return g ? give(&g->nodes, nodes, count) : DRIVER_INVALID_VALUE;
}

int cuGraphGetRootNodes(void *graph, void **nodes, size_t *count)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(graph);
    struct driver_nodes roots = {.list = NULL};
    for (int i = 0; g && i < g->nodes.count; i++)
        if (!g->nodes.list[i]->before.count)
            push(&roots, g->nodes.list[i]);
    int result = g ? give(&roots, nodes, count) : DRIVER_INVALID_VALUE;
    driver_nodes_clear(&roots);
    return result;
}

/* --- edges --- */

enum { EDGE_BYTES = 8 }; /* CUgraphEdgeData */

/* Edges of other kinds than "when all is done" have bytes that are not 0. */
bool driver_edges_are_plain(const unsigned char *data, size_t count)
{
    for (size_t i = 0; data && i < count * EDGE_BYTES; i++)
        if (data[i]) {
            driver_unsupported(
                "edges of graphs with ports are not supported; use edges without data");
            return false;
        }
    return true;
}

int cuGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const void *data,
                              size_t count)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(graph);
    if (!g || (count && (!from || !to)))
        return DRIVER_INVALID_VALUE;
    if (!driver_edges_are_plain(data, count))
        return DRIVER_NOT_SUPPORTED;
    for (size_t i = 0; i < count; i++) {
        struct driver_node *a = driver_node_of(from[i]), *b = driver_node_of(to[i]);
        if (!a || !b || a->graph != g || b->graph != g || a == b || has(&b->before, a))
            return DRIVER_INVALID_VALUE;
        if (!push(&b->before, a))
            return DRIVER_OUT_OF_MEMORY;
    }
    return DRIVER_SUCCESS;
}

int cuGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count)
{
    ENTER;
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

int cuGraphRemoveDependencies_v2(void *graph, void *const *from, void *const *to, const void *data,
                                 size_t count)
{
    IN_CONTEXT;
    (void)data;
    const struct driver_graph *g = driver_graph_of(graph);
    if (!g || (count && (!from || !to)))
        return DRIVER_INVALID_VALUE;
    if (g->has_memory && count)
        return DRIVER_NOT_SUPPORTED;
    for (size_t i = 0; i < count; i++) {
        struct driver_node *a = driver_node_of(from[i]), *b = driver_node_of(to[i]);
        if (!a || !b || !driver_nodes_take(&b->before, a))
            return DRIVER_INVALID_VALUE;
    }
    return DRIVER_SUCCESS;
}

int cuGraphRemoveDependencies(void *graph, void *const *from, void *const *to, size_t count)
{
    ENTER;
    return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

int cuGraphGetEdges_v2(void *graph, void **from, void **to, void *data, size_t *count)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(graph);
    size_t found = 0, room = count ? *count : 0;
    if (!g || !count || !from != !to)
        return DRIVER_INVALID_VALUE;
    for (int i = 0; i < g->nodes.count; i++)
        for (int k = 0; k < g->nodes.list[i]->before.count; k++, found++) {
            if (!from || found >= room)
                continue;
            from[found] = g->nodes.list[i]->before.list[k];
            to[found] = g->nodes.list[i];
        }
    if (from && data)
        memset(data, 0, (found < room ? found : room) * EDGE_BYTES);
    if (!from || found < room)
        *count = found;
    return DRIVER_SUCCESS;
}

int cuGraphGetEdges(void *graph, void **from, void **to, size_t *count)
{
    ENTER;
    return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

int cuGraphNodeGetDependencies_v2(void *node, void **nodes, void *data, size_t *count)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    int result = n ? give(&n->before, nodes, count) : DRIVER_INVALID_VALUE;
    if (result == DRIVER_SUCCESS && nodes && data)
        memset(data, 0, *count * EDGE_BYTES);
    return result;
}

int cuGraphNodeGetDependencies(void *node, void **nodes, size_t *count)
{
    ENTER;
    return cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

int cuGraphNodeGetDependentNodes_v2(void *node, void **nodes, void *data, size_t *count)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    struct driver_nodes after = {.list = NULL};
    for (int i = 0; n && i < n->graph->nodes.count; i++)
        if (has(&n->graph->nodes.list[i]->before, n))
            push(&after, n->graph->nodes.list[i]);
    int result = n ? give(&after, nodes, count) : DRIVER_INVALID_VALUE;
    if (result == DRIVER_SUCCESS && nodes && data)
        memset(data, 0, *count * EDGE_BYTES);
    driver_nodes_clear(&after);
    return result;
}

int cuGraphNodeGetDependentNodes(void *node, void **nodes, size_t *count)
{
    ENTER;
    return cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}
