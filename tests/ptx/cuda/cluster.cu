// arch: sm_90
// A cluster of blocks: each other's shared memory, barriers, dependent launches.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(int *x)
{
    __shared__ int s;
    cg::cluster_group c = cg::this_cluster();
    s = x[blockIdx.x];
    c.sync();
    x[blockIdx.x + 8] = *c.map_shared_rank(&s, c.block_rank() ^ 1) + c.num_blocks();
    c.sync();
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
}
