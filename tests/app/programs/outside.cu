// out-of-bounds: the last block has no test of the index.
#include "app_check.h"

template <bool TESTS> __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!TESTS || i < n)
        c[i] = a[i] + b[i];
}

int main(int argc, char **argv)
{
    const int n = 1000;
    float x[n] = {1}, *a, *b, *c;
    CHECK(cudaMalloc(&a, sizeof x));
    CHECK(cudaMalloc(&b, sizeof x));
    CHECK(cudaMalloc(&c, sizeof x));
    CHECK(cudaMemcpy(a, x, sizeof x, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, x, sizeof x, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        add<false><<<8, 128>>>(a, b, c, n);
    else
        add<true><<<8, 128>>>(a, b, c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(x, c, sizeof x, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    printf("%g\n", x[0]);
    return 0;
}
