// out-of-bounds [-lcuda]: an array grows at its place, and a kernel writes beyond the memory that is mapped so far.
#include "app_virtual.h"

__global__ void fill(int *x, size_t count, int value)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        x[i * 1024] = value + (int)i;
}

int main(int argc, char **argv)
{
    CHECK(cudaFree(0));
    size_t page = granularity(), all = 4 * page;
    CUdeviceptr at;
    DRIVER(cuMemAddressReserve(&at, all, 0, 0, 0));
    map_new(at, page);
    int *x = (int *)at, got[2];
    size_t each = page / sizeof(int) / 1024;
    fill<<<(unsigned)(2 * each / 256), 256>>>(x, is_broken(argc, argv) ? each + 1 : each, 1);
    CHECK(cudaDeviceSynchronize());
    map_new(at + page, 2 * page); // the values before stay
    fill<<<(unsigned)(2 * each / 256), 256>>>(x + page / sizeof(int), 2 * each, 10);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&got[0], x + 1024, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&got[1], x + page / sizeof(int), sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(got[0] == 2 && got[1] == 10);
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp p;
    DRIVER(cuMemRetainAllocationHandle(&handle, (void *)(at + page + 4)));
    DRIVER(cuMemGetAllocationPropertiesFromHandle(&p, handle));
    EXPECT(p.type == CU_MEM_ALLOCATION_TYPE_PINNED && p.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    DRIVER(cuMemRelease(handle));
    DRIVER(cuMemUnmap(at, 3 * page));
    DRIVER(cuMemAddressFree(at, all));
    return 0;
}
