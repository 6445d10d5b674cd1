// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void groups(const int *x, int *y)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int v = x[block.thread_rank()];
    y[block.thread_rank()] = cg::reduce(tile, v, cg::plus<int>()) + tile.shfl_xor(v, 3);
    block.sync();
    if (v & 1) {
        cg::coalesced_group some = cg::coalesced_threads();
        y[64 + some.thread_rank()] = some.size();
    }
}
