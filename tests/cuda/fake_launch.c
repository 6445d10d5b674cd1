/* Launches on the simulator; resources of functions. */
#include "fake_cuda.h"

#include "cuda/cuda_driver.h" /* the layout of cuLaunchKernelEx's configuration */
#include "sim/sim_barrier_check.h"
#include "sim/sim_memcheck.h"
#include "sim/race/sim_race.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* One for each device, made at its first use. */
struct machine {
    struct arena arena;
    jmp_buf out_of_memory;
    struct sim *sim;
    const struct fake_module *loaded;
    struct sim_report report;
    struct sim_barrier_check *barriers; /* NULL: nothing is checked */
    struct sim_races *races;
    struct sim_memcheck *memory;
};
static struct machine machines[FAKE_DEVICES];

static struct machine *here(void)
{
    return &machines[fake_current_device()];
}

static void add_checks(struct machine *m)
{
    sim_report_init(&m->report, &m->arena, NULL);
    m->barriers = sim_barrier_check_new(&m->arena, &m->report);
    m->races = sim_races_new(&m->arena, &m->report);
    sim_observe(m->sim, sim_races_observer(m->races));
    m->memory = sim_memcheck_new(&m->arena, &m->report);
    sim_observe(m->sim, sim_memcheck_observer(m->memory));
    sim_observe(m->sim, sim_barrier_check_observer(m->barriers));
}

struct sim *fake_machine(void)
{
    struct machine *m = here();
    if (m->sim)
        return m->sim;
    arena_init(&m->arena, &allocator_libc, &m->out_of_memory);
    if (setjmp(m->out_of_memory))
        return NULL;
    m->sim = sim_new(&m->arena);
    if (fake_setting("FAKE_CUDA_CHECK", 0))
        add_checks(m);
    return m->sim;
}

__attribute__((destructor)) static void finish(void)
{
    for (int i = 0; i < FAKE_DEVICES; i++)
        if (machines[i].sim) {
            if (machines[i].barriers) {
                sim_races_free(machines[i].races);
                sim_memcheck_free(machines[i].memory);
                sim_barrier_check_free(machines[i].barriers);
            }
            sim_free(machines[i].sim);
            arena_free(&machines[i].arena);
        }
}

void fake_forget_module(const struct fake_module *m)
{
    for (int i = 0; i < FAKE_DEVICES; i++)
        if (machines[i].loaded == m)
            machines[i].loaded = NULL;
}

static bool load(struct machine *m, struct fake_module *from)
{
    if (m->loaded == from)
        return true;
    m->report.module = from->module;
    bool loaded = sim_load(m->sim, from->module, &from->source, &from->diag);
    m->loaded = loaded ? from : NULL;
    return loaded;
}

/* Makes faults permanent; prints findings in full to standard error. */
static int judge(struct machine *m, enum sim_end end)
{
    int64_t failures = 0;
    if (m->barriers) {
        if (end == SIM_DEADLOCK)
            sim_barrier_check_deadlock(m->barriers, sim_standstill(m->sim));
        failures = sim_report_failures(&m->report);
    }
    if (failures) {
        struct text text;
        text_init(&text, &m->arena);
        sim_report_text(&text, &m->report, false);
        fprintf(stderr, "%s", text.data);
    }
    if (end == SIM_DONE && !failures)
        return GOOD;
    int result = end == SIM_FAULT ? ILLEGAL_ADDRESS : LAUNCH_FAILED;
    char count[64];
    snprintf(count, sizeof count, "%lld findings", (long long)failures);
    fake_fault(result, end == SIM_DONE ? count : sim_why(m->sim));
    return result;
}

int fake_run(const struct fake_work *w)
{
    enum { STEPS_A_MICROSECOND = 1000, OVERHEAD = 2 };
    struct machine *m = here();
    struct diag diag;
    if (fake_setting("FAKE_CUDA_IDLE", 0)) {
        fake_clock_add(OVERHEAD);
        return GOOD;
    }
    if (!fake_machine() || setjmp(m->out_of_memory))
        return NO_MEMORY;
    diag_init(&diag, &m->arena);
    if (!load(m, w->kernel->from)) {
        fake_fault(LAUNCH_FAILED, "the module cannot be loaded");
        return LAUNCH_FAILED;
    }
    struct sim_launch launch = w->launch;
    if (launch.options.resident_blocks) { /* cooperative */
        static const uint32_t workspace[2] = {sizeof workspace, 0};
        launch.workspace = sim_allocate(m->sim, sizeof workspace, workspace, "workspace");
    }
    int result = judge(m, sim_run(m->sim, &launch, &diag));
    printf("%s", sim_output(m->sim, NULL));
    fake_clock_add(OVERHEAD + (double)sim_steps(m->sim) / STEPS_A_MICROSECOND);
    return result;
}

/* --- resources of functions --- */

enum {
    ATTRIBUTE_THREADS = 0,
    ATTRIBUTE_SHARED = 1,
    ATTRIBUTE_REGISTERS = 4,
    ATTRIBUTE_DYNAMIC_SHARED = 8,
    ATTRIBUTE_LARGE_CLUSTERS = 14,
    REGISTERS = 40, /* of every kernel */
    THREADS = 1024
};

API int cuFuncSetAttribute(void *function, int attribute, int value)
{
    FAKE_CONTEXT;
    struct fake_kernel *k = function;
    if (attribute == ATTRIBUTE_LARGE_CLUSTERS)
        k->large_clusters = value;
    if (attribute != ATTRIBUTE_DYNAMIC_SHARED)
        return GOOD;
    if (value < 0 || value > FAKE_SHARED_BYTES)
        return INVALID_VALUE;
    k->dynamic_shared = value;
    return GOOD;
}

API int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    FAKE_CONTEXT;
    const struct fake_kernel *k = function;
    switch (attribute) {
    case ATTRIBUTE_THREADS: *value = THREADS; break;
    case ATTRIBUTE_REGISTERS: *value = REGISTERS; break;
    case ATTRIBUTE_DYNAMIC_SHARED: *value = k->dynamic_shared; break;
    default: *value = 0; break;
    }
    return GOOD;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int resident(int threads, size_t shared)
{
    enum { SM_THREADS = 2048, SM_REGISTERS = 65536, SM_BLOCKS = 32, SM_SHARED = 228 * 1024 };
    int warps = (threads + 31) / 32 * 32;
    int blocks = least(SM_BLOCKS, least(SM_THREADS / warps, SM_REGISTERS / (REGISTERS * warps)));
    return least(blocks, SM_SHARED / ((int)shared + 1024));
}

API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                    size_t shared)
{
    FAKE_CONTEXT;
    if (!function || threads < 1)
        return INVALID_VALUE;
    *blocks = threads > THREADS ? 0 : resident(threads, shared);
    return GOOD;
}

/* --- launches --- */

static int check(const struct fake_kernel *k, const struct sim_launch *l, bool cooperative)
{
    int64_t threads = (int64_t)l->block[0] * l->block[1] * l->block[2];
    int64_t blocks = (int64_t)l->grid[0] * l->grid[1] * l->grid[2];
    if (!threads || !blocks || threads > THREADS || l->grid[1] > 65535 || l->grid[2] > 65535 ||
        l->dynamic_shared > k->dynamic_shared)
        return INVALID_VALUE;
    int together = resident((int)threads, (size_t)l->dynamic_shared) * FAKE_MULTIPROCESSORS;
    return cooperative && blocks > together ? COOPERATIVE_TOO_LARGE : GOOD;
}

static int launch(void *function, const struct sim_launch *asked, bool cooperative, void *stream,
                  void **arguments)
{
    const struct fake_kernel *k = function;
    int result = check(k, asked, cooperative);
    struct fake_work *w = result ? NULL : fake_work_new(WORK_LAUNCH);
    if (!w)
        return result ? result : NO_MEMORY;
    w->kernel = k;
    w->launch = *asked;
    w->launch.kernel = k->function->name;
    w->launch.options.seed = (uint64_t)fake_setting("FAKE_CUDA_SEED", 0);
    w->launch.options.async_late = fake_setting("FAKE_CUDA_LATE", 0) != 0;
    if (cooperative) /* blocks wait for one another: all run at the same time */
        w->launch.options.resident_blocks = (int)(asked->grid[0] * asked->grid[1] * asked->grid[2]);
    if (fake_take_arguments(w, arguments))
        return fake_enqueue(stream, w);
    fake_work_free(w);
    return NO_MEMORY;
}

API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
                       void **extra)
{
    FAKE_CONTEXT;
    (void)extra;
    struct sim_launch asked = {.grid = {gx, gy, gz},
                               .block = {bx, by, bz},
                               .cluster = {1, 1, 1},
                               .dynamic_shared = shared};
    return launch(function, &asked, false, stream, params);
}

API int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                  void *stream, void **params)
{
    FAKE_CONTEXT;
    struct sim_launch asked = {.grid = {gx, gy, gz},
                               .block = {bx, by, bz},
                               .cluster = {1, 1, 1},
                               .dynamic_shared = shared};
    return launch(function, &asked, true, stream, params);
}

#ifndef FAKE_CUDA_OLD

static unsigned cluster_size(const struct sim_launch *l)
{
    return l->cluster[0] * l->cluster[1] * l->cluster[2];
}

static int check_cluster(const struct fake_kernel *k, const struct sim_launch *l)
{
    const unsigned *cluster = l->cluster;
    unsigned size = cluster_size(l);
    if (size == 1)
        return GOOD;
    if (fake_capability() < 90 || size > 16 || (size > 8 && !k->large_clusters))
        return INVALID_CLUSTER_SIZE;
    for (int i = 0; i < 3; i++)
        if (!cluster[i] || l->grid[i] % cluster[i])
            return INVALID_VALUE;
    return GOOD;
}

static bool waits_for_kernels(const struct ptx_function *f)
{
    bool waits = false;
    for (size_t i = 0; i < f->body.count && !waits; i++)
        waits = f->body.data[i].kind == PTX_AT_INSTRUCTION &&
                f->body.data[i].instruction->op == PTX_GRIDDEPCONTROL;
    return waits;
}

/* Takes the configuration's grid, block and attributes. A kernel that may begin early has to wait itself for the work
 * before it, because all that is here does so. */
static int read_config(const struct cuda_launch_config *config, const struct fake_kernel *k,
                       struct sim_launch *l, bool *cooperative)
{
    *l = (struct sim_launch){.cluster = {1, 1, 1}, .dynamic_shared = config->shared_bytes};
    *cooperative = false;
    for (int i = 0; i < 3; i++) {
        l->grid[i] = config->grid[i];
        l->block[i] = config->block[i];
    }
    for (unsigned i = 0; i < config->count; i++) {
        const struct cuda_launch_attribute *a = &config->attributes[i];
        switch (a->id) {
        case LAUNCH_COOPERATIVE: *cooperative = a->value.number; break;
        case LAUNCH_CLUSTER: memcpy(l->cluster, a->value.cluster, sizeof l->cluster); break;
        case LAUNCH_PRIORITY: break;
        case LAUNCH_OVERLAP:
            if (fake_capability() < 90)
                return NOT_SUPPORTED;
            if (!waits_for_kernels(k->function))
                return INVALID_VALUE;
            break;
        default: return INVALID_VALUE;
        }
    }
    return GOOD;
}

API int cuLaunchKernelEx(const struct cuda_launch_config *config, void *function, void **params,
                         void **extra)
{
    FAKE_CONTEXT;
    (void)extra;
    const struct fake_kernel *k = function;
    struct sim_launch asked;
    bool cooperative;
    int result = read_config(config, k, &asked, &cooperative);
    if (result)
        return result;
    result = check_cluster(k, &asked);
    return result ? result : launch(function, &asked, cooperative, config->stream, params);
}

/* One of the multiprocessors is alone in its part of the device, so clusters have the others. */
API int cuOccupancyMaxActiveClusters(int *clusters, void *function,
                                     const struct cuda_launch_config *config)
{
    FAKE_CONTEXT;
    const struct fake_kernel *k = function;
    struct sim_launch asked;
    bool cooperative;
    *clusters = 0;
    int result = read_config(config, k, &asked, &cooperative);
    result = result ? result : check_cluster(k, &asked);
    result = result ? result : check(k, &asked, false);
    if (result)
        return result;
    int blocks = resident((int)(asked.block[0] * asked.block[1] * asked.block[2]),
                          (size_t)asked.dynamic_shared);
    *clusters = blocks * (FAKE_MULTIPROCESSORS - 1) / (int)cluster_size(&asked);
    return GOOD;
}

#endif
