// race: a tree reduction in dynamic shared memory, without the barrier between its steps.
#include "app_check.h"

template <bool WAITS> __global__ void sum(const float *x, float *out)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int n = blockDim.x / 2; n > 0; n /= 2) {
        if (t < n)
            s[t] += s[t + n];
        if (WAITS)
            __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

int main(int argc, char **argv)
{
    const int n = 512;
    float x[n], *d, *out, got[2];
    for (int i = 0; i < n; i++)
        x[i] = 1;
    CHECK(cudaMalloc(&d, sizeof x));
    CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        sum<false><<<2, 256, 256 * sizeof(float)>>>(d, out);
    else
        sum<true><<<2, 256, 256 * sizeof(float)>>>(d, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    CHECK(cudaFree(out));
    printf("sums\n");
    return 0;
}
