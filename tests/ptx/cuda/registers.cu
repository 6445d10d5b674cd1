// Special registers.
#include <cstdint>
extern "C" __global__ void registers(uint32_t *y, long long *l)
{
    y[0] = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z) + blockDim.z;
    y[1] = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z) + gridDim.z;
    uint32_t lane, warp, sm, lt;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    y[2] = lane + warp * 32 + sm + lt + warpSize;
    l[0] = clock64();
    y[3] = clock();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(l[1]));
}
