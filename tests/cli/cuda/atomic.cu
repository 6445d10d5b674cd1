// cuda::atomic and cuda::atomic_ref; test_cuda_headers.py.
#include <cuda/atomic>
#include <vector>

using counter = cuda::atomic<int, cuda::thread_scope_device>;

#ifdef RIGHT
constexpr auto written = cuda::memory_order_release, seen = cuda::memory_order_acquire;
#else
constexpr auto written = cuda::memory_order_relaxed, seen = cuda::std::memory_order_relaxed;
#endif

__global__ void updates(int *i, unsigned long long *u, float *f, unsigned char *b, short *s, double *d)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> block;
    if (threadIdx.x == 0)
        block.store(0, cuda::memory_order_relaxed);
    __syncthreads();
    block++;
    block.fetch_xor(1u << (threadIdx.x & 3) << 8, cuda::memory_order_acq_rel);
    cuda::atomic_ref<int, cuda::thread_scope_device> add(i[0]), least(i[1]), most(i[2]), last(i[3]), swapped(i[4]);
    add.fetch_add(t, cuda::memory_order_relaxed);
    add -= 1;
    least.fetch_min(-t);
    most.fetch_max(t, cuda::memory_order_release);
    int old = last.load();
    while (!last.compare_exchange_weak(old, old + 2, cuda::memory_order_release, cuda::memory_order_acquire))
        ;
    cuda::atomic_ref<int> all(i[5]);
    all |= 1 << (t & 7);
    cuda::std::atomic_ref<unsigned long long> wide(u[0]), mask(u[1]);
    wide.fetch_add(1ull << 33);
    mask.fetch_or(1ull << t);
    cuda::atomic_ref<float> sum(f[0]), smallest(f[1]);
    sum.fetch_add(0.5f);
    smallest.fetch_min(-0.5f * t);
    cuda::atomic_ref<double, cuda::thread_scope_device> total(d[0]);
    total += 0.25;
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device> byte(b[t & 3]);
    byte.fetch_add(1);
    if (t == 5)
        cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(b[5]).store(cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(b[6]).load() + 3);
    cuda::atomic_ref<short, cuda::thread_scope_device> half(s[0]);
    half.fetch_sub(1);
    if (t == 0)
        i[7] = swapped.exchange(9) == 0;
    __syncthreads();
    if (threadIdx.x == 0)
        i[8 + blockIdx.x] = block;
}

__global__ void message(int *data, counter *ready, int *o)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x + 1;
        __syncthreads();
        if (threadIdx.x == 0)
            ready->store(1, written);
    } else {
        if (threadIdx.x == 0)
            while (ready->load(seen) != 1)
                ;
        __syncthreads();
        o[threadIdx.x] = data[31 - threadIdx.x];
    }
}

__global__ void fences(int *data, int *flag, int *o)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        *data = 7;
#ifdef RIGHT
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
#else
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_block);
#endif
        ready.store(1, cuda::memory_order_relaxed);
    } else {
        ready.wait(0, cuda::memory_order_relaxed);
        cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
        *o = *data;
    }
}

int main()
{
    std::vector<int> host(4);
    std::size_t count = host.size();
    return (int)count - 4;
}
