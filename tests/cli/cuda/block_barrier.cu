// cuda::barrier and cuda::memcpy_async; test_cuda_headers.py.
#include <cooperative_groups.h>
#include <cuda/barrier>

using barrier = cuda::barrier<cuda::thread_scope_block>;

// The threads do work of their own between arrival and wait.
__global__ void split(const int *x, int *o)
{
    __shared__ barrier bar;
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        s[t] = x[t] + round;
        barrier::arrival_token token = bar.arrive();
        int own = x[t] * x[t];
#ifdef RIGHT
        bar.wait(cuda::std::move(token));
#else
        (void)token;
#endif
        o[round * 64 + t] = s[63 - t] + own;
        bar.arrive_and_wait();
    }
}

// Each thread copies 16 bytes, or all threads copy together.
__global__ void copies(const float4 *x, float *o, int *bytes, const char *odd)
{
    __shared__ barrier bar;
    __shared__ float4 s[64], all[64];
    __shared__ char few[24];
    auto block = cooperative_groups::this_thread_block();
    int t = block.thread_rank();
    if (t == 0)
        init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(&s[t], &x[t], sizeof(float4), bar);
    cuda::memcpy_async(block, all, x, cuda::aligned_size_t<16>(sizeof all), bar);
    cuda::memcpy_async(block, few, odd + 1, 23, bar);
#ifdef RIGHT
    bar.arrive_and_wait();
#endif
    o[t] = s[63 - t].x + all[t ^ 1].w;
    if (t < 23)
        bytes[t] = few[22 - t];
}

// Half of the threads leave the barrier.
__global__ void drops(int *o)
{
    __shared__ barrier bar;
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    s[t] = t;
    if (t >= 32) {
        bar.arrive_and_drop();
        return;
    }
    bar.arrive_and_wait();
    s[t] += s[t + 32];
    bar.arrive_and_wait();
    o[t] = s[31 - t];
}

int main() { return 0; }
