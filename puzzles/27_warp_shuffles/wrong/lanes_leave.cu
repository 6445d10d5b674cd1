// rejected: uninitialised at line 12: lanes without a column leave, and a shuffle takes their values
__global__ void row_sum(int rows, int cols, float *out, const float *a)
{
    int lane = threadIdx.x, row = blockIdx.x;
    float mine = 0;

    if (lane >= cols)
        return;
    for (int c = lane; c < cols; c += 32)
        mine += a[row * cols + c];
    for (int d = 16; d > 0; d /= 2)
        mine += __shfl_down_sync(0xffffffff, mine, d);
    if (lane == 0)
        out[row] = mine;
}
