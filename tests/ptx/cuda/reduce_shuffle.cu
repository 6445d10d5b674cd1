// Shuffles of each kind.
extern "C" __global__ void reduce(const float *x, float *y, int *z)
{
    float v = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    float w = __shfl_up_sync(~0u, v, 1, 8) + __shfl_down_sync(~0u, v, 2) + __shfl_sync(~0u, v, 3, 16);
    y[threadIdx.x] = w;
    long long l = z[threadIdx.x];
    l += __shfl_xor_sync(0xffffffffu, l, 7);
    double d = __shfl_down_sync(0xffffffffu, (double)v, 4);
    z[threadIdx.x] = (int)l + (int)d;
}
