// arch: sm_90
// Eight-bit floats.
#include <cuda_fp16.h>
#include <cuda_fp8.h>
extern "C" __global__ void fp8(const float *f, __nv_fp8_e4m3 *a, __nv_fp8x2_e5m2 *b, float2 *g)
{
    a[threadIdx.x] = __nv_fp8_e4m3(f[threadIdx.x]);
    b[threadIdx.x] = __nv_fp8x2_e5m2(make_float2(f[0], f[1]));
    g[0] = (float2)b[1];
    g[1].x = (float)a[2];
}
