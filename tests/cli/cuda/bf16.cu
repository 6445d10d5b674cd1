// Numbers of type bfloat16; test_cuda_headers.py.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

__global__ void numbers(const float *x, float *o, int *i)
{
    int t = threadIdx.x, k = 0;
    __nv_bfloat16 a = __float2bfloat16(x[t]), b = __float2bfloat16_rz(x[t]), c(3);
    __nv_bfloat162 v = __floats2bfloat162_rn(x[t], -2.0f), w = __bfloat162bfloat162(c);
    float values[] = {
        a, b, __float2bfloat16_ru(x[t]), __float2bfloat16_rd(x[t]), __double2bfloat16(1.00390625000001),
        __nv_bfloat16(16843010), __nv_bfloat16((unsigned long long)0x8080000000000001), __hfma(a, c, c), a + c, a - c, a * c, a / c, -a, __habs(a),
        __hmul_sat(a, c), __hfma_relu(a, c, c), __hmax(a, c), __hmin_nan(a, c), __low2float(v * w), __high2float(__hadd2(v, w)),
        hsqrt(__nv_bfloat16(16.0f)), hfloor(a), __high2float(h2rcp(v)), __shfl_xor_sync(0xffffffff, a, 1), __bfloat1622float2(__hfma2(v, w, w)).y,
        __low2float(__hlt2(v, w)), __high2float(__lowhigh2highlow(v)), __ushort_as_bfloat16(0x4049)};
    for (float value : values)
        o[k++ * 32 + t] = value;
    __nv_bfloat16 none = __ushort_as_bfloat16(0x7fff);
    a += c;
    a *= c;
    i[t] = (a > c) | (a == a) << 1 | (none != none) << 2 | __hne(none, none) << 3 | __hltu(none, c) << 4 | __hisnan(none) << 5 | __hbgt2(v, w) << 6 |
           (__bfloat162int_rn(a) & 255) << 8 | (__bfloat16_as_ushort(c) & 255) << 16 | __hequ(none, c) << 24 | __hgt(none, c) << 25;
}

__global__ void sums(__nv_bfloat16 *sum, __nv_bfloat162 *pairs)
{
    atomicAdd(sum, __nv_bfloat16(0.5f));
    atomicAdd(pairs, __floats2bfloat162_rn(1.0f, 0.25f));
}

__global__ void neighbours(const nv_bfloat16 *x, nv_bfloat16 *o)
{
    __shared__ nv_bfloat16 s[64];
    int t = threadIdx.x;
    s[t] = x[t];
#ifdef RIGHT
    __syncthreads();
#endif
    o[t] = s[63 - t] + __float2bfloat16(1.0f);
}

// Comparisons with a NaN, of halves; a shuffle of 64 bits.
__global__ void compare(const half *x, unsigned long long *o)
{
    half none = __ushort_as_half(0x7fff), v = x[threadIdx.x];
    unsigned long long bits = __hne(v, none) | __hneu(v, none) << 1 | (v != none) << 2 | __hne(v, half(1.0f)) << 3 | __heq(v, v) << 4;
    o[threadIdx.x] = __shfl_down_sync(0xffffffff, bits << 40, 1);
}

int main()
{
    std::vector<nv_bfloat16> host(64, __float2bfloat16(0.5f));
    return host[0] < host[1] || __bfloat162float(host[2]) != 0.5f;
}
