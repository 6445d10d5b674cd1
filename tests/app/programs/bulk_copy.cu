// proxy (compute_90): threads write shared memory that a bulk copy then stores, without a fence between.
#include "app_check.h"

#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;

template <bool FENCED> __global__ void increment(int *x)
{
    __shared__ alignas(128) int tile[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    int *mine = x + blockIdx.x * 256;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(tile, mine, cuda::aligned_size_t<16>(sizeof tile), barrier);
        token = barrier.arrive();
    } else {
        token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    tile[threadIdx.x]++;
    if (FENCED)
        ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, mine, tile, sizeof tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

int main(int argc, char **argv)
{
    const int n = 1024;
    int *x, host[n];
    for (int i = 0; i < n; i++)
        host[i] = i;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        increment<false><<<4, 256>>>(x);
    else
        increment<true><<<4, 256>>>(x);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    for (int i = 0; i < n; i++)
        EXPECT(is_broken(argc, argv) || host[i] == i + 1);
    return 0;
}
