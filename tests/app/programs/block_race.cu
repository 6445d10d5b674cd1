// race: all threads of a block add to one element without an atomic.
#include "app_check.h"

__global__ void count_plain(const int *x, int *odd)
{
    if (x[threadIdx.x] % 2)
        *odd += 1;
}

__global__ void count_atomic(const int *x, int *odd)
{
    if (x[threadIdx.x] % 2)
        atomicAdd(odd, 1);
}

int main(int argc, char **argv)
{
    int x[64], *d, *odd, got = 0;
    for (int i = 0; i < 64; i++)
        x[i] = i;
    CHECK(cudaMalloc(&d, sizeof x));
    CHECK(cudaMalloc(&odd, sizeof(int)));
    CHECK(cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(odd, 0, sizeof(int)));
    if (is_broken(argc, argv))
        count_plain<<<1, 64>>>(d, odd);
    else
        count_atomic<<<1, 64>>>(d, odd);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, odd, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    CHECK(cudaFree(odd));
    printf("%d odd\n", got);
    return 0;
}
