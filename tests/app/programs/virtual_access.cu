// read-only [-lcuda]: memory has two addresses; a kernel writes at the one that it may only read.
#include "app_virtual.h"

__global__ void copy(const int *from, int *to)
{
    to[threadIdx.x + 64] = 2 * from[threadIdx.x];
}

int main(int argc, char **argv)
{
    CHECK(cudaFree(0));
    size_t page = granularity();
    CUdeviceptr read, write;
    CUmemGenericAllocationHandle handle = create(page);
    DRIVER(cuMemAddressReserve(&read, page, 0, 0, 0));
    DRIVER(cuMemAddressReserve(&write, 2 * page, 0, 0, 0));
    DRIVER(cuMemMap(read, page, 0, handle, 0));
    DRIVER(cuMemMap(write + page, page, 0, handle, 0)); // the first page has no memory
    DRIVER(cuMemRelease(handle));
    give_access(read, page, CU_MEM_ACCESS_FLAGS_PROT_READ);
    give_access(write + page, page, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    unsigned long long flags;
    CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE};
    DRIVER(cuMemGetAccess(&flags, &device, read));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READ);
    int values[64], *from = (int *)read, *to = (int *)(write + page);
    for (int i = 0; i < 64; i++)
        values[i] = i;
    CHECK(cudaMemcpy(to, values, sizeof values, cudaMemcpyHostToDevice));
    copy<<<1, 64>>>(from, is_broken(argc, argv) ? from : to);
    CHECK(cudaMemcpy(values, from + 64, sizeof values, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT(values[i] == 2 * i);
    DRIVER(cuMemUnmap(read, page));
    DRIVER(cuMemUnmap(write + page, page));
    DRIVER(cuMemAddressFree(read, page));
    DRIVER(cuMemAddressFree(write, 2 * page));
    return 0;
}
