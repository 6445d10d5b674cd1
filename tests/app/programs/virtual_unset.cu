// uninitialised [-lcuda]: a kernel adds to memory of cuMemCreate that nothing has set.
#include "app_virtual.h"

__global__ void count(int *bins, const int *values, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&bins[values[i] % 16], 1);
}

int main(int argc, char **argv)
{
    CHECK(cudaFree(0));
    size_t page = granularity();
    CUdeviceptr at;
    DRIVER(cuMemAddressReserve(&at, page, 0, 0, 0));
    map_new(at, page);
    int values[100], bins[16], *x = (int *)at;
    for (int i = 0; i < 100; i++)
        values[i] = i;
    CHECK(cudaMemcpy(x + 16, values, sizeof values, cudaMemcpyHostToDevice));
    if (!is_broken(argc, argv))
        CHECK(cudaMemset(x, 0, sizeof bins));
    count<<<1, 32>>>(x, x + 16, 100);
    CHECK(cudaMemcpy(bins, x, sizeof bins, cudaMemcpyDeviceToHost));
    EXPECT(bins[0] == 7 && bins[15] == 6);
    DRIVER(cuMemUnmap(at, page));
    DRIVER(cuMemAddressFree(at, page));
    return 0;
}
