/* A multiplication of matrices in registers, apart from the warp that does it: what sim_mma.c
 * prepares for an instruction, and the ways to compute it. */
#ifndef TW_SIM_MMA_H
#define TW_SIM_MMA_H

#include "sim/sim_own.h"

enum {
    MMA_WORDS = 4,       /* of a block along k */
    MMA_SIDE = 8,        /* its rows; columns of a panel */
    MMA_MOST_SUMS = 16,  /* registers of C */
    MMA_MOST_FACTORS = 8 /* of A; of B */
};

struct sim_mma;
/* On the registers at op->more of a file. */
typedef void sim_mma_way(const struct sim_mma *p, uint8_t *file, const uint32_t *more);

/* A factor as it was unpacked last, of registers with these words: in a tile's product most are
 * used more than once. */
struct sim_mma_factor {
    uint32_t words[MMA_MOST_FACTORS][SIM_LANES];
    bool filled;
    void *elements; /* double [k][row or column], or int16_t [k / 4][row or column][4] */
};

/* Registers are those of op->more: D, A, B, C. */
struct sim_mma {
    uint8_t rows;   /* blocks of A one above the other: m / 8 */
    uint8_t panels; /* n / 8 */
    uint8_t blocks; /* along k */
    uint8_t per_word;
    uint16_t type_a, type_b, type_c, type_d;
    uint16_t d, a, b, c; /* where each begins in op->more */
    uint16_t a_count, b_count;
    bool clamps;  /* .satfinite */
    bool ands;    /* bits: .and.popc, else .xor.popc */
    bool crossed; /* a register of D is C's for other elements */
    struct sim_mma_factor *kept_a, *kept_b;
    sim_mma_way *multiply;
};

#ifdef SIM_V3
#define sim_mma_way_of sim_mma_way_of_v3
#endif
/* The function for a multiplication, with wider vectors than the rest of the simulator takes or
 * without; NULL: there are none, or this machine has none. */
sim_mma_way *sim_mma_way_of(const struct sim_mma *p, bool wide);

#endif
