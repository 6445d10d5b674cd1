/* Accesses: the cost of each load, store and atomic operation of the simulated blocks in shared
 * and global memory, as the program has them. An observer of the simulator. */
#ifndef TW_MODEL_ACCESS_COSTS_H
#define TW_MODEL_ACCESS_COSTS_H

#include "base/arena.h"
#include "sim/sim_events.h"

struct access_cost {
    double requests;  /* of warps */
    double units;     /* wavefronts of shared memory, sectors of global memory */
    double ideal;     /* the fewest units for the same bytes */
    double by_thread; /* bytes, each thread's own */
    /* The same costs if each element of a vector were an access of its own; sectors have no
     * ideal. */
    double by_element, ideal_by_element;
    double merged, merged_ideal; /* this access's part of `units` and `ideal` if an assembler
                                  * merges accesses; 0: it merges none */
};

/* A request of a warp. */
struct access_request {
    int64_t block;
    int warp;
    uint32_t mask; /* 0: there is none */
    uint64_t address[SIM_LANES];
    uint8_t wavefront[SIM_LANES]; /* wavefront of shared memory that serves each lane, as in
                                   * sim_serve */
    double units, ideal;
};

/* One side of an instruction; an asynchronous copy has two. */
struct access_of {
    struct sim_place place; /* the instruction and its place in the source */
    bool shared, write;     /* an atomic operation is a write */
    bool copy;              /* asynchronous, to shared memory past L1 */
    int bytes;              /* of a lane */
    struct access_cost block, launch;
    struct access_request dearest; /* the most expensive request: the first one of the lowest
                                    * warp */
};

/* An array in global memory whose elements the program knows. */
struct accessed_array {
    uint64_t address, bytes;
    int element; /* bytes of an element; 1 for types that share a byte */
    const char *name;
};

struct accesses {
    struct arena *arena;
    VEC(struct accessed_array) arrays;
    struct sim_observer observer;
    VEC(struct access_of) list;
    size_t next; /* where the search for the next access begins */
};

void model_accesses_init(struct accesses *a, struct arena *arena);
/* Declares the elements of an address range: loads and stores there count in such elements, even
 * if the PTX has words of several of them. */
void model_accesses_know(struct accesses *a, uint64_t address, uint64_t bytes, int element,
                         const char *name);
/* The costs since the last call, by access. */
struct access_costs {
    struct access_cost *data;
    size_t count;
};
void model_accesses_move(struct accesses *a, struct access_costs *out);
/* Adds them, multiplied by `times`, the number of blocks that the simulated one represents. */
void model_accesses_add(struct accesses *a, const struct access_costs *seen, double times);

#endif
