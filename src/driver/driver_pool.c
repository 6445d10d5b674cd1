/* Allocations in the order of a stream, and their pools. An allocation and a free act like writes of all
 * bytes: work that uses the memory has to be ordered after the one and before the other. Pools keep
 * counts alone. */
#include "driver/driver_graph.h"

/* CUmemPool_attribute: 1 to POOL_FLAGS are flags, the others bytes. */
enum {
    POOL_FLAGS = 3,
    POOL_THRESHOLD = 4,
    POOL_RESERVED = 5,
    POOL_RESERVED_MOST = 6,
    POOL_USED = 7,
    POOL_USED_MOST = 8,
    POOL_ATTRIBUTES
};
struct pool {
    uint64_t values[POOL_ATTRIBUTES];
    uint64_t most; /* bytes; 0: no limit */
};
#define NEW_POOL .values = {0, 1, 1, 1} /* all flags are set */
static struct pool default_pool = {NEW_POOL};
static struct pool *current = &default_pool;

/* Returns the pool of a handle, which may be the device's own; NULL: it is invalid. */
static struct pool *pool_of(void *handle)
{
    return handle == &default_pool ? &default_pool : driver_object(handle, DRIVER_POOL);
}

/* --- allocations --- */

static void count(struct pool *p, struct driver_memory *m)
{
    uint64_t *v = p->values;
    m->pool_used = &v[POOL_USED];
    v[POOL_USED] += m->bytes;
    for (int i = POOL_USED_MOST; i >= POOL_RESERVED; i--)
        v[i] = v[i] > v[POOL_USED] ? v[i] : v[POOL_USED];
}

int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *stream)
{
    IN_CONTEXT;
    struct driver_stream *s = driver_stream_of(stream);
    struct pool *p = pool_of(pool);
    struct driver_memory *m;
    if (!s || !p || !address)
        return s ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    int result = driver_capture_forbids(s);
    if (result != DRIVER_SUCCESS)
        return result;
    if (s->capture)
        return driver_capture_allocate(s, bytes, address);
    if (p->most && bytes > p->most - p->values[POOL_USED])
        return DRIVER_OUT_OF_MEMORY;
    result = driver_memory_make(DRIVER_DEVICE_MEMORY, bytes, NULL, &m);
    if (result != DRIVER_SUCCESS)
        return result;
    *address = m->address;
    count(p, m);
    driver_touch_memory(s, m, "allocates");
    return DRIVER_SUCCESS;
}

ENTRY(cuMemAllocAsync, (uint64_t * address, size_t bytes, void *stream),
      cuMemAllocFromPoolAsync(address, bytes, current, stream))

int cuMemFreeAsync(uint64_t address, void *stream)
{
    IN_CONTEXT;
    struct driver_stream *s = driver_stream_of(stream);
    if (!s || !address)
        return s ? DRIVER_SUCCESS : DRIVER_INVALID_HANDLE;
    int forbidden = driver_capture_forbids(s);
    if (forbidden != DRIVER_SUCCESS)
        return forbidden;
    if (s->capture)
        return driver_capture_free(s, address);
    const struct driver_memory *m = driver_memory_at(address);
    if (m && m->address == address && !m->freed_by && !m->freed_inside)
        driver_touch_memory(s, m, "frees");
    return driver_memory_release(address, DRIVER_DEVICE_MEMORY, DRIVER_DEVICE_MEMORY);
}

/* --- pools --- */

int cuMemPoolCreate(void **pool, const struct driver_pool_properties *properties)
{
    enum { LOCATION_DEVICE = 1 };
    IN_CONTEXT;
    if (!pool || !properties)
        return DRIVER_INVALID_VALUE;
    if (properties->handles || properties->location != LOCATION_DEVICE)
        return driver_unsupported(
            "pools that processes share, or outside of the device, are not supported; use "
            "a pool of the device without handles");
    struct pool *p = driver_new(DRIVER_POOL, sizeof *p);
    if (!p)
        return DRIVER_OUT_OF_MEMORY;
    *p = (struct pool){NEW_POOL, .most = properties->most};
    *pool = p;
    return DRIVER_SUCCESS;
}

/* Its memory may still be in use, so the counts stay. */
int cuMemPoolDestroy(void *pool)
{
    IN_CONTEXT;
    if (!driver_object(pool, DRIVER_POOL))
        return DRIVER_INVALID_VALUE;
    if (current == pool)
        current = &default_pool;
    driver_retire(pool);
    return DRIVER_SUCCESS;
}

int cuMemPoolGetAttribute(void *pool, int attribute, void *value)
{
    IN_CONTEXT;
    const struct pool *p = pool_of(pool);
    if (!p || !value || attribute < 1 || attribute >= POOL_ATTRIBUTES)
        return DRIVER_INVALID_VALUE;
    if (attribute <= POOL_FLAGS)
        *(int *)value = (int)p->values[attribute];
    else
        *(uint64_t *)value = p->values[attribute];
    return DRIVER_SUCCESS;
}

int cuMemPoolSetAttribute(void *pool, int attribute, const void *value)
{
    IN_CONTEXT;
    struct pool *p = pool_of(pool);
    if (!p || !value || attribute < 1 || attribute >= POOL_ATTRIBUTES ||
        attribute == POOL_RESERVED || attribute == POOL_USED)
        return DRIVER_INVALID_VALUE;
    uint64_t asked =
        attribute <= POOL_FLAGS ? (uint64_t) * (const int *)value : *(const uint64_t *)value;
    if (attribute > POOL_THRESHOLD && asked) /* a highest value is only set back */
        return DRIVER_INVALID_VALUE;
    if (attribute > POOL_THRESHOLD)
        asked = p->values[attribute - 1];
    p->values[attribute] = asked;
    return DRIVER_SUCCESS;
}

int cuMemPoolTrimTo(void *pool, size_t bytes)
{
    IN_CONTEXT;
    struct pool *p = pool_of(pool);
    if (!p)
        return DRIVER_INVALID_VALUE;
    uint64_t *v = p->values;
    if (v[POOL_RESERVED] > bytes)
        v[POOL_RESERVED] = v[POOL_USED] > bytes ? v[POOL_USED] : bytes;
    return DRIVER_SUCCESS;
}

CONTEXT_ENTRY(cuMemPoolSetAccess, (void *pool, const void *list, size_t size),
              pool_of(pool) && (list || !size) ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE)

int cuMemPoolGetAccess(int *flags, void *pool, const void *location)
{
    enum { READ_AND_WRITE = 3 };
    IN_CONTEXT;
    if (!flags || !pool_of(pool) || !location)
        return DRIVER_INVALID_VALUE;
    *flags = READ_AND_WRITE;
    return DRIVER_SUCCESS;
}

static int give(void **to, struct pool *p, int device)
{
    if (!to || device)
        return to ? DRIVER_INVALID_DEVICE : DRIVER_INVALID_VALUE;
    *to = p;
    return DRIVER_SUCCESS;
}

ENTRY(cuDeviceGetDefaultMemPool, (void **pool, int device), give(pool, &default_pool, device))
ENTRY(cuDeviceGetMemPool, (void **pool, int device), give(pool, current, device))

int cuDeviceSetMemPool(int device, void *pool)
{
    ENTER;
    struct pool *p = pool_of(pool);
    if (!p || device)
        return p ? DRIVER_INVALID_DEVICE : DRIVER_INVALID_VALUE;
    current = p;
    return DRIVER_SUCCESS;
}
