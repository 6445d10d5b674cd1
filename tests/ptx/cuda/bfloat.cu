// bfloat16, alone and in pairs.
#include <cuda_bf16.h>
extern "C" __global__ void bfloat(const __nv_bfloat16 *x, __nv_bfloat162 *y, float *f, __nv_bfloat16 *z)
{
    __nv_bfloat16 a = x[0], b = x[1];
    __nv_bfloat162 v = y[0], w = y[1];
    z[0] = __hadd(a, b);
    z[1] = __hfma(a, b, a);
    z[2] = __float2bfloat16_rn(f[0]);
    z[3] = __hmin(a, b);
    y[2] = __hfma2(v, w, v);
    y[3] = __floats2bfloat162_rn(f[1], f[2]);
    y[4] = __hmul2(v, w);
    f[3] = __bfloat162float(a) + __low2float(v);
    f[4] = a > b;
}
