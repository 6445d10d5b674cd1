/* One GPU in its primary context. */
#include "cuda/cuda_own.h"

#include <stdio.h>
#include <string.h>

/* CUdevice_attribute */
enum {
    ATTRIBUTE_MULTIPROCESSORS = 16,
    ATTRIBUTE_L2_BYTES = 38,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED_OPTIN = 97,
};

void *cuda_take(const struct cuda *c, size_t size)
{
    void *memory = c->allocator->resize(c->allocator->user, NULL, 0, size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void cuda_give(const struct cuda *c, void *memory, size_t size)
{
    if (memory)
        c->allocator->resize(c->allocator->user, memory, size, 0);
}

/* --- the context --- */

bool cuda_usable(struct cuda *c, char why[CUDA_WHY])
{
    if (c->lost)
        cuda_say_lost(c, why);
    return !c->lost;
}

bool cuda_enter(struct cuda *c, char why[CUDA_WHY])
{
    return cuda_usable(c, why) && cuda_enter_to_free(c, why);
}

bool cuda_enter_to_free(struct cuda *c, char why[CUDA_WHY])
{
    void *current = NULL;
    why[0] = '\0';
    c->result = 0;
    c->pushed = false;
    if (!cuda_good(c, c->driver.context_current(&current), "cuCtxGetCurrent", why))
        return false;
    if (current == c->context)
        return true;
    if (!current) {
        c->bound = cuda_good(c, c->driver.context_bind(c->context), "cuCtxSetCurrent", why);
        return c->bound;
    }
    c->pushed = cuda_good(c, c->driver.context_push(c->context), "cuCtxPushCurrent", why);
    return c->pushed;
}

bool cuda_enter_to_make(struct cuda *c, char why[CUDA_WHY])
{
    enum { RELAXED = 2 }; /* CUstreamCaptureMode */
    if (!cuda_enter(c, why))
        return false;
    if (!c->driver.capture_mode)
        return true;
    c->capture_mode = RELAXED;
    c->relaxed = cuda_good(c, c->driver.capture_mode(&c->capture_mode),
                           "cuThreadExchangeStreamCaptureMode", why);
    if (!c->relaxed)
        cuda_leave(c);
    return c->relaxed;
}

void cuda_leave(struct cuda *c)
{
    void *popped;
    if (c->relaxed)
        c->driver.capture_mode(&c->capture_mode);
    c->relaxed = false;
    if (c->pushed)
        c->driver.context_pop(&popped);
    c->pushed = false;
}

/* Makes no context current if the thread's is gone. */
static void unbind(struct cuda *c)
{
    void *current = NULL;
    if (c->bound && c->driver.context_current(&current) == 0 && current == c->context)
        c->driver.context_bind(NULL);
}

/* --- the device --- */

static bool attribute(struct cuda *c, int which, int *value, char why[CUDA_WHY])
{
    return cuda_good(c, c->driver.device_attribute(value, which, c->handle), "cuDeviceGetAttribute",
                     why);
}

static bool describe(struct cuda *c, char why[CUDA_WHY])
{
    int major, minor;
    struct cuda_device *d = &c->device;
    if (!cuda_good(c, c->driver.device_name(d->name, (int)sizeof d->name, c->handle),
                   "cuDeviceGetName", why) ||
        !cuda_good(c, c->driver.device_memory(&d->memory, c->handle), "cuDeviceTotalMem", why) ||
        !cuda_good(c, c->driver.version(&d->driver), "cuDriverGetVersion", why) ||
        !attribute(c, ATTRIBUTE_MAJOR, &major, why) ||
        !attribute(c, ATTRIBUTE_MINOR, &minor, why) ||
        !attribute(c, ATTRIBUTE_MULTIPROCESSORS, &d->multiprocessors, why) ||
        !attribute(c, ATTRIBUTE_SHARED_OPTIN, &d->shared_bytes, why) ||
        !attribute(c, ATTRIBUTE_L2_BYTES, &d->l2_bytes, why))
        return false;
    d->capability = 10 * major + minor;
    return true;
}

static bool find_device(struct cuda *c, int ordinal, char why[CUDA_WHY])
{
    int count = 0;
    if (!cuda_driver_find(&c->driver, why) || !cuda_good(c, c->driver.init(0), "cuInit", why) ||
        !cuda_good(c, c->driver.device_count(&count), "cuDeviceGetCount", why))
        return false;
    if (ordinal < 0 || ordinal >= count) {
        snprintf(why, CUDA_WHY, "there is no GPU %d: the driver sees %d, counted from 0", ordinal,
                 count);
        return false;
    }
    c->device.ordinal = ordinal;
    return cuda_good(c, c->driver.device_get(&c->handle, ordinal), "cuDeviceGet", why) &&
           describe(c, why);
}

bool cuda_look(int ordinal, struct cuda_device *out, char why[CUDA_WHY])
{
    struct cuda c = {.allocator = NULL};
    bool found = find_device(&c, ordinal, why);
    *out = c.device;
    return found;
}

struct cuda *cuda_open(const struct allocator *allocator, int ordinal, char why[CUDA_WHY])
{
    struct cuda empty = {.allocator = allocator}, *c = cuda_take(&empty, sizeof *c);
    why[0] = '\0';
    if (!c)
        return NULL;
    c->allocator = allocator;
    if (find_device(c, ordinal, why) &&
        cuda_good(c, c->driver.context_retain(&c->context, c->handle), "cuDevicePrimaryCtxRetain",
                  why))
        return c;
    cuda_close(c);
    return NULL;
}

void cuda_close(struct cuda *c)
{
    char why[CUDA_WHY];
    if (!c)
        return;
    if (c->context) {
        bool entered = cuda_enter_to_free(c, why);
        cuda_free_objects(c);
        if (entered)
            cuda_leave(c);
        unbind(c);
        c->driver.context_release(c->handle);
    }
    cuda_give(c, c, sizeof *c);
}

const struct cuda_device *cuda_describe(const struct cuda *c)
{
    return &c->device;
}
