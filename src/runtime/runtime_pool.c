/* Allocations in the order of a stream, and their pools. */
#include "runtime/runtime.h"

static int allocate(void **memory, size_t bytes, void *pool, void *stream)
{
    uint64_t address = 0;
    if (!memory)
        return runtime_done(DRIVER_INVALID_VALUE);
    int result = pool ? cuMemAllocFromPoolAsync(&address, bytes, pool, stream)
                      : cuMemAllocAsync(&address, bytes, stream);
    if (result == DRIVER_SUCCESS)
        *memory = (void *)(uintptr_t)address;
    return runtime_done(result);
}

int cudaMallocAsync(void **memory, size_t bytes, void *stream)
{
    ENTER;
    return allocate(memory, bytes, NULL, stream);
}

int cudaMallocFromPoolAsync(void **memory, size_t bytes, void *pool, void *stream)
{
    ENTER;
    return pool ? allocate(memory, bytes, pool, stream) : runtime_done(DRIVER_INVALID_VALUE);
}

ENTRY(cudaFreeAsync, (void *memory, void *stream), cuMemFreeAsync((uintptr_t)memory, stream))
ENTRY(cudaMemPoolCreate, (void **pool, const struct driver_pool_properties *properties),
      cuMemPoolCreate(pool, properties))
ENTRY(cudaMemPoolDestroy, (void *pool), cuMemPoolDestroy(pool))
ENTRY(cudaMemPoolGetAttribute, (void *pool, int attribute, void *value),
      cuMemPoolGetAttribute(pool, attribute, value))
ENTRY(cudaMemPoolSetAttribute, (void *pool, int attribute, const void *value),
      cuMemPoolSetAttribute(pool, attribute, value))
ENTRY(cudaMemPoolTrimTo, (void *pool, size_t bytes), cuMemPoolTrimTo(pool, bytes))
ENTRY(cudaMemPoolSetAccess, (void *pool, const void *list, size_t count),
      cuMemPoolSetAccess(pool, list, count))
ENTRY(cudaMemPoolGetAccess, (int *flags, void *pool, const void *location),
      cuMemPoolGetAccess(flags, pool, location))
ENTRY(cudaDeviceGetDefaultMemPool, (void **pool, int device),
      cuDeviceGetDefaultMemPool(pool, device))
ENTRY(cudaDeviceGetMemPool, (void **pool, int device), cuDeviceGetMemPool(pool, device))
ENTRY(cudaDeviceSetMemPool, (int device, void *pool), cuDeviceSetMemPool(device, pool))
