/* Launches: the arguments are checked as the real driver checks them, then the machine runs. */
#include "driver/driver.h"

#include "base/grid.h"
#include "target/gpus.h"

enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_BUFFER_BYTES = 2 }; /* CU_LAUNCH_PARAM_… */

struct launch_call {
    struct driver_launched launched;
    void **arguments, **extra;
};

/* Finds the buffer that holds all arguments. Returns false if `extra` makes no sense. */
static bool read_extra(void **extra, const unsigned char **buffer, size_t *bytes)
{
    *buffer = NULL;
    *bytes = 0;
    for (int i = 0; extra[i] != (void *)EXTRA_END; i += 2) {
        if (extra[i] == (void *)EXTRA_BUFFER)
            *buffer = extra[i + 1];
        else if (extra[i] == (void *)EXTRA_BUFFER_BYTES)
            *bytes = *(size_t *)extra[i + 1];
        else
            return false;
    }
    return *buffer || !*bytes;
}

static bool arguments_of_buffer(const struct ptx_function *f, void **extra, const void **out)
{
    const unsigned char *buffer;
    size_t bytes, at = 0;
    if (!read_extra(extra, &buffer, &bytes))
        return false;
    for (size_t i = 0; i < f->signature.parameters.count; i++) {
        const struct ptx_variable *v = f->signature.parameters.data[i];
        size_t alignment = (size_t)ptx_variable_alignment(v), size = (size_t)ptx_variable_size(v);
        at = (at + alignment - 1) / alignment * alignment;
        if (at + size > bytes)
            return false;
        out[i] = buffer + at;
        at += size;
    }
    return true;
}

static bool take_arguments(struct launch_call *call)
{
    const struct ptx_function *f = call->launched.kernel->function;
    size_t count = f->signature.parameters.count;
    const void **list = arena_array(&driver.arena, const void *, count + 1);
    call->launched.launch.arguments = list;
    call->launched.launch.argument_count = (int)count;
    if (call->extra && !call->arguments)
        return arguments_of_buffer(f, call->extra, list);
    if (count && !call->arguments)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!call->arguments[i])
            return false;
        list[i] = call->arguments[i];
    }
    return true;
}

static bool shape_suits(const struct sim_launch *l)
{
    int64_t threads = (int64_t)l->block[0] * l->block[1] * l->block[2];
    for (int i = 0; i < 3; i++)
        if (!l->grid[i] || l->grid[i] > grid_limits[i])
            return false;
    return threads && threads <= 1024 && l->block[0] <= 1024 && l->block[1] <= 1024 &&
           l->block[2] <= 64;
}

static int check(const struct driver_launched *l)
{
    const struct sim_launch *a = &l->launch;
    int64_t blocks = (int64_t)a->grid[0] * a->grid[1] * a->grid[2];
    int64_t threads = (int64_t)a->block[0] * a->block[1] * a->block[2];
    if (!shape_suits(a) || a->dynamic_shared > l->kernel->dynamic_shared)
        return DRIVER_INVALID_VALUE;
    int64_t most = (int64_t)driver_resident(l->kernel, threads, (size_t)a->dynamic_shared) *
                   driver.settings.gpu->multiprocessors;
    return l->cooperative && blocks > most ? DRIVER_COOPERATIVE_TOO_LARGE : DRIVER_SUCCESS;
}

static int run(void *user)
{
    struct launch_call *call = user;
    struct driver_launched *l = &call->launched;
    int result = check(l);
    if (result != DRIVER_SUCCESS)
        return result;
    if (!take_arguments(call))
        return DRIVER_INVALID_VALUE;
    l->number = ++driver.launches;
    driver_site_here(&l->site);
    return driver_machine_run(l);
}

static int launch(void *function, const struct sim_launch *asked, bool cooperative, void *stream,
                  void **arguments, void **extra)
{
    struct launch_call call = {.launched = {.kernel = driver_kernel_of(function),
                                            .launch = *asked,
                                            .stream = driver_stream_of(stream),
                                            .cooperative = cooperative},
                               .arguments = arguments,
                               .extra = extra};
    if (!call.launched.kernel || !call.launched.stream)
        return DRIVER_INVALID_HANDLE;
    return driver_guard(run, &call);
}

static struct sim_launch shape_of(const unsigned grid[3], const unsigned block[3], unsigned shared)
{
    return (struct sim_launch){.grid = {grid[0], grid[1], grid[2]},
                               .block = {block[0], block[1], block[2]},
                               .cluster = {1, 1, 1},
                               .dynamic_shared = shared};
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **arguments, void **extra)
{
    IN_CONTEXT;
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    struct sim_launch asked = shape_of(grid, block, shared);
    return launch(function, &asked, false, stream, arguments, extra);
}

int cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                              void *stream, void **arguments)
{
    IN_CONTEXT;
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    struct sim_launch asked = shape_of(grid, block, shared);
    return launch(function, &asked, true, stream, arguments, NULL);
}

/* Reads the attributes. Returns false for those that are not simulated: clusters of several
 * blocks. */
static bool read_attributes(const struct driver_launch_config *config, bool *cooperative)
{
    for (unsigned i = 0; i < config->count; i++) {
        const struct driver_launch_attribute *a = &config->attributes[i];
        if (a->id == DRIVER_LAUNCH_COOPERATIVE)
            *cooperative = a->value.number != 0;
        if (a->id == DRIVER_LAUNCH_CLUSTER &&
            a->value.cluster[0] * a->value.cluster[1] * a->value.cluster[2] > 1)
            return false;
    }
    return true;
}

int cuLaunchKernelEx(const struct driver_launch_config *config, void *function, void **arguments,
                     void **extra)
{
    IN_CONTEXT;
    bool cooperative = false;
    if (!config)
        return DRIVER_INVALID_VALUE;
    struct sim_launch asked = shape_of(config->grid, config->block, config->shared);
    if (!read_attributes(config, &cooperative)) {
        driver_refuse("not-simulated", NULL,
                      "a launch asks for clusters of several blocks, which are not simulated");
        return DRIVER_NOT_SUPPORTED;
    }
    return launch(function, &asked, cooperative, config->stream, arguments, extra);
}
