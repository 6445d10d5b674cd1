// A kernel that may overlap the one before it reads its result, and neither has an instruction for that. GPUs below sm_90 run one after the other.
#include "programs/app_check.h"
#include "programs/app_launch.h"

enum { N = 64 };

__global__ void produce(int *x)
{
    x[threadIdx.x] = 5;
}

__global__ void consume(const int *x, int *y)
{
    y[threadIdx.x] = x[threadIdx.x];
}

int main()
{
    int *x, *y;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(int)));
    CHECK(cudaMalloc(&y, N * sizeof(int)));
    cudaLaunchAttribute overlap;
    cudaLaunchConfig_t config = overlapping(&overlap, 1, N, stream);
    produce<<<1, N, 0, stream>>>(x);
    CHECK(cudaLaunchKernelEx(&config, consume, (const int *)x, y));
    CHECK(cudaStreamSynchronize(stream));
    return 0;
}
