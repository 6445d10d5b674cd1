#include "model/work.h"

#include "sim/sim_flops.h"

static void add_range(struct range *r, double low, double middle, double high)
{
    r->low += low;
    r->middle += middle;
    r->high += high;
}

double model_matrix_flops(const struct ptx_instruction *ins, enum matrix_unit *unit)
{
    double flops = sim_flops_of_matrix(ins);
    if (flops == 0)
        return 0;
    enum ptx_mod factor = ptx_type(ins, 1);
    int bits = ptx_mods[factor].bits;
    *unit = bits == 64                                 ? MATRIX_F64
            : bits == 32                               ? MATRIX_TF32
            : bits == 16                               ? MATRIX_F16
            : factor == MOD_E4M3 || factor == MOD_E5M2 ? MATRIX_FP8
                                                       : MATRIX_I8;
    return flops;
}

static void add_matrix(struct work *w, const struct ptx_instruction *ins, double count)
{
    int m, n, k;
    enum matrix_unit unit;
    double flops = model_matrix_flops(ins, &unit) * count;
    if (flops == 0)
        return;
    w->flops += flops;
    w->tensor[unit] += flops;
    if (ins->op == PTX_WGMMA_MMA_ASYNC) {
        w->asynchronous_tensor += flops;
        return;
    }
    ptx_shape(ptx_find(ins, PTX_CLASS_SHAPE, 0), &m, &n, &k);
    int bits = ptx_mods[ptx_type(ins, 1)].bits;
    w->register_bytes += count * ((m * k + k * n) * bits / 8.0 + 2.0 * m * n * 4);
}

static bool is_arithmetic(enum sim_instruction_kind kind)
{
    return kind == SIM_KIND_F64 || kind == SIM_KIND_F32 || kind == SIM_KIND_F16;
}

static void add_arithmetic(struct work *w, const struct ptx_instruction *ins,
                           enum sim_instruction_kind kind, const struct sim_counts *n, double times)
{
    enum ptx_mod type = ptx_type(ins, 0);
    int bits = ptx_mods[type].bits;
    int operations = ins->op == PTX_FMA || ins->op == PTX_MAD ? 2 : 1;
    double threads = times * (double)n->thread_instructions;
    w->flops += threads * sim_flops_of_thread(ins);
    w->register_bytes += threads * (operations + 2) * bits / 8;
    *(kind == SIM_KIND_F64 ? &w->f64 : &w->fma) += times * (double)n->warp_instructions;
}

/* Returns true for instructions that an assembler removes: copies of registers, conversions of
 * addresses, and loads of parameters, which instructions can read directly. */
static bool is_free(const struct ptx_instruction *ins, enum sim_instruction_kind kind)
{
    return kind == SIM_KIND_CONST || kind == SIM_KIND_MOVE || ins->op == PTX_CVTA;
}

/* Only accesses to shared memory are merged, because an assembler does not know the alignment of
 * global addresses. */
static void add_memory(struct work *w, const struct ptx_instruction *ins,
                       const struct sim_counts *n, const struct sim_counts *merged,
                       bool has_partners, double times)
{
    const struct sim_counts *as = has_partners ? merged : n;
    double instructions =
        (double)(as->shared_loads + as->shared_stores + as->shared_atomics + n->global_loads +
                 n->global_stores + n->global_atomics + n->async_copies + n->local_accesses);
    double written = has_partners ? (double)n->warp_instructions : instructions;
    w->load_store += instructions * times;
    add_range(&w->instructions, instructions * times, instructions * times, written * times);
    w->sectors += (double)n->global_sectors * times;
    if (ptx_has(ins, MOD_CG)) { /* data of copies past L1 is written to shared memory when no other
                                 * access writes there */
        w->copy_wavefronts += (double)n->shared_wavefronts * times;
        w->copy_wavefronts_ideal += (double)n->shared_wavefronts_ideal * times;
        return;
    }
    add_range(&w->wavefronts, (double)as->shared_wavefronts * times,
              (double)as->shared_wavefronts * times, (double)n->shared_wavefronts * times);
    w->wavefronts_ideal += (double)as->shared_wavefronts_ideal * times;
    w->wavefronts_ideal_written += (double)n->shared_wavefronts_ideal * times;
}

bool model_work_is_special(const struct ptx_instruction *ins)
{
    switch ((int)ins->op) {
    case PTX_RCP:
    case PTX_SQRT:
    case PTX_RSQRT:
    case PTX_SIN:
    case PTX_COS:
    case PTX_LG2:
    case PTX_EX2:
    case PTX_TANH: return true;
    default: return false;
    }
}

void model_work_add(struct work *w, const struct ptx_instruction *ins, const struct sim_counts *n,
                    const struct sim_counts *merged, bool has_partners, double times)
{
    enum sim_instruction_kind kind = sim_kind_of(ins);
    double warps = (double)n->warp_instructions * times;
    if (is_arithmetic(kind))
        add_arithmetic(w, ins, kind, n, times);
    w->special += model_work_is_special(ins) ? warps : 0;
    if (kind == SIM_KIND_MATRIX)
        add_matrix(w, ins, warps);
    if (n->shared_loads + n->shared_stores + n->shared_atomics + n->global_requests +
        n->global_atomics + n->async_copies + n->local_accesses) {
        add_memory(w, ins, n, merged, has_partners, times);
        return;
    }
    double overhead = is_free(ins, kind) ? 0 : warps;
    add_range(&w->instructions, is_arithmetic(kind) || kind == SIM_KIND_MATRIX ? warps : 0,
              overhead, warps);
}
