// race: the bins of a block are counted before all of them are zero.
#include "app_check.h"

enum { BINS = 64 };

template <bool WAITS> __global__ void histogram(const unsigned char *x, unsigned *bins, int n)
{
    __shared__ unsigned mine[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        mine[i] = 0;
    if (WAITS)
        __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[x[i] % BINS], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        atomicAdd(&bins[i], mine[i]);
}

int main(int argc, char **argv)
{
    const int n = 4096;
    unsigned char *x, host[n];
    unsigned *bins, got[BINS], want[BINS] = {0};
    for (int i = 0; i < n; i++)
        want[(host[i] = (unsigned char)(i * i)) % BINS]++;
    CHECK(cudaMalloc(&x, n));
    CHECK(cudaMalloc(&bins, sizeof got));
    CHECK(cudaMemcpy(x, host, n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(bins, 0, sizeof got));
    if (is_broken(argc, argv))
        histogram<false><<<3, 128>>>(x, bins, n);
    else
        histogram<true><<<3, 128>>>(x, bins, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(bins));
    EXPECT(memcmp(got, want, sizeof got) == 0);
    return 0;
}
