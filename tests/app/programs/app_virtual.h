// Functions of the programs that map memory at addresses of their own (CUDA Driver API, "Virtual Memory Management").
#include "app_check.h"

#include <cuda.h>

#define DRIVER(call)                                                                               \
    do {                                                                                           \
        CUresult result_ = (call);                                                                 \
        if (result_ != CUDA_SUCCESS) {                                                             \
            printf("%s: %d\n", #call, result_);                                                    \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

static CUmemAllocationProp properties()
{
    CUmemAllocationProp p = {};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return p;
}

static size_t granularity()
{
    CUmemAllocationProp p = properties();
    size_t bytes;
    DRIVER(cuMemGetAllocationGranularity(&bytes, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return bytes;
}

static CUmemGenericAllocationHandle create(size_t bytes)
{
    CUmemAllocationProp p = properties();
    CUmemGenericAllocationHandle handle;
    DRIVER(cuMemCreate(&handle, bytes, &p, 0));
    return handle;
}

static void give_access(CUdeviceptr at, size_t bytes, CUmemAccess_flags flags)
{
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = flags;
    DRIVER(cuMemSetAccess(at, bytes, &access, 1));
}

// Maps new memory at an address. The handle is released at once: the memory is freed when it is unmapped.
static void map_new(CUdeviceptr at, size_t bytes)
{
    CUmemGenericAllocationHandle handle = create(bytes);
    DRIVER(cuMemMap(at, bytes, 0, handle, 0));
    DRIVER(cuMemRelease(handle));
    give_access(at, bytes, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}
