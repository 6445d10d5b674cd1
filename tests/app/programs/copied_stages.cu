// async-race: a pipeline of copies whose stage is read before the copy has arrived.
#include "app_check.h"

#include <cuda_pipeline.h>

template <bool WAITS> __global__ void sums(const float4 *in, float *out, int tiles)
{
    __shared__ float4 stage[2][128];
    int t = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(float4));
    __pipeline_commit();
    for (int i = 0; i < tiles; i++) {
        if (i + 1 < tiles)
            __pipeline_memcpy_async(&stage[(i + 1) % 2][t], &in[(i + 1) * 128 + t], sizeof(float4));
        __pipeline_commit();
        if (WAITS)
            __pipeline_wait_prior(1);
        float4 v = stage[i % 2][t];
        sum += v.x + v.y + v.z + v.w;
    }
    __pipeline_wait_prior(0);
    out[t] = sum;
}

int main(int argc, char **argv)
{
    const int tiles = 5;
    float4 host[tiles * 128], *in;
    float *out, got[128];
    for (int i = 0; i < tiles * 128; i++)
        host[i] = make_float4(1, 2, 3, (float)(i % 128));
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        sums<false><<<1, 128>>>(in, out, tiles);
    else
        sums<true><<<1, 128>>>(in, out, tiles);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    for (int i = 0; i < 128; i++)
        EXPECT(is_broken(argc, argv) || got[i] == tiles * (6 + i));
    return 0;
}
