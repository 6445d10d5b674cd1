/* The time of a variant by the model: from the work of one block of its program. */
#include "api/family.h"

#include "model/block_time.h"

static enum block_unit unit_of(enum dtype factor)
{
    switch (factor) {
    case DT_F64: return UNIT_F64;
    case DT_TF32: return UNIT_TF32;
    case DT_F16:
    case DT_BF16: return UNIT_F16;
    case DT_E4M3:
    case DT_E5M2: return UNIT_FP8;
    case DT_I8:
    case DT_U8: return UNIT_I8;
    default: return UNIT_FMA;
    }
}

double family_model_time(const tw_family *f, const struct family_variant *v,
                         const struct family_sizes *s, const struct gpu *gpu, int resident)
{
    struct literal values[ENTRY_PARAMS] = {{0}};
    bool known[ENTRY_PARAMS] = {0};
    const struct lang_kernel *info = f->members[v->member].kernel->info;
    uint64_t of_params[ENTRY_PARAMS];
    int64_t grid[3];
    if (!gpu || !v->program || s->underivable)
        return 0;
    family_values(f, v, s, gpu->multiprocessors, of_params);
    if (!launch_sizes_run(&v->grid, of_params, grid))
        return 0;
    for (int p = 0; p < info->param_count; p++) {
        known[p] = !info->params[p].is_pointer && !dtype_is_float(info->params[p].dtype);
        values[p].i = (int64_t)of_params[p];
    }
    struct scalar_env env = {.values = values, .known = known, .count = info->param_count};
    struct block_work one = block_work_at(v->program, &env, grid);
    struct block_rates rates = model_block_rates_of(gpu, unit_of(one.factor), one.by_warpgroups);
    return 1e6 * model_block_time(&rates, &(struct launch_work){
                                              .blocks = (double)(grid[0] * grid[1] * grid[2]),
                                              .resident = resident,
                                              .flops = one.flops,
                                              .moved = one.read + one.written,
                                              .added = one.added,
                                              .steps = one.steps,
                                              .meetings = one.meetings,
                                              .most_flops = one.most_flops,
                                              .most_steps = one.most_steps,
                                              .bytes = block_program_bytes(v->program, &env),
                                          });
}
