// uninitialised: a kernel reads the half of an array that the host did not copy.
#include "app_check.h"

__constant__ float weights[3];

__global__ void smooth(const float *x, float *y, int n)
{
    int i = threadIdx.x;
    if (i > 0 && i < n - 1)
        y[i] = weights[0] * x[i - 1] + weights[1] * x[i] + weights[2] * x[i + 1];
}

int main(int argc, char **argv)
{
    const int n = 64;
    float given[3] = {0.25f, 0.5f, 0.25f}, x[n], *d, *out;
    for (int i = 0; i < n; i++)
        x[i] = (float)i;
    CHECK(cudaMemcpyToSymbol(weights, given, sizeof given));
    CHECK(cudaMalloc(&d, sizeof x));
    CHECK(cudaMalloc(&out, sizeof x));
    CHECK(cudaMemset(out, 0, sizeof x));
    CHECK(cudaMemcpy(d, x, is_broken(argc, argv) ? sizeof x / 2 : sizeof x,
                     cudaMemcpyHostToDevice));
    smooth<<<1, n>>>(d, out, n);
    CHECK(cudaMemcpy(x, out, sizeof x, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
    CHECK(cudaFree(out));
    printf("%g\n", x[1]);
    return 0;
}
