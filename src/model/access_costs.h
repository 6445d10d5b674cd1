/* Accesses: what each load, store and atomic operation of the simulated blocks asks of shared and
 * of global memory, as the program has it. An observer. */
#ifndef TW_MODEL_ACCESS_COSTS_H
#define TW_MODEL_ACCESS_COSTS_H

#include "base/arena.h"
#include "sim/sim_events.h"

struct access_cost {
    double requests;  /* of warps */
    double units;     /* wavefronts of shared memory, sectors of global memory */
    double ideal;     /* the fewest of them that would do for as many bytes */
    double by_thread; /* bytes, each thread's own */
    /* The same where each element of a vector is an access of its own; of sectors no ideal. */
    double by_element, ideal_by_element;
};

/* A request of a warp. */
struct access_request {
    int64_t block;
    int warp;
    uint32_t mask; /* 0: there is none */
    uint64_t address[SIM_LANES];
    uint8_t wavefront[SIM_LANES]; /* of shared memory: as sim_serve has them */
    double units, ideal;
};

/* One side of an instruction: an asynchronous copy has two. */
struct access_of {
    struct sim_place place; /* the instruction, and where it stands */
    bool shared, write;     /* an atomic operation is a write */
    bool copy;              /* to shared memory, past L1 */
    int bytes;              /* of a lane */
    struct access_cost block, launch;
    struct access_request dearest; /* the first of the lowest warp that takes the most units */
};

/* Global memory whose elements the program knows. */
struct accessed_array {
    uint64_t address, bytes;
    int element; /* bytes; of types that share a byte 1 */
    const char *name;
};

struct accesses {
    struct arena *arena;
    VEC(struct accessed_array) arrays;
    struct sim_observer observer;
    VEC(struct access_of) list;
    size_t next; /* where the next access is looked for first */
};

void accesses_init(struct accesses *a, struct arena *arena);
/* Loads and stores there are of such elements, whatever words the PTX has for several of them. */
void accesses_know(struct accesses *a, uint64_t address, uint64_t bytes, int element,
                   const char *name);
/* What was seen since the last time, by access. */
struct access_costs {
    struct access_cost *data;
    size_t count;
};
void accesses_move(struct accesses *a, struct access_costs *out);
/* It stands for so many as much. */
void accesses_add(struct accesses *a, const struct access_costs *seen, double times);

#endif
