// A tile written by rows and read by columns: no two accesses of a thread are neighbours.
__global__ void columns(const float *in, float *out)
{
    __shared__ float tile[1024];
    int x = threadIdx.x % 32, y = threadIdx.x / 32;
    for (int i = 0; i < 32; i += 8)
        tile[(y + i) * 32 + x] = in[(y + i) * 32 + x];
    __syncthreads();
    for (int i = 0; i < 32; i += 8)
        out[(y + i) * 32 + x] = tile[x * 32 + y + i];
}
