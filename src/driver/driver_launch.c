/* Launches: the arguments are checked as the real driver checks them, then the machine runs. */
#include "driver/driver_task.h"

#include "target/gpus.h"

enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_BUFFER_BYTES = 2 }; /* CU_LAUNCH_PARAM_… */

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

int driver_launch_arguments(struct driver_launched *l, void **arguments, void **extra)
{
    const struct ptx_function *f = l->kernel->function;
    size_t count = f->signature.parameters.count;
    const void **list = arena_array(&driver.arena, const void *, count + 1);
    l->launch.arguments = list;
    l->launch.argument_count = (int)count;
    if (extra && !arguments)
        return arguments_of_buffer(f, extra, list) ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
    if (count && !arguments)
        return DRIVER_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (!arguments[i])
            return DRIVER_INVALID_VALUE;
        list[i] = arguments[i];
    }
    return DRIVER_SUCCESS;
}

/* --- clusters --- */

/* Returns the blocks of the launch's cluster along an axis: those of the attribute, or the kernel's
 * own. */
static unsigned cluster_along(const struct driver_launched *l, unsigned axis)
{
    const unsigned *asked = l->launch.cluster;
    unsigned blocks = asked[axis] ? asked[axis] : 1;
    for (size_t i = 0; i < l->kernel->function->limits.count; i++) {
        const struct ptx_limit *limit = &l->kernel->function->limits.data[i];
        bool own = limit->directive == PTX_REQNCTAPERCLUSTER && asked[0] * asked[1] * asked[2] <= 1;
        if (own && axis < limit->count)
            blocks = limit->values[axis];
    }
    return blocks;
}

static uint64_t blocks_of_cluster(const struct driver_launched *l)
{
    return (uint64_t)cluster_along(l, 0) * cluster_along(l, 1) * cluster_along(l, 2);
}

static int most_of_cluster(const struct driver_kernel *k)
{
    enum { CLUSTERS_FROM = 90, PORTABLE = 8 };
    if (driver.settings.gpu->capability < CLUSTERS_FROM)
        return 1;
    return k->large_clusters ? GPU_CLUSTER_MOST : PORTABLE;
}

static int check_cluster(const struct driver_launched *l)
{
    unsigned most = (unsigned)most_of_cluster(l->kernel);
    for (unsigned axis = 0; axis < 3; axis++)
        if (cluster_along(l, axis) > most || l->launch.grid[axis] % cluster_along(l, axis))
            return DRIVER_INVALID_CLUSTER_SIZE;
    return blocks_of_cluster(l) > most ? DRIVER_INVALID_CLUSTER_SIZE : DRIVER_SUCCESS;
}

/* --- a launch --- */

int driver_launch_check(const struct driver_launched *l)
{
    const struct sim_launch *a = &l->launch;
    if (driver_refusal(l) != DRIVER_NOT_REFUSED)
        return DRIVER_INVALID_VALUE;
    int64_t blocks = (int64_t)a->grid[0] * a->grid[1] * a->grid[2];
    int64_t threads = (int64_t)a->block[0] * a->block[1] * a->block[2];
    int result = check_cluster(l);
    if (result != DRIVER_SUCCESS)
        return result;
    int64_t most = (int64_t)driver_resident(l->kernel, threads, (size_t)a->dynamic_shared) *
                   driver.settings.gpu->multiprocessors;
    return l->cooperative && blocks > most ? DRIVER_COOPERATIVE_TOO_LARGE : DRIVER_SUCCESS;
}

struct launch_call {
    struct driver_launched *launched;
    void **arguments, **extra;
};

static int prepare(void *user)
{
    const struct launch_call *call = user;
    int result = driver_launch_check(call->launched);
    if (result == DRIVER_SUCCESS)
        return driver_launch_arguments(call->launched, call->arguments, call->extra);
    driver_note_refused(call->launched);
    return result;
}

/* Launches in a stream; *asked: the shape and the attributes. */
static int launch(void *function, const struct driver_launched *asked, void *stream,
                  void **arguments, void **extra)
{
    struct driver_task t = {.kind = TASK_KERNEL, .launched = *asked};
    struct launch_call call = {&t.launched, arguments, extra};
    t.launched.kernel = driver_kernel_of(function);
    if (!t.launched.kernel || !driver_stream_of(stream))
        return DRIVER_INVALID_HANDLE;
    int result = driver_guard(prepare, &call);
    return result == DRIVER_SUCCESS ? driver_enqueue(stream, &t) : result;
}

struct sim_launch driver_launch_shape(const unsigned grid[3], const unsigned block[3],
                                      unsigned shared)
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
    const struct driver_launched asked = {.launch = driver_launch_shape(grid, block, shared)};
    return launch(function, &asked, stream, arguments, extra);
}

int cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                              void *stream, void **arguments)
{
    IN_CONTEXT;
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    const struct driver_launched asked = {.launch = driver_launch_shape(grid, block, shared),
                                          .cooperative = true};
    return launch(function, &asked, stream, arguments, NULL);
}

/* Adds an event that a launch records. It takes no time, and no flags. */
static int add_event(const union driver_launch_value *value, bool programmatic,
                     struct driver_launched *l)
{
    enum { NO_TIME = 2, MOST = sizeof l->events / sizeof l->events[0] };
    struct driver_event *e = driver_object(value->event.event, DRIVER_EVENT);
    if (!e || !(e->flags & NO_TIME) || value->event.flags || l->event_count == MOST)
        return DRIVER_INVALID_VALUE;
    bool triggered = programmatic && !value->event.at_start;
    l->events[l->event_count++] =
        (struct driver_launch_event){e, triggered ? DRIVER_TRIGGERED : DRIVER_BEGUN, programmatic};
    return DRIVER_SUCCESS;
}

int driver_launch_attributes(const struct driver_launch_attribute *list, unsigned count,
                             struct driver_launched *l)
{
    enum { OVERLAPS_FROM = 90 }; /* the capability of GPUs whose kernels overlap */
    int result = DRIVER_SUCCESS;
    for (unsigned i = 0; i < count && result == DRIVER_SUCCESS; i++) {
        const union driver_launch_value *value = &list[i].value;
        switch ((enum driver_launch_id)list[i].id) {
        case DRIVER_LAUNCH_COOPERATIVE: l->cooperative = value->number != 0; break;
        case DRIVER_LAUNCH_CLUSTER:
            for (int k = 0; k < 3; k++)
                l->launch.cluster[k] = value->cluster[k];
            break;
        case DRIVER_LAUNCH_PROGRAMMATIC:
            l->overlaps = value->number != 0 && driver.settings.gpu->capability >= OVERLAPS_FROM;
            if (l->overlaps)
                driver_order_expect_overlaps();
            break;
        case DRIVER_LAUNCH_PROGRAMMATIC_EVENT: result = add_event(value, true, l); break;
        case DRIVER_LAUNCH_COMPLETION_EVENT: result = add_event(value, false, l); break;
        case DRIVER_LAUNCH_UPDATABLE:
            return driver_unsupported("kernels that the device updates are not supported; update "
                                      "them by the host");
        default: break;
        }
    }
    return result;
}

int cuLaunchKernelEx(const struct driver_launch_config *config, void *function, void **arguments,
                     void **extra)
{
    IN_CONTEXT;
    if (!config || (config->count && !config->attributes))
        return DRIVER_INVALID_VALUE;
    struct driver_launched asked = {
        .launch = driver_launch_shape(config->grid, config->block, config->shared)};
    int result = driver_launch_attributes(config->attributes, config->count, &asked);
    return result == DRIVER_SUCCESS ? launch(function, &asked, config->stream, arguments, extra)
                                    : result;
}

/* --- how many clusters fit --- */

int cuOccupancyMaxPotentialClusterSize(int *blocks, void *function,
                                       const struct driver_launch_config *config)
{
    IN_CONTEXT;
    const struct driver_kernel *k = driver_kernel_of(function);
    if (!k || !blocks || !config)
        return k ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    *blocks = most_of_cluster(k);
    return DRIVER_SUCCESS;
}

int cuOccupancyMaxActiveClusters(int *clusters, void *function,
                                 const struct driver_launch_config *config)
{
    IN_CONTEXT;
    struct driver_launched l = {.kernel = driver_kernel_of(function)};
    if (!l.kernel || !clusters || !config || (config->count && !config->attributes))
        return l.kernel ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    l.launch = driver_launch_shape(config->grid, config->block, config->shared);
    driver_launch_attributes(config->attributes, config->count, &l);
    int64_t threads = (int64_t)config->block[0] * config->block[1] * config->block[2];
    int result = check_cluster(&l);
    *clusters = result == DRIVER_SUCCESS
                    ? driver_resident(l.kernel, threads, config->shared) *
                          driver.settings.gpu->multiprocessors / (int)blocks_of_cluster(&l)
                    : 0;
    return result;
}
