// outside-copy: a copy to a variable of the device that is larger than the variable.
#include "app_check.h"

__constant__ float weights[4];
__device__ int counter;
__device__ float smoothed[64];

__global__ void smooth(const float *x)
{
    int i = threadIdx.x;
    float sum = 0;
    for (int j = 0; j < 4; j++)
        sum += weights[j] * x[i + j];
    smoothed[i] = sum;
    atomicAdd(&counter, 1);
}

int main(int argc, char **argv)
{
    float w[8] = {1, 2, 3, 4}, host[67], got[64], *x, *where;
    int count = 0;
    size_t bytes = 0;
    for (int i = 0; i < 67; i++)
        host[i] = (float)i;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        cudaMemcpyToSymbol(weights, w, sizeof w);
    CHECK(cudaMemcpyToSymbol(weights, w, 2 * sizeof(float)));
    CHECK(cudaMemcpyToSymbolAsync(weights, w + 2, 2 * sizeof(float), 2 * sizeof(float),
                                  cudaMemcpyHostToDevice, 0));
    CHECK(cudaMemcpyToSymbol(counter, &count, sizeof count));
    CHECK(cudaGetSymbolAddress((void **)&where, smoothed));
    CHECK(cudaGetSymbolSize(&bytes, smoothed));
    EXPECT(bytes == sizeof got);
    CHECK(cudaMemset(where, 0, bytes));
    smooth<<<1, 64>>>(x);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK(cudaMemcpy(got, where, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    EXPECT(count == 64);
    for (int i = 0; i < 64; i++)
        EXPECT(got[i] == 10 * i + 20);
    return 0;
}
