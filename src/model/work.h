/* What a launch asks of the parts of a multiprocessor: counts of instructions, as simulated, taken
 * apart by the units that execute them. */
#ifndef TW_MODEL_WORK_H
#define TW_MODEL_WORK_H

#include "sim/sim_counters.h"

struct range {
    double low, middle, high;
};

/* Matrix units, by what goes in. */
enum matrix_unit { MATRIX_F64, MATRIX_TF32, MATRIX_F16, MATRIX_I8, MATRIX_FP8, MATRIX_COUNT };

/* Operations of an instruction of theirs for one warp, and on which unit; 0: it has none. */
double matrix_flops(const struct ptx_instruction *ins, enum matrix_unit *unit);

/* Of all that was simulated, each block as often as it stands for others; or of one block. */
struct work {
    struct range instructions; /* warp instructions that are issued: low: what must be */
    double fma;                /* that the units for f32 execute, those of multiply-adds */
    double f64;
    double load_store;       /* instructions of memory, once a warp */
    struct range wavefronts; /* of shared memory: low: accesses merged as an assembler may */
    double wavefronts_ideal;
    double sectors; /* of global memory */
    /* By thread, and with what of them a matrix unit does: */
    double flops, tensor[MATRIX_COUNT];
    double asynchronous_tensor; /* of these flops: by wgmma */
    double register_bytes;      /* that multiply-adds read and write of registers */
};

/* Adds what one instruction was counted to do, `times` times. */
void work_add(struct work *w, const struct ptx_instruction *ins, const struct sim_counts *n,
              const struct sim_counts *merged, bool has_partners, double times);

#endif
