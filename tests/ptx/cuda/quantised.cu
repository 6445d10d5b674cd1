// Four-bit weights unpacked into halves.
#include <cuda_fp16.h>
extern "C" __global__ void quantised(const unsigned *w, const half *scale, half2 *out)
{
    unsigned q = w[threadIdx.x];
    half2 s = __half2half2(scale[threadIdx.x >> 4]);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        unsigned pair = (q >> (4 * i)) & 0x000f000f;
        pair |= 0x64006400;
        half2 h = *(half2 *)&pair;
        out[threadIdx.x * 4 + i] = __hmul2(__hsub2(h, __float2half2_rn(1032.0f)), s);
    }
}
