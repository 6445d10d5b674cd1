/* A multiplication of matrices in registers, independent of the warp: the plan that sim_mma.c
 * prepares for an instruction, and the ways to compute it. */
#ifndef TW_SIM_MMA_H
#define TW_SIM_MMA_H

enum {
    MMA_WORDS = 4,       /* words of a block along k */
    MMA_SIDE = 8,        /* rows of a block; columns of a panel */
    MMA_MOST_SUMS = 16,  /* registers of C */
    MMA_MOST_FACTORS = 8 /* of A; of B */
};

struct sim_mma;
/* Multiplies the registers that op->more names in a file. */
typedef void sim_mma_way(const struct sim_mma *p, uint8_t *file, const uint32_t *more);

/* A factor as it was last unpacked, from registers with these words: in a tile's product most
 * factors are used more than once. */
struct sim_mma_factor {
    uint32_t words[MMA_MOST_FACTORS][SIM_LANES];
    bool filled;
    void *elements; /* double [k][row or column], or int16_t [k / 4][row or column][4] */
};

/* A plan. Its registers are those of op->more: D, A, B, C. */
struct sim_mma {
    uint8_t rows;   /* blocks of A one above the other: m / 8 */
    uint8_t panels; /* n / 8 */
    uint8_t blocks; /* along k */
    uint8_t per_word;
    uint16_t type_a, type_b, type_c, type_d;
    uint16_t d, a, b, c; /* index of each one's first register in op->more */
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
/* Returns the function for a multiplication. `wide`: with wider vectors than the rest of the
 * simulator uses. NULL: there is none, or this machine cannot run it. */
sim_mma_way *sim_mma_way_of(const struct sim_mma *p, bool wide);

#endif
