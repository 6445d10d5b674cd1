// out-of-bounds: the size of blocks comes from the occupancy, and the last block has threads without an element.
#include "app_check.h"

template <bool GUARDED> __global__ void square(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!GUARDED || i < n)
        x[i] *= x[i];
}

int main(int argc, char **argv)
{
    const int n = 2100;
    int *x, host[n], least = 0, block = 0, blocks = 0;
    for (int i = 0; i < n; i++)
        host[i] = i;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &block, square<true>, 0, n));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, square<true>, block, 0));
    EXPECT(block >= 32 && block % 32 == 0 && blocks >= 1 && least >= blocks);
    if (is_broken(argc, argv))
        square<false><<<(n + block - 1) / block, block>>>(x, n);
    else
        square<true><<<(n + block - 1) / block, block>>>(x, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    for (int i = 0; i < n; i++)
        EXPECT(host[i] == i * i);
    return 0;
}
