// race: sums of tiles of a warp meet in shared memory, without a barrier of the block before they are added.
#include "app_check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

template <bool WAITS> __global__ void sum(const int *x, int *total, int n)
{
    __shared__ int sums[8];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + block.thread_rank(); i < n; i += gridDim.x * blockDim.x)
        mine += x[i];
    int warp = cg::reduce(tile, mine, cg::plus<int>());
    if (tile.thread_rank() == 0)
        sums[tile.meta_group_rank()] = warp;
    if (WAITS)
        cg::sync(block);
    if (block.thread_rank() == 0) {
        int all = 0;
        for (int i = 0; i < (int)tile.meta_group_size(); i++)
            all += sums[i];
        atomicAdd(total, all);
    }
}

int main(int argc, char **argv)
{
    const int n = 5000;
    int *x, *total, got = 0, *host = (int *)malloc(n * sizeof(int)), want = 0;
    for (int i = 0; i < n; i++)
        want += host[i] = i % 17;
    CHECK(cudaMalloc(&x, n * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMemcpy(x, host, n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(total, 0, sizeof(int)));
    if (is_broken(argc, argv))
        sum<false><<<4, 256>>>(x, total, n);
    else
        sum<true><<<4, 256>>>(x, total, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, total, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(total));
    free(host);
    EXPECT(got == want);
    return 0;
}
