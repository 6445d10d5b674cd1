/* Turns counts into traffic, roofs and time. docs/model.md describes the model and the sources
 * of its figures. */
#include "api/explain.h"

#include <math.h>
#include <string.h>

/* SPECIAL_INTERVAL: cycles of a scheduler's unit for a warp's special function, of 16 results a cycle of
 * a multiprocessor (CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions"). */
enum { WARPS_OF_GROUP = 4, SPECIAL_INTERVAL = 8 };

static tw_range exactly(double x)
{
    return (tw_range){x, x, x};
}

static tw_range times(tw_range r, double x)
{
    return (tw_range){r.low * x, r.middle * x, r.high * x};
}

static tw_range of_work(struct range r)
{
    return (tw_range){r.low, r.middle, r.high};
}

/* --- traffic --- */

static void find_compulsory(struct explain *e, double *read, double *written)
{
    const tw_launch *l = e->launch;
    if (!l) { /* PTX: which arrays it writes is not known */
        for (int i = 0; i < e->ptx_launch->argument_count; i++)
            *read += e->ptx_launch->arguments[i].is_array
                         ? (double)e->ptx_launch->arguments[i].bytes
                         : 0;
        return;
    }
    const struct lang_kernel *info = l->kernel->info;
    for (int p = 0; p < info->param_count; p++) {
        double bytes = info->params[p].is_pointer ? (double)launch_array_bytes(l, p) : 0;
        *(info->params[p].is_const ? read : written) += bytes > 0 ? bytes : 0;
    }
}

static void replay_l2(const struct explain *e, struct l2_grid *g, double share, int copies,
                      struct l2_result *out)
{
    g->room = e->gpu->l2_mb * 1048576.0;
    g->copies = copies;
    g->multiprocessors = e->gpu->multiprocessors;
    g->resident = e->out.resident_blocks;
    g->share = share;
    model_l2_replay(&e->ctx->scratch, g, out);
}

/* Returns the bytes read from memory if L2 holds no line twice. `mean`: the result with a copy
 * in each half. A GPU may do either if only the first fits. */
static double read_if_held_once(const struct explain *e, const struct explain_counts *c,
                                const struct l2_result *mean, double share, double compulsory)
{
    struct l2_grid g = c->l2;
    struct l2_result once;
    if (g.copies == 1 || mean->read < 1.05 * compulsory)
        return mean->read;
    replay_l2(e, &g, share, 1, &once);
    return once.read;
}

/* Finds the memory traffic. together: with blocks in step; mean: with the assumed spread of
 * blocks. */
static void find_memory(struct explain *e, struct explain_counts *c,
                        const struct l2_result *together, const struct l2_result *mean,
                        tw_traffic *t)
{
    double read = 0, written = 0;
    find_compulsory(e, &read, &written);
    t->compulsory = read + written;
    if (!e->out.launches) /* the contents of caches follow from the resident blocks */
        return;
    /* Launches follow each other: data that fits in L2 is still there from the launch before. */
    bool stays = read * c->l2.copies + written <= c->l2.room;
    c->awaited = stays ? 0 : mean->awaited;
    /* Data that is left in L2 is written after the launch, if the next one leaves it no room. */
    double all = mean->written + mean->left, again = fmax(0, mean->stored - all);
    double once = read_if_held_once(e, c, mean, c->l2.share, read);
    t->read.low = fmin(fmin(together->read, mean->read), once);
    t->read.middle = mean->read;
    t->read.high = fmax(together->read, mean->read);
    /* Data that other blocks wrote, such as partial sums, may still be there, or must be read
     * again. */
    t->read.low = stays ? fmin(t->read.low, read) : t->read.low;
    t->read.high += again;
    if (e->blocks_wait) { /* a block's place does not tell what it reads */
        t->read = (tw_range){read, read, fmax(mean->read, read)};
        c->awaited = 1;
    }
    t->written = (tw_range){stays ? mean->written : all, all, all + again};
    t->moved = (tw_range){t->read.low + t->written.low, t->read.middle + t->written.middle,
                          t->read.high + t->written.high};
}

static void find_traffic(struct explain *e, struct explain_counts *c,
                         const struct l2_result *together, const struct l2_result *mean)
{
    tw_explanation *o = &e->out;
    tw_traffic *t = o->traffic;
    static const char *const names[] = {"registers", "shared", "L2", "HBM"};
    for (int i = 0; i < TW_TRAFFIC_COUNT; i++)
        t[i].name = names[i];
    t[TW_AT_REGISTERS].by_thread = c->launch.register_bytes;
    t[TW_AT_REGISTERS].moved = exactly(c->launch.register_bytes);
    t[TW_AT_SHARED].by_request = c->launch.wavefronts.middle * GPU_LINE_BYTES;
    t[TW_AT_SHARED].moved = times(of_work(c->launch.wavefronts), GPU_LINE_BYTES);
    double read = (c->missed + c->past + c->updates) * GPU_SECTOR_BYTES,
           written = (c->stores + c->updates) * GPU_SECTOR_BYTES;
    t[TW_AT_HBM].by_thread = t[TW_AT_L2].by_thread;
    t[TW_AT_L2].by_request = t[TW_AT_HBM].by_request = c->launch.sectors * GPU_SECTOR_BYTES;
    /* The two multiprocessors of a pair may join requests for the same line. */
    t[TW_AT_L2].read = (tw_range){read / 2, read, read};
    t[TW_AT_L2].written = exactly(written);
    t[TW_AT_L2].moved = (tw_range){read / 2 + written, read + written, read + written};
    find_memory(e, c, together, mean, &t[TW_AT_HBM]);
    t[TW_AT_L2].compulsory = t[TW_AT_HBM].compulsory;
    o->l1_hit_rate = c->load_sectors > 0 ? 1 - c->missed / c->load_sectors : 0;
    o->l2_hit_rate = read > 0 ? 1 - fmin(1, t[TW_AT_HBM].read.middle / read) : 0;
    for (int i = 0; i < TW_TRAFFIC_COUNT; i++) {
        if (t[i].by_thread > 0)
            t[i].intensity_by_thread = o->flops / t[i].by_thread;
        if (t[i].by_request > 0)
            t[i].intensity_by_request = o->flops / t[i].by_request;
        if (t[i].moved.middle > 0)
            t[i].intensity = o->flops / t[i].moved.middle;
    }
}

/* --- roofs --- */

static void add_roof(tw_explanation *o, const char *name, const char *title, const char *unit,
                     tw_range work, double rate)
{
    tw_roof r = {.name = name, .title = title, .unit = unit, .work = work, .rate = rate};
    if (work.middle <= 0 || rate <= 0)
        return;
    r.seconds = times(work, 1 / rate);
    r.flops = o->flops / r.seconds.middle;
    int i = o->roof_count++;
    for (; i > 0 && o->roofs[i - 1].seconds.middle < r.seconds.middle; i--)
        o->roofs[i] = o->roofs[i - 1];
    o->roofs[i] = r;
}

/* Returns operations per cycle and multiprocessor; for f64 without such tensor units, those of
 * the f64 units. */
static int matrix_rate(const struct gpu *g, enum matrix_unit unit)
{
    switch (unit) {
    case MATRIX_F64: return g->tensor_f64 ? g->tensor_f64 : g->f64;
    case MATRIX_TF32: return g->tf32;
    case MATRIX_I8: return g->i8;
    case MATRIX_FP8: return g->fp8;
    default: return g->f16;
    }
}

/* Returns the operations on matrix units, and the cycles of a multiprocessor that they take. */
static double matrix_work(const struct gpu *g, const struct work *w, double *cycles)
{
    double own = w->flops > 0 ? w->asynchronous_tensor / w->flops : 0, all = 0;
    *cycles = 0;
    for (int i = 0; i < MATRIX_COUNT; i++) {
        int rate = matrix_rate(g, (enum matrix_unit)i);
        *cycles += rate ? w->tensor[i] / rate : 0;
        all += w->tensor[i];
    }
    *cycles /= own + (1 - own) * target_gpu_capability_of(g)->mma_share;
    return all;
}

/* Returns the cycles per second of all multiprocessors together. */
static double cycles_a_second(const struct explain *e, const struct explain_counts *c)
{
    double busy;
    int mhz = matrix_work(e->gpu, &c->launch, &busy) > 0 ? e->gpu->sustained : e->gpu->clock;
    return e->gpu->multiprocessors * (mhz * 1e6);
}

static void find_roofs(struct explain *e, const struct explain_counts *c)
{
    const struct gpu *g = e->gpu;
    const struct work *w = &c->launch;
    tw_explanation *o = &e->out;
    tw_traffic *t = o->traffic;
    double cycles = cycles_a_second(e, c), clock = cycles / g->multiprocessors;
    double fma = g->f32 / 64.0; /* warp instructions per cycle */
    tw_range wavefronts = of_work(w->wavefronts);
    double more = c->wavefronts + c->product_wavefronts;
    wavefronts.low += more;
    wavefronts.middle += more;
    wavefronts.high += more;
    add_roof(o, "HBM", "the memory's bandwidth", "bytes", t[TW_AT_HBM].moved, g->bandwidth * 1e9);
    add_roof(o, "L2", "L2's bandwidth", "bytes", t[TW_AT_L2].moved, g->l2[2] * clock);
    add_roof(o, "L2 requests", "requests to L2", "requests", exactly(c->tags),
             g->l2[2] / 64.0 * clock);
    const char *of_l1 = w->wavefronts.middle + c->product_wavefronts == 0 ? "wavefronts of L1"
                        : c->wavefronts == 0 ? "wavefronts of shared memory"
                                             : "wavefronts of shared memory and L1";
    add_roof(o, "shared", of_l1, "wavefronts", wavefronts, cycles);
    add_roof(o, "load/store", "instructions of memory", "warp instructions", exactly(w->load_store),
             cycles);
    add_roof(o, "issue", "instruction issue", "warp instructions", of_work(w->instructions),
             4 * cycles);
    add_roof(o, "fma", "the units for f32", "warp instructions", exactly(w->fma), fma * cycles);
    add_roof(o, "f64", "the units for f64", "warp instructions", exactly(w->f64),
             g->f64 / 64.0 * cycles);
    if (e->warpgroups > 0)
        add_roof(o, "special", "the units for special functions", "warp instructions",
                 exactly(w->special), cycles / SPECIAL_INTERVAL * GPU_SCHEDULERS);
    double busy, flops = matrix_work(g, w, &busy);
    add_roof(o, "tensor", "the tensor units", "FLOP", exactly(flops),
             busy > 0 ? flops / busy * cycles : 0);
}

/* --- time --- */

/* Finds latencies in cycles: of memory by capability (gpus.def), of the rest as on GH100. Luo
 * et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture" (2024), measured mma
 * with nothing else running. A warp issues every second cycle, because its units for f32 have 16
 * lanes each. */
static void find_latencies(const struct explain *e, const struct explain_counts *c,
                           struct latencies *l)
{
    const struct gpu_capability *has = target_gpu_capability_of(e->gpu);
    *l = (struct latencies){.arithmetic = 4,
                            .special = 20,
                            .shared = has->shared,
                            .l1 = has->l1_hit,
                            .l2 = has->l2_hit,
                            .memory = has->memory,
                            .matrix = 33,
                            .shuffle = 24,
                            .barrier = 20,
                            .copy_to_shared = 60,
                            .issue = 2};
    for (int i = 0; i < MATRIX_COUNT; i++)
        l->matrix_rate[i] = matrix_rate(e->gpu, (enum matrix_unit)i) *
                            target_gpu_capability_of(e->gpu)->mma_share / GPU_SCHEDULERS;
    for (int i = 0; i < MATRIX_COUNT; i++)
        l->product_rate[i] = matrix_rate(e->gpu, (enum matrix_unit)i);
    l->special_interval = SPECIAL_INTERVAL;
    l->missed = c->load_sectors > 0 ? c->missed / c->load_sectors : 0;
    l->line_interval = e->gpu->multiprocessors / (e->gpu->l2[2] / 64.0);
    l->missed_l1 = l->l2 + c->awaited * (l->memory - l->l2);
}

/* Returns the cycles per block, or warpgroup, with a number of them on a multiprocessor. They share
 * its busiest part, and wait in turns for that part or for their data: a closed network of one queue
 * and a delay, by mean value analysis (Reiser & Lavenberg 1980). service: cycles of that part for
 * one of them, and of a second part (0: none); delay: the rest of its time. */
static double cycles_of_block(const double service[2], double delay, int blocks)
{
    double queue[2] = {0}, pace = service[0] + service[1] + delay;
    for (int n = 1; n <= blocks; n++) {
        double stay[2] = {service[0] * (1 + queue[0]), service[1] * (1 + queue[1])};
        pace = (stay[0] + stay[1] + delay) / n;
        for (int i = 0; i < 2; i++)
            queue[i] = stay[i] / pace;
    }
    return pace;
}

/* The cycles of a block: of the busiest part of the multiprocessor, and in all, for a block, or one of
 * its warpgroups that multiply, that is alone. */
struct pace_of_block {
    double busy, alone;
    double special; /* of the units for special functions, between products of warpgroups */
    double
        fetch; /* of the copies, which a role of their own makes ahead; 0: others wait for them */
    int customers; /* of the busiest part: the warpgroups of a block that multiply; else 1 */
};

static bool is_of_copies(const tw_roof *r)
{
    return strcmp(r->name, "HBM") == 0 || strncmp(r->name, "L2", 2) == 0;
}

/* Returns the seconds of the busiest part: of those that copies use, or of the others. */
static double busiest(const tw_explanation *o, bool of_copies)
{
    for (int i = 0; i < o->roof_count; i++)
        if (is_of_copies(&o->roofs[i]) == of_copies)
            return o->roofs[i].seconds.middle;
    return 0;
}

/* Finds the pace of warpgroups that multiply tiles that other warps copy: these are ahead by the
 * stages of the tiles, so both go on at the same time. */
static void find_warpgroup_pace(const struct explain *e, const struct explain_counts *c,
                                const struct latencies *l, double cycles, struct pace_of_block *p)
{
    p->customers = e->warpgroups;
    p->alone =
        model_latency_of_warpgroup(&e->ctx->scratch, c->function, c->paced, l, c->multiplying);
    p->busy = busiest(&e->out, false) * cycles;
    p->fetch = busiest(&e->out, true) * cycles;
    p->special = c->launch.special * SPECIAL_INTERVAL / GPU_SCHEDULERS / (double)e->out.blocks;
    if (p->special >= p->busy)
        p->special = 0;
}

static struct pace_of_block find_pace(const struct explain *e, const struct explain_counts *c)
{
    const tw_explanation *o = &e->out;
    double cycles = cycles_a_second(e, c) / (double)o->blocks;
    struct latencies l;
    struct pace_of_block p = {.customers = 1};
    find_latencies(e, c, &l);
    if (e->warpgroups > 0) {
        find_warpgroup_pace(e, c, &l, cycles, &p);
    } else {
        p.alone = model_latency_of_block(&e->ctx->scratch, c->function, c->paced, &l, c->warps);
        p.busy = o->roofs[0].seconds.middle * cycles;
    }
    p.alone = fmax(p.alone, p.busy / p.customers);
    return p;
}

/* Returns the cycles per block with `blocks` of them on a multiprocessor. */
static double cycles_with(const struct pace_of_block *p, int blocks)
{
    double service[2] = {p->busy / p->customers, p->special / p->customers};
    double delay = fmax(0, p->alone - service[0] - service[1]);
    return fmax(p->fetch, p->customers * cycles_of_block(service, delay, blocks * p->customers));
}

/* Returns a multiprocessor's cycles for all of its blocks. If there are few waves, the blocks of
 * the last one are spread over all multiprocessors, and each shares its own with few others. */
static double cycles_of_waves(struct explain *e, const struct pace_of_block *p, double order)
{
    const tw_explanation *o = &e->out;
    double per_sm = (double)o->blocks / e->gpu->multiprocessors, full = floor(o->waves), taken;
    int resident = per_sm < o->resident_blocks ? (int)ceil(per_sm) : o->resident_blocks;
    int rest = (int)ceil((o->waves - full) * o->resident_blocks - 1e-9);
    double pace = cycles_with(p, resident);
    if (o->waves > 8)
        taken = pace * (per_sm + resident / 2.0);
    else
        taken = full * resident * pace + (rest ? rest * cycles_with(p, rest) : 0);
    if (e->warpgroups > 0 && order > 0)
        taken = order * resident * pace;
    e->waves_gain = fmax(1, taken / (pace * per_sm));
    return fmax(taken, pace * per_sm);
}

static void find_seconds(struct explain *e, const struct explain_counts *c)
{
    tw_explanation *o = &e->out;
    double cycles = cycles_a_second(e, c), least = o->roofs[0].seconds.middle;
    struct pace_of_block p = find_pace(e, c);
    double taken = fmax(cycles_of_waves(e, &p, c->order), cycles_with(&p, 1) * c->longest);
    double middle =
        fmax(least, taken * e->gpu->multiprocessors / cycles) + LAUNCH_NANOSECONDS * 1e-9;
    /* The spread of our readings of this GPU; without any, the spread of published ones. */
    bool measured = e->gpu->readings > 0;
    double low = middle * (measured ? 0.75 : 0.6), high = middle * (measured ? 1.35 : 1.9);
    if (c->longest > 1.1) /* the overlap of the longest blocks is not known */
        high *= fmin(2, c->longest);
    for (int i = 0; i < o->roof_count; i++) {
        low = fmax(low, o->roofs[i].seconds.low);
        high = fmax(high, o->roofs[i].seconds.high + LAUNCH_NANOSECONDS * 1e-9);
    }
    o->seconds = (tw_range){low, middle, high};
    for (int i = 0; i < o->roof_count; i++)
        o->roofs[i].share = fmin(1, o->roofs[i].seconds.middle / middle);
    o->flops_per_second = o->flops / middle;
}

double explain_gain(const tw_explanation *o, double times)
{
    double now = o->seconds.middle;
    const double launch = LAUNCH_NANOSECONDS * 1e-9;
    return now / ((now - launch) / times + launch);
}

void explain_time(struct explain *e, struct explain_counts *c)
{
    tw_explanation *o = &e->out;
    double in_step = 1.0 / o->resident_blocks;
    struct l2_result together = {0}, mean;
    e->warpgroups = c->multiplying / WARPS_OF_GROUP;
    o->flops_executed = c->launch.flops;
    o->flops = e->launch ? explain_flops(e->launch) : 0;
    if (o->flops == 0)
        o->flops = o->flops_executed;
    const struct work *w = &c->launch;
    o->copy_wavefronts = w->copy_wavefronts;
    o->copy_wavefronts_ideal = w->copy_wavefronts_ideal;
    o->shared_wavefronts = w->wavefronts.middle + w->copy_wavefronts;
    o->shared_wavefronts_ideal = w->wavefronts_ideal + w->copy_wavefronts_ideal;
    o->wavefronts_as_written = w->wavefronts.high + w->copy_wavefronts;
    o->wavefronts_ideal_as_written = w->wavefronts_ideal_written + w->copy_wavefronts_ideal;
    /* The spread of the blocks follows from their pace; their hits in L2 follow from the spread. */
    if (o->launches)
        replay_l2(e, &c->l2, in_step, target_gpu_capability_of(e->gpu)->l2_halves, &together);
    find_traffic(e, c, &together, &together);
    if (o->launches)
        find_roofs(e, c);
    if (!o->roof_count)
        return;
    struct pace_of_block p = find_pace(e, c);
    double share = p.busy / cycles_with(&p, 1);
    mean = together;
    if (share > in_step)
        replay_l2(e, &c->l2, share, target_gpu_capability_of(e->gpu)->l2_halves, &mean);
    find_traffic(e, c, &together, &mean);
    o->roof_count = 0;
    find_roofs(e, c);
    o->bound = o->roofs[0].name;
    o->bound_title = o->roofs[0].title;
    find_seconds(e, c);
}
