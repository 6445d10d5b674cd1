/* Hints: where managed memory should be, what L2 should keep, which stream uses which memory. They are
 * checked and kept, and change nothing else: the simulator has one memory and no caches. */
#include "driver/driver_order.h"

#include <string.h>

/* Returns an error for bytes that are not all in one piece of managed memory. */
static int check_managed(uint64_t address, size_t bytes)
{
    const struct driver_memory *m = driver_memory_at(address);
    bool inside = m && m->type == DRIVER_MANAGED_MEMORY && !m->freed_by &&
                  address - m->address <= m->bytes && bytes <= m->bytes - (address - m->address);
    return inside ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}

int cuMemPrefetchAsync(uint64_t address, size_t bytes, int device, void *stream)
{
    IN_CONTEXT;
    if (device > 0)
        return DRIVER_INVALID_DEVICE;
    return driver_stream_of(stream) ? check_managed(address, bytes) : DRIVER_INVALID_HANDLE;
}

int cuMemAdvise(uint64_t address, size_t bytes, int advice, int device)
{
    IN_CONTEXT;
    if (device > 0)
        return DRIVER_INVALID_DEVICE;
    return advice >= 1 && advice <= 6 ? check_managed(address, bytes) : DRIVER_INVALID_VALUE;
}

static int device_of(struct driver_location location)
{
    return location.type == DRIVER_ON_DEVICE ? location.id : -1;
}

int cuMemPrefetchAsync_v2(uint64_t address, size_t bytes, struct driver_location location,
                          unsigned flags, void *stream)
{
    ENTER;
    return flags ? DRIVER_INVALID_VALUE
                 : cuMemPrefetchAsync(address, bytes, device_of(location), stream);
}

int cuMemAdvise_v2(uint64_t address, size_t bytes, int advice, struct driver_location location)
{
    ENTER;
    return cuMemAdvise(address, bytes, advice, device_of(location));
}

/* A stream that is given memory of its own is in the order of streams as any other one. */
int cuStreamAttachMemAsync(void *stream, uint64_t address, size_t bytes, unsigned flags)
{
    enum { GLOBAL = 1, HOST = 2, SINGLE = 4 };
    IN_CONTEXT;
    if (!driver_stream_of(stream))
        return DRIVER_INVALID_HANDLE;
    return flags == GLOBAL || flags == HOST || flags == SINGLE ? check_managed(address, bytes)
                                                               : DRIVER_INVALID_VALUE;
}

/* --- attributes of streams --- */

/* Returns the place of an attribute among those of streams; -1: it is not one of them. */
static int place_of(int id)
{
    static const int ids[DRIVER_STREAM_ATTRIBUTES] = {
        DRIVER_LAUNCH_WINDOW, DRIVER_LAUNCH_SYNCHRONIZATION, DRIVER_LAUNCH_DOMAIN_MAP,
        DRIVER_LAUNCH_DOMAIN};
    for (int i = 0; i < DRIVER_STREAM_ATTRIBUTES; i++)
        if (ids[i] == id)
            return i;
    return -1;
}

int cuStreamSetAttribute(void *stream, int id, const union driver_launch_value *value)
{
    IN_CONTEXT;
    struct driver_stream *s = driver_stream_of(stream);
    int place = place_of(id);
    if (!s)
        return DRIVER_INVALID_HANDLE;
    if (!value || (place < 0 && id != DRIVER_LAUNCH_PRIORITY))
        return DRIVER_INVALID_VALUE;
    if (id == DRIVER_LAUNCH_WINDOW &&
        !(value->window.hit_ratio >= 0 && value->window.hit_ratio <= 1))
        return DRIVER_INVALID_VALUE;
    if (place < 0)
        s->priority = value->number;
    else
        s->attributes[place] = *value;
    return DRIVER_SUCCESS;
}

int cuStreamGetAttribute(void *stream, int id, union driver_launch_value *value)
{
    IN_CONTEXT;
    const struct driver_stream *s = driver_stream_of(stream);
    int place = place_of(id);
    if (!s)
        return DRIVER_INVALID_HANDLE;
    if (!value || (place < 0 && id != DRIVER_LAUNCH_PRIORITY))
        return DRIVER_INVALID_VALUE;
    if (place < 0)
        value->number = s->priority;
    else
        *value = s->attributes[place];
    return DRIVER_SUCCESS;
}

int cuStreamCopyAttributes(void *to, void *from)
{
    IN_CONTEXT;
    struct driver_stream *t = driver_stream_of(to);
    const struct driver_stream *f = driver_stream_of(from);
    if (!t || !f)
        return DRIVER_INVALID_HANDLE;
    memcpy(t->attributes, f->attributes, sizeof t->attributes);
    t->priority = f->priority;
    return DRIVER_SUCCESS;
}

int cuCtxResetPersistingL2Cache(void)
{
    IN_CONTEXT;
    return DRIVER_SUCCESS;
}
