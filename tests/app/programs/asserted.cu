// trap: an assert in a kernel fails.
#include "app_check.h"

#include <assert.h>

__global__ void check(const int *x, int limit)
{
    assert(x[threadIdx.x] < limit);
}

int main(int argc, char **argv)
{
    int host[64], *x;
    for (int i = 0; i < 64; i++)
        host[i] = i;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    check<<<1, 64>>>(x, is_broken(argc, argv) ? 60 : 64);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(x));
    return 0;
}
