// host-race: the host reads mapped memory that a kernel writes, without waiting.
#include "app_check.h"

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main(int argc, char **argv)
{
    const int n = 3000;
    float *a, *b, *c, *da, *db, *dc, seen = 0;
    cudaDeviceProp about;
    CHECK(cudaGetDeviceProperties(&about, 0));
    EXPECT(about.canMapHostMemory);
    CHECK(cudaHostAlloc(&a, n * sizeof(float), cudaHostAllocMapped));
    CHECK(cudaHostAlloc(&b, n * sizeof(float), cudaHostAllocMapped | cudaHostAllocWriteCombined));
    CHECK(cudaHostAlloc(&c, n * sizeof(float), cudaHostAllocMapped | cudaHostAllocPortable));
    for (int i = 0; i < n; i++) {
        a[i] = (float)i;
        b[i] = 1;
    }
    CHECK(cudaHostGetDevicePointer((void **)&da, a, 0));
    CHECK(cudaHostGetDevicePointer((void **)&db, b, 0));
    CHECK(cudaHostGetDevicePointer((void **)&dc, c, 0));
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    CHECK(cudaGetLastError());
    if (is_broken(argc, argv))
        seen = c[7];
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++)
        EXPECT(c[i] == i + 1);
    CHECK(cudaFreeHost(a));
    CHECK(cudaFreeHost(b));
    CHECK(cudaFreeHost(c));
    return seen < 0;
}
