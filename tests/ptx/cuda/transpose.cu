// Through padded shared memory.
extern "C" __global__ void transpose(const float *x, float *y, int w, int h)
{
    __shared__ float tile[32][33];
    int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (i < w && j + k < h)
            tile[threadIdx.y + k][threadIdx.x] = x[(j + k) * w + i];
    __syncthreads();
    i = blockIdx.y * 32 + threadIdx.x;
    j = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (i < h && j + k < w)
            y[(j + k) * h + i] = tile[threadIdx.x][threadIdx.y + k];
}
