// Asynchronous copies, in groups.
#include <cuda_pipeline.h>
extern "C" __global__ void copy_async(const float4 *x, float4 *y, int n)
{
    __shared__ __align__(16) float4 buffer[2][64];
    __pipeline_memcpy_async(&buffer[0][threadIdx.x], x + threadIdx.x, 16);
    __pipeline_commit();
    for (int i = 0; i < n; i++) {
        if (i + 1 < n)
            __pipeline_memcpy_async(&buffer[(i + 1) & 1][threadIdx.x], x + (i + 1) * 64 + threadIdx.x, 16, i & 8);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        y[i * 64 + threadIdx.x] = buffer[i & 1][63 - threadIdx.x];
        __syncthreads();
    }
    unsigned p = (unsigned)__cvta_generic_to_shared(&buffer[0][threadIdx.x]);
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 8, %2;" :: "r"(p), "l"(x), "r"(n & 8));
    asm volatile("cp.async.wait_all;");
}
