/* One GPU through NVIDIA's driver: modules, memory, launches. */
#include "cuda/cuda_driver.h"

#include "base/grid.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct cuda {
    const struct allocator *allocator;
    struct cuda_driver driver;
    struct cuda_device device;
    int handle; /* of the device */
    void *context;
    void *marks[2];
};

struct cuda_module {
    void *module, *function;
    int64_t shared_bytes; /* that the function may use so far */
};

/* CUdevice_attribute, CUfunction_attribute, CUjit_option. */
enum {
    ATTRIBUTE_MULTIPROCESSORS = 16,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED_OPTIN = 97,
    FUNCTION_MAX_DYNAMIC_SHARED = 8,
    JIT_ERROR_LOG = 5,
    JIT_ERROR_LOG_BYTES = 6,
};
enum { SHARED_WITHOUT_ASKING = 48 * 1024 };

static bool good(const struct cuda *c, int result, const char *what, char why[CUDA_WHY])
{
    return cuda_driver_good(&c->driver, result, what, why);
}

static bool enter(struct cuda *c, char why[CUDA_WHY])
{
    return good(c, c->driver.context_push(c->context), "cuCtxPushCurrent", why);
}

static void leave(struct cuda *c)
{
    void *popped;
    c->driver.context_pop(&popped);
}

static void *take(const struct allocator *a, size_t size)
{
    void *memory = a->resize(a->user, NULL, 0, size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

/* --- the device --- */

static int attribute(const struct cuda *c, int which)
{
    int value = 0;
    c->driver.device_attribute(&value, which, c->handle);
    return value;
}

static bool find_device(struct cuda *c, int ordinal, char why[CUDA_WHY])
{
    int count = 0;
    struct cuda_device *d = &c->device;
    if (!good(c, c->driver.init(0), "cuInit", why) ||
        !good(c, c->driver.device_count(&count), "cuDeviceGetCount", why))
        return false;
    if (ordinal < 0 || ordinal >= count) {
        snprintf(why, CUDA_WHY, "there is no GPU %d: the driver sees %d", ordinal, count);
        return false;
    }
    if (!good(c, c->driver.device_get(&c->handle, ordinal), "cuDeviceGet", why))
        return false;
    c->driver.device_name(d->name, (int)sizeof d->name, c->handle);
    c->driver.device_memory(&d->memory, c->handle);
    c->driver.version(&d->driver);
    d->capability = 10 * attribute(c, ATTRIBUTE_MAJOR) + attribute(c, ATTRIBUTE_MINOR);
    d->multiprocessors = attribute(c, ATTRIBUTE_MULTIPROCESSORS);
    d->shared_bytes = attribute(c, ATTRIBUTE_SHARED_OPTIN);
    return true;
}

struct cuda *cuda_open(const struct allocator *allocator, int ordinal, char why[CUDA_WHY])
{
    struct cuda *c = take(allocator, sizeof *c);
    why[0] = '\0';
    if (!c)
        return NULL;
    c->allocator = allocator;
    bool opened =
        cuda_driver_find(&c->driver, why) && find_device(c, ordinal, why) &&
        good(c, c->driver.context_retain(&c->context, c->handle), "cuDevicePrimaryCtxRetain", why);
    if (!opened) {
        cuda_close(c);
        return NULL;
    }
    return c;
}

void cuda_close(struct cuda *c)
{
    char why[CUDA_WHY];
    if (!c)
        return;
    if (c->context) {
        if (enter(c, why)) {
            for (int i = 0; i < 2; i++)
                if (c->marks[i])
                    c->driver.event_destroy(c->marks[i]);
            leave(c);
        }
        c->driver.context_release(c->handle);
    }
    c->allocator->resize(c->allocator->user, c, sizeof *c, 0);
}

const struct cuda_device *cuda_describe(const struct cuda *c)
{
    return &c->device;
}

/* --- modules --- */

static bool load(struct cuda *c, struct cuda_module *m, const char *image, const char *kernel,
                 char why[CUDA_WHY])
{
    char log[CUDA_WHY - 64] = "";
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    int result = c->driver.module_load(&m->module, image, 2, options, values);
    if (!good(c, result, "cuModuleLoadData", why)) {
        size_t used = strlen(why);
        if (log[0] && used + 2 < CUDA_WHY)
            snprintf(why + used, CUDA_WHY - used, "\n%s", log);
        return false;
    }
    return good(c, c->driver.module_function(&m->function, m->module, kernel),
                "cuModuleGetFunction", why);
}

struct cuda_module *cuda_load(struct cuda *c, const char *image, const char *kernel,
                              char why[CUDA_WHY])
{
    struct cuda_module *m = take(c->allocator, sizeof *m);
    why[0] = '\0';
    if (!m)
        return NULL;
    m->shared_bytes = SHARED_WITHOUT_ASKING;
    bool loaded = enter(c, why);
    if (loaded) {
        loaded = load(c, m, image, kernel, why);
        leave(c);
    }
    if (!loaded) {
        cuda_unload(c, m);
        return NULL;
    }
    return m;
}

void cuda_unload(struct cuda *c, struct cuda_module *m)
{
    char why[CUDA_WHY];
    if (!m)
        return;
    if (m->module && enter(c, why)) {
        c->driver.module_unload(m->module);
        leave(c);
    }
    c->allocator->resize(c->allocator->user, m, sizeof *m, 0);
}

/* --- memory --- */

bool cuda_allocate(struct cuda *c, size_t bytes, uint64_t *address, char why[CUDA_WHY])
{
    char what[64];
    *address = 0;
    snprintf(what, sizeof what, "allocating %zu bytes", bytes);
    if (!enter(c, why))
        return false;
    bool done = good(c, c->driver.memory_allocate(address, bytes ? bytes : 1), what, why);
    leave(c);
    return done;
}

void cuda_free(struct cuda *c, uint64_t address)
{
    char why[CUDA_WHY];
    if (!address || !enter(c, why))
        return;
    c->driver.memory_free(address);
    leave(c);
}

bool cuda_copy_in(struct cuda *c, uint64_t to, const void *from, size_t bytes, char why[CUDA_WHY])
{
    if (!bytes)
        return true;
    if (!enter(c, why))
        return false;
    bool done = good(c, c->driver.copy_in(to, from, bytes), "copying to the GPU", why);
    leave(c);
    return done;
}

bool cuda_copy_out(struct cuda *c, void *to, uint64_t from, size_t bytes, char why[CUDA_WHY])
{
    if (!bytes)
        return true;
    if (!enter(c, why))
        return false;
    bool done = good(c, c->driver.copy_out(to, from, bytes), "copying from the GPU", why);
    leave(c);
    return done;
}

bool cuda_zero(struct cuda *c, uint64_t to, size_t bytes, char why[CUDA_WHY])
{
    if (!bytes)
        return true;
    if (!enter(c, why))
        return false;
    bool done = good(c, c->driver.fill(to, 0, bytes, NULL), "cuMemsetD8Async", why);
    leave(c);
    return done;
}

/* --- launches --- */

/* More than 48 KB of dynamic shared memory must be asked for (CUDA C++ Programming Guide, "Shared
 * Memory"). */
static bool allow_shared(struct cuda *c, struct cuda_module *m, int64_t bytes, char why[CUDA_WHY])
{
    if (bytes <= m->shared_bytes)
        return true;
    int result = c->driver.function_set(m->function, FUNCTION_MAX_DYNAMIC_SHARED, (int)bytes);
    if (!good(c, result, "asking for shared memory", why))
        return false;
    m->shared_bytes = bytes;
    return true;
}

static bool start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                  char why[CUDA_WHY])
{
    enum { COOPERATIVE_LAUNCH_TOO_LARGE = 720 };
    unsigned g[3], b[3], shared = (unsigned)launch->shared_bytes;
    for (int i = 0; i < 3; i++) {
        assert(launch->grid[i] <= grid_limits[i]);
        g[i] = (unsigned)launch->grid[i];
        b[i] = (unsigned)launch->block[i];
    }
    if (!launch->cooperative)
        return good(c,
                    c->driver.launch(m->function, g[0], g[1], g[2], b[0], b[1], b[2], shared, NULL,
                                     launch->arguments, NULL),
                    "cuLaunchKernel", why);
    int result = c->driver.launch_together(m->function, g[0], g[1], g[2], b[0], b[1], b[2], shared,
                                           NULL, launch->arguments);
    if (result == COOPERATIVE_LAUNCH_TOO_LARGE) {
        snprintf(why, CUDA_WHY,
                 "a cooperative grid of %u x %u x %u blocks: the GPU cannot run all of them at the "
                 "same time; take fewer or smaller blocks",
                 g[0], g[1], g[2]);
        return false;
    }
    return good(c, result, "cuLaunchCooperativeKernel", why);
}

bool cuda_start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                char why[CUDA_WHY])
{
    const int64_t *g = launch->grid;
    if (g[0] <= 0 || g[1] <= 0 || g[2] <= 0)
        return true; /* no blocks */
    if (!enter(c, why))
        return false;
    bool done = allow_shared(c, m, launch->shared_bytes, why) && start(c, m, launch, why);
    leave(c);
    return done;
}

bool cuda_wait(struct cuda *c, char why[CUDA_WHY])
{
    if (!enter(c, why))
        return false;
    bool done = good(c, c->driver.context_synchronize(), "running the kernel", why);
    leave(c);
    return done;
}

bool cuda_mark(struct cuda *c, int mark, char why[CUDA_WHY])
{
    if (!enter(c, why))
        return false;
    bool done = (c->marks[mark] ||
                 good(c, c->driver.event_create(&c->marks[mark], 0), "cuEventCreate", why)) &&
                good(c, c->driver.event_record(c->marks[mark], NULL), "cuEventRecord", why);
    leave(c);
    return done;
}

bool cuda_elapsed(struct cuda *c, double *milliseconds, char why[CUDA_WHY])
{
    float elapsed = 0;
    if (!enter(c, why))
        return false;
    bool done = good(c, c->driver.event_synchronize(c->marks[1]), "running the kernel", why) &&
                good(c, c->driver.event_elapsed(&elapsed, c->marks[0], c->marks[1]), "timing", why);
    leave(c);
    *milliseconds = (double)elapsed;
    return done;
}
