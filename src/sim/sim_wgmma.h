/* Products of a warpgroup between their instruction and their end. sim_wgmma.c has the groups and
 * who waits, sim_wgmma_multiply.c the operands and sums, sim_held.c the registers in use. */
#ifndef TW_SIM_WGMMA_H
#define TW_SIM_WGMMA_H

#include "sim/sim_machine.h"

enum { WGMMA_WARPS = 4, WGMMA_ROWS = 64, WGMMA_MOST_N = 256, WGMMA_K_BYTES = 32, WGMMA_CHUNK = 16 };

/* A plan. op->more has the registers of D, then those of A if they are in registers. */
struct sim_wgmma {
    uint16_t n, k;
    uint16_t type_d, type_a, type_b;
    uint8_t size; /* bytes of an element of A and B */
    bool a_in_registers, turned_a, turned_b, minus_a, minus_b, clamps;
    bool adds_negated;
    uint16_t d_count, a_count;
    uint32_t descriptor_a, descriptor_b, adds; /* slots */
};

/* A product: one operation of four warps. */
struct sim_product {
    const struct sim_op *op;
    uint32_t number;
    uint64_t a, b; /* descriptors */
    bool adds;
    uint8_t arrived; /* warps of the group that have reached it */
    bool done;
    struct {
        struct sim_warp *warp; /* NULL: it has not arrived, or has left */
        uint8_t *file;
        struct sim_place at;
    } of[WGMMA_WARPS];
};

/* Reads the operands, and writes the sums into the registers of the four warps. Returns false if
 * the launch is over. */
bool sim_product_land(const struct sim_product *p);

/* --- registers (sim_held.c) --- */

/* Finds the instructions of a function that access registers of its products, so that these
 * accesses are checked. Leaves alone those with the handler of unknown instructions. */
void sim_held_prepare(struct sim_decoder *d, sim_handler *unknown);
/* Notes that a warp executes a product, its `sequence`-th, and checks its registers. */
bool sim_held_product(struct sim_warp *w, const struct sim_op *op, uint32_t sequence);
/* Notes wgmma.fence; that the products before `sequence` were waited for; that a warp begins. */
void sim_held_fence(struct sim_warp *w);
void sim_held_done(struct sim_warp *w, uint32_t sequence);
void sim_held_forget(struct sim_warp *w);

#endif
