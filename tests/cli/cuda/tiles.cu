// Reductions over tiles, and copies by groups; test_cuda_headers.py.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>

namespace cg = cooperative_groups;

struct pair {
    int value, place;
};

__global__ void reductions(const int *x, int *o, unsigned long long *u, float *f, double *d, int *total, int *most)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(block);
    int t = block.thread_rank(), v = x[t];
    o[t] = cg::reduce(warp, v, cg::plus<int>());
    o[64 + t] = cg::reduce(eight, v, cg::less<int>());
    o[128 + t] = cg::reduce(eight, v, cg::greater<int>());
    o[192 + t] = cg::reduce(warp, 1 << (t & 7), cg::bit_or<int>());
    o[256 + t] = cg::reduce(eight, ~(1 << (t & 7)), cg::bit_and<int>());
    o[320 + t] = cg::reduce(eight, t, cg::bit_xor<int>());
    pair first = cg::reduce(warp, pair{v, t}, [](pair a, pair b) { return a.value < b.value || (a.value == b.value && a.place < b.place) ? a : b; });
    o[384 + t] = first.place;
    u[t] = cg::reduce(warp, (unsigned long long)t << 40, cg::plus<unsigned long long>());
    f[t] = cg::reduce(eight, 0.5f * t, cg::plus<float>());
    d[t] = cg::reduce(warp, 0.25 * t, cg::greater<double>());
    cuda::atomic_ref<int, cuda::thread_scope_block> sum(*total), high(*most);
    cg::reduce_update_async(warp, sum, v, cg::plus<int>());
    cg::reduce_update_async(eight, high, v, cg::greater<int>());
}

// The sum of a block: each warp reduces a part, and the first warp what they stored.
__global__ void block_sum(const int *x, int *o)
{
    __shared__ int parts[32], staged[128];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    cg::memcpy_async(block, staged, x, sizeof staged);
    cg::wait(block);
    int sum = cg::reduce(warp, staged[127 - block.thread_rank()], cg::plus<int>());
    if (warp.thread_rank() == 0)
        parts[warp.meta_group_rank()] = sum;
#ifdef RIGHT
    block.sync();
#endif
    if (warp.meta_group_rank() == 0) {
        sum = cg::reduce(warp, warp.thread_rank() < 4 ? parts[warp.thread_rank()] : 0, cg::plus<int>());
        if (warp.thread_rank() == 0)
            *o = sum;
    }
}

// The next stage is on its way while a stage is summed.
__global__ void stages(const float *x, float *o, int count)
{
    __shared__ float ring[2][64];
    auto block = cg::this_thread_block();
    float sum = 0;
    cg::memcpy_async(block, ring[0], 64, x, 64);
    for (int i = 0; i < count; i++) {
        if (i + 1 < count) {
            cg::memcpy_async(block, ring[(i + 1) % 2], x + (i + 1) * 64, cuda::aligned_size_t<16>(sizeof ring[0]));
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        sum += ring[i % 2][63 - block.thread_rank()];
#ifdef RIGHT
        block.sync();
#endif
    }
    o[block.thread_rank()] = sum;
}

// Every third thread takes part: one of them adds for all, and each gets a place of its own.
__global__ void places(int *count, int *place, int *sum, int *moved, long long *wide)
{
    int t = threadIdx.x;
    if (t % 3 == 0) {
        auto lanes = cg::coalesced_threads();
        int first = 0;
        if (lanes.thread_rank() == 0)
            first = atomicAdd(count, (int)lanes.size());
        place[t] = lanes.shfl(first, 0) + lanes.thread_rank();
        sum[t] = cg::reduce(lanes, t, cg::plus<int>()) + lanes.any(t == 3) + lanes.all(t == 3);
        moved[t] = lanes.shfl_down(t, 2) + 1000 * lanes.shfl_up(t, 1) + 1000000 * lanes.ballot(t > 10);
        wide[t] = lanes.shfl((long long)t << 40, 1);
#ifndef RIGHT
        cg::tiled_partition<32>(cg::this_thread_block()).sync();
#endif
    }
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto part = cg::binary_partition(warp, t < 5), same = cg::labeled_partition(warp, t % 7);
    sum[32 + t] = part.size() * 100 + part.thread_rank();
    moved[32 + t] = same.size() * 100 + same.thread_rank() + 10000 * cg::reduce(same, t, cg::greater<int>());
}

int main() { return 0; }
