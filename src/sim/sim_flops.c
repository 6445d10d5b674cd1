#include "sim/sim_flops.h"

#include "sim/sim_counters.h"

int sim_flops_of_thread(const struct ptx_instruction *ins)
{
    enum sim_instruction_kind kind = sim_kind_of(ins);
    if (kind != SIM_KIND_F64 && kind != SIM_KIND_F32 && kind != SIM_KIND_F16)
        return 0;
    enum ptx_mod type = ptx_type(ins, 0);
    int elements = type == MOD_F16X2 || type == MOD_BF16X2 || type == MOD_F32X2 ? 2 : 1;
    return elements * (ins->op == PTX_FMA || ins->op == PTX_MAD ? 2 : 1);
}

double sim_flops_of_matrix(const struct ptx_instruction *ins)
{
    int m, n, k;
    if (sim_kind_of(ins) != SIM_KIND_MATRIX ||
        !ptx_shape(ptx_find(ins, PTX_CLASS_SHAPE, 0), &m, &n, &k))
        return 0;
    return 2.0 * m * n * k / (ins->op == PTX_WGMMA_MMA_ASYNC ? 4 : 1);
}
