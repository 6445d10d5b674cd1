// out-of-bounds [--extended-lambda -std=c++17]: a lambda for each element of a grid, one column too many.
#include "app_check.h"

template <typename F> __global__ void for_each(int n, F f)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        f(i);
}

int main(int argc, char **argv)
{
    const int width = 30, height = 20;
    double *x, got[width * height];
    CHECK(cudaMalloc(&x, sizeof got));
    int n = (width + is_broken(argc, argv)) * height;
    for_each<<<2, 128>>>(n, [=] __device__(int i) { x[i] = sqrt((double)i) * (i % width); });
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    EXPECT(got[49] == 7 * 19);
    return 0;
}
