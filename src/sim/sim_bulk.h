/* Copies of Hopper's copy engine between their instruction and their landing. sim_tensor.c makes
 * them, sim_bulk.c lands them. */
#ifndef TW_SIM_BULK_H
#define TW_SIM_BULK_H

#include "base/tensor_map.h"
#include "sim/sim_machine.h"

enum { BULK_PIECE = 16 };

/* A place in the shared memory of a block of the cluster. */
struct sim_spot {
    struct sim_block *block;
    uint64_t offset;
};

struct sim_bulk {
    enum sim_agent agent;
    const struct sim_op *op;
    struct sim_place at;
    struct sim_warp *warp; /* that issued it */
    int lane;
    uint32_t number;
    uint32_t group;                   /* SIM_COPY_OUT: of its thread */
    int64_t issued;                   /* instructions of all warps before the copy */
    struct sim_spot shared, mbarrier; /* SIM_COPY_OUT: no mbarrier */
    struct sim_spot from;             /* a copy from shared memory to that of a block; or */
    uint64_t bytes;                   /* of shared memory */
    uint64_t global;                  /* a plain copy; or */
    bool tensor;                      /* a box of `map` that begins at the element `start` */
    struct tensor_map map;
    int64_t start[TENSOR_MAP_AXES];
    struct tensor_window window;          /* of the map, */
    uint16_t offset[TENSOR_MAP_AXES - 2]; /* and the place in each window */
};

/* A piece of global memory: `bytes` bytes at `address` belong to bytes [skip, skip + bytes) of
 * the piece; the rest is outside the tensor. */
struct sim_piece {
    uint64_t address;
    uint8_t skip, bytes;
};
/* Returns the i-th piece of BULK_PIECE bytes of a copy, in the order of the tensor's elements. */
struct sim_piece sim_bulk_piece(const struct sim_bulk *c, uint64_t i);
/* Returns the offset in shared memory at which that piece is. */
static inline uint64_t sim_bulk_place(const struct sim_bulk *c, uint64_t i)
{
    uint64_t at = c->shared.offset + BULK_PIECE * i;
    return c->tensor ? tensor_swizzled(c->map.swizzle, at) : at;
}

/* Only the driver (src/driver) makes maps of windows, so only its copies of sim_bulk.c and sim_tensor.c
 * are compiled with SIM_WINDOWS, and run the mode im2col. */
#ifdef SIM_WINDOWS
enum { SIM_TAKES_WINDOWS = true };
#else
enum { SIM_TAKES_WINDOWS = false };
#endif
/* sim_window.c: gives the element of the array at which a pixel of a copy of windows begins. */
void sim_window_place(const struct sim_bulk *c, uint64_t pixel, int64_t place[TENSOR_MAP_AXES]);

/* Starts a copy, whose addresses were checked. Lands it unless copies land late. */
bool sim_bulk_issue(struct sim_warp *w, struct sim_bulk *c);

#endif
