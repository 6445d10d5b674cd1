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
