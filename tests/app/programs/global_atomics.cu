// scope: a counter of all blocks is counted with atomics of the block's scope.
#include "app_check.h"

#include <cuda/atomic>

__global__ void count(int *x, bool broken)
{
    if (broken) {
        cuda::atomic_ref<int, cuda::thread_scope_block> mine(*x);
        mine.fetch_add(1, cuda::memory_order_relaxed);
    } else {
        cuda::atomic_ref<int, cuda::thread_scope_device> mine(*x);
        mine.fetch_add(1, cuda::memory_order_relaxed);
    }
    atomicMax(&x[1], (int)(blockIdx.x * blockDim.x + threadIdx.x));
    atomicXor(&x[2], 1 << (threadIdx.x % 32));
    atomicCAS(&x[3], 0, 7);
    atomicExch(&x[4], 5);
    atomicSub(&x[5], 2);
}

int main(int argc, char **argv)
{
    int *x, got[6];
    CHECK(cudaMalloc(&x, sizeof got));
    CHECK(cudaMemset(x, 0, sizeof got));
    count<<<4, 64>>>(x, is_broken(argc, argv));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    EXPECT(got[0] == 256 && got[1] == 255 && got[2] == 0 && got[3] == 7 && got[4] == 5 && got[5] == -512);
    return 0;
}
