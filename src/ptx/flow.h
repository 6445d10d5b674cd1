/* Loops of a program, whatever it is written in: a graph of its instructions. */
#ifndef TW_FLOW_H
#define TW_FLOW_H

#include "base/arena.h"

/* Node i may be followed by to[first[i]] … to[first[i + 1] - 1]; the program starts at node 0. */
struct flow {
    uint32_t nodes;
    const uint32_t *first, *to;
};

/* Of each node, how many loops it lies in, one inside another. A loop is what can come to itself
 * again, and what it is entered at is its head; what goes round without that is a loop inside. */
uint16_t *flow_loops(struct arena *a, const struct flow *f);

#endif
