// An inclusive sum over a warp, then over the block.
extern "C" __global__ void scan(const int *x, int *y)
{
    __shared__ int sums[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, v = x[threadIdx.x];
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(~0u, v, d);
        if (lane >= d)
            v += u;
    }
    if (lane == 31)
        sums[warp] = v;
    __syncthreads();
    int before = 0;
    for (int w = 0; w < warp; w++)
        before += sums[w];
    y[threadIdx.x] = v + before;
}
