// Puzzle 8, shared memory: each element less its mirror image in the block.
#ifndef TPB
#define TPB 4
#endif

__global__ void mirror(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    tile[t] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n)
        out[i] = tile[t] - tile[TPB - 1 - t];
}
