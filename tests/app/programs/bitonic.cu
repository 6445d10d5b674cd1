// race: a sorting network in shared memory that lacks a barrier between its steps.
#include "app_check.h"

template <bool WAITS> __global__ void sort(unsigned *x)
{
    __shared__ unsigned row[256];
    int t = threadIdx.x;
    row[t] = x[t];
    row[t + 128] = x[t + 128];
    for (int size = 2; size <= 256; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            if (WAITS || stride > 32)
                __syncthreads();
            int at = 2 * t - (t & (stride - 1));
            bool up = (at & size) == 0;
            unsigned a = row[at], b = row[at + stride];
            if ((a > b) == up) {
                row[at] = b;
                row[at + stride] = a;
            }
        }
    __syncthreads();
    x[t] = row[t];
    x[t + 128] = row[t + 128];
}

int main(int argc, char **argv)
{
    unsigned host[256], *x;
    for (unsigned i = 0; i < 256; i++)
        host[i] = i * 2654435761u;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        sort<false><<<1, 128>>>(x);
    else
        sort<true><<<1, 128>>>(x);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    for (int i = 1; i < 256; i++)
        EXPECT(is_broken(argc, argv) || host[i] >= host[i - 1]);
    return 0;
}
