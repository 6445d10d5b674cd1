// race (compute_90): a block reads its neighbour's shared memory before the barrier of the cluster.
#include "app_check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void pass_on(int *out, bool waits)
{
    __shared__ int mine[32];
    cg::cluster_group cluster = cg::this_cluster();
    mine[threadIdx.x] = 100 * cluster.block_rank() + threadIdx.x;
    if (waits)
        cluster.sync();
    int *other = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % cluster.num_blocks());
    out[blockIdx.x * 32 + threadIdx.x] = other[threadIdx.x];
    cluster.sync();
}

int main(int argc, char **argv)
{
    enum { BLOCKS = 8 };
    int *out, got[BLOCKS * 32], clusters = 0;
    CHECK(cudaMalloc(&out, sizeof got));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 4;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = BLOCKS;
    config.blockDim = 32;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, pass_on, &config));
    CHECK(cudaLaunchKernelEx(&config, pass_on, out, !is_broken(argc, argv)));
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    attribute.val.clusterDim.x = 3; // does not divide the grid
    cudaError_t refused = cudaLaunchKernelEx(&config, pass_on, out, true);
    CHECK(cudaFree(out));
    printf("%d %s %d %d\n", clusters > 0, cudaGetErrorName(refused), got[0], got[3 * 32]);
    return cudaGetLastError() == cudaErrorInvalidClusterSize && (is_broken(argc, argv) || (got[0] == 100 && got[96] == 0)) ? 0 : 2;
}
