// uninitialised: 8 lanes of a warp add their values as if all 32 took part.
#include "app_check.h"

enum { LANES = 8 };

__global__ void partial_sum(const float *x, float *sum, int first)
{
    if (threadIdx.x < LANES) {
        float v = x[threadIdx.x];
        for (int d = first; d > 0; d /= 2)
            v += __shfl_down_sync((1u << LANES) - 1, v, d);
        if (threadIdx.x == 0)
            *sum = v;
    }
}

int main(int argc, char **argv)
{
    float *x, *sum, host[LANES], got;
    for (int i = 0; i < LANES; i++)
        host[i] = (float)i;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&sum, sizeof got));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    partial_sum<<<1, 32>>>(x, sum, is_broken(argc, argv) ? 16 : LANES / 2);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(sum));
    EXPECT(is_broken(argc, argv) || got == 28);
    return 0;
}
