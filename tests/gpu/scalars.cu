// Four neighbours a thread, one by one: the assembler merges them into one access.
__global__ void scalars(const float *in, float *out)
{
    __shared__ float tile[1024];
    int t = threadIdx.x;
    for (int i = 0; i < 4; i++)
        tile[4 * t + i] = in[t + 256 * i];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 4; i++)
        sum += tile[4 * (t ^ 1) + i];
    out[t] = sum;
}
