// Half precision, alone and in pairs.
#include <cuda_fp16.h>
extern "C" __global__ void half_kernel(const half *x, half2 *y, float *f, half *z)
{
    half a = x[0], b = x[1];
    half2 v = y[0], w = y[1];
    z[0] = __hadd(a, b) * a - b / a;
    z[1] = __hfma(a, b, a);
    z[2] = hsqrt(a) + hexp(b) + hlog2(a);
    z[3] = __float2half_rn(f[0]) + __int2half_rn((int)f[1]);
    z[4] = __hmax(a, b);
    z[5] = a < b ? a : __hneg(b);
    y[2] = __hfma2(v, w, v) + __hmul2(v, w);
    y[3] = __floats2half2_rn(f[2], f[3]);
    y[4] = h2exp2(v);
    y[5] = __hmax2(v, w);
    y[6] = __hfma2_relu(v, w, v);
    f[4] = __half2float(a) + __low2float(v) + __high2float(w);
    f[5] = __hgt2(v, w).x;
    f[6] = (float)__half2int_rz(a) + __hbgt2(v, w);
    atomicAdd(y + 7, v);
}
