// uninitialised [-lcuda]: a kernel reads memory at one of its two addresses; it has values if it was written at the other one.
#include "app_virtual.h"

__global__ void fill(int *x)
{
    x[threadIdx.x] = threadIdx.x;
}

__global__ void add_one(const int *x, int *out)
{
    out[threadIdx.x] = x[threadIdx.x] + 1;
}

int main(int argc, char **argv)
{
    CHECK(cudaFree(0));
    bool broken = is_broken(argc, argv);
    size_t page = granularity();
    int *out, got[64];
    CUdeviceptr at[2];
    CHECK(cudaMalloc(&out, sizeof got));
    CUmemGenericAllocationHandle handle = create(page);
    for (int i = 0; i < 2; i++)
        DRIVER(cuMemAddressReserve(&at[i], page, 0, 0, 0));
    for (int i = 0; i < (broken ? 1 : 2); i++) {
        DRIVER(cuMemMap(at[i], page, 0, handle, 0));
        give_access(at[i], page, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
    if (!broken)
        fill<<<1, 64>>>((int *)at[1]);
    add_one<<<1, 64>>>((const int *)at[0], out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(broken || got[63] == 64);
    for (int i = 0; i < 2; i++) {
        if (!broken || i == 0)
            DRIVER(cuMemUnmap(at[i], page));
        DRIVER(cuMemAddressFree(at[i], page));
    }
    DRIVER(cuMemRelease(handle));
    CHECK(cudaFree(out));
    return 0;
}
