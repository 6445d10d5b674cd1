// uninitialised: a kernel adds to memory of malloc that nothing has set; in the clean one it sets the memory first, and a later launch reads it.
#include "app_check.h"

__global__ void count(int **counts, int bins, bool sets)
{
    int *own = (int *)malloc(bins * sizeof(int));
    for (int i = 0; sets && i < bins; i++)
        own[i] = 0;
    for (int i = 0; i < 3; i++)
        own[(threadIdx.x + i) % bins] += 1;
    counts[threadIdx.x] = own;
}

__global__ void sum(int *const *counts, int bins, int *all)
{
    int *own = counts[threadIdx.x];
    for (int i = 0; i < bins; i++)
        atomicAdd(all, own[i]);
    free(own);
}

int main(int argc, char **argv)
{
    const int threads = 32, bins = 5;
    int **counts, *all, got = 0;
    CHECK(cudaMalloc(&counts, threads * sizeof(int *)));
    CHECK(cudaMalloc(&all, sizeof got));
    CHECK(cudaMemset(all, 0, sizeof got));
    count<<<1, threads>>>(counts, bins, !is_broken(argc, argv));
    CHECK(cudaGetLastError());
    sum<<<1, threads>>>(counts, bins, all);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, all, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == 3 * threads);
    CHECK(cudaFree(counts));
    CHECK(cudaFree(all));
    return 0;
}
