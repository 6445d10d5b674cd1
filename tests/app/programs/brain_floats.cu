// uninitialised: a row of bfloat16 weights was never copied to the device.
#include "app_check.h"

#include <cuda_bf16.h>

__global__ void softmax(const __nv_bfloat16 *x, const __nv_bfloat16 *bias, float *y, int n)
{
    const __nv_bfloat16 *row = x + blockIdx.x * n;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        most = fmaxf(most, __bfloat162float(__hadd(row[i], bias[i])));
    for (int d = 16; d; d /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    for (int i = threadIdx.x; i < n; i += 32)
        sum += __expf(__bfloat162float(row[i] + bias[i]) - most);
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = threadIdx.x; i < n; i += 32)
        y[blockIdx.x * n + i] = __expf(__bfloat162float(row[i] + bias[i]) - most) / sum;
}

int main(int argc, char **argv)
{
    const int rows = 4, n = 100;
    static __nv_bfloat16 host[rows * n], weights[n];
    static float got[rows * n];
    __nv_bfloat16 *x, *bias;
    float *y;
    for (int i = 0; i < rows * n; i++)
        host[i] = __float2bfloat16((float)(i % 13) / 4);
    for (int i = 0; i < n; i++)
        weights[i] = __float2bfloat16(0.5f);
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&bias, sizeof weights));
    CHECK(cudaMalloc(&y, sizeof got));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    if (!is_broken(argc, argv))
        CHECK(cudaMemcpy(bias, weights, sizeof weights, cudaMemcpyHostToDevice));
    softmax<<<rows, 32>>>(x, bias, y, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(bias));
    CHECK(cudaFree(y));
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += got[r * n + i];
        EXPECT(is_broken(argc, argv) || (sum > 0.999f && sum < 1.001f));
    }
    return 0;
}
