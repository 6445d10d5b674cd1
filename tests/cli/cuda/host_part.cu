// A whole program: clang reads its host part, with small versions of the toolkit's headers; test_cuda_host.py.
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda.h>
#include <cuda_fp16.h>
#include <iostream>
#include <memory>
#include <vector>

namespace cg = cooperative_groups;

__constant__ float weights[4];

__global__ void mix(int *o, unsigned long long *u, __half *h)
{
    int t = threadIdx.x;
    assert(o[t] >= 0);
    auto block = cg::this_thread_block();
    auto half_warp = cg::tiled_partition<16>(block);
    int next = half_warp.shfl_down(t, 1);
    o[t] = max(1, 2u) + min(5, t) + next + (int)block.size();
    h[t] = __float2half(1.5f) + h[t] * __half(2.0f);
    if (t == 0) {
        atomicCAS_system(u, 0ull, 2ull);
        atomicMax_system(u, 7ull);
        atomicAdd_system(u, 1ull);
        memset(u, 0, powf(2.0f, 0.0f) > 1.5f);
    }
}

__global__ void two_steps(int *a, int *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    cg::this_grid().sync();
    b[i] = a[gridDim.x * blockDim.x - 1 - i];
}

int main()
{
    int *d;
    float w[4] = {};
    std::vector<int> v(4);
    std::vector<half> halves(4, half(0.5f));
    w[0] = __half2float(halves[0]);
    auto shared = std::make_shared<int>(max(1, 2));
    cudaMalloc(&d, 128);
    cudaMemcpyToSymbol(weights, w, sizeof w);
    cudaFuncSetAttribute(mix, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
    mix<<<1, 32>>>(d, nullptr, nullptr);
    mix<<<dim3(1, 2), 32, 100, 0>>>(d, nullptr, nullptr);
    if (cudaGetLastError() != cudaSuccess)
        std::cerr << cudaGetErrorString(cudaPeekAtLastError()) << *shared << std::endl;
    assert(v.size() == 4);
    cudaMemcpy(v.data(), d, 16, cudaMemcpyDeviceToHost);
    cudaFree(d);
    return 0;
}
