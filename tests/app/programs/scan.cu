// race: a prefix sum in place, whose threads write before the others have read.
#include "app_check.h"

template <bool WAITS> __global__ void scan(const int *in, int *out, int n)
{
    extern __shared__ int row[];
    int t = threadIdx.x;
    row[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int step = 1; step < (int)blockDim.x; step *= 2) {
        int left = t >= step ? row[t - step] : 0;
        if (WAITS)
            __syncthreads();
        row[t] += left;
        __syncthreads();
    }
    if (t < n)
        out[t] = row[t];
}

int main(int argc, char **argv)
{
    const int n = 200;
    int *in, *out, host[n], got[n], sum = 0;
    for (int i = 0; i < n; i++)
        host[i] = i % 7 - 2;
    CHECK(cudaMalloc((void **)&in, sizeof host));
    CHECK(cudaMalloc((void **)&out, sizeof host));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyDefault));
    if (is_broken(argc, argv))
        scan<false><<<1, 256, 256 * sizeof(int)>>>(in, out, n);
    else
        scan<true><<<1, 256, 256 * sizeof(int)>>>(in, out, n);
    CHECK(cudaPeekAtLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDefault));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    for (int i = 0; i < n; i++)
        EXPECT(got[i] == (sum += host[i]));
    return 0;
}
