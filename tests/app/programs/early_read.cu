// host-race: the host reads pinned memory while a copy into it may still be under way.
#include "app_check.h"

__global__ void fill(int *x)
{
    x[threadIdx.x] = threadIdx.x + 1;
}

int main(int argc, char **argv)
{
    int *x, *host;
    cudaStream_t s;
    CHECK(cudaMalloc(&x, 64 * sizeof(int)));
    CHECK(cudaMallocHost(&host, 64 * sizeof(int)));
    CHECK(cudaStreamCreate(&s));
    memset(host, 0, 64 * sizeof(int));
    fill<<<1, 64, 0, s>>>(x);
    CHECK(cudaMemcpyAsync(host, x, 64 * sizeof(int), cudaMemcpyDeviceToHost, s));
    if (!is_broken(argc, argv))
        CHECK(cudaStreamSynchronize(s));
    int last = host[63];
    printf("%d\n", last);
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaFree(x));
    CHECK(cudaFreeHost(host));
    return 0;
}
