// Generic addresses: which space is known only at run time.
__device__ __noinline__ float load(const float *p, int i)
{
    return p[i];
}
extern "C" __global__ void pointers(float *g, int which)
{
    __shared__ float s[32];
    float l[4] = {g[0], g[1], g[2], g[3]};
    s[threadIdx.x] = g[threadIdx.x];
    __syncthreads();
    const float *p = which == 0 ? g : which == 1 ? s : l;
    g[threadIdx.x + 32] = load(p, threadIdx.x & 3) + __isShared(p) + __isGlobal(p);
}
