/* Finds loops. Strongly connected parts of the graph are its outermost loops. After cutting the
 * edges back to their heads, the parts of the remaining graph are the loops inside them, and so
 * on (Steensgaard 1993). Tarjan's search (1972) finds the parts; it uses a stack of its own,
 * because programs are long. */
#include "ptx/flow.h"

#include <string.h>

enum { MOST_LOOPS = 64 }; /* one inside another */

struct search {
    const struct flow *flow;
    uint32_t *part;  /* of each node, from the last round; the search ignores edges between parts */
    bool *cut;       /* of each edge */
    uint32_t *found; /* of each node, the part of this round; 0: not known yet */
    uint32_t *order, *low; /* Tarjan's; order 0: not seen */
    uint32_t *stack, *path, *next_edge;
    uint32_t depth, steps, seen, parts;
    bool *looping; /* by part: true if its nodes can reach themselves */
};

static bool goes(const struct search *s, uint32_t from, uint32_t edge)
{
    return !s->cut[edge] && s->part[from] == s->part[s->flow->to[edge]];
}

static void enter(struct search *s, uint32_t node)
{
    s->order[node] = s->low[node] = ++s->seen;
    s->stack[s->depth++] = node;
    s->next_edge[node] = s->flow->first[node];
    s->path[s->steps++] = node;
}

/* Makes a part of the node and all nodes above it on the stack. */
static void close_part(struct search *s, uint32_t node)
{
    uint32_t part = ++s->parts, top, size = 0;
    do {
        top = s->stack[--s->depth];
        s->found[top] = part;
        size++;
    } while (top != node);
    s->looping[part] = size > 1;
    for (uint32_t e = s->flow->first[node]; e < s->flow->first[node + 1]; e++)
        if (s->flow->to[e] == node && goes(s, node, e))
            s->looping[part] = true;
}

static void leave(struct search *s)
{
    uint32_t node = s->path[--s->steps];
    if (s->low[node] == s->order[node])
        close_part(s, node);
    if (s->steps == 0)
        return;
    uint32_t before = s->path[s->steps - 1];
    s->low[before] = s->low[before] < s->low[node] ? s->low[before] : s->low[node];
}

static void search_from(struct search *s, uint32_t start)
{
    enter(s, start);
    while (s->steps) {
        uint32_t node = s->path[s->steps - 1];
        if (s->next_edge[node] == s->flow->first[node + 1]) {
            leave(s);
            continue;
        }
        uint32_t edge = s->next_edge[node]++, to = s->flow->to[edge];
        if (!goes(s, node, edge))
            continue;
        if (!s->order[to])
            enter(s, to);
        else if (!s->found[to] && s->order[to] < s->low[node])
            s->low[node] = s->order[to];
    }
}

static void find_parts(struct search *s)
{
    uint32_t n = s->flow->nodes;
    memset(s->order, 0, n * sizeof *s->order);
    memset(s->found, 0, n * sizeof *s->found);
    s->seen = s->parts = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!s->order[i])
            search_from(s, i);
}

/* Finds the heads of this round's loops: nodes that an edge from another part enters, the start,
 * and the first node of a loop that no edge enters. */
static void find_heads(const struct search *s, bool *head, bool *entered)
{
    const struct flow *f = s->flow;
    memset(head, 0, f->nodes * sizeof *head);
    memset(entered, 0, (s->parts + 1) * sizeof *entered);
    for (uint32_t i = 0; i < f->nodes; i++)
        for (uint32_t e = f->first[i]; e < f->first[i + 1]; e++)
            if (s->found[i] != s->found[f->to[e]])
                head[f->to[e]] = entered[s->found[f->to[e]]] = true;
    for (uint32_t i = 0; i < f->nodes; i++)
        if (i == 0 || !entered[s->found[i]])
            head[i] = entered[s->found[i]] = true;
}

/* Counts this round's loops for each node and cuts the edges to their heads. Returns true if
 * there were loops. */
static bool next_round(struct search *s, const bool *head, uint16_t *loops)
{
    const struct flow *f = s->flow;
    bool any = false;
    for (uint32_t i = 0; i < f->nodes; i++) {
        bool looping = s->looping[s->found[i]];
        loops[i] = (uint16_t)(loops[i] + looping);
        any |= looping;
        for (uint32_t e = f->first[i]; e < f->first[i + 1]; e++)
            if (looping && s->found[i] == s->found[f->to[e]] && head[f->to[e]])
                s->cut[e] = true;
    }
    uint32_t *found = s->found;
    s->found = s->part;
    s->part = found;
    return any;
}

uint16_t *flow_loops(struct arena *a, const struct flow *f)
{
    uint32_t n = f->nodes;
    uint16_t *loops = arena_array(a, uint16_t, n + 1);
    bool *head = arena_array(a, bool, n + 1), *entered = arena_array(a, bool, n + 2);
    struct search s = {.flow = f,
                       .part = arena_array(a, uint32_t, n + 1),
                       .cut = arena_array(a, bool, (n ? f->first[n] : 0) + 1),
                       .found = arena_array(a, uint32_t, n + 1),
                       .order = arena_array(a, uint32_t, n + 1),
                       .low = arena_array(a, uint32_t, n + 1),
                       .stack = arena_array(a, uint32_t, n + 1),
                       .path = arena_array(a, uint32_t, n + 1),
                       .next_edge = arena_array(a, uint32_t, n + 1),
                       .looping = arena_array(a, bool, n + 2)};
    for (int round = 0; round < MOST_LOOPS; round++) {
        find_parts(&s);
        find_heads(&s, head, entered);
        if (!next_round(&s, head, loops))
            break;
    }
    return loops;
}
