// `launches ALLOCATIONS LAUNCHES`: launches a small kernel that uses one of many allocations.
#include "programs/app_check.h"

__global__ void set(int *x)
{
    x[threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
    int *x = NULL;
    for (int i = 0; i < atoi(argv[1]); i++)
        CHECK(cudaMalloc(&x, 64));
    for (int i = 0; i < atoi(argv[2]); i++)
        set<<<1, 16>>>(x);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
