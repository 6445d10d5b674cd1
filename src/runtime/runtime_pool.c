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

int cudaFreeAsync(void *memory, void *stream)
{
    ENTER;
    return runtime_done(cuMemFreeAsync((uintptr_t)memory, stream));
}

int cudaMemPoolCreate(void **pool, const struct driver_pool_properties *properties)
{
    ENTER;
    return runtime_done(cuMemPoolCreate(pool, properties));
}

int cudaMemPoolDestroy(void *pool)
{
    ENTER;
    return runtime_done(cuMemPoolDestroy(pool));
}

int cudaMemPoolGetAttribute(void *pool, int attribute, void *value)
{
    ENTER;
    return runtime_done(cuMemPoolGetAttribute(pool, attribute, value));
}

int cudaMemPoolSetAttribute(void *pool, int attribute, const void *value)
{
    ENTER;
    return runtime_done(cuMemPoolSetAttribute(pool, attribute, value));
}

int cudaMemPoolTrimTo(void *pool, size_t bytes)
{
    ENTER;
    return runtime_done(cuMemPoolTrimTo(pool, bytes));
}

int cudaMemPoolSetAccess(void *pool, const void *list, size_t count)
{
    ENTER;
    return runtime_done(cuMemPoolSetAccess(pool, list, count));
}

int cudaMemPoolGetAccess(int *flags, void *pool, const void *location)
{
    ENTER;
    return runtime_done(cuMemPoolGetAccess(flags, pool, location));
}

int cudaDeviceGetDefaultMemPool(void **pool, int device)
{
    ENTER;
    return runtime_done(cuDeviceGetDefaultMemPool(pool, device));
}

int cudaDeviceGetMemPool(void **pool, int device)
{
    ENTER;
    return runtime_done(cuDeviceGetMemPool(pool, device));
}

int cudaDeviceSetMemPool(int device, void *pool)
{
    ENTER;
    return runtime_done(cuDeviceSetMemPool(device, pool));
}
