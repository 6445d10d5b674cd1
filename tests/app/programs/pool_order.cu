// stream-race, use-after-free: a stream uses memory of a pool before the allocation of another stream, and after its free.
#include "app_check.h"

#include <stdint.h>

__global__ void fill(int *x)
{
    x[threadIdx.x] = 7;
}

int main(int argc, char **argv)
{
    enum { N = 64, BYTES = N * sizeof(int) };
    bool broken = is_broken(argc, argv);
    int *x, got[N] = {0};
    cudaStream_t one, two;
    cudaEvent_t allocated, used;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&two));
    CHECK(cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
    cudaMemPool_t pool;
    uint64_t threshold = UINT64_MAX, most = 0;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));

    CHECK(cudaMallocAsync(&x, BYTES, one));
    CHECK(cudaEventRecord(allocated, one));
    if (!broken)
        CHECK(cudaStreamWaitEvent(two, allocated, 0));
    fill<<<1, N, 0, two>>>(x);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(used, two));
    CHECK(cudaStreamWaitEvent(one, used, 0));
    if (broken)
        CHECK(cudaFreeAsync(x, one));
    cudaError_t copied = cudaMemcpyAsync(got, x, BYTES, cudaMemcpyDeviceToHost, one);
    if (!broken)
        CHECK(cudaFreeAsync(x, one));
    CHECK(cudaStreamSynchronize(one));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    uint64_t reset = 1;
    if (cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &reset) != cudaErrorInvalidValue)
        return 2;
    cudaGetLastError();
    reset = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &reset));

    // A pool of the program's own.
    cudaMemPool_t own;
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&own, &properties));
    int *y;
    CHECK(cudaMallocFromPoolAsync(&y, BYTES, own, one));
    fill<<<1, N, 0, one>>>(y);
    CHECK(cudaFreeAsync(y, one));
    CHECK(cudaStreamSynchronize(one));
    CHECK(cudaMemPoolDestroy(own));
    CHECK(cudaEventDestroy(allocated));
    CHECK(cudaEventDestroy(used));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(two));
    printf("%s %d, %d bytes\n", cudaGetErrorName(copied), got[N - 1], (int)most);
    return broken || (got[N - 1] == 7 && most == BYTES) ? 0 : 2;
}
