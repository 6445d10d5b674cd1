// host-race: the host reads managed memory that was moved for a kernel, before the kernel has ended.
#include "app_check.h"

__global__ void saxpy(float a, const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] += a * x[i];
}

int main(int argc, char **argv)
{
    const int n = 10000;
    float *x, *y, first = 0;
    cudaStream_t s;
    CHECK(cudaMallocManaged(&x, n * sizeof(float)));
    CHECK(cudaMallocManaged(&y, n * sizeof(float)));
    CHECK(cudaStreamCreate(&s));
    for (int i = 0; i < n; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
#if CUDART_VERSION >= 13000
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    CHECK(cudaMemAdvise(x, n * sizeof(float), cudaMemAdviseSetReadMostly, device));
    CHECK(cudaMemPrefetchAsync(x, n * sizeof(float), device, 0, s));
    CHECK(cudaMemPrefetchAsync(y, n * sizeof(float), device, 0, s));
#else
    CHECK(cudaMemAdvise(x, n * sizeof(float), cudaMemAdviseSetReadMostly, 0));
    CHECK(cudaMemPrefetchAsync(x, n * sizeof(float), 0, s));
    CHECK(cudaMemPrefetchAsync(y, n * sizeof(float), 0, s));
#endif
    int mostly, fetched, by[2];
    CHECK(cudaMemRangeGetAttribute(&mostly, sizeof mostly, cudaMemRangeAttributeReadMostly, x, n * sizeof(float)));
    CHECK(cudaMemRangeGetAttribute(&fetched, sizeof fetched, cudaMemRangeAttributeLastPrefetchLocation, y + 10, 400));
    CHECK(cudaMemRangeGetAttribute(by, sizeof by, cudaMemRangeAttributeAccessedBy, x, 4));
    EXPECT(mostly == 1 && fetched == 0 && by[0] == cudaInvalidDeviceId && by[1] == cudaInvalidDeviceId);
    CHECK(cudaMemRangeGetAttribute(&mostly, sizeof mostly, cudaMemRangeAttributeReadMostly, y, n * sizeof(float)));
    EXPECT(mostly == 0);
    saxpy<<<4, 256, 0, s>>>(2, x, y, n);
    CHECK(cudaGetLastError());
    if (is_broken(argc, argv))
        first = y[0];
    CHECK(cudaStreamSynchronize(s));
    for (int i = 0; i < n; i++)
        EXPECT(y[i] == 2 * i + 1);
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return first < 0;
}
