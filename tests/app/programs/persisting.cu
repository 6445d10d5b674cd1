// stream-race: two streams with a window of persisting L2 accesses, of which the second overwrites what the first reads.
#include "app_check.h"

__global__ void gather(const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + x[(i * 7) % n];
}

int main(int argc, char **argv)
{
    const int n = 1000;
    int *x, *y, got[n];
    cudaDeviceProp about;
    cudaStream_t one, two;
    CHECK(cudaGetDeviceProperties(&about, 0));
    CHECK(cudaMalloc(&x, n * sizeof(int)));
    CHECK(cudaMalloc(&y, n * sizeof(int)));
    CHECK(cudaMemset(x, 0, n * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, (size_t)about.persistingL2CacheMaxSize));
    cudaStreamAttrValue window = {}, read = {};
    window.accessPolicyWindow.base_ptr = x;
    window.accessPolicyWindow.num_bytes = n * sizeof(int);
    window.accessPolicyWindow.hitRatio = 1;
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    CHECK(cudaStreamSetAttribute(one, cudaStreamAttributeAccessPolicyWindow, &window));
    CHECK(cudaStreamGetAttribute(one, cudaStreamAttributeAccessPolicyWindow, &read));
    EXPECT(read.accessPolicyWindow.base_ptr == x && read.accessPolicyWindow.num_bytes == n * sizeof(int));
    CHECK(cudaStreamCopyAttributes(two, one));
    gather<<<8, 128, 0, one>>>(x, y, n);
    if (!is_broken(argc, argv))
        CHECK(cudaStreamSynchronize(one));
    CHECK(cudaMemsetAsync(x, 1, n * sizeof(int), two));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaCtxResetPersistingL2Cache());
    CHECK(cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(two));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    EXPECT(got[9] == 0);
    return 0;
}
