// out-of-bounds: the times of blocks, of which the last lies beyond the array.
#include "app_check.h"

__global__ void timed(const float *x, float *out, clock_t *times)
{
    int t = threadIdx.x;
    long long began = clock64();
    if (t == 0)
        times[blockIdx.x] = clock();
    out[blockIdx.x * blockDim.x + t] = sinf(x[t]) * sinf(x[t]) + cosf(x[t]) * cosf(x[t]);
    __syncthreads();
    __nanosleep(100);
    if (t == 0)
        times[blockIdx.x + gridDim.x] = clock();
    if (clock64() < began)
        out[0] = -1;
}

int main(int argc, char **argv)
{
    const int blocks = 8;
    float host[64], got[blocks * 64], *x, *out;
    clock_t *times, took[2 * blocks];
    for (int i = 0; i < 64; i++)
        host[i] = (float)i / 3;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMalloc(&times, (2 * blocks - is_broken(argc, argv)) * sizeof(clock_t)));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    timed<<<blocks, 64>>>(x, out, times);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(took, times, sizeof took, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(out));
    CHECK(cudaFree(times));
    for (int i = 0; i < blocks * 64; i++)
        EXPECT(got[i] > 0.9999f && got[i] < 1.0001f);
    for (int i = 0; i < blocks; i++)
        EXPECT(took[i + blocks] > took[i]);
    return 0;
}
