// race: a filter that gets its operation by a function pointer works in place.
#include "app_check.h"

typedef float (*operation)(float, float);

__device__ float add(float a, float b) { return a + b; }
__device__ float most(float a, float b) { return a > b ? a : b; }
__device__ operation add_pointer = add, most_pointer = most;

__global__ void neighbours(operation f, const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n)
        out[i] = f(in[i], in[i + 1]);
}

int main(int argc, char **argv)
{
    const int n = 300;
    float host[n], got[n], *x, *y;
    operation f, g;
    for (int i = 0; i < n; i++)
        host[i] = (float)(i * 7 % 31);
    CHECK(cudaMemcpyFromSymbol(&f, add_pointer, sizeof f));
    CHECK(cudaMemcpyFromSymbol(&g, most_pointer, sizeof g));
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&y, sizeof host));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    neighbours<<<3, 128>>>(f, x, is_broken(argc, argv) ? x : y, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, y, (n - 1) * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT(is_broken(argc, argv) || got[3] == host[3] + host[4]);
    neighbours<<<3, 128>>>(g, x, y, n);
    CHECK(cudaMemcpy(got, y, (n - 1) * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    EXPECT(is_broken(argc, argv) || got[3] == fmaxf(host[3], host[4]));
    return 0;
}
