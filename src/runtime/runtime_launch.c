/* Launches, functions, occupancy. */
#include "runtime/runtime.h"

#include <string.h>

/* Configurations of kernel<<<…>>>, between their evaluation and the launch. */
enum { CONFIGURATIONS = 16 };
struct configuration {
    struct runtime_dim grid, block;
    size_t shared;
    void *stream;
};
static _Thread_local struct configuration pushed[CONFIGURATIONS];
static _Thread_local int pushed_count;
/* The configuration was just taken: the launch that follows comes from <<<>>>. */
static _Thread_local bool popped;

unsigned __cudaPushCallConfiguration(struct runtime_dim grid, struct runtime_dim block,
                                     size_t shared, void *stream)
{
    if (pushed_count == CONFIGURATIONS)
        return 1;
    pushed[pushed_count++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

int __cudaPopCallConfiguration(struct runtime_dim *grid, struct runtime_dim *block, size_t *shared,
                               void *stream)
{
    if (!pushed_count)
        return DRIVER_INVALID_CONFIGURATION;
    const struct configuration *c = &pushed[--pushed_count];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    memcpy(stream, &c->stream, sizeof c->stream);
    popped = true;
    return DRIVER_SUCCESS;
}

/* Returns the runtime's code for a refused launch: version 12 tells a wrong shape from other wrong
 * values. The driver and version 13 do not. */
static int launch_result(int result, struct runtime_dim grid, struct runtime_dim block)
{
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    bool shape =
        RUNTIME_VERSION < 13 && (!grid.x || !grid.y || !grid.z || !threads || threads > 1024);
    return result == DRIVER_INVALID_VALUE && shape ? DRIVER_INVALID_CONFIGURATION : result;
}

/* Launches a function of the driver. */
static int launch(void *function, const struct configuration *c, bool cooperative, void **arguments)
{
    struct runtime_dim g = c->grid, b = c->block;
    int result = cooperative ? cuLaunchCooperativeKernel(function, g.x, g.y, g.z, b.x, b.y, b.z,
                                                         (unsigned)c->shared, c->stream, arguments)
                             : cuLaunchKernel(function, g.x, g.y, g.z, b.x, b.y, b.z,
                                              (unsigned)c->shared, c->stream, arguments, NULL);
    return launch_result(result, g, b);
}

static _Thread_local int not_found; /* the error of the last kernel that has no handle */

int __cudaGetKernel(void **kernel, const void *host)
{
    *kernel = NULL;
    ENTER;
    int result;
    *kernel = runtime_function_of(host, &result);
    if (!*kernel)
        not_found = result;
    return result;
}

/* A kernel that could not be found has no handle; the launch then says why. */
int __cudaLaunchKernel(void *kernel, struct runtime_dim grid, struct runtime_dim block,
                       void **arguments, size_t shared, void *stream)
{
    ENTER;
    popped = false;
    struct configuration c = {grid, block, shared, stream};
    int result = kernel ? launch(kernel, &c, false, arguments) : not_found;
    return runtime_launched(result, kernel);
}

static int launch_host(const void *host, const struct configuration *c, bool cooperative,
                       void **arguments)
{
    int result;
    bool by_syntax = popped;
    void *function = runtime_function_of(host, &result);
    popped = false;
    if (function)
        result = launch(function, c, cooperative, arguments);
    return by_syntax ? runtime_launched(result, function) : runtime_done(result);
}

int cudaLaunchKernel(const void *host, struct runtime_dim grid, struct runtime_dim block,
                     void **arguments, size_t shared, void *stream)
{
    ENTER;
    struct configuration c = {grid, block, shared, stream};
    return launch_host(host, &c, false, arguments);
}

int cudaLaunchCooperativeKernel(const void *host, struct runtime_dim grid, struct runtime_dim block,
                                void **arguments, size_t shared, void *stream)
{
    ENTER;
    struct configuration c = {grid, block, shared, stream};
    return launch_host(host, &c, true, arguments);
}

static struct driver_launch_config config_of(const struct runtime_launch_config *c)
{
    return (struct driver_launch_config){.grid = {c->grid.x, c->grid.y, c->grid.z},
                                         .block = {c->block.x, c->block.y, c->block.z},
                                         .shared = (unsigned)c->shared,
                                         .stream = c->stream,
                                         .attributes = c->attributes,
                                         .count = c->count};
}

int cudaLaunchKernelExC(const struct runtime_launch_config *config, const void *host,
                        void **arguments)
{
    ENTER;
    int result;
    void *function = config ? runtime_function_of(host, &result) : NULL;
    if (!config)
        return runtime_done(DRIVER_INVALID_VALUE);
    if (!function)
        return runtime_done(result);
    struct driver_launch_config c = config_of(config);
    result = cuLaunchKernelEx(&c, function, arguments, NULL);
    return runtime_done(launch_result(result, config->grid, config->block));
}

/* --- functions --- */

/* Gives the driver's function as `function`, or returns the error. */
#define WITH_FUNCTION(host)                                                                        \
    ENTER;                                                                                         \
    int found;                                                                                     \
    void *function = runtime_function_of(host, &found);                                            \
    if (!function)                                                                                 \
    return runtime_done(found)

int cudaFuncSetAttribute(const void *host, int attribute, int value)
{
    WITH_FUNCTION(host);
    return runtime_done(cuFuncSetAttribute(function, attribute, value));
}

int cudaFuncGetAttributes(struct runtime_function *attributes, const void *host)
{
    WITH_FUNCTION(host);
    /* in the order of CUfunction_attribute */
    int values[10] = {0};
    for (int i = 0; i < 10; i++)
        cuFuncGetAttribute(&values[i], i, function);
    if (!attributes)
        return runtime_done(DRIVER_INVALID_VALUE);
    *attributes = (struct runtime_function){.threads = values[0],
                                            .shared = (size_t)values[1],
                                            .constant = (size_t)values[2],
                                            .local = (size_t)values[3],
                                            .registers = values[4],
                                            .ptx_version = values[5],
                                            .binary_version = values[6],
                                            .cache_mode = values[7],
                                            .dynamic_shared = values[8],
                                            .carveout = values[9]};
    return DRIVER_SUCCESS;
}

int cudaFuncSetCacheConfig(const void *host, int config)
{
    WITH_FUNCTION(host);
    return runtime_done(cuFuncSetCacheConfig(function, config));
}

int cudaFuncSetSharedMemConfig(const void *host, int config)
{
    WITH_FUNCTION(host);
    (void)config;
    return DRIVER_SUCCESS;
}

int cudaFuncGetParamInfo(const void *host, size_t index, size_t *offset, size_t *bytes)
{
    ENTER;
    int result;
    void *function = runtime_function_of(host, &result);
    return runtime_done(function ? cuFuncGetParamInfo(function, index, offset, bytes) : result);
}

int cudaFuncGetName(const char **name, const void *host)
{
    WITH_FUNCTION(host);
    return runtime_done(cuFuncGetName(name, function));
}

int cudaGetFuncBySymbol(void **to, const void *host)
{
    WITH_FUNCTION(host);
    if (!to)
        return runtime_done(DRIVER_INVALID_VALUE);
    *to = function;
    return DRIVER_SUCCESS;
}

int cudaGetKernel(void **kernel, const void *host)
{
    return cudaGetFuncBySymbol(kernel, host);
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int threads,
                                                  size_t shared)
{
    WITH_FUNCTION(host);
    return runtime_done(
        cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared));
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host,
                                                           int threads, size_t shared,
                                                           unsigned flags)
{
    WITH_FUNCTION(host);
    return runtime_done(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, function, threads, shared, flags));
}

int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *host, int blocks,
                                              int threads)
{
    WITH_FUNCTION(host);
    return runtime_done(cuOccupancyAvailableDynamicSMemPerBlock(shared, function, blocks, threads));
}

int cudaOccupancyMaxActiveClusters(int *clusters, const void *host,
                                   const struct runtime_launch_config *config)
{
    WITH_FUNCTION(host);
    if (!config)
        return runtime_done(DRIVER_INVALID_VALUE);
    struct driver_launch_config c = config_of(config);
    return runtime_done(cuOccupancyMaxActiveClusters(clusters, function, &c));
}

int cudaOccupancyMaxPotentialClusterSize(int *blocks, const void *host,
                                         const struct runtime_launch_config *config)
{
    WITH_FUNCTION(host);
    if (!config)
        return runtime_done(DRIVER_INVALID_VALUE);
    struct driver_launch_config c = config_of(config);
    return runtime_done(cuOccupancyMaxPotentialClusterSize(blocks, function, &c));
}
