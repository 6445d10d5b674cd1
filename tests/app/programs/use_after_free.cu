// out-of-bounds: a kernel writes memory that was freed.
#include "app_check.h"

__global__ void fill(int *x)
{
    x[threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *x;
    CHECK(cudaMalloc(&x, 64 * sizeof(int)));
    if (broken)
        CHECK(cudaFree(x));
    fill<<<1, 64>>>(x);
    CHECK(cudaDeviceSynchronize());
    if (!broken)
        CHECK(cudaFree(x));
    printf("done\n");
    return 0;
}
