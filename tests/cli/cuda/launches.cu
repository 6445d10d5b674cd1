// Kernels for test_ptx_launch.py, which checks their launches, places and names. nvcc 13 made launches.ptx from them:
// nvcc -ptx -lineinfo -O3 -arch=sm_80 launches.cu, with `.file 1` made relative.
#include <cooperative_groups.h>

struct view {
    int *data;
    int n;
};

struct deep {
    char tag;
    struct {
        float *x;
        short k;
    } in;
    double scale;
    int sizes[3];
};

#pragma pack(push, 2)
struct packed {
    char tag;
    int *data;
    short n;
};
#pragma pack(pop)

__device__ int table[4];

__global__ void fill(view v)
{
    if (threadIdx.x < v.n)
        v.data[threadIdx.x] = threadIdx.x;
}

__global__ void nested(deep d, float4 shift, int *flags)
{
    flags[threadIdx.x] = d.tag + d.in.k + d.sizes[2];
    d.in.x[threadIdx.x] = d.in.x[threadIdx.x] * d.scale + shift.z;
}

__global__ void fill_packed(packed p)
{
    p.data[threadIdx.x] = p.n + p.tag;
}

__global__ void shift(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n)
        out[i] = in[i + 1];
}

__global__ void two_steps(int *a, int *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    cooperative_groups::this_grid().sync();
    b[i] = a[gridDim.x * blockDim.x - 1 - i];
}

__global__ void good(int *out)
{
    out[threadIdx.x] = table[threadIdx.x & 3];
}

__global__ void bad()
{
    *(int *)((char *)table + 1) = 42;
}

__global__ void sample(cudaTextureObject_t texture, float *out)
{
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 0);
}

__global__ void tally(int *n)
{
    if (threadIdx.x == 0)
        atomicAdd_block(n, 1);
}

__device__ __forceinline__ void put(int *where, int what)
{
    where[blockIdx.x ? 0 : 1] = what;
    atomicAdd_block(where + 1, 1);
}

__global__ void put_all(int *cells)
{
    put(cells, blockIdx.x);
}

template <class T>
__global__ void __launch_bounds__(64) scale(T *values /* in place */, const T *__restrict__ factor, int count = 1)
{
    if (threadIdx.x <= count)
        values[threadIdx.x] *= *factor;
}
template __global__ void scale<float>(float *, const float *, int);

struct settings {
    int n;
    float alpha;
    const float *in;
    short tag;
};

__global__ void weigh(settings s, float *out)
{
    if (threadIdx.x < s.n)
        out[threadIdx.x] = s.alpha * s.in[threadIdx.x] + s.tag;
}

__global__ void keep(settings s, settings *to)
{
    to[threadIdx.x] = s;
}
