// stream-race (compute_90): a kernel that may begin before the one before it is done reads its result before the wait.
#include "app_check.h"
#include "app_launch.h"

enum { N = 256, BLOCKS = 4 };

__global__ void primary(int *x)
{
    cudaTriggerProgrammaticLaunchCompletion();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = i;
}

__global__ void secondary(const int *factor, const int *x, int *y, bool early)
{
    __shared__ int by;
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = 0;
    if (threadIdx.x == 0)
        by = *factor; // of an earlier copy: no kernel writes it
    if (early)
        value = x[i];
    if (threadIdx.x == 0)
        cudaGridDependencySynchronize(); // the barrier passes it on to the block
    __syncthreads();
    if (!early)
        value = x[i];
    y[i] = by * value;
}

int main(int argc, char **argv)
{
    int *x, *y, *factor, got = 0, three = 3;
    bool early = is_broken(argc, argv);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, BLOCKS * N * sizeof(int)));
    CHECK(cudaMalloc(&y, BLOCKS * N * sizeof(int)));
    CHECK(cudaMalloc(&factor, sizeof(int)));
    CHECK(cudaMemcpyAsync(factor, &three, sizeof three, cudaMemcpyHostToDevice, stream));
    cudaLaunchAttribute overlap;
    cudaLaunchConfig_t config = overlapping(&overlap, BLOCKS, N, stream);
    for (int i = 0; i < 3; i++) {
        primary<<<BLOCKS, N, 0, stream>>>(x);
        CHECK(cudaLaunchKernelEx(&config, secondary, (const int *)factor, (const int *)x, y, early));
    }
    CHECK(cudaMemcpyAsync(&got, y + BLOCKS * N - 1, sizeof got, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("%d\n", got);
    return got == 3 * (BLOCKS * N - 1) ? 0 : 2;
}
