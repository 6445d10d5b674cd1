/* The shares of the GPU's peaks that tile kernels reach, and the waits, fit the times of 60 product
 * kernels at 50 sizes on an H200 within 15 % (root of the mean square of the logarithm). That of
 * the matrix units is in target/gpus.def. */
#include "model/block_time.h"

#include <math.h>

static const double fma_share = 0.75;
static const double warpgroup_share = 0.64; /* kernels/hopper/matmul_roles.tile, 8192^3 on H200 */
static const double l2_share = 0.83, memory_share = 0.8, add_share = 0.16;
static const double launch_seconds = 2e-6, meeting_seconds = 3e-6;

static double flops_in_cycle(const struct gpu *g, enum block_unit unit)
{
    switch (unit) {
    case UNIT_F64: return g->tensor_f64 ? g->tensor_f64 : g->f64;
    case UNIT_TF32: return g->tf32;
    case UNIT_F16: return g->f16;
    case UNIT_I8: return g->i8;
    case UNIT_FP8: return g->fp8 ? g->fp8 : g->f16;
    case UNIT_FMA: break;
    }
    return g->f32;
}

struct block_rates model_block_rates_of(const struct gpu *g, enum block_unit unit,
                                        bool by_warpgroups)
{
    double hertz = 1e6 * g->clock, cycle = flops_in_cycle(g, unit);
    double share = unit == UNIT_FMA || cycle <= 0 ? fma_share
                   : by_warpgroups                ? warpgroup_share
                                                  : target_gpu_capability_of(g)->kernel_share;
    double l2 = g->l2[2] * hertz;
    return (struct block_rates){
        .multiprocessors = g->multiprocessors,
        .flops = share * (cycle > 0 ? cycle : g->f32) * g->multiprocessors * hertz,
        .l2 = l2_share * l2,
        .memory = memory_share * 1e9 * g->bandwidth,
        .add = add_share * l2,
        .step = target_gpu_capability_of(g)->memory / hertz,
        .launch = launch_seconds,
        .meeting = meeting_seconds,
    };
}

/* Returns the seconds that a multiprocessor takes for `blocks` blocks at a time. */
static double wave_time(const struct block_rates *r, const struct launch_work *w, double blocks)
{
    double share = blocks * r->multiprocessors;
    return fmax(fmax(share * w->flops / r->flops, share * w->moved / r->l2), w->steps * r->step);
}

double model_block_time(const struct block_rates *r, const struct launch_work *w)
{
    double resident = w->resident > 0 ? w->resident : 1, places = resident * r->multiprocessors;
    double waves = floor(w->blocks / places), rest = w->blocks - waves * places;
    double time = waves * wave_time(r, w, resident);
    if (rest > 0)
        time += wave_time(r, w, ceil(rest / r->multiprocessors));
    double longest = fmax(w->most_flops * r->multiprocessors / r->flops, w->most_steps * r->step);
    return fmax(fmax(time, longest), w->bytes / r->memory) + w->blocks * w->added / r->add +
           r->launch + w->meetings * r->meeting;
}
