/* The calls about memory. */
#include "driver/driver_graph.h"
#include "driver/driver_order.h"

#include <string.h>

/* Gives the address of new memory. */
static int make_at(enum driver_memory_type type, size_t bytes, uint64_t *address)
{
    struct driver_memory *m;
    int result = address ? driver_capture_forbids(NULL) : DRIVER_INVALID_VALUE;
    if (result == DRIVER_SUCCESS)
        result = driver_memory_make(type, bytes, NULL, &m);
    if (result == DRIVER_SUCCESS)
        *address = m->address;
    return result;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    IN_CONTEXT;
    if (!free_bytes || !total)
        return DRIVER_INVALID_VALUE;
    *total = (size_t)driver_total_memory();
    *free_bytes = *total - (size_t)driver_memories.used;
    return DRIVER_SUCCESS;
}

CONTEXT_ENTRY(cuMemAlloc_v2, (uint64_t * address, size_t bytes),
              make_at(DRIVER_DEVICE_MEMORY, bytes, address))

int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height,
                       unsigned element)
{
    enum { PITCH = 512 };
    IN_CONTEXT;
    if (!pitch || !width || !height || width > SIM_MOST_BYTES || height > SIM_MOST_BYTES / width ||
        (element != 4 && element != 8 && element != 16))
        return DRIVER_INVALID_VALUE;
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return make_at(DRIVER_DEVICE_MEMORY, *pitch * height, address);
}

int cuMemFree_v2(uint64_t address)
{
    IN_CONTEXT;
    int forbidden = driver_capture_forbids(NULL);
    if (forbidden != DRIVER_SUCCESS)
        return forbidden;
    driver_order_host_all(); /* it waits for the device */
    return address ? driver_memory_release(address, DRIVER_DEVICE_MEMORY, DRIVER_MANAGED_MEMORY)
                   : DRIVER_SUCCESS;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address)
{
    IN_CONTEXT;
    const struct driver_memory *m = driver_memory_at(address);
    if (!m || m->freed_by || address - m->address >= m->bytes)
        return DRIVER_INVALID_VALUE;
    if (base)
        *base = m->address;
    if (bytes)
        *bytes = m->bytes;
    return DRIVER_SUCCESS;
}

int cuMemHostAlloc(void **to, size_t bytes, unsigned flags)
{
    enum { PORTABLE = 1, MAPPED = 2, WRITE_COMBINED = 4 };
    IN_CONTEXT;
    uint64_t address;
    if (!to || flags & ~(unsigned)(PORTABLE | MAPPED | WRITE_COMBINED))
        return DRIVER_INVALID_VALUE;
    int result = make_at(DRIVER_PINNED_MEMORY, bytes, &address);
    if (result == DRIVER_SUCCESS)
        *to = (void *)(uintptr_t)address;
    return result;
}

ENTRY(cuMemAllocHost_v2, (void **to, size_t bytes), cuMemHostAlloc(to, bytes, 0))

int cuMemFreeHost(void *host)
{
    IN_CONTEXT;
    driver_order_host_all();
    return host ? driver_memory_release((uintptr_t)host, DRIVER_PINNED_MEMORY, DRIVER_PINNED_MEMORY)
                : DRIVER_SUCCESS;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags)
{
    IN_CONTEXT;
    const struct driver_memory *r = driver_registered_at(host);
    const struct driver_memory *m = driver_memory_at((uintptr_t)host);
    if (!address || flags)
        return DRIVER_INVALID_VALUE;
    if (r)
        *address = r->address + ((uintptr_t)host - (uintptr_t)r->host);
    else if (m && m->type == DRIVER_PINNED_MEMORY && !m->freed_by)
        *address = (uintptr_t)host;
    else
        return DRIVER_INVALID_VALUE;
    return DRIVER_SUCCESS;
}

int cuMemHostGetFlags(unsigned *flags, void *host)
{
    IN_CONTEXT;
    const struct driver_memory *m = driver_memory_at((uintptr_t)host);
    if (!flags || !m || m->type != DRIVER_PINNED_MEMORY || m->freed_by)
        return DRIVER_INVALID_VALUE;
    *flags = 2; /* mapped */
    return DRIVER_SUCCESS;
}

int cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    IN_CONTEXT;
    struct driver_memory *m;
    (void)flags;
    if (!host)
        return DRIVER_INVALID_VALUE;
    if (driver_registered_at(host))
        return DRIVER_ALREADY_REGISTERED;
    return driver_memory_make(DRIVER_REGISTERED_MEMORY, bytes, host, &m);
}

int cuMemHostUnregister(void *host)
{
    IN_CONTEXT;
    const struct driver_memory *m = driver_registered_at(host);
    if (!m || m->host != host)
        return DRIVER_NOT_REGISTERED;
    return driver_memory_release(m->address, DRIVER_REGISTERED_MEMORY, DRIVER_REGISTERED_MEMORY);
}

int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    IN_CONTEXT;
    if (flags != 1 && flags != 2) /* global, host */
        return DRIVER_INVALID_VALUE;
    return make_at(DRIVER_MANAGED_MEMORY, bytes, address);
}

/* CUpointer_attribute */
enum pointer_attribute {
    POINTER_CONTEXT = 1,
    POINTER_MEMORY_TYPE = 2,
    POINTER_DEVICE = 3,
    POINTER_HOST = 4,
    POINTER_TOKENS = 5,
    POINTER_BUFFER = 7,
    POINTER_MANAGED = 8,
    POINTER_ORDINAL = 9,
    POINTER_START = 11,
    POINTER_BYTES = 12,
    POINTER_MAPPED = 13,
    POINTER_POOL = 17,
    POINTER_MAPPING_BYTES = 18,
    POINTER_MAPPING_START = 19,
    POINTER_BLOCK = 20
};

/* Returns where the memory begins on the side, host or device, that the address is of. */
static uint64_t base_of(const struct driver_memory *m, uint64_t address)
{
    return address - m->address < m->bytes ? m->address : (uintptr_t)m->host;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    IN_CONTEXT;
    const struct driver_memory *m = driver_memory_at(address);
    if (!m)
        m = driver_registered_at((const void *)(uintptr_t)address);
    if (!value || !m || m->freed_by)
        return DRIVER_INVALID_VALUE;
    bool of_host = m->type == DRIVER_PINNED_MEMORY || m->type == DRIVER_REGISTERED_MEMORY;
    switch ((enum pointer_attribute)attribute) {
    case POINTER_CONTEXT: return cuCtxGetCurrent(value);
    case POINTER_MEMORY_TYPE:
        *(unsigned *)value = of_host ? DRIVER_MEMORY_HOST : DRIVER_MEMORY_DEVICE;
        break;
    case POINTER_DEVICE: *(uint64_t *)value = m->address + (address - base_of(m, address)); break;
    case POINTER_HOST:
        if (m->type == DRIVER_DEVICE_MEMORY)
            return DRIVER_INVALID_VALUE;
        *(uint64_t *)value = (uintptr_t)m->host + (address - base_of(m, address));
        break;
    case POINTER_MANAGED: *(unsigned *)value = m->type == DRIVER_MANAGED_MEMORY; break;
    case POINTER_ORDINAL: *(int *)value = 0; break;
    case POINTER_START: *(uint64_t *)value = m->address; break;
    case POINTER_BYTES: *(size_t *)value = m->bytes; break;
    case POINTER_MAPPED: *(int *)value = 1; break;
    default: return DRIVER_INVALID_VALUE;
    }
    return DRIVER_SUCCESS;
}

static size_t bytes_of(int attribute)
{
    switch ((enum pointer_attribute)attribute) {
    case POINTER_TOKENS: return 2 * sizeof(uint64_t);
    case POINTER_CONTEXT:
    case POINTER_DEVICE:
    case POINTER_HOST:
    case POINTER_BUFFER:
    case POINTER_START:
    case POINTER_BYTES:
    case POINTER_POOL:
    case POINTER_MAPPING_BYTES:
    case POINTER_MAPPING_START:
    case POINTER_BLOCK: return sizeof(uint64_t);
    default: return sizeof(int);
    }
}

/* An attribute that the memory does not have is 0. */
int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, uint64_t address)
{
    IN_CONTEXT;
    if (!attributes || !values)
        return DRIVER_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (cuPointerGetAttribute(values[i], attributes[i], address) != DRIVER_SUCCESS)
            memset(values[i], 0, bytes_of(attributes[i]));
    return DRIVER_SUCCESS;
}
