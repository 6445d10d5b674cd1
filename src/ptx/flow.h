/* Loops of a program in any instruction set, found in the graph of its instructions. */
#ifndef TW_FLOW_H
#define TW_FLOW_H

#include "base/arena.h"

/* The graph: node i may be followed by to[first[i]] … to[first[i + 1] - 1]; the program starts
 * at node 0. */
struct flow {
    uint32_t nodes;
    const uint32_t *first, *to;
};

/* Returns for each node the number of loops around it. A loop is a set of nodes that can reach
 * each other; the nodes where it is entered are its heads. A cycle that avoids the heads is an
 * inner loop. */
uint16_t *flow_loops(struct arena *a, const struct flow *f);

#endif
