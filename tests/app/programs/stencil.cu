// uninitialised: a stencil whose halo nobody loads into shared memory.
#include "app_check.h"

enum { RADIUS = 3, BLOCK = 64 };
__constant__ float weight[2 * RADIUS + 1];

template <bool HALO> __global__ void stencil(const float *in, float *out, int n)
{
    __shared__ float row[BLOCK + 2 * RADIUS];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    row[t + RADIUS] = i < n ? in[i] : 0;
    if (HALO && t < RADIUS) {
        row[t] = i >= RADIUS ? in[i - RADIUS] : 0;
        row[t + RADIUS + BLOCK] = i + BLOCK < n ? in[i + BLOCK] : 0;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int j = 0; j <= 2 * RADIUS; j++)
        sum += weight[j] * row[t + j];
    if (i < n)
        out[i] = sum;
}

int main(int argc, char **argv)
{
    const int n = 500;
    float host[n], got[n], w[7] = {1, 2, 3, 4, 3, 2, 1}, *in, *out;
    for (int i = 0; i < n; i++)
        host[i] = (float)(i % 9);
    CHECK(cudaMemcpyToSymbol(weight, w, sizeof w));
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof host));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        stencil<false><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n);
    else
        stencil<true><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int j = -RADIUS; j <= RADIUS; j++)
            sum += i + j >= 0 && i + j < n ? w[j + RADIUS] * host[i + j] : 0;
        EXPECT(is_broken(argc, argv) || got[i] == sum);
    }
    return 0;
}
