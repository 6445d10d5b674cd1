// host-race, use-after-free, out-of-bounds [-lcuda]: memory is unmapped while a kernel may use it, and is used after that.
#include "app_virtual.h"

__global__ void fill(int *x)
{
    x[threadIdx.x] = threadIdx.x;
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    size_t page = granularity();
    CUdeviceptr at;
    DRIVER(cuMemAddressReserve(&at, page, 0, 0, 0));
    map_new(at, page);
    int *x = (int *)at, last = 63;
    fill<<<1, 64, 0, s>>>(x);
    if (!broken)
        CHECK(cudaStreamSynchronize(s));
    DRIVER(cuMemUnmap(at, page));
    if (!broken)
        map_new(at, page);
    cudaMemcpy(&last, x + 63, sizeof last, cudaMemcpyDeviceToHost);
    fill<<<1, 64, 0, s>>>(x);
    cudaStreamSynchronize(s);
    if (broken)
        return 0;
    DRIVER(cuMemUnmap(at, page));
    DRIVER(cuMemAddressFree(at, page));
    CHECK(cudaStreamDestroy(s));
    return 0;
}
