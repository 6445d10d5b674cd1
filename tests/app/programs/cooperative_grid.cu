// race: blocks read what other blocks write, without a barrier of the grid between.
#include "app_check.h"

#include <cooperative_groups.h>

template <bool WAITS> __global__ void reverse(int *a, int *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    if (WAITS)
        cooperative_groups::this_grid().sync();
    b[i] = a[gridDim.x * blockDim.x - 1 - i];
}

int main(int argc, char **argv)
{
    int *a, *b, got[128];
    CHECK(cudaMalloc(&a, sizeof got));
    CHECK(cudaMalloc(&b, sizeof got));
    CHECK(cudaMemset(a, 0, sizeof got));
    void *arguments[] = {&a, &b};
    void *kernel = is_broken(argc, argv) ? (void *)reverse<false> : (void *)reverse<true>;
    CHECK(cudaLaunchCooperativeKernel(kernel, 4, 32, arguments));
    CHECK(cudaMemcpy(got, b, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    printf("reversed\n");
    return 0;
}
