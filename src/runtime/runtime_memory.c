/* Memory. */
#include "runtime/runtime.h"

/* Gives the program an address of the driver. */
static int give(void **to, uint64_t address, int result)
{
    if (result == DRIVER_SUCCESS)
        *to = (void *)(uintptr_t)address;
    return runtime_done(result);
}

int cudaMalloc(void **memory, size_t bytes)
{
    ENTER;
    uint64_t address = 0;
    if (!memory)
        return runtime_done(DRIVER_INVALID_VALUE);
    int result = bytes ? cuMemAlloc_v2(&address, bytes) : DRIVER_SUCCESS;
    return give(memory, address, result);
}

int cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height)
{
    ENTER;
    uint64_t address = 0;
    if (!memory)
        return runtime_done(DRIVER_INVALID_VALUE);
    int result = cuMemAllocPitch_v2(&address, pitch, width, height, 4);
    return give(memory, address, result);
}

int cudaMalloc3D(struct runtime_pitched *memory, const struct runtime_extent extent)
{
    ENTER;
    uint64_t address = 0;
    size_t pitch = 0;
    if (!memory)
        return runtime_done(DRIVER_INVALID_VALUE);
    int result =
        cuMemAllocPitch_v2(&address, &pitch, extent.size[0], extent.size[1] * extent.size[2], 4);
    if (result == DRIVER_SUCCESS)
        *memory = (struct runtime_pitched){(void *)(uintptr_t)address, pitch, extent.size[0],
                                           extent.size[1]};
    return runtime_done(result);
}

int cudaMallocManaged(void **memory, size_t bytes, unsigned flags)
{
    ENTER;
    uint64_t address = 0;
    if (!memory)
        return runtime_done(DRIVER_INVALID_VALUE);
    int result = cuMemAllocManaged(&address, bytes, flags);
    return give(memory, address, result);
}

ENTRY(cudaHostAlloc, (void **memory, size_t bytes, unsigned flags),
      cuMemHostAlloc(memory, bytes, flags))
ENTRY(cudaMallocHost, (void **memory, size_t bytes), cuMemAllocHost_v2(memory, bytes))
ENTRY(cudaFree, (void *memory), cuMemFree_v2((uintptr_t)memory))
ENTRY(cudaFreeHost, (void *memory), cuMemFreeHost(memory))
ENTRY(cudaHostRegister, (void *memory, size_t bytes, unsigned flags),
      cuMemHostRegister_v2(memory, bytes, flags))
ENTRY(cudaHostUnregister, (void *memory), cuMemHostUnregister(memory))

int cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    ENTER;
    uint64_t address = 0;
    if (!device)
        return runtime_done(DRIVER_INVALID_VALUE);
    int result = cuMemHostGetDevicePointer_v2(&address, host, flags);
    return give(device, address, result);
}

ENTRY(cudaHostGetFlags, (unsigned *flags, void *memory), cuMemHostGetFlags(flags, memory))
ENTRY(cudaIpcGetMemHandle, (struct driver_ipc_handle * handle, void *memory),
      cuIpcGetMemHandle(handle, (uintptr_t)memory))

int cudaIpcOpenMemHandle(void **memory, struct driver_ipc_handle handle, unsigned flags)
{
    ENTER;
    uint64_t address = 0;
    if (!memory)
        return runtime_done(DRIVER_INVALID_VALUE);
    int result = cuIpcOpenMemHandle_v2(&address, handle, flags);
    return give(memory, address, result);
}

ENTRY(cudaIpcCloseMemHandle, (void *memory), cuIpcCloseMemHandle((uintptr_t)memory))
ENTRY(cudaMemGetInfo, (size_t * free_bytes, size_t *total), cuMemGetInfo_v2(free_bytes, total))

int cudaPointerGetAttributes(struct runtime_pointer *attributes, const void *memory)
{
    enum { MEMORY_TYPE = 2, IS_MANAGED = 8 }; /* CUpointer_attribute */
    ENTER;
    uint64_t address = (uintptr_t)memory;
    unsigned type = 0, managed = 0;
    if (!attributes)
        return runtime_done(DRIVER_INVALID_VALUE);
    attributes->type = MEMORY_UNREGISTERED;
    attributes->device = -2; /* cudaInvalidDeviceId */
    attributes->device_address = NULL;
    attributes->host_address = (void *)(uintptr_t)memory;
    if (cuPointerGetAttribute(&type, MEMORY_TYPE, address) != DRIVER_SUCCESS)
        return DRIVER_SUCCESS;
    cuPointerGetAttribute(&managed, IS_MANAGED, address);
    attributes->device = 0;
    attributes->device_address = (void *)(uintptr_t)memory;
    attributes->type = managed                      ? MEMORY_MANAGED
                       : type == DRIVER_MEMORY_HOST ? MEMORY_HOST
                                                    : MEMORY_DEVICE;
    if (attributes->type == MEMORY_DEVICE)
        attributes->host_address = NULL;
    return DRIVER_SUCCESS;
}

/* --- managed memory --- */

ENTRY(cudaMemRangeGetAttribute,
      (void *data, size_t size, int attribute, const void *memory, size_t bytes),
      cuMemRangeGetAttribute(data, size, attribute, (uintptr_t)memory, bytes))
ENTRY(cudaMemRangeGetAttributes,
      (void **data, size_t *sizes, int *attributes, size_t count, const void *memory, size_t bytes),
      cuMemRangeGetAttributes(data, sizes, attributes, count, (uintptr_t)memory, bytes))

static int prefetch(const void *memory, size_t bytes, int device, void *stream)
{
    return runtime_done(cuMemPrefetchAsync((uintptr_t)memory, bytes, device, stream));
}

static int advise(const void *memory, size_t bytes, int advice, int device)
{
    return runtime_done(cuMemAdvise((uintptr_t)memory, bytes, advice, device));
}

static int device_of(struct runtime_location location)
{
    return location.type == LOCATION_DEVICE ? location.id : -1;
}

#if RUNTIME_VERSION < 13
int cudaMemPrefetchAsync(const void *memory, size_t bytes, int device, void *stream)
{
    ENTER;
    return prefetch(memory, bytes, device, stream);
}

int cudaMemPrefetchAsync_v2(const void *memory, size_t bytes, struct runtime_location location,
                            unsigned flags, void *stream)
{
    ENTER;
    (void)flags;
    return prefetch(memory, bytes, device_of(location), stream);
}

int cudaMemAdvise(const void *memory, size_t bytes, int advice, int device)
{
    ENTER;
    return advise(memory, bytes, advice, device);
}

int cudaMemAdvise_v2(const void *memory, size_t bytes, int advice, struct runtime_location location)
{
    ENTER;
    return advise(memory, bytes, advice, device_of(location));
}
#else
int cudaMemPrefetchAsync(const void *memory, size_t bytes, struct runtime_location location,
                         unsigned flags, void *stream)
{
    ENTER;
    (void)flags;
    return prefetch(memory, bytes, device_of(location), stream);
}

int cudaMemAdvise(const void *memory, size_t bytes, int advice, struct runtime_location location)
{
    ENTER;
    return advise(memory, bytes, advice, device_of(location));
}
#endif
