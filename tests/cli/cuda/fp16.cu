// Numbers of type half; test_cuda_headers.py.
#include <cuda_fp16.h>
#include <vector>

__global__ void numbers(const float *x, float *o, int *i)
{
    int t = threadIdx.x, k = 0;
    half a = __float2half(x[t]), b = __float2half_rz(x[t]), c(3);
    half2 v = __floats2half2_rn(x[t], -2.0f), w = __half2half2(c);
    float values[] = {
        a, b, __float2half_ru(x[t]), __float2half_rd(x[t]), __double2half(1.00048828125001), half(70000), half((unsigned long long)2049),
        __hfma(a, c, c), a + c, a - c, a * c, a / c, -a, __habs(a), __hmul_sat(a, c), __hfma_relu(a, c, c), __hmax(a, c), __hmin_nan(a, c),
        __low2float(v * w), __high2float(__hadd2(v, w)), hsqrt(half(16.0f)), hfloor(a), __high2float(h2rcp(v)), __shfl_xor_sync(0xffffffff, a, 1),
        __half22float2(__hfma2(v, w, w)).y, __low2float(__hlt2(v, w)), __high2float(__lowhigh2highlow(v)), __ushort_as_half(0x4249),
        __uint2half_rn(65519u), hexp(half(0.0f)), htrunc(a), __low2float(__lows2half2(v, w))};
    for (float value : values)
        o[k++ * 32 + t] = value;
    half none = __ushort_as_half(0x7fff);
    a += c;
    a *= c;
    i[t] = (a > c) | (a == a) << 1 | (none != none) << 2 | __hne(none, none) << 3 | __hltu(none, c) << 4 | __hisnan(none) << 5 | __hbgt2(v, w) << 6 |
           __hisinf(half(1e9f)) << 7 | (__half2int_rn(a) & 255) << 8 | (__half_as_ushort(c) >> 8) << 16 | __hequ(none, c) << 24 | __hgt(none, c) << 25;
}

__global__ void sums(half *sum, half2 *pairs)
{
    atomicAdd(sum, half(0.5f));
    atomicAdd(pairs, __floats2half2_rn(1.0f, 0.25f));
}

__global__ void neighbours(const half2 *x, half2 *o)
{
    __shared__ half2 s[64];
    int t = threadIdx.x;
    s[t] = x[t];
#ifdef RIGHT
    __syncthreads();
#endif
    o[t] = s[63 - t] + __float2half2_rn(1.0f);
}

int main()
{
    std::vector<half> host(64, __float2half(0.5f));
    return host[0] < host[1] || __half2float(host[2]) != 0.5f;
}
