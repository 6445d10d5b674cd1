// All lanes get the sum.
__global__ void row_sum(int rows, int cols, float *out, const float *a)
{
    int lane = threadIdx.x, row = blockIdx.x;
    float mine = 0;

    for (int c = lane; c < cols; c += 32)
        mine += a[row * cols + c];
    for (int d = 1; d < 32; d *= 2)
        mine += __shfl_xor_sync(0xffffffff, mine, d);
    if (lane == 0)
        out[row] = mine;
}
