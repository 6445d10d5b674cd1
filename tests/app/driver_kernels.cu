// Kernels of driver_api.c.
__constant__ int factor[2];
__device__ int calls;

extern "C" __global__ void scale(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = factor[1] * in[i];
    if (i == 0)
        atomicAdd(&calls, 1);
}

// Each thread reads its neighbour's element before the barrier that would order it.
extern "C" __global__ void rotate(const int *in, int *out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
}

extern "C" __global__ void rotate_in_order(const int *in, int *out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
}
