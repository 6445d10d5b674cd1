// Single precision: roundings, approximations, comparisons.
extern "C" __global__ void floats(const float *x, float *y, int *i)
{
    float a = x[0], b = x[1], c = x[2];
    y[0] = __fadd_rz(a, b) + __fmul_ru(a, b) + __fmaf_rd(a, b, c) + __frcp_rn(a);
    y[1] = __fdividef(a, b) + __expf(a) + __logf(b) + __sinf(c) + __cosf(c) + __powf(a, b);
    y[2] = a / b + sqrtf(c) + rsqrtf(a) + __frsqrt_rn(b) + __fsqrt_rz(c);
    y[3] = fminf(a, b) + fmaxf(b, c) + fabsf(a) + copysignf(a, b) + __saturatef(c);
    y[4] = floorf(a) + ceilf(b) + truncf(c) + rintf(a) + roundf(b);
    y[5] = a < b || !(b <= c) ? a : c != a && b == c ? b : isnan(a) ? 0.0f : 1e30f;
    i[0] = (int)a + __float2int_rn(b) + __float2int_ru(c) + (int)__float2uint_rd(a);
    i[1] = __float_as_int(a) ^ (int)__float2ll_rz(b) ^ (signed char)c ^ (unsigned short)a;
    y[6] = __int_as_float(i[2]) + (float)i[3] + (float)(unsigned)i[4] + (float)(long long)i[5] + (float)(short)i[6];
    y[7] = ldexpf(a, i[7]) + fmodf(b, c);
}
