/* Nodes that branch: their bodies are graphs, which run if or while a condition holds (CUDA
 * Programming Guide, "Conditional Graph Nodes").
 *
 * A condition is a variable in the memory of the device, and its handle is the address. So
 * cudaGraphSetConditional is a store (driver_module.c), a node reads the variable, and the usual checks
 * find what nothing orders. */
#include "driver/driver_graph.h"

#include <stdlib.h>

static uint32_t *words_of(const struct driver_condition *c)
{
    return sim_bytes(driver_machine(), c->memory->address,
                     DRIVER_CONDITION_WORDS * sizeof(uint32_t));
}

/* --- making --- */

int cuGraphConditionalHandleCreate(uint64_t *handle, void *graph, void *context, unsigned initial,
                                   unsigned flags)
{
    enum { ASSIGN_DEFAULT = 1 }; /* CU_GRAPH_COND_ASSIGN_DEFAULT */
    IN_CONTEXT;
    (void)context; /* there is one */
    struct driver_graph *g = driver_graph_of(graph);
    if (!handle || !g || g->ready || flags > ASSIGN_DEFAULT)
        return DRIVER_INVALID_VALUE;
    struct driver_condition *c = calloc(1, sizeof *c); /* lives on: kernels have its handle */
    if (!c)
        return DRIVER_OUT_OF_MEMORY;
    int result = driver_memory_make_condition(c);
    if (result != DRIVER_SUCCESS) {
        free(c);
        return result;
    }
    c->graph = g;
    c->initial = initial;
    c->assigns = flags & ASSIGN_DEFAULT;
    c->next = g->conditions;
    g->conditions = c;
    *handle = c->memory->address;
    return DRIVER_SUCCESS;
}

/* Returns the condition of a handle that was made for the graph, or for one that it is inside of; NULL:
 * none, or a node has it. */
static struct driver_condition *condition_of(const struct driver_graph *g, uint64_t handle)
{
    const struct driver_memory *m = driver_memory_at(handle);
    struct driver_condition *c = m && m->address == handle ? m->condition : NULL;
    while (c && g && c->graph != g)
        g = g->parent;
    return c && g && !c->used ? c : NULL;
}

static bool size_suits(const struct driver_conditional_node *p)
{
    switch (p->type) {
    case DRIVER_IF: return p->size == 1 || p->size == 2;
    case DRIVER_WHILE: return p->size == 1;
    case DRIVER_SWITCH: return p->size > 0;
    default: return false;
    }
}

static bool make_bodies(struct driver_task *t, struct driver_graph *parent)
{
    t->bodies = calloc(t->body_count, sizeof(struct driver_graph *));
    for (unsigned i = 0; t->bodies && i < t->body_count; i++) {
        struct driver_graph *body = t->bodies[i] = driver_graph_new();
        if (!body)
            return false;
        body->owned = true;
        body->parent = parent;
    }
    return t->bodies;
}

int driver_graph_add_conditional(const struct driver_node_request *a,
                                 struct driver_conditional_node *p)
{
    struct driver_graph *g = driver_graph_of(a->graph);
    if (!g || g->ready || !size_suits(p))
        return DRIVER_INVALID_VALUE;
    if (g->moved || (g->owned && !g->parent)) /* a child graph has no such nodes */
        return DRIVER_NOT_SUPPORTED;
    struct driver_task t = {.kind = TASK_CONDITIONAL,
                            .condition = condition_of(g, p->handle),
                            .branch = (enum driver_branch)p->type,
                            .body_count = p->size,
                            .moves = true};
    if (!t.condition)
        return DRIVER_INVALID_VALUE;
    int result = make_bodies(&t, g) ? DRIVER_SUCCESS : DRIVER_OUT_OF_MEMORY;
    result = driver_graph_add_requested(a, &t, result);
    if (result != DRIVER_SUCCESS) {
        driver_task_drop(&t);
        return result;
    }
    t.condition->used = true;
    for (; g; g = g->parent)
        g->has_branches = true;
    p->bodies = (void **)t.bodies;
    return DRIVER_SUCCESS;
}

bool driver_graph_uses_conditions(const struct driver_graph *g)
{
    bool used = true;
    for (const struct driver_condition *c = g->conditions; c; c = c->next)
        used = used && c->used;
    for (int i = 0; i < g->nodes.count; i++) {
        const struct driver_task *t = &g->nodes.list[i]->task;
        for (unsigned k = 0; t->kind == TASK_CONDITIONAL && k < t->body_count; k++)
            used = used && driver_graph_uses_conditions(t->bodies[k]);
    }
    return used;
}

/* --- bodies --- */

static bool suits_body(const struct driver_task *t)
{
    switch (t->kind) {
    case TASK_KERNEL:
    case TASK_STUB:
    case TASK_COPY:
    case TASK_FILL:
    case TASK_EMPTY:
    case TASK_CONDITIONAL: return true;
    case TASK_GRAPH:
        for (int i = 0; i < t->graph->nodes.count; i++)
            if (!suits_body(&t->graph->nodes.list[i]->task))
                return false;
        return true;
    default: return false;
    }
}

bool driver_graph_takes(const struct driver_graph *g, const struct driver_task *t)
{
    return !g->parent || suits_body(t);
}

int driver_graph_refuse_in_body(void)
{
    return driver_unsupported("the body of a conditional node takes only kernels, copies, fills, "
                              "empty nodes, graphs of these, and conditional nodes");
}

/* --- running --- */

static void begin_condition(const struct driver_condition *c, struct driver_stream *s)
{
    uint32_t *words = words_of(c);
    uint64_t address = c->memory->address, bytes = DRIVER_CONDITION_WORDS * sizeof *words;
    words[DRIVER_CONDITION_VALUE] = c->initial;
    words[DRIVER_CONDITION_IS_SET] = c->assigns;
    struct driver_work *w = driver_work_begin(s, NULL);
    driver_work_touches(w, address, bytes, DRIVER_WRITES);
    sim_wrote(driver_machine(), address, bytes);
    driver_work_end(w);
}

void driver_graph_begin_conditions(const struct driver_graph *g, struct driver_stream *s)
{
    driver_order_wait(s, &g->clock);
    for (int i = 0; i < g->nodes.count; i++) {
        const struct driver_task *t = &g->nodes.list[i]->task;
        if (t->kind != TASK_CONDITIONAL)
            continue;
        begin_condition(t->condition, s);
        for (unsigned k = 0; k < t->body_count; k++)
            driver_graph_begin_conditions(t->bodies[k], s);
    }
}

/* Reads the condition in the order of the stream. */
static uint32_t read_condition(const struct driver_condition *c, struct driver_stream *s)
{
    const uint32_t *words = words_of(c);
    struct driver_work *w = driver_work_begin(s, NULL);
    driver_work_touches(w, c->memory->address, sizeof words[DRIVER_CONDITION_VALUE], DRIVER_READS);
    driver_work_end(w);
    if (!words[DRIVER_CONDITION_IS_SET])
        driver_refuse("unset-condition", c->memory,
                      "%s has no value in this launch: set it before its node "
                      "(cudaGraphSetConditional), or give it a default "
                      "(cudaGraphCondAssignDefault)",
                      c->memory->name);
    return words[DRIVER_CONDITION_VALUE];
}

static int report_endless(const struct driver_condition *c, int64_t turns)
{
    driver_refuse("endless", c->memory,
                  "the body of a while node ran %lld times, and %s is still not 0",
                  (long long)turns, c->memory->name);
    driver_fail(DRIVER_LAUNCH_TIMEOUT);
    return DRIVER_LAUNCH_TIMEOUT;
}

static int run_while(const struct driver_task *t, struct driver_stream *s, uint32_t value)
{
    enum { MOST_TURNS = 1000000 };
    int64_t limit = driver.settings.step_limit ? driver.settings.step_limit : MOST_TURNS, turn = 0;
    int result = DRIVER_SUCCESS;
    for (; value && result == DRIVER_SUCCESS; turn++) {
        if (turn == limit)
            return report_endless(t->condition, turn);
        result = driver.run_graph(t->bodies[0], s);
        value = read_condition(t->condition, s);
    }
    return result;
}

int driver_conditional_run(const struct driver_task *t, struct driver_stream *s)
{
    uint32_t value = read_condition(t->condition, s);
    if (t->branch == DRIVER_WHILE)
        return run_while(t, s, value);
    uint32_t body = t->branch == DRIVER_SWITCH ? value : !value;
    return body < t->body_count ? driver.run_graph(t->bodies[body], s) : DRIVER_SUCCESS;
}

/* Reads the nodes that a new one of that kind comes after, and the edges. */
static int read_before(const struct driver_node_request *a, enum driver_task_kind kind,
                       struct driver_nodes *out)
{
    const struct driver_graph *g = driver_graph_of(a->graph);
    if (!g || (a->count && !a->before))
        return DRIVER_INVALID_VALUE;
    for (size_t i = 0; i < a->count; i++) {
        struct driver_node *n = driver_node_of(a->before[i]);
        struct driver_edge e = driver_edge_at(a->edges, i);
        if (!n || n->graph != g || !driver_edge_suits(e, n->task.kind, kind))
            return DRIVER_INVALID_VALUE;
        if (!driver_nodes_add_edge(out, n, e))
            return DRIVER_OUT_OF_MEMORY;
    }
    return DRIVER_SUCCESS;
}

int driver_graph_add_requested(const struct driver_node_request *a, const struct driver_task *t,
                               int result)
{
    struct driver_graph *g = driver_graph_of(a->graph);
    struct driver_nodes before = {.list = NULL};
    if (result == DRIVER_SUCCESS)
        result = a->node ? read_before(a, t->kind, &before) : DRIVER_INVALID_VALUE;
    if (result == DRIVER_SUCCESS && !driver_graph_takes(g, t))
        result = driver_graph_refuse_in_body();
    if (result == DRIVER_SUCCESS) {
        *a->node = driver_graph_add(g, t, &before);
        result = *a->node ? DRIVER_SUCCESS : DRIVER_OUT_OF_MEMORY;
    }
    driver_nodes_clear(&before);
    return result;
}
