// stream-race: a kernel reads in one stream what a kernel writes in another, without an event.
#include "app_check.h"

__global__ void fill(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = i;
}

__global__ void twice(const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
}

int main(int argc, char **argv)
{
    const int n = 1000;
    int *x, *y, got[2];
    cudaStream_t one, two;
    cudaEvent_t filled;
    CHECK(cudaMalloc(&x, n * sizeof(int)));
    CHECK(cudaMalloc(&y, n * sizeof(int)));
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&two));
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    fill<<<8, 128, 0, one>>>(x, n);
    CHECK(cudaEventRecord(filled, one));
    if (!is_broken(argc, argv))
        CHECK(cudaStreamWaitEvent(two, filled));
    twice<<<8, 128, 0, two>>>(x, y, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(two));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    printf("%d %d\n", got[0], got[1]);
    return 0;
}
