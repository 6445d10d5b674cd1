// race: each block adds to the sum of all, without an atomic; many blocks.
#include "app_check.h"

template <bool ATOMIC> __global__ void total(const int *x, int *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (ATOMIC)
        atomicAdd(sum, x[i]);
    else
        *sum += x[i];
}

int main(int argc, char **argv)
{
    const int n = 64000;
    int *x, *sum, got = 0;
    CHECK(cudaMalloc(&x, n * sizeof(int)));
    CHECK(cudaMalloc(&sum, sizeof(int)));
    CHECK(cudaMemset(x, 0, n * sizeof(int)));
    CHECK(cudaMemset(sum, 0, sizeof(int)));
    if (is_broken(argc, argv))
        total<false><<<2000, 32>>>(x, sum, n);
    else
        total<true><<<2000, 32>>>(x, sum, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, sum, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(sum));
    printf("%d\n", got);
    return 0;
}
