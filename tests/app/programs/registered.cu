// host-race: the host writes an array of its own that a copy still reads.
#include "app_check.h"

#include <vector>

__global__ void increment(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i]++;
}

int main(int argc, char **argv)
{
    const int n = 1 << 14;
    int *x, *mapped, *host = (int *)aligned_alloc(4096, n * sizeof(int));
    cudaStream_t s;
    for (int i = 0; i < n; i++)
        host[i] = i;
    CHECK(cudaHostRegister(host, n * sizeof(int), cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&mapped, host, 0));
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&x, n * sizeof(int)));
    CHECK(cudaMemcpyAsync(x, host, n * sizeof(int), cudaMemcpyHostToDevice, s));
    if (is_broken(argc, argv))
        host[5] = 0;
    increment<<<n / 256, 256, 0, s>>>(x, n);
    CHECK(cudaMemcpyAsync(host, x, n * sizeof(int), cudaMemcpyDeviceToHost, s));
    increment<<<n / 256, 256, 0, s>>>(mapped, n);
    CHECK(cudaStreamSynchronize(s));
    for (int i = 0; i < n; i++)
        EXPECT(host[i] == i + 2);
    CHECK(cudaHostUnregister(host));
    CHECK(cudaFree(x));
    CHECK(cudaStreamDestroy(s));
    free(host);
    return 0;
}
