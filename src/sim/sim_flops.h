/* Floating-point operations of an instruction: a multiply-add is two. */
#ifndef TW_SIM_FLOPS_H
#define TW_SIM_FLOPS_H

#include "ptx/ptx.h"

/* Returns those of each thread that executes it; 0: it computes no floats, or is of matrix units. */
int sim_flops_of_thread(const struct ptx_instruction *ins);
/* Returns those of a warp: mma and its like, D = A·B + C of m × n × k (wgmma: a quarter by each of four
 * warps); 0: it is not of a matrix unit. */
double sim_flops_of_matrix(const struct ptx_instruction *ins);

#endif
