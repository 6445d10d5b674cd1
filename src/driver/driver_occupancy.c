/* Attributes of functions, and how many blocks fit on a multiprocessor. Only an assembler knows how
 * many registers a kernel needs; the answers assume REGISTERS. */
#include "driver/driver.h"

#include "base/grid.h"
#include "target/gpus.h"

enum { REGISTERS = 32 };

/* CUfunction_attribute */
enum function_attribute {
    ATTRIBUTE_THREADS = 0,
    ATTRIBUTE_SHARED = 1,
    ATTRIBUTE_CONST = 2,
    ATTRIBUTE_LOCAL = 3,
    ATTRIBUTE_REGISTERS = 4,
    ATTRIBUTE_PTX_VERSION = 5,
    ATTRIBUTE_BINARY_VERSION = 6,
    ATTRIBUTE_DYNAMIC_SHARED = 8,
    ATTRIBUTE_CARVEOUT = 9,
    ATTRIBUTE_LARGE_CLUSTERS = 14,
    ATTRIBUTE_COUNT = 16
};

static bool is_shared(const struct ptx_variable *v)
{
    return v->space == MOD_SHARED || v->space == MOD_SHARED_CTA || v->space == MOD_SHARED_CLUSTER;
}

static int64_t static_bytes(struct driver_kernel *k)
{
    struct ptx_reach reach = {.arena = &k->from->arena, .module = k->from->module};
    int64_t at = 0;
    if (k->static_shared >= 0)
        return k->static_shared;
    ptx_reach(&reach, k->function);
    for (size_t i = 0; i < reach.variables.count; i++) {
        const struct ptx_variable *v = reach.variables.data[i];
        int64_t alignment = (int64_t)ptx_variable_alignment(v);
        if (is_shared(v) && v->linkage != PTX_EXTERN)
            at = (at + alignment - 1) / alignment * alignment + (int64_t)ptx_variable_size(v);
    }
    k->static_shared = at;
    return at;
}

/* Returns the most threads that a block may have, by .maxntid and .reqntid. */
static int most_threads(const struct driver_kernel *k)
{
    int64_t most = BLOCK_THREADS;
    for (size_t i = 0; i < k->function->limits.count; i++) {
        const struct ptx_limit *limit = &k->function->limits.data[i];
        int64_t threads = 1;
        if (limit->directive != PTX_REQNTID && limit->directive != PTX_MAXNTID)
            continue;
        for (uint32_t d = 0; d < limit->count; d++)
            threads *= limit->values[d];
        most = threads < most ? threads : most;
    }
    return (int)most;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int driver_resident(struct driver_kernel *k, int64_t threads, size_t shared)
{
    const struct target *t = target_of_gpu(driver.settings.gpu);
    int64_t whole = (threads + 31) / 32 * 32;
    int64_t bytes = static_bytes(k) + (int64_t)shared;
    if (threads < 1 || threads > most_threads(k) || bytes > t->shared_bytes)
        return 0;
    int64_t blocks = least(t->blocks_of_sm, t->threads_of_sm / whole);
    blocks = least(blocks, t->registers / (REGISTERS * whole));
    return (int)least(blocks, t->shared_of_sm / (bytes + GPU_SYSTEM_SHARED));
}

static int get_attribute(int *value, int attribute, struct driver_kernel *k)
{
    switch ((enum function_attribute)attribute) {
    case ATTRIBUTE_THREADS: *value = most_threads(k); break;
    case ATTRIBUTE_SHARED: *value = (int)static_bytes(k); break;
    case ATTRIBUTE_REGISTERS: *value = REGISTERS; break;
    case ATTRIBUTE_PTX_VERSION: *value = k->from->module->target.number; break;
    case ATTRIBUTE_BINARY_VERSION: *value = driver.settings.gpu->capability; break;
    case ATTRIBUTE_DYNAMIC_SHARED: *value = k->dynamic_shared; break;
    case ATTRIBUTE_CARVEOUT: *value = k->carveout; break;
    case ATTRIBUTE_LARGE_CLUSTERS: *value = k->large_clusters; break;
    case ATTRIBUTE_CONST:
    case ATTRIBUTE_LOCAL:
    case ATTRIBUTE_COUNT:
    default: *value = 0; break;
    }
    return attribute >= 0 && attribute < ATTRIBUTE_COUNT ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}

struct attribute_call {
    int *value, attribute;
    struct driver_kernel *kernel;
};

static int get_guarded(void *user)
{
    const struct attribute_call *call = user;
    return get_attribute(call->value, call->attribute, call->kernel);
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    IN_CONTEXT;
    struct attribute_call call = {value, attribute, driver_kernel_of(function)};
    if (!value || !call.kernel)
        return value ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    return driver_guard(get_guarded, &call);
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    IN_CONTEXT;
    struct driver_kernel *k = driver_kernel_of(function);
    if (!k)
        return DRIVER_INVALID_HANDLE;
    if (attribute == ATTRIBUTE_LARGE_CLUSTERS)
        k->large_clusters = value != 0;
    else if (attribute == ATTRIBUTE_CARVEOUT)
        k->carveout = value;
    else if (attribute != ATTRIBUTE_DYNAMIC_SHARED || value < 0 ||
             value > target_of_gpu(driver.settings.gpu)->shared_bytes)
        return DRIVER_INVALID_VALUE;
    else
        k->dynamic_shared = value;
    return DRIVER_SUCCESS;
}

ENTRY(cuKernelGetAttribute, (int *value, int attribute, void *kernel, int device),
      device ? DRIVER_INVALID_DEVICE : cuFuncGetAttribute(value, attribute, kernel))
ENTRY(cuKernelSetAttribute, (int attribute, int value, void *kernel, int device),
      device ? DRIVER_INVALID_DEVICE : cuFuncSetAttribute(kernel, attribute, value))

int cuFuncSetCacheConfig(void *function, int config)
{
    IN_CONTEXT;
    if (!driver_kernel_of(function))
        return DRIVER_INVALID_HANDLE;
    return config >= 0 && config <= 3 ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}

int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes)
{
    IN_CONTEXT;
    struct driver_kernel *k = driver_kernel_of(function);
    size_t at = 0;
    if (!k || !offset || index >= k->function->signature.parameters.count)
        return k ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    for (size_t i = 0; i <= index; i++) {
        const struct ptx_variable *v = k->function->signature.parameters.data[i];
        size_t alignment = (size_t)ptx_variable_alignment(v);
        at = (at + alignment - 1) / alignment * alignment;
        *offset = at;
        at += (size_t)ptx_variable_size(v);
    }
    if (bytes)
        *bytes = at - *offset;
    return DRIVER_SUCCESS;
}

ENTRY(cuKernelGetParamInfo, (void *kernel, size_t index, size_t *offset, size_t *bytes),
      cuFuncGetParamInfo(kernel, index, offset, bytes))

/* --- occupancy --- */

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                size_t shared)
{
    IN_CONTEXT;
    struct driver_kernel *k = driver_kernel_of(function);
    if (!k || !blocks || threads < 1)
        return k ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    *blocks = driver_resident(k, threads, shared);
    return DRIVER_SUCCESS;
}

ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
      (int *blocks, void *function, int threads, size_t shared, unsigned flags),
      flags > 1 ? DRIVER_INVALID_VALUE
                : cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared))

int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function,
                                     size_t (*shared_of)(int threads), size_t shared, int most)
{
    IN_CONTEXT;
    struct driver_kernel *k = driver_kernel_of(function);
    int best = 0;
    if (!k || !grid || !block)
        return k ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    int limit = most_threads(k);
    if (most > 0 && most < limit)
        limit = most;
    for (int threads = limit / 32 * 32; threads >= 32; threads -= 32) {
        int blocks = driver_resident(k, threads, shared_of ? shared_of(threads) : shared);
        if (blocks * threads <= best)
            continue;
        best = blocks * threads;
        *block = threads;
        *grid = blocks * driver.settings.gpu->multiprocessors;
    }
    return best ? DRIVER_SUCCESS : DRIVER_OUT_OF_RESOURCES;
}

ENTRY(cuOccupancyMaxPotentialBlockSizeWithFlags,
      (int *grid, int *block, void *function, size_t (*shared_of)(int threads), size_t shared,
       int most, unsigned flags),
      flags > 1 ? DRIVER_INVALID_VALUE
                : cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of, shared, most))

int cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, void *function, int blocks, int threads)
{
    IN_CONTEXT;
    struct driver_kernel *k = driver_kernel_of(function);
    const struct target *t = target_of_gpu(driver.settings.gpu);
    if (!k || !shared || blocks < 1 || threads < 1)
        return k ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    int64_t each = t->shared_of_sm / blocks - GPU_SYSTEM_SHARED - static_bytes(k);
    each = least(each, t->shared_bytes - static_bytes(k));
    *shared = each > 0 ? (size_t)each : 0;
    return DRIVER_SUCCESS;
}

ENTRY(cuKernelSetCacheConfig, (void *kernel, int config, int device),
      device ? DRIVER_INVALID_DEVICE : cuFuncSetCacheConfig(kernel, config))
