// race: linked on the device (-rdc=true) with linked_part.cu, whose function adds to one element without an atomic.
#include "programs/app_check.h"

extern __device__ void count(int *sum, int x, bool atomic);
extern __device__ int first;
extern __constant__ int steps[2];

static __device__ __noinline__ int scaled(int x)
{
    return x * steps[1];
}

__global__ void sum_up(int *sum, bool atomic)
{
    if (threadIdx.x == 0 && first < 0)
        printf("no sum\n");
    count(sum, scaled(threadIdx.x) + first, atomic);
}

int main(int argc, char **argv)
{
    int *sum, got, ten = 10;
    const int given[2] = {0, 3};
    CHECK(cudaMalloc(&sum, sizeof(int)));
    CHECK(cudaMemset(sum, 0, sizeof(int)));
    CHECK(cudaMemcpyToSymbol(first, &ten, sizeof ten));
    CHECK(cudaMemcpyToSymbol(steps, given, sizeof given));
    sum_up<<<1, 32>>>(sum, !is_broken(argc, argv));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(sum));
    printf("%d\n", got);
    return is_broken(argc, argv) || got == 3 * 31 * 16 + 320 ? 0 : 2;
}
