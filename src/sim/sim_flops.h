/* Floating-point operations of an instruction: a multiply-add is two. */
#ifndef TW_SIM_FLOPS_H
#define TW_SIM_FLOPS_H

#include "ptx/ptx.h"

/* Returns the operations of each thread that executes it; 0: it does not compute floats, or is
 * an instruction of the tensor cores. */
int sim_flops_of_thread(const struct ptx_instruction *ins);
/* Returns the operations of a warp for mma and similar instructions: D = A·B + C of m × n × k
 * (wgmma: each of four warps does a quarter). 0: not an instruction of the tensor cores. */
double sim_flops_of_matrix(const struct ptx_instruction *ins);

#endif
