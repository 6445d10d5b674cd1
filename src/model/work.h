/* The work of a launch for each part of a multiprocessor: counts of simulated instructions,
 * divided among the units that execute them. */
#ifndef TW_MODEL_WORK_H
#define TW_MODEL_WORK_H

#include "sim/sim_counters.h"

struct range {
    double low, middle, high;
};

/* Matrix units, by the type of their factors. */
enum matrix_unit { MATRIX_F64, MATRIX_TF32, MATRIX_F16, MATRIX_I8, MATRIX_FP8, MATRIX_COUNT };

/* Returns the operations of a matrix instruction for one warp and gives its unit; 0: it is
 * another instruction. */
double model_matrix_flops(const struct ptx_instruction *ins, enum matrix_unit *unit);

/* The work of everything simulated, each block multiplied by the number that it represents; or
 * of one block. */
struct work {
    struct range instructions; /* issued warp instructions; low: those that cannot be removed */
    double fma;                /* executed by the f32 units, which also do multiply-adds */
    double f64;
    double special;          /* functions such as exp2, which have units of their own */
    double load_store;       /* memory instructions, once a warp */
    struct range wavefronts; /* of shared memory; low: accesses merged as an assembler may merge
                              * them */
    double wavefronts_ideal;
    double wavefronts_ideal_written; /* without merging */
    /* Those of copies past L1, which take no turn of other accesses; not among `wavefronts`. */
    double copy_wavefronts, copy_wavefronts_ideal;
    double sectors; /* of global memory */
    /* Operations of threads, and those that matrix units do: */
    double flops, tensor[MATRIX_COUNT];
    double asynchronous_tensor; /* those of them that wgmma does */
    double register_bytes;      /* bytes of registers that multiply-adds read and write */
};

/* Returns true for an instruction of the units for special functions. */
bool model_work_is_special(const struct ptx_instruction *ins);

/* Adds the counts of one instruction, multiplied by `times`. */
void model_work_add(struct work *w, const struct ptx_instruction *ins, const struct sim_counts *n,
                    const struct sim_counts *merged, bool has_partners, double times);

#endif
