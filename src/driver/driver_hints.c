/* Hints: where managed memory should be, what L2 should keep, which stream uses which memory. They are
 * checked and kept, and change nothing else: the simulator has one memory and no caches. */
#include "driver/driver_graph.h"

#include <stdlib.h>
#include <string.h>

/* Returns an error for bytes that are not all in one piece of managed memory. */
static int check_managed(uint64_t address, size_t bytes)
{
    const struct driver_memory *m = driver_memory_at(address);
    bool inside = m && m->type == DRIVER_MANAGED_MEMORY && !m->freed_by &&
                  address - m->address <= m->bytes && bytes <= m->bytes - (address - m->address);
    return inside ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}

/* The hints of a page of managed memory. */
enum place { NOWHERE, ON_HOST, ON_DEVICE };
enum { ACCESSED_BY_DEVICE = 1, ACCESSED_BY_HOST = 2 };
struct driver_hint {
    uint8_t preferred, prefetched; /* enum place */
    bool read_mostly;
    uint8_t accessed_by;
};
enum { HINT_PAGE = 4096 };
enum advice {
    SET_READ_MOSTLY = 1,
    UNSET_READ_MOSTLY,
    SET_PREFERRED,
    UNSET_PREFERRED,
    SET_ACCESSED,
    UNSET_ACCESSED,
    PREFETCH /* none of CUmem_advise */
};

static void take_hint(struct driver_hint *h, enum advice advice, enum place place)
{
    unsigned by = place == ON_DEVICE ? ACCESSED_BY_DEVICE : ACCESSED_BY_HOST;
    switch (advice) {
    case SET_READ_MOSTLY: h->read_mostly = true; break;
    case UNSET_READ_MOSTLY: h->read_mostly = false; break;
    case SET_PREFERRED: h->preferred = (uint8_t)place; break;
    case UNSET_PREFERRED: h->preferred = NOWHERE; break;
    case SET_ACCESSED: h->accessed_by = (uint8_t)(h->accessed_by | by); break;
    case UNSET_ACCESSED: h->accessed_by = (uint8_t)(h->accessed_by & ~by); break;
    case PREFETCH: h->prefetched = (uint8_t)place; break;
    }
}

/* Keeps a hint for the pages of a range. */
static int keep(uint64_t address, size_t bytes, enum advice advice, int device)
{
    struct driver_memory *m = driver_memory_at(address);
    int result = check_managed(address, bytes);
    if (result != DRIVER_SUCCESS)
        return result;
    if (!m->hints)
        m->hints = calloc(m->bytes / HINT_PAGE + 1, sizeof *m->hints);
    if (!m->hints)
        return DRIVER_OUT_OF_MEMORY;
    uint64_t from = address - m->address;
    for (uint64_t at = from / HINT_PAGE; at * HINT_PAGE < from + bytes; at++)
        take_hint(&m->hints[at], advice, device < 0 ? ON_HOST : ON_DEVICE);
    return DRIVER_SUCCESS;
}

int cuMemPrefetchAsync(uint64_t address, size_t bytes, int device, void *stream)
{
    IN_CONTEXT;
    if (device > 0)
        return DRIVER_INVALID_DEVICE;
    return driver_stream_of(stream) ? keep(address, bytes, PREFETCH, device)
                                    : DRIVER_INVALID_HANDLE;
}

int cuMemAdvise(uint64_t address, size_t bytes, int advice, int device)
{
    IN_CONTEXT;
    if (device > 0)
        return DRIVER_INVALID_DEVICE;
    return advice >= SET_READ_MOSTLY && advice <= UNSET_ACCESSED
               ? keep(address, bytes, (enum advice)advice, device)
               : DRIVER_INVALID_VALUE;
}

static int device_of(struct driver_location location)
{
    return location.type == DRIVER_ON_DEVICE ? location.id : -1;
}

ENTRY(cuMemPrefetchAsync_v2,
      (uint64_t address, size_t bytes, struct driver_location location, unsigned flags,
       void *stream),
      flags ? DRIVER_INVALID_VALUE
            : cuMemPrefetchAsync(address, bytes, device_of(location), stream))
ENTRY(cuMemAdvise_v2, (uint64_t address, size_t bytes, int advice, struct driver_location location),
      cuMemAdvise(address, bytes, advice, device_of(location)))

/* Returns what the hints of all pages of a range agree on. */
static struct driver_hint agreed(uint64_t address, size_t bytes)
{
    const struct driver_memory *m = driver_memory_at(address);
    struct driver_hint all = {0};
    uint64_t from = address - m->address;
    for (uint64_t at = from / HINT_PAGE; m->hints && at * HINT_PAGE < from + bytes; at++) {
        struct driver_hint h = m->hints[at];
        if (at == from / HINT_PAGE)
            all = h;
        all.preferred = all.preferred == h.preferred ? h.preferred : NOWHERE;
        all.prefetched = all.prefetched == h.prefetched ? h.prefetched : NOWHERE;
        all.read_mostly = all.read_mostly && h.read_mostly;
        all.accessed_by &= h.accessed_by;
    }
    return all;
}

enum { OF_HOST = -1, OF_NOTHING = -2 }; /* CU_DEVICE_CPU, CU_DEVICE_INVALID */

static int device_at(uint8_t place)
{
    return place == ON_DEVICE ? 0 : place == ON_HOST ? OF_HOST : OF_NOTHING;
}

/* Returns CUmemLocationType. */
static int type_of(uint8_t place)
{
    enum { INVALID = 0, HOST = 2 };
    return place == ON_DEVICE ? DRIVER_ON_DEVICE : place == ON_HOST ? HOST : INVALID;
}

/* Lists the devices that access a range, and fills the rest. */
static void list_accessing(uint8_t by, int *list, size_t count)
{
    size_t used = 0;
    if (by & ACCESSED_BY_DEVICE && used < count)
        list[used++] = 0;
    if (by & ACCESSED_BY_HOST && used < count)
        list[used++] = OF_HOST;
    while (used < count)
        list[used++] = OF_NOTHING;
}

int cuMemRangeGetAttribute(void *data, size_t size, int attribute, uint64_t address, size_t bytes)
{
    enum { MOSTLY = 1, PREFERRED, ACCESSED, FETCHED, PREFERRED_TYPE, PREFERRED_ID, FETCHED_TYPE };
    enum { FETCHED_ID = FETCHED_TYPE + 1 };
    IN_CONTEXT;
    int *to = data;
    bool suits = attribute == ACCESSED ? size && size % sizeof *to == 0 : size == sizeof *to;
    if (!data || !suits || !bytes || check_managed(address, bytes) != DRIVER_SUCCESS)
        return DRIVER_INVALID_VALUE;
    const struct driver_hint h = agreed(address, bytes);
    switch (attribute) {
    case MOSTLY: *to = h.read_mostly; break;
    case PREFERRED: *to = device_at(h.preferred); break;
    case ACCESSED: list_accessing(h.accessed_by, to, size / sizeof *to); break;
    case FETCHED: *to = device_at(h.prefetched); break;
    case PREFERRED_TYPE: *to = type_of(h.preferred); break;
    case PREFERRED_ID: *to = h.preferred == ON_DEVICE ? 0 : OF_NOTHING; break;
    case FETCHED_TYPE: *to = type_of(h.prefetched); break;
    case FETCHED_ID: *to = h.prefetched == ON_DEVICE ? 0 : OF_NOTHING; break;
    default: return DRIVER_INVALID_VALUE;
    }
    return DRIVER_SUCCESS;
}

int cuMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count,
                            uint64_t address, size_t bytes)
{
    IN_CONTEXT;
    int result = data && sizes && attributes && count ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
    for (size_t i = 0; i < count && result == DRIVER_SUCCESS; i++)
        result = cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], address, bytes);
    return result;
}

/* A stream that is given memory of its own is in the order of streams as any other one. */
int cuStreamAttachMemAsync(void *stream, uint64_t address, size_t bytes, unsigned flags)
{
    enum { GLOBAL = 1, HOST = 2, SINGLE = 4 };
    IN_CONTEXT;
    const struct driver_stream *s = driver_stream_of(stream);
    if (!s)
        return DRIVER_INVALID_HANDLE;
    int result = flags == GLOBAL || flags == HOST || flags == SINGLE ? check_managed(address, bytes)
                                                                     : DRIVER_INVALID_VALUE;
    return result == DRIVER_SUCCESS ? driver_capture_forbids_uncaptured(s) : result;
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

CONTEXT_ENTRY(cuCtxResetPersistingL2Cache, (void), DRIVER_SUCCESS)
