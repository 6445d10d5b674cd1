// A row a block, three passes.
extern "C" __global__ void softmax(const float *x, float *y, int n)
{
    __shared__ float part[32];
    const float *row = x + (size_t)blockIdx.x * n;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        top = fmaxf(top, row[i]);
    for (int d = 16; d; d >>= 1)
        top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    if ((threadIdx.x & 31) == 0)
        part[threadIdx.x >> 5] = top;
    __syncthreads();
    for (int w = 0; w < blockDim.x >> 5; w++)
        top = fmaxf(top, part[w]);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += __expf(row[i] - top);
    for (int d = 16; d; d >>= 1)
        sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[(size_t)blockIdx.x * n + i] = __fdividef(__expf(row[i] - top), sum);
}
