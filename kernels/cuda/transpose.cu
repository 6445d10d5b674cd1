// out = in transposed, n × n, by tiles of 32 × 32 through shared memory, so that both sides of it access global memory in
// rows. PAD widens the rows of the tile.
#ifndef PAD
#define PAD 0
#endif

__global__ void transpose(const float *in, float *out, int n)
{
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += blockDim.y)
        tile[i][threadIdx.x] = in[(y + i) * n + x + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += blockDim.y)
        out[(x + i) * n + y + threadIdx.x] = tile[threadIdx.x][i];
}
