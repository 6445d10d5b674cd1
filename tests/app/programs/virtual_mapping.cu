// bad-mapping, invalid-free, double-free, not-device-memory [-lcuda]: memory is mapped twice at an address, unmapped in part, and freed by the wrong calls.
#include "app_virtual.h"

int main(int argc, char **argv)
{
    CHECK(cudaFree(0));
    size_t page = granularity();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle = create(2 * page);
    int value = 7;
    DRIVER(cuMemAddressReserve(&at, 4 * page, 0, 0, 0));
    DRIVER(cuMemMap(at, 2 * page, 0, handle, 0));
    give_access(at, 2 * page, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cudaMemcpy((void *)(at + 2 * page - 4), &value, sizeof value, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv)) {
        EXPECT(cuMemMap(at + page, 2 * page, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
        EXPECT(cuMemUnmap(at, page) == CUDA_ERROR_INVALID_VALUE);
        EXPECT(cuMemUnmap(at + 2 * page, page) == CUDA_ERROR_INVALID_VALUE);
        EXPECT(cuMemFree(at) == CUDA_ERROR_INVALID_VALUE);
        EXPECT(cuMemAddressFree(at, 4 * page) == CUDA_ERROR_INVALID_VALUE);
        EXPECT(cudaMemset((void *)at, 0, 3 * page) != cudaSuccess);
        DRIVER(cuMemRelease(handle));
        EXPECT(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
        CUdeviceptr other;
        DRIVER(cuMemAddressReserve(&other, page, 0, 0, 0));
        DRIVER(cuMemAddressFree(other, page));
        EXPECT(cuMemAddressFree(other, page) == CUDA_ERROR_INVALID_VALUE);
        return 0;
    }
    DRIVER(cuMemRelease(handle));
    DRIVER(cuMemUnmap(at, 2 * page));
    DRIVER(cuMemAddressFree(at, 4 * page));
    return 0;
}
