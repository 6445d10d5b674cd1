// race (compute_90): a histogram in the shared memory of a cluster, read without a barrier of the cluster.
#include "app_check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

template <bool WAITS> __global__ void histogram(const int *x, int *bins, int n, int bins_of_block)
{
    extern __shared__ int mine[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x)
        mine[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int bin = x[i];
        int *there = cluster.map_shared_rank(mine, bin / bins_of_block);
        atomicAdd(there + bin % bins_of_block, 1);
    }
    if (WAITS)
        cluster.sync();
    else
        __syncthreads();
    int *to = bins + cluster.block_rank() * bins_of_block;
    for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x)
        atomicAdd(&to[i], mine[i]);
    cluster.sync();
}

int main(int argc, char **argv)
{
    const int n = 2000, clusters = 2, of_block = 32;
    int host[n], *x, *bins, got[2 * of_block], want[2 * of_block] = {0};
    for (int i = 0; i < n; i++)
        want[host[i] = i * 7 % (2 * of_block)]++;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&bins, sizeof got));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(bins, 0, sizeof got));
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {0};
    config.gridDim = 2 * clusters;
    config.blockDim = 64;
    config.dynamicSmemBytes = of_block * sizeof(int);
    config.attrs = &attribute;
    config.numAttrs = 1;
    int fit = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&fit, histogram<true>, &config));
    EXPECT(fit > 0);
    if (is_broken(argc, argv))
        CHECK(cudaLaunchKernelEx(&config, histogram<false>, (const int *)x, bins, n, of_block));
    else
        CHECK(cudaLaunchKernelEx(&config, histogram<true>, (const int *)x, bins, n, of_block));
    CHECK(cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(bins));
    EXPECT(is_broken(argc, argv) || memcmp(got, want, sizeof got) == 0);
    return 0;
}
