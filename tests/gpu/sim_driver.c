/* A driver library without a GPU: `tilewright run --device cuda` finds it as libcuda.so.1, and
 * kernels run on the simulator, from the text that a GPU would get. From the environment:
 *
 *   TW_SIM_SM     the device that it claims to be (80)
 *   TW_SIM_SEED   of the order of warps and blocks (0: in turn)
 *   TW_SIM_LATE   1: asynchronous copies land as late as the rules allow
 *   TW_SIM_CHECK  1: races, barriers and memory are watched; a finding makes the launch fail, and
 *                 the report goes to standard error
 *
 *     LD_LIBRARY_PATH=DIR tilewright run kernels/fused/softmax.tile --set rows=3,cols=100 \
 *        --fill rand --verify --device cuda
 */
#include "sim/sim_barrier_check.h"
#include "sim/sim_memcheck.h"
#include "sim/sim_race.h"
#include "sim/sim.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { GOOD = 0, NO_MEMORY = 2, BAD_PTX = 218, NOT_FOUND = 500, LAUNCH_FAILED = 719 };
enum { MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, SHARED_OPTIN = 97 }; /* CUdevice_attribute */

/* The device: made when first needed, freed with the process. */
static struct {
    struct arena arena;
    jmp_buf out_of_memory;
    struct sim *sim;
    const struct ptx_module *loaded;
    struct sim_report report;
    struct sim_barrier_check *barriers; /* NULL: nothing is checked */
} gpu;
static char fault[4096]; /* of a launch */
static int context;

struct loaded {
    struct arena arena;
    jmp_buf out_of_memory;
    struct source source;
    struct diag diag;
    struct ptx_module *module;
};

/* What a caller holds as a function. */
struct kernel {
    const struct loaded *from;
    const struct ptx_function *function;
};

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 0) : otherwise;
}

static int capability(void)
{
    return (int)setting("TW_SIM_SM", 80);
}

static void add_checks(void)
{
    sim_report_init(&gpu.report, &gpu.arena, NULL);
    gpu.barriers = sim_barrier_check_new(&gpu.arena, &gpu.report);
    struct sim_races *races = sim_races_new(&gpu.arena, &gpu.report);
    struct sim_memcheck *memory = sim_memcheck_new(&gpu.arena, &gpu.report);
    sim_observe(gpu.sim, sim_races_observer(races));
    sim_observe(gpu.sim, sim_memcheck_observer(memory));
    sim_observe(gpu.sim, sim_barrier_check_observer(gpu.barriers));
}

static struct sim *machine(void)
{
    if (gpu.sim)
        return gpu.sim;
    arena_init(&gpu.arena, &allocator_libc, &gpu.out_of_memory);
    gpu.sim = sim_new(&gpu.arena);
    if (setting("TW_SIM_CHECK", 0))
        add_checks();
    return gpu.sim;
}

/* --- the device --- */

API int cuInit(unsigned flags)
{
    (void)flags;
    return GOOD;
}

API int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return GOOD;
}

API int cuGetErrorName(int error, const char **text)
{
    *text = error == LAUNCH_FAILED ? "SIMULATOR_FAULT" : "SIMULATOR_ERROR";
    return GOOD;
}

API int cuGetErrorString(int error, const char **text)
{
    *text = error == LAUNCH_FAILED ? fault : "see cuda.h";
    return GOOD;
}

API int cuDeviceGetCount(int *count)
{
    *count = 1;
    return GOOD;
}

API int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return GOOD;
}

API int cuDeviceGetName(char *name, int length, int device)
{
    (void)device;
    snprintf(name, (size_t)length, "simulator");
    return GOOD;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    switch (attribute) {
    case MULTIPROCESSORS: *value = 1; break;
    case MAJOR: *value = capability() / 10; break;
    case MINOR: *value = capability() % 10; break;
    case SHARED_OPTIN: *value = 227 * 1024; break;
    default: *value = 0; break;
    }
    return GOOD;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return GOOD;
}

API int cuDevicePrimaryCtxRetain(void **to, int device)
{
    (void)device;
    *to = &context;
    return GOOD;
}

API int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return GOOD;
}

API int cuCtxPushCurrent_v2(void *c)
{
    (void)c;
    return GOOD;
}

API int cuCtxPopCurrent_v2(void **c)
{
    *c = &context;
    return GOOD;
}

API int cuCtxSynchronize(void)
{
    return fault[0] ? LAUNCH_FAILED : GOOD;
}

/* --- modules --- */

API int cuModuleUnload(void *module)
{
    struct loaded *l = module;
    arena_free(&l->arena);
    free(l);
    return GOOD;
}

API int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                           void **values)
{
    (void)count, (void)options, (void)values;
    struct loaded *l = calloc(1, sizeof *l);
    if (!l)
        return NO_MEMORY;
    if (setjmp(l->out_of_memory)) {
        cuModuleUnload(l);
        return NO_MEMORY;
    }
    arena_init(&l->arena, &allocator_libc, &l->out_of_memory);
    diag_init(&l->diag, &l->arena);
    size_t length = strlen(image);
    l->source = (struct source){"kernel.ptx", arena_string(&l->arena, image, length), length};
    l->module = ptx_parse(&l->arena, &l->source, &l->diag);
    if (!l->module || !ptx_verify(l->module, &l->diag)) {
        struct text t;
        text_init(&t, &l->arena);
        diag_render(&t, &l->diag, false);
        fprintf(stderr, "%s", t.data);
        cuModuleUnload(l);
        return BAD_PTX;
    }
    *module = l;
    return GOOD;
}

API int cuModuleGetFunction(void **function, void *module, const char *name)
{
    struct loaded *l = module;
    const struct ptx_function *found = ptx_find_function(l->module, name);
    if (!found)
        return NOT_FOUND;
    if (setjmp(l->out_of_memory))
        return NO_MEMORY;
    struct kernel *k = arena_new(&l->arena, struct kernel);
    *k = (struct kernel){l, found};
    *function = k;
    return GOOD;
}

API int cuFuncSetAttribute(void *function, int attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return GOOD;
}

API int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    (void)function, (void)attribute;
    *value = 0;
    return GOOD;
}

/* --- memory --- */

API int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    if (setjmp(gpu.out_of_memory))
        return NO_MEMORY;
    *address = sim_allocate(machine(), bytes, NULL, "array");
    return *address ? GOOD : NO_MEMORY;
}

API int cuMemFree_v2(uint64_t address)
{
    (void)address;
    return GOOD;
}

API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    memcpy(sim_host(gpu.sim, to, bytes), from, bytes);
    return GOOD;
}

API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    memcpy(to, sim_host(gpu.sim, from, bytes), bytes);
    return GOOD;
}

API int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    (void)stream;
    memset(sim_host(gpu.sim, to, bytes), value, bytes);
    return GOOD;
}

/* --- launches --- */

static bool load(const struct loaded *l, struct diag *diag)
{
    if (gpu.loaded == l->module)
        return true;
    gpu.loaded = l->module;
    gpu.report.module = l->module;
    return sim_load(gpu.sim, l->module, &l->source, diag);
}

/* What went wrong into `fault`; findings in full to standard error. */
static void judge(enum sim_end end)
{
    if (end != SIM_DONE)
        snprintf(fault, sizeof fault, "%s", sim_why(gpu.sim));
    if (!gpu.barriers)
        return;
    if (end == SIM_DEADLOCK)
        sim_barrier_check_deadlock(gpu.barriers, sim_why(gpu.sim));
    int64_t failures = sim_report_failures(&gpu.report);
    if (!failures)
        return;
    struct text text;
    text_init(&text, &gpu.arena);
    sim_report_text(&text, &gpu.report, false);
    fprintf(stderr, "%s", text.data);
    if (end == SIM_DONE)
        snprintf(fault, sizeof fault, "%lld findings", (long long)failures);
}

static int launch(const struct kernel *k, struct sim_launch *launch)
{
    struct diag diag;
    if (setjmp(gpu.out_of_memory))
        return NO_MEMORY;
    machine();
    diag_init(&diag, &gpu.arena);
    launch->kernel = k->function->name;
    launch->argument_count = (int)k->function->signature.parameters.count;
    launch->options.seed = (uint64_t)setting("TW_SIM_SEED", 0);
    launch->options.async_late = setting("TW_SIM_LATE", 0) != 0;
    for (int i = 0; i < 3; i++)
        launch->cluster[i] = 1;
    if (load(k->from, &diag)) {
        judge(sim_run(gpu.sim, launch, &diag));
        printf("%s", sim_output(gpu.sim, NULL));
    } else {
        snprintf(fault, sizeof fault, "the module cannot be loaded");
    }
    return fault[0] ? LAUNCH_FAILED : GOOD;
}

API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
                       void **extra)
{
    (void)stream, (void)extra;
    struct sim_launch asked = {.grid = {gx, gy, gz},
                               .block = {bx, by, bz},
                               .dynamic_shared = shared,
                               .arguments = (const void *const *)params};
    return launch(function, &asked);
}

/* Blocks wait for one another: all run at the same time. */
API int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                  void *stream, void **params)
{
    (void)stream;
    struct sim_launch asked = {.grid = {gx, gy, gz},
                               .block = {bx, by, bz},
                               .dynamic_shared = shared,
                               .arguments = (const void *const *)params,
                               .options.resident_blocks = (int)(gx * gy * gz)};
    return launch(function, &asked);
}

API int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = &context;
    return GOOD;
}

API int cuEventDestroy_v2(void *event)
{
    (void)event;
    return GOOD;
}

API int cuEventRecord(void *event, void *stream)
{
    (void)event, (void)stream;
    return GOOD;
}

API int cuEventSynchronize(void *event)
{
    (void)event;
    return GOOD;
}

API int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
    (void)from, (void)to;
    *milliseconds = 1;
    return GOOD;
}
