// misaligned: pairs of halves are read at an odd element.
#include "app_check.h"

#include <cuda_fp16.h>

__global__ void axpy(__half a, const __half *x, __half *y, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) {
        __half2 v = ((const __half2 *)x)[i];
        ((__half2 *)y)[i] = __hfma2(__half2half2(a), v, ((__half2 *)y)[i]);
    }
}

int main(int argc, char **argv)
{
    const int n = 1000;
    static __half hx[n + 2], hy[n];
    __half *x, *y;
    for (int i = 0; i < n; i++) {
        hx[i] = __float2half((float)(i % 50));
        hy[i] = __float2half(1.0f);
    }
    hx[n] = hx[n + 1] = hy[0];
    CHECK(cudaMalloc(&x, sizeof hx));
    CHECK(cudaMalloc(&y, sizeof hy));
    CHECK(cudaMemcpy(x, hx, sizeof hx, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(y, hy, sizeof hy, cudaMemcpyHostToDevice));
    axpy<<<4, 128>>>(__float2half(2.0f), is_broken(argc, argv) ? x + 1 : x, y, n / 2);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(hy, y, sizeof hy, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    for (int i = 0; i < n; i++)
        EXPECT(__half2float(hy[i]) == 2 * (i % 50) + 1);
    return 0;
}
