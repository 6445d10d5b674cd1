// stream-race: a stream of high priority does not wait for the one of low priority: priority is not order.
#include "app_check.h"

__global__ void fill(float *x, float value)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void scale(float *x, float by)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}

int main(int argc, char **argv)
{
    const int n = 1024;
    int least, greatest, level;
    float *x, got[n], ms = -1;
    cudaStream_t low, high;
    cudaEvent_t begin, end, filled;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(greatest <= least);
    CHECK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
    CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamGetPriority(high, &level));
    EXPECT(level == greatest);
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming | cudaEventBlockingSync));
    CHECK(cudaMalloc(&x, sizeof got));
    CHECK(cudaEventRecord(begin, low));
    fill<<<4, 256, 0, low>>>(x, 3);
    CHECK(cudaEventRecord(filled, low));
    if (!is_broken(argc, argv))
        CHECK(cudaStreamWaitEvent(high, filled, 0));
    scale<<<4, 256, 0, high>>>(x, 2);
    CHECK(cudaEventRecord(end, high));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventSynchronize(filled));
    CHECK(cudaEventQuery(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    EXPECT(ms >= 0);
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaStreamDestroy(low));
    CHECK(cudaStreamDestroy(high));
    EXPECT(got[7] == 6);
    return 0;
}
