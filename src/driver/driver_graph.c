/* Graphs, nodes, edges. */
#include "driver/driver_graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- edges, lists of nodes --- */

#define PLAIN ((struct driver_edge){0})

_Static_assert(sizeof(struct driver_edge) == 8, "the size that cuda.h gives it");

struct driver_edge driver_edge_at(const void *data, size_t i)
{
    struct driver_edge e = PLAIN;
    if (data)
        memcpy(&e, (const char *)data + i * sizeof e, sizeof e);
    return e;
}

static bool is_same(struct driver_edge a, struct driver_edge b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

bool driver_edge_is_plain(struct driver_edge e)
{
    return is_same(e, PLAIN);
}

bool driver_edge_suits(struct driver_edge e, enum driver_task_kind from, enum driver_task_kind to)
{
    enum { PROGRAMMATIC = 1 }; /* CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC */
    const struct driver_edge known = {.from_port = e.from_port, .type = e.type};
    if (!is_same(e, known) || e.from_port > DRIVER_PORT_LAUNCH_ORDER || e.type > PROGRAMMATIC)
        return false;
    if (e.from_port && from != TASK_KERNEL)
        return false;
    if (e.type == PROGRAMMATIC)
        return e.from_port && to == TASK_KERNEL;
    return e.from_port != DRIVER_PORT_PROGRAMMATIC;
}

static bool has(const struct driver_nodes *nodes, const struct driver_node *n)
{
    for (int i = 0; i < nodes->count; i++)
        if (nodes->list[i] == n)
            return true;
    return false;
}

static bool push(struct driver_nodes *nodes, struct driver_node *n, struct driver_edge e)
{
    assert(nodes->count <= nodes->room);
    if (nodes->count == nodes->room) {
        int room = nodes->room ? 2 * nodes->room : 4;
        void *list = realloc(nodes->list, (size_t)room * sizeof(struct driver_node *));
        if (!list)
            return false;
        nodes->list = list;
        void *edges = realloc(nodes->edges, (size_t)room * sizeof *nodes->edges);
        if (!edges)
            return false;
        nodes->edges = edges;
        nodes->room = room;
    }
    nodes->edges[nodes->count] = e;
    nodes->list[nodes->count++] = n;
    return true;
}

/* Returns an edge that asks for all that two edges between the same nodes ask for. */
static struct driver_edge stronger(struct driver_edge a, struct driver_edge b)
{
    if (!a.from_port || !b.from_port)
        return PLAIN;
    bool triggered =
        a.from_port == DRIVER_PORT_PROGRAMMATIC || b.from_port == DRIVER_PORT_PROGRAMMATIC;
    return (struct driver_edge){.from_port =
                                    triggered ? DRIVER_PORT_PROGRAMMATIC : DRIVER_PORT_LAUNCH_ORDER,
                                .type = a.type | b.type};
}

bool driver_nodes_add_edge(struct driver_nodes *nodes, struct driver_node *n, struct driver_edge e)
{
    for (int i = 0; i < nodes->count; i++)
        if (nodes->list[i] == n) {
            nodes->edges[i] = stronger(nodes->edges[i], e);
            return true;
        }
    return push(nodes, n, e);
}

bool driver_nodes_add(struct driver_nodes *nodes, struct driver_node *n)
{
    return driver_nodes_add_edge(nodes, n, PLAIN);
}

/* Removes a node. Returns false if the list does not have it. */
static bool remove_node(struct driver_nodes *nodes, const struct driver_node *n)
{
    for (int i = 0; i < nodes->count; i++)
        if (nodes->list[i] == n) {
            nodes->count--;
            size_t rest = (size_t)(nodes->count - i);
            memmove(&nodes->list[i], &nodes->list[i + 1], rest * sizeof(struct driver_node *));
            memmove(&nodes->edges[i], &nodes->edges[i + 1], rest * sizeof *nodes->edges);
            return true;
        }
    return false;
}

void driver_nodes_clear(struct driver_nodes *nodes)
{
    free(nodes->list);
    free(nodes->edges);
    *nodes = (struct driver_nodes){.list = NULL};
}

/* Gives the caller as many nodes as fit, and NULL for the rest of the room; or their number. A caller
 * that asks for nodes without their edges gets only plain edges. */
static int give_edges(const struct driver_nodes *nodes, void **to, void *data, size_t *count)
{
    if (!count || (data && !to))
        return DRIVER_INVALID_VALUE;
    for (int i = 0; to && !data && i < nodes->count; i++)
        if (!driver_edge_is_plain(nodes->edges[i]))
            return DRIVER_LOSSY_QUERY;
    for (size_t i = 0; to && i < *count; i++) {
        bool given = i < (size_t)nodes->count;
        to[i] = given ? nodes->list[i] : NULL;
        if (data && given)
            memcpy((char *)data + i * sizeof(struct driver_edge), &nodes->edges[i],
                   sizeof(struct driver_edge));
    }
    if (!to || *count > (size_t)nodes->count)
        *count = (size_t)nodes->count;
    return DRIVER_SUCCESS;
}

/* Gives nodes that have no edges. */
static int give(const struct driver_nodes *nodes, void **to, size_t *count)
{
    return give_edges(nodes, to, NULL, count);
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
    driver_moments_free(&n->moments);
    if (n->lane && !n->continued)
        driver_lane_return(n->lane);
    driver_delete(n);
}

/* Forgets a graph that is destroyed; its memory stays. */
static void forget_memory(const struct driver_graph *g)
{
    for (int i = 0; i < g->nodes.count; i++) {
        struct driver_memory *m = g->nodes.list[i]->task.memory;
        if (m && m->owner == g)
            m->owner = NULL;
    }
}

void driver_graph_free(struct driver_graph *g)
{
    if (!g)
        return;
    if (g->has_memory)
        forget_memory(g);
    for (struct driver_condition *c = g->conditions; c; c = c->next)
        c->graph = NULL;
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
        good = driver_nodes_add_edge(&n->before, before->list[i], before->edges[i]);
    if (good && push(&g->nodes, n, PLAIN))
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
    if (g) {
        g->has_memory = from->has_memory;
        g->has_branches = from->has_branches;
    }
    for (int i = 0; good && i < from->nodes.count; i++) {
        const struct driver_node *n = from->nodes.list[i];
        struct driver_node *made = driver_graph_add(g, &n->task, NULL);
        good = made;
        if (!made)
            break;
        made->origin = n;
    }
    for (int i = 0; good && i < from->nodes.count; i++) {
        const struct driver_nodes *before = &from->nodes.list[i]->before;
        for (int k = 0; good && k < before->count; k++)
            good = push(&g->nodes.list[i]->before, driver_graph_find(g, before->list[k]),
                        before->edges[k]);
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
        for (unsigned k = 0; n->task.kind == TASK_CONDITIONAL && !inside && k < n->task.body_count;
             k++)
            inside = driver_graph_find(n->task.bodies[k], origin);
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

static bool is_captured(const struct driver_graph *g);

/* Returns true if a capture in progress adds to a graph inside of the node. */
static bool has_capture(const struct driver_node *n)
{
    const struct driver_task *t = &n->task;
    bool captured = t->kind == TASK_GRAPH && is_captured(t->graph);
    for (unsigned i = 0; t->kind == TASK_CONDITIONAL && i < t->body_count; i++)
        captured = captured || is_captured(t->bodies[i]);
    return captured;
}

static bool is_captured(const struct driver_graph *g)
{
    bool captured = g->captured;
    for (int i = 0; i < g->nodes.count; i++)
        captured = captured || has_capture(g->nodes.list[i]);
    return captured;
}

int cuGraphDestroy(void *graph)
{
    ENTER;
    struct driver_graph *g = driver_graph_of(graph);
    if (!g || g->owned || g->ready)
        return DRIVER_INVALID_VALUE;
    if (is_captured(g))
        return DRIVER_ILLEGAL_STATE;
    driver_graph_free(g);
    return DRIVER_SUCCESS;
}

int cuGraphClone(void **clone, void *graph)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(graph);
    if (!clone || !g || g->ready)
        return DRIVER_INVALID_VALUE;
    if (g->has_memory || g->has_branches)
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
    if (n->graph->captured || has_capture(n))
        return DRIVER_ILLEGAL_STATE;
    if (n->graph->has_memory)
        return DRIVER_NOT_SUPPORTED;
    for (int i = 0; i < n->graph->nodes.count; i++)
        remove_node(&n->graph->nodes.list[i]->before, n);
    remove_node(&n->graph->nodes, n);
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
            push(&roots, g->nodes.list[i], PLAIN);
    int result = g ? give(&roots, nodes, count) : DRIVER_INVALID_VALUE;
    driver_nodes_clear(&roots);
    return result;
}

/* --- edges --- */

int cuGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const void *data,
                              size_t count)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(graph);
    if (!g || (count && (!from || !to)))
        return DRIVER_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct driver_node *a = driver_node_of(from[i]), *b = driver_node_of(to[i]);
        struct driver_edge e = driver_edge_at(data, i);
        if (!a || !b || a->graph != g || b->graph != g || a == b || has(&b->before, a) ||
            !driver_edge_suits(e, a->task.kind, b->task.kind))
            return DRIVER_INVALID_VALUE;
        if (!push(&b->before, a, e))
            return DRIVER_OUT_OF_MEMORY;
    }
    return DRIVER_SUCCESS;
}

ENTRY(cuGraphAddDependencies, (void *graph, void *const *from, void *const *to, size_t count),
      cuGraphAddDependencies_v2(graph, from, to, NULL, count))

static bool has_edge(const struct driver_node *n, const struct driver_node *before,
                     struct driver_edge e)
{
    for (int i = 0; i < n->before.count; i++)
        if (n->before.list[i] == before)
            return is_same(n->before.edges[i], e);
    return false;
}

int cuGraphRemoveDependencies_v2(void *graph, void *const *from, void *const *to, const void *data,
                                 size_t count)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(graph);
    if (!g || (count && (!from || !to)))
        return DRIVER_INVALID_VALUE;
    if (g->has_memory && count)
        return DRIVER_NOT_SUPPORTED;
    for (size_t i = 0; i < count; i++) {
        struct driver_node *a = driver_node_of(from[i]), *b = driver_node_of(to[i]);
        if (!a || !b || !has_edge(b, a, driver_edge_at(data, i)))
            return DRIVER_INVALID_VALUE;
        remove_node(&b->before, a);
    }
    return DRIVER_SUCCESS;
}

ENTRY(cuGraphRemoveDependencies, (void *graph, void *const *from, void *const *to, size_t count),
      cuGraphRemoveDependencies_v2(graph, from, to, NULL, count))

int cuGraphGetEdges_v2(void *graph, void **from, void **to, void *data, size_t *count)
{
    IN_CONTEXT;
    const struct driver_graph *g = driver_graph_of(graph);
    size_t found = 0, room = count ? *count : 0;
    if (!g || !count || !from != !to || (data && !from))
        return DRIVER_INVALID_VALUE;
    for (int i = 0; i < g->nodes.count; i++) {
        const struct driver_nodes *before = &g->nodes.list[i]->before;
        for (int k = 0; k < before->count; k++, found++) {
            if (!from)
                continue;
            if (!data && !driver_edge_is_plain(before->edges[k]))
                return DRIVER_LOSSY_QUERY;
            if (found >= room)
                continue;
            from[found] = before->list[k];
            to[found] = g->nodes.list[i];
            if (data)
                memcpy((char *)data + found * sizeof(struct driver_edge), &before->edges[k],
                       sizeof(struct driver_edge));
        }
    }
    if (!from || found < room)
        *count = found;
    return DRIVER_SUCCESS;
}

ENTRY(cuGraphGetEdges, (void *graph, void **from, void **to, size_t *count),
      cuGraphGetEdges_v2(graph, from, to, NULL, count))

int cuGraphNodeGetDependencies_v2(void *node, void **nodes, void *data, size_t *count)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    return n ? give_edges(&n->before, nodes, data, count) : DRIVER_INVALID_VALUE;
}

ENTRY(cuGraphNodeGetDependencies, (void *node, void **nodes, size_t *count),
      cuGraphNodeGetDependencies_v2(node, nodes, NULL, count))

int cuGraphNodeGetDependentNodes_v2(void *node, void **nodes, void *data, size_t *count)
{
    IN_CONTEXT;
    const struct driver_node *n = driver_node_of(node);
    struct driver_nodes after = {.list = NULL};
    for (int i = 0; n && i < n->graph->nodes.count; i++) {
        const struct driver_nodes *before = &n->graph->nodes.list[i]->before;
        for (int k = 0; k < before->count; k++)
            if (before->list[k] == n)
                push(&after, n->graph->nodes.list[i], before->edges[k]);
    }
    int result = n ? give_edges(&after, nodes, data, count) : DRIVER_INVALID_VALUE;
    driver_nodes_clear(&after);
    return result;
}

ENTRY(cuGraphNodeGetDependentNodes, (void *node, void **nodes, size_t *count),
      cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count))

/* Copies the caller's regions and data. */
static bool keep_stub(struct driver_stub *s)
{
    size_t bytes = (size_t)s->count * sizeof *s->regions;
    struct driver_region *regions = malloc(bytes + s->user_bytes + 1);
    if (!regions)
        return false;
    if (bytes)
        memcpy(regions, s->regions, bytes);
    s->user = memcpy((char *)regions + bytes, s->user, s->user_bytes);
    s->regions = regions;
    return true;
}

/* Copies the arguments of a launch into memory of the task. */
static bool keep_arguments(struct driver_task *t)
{
    struct sim_launch *l = &t->launched.launch;
    const struct ptx_function *f = t->launched.kernel->function;
    size_t count = (size_t)l->argument_count, bytes = count * sizeof(void *), at = bytes;
    for (size_t i = 0; i < count; i++)
        bytes += (size_t)ptx_variable_size(f->signature.parameters.data[i]);
    const void **list = malloc(bytes + 1);
    if (!list)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t size = (size_t)ptx_variable_size(f->signature.parameters.data[i]);
        list[i] = memcpy((char *)list + at, l->arguments[i], size);
        at += size;
    }
    l->arguments = list;
    return true;
}

static void drop_bodies(struct driver_task *t)
{
    for (unsigned i = 0; t->bodies && i < t->body_count; i++)
        driver_graph_free(t->bodies[i]);
    free(t->bodies);
}

/* Gives the task copies of its bodies. */
static bool keep_bodies(struct driver_task *t)
{
    struct driver_graph **from = t->bodies;
    t->bodies = calloc(t->body_count, sizeof(struct driver_graph *));
    bool good = t->bodies;
    for (unsigned i = 0; good && i < t->body_count; i++) {
        t->bodies[i] = driver_graph_copy(from[i]);
        good = t->bodies[i];
        if (good)
            t->bodies[i]->owned = true;
    }
    if (!good)
        drop_bodies(t);
    return good;
}

bool driver_task_keep(struct driver_task *t)
{
    if (!t->call) {
        t->call = driver_call_name();
        driver_site_here(&t->site);
    }
    if (t->kind == TASK_KERNEL)
        return keep_arguments(t);
    if (t->kind == TASK_STUB)
        return keep_stub(&t->stub);
    bool moves = t->moves;
    t->moves = false; /* copies of the node have copies of the graph */
    if (t->kind == TASK_CONDITIONAL)
        return moves || keep_bodies(t);
    if (t->kind != TASK_GRAPH)
        return true;
    if (!moves)
        t->graph = driver_graph_copy(t->graph);
    if (t->graph)
        t->graph->owned = true;
    return t->graph;
}

void driver_task_drop(struct driver_task *t)
{
    if (t->kind == TASK_KERNEL)
        free((void *)(uintptr_t)t->launched.launch.arguments);
    if (t->kind == TASK_STUB)
        free((void *)(uintptr_t)t->stub.regions);
    if (t->kind == TASK_GRAPH)
        driver_graph_free(t->graph);
    if (t->kind == TASK_CONDITIONAL)
        drop_bodies(t);
    t->kind = TASK_EMPTY;
}
