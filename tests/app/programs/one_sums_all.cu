// race: one thread adds what all threads of the block write, without a barrier between.
#include "app_check.h"

enum { THREADS = 128 };

template <bool WAITS> __global__ void sum(const int *in, int *out)
{
    __shared__ int part[THREADS];
    int x = threadIdx.x, all = 0;
    part[x] = in[x] + x;
    if (WAITS)
        __syncthreads();
    if (x == 0) {
        for (int i = 0; i < THREADS; i++)
            all += part[i];
        *out = all;
    }
}

int main(int argc, char **argv)
{
    int *in, *out, got;
    CHECK(cudaMalloc(&in, THREADS * sizeof(int)));
    CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMemset(in, 0, THREADS * sizeof(int)));
    if (is_broken(argc, argv))
        sum<false><<<1, THREADS>>>(in, out);
    else
        sum<true><<<1, THREADS>>>(in, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    printf("%s\n", is_broken(argc, argv) || got == THREADS * (THREADS - 1) / 2 ? "ok" : "wrong");
    return 0;
}
