// stream-race (compute_90): the wait of a kernel covers the kernel before it, but not the one before that, because the middle one does not wait.
#include "app_check.h"
#include "app_launch.h"

enum { N = 64 };

__global__ void first(int *x)
{
    cudaTriggerProgrammaticLaunchCompletion();
    x[threadIdx.x] = 5;
}

__global__ void middle(int *z, bool waits)
{
    cudaTriggerProgrammaticLaunchCompletion();
    if (waits)
        cudaGridDependencySynchronize();
    z[threadIdx.x] = 1;
}

__global__ void last(const int *x, const int *z, int *y)
{
    cudaGridDependencySynchronize();
    y[threadIdx.x] = x[threadIdx.x] + z[threadIdx.x];
}

int main(int argc, char **argv)
{
    int *x, *y, *z, got = 0;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(int)));
    CHECK(cudaMalloc(&y, N * sizeof(int)));
    CHECK(cudaMalloc(&z, N * sizeof(int)));
    cudaLaunchAttribute overlap;
    cudaLaunchConfig_t config = overlapping(&overlap, 1, N, stream);
    first<<<1, N, 0, stream>>>(x);
    CHECK(cudaLaunchKernelEx(&config, middle, z, !is_broken(argc, argv)));
    CHECK(cudaLaunchKernelEx(&config, last, (const int *)x, (const int *)z, y));
    CHECK(cudaMemcpyAsync(&got, y + N - 1, sizeof got, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("%d\n", got);
    return got == 6 ? 0 : 2;
}
