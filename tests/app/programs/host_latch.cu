// deadlock: a kernel waits for a value that the host writes after the launch; "device": in memory of the device.
#include "app_check.h"

__global__ void hold(const volatile int *latch)
{
    while (*latch == 0)
        ;
}

int main(int argc, char **argv)
{
    int *latch, *in_device;
    bool after = is_broken(argc, argv), device = argc > 1 && argv[1][0] == 'd';
    CHECK(cudaMallocHost(&latch, sizeof *latch));
    CHECK(cudaMalloc(&in_device, sizeof *in_device));
    CHECK(cudaMemset(in_device, 0, sizeof *in_device));
    *latch = !after;
    hold<<<1, 1>>>(device ? in_device : latch);
    if (after)
        *latch = 1;
    cudaError_t ended = cudaDeviceSynchronize();
    EXPECT(ended == cudaSuccess || after || device);
    cudaFree(in_device);
    cudaFreeHost(latch);
    return 0;
}
