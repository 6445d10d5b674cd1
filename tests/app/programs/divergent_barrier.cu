// divergent-barrier: half a warp waits at a barrier that the other half passes.
#include "app_check.h"

__global__ void shift(int *x, int n)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < n)
        __syncthreads();
    x[t] = s[(t + 1) % 64];
}

int main(int argc, char **argv)
{
    int x[64] = {1}, *d;
    CHECK(cudaMalloc(&d, sizeof x));
    CHECK(cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice));
    shift<<<1, 64>>>(d, is_broken(argc, argv) ? 48 : 64);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(d));
    printf("shifted\n");
    return 0;
}
