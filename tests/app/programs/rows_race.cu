// race: each thread writes an element of many rows and then reads its neighbour's of each row, without a barrier between.
#include "app_check.h"

enum { THREADS = 256, ROWS = 600 };

template <bool BARRIER> __global__ void rotate(int *x, int *sum)
{
    const int i = threadIdx.x, neighbour = (i + 1) % THREADS;
    int got = 0;
    for (int row = 0; row < ROWS; row++)
        x[row * THREADS + i] = row + i;
    if (BARRIER)
        __syncthreads();
    for (int row = 0; row < ROWS; row++)
        got += x[row * THREADS + neighbour];
    sum[i] = got;
}

int main(int argc, char **argv)
{
    int *x, *sum, got = 0;
    CHECK(cudaMalloc(&x, sizeof(int) * THREADS * ROWS));
    CHECK(cudaMemset(x, 0, sizeof(int) * THREADS * ROWS));
    CHECK(cudaMalloc(&sum, sizeof(int) * THREADS));
    if (is_broken(argc, argv))
        rotate<false><<<1, THREADS>>>(x, sum);
    else
        rotate<true><<<1, THREADS>>>(x, sum);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(sum));
    printf("%d\n", got);
    return 0;
}
