// host-race: the host writes managed memory that a kernel reads, before it has waited for the kernel.
#include "app_check.h"

__managed__ int scale = 3;

__global__ void multiply(int *x, const int *by)
{
    x[threadIdx.x] = scale * by[threadIdx.x];
}

int main(int argc, char **argv)
{
    int *x, *by;
    CHECK(cudaMallocManaged(&x, 32 * sizeof(int)));
    CHECK(cudaMallocManaged(&by, 32 * sizeof(int)));
    for (int i = 0; i < 32; i++)
        by[i] = i;
    multiply<<<1, 32>>>(x, by);
    if (!is_broken(argc, argv))
        CHECK(cudaDeviceSynchronize());
    by[0] = 100;
    CHECK(cudaDeviceSynchronize());
    printf("%d\n", x[31]);
    CHECK(cudaFree(x));
    CHECK(cudaFree(by));
    return 0;
}
