// race: the last block adds up the sums of all blocks, which were written without a fence.
#include "app_check.h"

__device__ unsigned finished;

template <bool FENCED> __global__ void total(const int *x, int *sums, int *out, int n)
{
    __shared__ int part[128];
    __shared__ bool last;
    int sum = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
        sum += x[i];
    part[threadIdx.x] = sum;
    for (int d = 64; d; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d)
            part[threadIdx.x] += part[threadIdx.x + d];
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = part[0];
        if (FENCED)
            __threadfence();
        last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
        if (FENCED)
            __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int i = 0; i < gridDim.x; i++)
            all += sums[i];
        *out = all;
        finished = 0;
    }
}

int main(int argc, char **argv)
{
    const int n = 3000;
    int host[n], *x, *sums, *out, got = 0, want = 0;
    for (int i = 0; i < n; i++)
        want += host[i] = i % 11;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&sums, 6 * sizeof(int)));
    CHECK(cudaMalloc(&out, sizeof(int)));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    for (int i = 0; i < 2; i++)
        if (is_broken(argc, argv))
            total<false><<<6, 128>>>(x, sums, out, n);
        else
            total<true><<<6, 128>>>(x, sums, out, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(sums));
    CHECK(cudaFree(out));
    EXPECT(got == want);
    return 0;
}
